"""How plots look: colours, markers, numbers, and axes that are ready to be drawn on.

Everything is a plain Figure, without pyplot: only its caller knows a plot. Text, axes and grid have
the colour `INK`, on a ground of `PAPER`; `robx.plots.svg` turns both into the colours of the page
around it, light or dark. Curves differ in marker and dashes, and bars in hatching, so that nothing
depends on colour alone.
"""

from __future__ import annotations

import textwrap
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parameters import require

#: Along which axis a grid is drawn.
Grid = Literal["x", "y", "both"]
#: By Okabe and Ito, for people who do not see all colours. The lightest are left out: these have
#: a contrast of three and more with white and with black.
BLUE, VERMILION, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#808080"
#: Text, axes, grid; and the ground. No plot may use them for anything else.
INK, PAPER = "#1a1a1a", "#fefefe"
#: Colour, marker and dashes of one curve after the other.
SERIES: tuple[tuple[str, str, Any], ...] = (
    (BLUE, "o", "-"),
    (VERMILION, "s", (0, (5, 2))),
    (GREEN, "^", (0, (1, 1.2))),
    (PINK, "D", (0, (6, 2, 1, 2))),
    (INK, "X", (0, (3, 1.5))),
    (GREY, "v", (0, (8, 2))),
    (BLUE, "P", (0, (2, 2))),
    (VERMILION, "<", (0, (4, 1, 1, 1))),
    (GREEN, ">", (0, (7, 3))),
    (PINK, "*", (0, (1, 2.5))),
)
#: Sizes of text in points: numbers and legends, and the names of axes.
SMALL, NORMAL = 8.5, 9.5
STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": NORMAL,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "figure.facecolor": "white",
    "hatch.linewidth": 0.7,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.0,
    "savefig.facecolor": "auto",
    "svg.fonttype": "none",
    "svg.hashsalt": "robx",
    "pdf.fonttype": 42,
    "text.usetex": False,
    "axes.unicode_minus": True,
    "mathtext.default": "regular",
}
MINUS = "\N{MINUS SIGN}"
#: A sign that no text has: it only takes a place.
FILL = "\ue000"
#: What begins and ends a text whose direction is its own matter.
FIRST, LAST = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
#: Matplotlib's words for letters that its font lacks; a browser has them.
NO_GLYPH = r"Glyph \d+ .* missing from font"


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style, whatever the caller's own is."""
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", NO_GLYPH, UserWarning)
        yield


def plain_numbers() -> FuncFormatter:
    """Write numbers at an axis without needless zeros."""
    return FuncFormatter(lambda number, _: f"{round(number, 12):g}".replace("-", MINUS))


def percent_ticks() -> FuncFormatter:
    """Write shares at an axis as percent, with as many digits as they need."""
    return FuncFormatter(lambda share, _: f"{round(100 * share, 6):.4g}%")


def numbers(table: pd.DataFrame, name: str, owner: str) -> Floats:
    """Give a column as numbers, NaN where it has none: (n,) float64."""
    try:
        values = np.asarray(table[name].to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{owner} needs numbers in column '{name}'. Got {table[name].dtype}."
        ) from error
    return np.where(np.isfinite(values), values, np.nan)


def ax_for(ax: Any, owner: str, size: tuple[float, float], grid: Grid = "y") -> Axes:
    """Give the caller's axes, or those of a new figure, ready to be drawn on."""
    sound = ax is None or isinstance(ax, Axes)
    require(sound, ax, "ax", owner, "matplotlib Axes, or None for a new figure")
    drawn: Axes = axes_for(ax, owner, (1, 1), size, grid)[0]
    return drawn


def axes_for(
    axes: Any,
    owner: str,
    shape: tuple[int, int],
    size: tuple[float, float],
    grid: Grid = "y",
    **shared: Any,
) -> NDArray[np.object_]:
    """Give the caller's axes, or those of a new figure, as one array, ready to be drawn on."""
    if axes is None:
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(*shape, squeeze=False, **shared)
    drawn = np.ravel(np.asarray([axes] if isinstance(axes, Axes) else axes, dtype=object))
    sound = len(drawn) == np.prod(shape) and all(isinstance(ax, Axes) for ax in drawn)
    expected = f"{np.prod(shape)} matplotlib Axes, or None for a new figure"
    require(sound, list(drawn), "axes", owner, expected)
    for ax in drawn:
        dress(ax, grid)
    return drawn


def dress(ax: Axes, grid: Grid) -> None:
    """Remove needless lines, and colour the rest.

    Ticks are made when they are drawn, in the style of that moment, so their style is set now.
    """
    ax.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set(color=INK, linewidth=0.8)
    ax.tick_params(which="both", color=INK, labelcolor=INK, labelsize=SMALL, width=0.8, length=3)
    ax.set_axisbelow(True)
    ax.grid(True, axis=grid, color=INK, alpha=0.13, linewidth=0.7, linestyle="-")


def wrapped(text: str, width: int, most: int = 3) -> str:
    """Break a long text into lines, and leave out its middle where there would be too many.

    Wide letters, as Chinese has them, count as two.

    Examples
    --------
    >>> print(wrapped("savings agreement or life insurance", 20))
    savings agreement or
    life insurance
    >>> print(wrapped("months since the most recent delinquency, first account", 20, most=2))
    months since the
    m…ncy, first account
    """
    plain = " ".join(str(text).split())
    lines, kept = _lines(plain, width), width * most
    while len(lines) > most:
        half = (kept - 1) // 2
        lines = _lines(f"{plain[: kept - half - 1]}…{plain[-half:]}", width)
        kept -= 1
    # A dollar sign would start a formula.
    return "\n".join(lines).replace("$", r"\$")


def _lines(text: str, width: int) -> list[str]:
    """Break a text into lines that are not wider than this."""
    # While lines are made, a wide letter has a second place, of a sign that no text has.
    placed = "".join(sign + FILL * (breadth(sign) - 1) for sign in text)
    # Where a line ends between both, the letter stands out by one place.
    lines = textwrap.wrap(placed, width - (FILL in placed))
    return [line.replace(FILL, "") for line in lines] or [""]


def breadth(text: str) -> int:
    """Count the places that a text takes in a line.

    Examples
    --------
    >>> breadth("amount"), breadth("\u91d1\u984d")
    (6, 4)
    """
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def isolated(text: str) -> str:
    """Keep a text that runs from right to left from reversing what is beside it."""
    turns = any(unicodedata.bidirectional(sign) in {"R", "AL", "AN"} for sign in text)
    return f"{FIRST}{text}{LAST}" if turns else text


def places(rows: Sequence[Sequence[str]]) -> tuple[NDArray[np.float64], float]:
    """Place rows of texts, of one or more lines: the middle of each in inches, and the height."""
    lines = np.array([max(text.count("\n") + 1 for text in row) for row in rows])
    heights = 0.17 + 0.165 * lines
    ends = np.cumsum(heights)
    return ends - heights / 2, float(ends[-1])


def key(axes: Sequence[Axes], *, own: bool, under: Axes | None = None) -> None:
    """Draw the legend, below a figure of our own, or below one of the caller's axes.

    A figure of our own grows by the height of the legend. The caller's legend is `under` the last
    axes unless given.
    """
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not found:
        return
    ax, figure = under or axes[-1], axes[0].get_figure(root=True)
    assert figure is not None  # noqa: S101 - for the type checker
    make, width = (figure.legend, figure.bbox.width) if own else (ax.legend, ax.bbox.width)
    # Below the numbers and the name of the axis, however high the axes are.
    down = -(24 + 13 * (ax.get_xlabel().count("\n") + 1)) / 72
    below = ax.transAxes + ScaledTranslation(0, down, figure.dpi_scale_trans)
    place: Any = {"loc": "outside lower center"}
    if not own:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "bbox_transform": below}
        place["borderaxespad"] = 0.0
    for columns in range(min(len(found), 5), 0, -1):
        legend = make(
            handles=list(found.values()),
            labels=list(found),
            ncols=columns,
            labelcolor=INK,
            fontsize=SMALL,
            frameon=False,
            handlelength=2.6,
            **place,
        )
        box = legend.get_window_extent()
        if columns == 1 or box.width <= 0.98 * width:
            break
        legend.remove()
    if own:
        wide, high = figure.get_size_inches()
        figure.set_size_inches(wide, high + box.height / figure.dpi)


def mark_tau(ax: Axes, tau: float, words: str) -> None:
    """Draw tau as a line, with words above it; if it lies beyond the axis, only say where."""
    low, high = ax.get_xlim()
    share = float(np.clip((tau - low) / (high - low), 0, 1))
    if low <= tau <= high:
        ax.axvline(tau, color=INK, linestyle=(0, (4, 3)), linewidth=1.1, zorder=3)
    elif words:
        words = f"{words} →" if tau > high else f"← {words}"
    side: Any = "right" if share > 0.75 else "left" if share < 0.25 else "center"
    above: Any = {"transform": ax.transAxes, "ha": side, "va": "bottom"}
    ax.text(share, 1.02, words, fontsize=SMALL, color=INK, **above)


def say_nothing(ax: Axes, words: str) -> None:
    """Say why there is nothing to draw."""
    ax.text(0.5, 0.5, words, transform=ax.transAxes, ha="center", va="center", color=INK)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
