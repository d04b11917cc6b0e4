from __future__ import annotations

import pandas as pd

from plot_cases import NAN, key_of, line_named, walk
from robx import plots


def first(table: pd.DataFrame, tau: float) -> list[float]:
    x, y = line_named(plots.along_walk(table, tau), "first stable point")
    return [*x, *y]


def test_lines_are_the_columns_of_the_table() -> None:
    table = walk()
    ax = plots.along_walk(table.sample(frac=1, random_state=0))
    for label, name in (("score M", "score"), ("mean", "mean"), ("stability", "stability")):
        assert line_named(ax, label) == (table["position"].tolist(), table[name].tolist())
    assert len(key_of(ax)) == 3


def test_the_first_stable_point_is_marked_and_told() -> None:
    table = walk(5)  # stability .4, .5, .6, .7, .8
    assert first(table, 0.55) == [0.5, table["stability"][2]]
    ax = plots.along_walk(table, 0.55)
    assert key_of(ax)[-1] == "first stable point: 50% of the way, cost 0.80"
    assert line_named(ax, "tau 0.55")[1] == [0.55, 0.55]
    assert str(ax.get_label()).endswith(
        "First stable point at tau 0.55: 50% of the way, cost 0.80."
    )


def test_a_point_with_stability_tau_is_stable() -> None:
    table = walk(5).assign(stability=[0.25, 0.5, 0.75, 0.75, 1.0])
    assert first(table, 0.75) == [0.5, 0.75]


def test_a_point_that_is_not_accepted_is_not_stable() -> None:
    table = walk(5).assign(accepted=[False, False, False, True, True])
    assert first(table, 0.1)[0] == 0.75
    assert first(table.drop(columns="accepted"), 0.1)[0] == 0.0


def test_a_tau_that_is_reached_nowhere_is_told() -> None:
    ax = plots.along_walk(walk(5), 0.99)
    assert "tau 0.99, not reached" in key_of(ax)
    assert not any("first stable" in words for words in key_of(ax))
    assert ax.get_ylim()[1] > 0.99


def test_without_costs_none_is_told() -> None:
    for table in (walk(5).drop(columns="cost"), walk(5).assign(cost=NAN)):
        assert key_of(plots.along_walk(table, 0.55))[-1] == "first stable point: 50% of the way"
