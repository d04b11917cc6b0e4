from __future__ import annotations

import pytest

from robx.plots.style import breadth, isolated, wrapped


def test_wide_letters_take_two_places() -> None:
    name = "\u4e00" * 20
    assert breadth(name) == 40
    lines = wrapped(name, 24).split("\n")
    assert [breadth(line) for line in lines] == [24, 16]
    assert "".join(lines) == name


def test_many_wide_letters_lose_their_middle() -> None:
    name = "".join(chr(0x4E00 + k) for k in range(90))
    lines = wrapped(name, 24).split("\n")
    assert len(lines) == 3
    assert max(map(breadth, lines)) <= 24
    text = "".join(lines)
    assert "\u2026" in text
    assert (text[0], text[-1]) == (name[0], name[-1])


@pytest.mark.parametrize(
    ("text", "turns"), [("\u05e2\u05d9\u05e8", True), ("a \u0639", True), ("a \u4e00 1", False)]
)
def test_only_what_may_run_from_right_to_left_is_isolated(text: str, turns: bool) -> None:
    assert isolated(text) == (f"\u2068{text}\u2069" if turns else text)
