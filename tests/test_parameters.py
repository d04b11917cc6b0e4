from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robx.errors import InvalidInput
from robx.parameters import check_number, check_whole, is_number, is_whole, require


def test_booleans_text_and_what_is_not_finite_are_not_numbers() -> None:
    for whole in (3, np.int64(3)):
        assert is_whole(whole)
        assert is_number(whole)
    for part in (3.0, np.float32(0.5), -1e300):
        assert not is_whole(part)
        assert is_number(part)
    for odd in (True, "3", None, [3], np.nan, np.inf, -np.inf, np.array([1.0])):
        assert not is_whole(odd)
        assert not is_number(odd)


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "said"),
    [
        ({"above": 0}, [1e-9, 9], [0, -1, np.inf, "1", True], "a number above 0"),
        ({"above": 0, "most": 1}, [0.5, 1], [0, 1.1], "a number above 0 and at most 1"),
        ({"above": 0, "below": 1}, [0.5], [0, 1], "a number above 0 and below 1"),
        ({"least": 0, "below": 1}, [0, 0.5], [-1, 1], "a number from 0 to below 1"),
        ({"least": 0, "most": 1}, [0, 1], [-0.1, 1.1, None], "a number from 0 to 1"),
        ({}, [-9, 9], [np.nan, None], "a number"),
        ({"or_none": True}, [None, 9], [np.inf, "1"], "a number, or None"),
    ],
)
def test_bounds_are_kept_and_said(
    bounds: dict[str, float], inside: list[Any], outside: list[Any], said: str
) -> None:
    for value in inside:
        check_number(value, "tau", "RobX", **bounds)  # type: ignore[arg-type]
    for value in outside:
        with pytest.raises(InvalidInput) as error:
            check_number(value, "tau", "RobX", **bounds)  # type: ignore[arg-type]
        assert str(error.value) == (
            f"The 'tau' parameter of RobX must be {said}. Got {value!r} instead."
        )


def test_integers_have_a_minimum() -> None:
    check_whole(0, "seed", "Study", least=0)
    for value in (0, 1.5, "2", True):
        with pytest.raises(InvalidInput, match="must be an integer from 1. Got"):
            check_whole(value, "seed", "Study")


def test_a_value_that_takes_many_letters_is_named_by_its_type() -> None:
    with pytest.raises(InvalidInput, match="must be text. Got list instead"):
        require(False, ["long"] * 99, "title", "report", "text")
