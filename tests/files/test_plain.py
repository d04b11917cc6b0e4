"""JSON and YAML as plain values."""

from __future__ import annotations

from typing import Any

import pytest

from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files import plain


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
