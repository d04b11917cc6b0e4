from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from robx.metrics import percent
from robx.reports.figures import between, counted, number, plain, rounded_down

SHARES = st.floats(0, 1)


@given(SHARES)
def test_a_lower_bound_is_never_shown_higher_than_it_is(share: float) -> None:
    shown = float(rounded_down(share).removeprefix("≥ ").removesuffix("%")) / 100
    assert share - 0.001 - 1e-9 <= shown <= share + 1e-9


def test_what_is_no_number_is_nothing() -> None:
    assert [plain(value) for value in (float("nan"), float("inf"), None, 2)] == [None] * 3 + [2.0]
    assert (number(None), percent(None), rounded_down(None), between(None, 0.5)) == ("",) * 4


def test_what_is_rounded_to_nothing_is_not_below_it() -> None:
    assert [number(value) for value in (-0.001, -0.006, 0.0)] == ["0.00", "-0.01", "0.00"]


def test_things_are_counted_in_words() -> None:
    assert counted(1, "way") == "1 way"
    assert counted(0, "way") == "0 ways"
    assert counted(12345, "other way", "other ways") == "12,345 other ways"
    assert between(0.5, 0.75) == "50% to 75%"
