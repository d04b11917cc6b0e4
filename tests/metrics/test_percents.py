from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robx.metrics import percent


@given(st.floats(0, 1))
@example(0.9999)
@example(1 - 1e-12)
@example(1e-12)
def test_only_all_is_shown_as_100_and_only_nothing_as_0(share: float) -> None:
    assert (percent(share) == "100%") == (share == 1)
    assert (percent(share) == "0%") == (share == 0)
    assert abs(float(percent(share)[:-1]) / 100 - share) <= 0.001


@pytest.mark.parametrize("none", [None, float("nan")])
def test_what_is_no_share_is_nothing(none: float | None) -> None:
    assert percent(none) == ""
