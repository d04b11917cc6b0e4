"""Tables to draw, ordinary and odd, and what can be read off a drawn plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from xgboost import XGBClassifier

import robx
from robx import plots

NAN = float("nan")
LONG = "a very long name of a feature that only a data warehouse would choose, number"
WORDY = "savings agreement or life insurance, or something else of that sort"


@cache
def german() -> tuple[robx.Problem, robx.Counterfactuals, XGBClassifier, pd.DataFrame]:
    """A credit model with categories, and RobX's answers for some applicants."""
    X, y, schema = robx.datasets.load_german("all")
    model = XGBClassifier(n_estimators=40, max_depth=3, n_jobs=1, enable_categorical=True)
    model.fit(X[:400], y[:400])
    problem = robx.Problem(model, X[:400], schema)
    answers = robx.RobX(tau=0.85).explain(problem, X[400:600])
    return problem, answers, model, X


@cache
def plane() -> tuple[robx.Problem, Any]:
    """A model of two continuous features, and its training rows."""
    X, y, schema = robx.datasets.make_gaussians(400, seed=3)
    model = XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1).fit(X, y)
    return robx.Problem(model, X, schema), X


# --- tables ---------------------------------------------------------------------------------------


def spread(n: int = 60) -> pd.DataFrame:
    score = np.linspace(0.02, 1, n)
    return pd.DataFrame({"score": score, "mean": score * 0.9, "stability": score * 0.9 - 0.2})


def sweep(n: int = 8) -> pd.DataFrame:
    rising = np.linspace(0, 1, n)
    return pd.DataFrame(
        {
            "tau": 0.4 + rising / 2,
            "passing": 1 - rising * 0.9,
            "validity": 0.8 + rising / 5,
            "worst_validity": 0.6 + rising / 4,
            "cost": 0.5 + rising**2,
            "coverage": 1 - rising**3 / 2,
        }
    )


def changes(n: int) -> pd.DataFrame:
    """Some long, some short; some rise, some fall, and every fourth is a category."""
    lines = [
        {
            "feature": f"{LONG} {i}" if i % 3 == 0 else f"feature {i}",
            "before": WORDY if i % 2 else "12",
            "after": f"not {WORDY}" if i % 2 else "1500.25",
            "shift": NAN if i % 4 == 3 else (-1) ** i * (i + 1) / 20,
            "low": NAN if i % 4 == 3 else -np.inf,
            "high": NAN if i % 4 == 3 else 0.3,
        }
        for i in range(n)
    ]
    return pd.DataFrame(lines, columns=["feature", "before", "after", "shift", "low", "high"])


def asked(n: int) -> pd.DataFrame:
    names = ["feature", "people", "share", "rising", "falling", "switching"]
    lines = [
        (f"{LONG} {i}" if i % 3 == 0 else f"feature {i}", 60 - i, (60 - i) / 80, 20, 30 - i, 10)
        for i in range(n)
    ]
    return pd.DataFrame(lines, columns=names)


def walk(n: int = 11) -> pd.DataFrame:
    position = np.linspace(0, 1, n)
    score = 0.55 + 0.4 * position
    return pd.DataFrame(
        {
            "position": position,
            "score": score,
            "mean": score - 0.05,
            "stability": score - 0.15,
            "accepted": score > 0.5,
            "cost": 0.3 + position,
        }
    )


def costs(n: int) -> pd.DataFrame:
    validity = np.linspace(0.7, 1, n)
    lines = {
        "method": [f"method {i}, {WORDY}" if i % 2 else f"_m{i}" for i in range(n)],
        "validity": validity,
        "low": validity - 0.1,
        "high": np.minimum(validity + 0.05, 1),
        "cost_l1": np.linspace(0.3, 1.2, n),
        "cost_l1_low": np.linspace(0.2, 1.0, n),
        "cost_l1_high": np.linspace(0.5, 1.4, n),
        "coverage": np.linspace(0.4, 1, n),
    }
    return pd.DataFrame(lines)


def _flat(table: pd.DataFrame, value: float) -> pd.DataFrame:
    return table.assign(score=value, mean=value, stability=value)


def _gaps(table: pd.DataFrame) -> pd.DataFrame:
    out = table.copy()
    out.loc[2:4, out.columns.difference(["tau", "position", "accepted"])] = NAN
    return out


#: Odd tables, each with how it is drawn.
ODD: dict[str, Callable[[], Any]] = {
    "histograms": lambda: plots.histograms(spread(), 0.5),
    "histograms of one row": lambda: plots.histograms(spread(1), 0.97),
    "histograms of equal rows": lambda: plots.histograms(_flat(spread(), 0.7), 0.7),
    "histograms with gaps": lambda: plots.histograms(_gaps(spread()), -0.9),
    "histograms of nothing": lambda: plots.histograms(spread()[:0], 0.5),
    "histograms, tau too high": lambda: plots.histograms(spread(), 1.3),
    "sweep": lambda: plots.tau_sweep(sweep(), 0.6),
    "sweep, flat": lambda: plots.tau_sweep(
        sweep().assign(validity=1.0, worst_validity=1.0, coverage=1.0, cost=0.8), 0.9
    ),
    "sweep of one tau": lambda: plots.tau_sweep(sweep(1), 0.4),
    "sweep with gaps": lambda: plots.tau_sweep(_gaps(sweep()), 0.1),
    "sweep, tau too high": lambda: plots.tau_sweep(sweep(), 2.0),
    "sweep without models": lambda: plots.tau_sweep(sweep()[["tau", "passing"]], 0.5),
    "sweep without answers": lambda: plots.tau_sweep(sweep().assign(validity=NAN, cost=NAN)),
    "one change": lambda: plots.before_after(changes(1)),
    "a category alone": lambda: plots.before_after(changes(4)[3:]),
    "thirty changes": lambda: plots.before_after(changes(30)),
    "sixty changes": lambda: plots.before_after(changes(60)),
    "no change": lambda: plots.before_after(changes(0)),
    "a tiny change": lambda: plots.before_after(changes(1).assign(shift=1e-6)),
    "one feature": lambda: plots.asked_features(asked(1)),
    "thirty features": lambda: plots.asked_features(asked(30)),
    "no features": lambda: plots.asked_features(asked(0)),
    "a rare feature": lambda: plots.asked_features(asked(2).assign(share=[0.5, 0.001])),
    "walk": lambda: plots.along_walk(walk(), 0.6),
    "walk of one point": lambda: plots.along_walk(walk(1), 0.6),
    "walk, flat": lambda: plots.along_walk(_flat(walk(), 0.8), 0.8),
    "walk with gaps": lambda: plots.along_walk(_gaps(walk()), 0.6),
    "walk, tau too high": lambda: plots.along_walk(walk(), 3.0),
    "frontier": lambda: plots.frontier(costs(3)),
    "frontier of twelve": lambda: plots.frontier(costs(12)),
    "frontier, flat": lambda: plots.frontier(costs(3).assign(validity=1.0, low=1.0, high=1.0)),
    "frontier without answers": lambda: plots.frontier(costs(2).assign(validity=NAN)),
    "frontier of nothing": lambda: plots.frontier(costs(0)),
}


# --- what is drawn --------------------------------------------------------------------------------


def figure_of(axes: Any) -> Figure:
    figure = np.ravel(np.asarray([axes], dtype=object))[0].get_figure(root=True)
    assert isinstance(figure, Figure)
    return figure


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """All texts that are seen: those of ticks only where the axis shows them."""
    ticks: set[int] = set()
    for ax in figure.axes:
        for axis, ends in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            low, high = min(ends), max(ends)
            room = 1e-9 * (high - low)
            for tick in axis.get_major_ticks() + axis.get_minor_ticks():
                if not low - room <= tick.get_loc() <= high + room:
                    ticks |= {id(tick.label1), id(tick.label2)}
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        shown = text.get_visible() and text.get_text().strip() and id(text) not in ticks
        if shown and all(ax.get_visible() for ax in figure.axes):
            yield text


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Draw a figure; give texts that overlap each other, and those that are cut off."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in drawn_texts(figure)]
    found = []
    for (one, a), (other, b) in combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > 0.5 and height > 0.5:
            found.append((one, other))
    inside = figure.bbox.padded(1)
    found += [
        (text, "the edge")
        for text, box in boxes
        if box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1
    ]
    for legend in figure.legends:
        key = legend.get_window_extent()
        found += [("the key", "axes") for ax in figure.axes if key.overlaps(ax.get_window_extent())]
    return found


def line_named(ax: Axes, label: str) -> tuple[list[float], list[float]]:
    """The points of the only line with a label that begins so."""
    lines = [line for line in ax.get_lines() if str(line.get_label()).startswith(label)]
    assert len(lines) == 1, [line.get_label() for line in ax.get_lines()]
    x, y = lines[0].get_data()
    return np.asarray(x, dtype=float).tolist(), np.asarray(y, dtype=float).tolist()


def key_of(axes: Any) -> list[str]:
    """What the key says."""
    figure = figure_of(axes)
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    return [text.get_text() for key in legends if key is not None for text in key.get_texts()]
