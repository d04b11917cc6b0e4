from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_gives_what_its_comments_say() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own page
    n_rows = len(names["X"])
    assert names["ensemble"].score(names["X"]).shape == (n_rows,)
    result = names["result"]
    np.testing.assert_array_equal(result.value, result.mean - result.std)
    assert result.error.shape == (n_rows,)


def test_no_placeholder_is_left() -> None:
    assert not re.findall(r"\b[A-Z]+_[A-Z]+\b", README)


def test_the_commands_it_names_exist() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
