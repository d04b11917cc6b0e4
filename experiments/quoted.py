"""Figures that pages quote, each worked out from committed results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd
from benchmarks import peer_tables, privacy, yardstick

from experiments.promises import parts, real

__all__ = ["quoted"]

ROOT = Path(__file__).resolve().parents[1]
PROMISES = ROOT / "experiments" / "results" / "promises"
_known: dict[str, Callable[[], str]] = {}


def quoted(name: str) -> str:
    """Give a figure as a page shows it."""
    if name not in _known:
        raise ValueError(f"No figure is called {name!r}. Known are {', '.join(sorted(_known))}.")
    return _known[name]()


def figure(make: Callable[[], str]) -> Callable[[], str]:
    """Let pages quote what a function returns, under the function's name."""
    _known[make.__name__] = make
    return make


def percent(*shares: float) -> str:
    """Say shares as a range: "53 to 64 %"; one value where both ends round to the same."""
    low, high = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


@cache
def lines_of(name: str) -> pd.DataFrame:
    """Read results."""
    return pd.read_csv(PROMISES / f"{name}.csv")


# --- other tools ----------------------------------------------------------------------------------


@figure
def peers_short() -> str:
    """Every tool on one split."""
    return "\n" + peer_tables.short_table(_peers())


@figure
def peers_spans() -> str:
    """Some tools on all splits."""
    return "\n" + peer_tables.short_spans(_peers())


@cache
def _peers() -> list[peer_tables.Line]:
    return peer_tables.read_lines(ROOT / "benchmarks" / "results" / "peers.csv")


@figure
def privacy_short() -> str:
    """What anonymity costs."""
    return "\n" + privacy.short_table(privacy.committed()) + "\n"


# --- promises on real data ------------------------------------------------------------------------

DATA = {"german": "German Credit", "heloc": "HELOC", "adult": "Adult"}
LIBRARIES = {
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "forest": "RandomForest",
    "histogram": "HistGradientBoosting",
}
#: Methods that know nothing of robustness.
PLAIN = ("Feature Tweaking", "NICE", "Nearest neighbour", "Live region")
OURS, BARE = "Frugal", "Frugal without realism"


def _new_rows(name: str) -> pd.DataFrame:
    lines = lines_of(name)
    return lines[lines["change"] == "new rows"]


def _promised() -> pd.DataFrame:
    lines = _new_rows("real")
    return lines[lines["asked"] == real.KEEPS[0]]


@cache
def _equal(share: float = real.KEEPS[0]) -> pd.DataFrame:
    """Cost and changes at equal validity: a line for each split and method."""
    return real.at_equal_validity(_new_rows("curves"), share)


def _ratios(method: str, other: str, what: str, share: float = real.KEEPS[0]) -> pd.Series:
    """A method's figure at equal validity as a multiple of another's: a value for each split."""
    wide = _equal(share).pivot_table(index=real.CELL, columns="method", values=what)
    return (wide[method] / wide[other]).dropna()


def _by_cell(values: pd.Series) -> pd.Series:
    return values.groupby(["data", "library"]).mean()


@figure
def real_splits() -> str:
    """Number of splits in each cell."""
    return _count(_new_rows("curves").groupby(["data", "library", "method"])["split"].nunique())


@figure
def promised_splits() -> str:
    """Number of splits on which promises were made."""
    ours = _promised()
    return _count(ours[ours["method"] == OURS].groupby(["data", "library"])["split"].nunique())


def _count(numbers: pd.Series) -> str:
    low, high = numbers.min(), numbers.max()
    return f"{low}" if low == high else f"{low} to {high}"


@figure
def frugal_cost_of_robx() -> str:
    """Cost at equal validity, split by split: means of data sets and libraries."""
    return percent(*_by_cell(_ratios(OURS, "RobX", "cost")))


@figure
def frugal_cost_of_robx_at_90() -> str:
    """The same where 90 % are kept."""
    return percent(*_by_cell(_ratios(OURS, "RobX", "cost", real.EASIER)))


@figure
def frugal_changes_of_robx() -> str:
    """Changes at equal validity."""
    return percent(*_by_cell(_ratios(OURS, "RobX", "changes")))


@figure
def compared_with_robx() -> str:
    """Splits on which both methods keep as much, of all."""
    n = len(_equal().drop_duplicates(real.CELL))
    return f"{len(_ratios(OURS, 'RobX', 'cost'))} of {n}"


@figure
def bare_cost_of_robx() -> str:
    """Cost at equal validity, without realism."""
    return percent(*_by_cell(_ratios(BARE, "RobX", "cost")))


@figure
def bare_against_others() -> str:
    """Cost without realism as a share of the cheapest other method's, split by split."""
    wide = _equal().pivot_table(index=real.CELL, columns="method", values="cost")
    others = wide.drop(columns=[OURS, BARE, "BetaRCE"], errors="ignore").min(axis=1)
    return percent(*_by_cell((wide[BARE] / others).dropna()))


@figure
def realism_costs() -> str:
    """What realism adds at equal validity, split by split."""
    return percent(*(_by_cell(_ratios(OURS, BARE, "cost")) - 1))


@figure
def real_came() -> str:
    """Promised and came of the default method: a line for each data set and library."""
    ours = _promised()
    ours = ours[ours["method"] == OURS]
    rows = []
    for data, library in ours[["data", "library"]].drop_duplicates().itertuples(index=False):
        some = ours[(ours["data"] == data) & (ours["library"] == library)]
        figures = (
            f"{DATA[data]}, {LIBRARIES[library]}",
            span(some["promised"]),
            span(some["came"]),
            f"{some['cost'].mean():.2f}",
            f"{some['n_changes'].mean():.1f}",
            f"{some['fit_seconds'].median():.0f}",
        )
        rows.append(f"| {' | '.join(figures)} |")
    head = "| data, model | promised: mean [range over splits] | came | L1 | changes | set-up, s |"
    return "\n".join(["", head, "| --- " * 6 + "|", *rows, ""])


def span(shares: pd.Series) -> str:
    """Say the mean of shares with their range."""
    low, high = 100 * shares.min(), 100 * shares.max()
    return f"{100 * shares.mean():.1f} % [{low:.0f}, {high:.0f}]"


@figure
def plain_broken() -> str:
    """What new models reject of plain methods' answers, by method and data set."""
    plain = real.as_they_come(_new_rows("curves"))
    plain = plain[plain["method"].isin(PLAIN)]
    return percent(*(1 - plain.groupby(["method", "data"])["came"].mean()))


@figure
def readme_comparison() -> str:
    """Cost of every method at equal validity, as a multiple of Frugal's on the same splits."""
    rows = []
    for method in [name for name in real.METHODS if name in set(_equal()["method"])]:
        mine = _equal()[_equal()["method"] == method]
        times = _ratios(method, OURS, "cost")
        cells = [_times_on(times, data) for data in DATA]
        reached = f"{mine['cost'].notna().sum()} of {len(mine)}"
        changes = _ratios(method, OURS, "changes")
        said = f"{changes.mean():.2f}" if len(changes) else ""
        name = f"**{method}**" if method == OURS else method
        rows.append(f"| {name} | {' | '.join(cells)} | {said} | {reached} |")
    head = f"| | {' | '.join(DATA.values())} | changes | splits where 95 % are kept |"
    return "\n".join(["", head, "| --- " * 6 + "|", *rows, ""])


def _times_on(times: pd.Series, data: str) -> str:
    some = times[times.index.get_level_values("data") == data]
    if not len(some):
        return "not reached"
    return f"{some.mean():.2f} [{some.min():.2f}, {some.max():.2f}]"


# --- promises on simulated data -------------------------------------------------------------------


@figure
def simulated_sets() -> str:
    """Number of data sets, by size."""
    sets = lines_of("simulated").drop_duplicates(["kind", "n", "library", "seed"])
    said = [f"{count} of {n} rows" for n, count in sets.groupby("n").size().items()]
    return f"{len(sets)} data sets ({', '.join(said)})"


@figure
def simulated_came() -> str:
    """Promised and came: where it was promised, and where less was."""
    lines = lines_of("simulated").dropna(subset=["asked"])
    rows = []
    for asked in sorted(lines["asked"].unique()):
        met = lines[(lines["asked"] == asked) & (lines["promised"] >= asked)]
        times = met["cost"] / met["cheapest"]
        rows.append(
            f"| {100 * asked:.0f} % promised | {len(met)} | {span(met['came'])} "
            f"| {times.median():.2f} [{times.quantile(0.1):.2f}, {times.quantile(0.9):.2f}] |"
        )
    less = lines[lines["promised"] < lines["asked"]]
    points = 100 * (less["came"] - less["promised"])
    rows.append(
        f"| less promised than asked for | {len(less)} | {points.mean():+.1f} points beside what "
        f"was promised [{points.min():+.0f}, {points.max():+.0f}] | |"
    )
    head = (
        "| | promises | came: mean [range] | cost, times that of the cheapest that would do: "
        "median [10th, 90th percentile] |"
    )
    return "\n".join(["", head, "| --- " * 4 + "|", *rows, ""])


@figure
def simulated_cells_below() -> str:
    """Cells whose mean came is more than two points below what was promised."""
    lines = lines_of("simulated").dropna(subset=["asked"])
    cells = lines.groupby(["asked", "n", "kind", "library"])[["promised", "came"]].mean()
    below = (cells["came"] < cells["promised"] - 0.02).sum()
    return f"{below} of {len(cells)}"


@figure
def simulated_bounds_hold() -> str:
    """Share of answers whose own bound under new rows held, by size."""
    lines = lines_of("simulated").dropna(subset=["asked"])
    return percent(*lines.groupby("n")["low_holds"].mean())


@figure
def without_a_promise() -> str:
    """What came at level 0.7, by size, beside what retrained models had estimated."""
    lines = lines_of("simulated")
    means = lines[lines["asked"].isna()].groupby("n")[["came", "judges"]].mean()
    said = [
        f"{100 * came:.0f} % at {n} rows ({100 * judged:.0f} % estimated)"
        for n, came, judged in zip(means.index, means["came"], means["judges"], strict=True)
    ]
    return "; ".join(said)


# --- from part to whole ---------------------------------------------------------------------------


@cache
def _settings() -> pd.DataFrame:
    return parts.settings_of(lines_of("parts"))


@figure
def score_moves() -> str:
    """What the mean score that is needed becomes when a table doubles."""
    return _moves("score")


@figure
def rank_moves() -> str:
    """The same for its rank."""
    return _moves("rank")


@figure
def deviations_move() -> str:
    """The same for its distance in deviations."""
    return _moves("deviations")


def _moves(unit: str) -> str:
    moved = parts.doubled(_settings(), unit)
    return f"{moved['median']:.2f} [{moved['lowest']:.2f}, {moved['highest']:.2f}]"


@figure
def carried_by_score() -> str:
    """Points by which more is kept than was wanted, if the score is carried over."""
    return _carried("score")


@figure
def carried_by_both() -> str:
    """The same, if score and rank are."""
    return _carried("both")


def _carried(by: str) -> str:
    found = parts.carried_of(lines_of("parts"))
    points = found[found["by"] == by]["points"]
    return f"{points.mean():+.1f} [{points.min():+.1f}, {points.max():+.1f}]"


@figure
def growth_exponents() -> str:
    """Exponents of growth, from the lowest to the highest."""
    found = parts.growth_of(lines_of("parts"))["exponent"]
    return f"{found.min():.2f} to {found.max():.2f}, on the mean {found.mean():.2f}"


@figure
def labels_tell() -> str:
    """How many points more are kept in the best third by labels than in the worst, by kind."""
    kept = parts.support_of(lines_of("parts")).pivot_table(
        index="kind", columns="support", values="kept"
    )
    gain = 100 * (kept[2] - kept[0])
    return f"{gain.min():.0f} to {gain.max():.0f} points"


# --- the proven optimum ---------------------------------------------------------------------------


@cache
def _yardstick() -> pd.DataFrame:
    return yardstick.cells(pd.read_csv(yardstick.RESULTS / "yardstick.csv"))


@figure
def optimum_median() -> str:
    """Cost of the median answer as a multiple of the optimum, over the cells."""
    return times(_yardstick()["median"])


@figure
def optimum_without() -> str:
    """The same, for a search from rows alone."""
    return times(_yardstick()["without"])


@figure
def optimum_within_on_adult() -> str:
    """Share of the answers that are within a tenth of the optimum."""
    return _within("adult")


@figure
def optimum_within_on_german() -> str:
    """The same on German Credit."""
    return _within("german")


def _within(data: str) -> str:
    found = _yardstick()
    return percent(*found[found["data"] == data]["within"])


@figure
def optimum_tail() -> str:
    """What one in ten costs at least on German Credit, as a multiple of the optimum."""
    found = _yardstick()
    return times(found[found["data"] == "german"]["tenth"])


@figure
def optimum_people() -> str:
    """Number of people whose optimum was proven."""
    return f"{_yardstick()['people'].sum():.0f}"


def times(values: pd.Series) -> str:
    """Say multiples as a range."""
    return f"{values.min():.2f} to {values.max():.2f} times"
