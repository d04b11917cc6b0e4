"""Precomputed counterfactuals: by DiCE, by NICE, by a colleague."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import same_rows
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
        found = SearchResult.nothing(applicants)
        read = problem.codec.read_rows(_without_extras(self.points, problem.names), "base")
        given, trouble = read.matrix[rows], read.trouble[rows]
        problem.view.mark_missing(given)
        nothing = np.asarray(np.isnan(given).all(axis=1) | np.isinf(given).any(axis=1))
        nothing |= trouble != ""
        given = np.where(nothing[:, None], applicants.matrix, given)
        points, legal = problem.gate.project(given, applicants)
        accepted = problem.gate.accepts(points)
        moved = ~same_rows(points, given)
        for i in range(len(applicants)):
            if trouble[i]:
                reason = f"the counterfactual that was given cannot be read: {trouble[i]}"
                found.refuse(i, Status.NOT_FOUND, reason)
            elif nothing[i]:
                found.refuse(i, Status.NOT_FOUND, "no counterfactual was given")
            elif not legal[i]:
                found.refuse(i, Status.INFEASIBLE, "no allowed point is near the one given")
            elif accepted[i]:
                found.answer(i, points[i])
            else:
                found.points[i] = points[i]
                once = " once it keeps the schema" if moved[i] else ""
                reason = f"the counterfactual that was given is not accepted{once}"
                found.refuse(i, Status.NOT_FOUND, reason)
        return found


def _without_extras(points: Any, names: tuple[str, ...]) -> Any:
    """Leave out a frame's columns that the model does not know."""
    have = column_names(points)
    if have is None or not set(names) < set(have):
        return points
    return take(points, np.arange(count_rows(points)), names)
