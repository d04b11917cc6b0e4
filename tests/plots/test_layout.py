from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plot_cases import ODD, asked, changes, costs, drawn_texts, figure_of, key_of, overlapping
from plot_cases import spread as spread_table
from plot_cases import sweep as sweep_table
from plot_cases import walk as walk_table
from robx import plots
from robx.plots.style import styled
from speed import slow_but

#: One of each kind of plot.
PLAIN = ["histograms", "sweep", "thirty changes", "thirty features", "walk", "frontier"]


@pytest.mark.parametrize(
    "name", slow_but([*PLAIN, "one change", "sweep with gaps", "frontier of nothing"], ODD)
)
def test_texts_are_large_enough_apart_and_whole_and_there_are_words(name: str) -> None:
    figure = figure_of(ODD[name]())
    assert overlapping(figure) == []
    assert min(float(text.get_fontsize()) for text in drawn_texts(figure)) >= 8
    assert all(str(ax.get_label()).endswith(".") for ax in figure.axes)


def test_the_look_for_overlaps_finds_one() -> None:
    ax = plots.asked_features(asked(3))
    ax.set_ylim(0, 40)
    found = overlapping(figure_of(ax))
    assert any("feature 1" in pair and "feature 2" in pair for pair in found)
    far = plots.asked_features(asked(3))
    far.text(1.2, 0.5, "beyond", transform=far.transAxes).set_in_layout(False)
    assert ("beyond", "the edge") in overlapping(figure_of(far))


@pytest.mark.parametrize("name", slow_but(PLAIN, ODD))
def test_every_plot_is_sound_xml_not_long_and_drawn_anew_the_same(name: str) -> None:
    text = plots.svg(ODD[name](), title=name)
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314 - our own
    assert len(text) < 80_000
    assert plots.svg(ODD[name](), title=name) == text


@pytest.mark.parametrize("name", ["histograms", "sweep", "walk"])
def test_a_plot_that_was_written_before_gives_the_same_again(name: str, tmp_path: Path) -> None:
    axes = ODD[name]()
    text = plots.svg(axes)
    plots.save(axes, tmp_path / "plot.png")
    assert plots.svg(axes) == text


def drawings(ax: Axes, three: Any, two: Any) -> list[Any]:
    return [
        plots.before_after(changes(3), ax),
        plots.asked_features(asked(3), ax),
        plots.along_walk(walk_table(), 0.6, ax),
        plots.frontier(costs(3), ax),
        plots.histograms(spread_table(), 0.5, three)[0],
        plots.tau_sweep(sweep_table(), 0.6, two)[0],
    ]


def test_plots_are_drawn_on_the_callers_axes() -> None:
    three = Figure(layout="constrained").subplots(1, 3)
    two = Figure(layout="constrained").subplots(2)
    for k in range(4):
        ax = Figure(layout="constrained").add_subplot()
        before = figure_of(ax).get_size_inches().tolist()
        assert drawings(ax, three, two)[k] is ax
        assert figure_of(ax).get_size_inches().tolist() == before
    assert plots.histograms(spread_table(), None, three).tolist() == three.tolist()
    assert plots.tau_sweep(sweep_table(), None, two.tolist()).tolist() == two.tolist()


def test_the_key_stands_below_the_axes_of_the_caller_and_our_own() -> None:
    figure = Figure(figsize=(15, 9), layout="constrained")
    axes = figure.subplots(2, 2).ravel()
    plots.along_walk(walk_table(), 0.6, axes[0])
    plots.before_after(changes(5), axes[1])
    short = asked(20).assign(feature=[f"feature {i}" for i in range(20)])
    plots.asked_features(short, axes[2])
    plots.frontier(costs(3), axes[3])
    assert overlapping(figure) == []
    for ax in axes:
        legend = ax.get_legend()
        assert legend is not None
        name = ax.xaxis.label.get_window_extent()
        assert legend.get_window_extent().y1 <= name.y0
        assert legend.get_window_extent().y1 >= name.y0 - 30
    three = Figure(figsize=(10, 4), layout="constrained").subplots(1, 3)
    plots.histograms(spread_table(), 0.5, three)
    assert overlapping(figure_of(three[0])) == []
    own = plots.along_walk(walk_table(), 0.6)
    figure_of(own).draw_without_rendering()
    assert figure_of(own).legends[0].get_window_extent().y1 <= own.get_window_extent().y0
    assert key_of(own) == [text.get_text() for text in axes[0].get_legend().get_texts()]


def test_the_callers_style_neither_changes_plots_nor_is_changed() -> None:
    import matplotlib as mpl

    expected = plots.svg(plots.asked_features(asked(5)))
    with mpl.rc_context({"font.size": 30, "text.color": "red", "svg.fonttype": "path"}):
        before = dict(mpl.rcParams)
        assert plots.svg(plots.asked_features(asked(5))) == expected
        assert dict(mpl.rcParams) == before


def test_plots_are_made_without_pyplot() -> None:
    script = """
import sys
import pandas as pd
from robx import plots
from robx.plots.style import styled
ax = plots.asked_features(pd.DataFrame({"feature": ["a"], "share": [0.5]}))
plots.svg(ax)
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


def test_curves_differ_without_colour() -> None:
    for axes in (plots.tau_sweep(sweep_table())[0], plots.along_walk(walk_table(), 0.6)):
        looks = [
            (line.get_marker(), line.get_linestyle(), str(vars(line)["_dash_pattern"]))
            for line in axes.get_lines()
        ]
        assert len(set(looks)) == len(looks)
    bars = {patch.get_hatch() for patch in plots.asked_features(asked(3)).patches}
    assert len(bars) == 3
    signs = [line.get_marker() for line in plots.frontier(costs(10)).get_lines()]
    assert len(set(signs)) == 10


def test_letters_that_the_font_lacks_are_no_warning() -> None:
    ax = plots.asked_features(asked(1).assign(feature="収入"))
    assert "収入" in plots.svg(ax)


def test_wide_letters_leave_the_axes_room() -> None:
    table = changes(3).assign(feature="\u4e00" * 50, before="\u4e01" * 30, after="\u4e02" * 30)
    with styled():
        ax = plots.before_after(table)
        figure = figure_of(ax)
        assert overlapping(figure) == []
        assert ax.get_window_extent().width > 0.2 * figure.bbox.width
    words = [text.get_text().split("\n") for text in ax.texts]
    assert max(len(line) for lines in words for line in lines) <= 18 + 2  # an arrow is narrow


def test_signs_that_mean_something_to_matplotlib_are_drawn_as_they_are() -> None:
    ax = plots.asked_features(asked(2).assign(feature=["costs $5 or $6", "_hidden"]))
    text = plots.svg(ax)
    assert ">costs $5 or $6<" in text
    assert ">_hidden<" in text
    assert " _m0 (40% answered)" in key_of(plots.frontier(costs(1)))


def test_a_figure_grows_with_its_rows_and_its_key() -> None:
    heights = [figure_of(plots.before_after(changes(n))).get_size_inches()[1] for n in (1, 5, 30)]
    assert np.all(np.diff(heights) > 1)
    few, many = (figure_of(plots.frontier(costs(n))).get_size_inches()[1] for n in (1, 12))
    assert many > few + 1
