"""Our figures beside the paper's."""

from __future__ import annotations

import math

import pandas as pd

from experiments.report import grid
from experiments.spec import FIGURES, Spec, base_of, published

__all__ = ["NO_TAU", "markdown", "of_each", "side_by_side", "uses_tau"]

#: The rule for tau of methods that have none.
NO_TAU = "none"
KEY = ["norm", "method", "tau_rule"]
#: Base models with answers that an interval needs.
LEAST_BASES = 3


def uses_tau(method: str) -> bool:
    """Whether a method asks for stability."""
    return method == "CCF" or base_of(method) is not None


def side_by_side(spec: Spec, data: str, ours: pd.DataFrame) -> pd.DataFrame:
    """Put our figures beside the paper's.

    Parameters
    ----------
    spec : Spec
    data : str
    ours : DataFrame
        With ``norm``, ``method``, ``tau_rule``, ``metric``, ``value``, ``low``, ``high``: the
        metrics of `robx.evaluate`, pooled over base models, for the scenario of the spec, and
        ``by_seed``, those of each base model.

    Returns
    -------
    DataFrame
        With ``table``, ``norm``, ``method``, ``tau_rule``, ``metric``, ``paper``, ``ours``,
        ``low``, ``high``, ``difference`` (ours less the paper's), ``by_seed`` (the figures of each
        base model, in a text), ``note``. The metrics of the
        paper are called cost, validity (in percent) and lof; others are kept as they are.
    """
    paper = published(spec.name)
    paper = paper[paper["data"] == data].drop(columns="data")
    place = {(norm, name): k for k, (norm, name) in enumerate(_wanted(spec, data))}
    named = _as_published(ours)
    named["place"] = [place.get(key) for key in zip(named["norm"], named["method"], strict=True)]
    named = named.dropna(subset="place")
    missing = set(place.values()) - set(named["place"])
    if missing:
        names = [f"L{norm} {name}" for (norm, name), k in place.items() if k in missing]
        raise ValueError(f"There are no figures of ours for {', '.join(names)} in '{spec.name}'.")
    figures = paper.melt(["norm", "method"], list(FIGURES), var_name="metric", value_name="paper")
    figures = figures.astype({"norm": "int64", "paper": "float64"})
    notes = paper[["norm", "method", "note"]].astype({"norm": "int64"})
    table = (
        named.rename(columns={"value": "ours"})
        .merge(figures, on=["norm", "method", "metric"], how="left")
        .merge(notes, on=["norm", "method"], how="left")
        .fillna({"note": ""})
        .assign(table=spec.name, difference=lambda made: made["ours"] - made["paper"])
        .sort_values(["place", "tau_rule"], kind="stable", ascending=[True, False])
    )
    columns = ["table", *KEY, "metric", "paper", "ours", "low", "high", "difference"]
    columns += ["by_seed", "note"]
    return table[columns].reset_index(drop=True)


def _wanted(spec: Spec, data: str) -> list[tuple[int, str]]:
    return [(norm, method) for norm in spec.norms for method in spec.rows(data)]


def _as_published(ours: pd.DataFrame) -> pd.DataFrame:
    """Call metrics as the paper does, and give validity in percent."""
    is_cost = ours["metric"] == "cost_l" + ours["norm"].astype(str)
    metric = ours["metric"].mask(is_cost, "cost").replace({"lof_accepted": "lof"})
    factor = (metric == "validity").map({True: 100.0, False: 1.0})
    numbers = {name: ours[name] * factor for name in ("value", "low", "high")}
    each = [
        " ".join(f"{value * times:.10g}" for value in values)
        for values, times in zip(ours["by_seed"], factor, strict=True)
    ]
    return ours.assign(metric=metric, **numbers, by_seed=each)


def of_each(by_seed: str) -> list[float]:
    """Read the figures of each base model; nan where nobody is answered."""
    return [float(value) for value in by_seed.split()]


HEAD = ["method", "tau", "cost: paper", "ours", "difference", "validity %: paper", "ours"]
HEAD += ["difference", "LOF: paper", "ours", "difference", "coverage %"]


def markdown(table: pd.DataFrame) -> str:
    """Write a table of `side_by_side`: for each norm a line for each method and rule for tau."""
    parts = []
    for norm, of_norm in table.groupby("norm"):
        lines = []
        for (method, rule), cells in of_norm.groupby(["method", "tau_rule"], sort=False):
            figure = cells.set_index("metric")
            texts = [str(method), "" if rule == NO_TAU else str(rule)]
            answered = [share > 0 for share in of_each(str(figure.loc["coverage", "by_seed"]))]
            for metric, digits in zip(FIGURES, (2, 1, 2), strict=True):
                texts += _three(figure, metric, digits, sum(answered))
            few = "" if all(answered) else f", {sum(answered)} of {len(answered)} models"
            texts.append(f"{100 * _get(figure, 'coverage', 'ours'):.0f}{few}")
            lines.append(texts)
        parts += [f"## L{norm}", grid(HEAD, lines, left=2)]
    notes = table.loc[table["note"] != "", ["norm", "method", "note"]].drop_duplicates()
    if len(notes):
        said = [f"- L{line.norm} {line.method}: {line.note}." for line in notes.itertuples()]
        parts.append("Of the paper's figures:\n\n" + "\n".join(said))
    return "\n\n".join(parts) + "\n"


def _three(figure: pd.DataFrame, metric: str, digits: int, n_bases: int) -> list[str]:
    """Write the paper's figure, ours with its interval, and the difference.

    An interval over one or two base models would say too much.
    """
    paper, ours, low, high, difference = (
        _get(figure, metric, column) for column in ("paper", "ours", "low", "high", "difference")
    )
    known = not math.isnan(low) and n_bases >= LEAST_BASES
    interval = f" [{low:.{digits}f}, {high:.{digits}f}]" if known else ""
    return [
        "" if math.isnan(paper) else f"{paper:.{digits}f}",
        "no answer" if math.isnan(ours) else f"{ours:.{digits}f}{interval}",
        "" if math.isnan(difference) else f"{difference:+.{digits}f}",
    ]


def _get(figure: pd.DataFrame, metric: str, column: str) -> float:
    """Look a figure up by its metric; NaN where there is none."""
    return float(figure[column].to_dict().get(metric, math.nan))
