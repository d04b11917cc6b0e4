from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from plot_cases import NAN, key_of, spread
from robx import plots
from robx.plots.distributions import bin_table, draw_bins


def bars(ax: Axes) -> list[tuple[float, float, float, bool]]:
    """Left, width, height and whether it is hatched, of every bar that is seen."""
    found = [bar for bar in ax.patches if isinstance(bar, Rectangle) and bar.get_height() > 0]
    return [
        (round(bar.get_x(), 9), round(bar.get_width(), 9), bar.get_height(), bool(bar.get_hatch()))
        for bar in found
    ]


def said(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_bars_count_the_rows() -> None:
    scores = [0.0, 0.01, 0.06, 0.52, 0.99, 1.0, NAN]
    table = pd.DataFrame({"score": scores, "mean": 0.5, "stability": [-0.12, *[0.3] * 6]})
    one, two, three = plots.histograms(table)
    assert bars(one) == [
        (0.0, 0.05, 2, False),
        (0.05, 0.05, 1, False),
        (0.5, 0.05, 1, False),
        (0.95, 0.05, 2, False),
    ]
    assert [height for *_, height, _ in bars(two)] == [7]
    assert [(left, height) for left, _, height, _ in bars(three)] == [(-0.15, 1), (0.3, 6)]
    assert [ax.get_xlim() for ax in (one, two, three)] == [pytest.approx((-0.15, 1.0))] * 3
    assert all(said(ax) == [] for ax in (one, two, three))


def test_a_bar_ends_at_tau_and_the_next_begins_there() -> None:
    table = spread(3).assign(stability=[0.61, 0.63, 0.9])
    *others, ax = plots.histograms(table, tau=0.62)
    assert bars(ax) == [(0.62, 0.05, 1, False), (0.87, 0.05, 1, False), (0.57, 0.05, 1, True)]
    assert not any(hatched for other in others for *_, hatched in bars(other))
    assert said(ax) == ["tau 0.62: 66.7% pass"]
    assert [line.get_xdata()[0] for line in ax.get_lines()] == [0.62]
    assert key_of(ax) == ["at least tau", "below tau"]
    assert "66.7% reach tau 0.62." in str(ax.get_label())


def test_a_row_at_tau_passes() -> None:
    *_, ax = plots.histograms(spread(2).assign(stability=[0.5, 0.4]), tau=0.5)
    assert said(ax) == ["tau 0.5: 50% pass"]
    assert sorted(bars(ax)) == [(0.4, 0.05, 1, True), (0.5, 0.05, 1, False)]


@pytest.mark.parametrize(("tau", "words"), [(1.4, "tau 1.4: 0% pass →"), (-1, "← tau -1: 100% p")])
def test_a_tau_beyond_the_axis_is_told_and_not_drawn(tau: float, words: str) -> None:
    *_, ax = plots.histograms(spread(), tau=tau)
    assert ax.get_lines() == []
    assert said(ax)[0].startswith(words)


def test_numbers_that_are_no_scores_are_drawn_too() -> None:
    table = pd.DataFrame({"score": [-700.0, 300.0], "mean": 0.5, "stability": 0.4})
    axes = plots.histograms(table)
    assert sum(height for *_, height, _ in bars(axes[0])) == 2
    assert len(axes[0].patches) == 40


def test_nearly_all_is_not_all() -> None:
    table = spread(2000).assign(stability=[0.1] + [0.9] * 1999)
    *_, ax = plots.histograms(table, tau=0.5)
    assert said(ax) == ["tau 0.5: 99.9% pass"]
    assert "99.9% reach tau 0.5." in str(ax.get_label())


def test_bars_can_be_counted_first_and_drawn_later() -> None:
    table = spread().assign(mean=NAN)
    bins = pd.DataFrame(bin_table(table, 0.5).to_dict("records"))
    one, other = plots.histograms(table, 0.5), draw_bins(bins, 0.5)
    assert [bars(ax) for ax in one] == [bars(ax) for ax in other]
    assert [ax.get_label() for ax in one] == [ax.get_label() for ax in other]
    assert plots.svg(one) == plots.svg(other)


def test_the_words_tell_the_median() -> None:
    values = np.linspace(0, 1, 11)
    table = pd.DataFrame({"score": values, "mean": values, "stability": values})
    assert plots.histograms(table)[0].get_label() == (
        "score M, 11 values: median 0.50, 80% between 0.10 and 0.90."
    )


@pytest.mark.parametrize("tau", [0.675, 0.68, 0.93, 0.0, 1.0, 0.7 - 1e-12])
def test_no_bar_of_what_reaches_tau_begins_before_it(tau: float) -> None:
    below = np.nextafter(tau, -1)
    bins = bin_table(pd.DataFrame({"stability": [below, tau, max(tau, 0.93), 1.0]}), tau)
    assert bins["rows"].sum() == 3
    assert bins["below"].sum() == 1
    assert (bins["high"] - bins["low"]).min() > 0
    assert bins["low"].iloc[0] <= min(tau, 0)
    if 0 < tau < 1:
        assert (bins["low"] >= tau)[bins["rows"] > 0].all()
        assert (bins["high"] <= tau)[bins["below"] > 0].all()


def test_columns_that_are_not_there_have_no_panel() -> None:
    table = spread().drop(columns="mean")
    one, two = draw_bins(bin_table(table), None)
    assert (one.get_xlabel(), two.get_xlabel()) == ("score M", "stability R")
    assert key_of(two) == []


def test_where_all_reach_tau_nothing_is_hatched() -> None:
    *_, ax = plots.histograms(spread().assign(stability=0.9), tau=0.5)
    assert not any(hatched for *_, hatched in bars(ax))
    assert key_of(ax) == []
