from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

import robx
from plot_cases import asked, changes, costs, spread, sweep, walk
from robx import plots

DRAWINGS: dict[str, tuple[Callable[..., Any], Callable[[], pd.DataFrame], list[str], str]] = {
    "histograms": (plots.histograms, spread, ["score", "mean", "stability"], "stability_table"),
    "tau_sweep": (plots.tau_sweep, sweep, ["tau", "validity", "cost"], "choose_tau"),
    "before_after": (
        plots.before_after,
        lambda: changes(2),
        ["feature", "before", "after", "shift"],
        "change_table",
    ),
    "asked_features": (
        plots.asked_features,
        lambda: asked(2),
        ["feature", "share"],
        "asked_table",
    ),
    "along_walk": (plots.along_walk, walk, ["position", "score", "mean", "stability"], "walk_tab"),
    "frontier": (
        plots.frontier,
        lambda: costs(2),
        ["method", "validity", "cost_l1"],
        "frontier_table",
    ),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_table_without_a_column_is_refused_with_what_is_missing_and_what_came(name: str) -> None:
    draw, table, needed, maker = DRAWINGS[name]
    for column in needed:
        rest = table().drop(columns=column)
        if name == "tau_sweep" and column == "validity":
            rest = rest.drop(columns="passing")  # without both it would be no sweep
        with pytest.raises(robx.InvalidInput) as said:
            draw(rest)
        assert str(said.value).startswith(f"{name} needs a table with columns ")
        assert maker in str(said.value)
        assert f"Missing: {column}. Got: {', '.join(rest.columns)}." in str(said.value)


@pytest.mark.parametrize("name", DRAWINGS)
def test_what_is_no_table_is_refused(name: str) -> None:
    with pytest.raises(robx.InvalidInput, match="Got list, which is not a pandas table"):
        DRAWINGS[name][0]([1, 2])
    with pytest.raises(robx.InvalidInput, match="Got: no columns"):
        DRAWINGS[name][0](pd.DataFrame())


@pytest.mark.parametrize("name", DRAWINGS)
def test_text_in_the_place_of_numbers_is_refused(name: str) -> None:
    draw, table, needed, _ = DRAWINGS[name]
    column = needed[-1]
    with pytest.raises(robx.InvalidInput, match=f"{name} needs numbers in column '{column}'. Got"):
        draw(table().assign(**{column: "much"}))


@pytest.mark.parametrize("name", ["histograms", "tau_sweep", "along_walk"])
def test_a_tau_that_is_no_number_is_refused(name: str) -> None:
    draw, table, _, _ = DRAWINGS[name]
    for tau in ("auto", float("nan"), True):
        with pytest.raises(robx.InvalidInput, match=f"The 'tau' parameter of {name} must be"):
            draw(table(), tau)


def test_what_cannot_be_drawn_on_is_refused() -> None:
    figure = Figure()
    for name in ("before_after", "asked_features", "along_walk", "frontier"):
        draw, table, _, _ = DRAWINGS[name]
        expected = (
            f"The 'ax' parameter of {name} must be matplotlib Axes.* Got <Figure size .* instead"
        )
        with pytest.raises(robx.InvalidInput, match=expected):
            draw(table(), ax=figure)
    two = figure.subplots(2)
    with pytest.raises(
        robx.InvalidInput, match="histograms must be 3 .* Got \\[<Axes.*>, <Axes.*>\\] instead"
    ):
        plots.histograms(spread(), axes=two)
    with pytest.raises(
        robx.InvalidInput, match="tau_sweep must be 2 .* Got \\[<Axes.*>\\] instead"
    ):
        plots.tau_sweep(sweep(), axes=two[0])
    with pytest.raises(robx.InvalidInput, match="must be 1 .* Got \\[<Figure.*\\] instead"):
        plots.tau_sweep(sweep()[["tau", "passing"]], axes=figure)
    with pytest.raises(robx.InvalidInput, match="Got \\[\\] instead"):
        plots.histograms(spread(), axes=[])
