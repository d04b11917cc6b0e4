"""Plots, and the tables behind them: a function makes a table, another draws it.

`tables`, `change_tables` and `walk_tables` make tables; `distributions`, `tau_sweeps`, `walk_plot`,
`changes` and `costs` draw them and return matplotlib Axes; `output` turns these into files and into
SVG text for a page. `style` is shared by all. No figure is known to pyplot: in a
notebook, draw on axes that pyplot made, or show ``IPython.display.HTML(robx.plots.svg(ax))``.
"""

from __future__ import annotations

from robx.plots.change_tables import asked_table, change_table
from robx.plots.changes import asked_features, before_after
from robx.plots.costs import frontier
from robx.plots.distributions import histograms
from robx.plots.output import save, svg
from robx.plots.tables import frontier_table, stability_table
from robx.plots.tau_sweeps import tau_sweep
from robx.plots.walk_plot import along_walk
from robx.plots.walk_tables import robx_walk_table, walk_table

__all__ = [
    "along_walk",
    "asked_features",
    "asked_table",
    "before_after",
    "change_table",
    "frontier",
    "frontier_table",
    "histograms",
    "robx_walk_table",
    "save",
    "stability_table",
    "svg",
    "tau_sweep",
    "walk_table",
]
