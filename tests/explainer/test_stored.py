"""Files of every format that was released are read for ever, with the answers they gave."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robx
from explainer.make_stored import FOLDER, facts, rows
from robx.explainer.container import FORMAT


def test_there_is_one_of_every_format() -> None:
    names = {
        f"format-{number}.{ending}"
        for number in range(1, FORMAT + 1)
        for ending in ("robx", "json")
    }
    assert {file.name for file in FOLDER.iterdir()} == names
    assert all(file.stat().st_size < 60_000 for file in FOLDER.iterdir())


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.robx")), ids=lambda file: file.stem)
def test_it_gives_the_answers_it_gave(file: Path) -> None:
    answer = robx.Explainer.load(file).explain(rows())
    assert answer.ok.any()
    expected = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    found = facts(answer)
    for name in ("points", "status", "accepting"):
        assert found[name] == expected[name]
    for name in ("cost", "score", "stability"):  # to what another processor may round
        ours, theirs = (np.array(one[name], dtype=np.float64) for one in (found, expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
