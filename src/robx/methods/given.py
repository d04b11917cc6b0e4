"""Precomputed counterfactuals: by DiCE, by NICE, by a colleague."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Floats, same_rows
from robx.errors import InvalidInput
from robx.methods.base import Method
from robx.problem import Applicants, Problem, SearchResult
from robx.tables import column_names, count_rows, take


@dataclass(frozen=True, kw_only=True)
class Given(Method):
    """Counterfactuals that were made elsewhere, brought onto what the schema allows.

    Parameters
    ----------
    points : table of shape (n, d)
        Row i is for applicant i. A row with no value at all stands for "none found". Columns of a
        frame that the model does not know, such as the outcome that DiCE adds, are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from robx import Problem
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [4.0, 0.0]])
    >>> problem = Problem(DecisionTreeClassifier().fit(X, [0, 0, 1, 1]), X)
    >>> Given(points=[[2.6, 0.0], [0.0, 0.0]]).explain(problem, X[:2]).status.tolist()
    [<Status.OK: 'ok'>, <Status.NOT_FOUND: 'nothing found'>]
    """

    points: Any = field(compare=False)

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        if count_rows(self.points) != n_applicants:
            raise InvalidInput(
                "Counterfactuals that are given must be a table with a row for each applicant, "
                f"{n_applicants}. Got {count_rows(self.points)} rows."
            )

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        points, trouble = read_points(problem, self.points, "base")
        return judged(problem, applicants, points[rows], trouble[rows], "given")


def read_points(problem: Problem, points: Any, what: str) -> tuple[Floats, NDArray[Any]]:
    """Read counterfactuals in the form of the training table, and what is wrong with each row."""
    read = problem.codec.read_rows(_without_extras(points, problem.names), what)
    problem.view.mark_missing(read.matrix)
    return read.matrix, read.trouble


def judged(
    problem: Problem,
    applicants: Applicants,
    points: Floats,
    trouble: NDArray[Any],
    verb: str,
) -> SearchResult:
    """Bring points onto what the schema allows, and ask the model about them.

    Parameters
    ----------
    problem : Problem
    applicants : m Applicants
    points : (m, d) float64
        A row without any value, or with an infinite one, stands for "none found".
    trouble : (m,) str
        Why a point cannot be read, "" for the others.
    verb : str
        How the points came, in reasons: "given" or "returned".
    """
    found = SearchResult.nothing(applicants)
    nothing = np.asarray(np.isnan(points).all(axis=1) | np.isinf(points).any(axis=1))
    nothing |= trouble != ""
    wanted = np.where(nothing[:, None], applicants.matrix, points)
    allowed, legal = problem.gate.project(wanted, applicants)
    accepted = problem.gate.accepts(allowed)
    moved = ~same_rows(allowed, wanted)
    for i in range(len(applicants)):
        if trouble[i]:
            reason = f"the counterfactual that was {verb} cannot be read: {trouble[i]}"
            found.refuse(i, Status.NOT_FOUND, reason)
        elif nothing[i]:
            found.refuse(i, Status.NOT_FOUND, f"no counterfactual was {verb}")
        elif not legal[i]:
            found.refuse(i, Status.INFEASIBLE, f"no allowed point is near the one {verb}")
        elif accepted[i]:
            found.answer(i, allowed[i])
        else:
            found.points[i] = allowed[i]
            once = " once it keeps the schema" if moved[i] else ""
            reason = f"the counterfactual that was {verb} is not accepted{once}"
            found.refuse(i, Status.NOT_FOUND, reason)
    return found


def _without_extras(points: Any, names: tuple[str, ...]) -> Any:
    """Leave out a frame's columns that the model does not know."""
    have = column_names(points)
    if have is None or not set(names) < set(have):
        return points
    return take(points, np.arange(count_rows(points)), names)
