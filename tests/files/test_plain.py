"""JSON and YAML as plain values."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from robx.budget import Budget
from robx.errors import BudgetExceeded, InvalidInput
from robx.files import plain, read_table
from robx.files.formats import text_width


def test_values_that_are_referred_to_often_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = 0

    def below(node: Any) -> list[Any]:
        nonlocal seen
        found = original(node)
        seen += 1 + len(found)
        return found

    original, n = plain._below, 200
    monkeypatch.setattr(plain, "_below", below)
    text = f"a: &a [{', '.join('1' * n)}]\nb: [{', '.join(['*a'] * n)}]\n"
    read = plain.parse_yaml(text.encode(), "'t.yaml'", Budget())
    assert read == {"a": [1] * n, "b": [[1] * n] * n}
    assert seen < 10 * n


def test_values_that_are_referred_to_count_each_time_and_contain_no_loop() -> None:
    text = b"a: &a [1, 2]\nb: [*a, *a]\n"
    loader = plain.parse_yaml(text, "'t.yaml'", Budget())
    assert loader == {"a": [1, 2], "b": [[1, 2], [1, 2]]}
    with pytest.raises(InvalidInput, match="contains itself"):
        plain.parse_yaml(b"a: &a [1, *a]\n", "'t.yaml'", Budget())


@pytest.mark.parametrize(
    ("letter", "width"), [("a", 1), ("\xe4", 1), ("\u20ac", 2), ("\U0001f600", 4)]
)
def test_text_counts_as_wide_as_its_widest_letter(letter: str, width: int) -> None:
    data = ("a" * 10_000 + letter).encode()
    assert text_width(data) == width
    assert sys.getsizeof(data.decode()) - sys.getsizeof(letter) == pytest.approx(
        10_000 * width, abs=100
    )


def test_text_in_western_languages_is_not_refused_for_others(tmp_path: Path) -> None:
    line = "stra\xdfe " * 1000
    for letter, is_read in (("\xe4", True), ("\u20ac", False)):
        text = f"a\n{line}{letter}\n" + f"{line}\n" * 20
        budget = Budget(max_memory=7 * len(text.encode()))
        (tmp_path / "t.csv").write_text(text, encoding="utf-8")
        if is_read:
            assert read_table(tmp_path / "t.csv", budget=budget)["a"][0] == line + letter
        else:
            with pytest.raises(BudgetExceeded):
                read_table(tmp_path / "t.csv", budget=budget)
    data = json.dumps(line * 100, ensure_ascii=False).encode()
    assert plain.parse_json(data, "'t.json'", Budget(max_memory=4 * len(data))) == line * 100
