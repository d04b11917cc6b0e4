from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

import robx
from plot_cases import NAN, costs, key_of, line_named
from robx import plots


def bars(ax: Axes) -> list[list[list[float]]]:
    """The ends of all intervals."""
    return [
        np.asarray(segment).round(9).tolist()
        for part in ax.collections
        if isinstance(part, LineCollection)
        for segment in part.get_segments()
    ]


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": ["NN", "RobX", "RobX", "RobX"],
            "scenario": "bootstrap",
            "knob": [NAN, 0.9, 0.5, 0.7],
            "validity": [0.8, 0.99, 0.85, 0.95],
            "low": [0.7, 0.98, 0.8, 0.9],
            "high": [0.85, 1.0, 0.9, 0.97],
            "cost_l1": [0.5, 1.5, 0.6, 0.9],
            "n_changes": [2.0, 5.0, 3.0, 4.0],
        }
    )


def test_points_are_cost_and_validity_joined_in_the_order_of_the_knob() -> None:
    ax = plots.frontier(table())
    assert line_named(ax, "NN") == ([0.5], [0.8])
    assert line_named(ax, "RobX") == ([0.6, 0.9, 1.5], [0.85, 0.95, 0.99])
    joined = {str(line.get_label()): line.get_linestyle() != "None" for line in ax.get_lines()}
    assert joined == {"NN": False, "RobX": True}
    assert line_named(plots.frontier(table(), cost="n_changes"), "RobX")[0] == [3.0, 4.0, 5.0]


def test_points_without_a_knob_are_not_joined() -> None:
    ax = plots.frontier(table().drop(columns="knob"))
    assert [line.get_linestyle() for line in ax.get_lines()] == ["None", "None"]


def test_intervals_are_drawn_where_there_are_some() -> None:
    assert bars(plots.frontier(table()))[0] == [[0.5, 0.7], [0.5, 0.85]]
    assert bars(plots.frontier(table().drop(columns="low"))) == []
    both = table().assign(cost_l1_low=[0.4] * 4, cost_l1_high=[1.6] * 4)
    assert [[0.4, 0.8], [1.6, 0.8]] in bars(plots.frontier(both))


def test_an_interval_that_does_not_hold_its_value_ends_there() -> None:
    odd = table().assign(low=[0.81, 0.98, 0.8, 0.9])[:1]
    assert bars(plots.frontier(odd)) == [[[0.5, 0.8], [0.5, 0.85]]]


def test_the_key_tells_who_leaves_people_without_an_answer() -> None:
    half = table().assign(coverage=[1.0, 0.5, 0.9, 0.8])
    assert key_of(plots.frontier(half)) == ["NN", "RobX (50% answered)"]
    nearly = table().assign(coverage=[0.9997, 1.0, 1.0, 1.0])
    assert key_of(plots.frontier(nearly)) == ["NN (99.9% answered)", "RobX"]
    none = table().assign(validity=[NAN, 0.9, 0.9, 0.9])
    ax = plots.frontier(none)
    assert key_of(ax) == ["NN (no answers)", "RobX"]
    assert str(ax.get_label()).startswith("NN: no answers. RobX: 90% at 0.60, 90% at")


def test_every_point_is_within_the_axes() -> None:
    for validity in (1.0, 0.0, 0.5):
        ax = plots.frontier(costs(1).assign(validity=validity, low=validity, high=validity))
        assert ax.get_ylim()[0] < validity < ax.get_ylim()[1]


def test_several_scenarios_and_unknown_costs_are_refused() -> None:
    two = table().assign(scenario=["a", "b", "b", "b"])
    with pytest.raises(
        robx.InvalidInput, match=r"frontier draws one scenario. The table has 'a', 'b': choose"
    ):
        plots.frontier(two)
    with pytest.raises(robx.InvalidInput, match="'cost' parameter of frontier must be one of cost"):
        plots.frontier(table(), cost="validity")  # type: ignore[arg-type]
