"""What recourse asks for: of one applicant, and of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from robx.arrays import Bools, Floats
from robx.metrics import percent
from robx.parameters import check_table
from robx.plots import style

#: Characters in a line of a feature's name, and of the words beside it.
NAME, WORDS = 24, 36
#: Features that are drawn; the others are counted.
MOST = 15
#: How a schema says that there is no value.
MISSING = "missing"
#: Directions: column of the table, in the legend, colour, hatching (dots would be long in SVG).
WAYS = (
    ("rising", "increase", style.BLUE, ""),
    ("falling", "decrease", style.VERMILION, "////"),
    ("switching", "another category", style.GREY, "xxx"),
    ("filling", "from or to a missing value", style.PINK, "\\\\\\"),
)


def before_after(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw what changes for one applicant, by how much, with the words beside it.

    Each line is a feature: an open dot for the applicant, a full one for the answer, in units of
    the feature's scale, and behind them a band as wide as the schema allows. A category, or a value
    that was missing, has no distance: it is drawn dashed, one unit long, which is what it costs. Of
    more than fifteen features the longest changes are drawn, and the others are counted.

    Parameters
    ----------
    table : DataFrame
        With columns ``feature``, ``before``, ``after`` and ``shift``, as `change_table` returns;
        the band needs ``low`` and ``high``.
    ax : Axes, optional
        To draw on; a new figure, as high as it needs to be, unless given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> table = pd.DataFrame({"feature": ["savings"], "before": ["under 100"]})
    >>> ax = before_after(table.assign(after="100 to 500", shift=0.25))
    >>> [text.get_text() for text in ax.texts]
    ['under 100 → 100 to 500']
    """
    needed = ["feature", "before", "after", "shift"]
    check_table(table, needed, "before_after", "robx.plots.change_table")
    said, table, rest = _all_words(table), *_longest(table)
    shift = style.numbers(table, "shift", "before_after")
    names = [style.wrapped(style.isolated(str(name)), NAME) for name in table["feature"]]
    words = [_beside(str(b), str(a)) for b, a in zip(table["before"], table["after"], strict=True)]
    with style.styled():
        if not names:
            return _empty(ax, "before_after", "Nothing changes")
        place, height = style.places(list(zip(names, words, strict=True)))
        drawn = style.ax_for(ax, "before_after", (7.4, height + 0.55), "x")
        drawn.set_label(said)
        # A category has no distance: it is drawn as one unit, which is what it costs.
        end = np.where(np.isnan(shift), 1.0, shift)
        left, right = min(end.min(), 0.0), max(end.max(), 0.0)
        margin = 0.12 * (right - left) or 0.1
        drawn.set_xlim(left - margin, right + margin)
        if {"low", "high"} <= set(table.columns):
            _draw_allowed(drawn, place, table[~np.isnan(shift)], ~np.isnan(shift))
        drawn.axvline(0, color=style.INK, linewidth=0.8, zorder=1)
        missing = ((table["before"] == MISSING) | (table["after"] == MISSING)).to_numpy()
        _draw_dumbbells(drawn, place, end, ~np.isnan(shift), missing)
        _name_rows(drawn, place, height, names)
        look: Any = {"va": "center_baseline", "fontsize": 9, "color": style.INK}
        for y, text in zip(place, words, strict=True):
            drawn.text(1.02, y, text, transform=drawn.get_yaxis_transform(), **look)
        drawn.xaxis.set_major_formatter(style.plain_numbers())
        more = f"\n(and {rest} more feature{'s' if rest > 1 else ''})" if rest else ""
        drawn.set_xlabel(f"change, in units of each feature's scale{more}")
        style.key([drawn], own=ax is None)
    return drawn


def _longest(table: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Give the rows with the longest moves, in their order, and how many others there are."""
    moves = np.abs(style.numbers(table, "shift", "before_after"))
    order = np.argsort(-np.where(np.isnan(moves), 1.0, moves), kind="stable")
    return table.iloc[np.sort(order[:MOST])], max(len(table) - MOST, 0)


def _beside(before: str, after: str) -> str:
    """Put both values in one line, or each in lines of its own."""
    whole = style.breadth(before) + style.breadth(after) + 3 <= WORDS
    before, after = style.isolated(before), style.isolated(after)
    if whole:
        return style.wrapped(f"{before} → {after}", WORDS + 4)  # isolating signs take no place
    return f"{style.wrapped(f'{before} →', WORDS, 2)}\n{style.wrapped(after, WORDS, 2)}"


def _all_words(table: pd.DataFrame) -> str:
    columns = (table[name] for name in ("feature", "before", "after"))
    return "; ".join(f"{f}: {b} → {a}" for f, b, a in zip(*columns, strict=True)) + "."


def _empty(ax: Axes | None, owner: str, words: str) -> Axes:
    """Say that there is nothing to draw."""
    drawn = style.ax_for(ax, owner, (6.4, 1.2))
    drawn.set_label(f"{words}.")
    style.say_nothing(drawn, words)
    return drawn


def _name_rows(ax: Axes, place: Floats, height: float, names: list[str]) -> None:
    ax.set_yticks(place, names)
    ax.tick_params(axis="y", length=0, labelsize=9)
    ax.spines["left"].set_visible(False)
    ax.set_ylim(height, 0)


def _draw_allowed(ax: Axes, place: Floats, table: pd.DataFrame, measured: Bools) -> None:
    """Draw the range that the schema allows, as far as the axis shows it."""
    low, high = (
        np.clip(table[name].to_numpy(dtype=np.float64, na_value=np.nan), *ax.get_xlim())
        for name in ("low", "high")
    )
    known = ~np.isnan(low) & ~np.isnan(high)
    if known.any():
        look: Any = {"height": 0.12, "color": style.INK, "alpha": 0.1, "zorder": 0}
        wide = (high - low)[known]
        ax.barh(place[measured][known], wide, left=low[known], label="allowed range", **look)


def _draw_dumbbells(ax: Axes, place: Floats, end: Floats, measured: Bools, missing: Bools) -> None:
    dashed: Any = (0, (3, 2))
    kinds: tuple[tuple[Bools, str, str, Any, str], ...] = (
        (measured, "o", style.BLUE, "-", "answer"),
        (~measured & ~missing, "s", style.VERMILION, dashed, "answer, another category"),
        (~measured & missing, "D", style.PINK, dashed, "answer, from or to a missing value"),
    )
    open_: Any = {"markerfacecolor": style.PAPER, "markeredgewidth": 1.8, "label": "today"}
    for some, sign, colour, dashes, label in kinds:
        if not some.any():
            continue
        look: Any = {"color": colour}
        y = place[some]
        ax.hlines(y, 0, end[some], **look, linewidth=2.2, linestyle=dashes, zorder=2)
        ax.plot(np.zeros(len(y)), y, sign, **look, **open_, ms=7, zorder=3)
        ax.plot(end[some], y, sign, **look, ms=8, zorder=4, label=label)


def asked_features(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw which features the answers ask applicants to change, most frequent first.

    Parameters
    ----------
    table : DataFrame
        With columns ``feature`` and ``share``, as `asked_table` returns. With ``people``,
        ``rising``, ``falling``, ``switching`` and ``filling``, bars are split by direction. Of
        more than fifteen features the others are counted.
    ax : Axes, optional
        To draw on; a new figure, as high as it needs to be, unless given.

    Returns
    -------
    Axes

    Examples
    --------
    >>> table = pd.DataFrame({"feature": ["savings", "amount"], "share": [0.25, 0.75]})
    >>> ax = asked_features(table)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['amount', 'savings']
    >>> [float(bar.get_width()) for bar in ax.patches]
    [0.75, 0.25]
    """
    check_table(table, ["feature", "share"], "asked_features", "robx.plots.asked_table")
    share = pd.Series(style.numbers(table, "share", "asked_features"), index=table.index).fillna(0)
    lines = table.assign(share=share).sort_values("share", ascending=False, kind="stable")
    shown, rest = lines.iloc[:MOST], lines.iloc[MOST:]
    names = [style.wrapped(style.isolated(str(name)), NAME) for name in shown["feature"]]
    with style.styled():
        if not names:
            return _empty(ax, "asked_features", "Nobody is asked to change anything")
        place, height = style.places([[name] for name in names])
        drawn = style.ax_for(ax, "asked_features", (6.4, height + 0.55), "x")
        told = zip(shown["feature"], shown["share"], strict=True)
        said = ", ".join(f"{feature} {percent(share)}" for feature, share in told)
        drawn.set_label(f"Share of applicants who are asked to change a feature: {said}.")
        _draw_shares(drawn, place, shown)
        _name_rows(drawn, place, height, names)
        drawn.set_xlim(0, 1.12 * (float(shown["share"].max()) or 1))
        drawn.xaxis.set_major_formatter(style.percent_ticks())
        more = "" if rest.empty else _rest(rest)
        drawn.set_xlabel(f"share of applicants who are asked to change it{more}")
        style.key([drawn], own=ax is None)
    return drawn


def _draw_shares(ax: Axes, place: Floats, lines: pd.DataFrame) -> None:
    """Draw bars, split by direction if it is known, with their shares at the end."""
    share = lines["share"].to_numpy()
    look: Any = {"height": 0.23, "edgecolor": style.PAPER, "linewidth": 0.6}
    if {"people", *(way[0] for way in WAYS[:3])} <= set(lines.columns):
        people = np.maximum(style.numbers(lines, "people", "asked_features"), 1)
        start = np.zeros(len(lines))
        for name, label, colour, hatch in (way for way in WAYS if way[0] in lines):
            part = share * style.numbers(lines, name, "asked_features") / people
            if part.any():
                own: Any = {"facecolor": colour, "hatch": hatch, "label": label}
                ax.barh(place, part, left=start, **own, **look)
            start += part
    else:
        ax.barh(place, share, facecolor=style.BLUE, **look)
    words: Any = {"textcoords": "offset points", "va": "center_baseline", "color": style.INK}
    for y, value in zip(place, share, strict=True):
        ax.annotate(percent(value), (value, y), (4, 0), size=style.SMALL, **words)


def _rest(rest: pd.DataFrame) -> str:
    """Say what is not drawn. Shares are not summed: one person may be asked for several."""
    n, most = len(rest), float(rest["share"].max())
    return f"\n(and {n} more feature{'s' if n > 1 else ''}, at most {percent(most)} each)"
