"""What `make test` leaves to `make test-all`: slow cases, and most examples of a property.

`make test-deep` has the slow cases too, and three times as many examples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numba
import pytest
from hypothesis import settings

#: Examples of a property in `make test`, and in `make test-all`.
FEW, SOME = 20, 34
#: How many times fewer these are than in `make test-deep`.
PART = 3

#: Marks a test that is left to `make test-deep`: what it covers has quicker tests, too.
deep = pytest.mark.skipif(
    settings.get_current_profile_name() != "deep", reason="runs in make test-deep"
)


def slow_but(
    quick: Iterable[Any], every: Iterable[Any], also: Iterable[Any] | None = None
) -> list[Any]:
    """Give all parameters of a test, those that are not quick marked as slow.

    Of these, `also` names the ones that `make test-all` runs; the others are left to
    `make test-deep`.
    """
    quick, every = list(quick), list(every)
    slow = every if also is None or settings.get_current_profile_name() == "deep" else [*also]
    assert all(one in every for one in [*quick, *slow]), (quick, slow)
    return [
        one if one in quick else pytest.param(one, marks=pytest.mark.slow)
        for one in every
        if one in quick or one in slow
    ]


def tries(often: int, few: int = FEW) -> int:
    """How many examples to try of a property: few, a part of `often`, or as often as that."""
    few, profile = min(often, few), settings.get_current_profile_name()
    return {"quick": few, "all": max(few, often // PART)}.get(profile, often)


def examples(often: int = 100, few: int = FEW, **more: Any) -> settings:
    """Decorate a property that `make test-deep` tries so often."""
    return settings(max_examples=tries(often, few), **more)


def tries_of_kernels(often: int, few: int = FEW) -> int:
    """Say how often to try what kernels do; seldom where they run as plain Python."""
    is_plain: bool = numba.config.DISABLE_JIT  # type: ignore[attr-defined]
    return min(tries(often, few), 12) if is_plain else tries(often, few)
