"""Tables of stabilities, and of cost beside validity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parameters import check_table, require
from robx.problem import Problem
from robx.robustness import Noise, stability
from robx.trees import import_model

#: Metrics of an evaluation that a frontier shows, beside validity.
COSTS = ("cost_l1", "cost_l2", "n_changes")


def stability_table(
    model: Any, X: Any = None, *, noise: Noise | None = None, scale: Any = None
) -> pd.DataFrame:
    """Measure rows: the model's score of each, and its mean, deviation and stability nearby.

    Parameters
    ----------
    model : Problem, or anything that `robx.import_model` takes
        A problem knows the units of its columns.
    X : table of shape (n, d), optional
        The rows; for a problem, its training rows unless given.
    noise : Noise, optional
        How rows are perturbed.
    scale : array of d, mapping from names, or table, optional
        Unit of each column, for a model alone; see `robx.stability`.

    Returns
    -------
    DataFrame
        Columns ``score``, ``mean``, ``std`` and ``stability`` (mean minus std), a row for each of
        `X`; NaN for a row that the model does not take.

    Examples
    --------
    >>> import robx
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y, _ = robx.datasets.make_gaussians(200, seed=0)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> stability_table(robx.Problem(forest, X)).columns.tolist()
    ['score', 'mean', 'std', 'stability']
    """
    chosen = Noise() if noise is None else noise
    require(isinstance(chosen, Noise), noise, "noise", "stability_table", "a robx.Noise, or None")
    if isinstance(model, Problem):
        if scale is not None:
            raise InvalidInput(
                "The 'scale' parameter of stability_table is for a model alone: a Problem uses the "
                "units of its schema. Leave it out."
            )
        return _of_problem(model, X, chosen)
    if X is None:
        raise InvalidInput(
            "stability_table needs the rows to measure, X, unless the model is a Problem."
        )
    imported = import_model(model, X=X)
    found = stability(
        imported,
        X,
        sigma=chosen.sigma,
        n_draws=chosen.n_draws,
        draws=chosen.draws,
        rng=chosen.rng,
        scale=scale,
    )
    return _measured(imported.score(X), found.mean, found.std, X)


def _of_problem(problem: Problem, X: Any, noise: Noise) -> pd.DataFrame:
    if X is None:
        matrix = problem.training
        score = problem.gate.score(matrix)
    else:
        people = problem.read(X)
        matrix, score = people.matrix, people.score
    noise.check(problem.names)
    mean, std = np.full((2, len(matrix)), np.nan)
    # Of rows that the model scores, noise makes no others.
    sound = np.isfinite(score) & ~np.isinf(matrix).any(axis=1)
    found = problem.gate.stability(matrix[sound], noise)
    mean[sound], std[sound] = found.mean, found.std
    return _measured(score, mean, std, X)


def _measured(score: Floats, mean: Floats, std: Floats, X: Any) -> pd.DataFrame:
    index = X.index if isinstance(X, pd.DataFrame) else None
    columns = {"score": score, "mean": mean, "std": std, "stability": mean - std}
    return pd.DataFrame(columns, index=index)


def frontier_table(
    evaluation: pd.DataFrame, *, knobs: Mapping[str, tuple[str, float]] | None = None
) -> pd.DataFrame:
    """Put cost beside validity: a row for each method and scenario of an evaluation.

    Parameters
    ----------
    evaluation : DataFrame
        From `robx.evaluate`.
    knobs : mapping from names of methods, optional
        For methods that are one method with several values of a parameter: the method's name and
        the value. ``{"RobX .5": ("RobX", 0.5), "RobX .6": ("RobX", 0.6)}`` makes one curve of two
        points.

    Returns
    -------
    DataFrame
        Columns ``method``, ``scenario``, ``knob`` (NaN without one), ``coverage`` (share of
        applicants with an answer), ``validity`` with its interval ``low`` to ``high``, and
        ``cost_l1``, ``cost_l2`` and ``n_changes``, each with its own ``_low`` and ``_high``.

    Examples
    --------
    >>> lines = [
    ...     ("NN", "bootstrap", "all", metric, 0.5, 0.4, 0.6)
    ...     for metric in ("coverage", "validity", "cost_l1", "cost_l2", "n_changes")
    ... ]
    >>> names = ["method", "scenario", "seed", "metric", "value", "low", "high"]
    >>> table = frontier_table(pd.DataFrame(lines, columns=names))
    >>> table[["method", "validity", "low", "high", "cost_l1", "cost_l1_low"]]
      method  validity  low  high  cost_l1  cost_l1_low
    0     NN       0.5  0.4   0.6      0.5          0.4
    """
    needed = ["method", "scenario", "seed", "metric", "value", "low", "high"]
    check_table(evaluation, needed, "frontier_table", "robx.evaluate")
    table = evaluation[evaluation["seed"].astype(str) == "all"]
    wanted = ("coverage", "validity", *COSTS)
    lacking = [metric for metric in wanted if metric not in set(table["metric"])]
    if lacking:
        raise InvalidInput(
            "frontier_table needs an evaluation with rows of seed 'all' for the metrics "
            f"{', '.join(wanted)}, as robx.evaluate returns. Missing: {', '.join(lacking)}."
        )
    known = list(dict.fromkeys(table["method"]))
    turned = dict(knobs or {})
    unknown = [name for name in turned if name not in known]
    if unknown:
        raise InvalidInput(
            f"The 'knobs' parameter of frontier_table names {unknown[0]!r}, which was not "
            f"evaluated. There are {', '.join(map(repr, known))}."
        )
    lines = []
    for (method, scenario), own in table.groupby(["method", "scenario"], sort=False):
        figures = own.set_index("metric")
        curve, knob = turned.get(str(method), (str(method), np.nan))
        line = {"method": curve, "scenario": scenario, "knob": knob}
        line["coverage"] = figures.loc["coverage", "value"]
        for metric, prefix in (("validity", ""), *((cost, f"{cost}_") for cost in COSTS)):
            line[metric] = figures.loc[metric, "value"]
            line |= {f"{prefix}{end}": figures.loc[metric, end] for end in ("low", "high")}
        lines.append(line)
    return pd.DataFrame(lines)
