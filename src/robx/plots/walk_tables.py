"""The table behind `along_walk`: what the model says on the path between two points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from robx.answers import Counterfactuals
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods.conservative import passing_points
from robx.methods.point_tests import StabilityTest
from robx.parameters import check_whole, is_whole, require
from robx.problem import Applicants, Problem
from robx.robustness import Noise
from robx.schema import Norm, check_norm
from robx.tables import count_rows, take


def walk_table(
    problem: Problem,
    start: Any,
    end: Any,
    *,
    n_points: int = 41,
    applicant: Any = None,
    noise: Noise | None = None,
    norm: Norm = 1,
) -> pd.DataFrame:
    """Measure points on the path from one row to another, as RobX walks it.

    Numbers change evenly; categories, and values that are missing at one end, change halfway. Every
    point is moved to values that the applicant may have.

    Parameters
    ----------
    problem : Problem
    start, end : tables of shape (1, d)
    n_points : int
        At least 2, evenly spaced.
    applicant : table of shape (1, d), optional
        The applicant whose walk it is; `start` unless given.
    noise : Noise, optional
        How points are perturbed.
    norm : {1, 2}
        Norm of the cost.

    Returns
    -------
    DataFrame
        Columns ``position`` (0 to 1), ``score``, ``mean``, ``std``, ``stability``, ``accepted``
        (by the model, and by the schema's relations) and ``cost`` from the applicant, NaN without
        one.

    Examples
    --------
    >>> import robx
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y, _ = robx.datasets.make_gaussians(200, seed=0)
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> problem = robx.Problem(forest, X)
    >>> low, high = X[:1] * 0 - 1.0, X[:1] * 0 + 1.0
    >>> table = walk_table(problem, low, high, n_points=5)
    >>> table["position"].tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> bool(table["stability"].iloc[-1] > table["stability"].iloc[0])
    True
    """
    _check(problem, n_points, "walk_table")
    check_norm(norm, "walk_table")
    own = start if applicant is None else applicant
    rows = [_only_row(problem, row, what) for row, what in ((start, "start"), (end, "end"))]
    people = _only_row(problem, own, "start" if applicant is None else "applicant")
    table = _walk(problem, rows[0].matrix, rows[1].matrix, people, n_points, noise or Noise(), norm)
    return table.assign(cost=np.nan) if applicant is None else table


def robx_walk_table(
    problem: Problem, answers: Counterfactuals, i: int, *, n_points: int = 41
) -> pd.DataFrame:
    """Measure the first path that RobX tries for an applicant.

    It leads from the base counterfactual (from the applicant, without a base) to the nearest
    conservative one. The answer itself may lie on the path to another, if that is cheaper.

    Parameters
    ----------
    problem : Problem
        The one that the answers are for.
    answers : Counterfactuals
        By `RobX`.
    i : int
        The position, from 0, of an applicant who has an answer.
    n_points : int

    Returns
    -------
    DataFrame
        As `walk_table` returns it.

    Examples
    --------
    >>> import robx
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y, _ = robx.datasets.make_gaussians(200, seed=0)
    >>> problem = robx.Problem(RandomForestClassifier(10, random_state=0).fit(X, y), X)
    >>> declined = X[problem.model.score(X) <= 0.5][:1]
    >>> answers = robx.RobX(tau=0.8).explain(problem, declined)
    >>> table = robx_walk_table(problem, answers, 0)
    >>> bool(table["stability"].iloc[0] < 0.8 <= table["stability"].iloc[-1])
    True
    """
    _check(problem, n_points, "robx_walk_table")
    if not isinstance(answers, Counterfactuals) or answers.method != "RobX":
        came = answers.method if isinstance(answers, Counterfactuals) else type(answers).__name__
        raise InvalidInput(f"robx_walk_table takes Counterfactuals by RobX. Got {came}.")
    n = len(answers)
    sound = is_whole(i) and 0 <= i < n
    require(sound, i, "i", "robx_walk_table", f"the position of one of the {n} applicants, from 0")
    settings, row = answers.settings, np.array([i])
    noise = Noise(**settings["noise"])
    people = problem.read(take(answers.applicants, row))
    base = answers.applicants if answers.base is None else answers.base.points
    start = problem.read(take(base, row)).matrix
    near = passing_points(
        people,
        start,
        StabilityTest(problem, float(settings["tau"]), noise),
        norm=answers.norm,
        n_wanted=1,
        max_tries=settings["max_tries"],
    )
    if not answers.ok[i] or not near.points[0]:
        raise InvalidInput(
            f"Applicant {i} has no walk: there is no stable answer, or the answers are for another "
            "problem. Choose an applicant with answers.ok."
        )
    goal = near.points[0][0][None]
    return _walk(problem, start, goal, people, n_points, noise, answers.norm)


def _walk(
    problem: Problem,
    start: Floats,
    goal: Floats,
    people: Applicants,
    n_points: int,
    noise: Noise,
    norm: Norm,
) -> pd.DataFrame:
    """Measure evenly spaced points from one, (1, d), to another."""
    noise.check(problem.names)
    position = np.linspace(0, 1, n_points)[:, None]
    jumps = problem.rules.is_label | np.isnan(start) | np.isnan(goal)
    places = np.where(
        jumps, np.where(position > 0.5, goal, start), (1 - position) * start + position * goal
    )
    owner = np.zeros(n_points, dtype=np.intp)
    places, legal = problem.gate.admit(places, people, owner)
    score, found = problem.gate.score(places), problem.gate.stability(places, noise)
    return pd.DataFrame(
        {
            "position": position[:, 0],
            "score": score,
            "mean": found.mean,
            "std": found.std,
            "stability": found.value,
            "accepted": (score > problem.threshold) & legal,
            "cost": problem.rules.cost(places, people.matrix[owner], norm),
        }
    )


def _check(problem: Any, n_points: Any, owner: str) -> None:
    if not isinstance(problem, Problem):
        raise InvalidInput(f"{owner} takes a robx.Problem first. Got {type(problem).__name__}.")
    check_whole(n_points, "n_points", owner, least=2)


def _only_row(problem: Problem, X: Any, what: str) -> Applicants:
    """Read a table of one row that the model takes."""
    n = count_rows(X)
    if n != 1:
        raise InvalidInput(
            f"The '{what}' of walk_table must be a table with one row, such as X.iloc[[0]]. Got "
            f"{n} rows."
        )
    row = problem.read(X, what)
    if np.isnan(row.score[0]):
        raise InvalidInput(f"The model does not take the '{what}' of walk_table: {row.trouble[0]}.")
    return row
