"""The nearest accepted row of the support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.methods.base import Method, check_gamma
from robx.methods.neighbours import nearest_points, report
from robx.parameters import MOST_COUNT, check_whole
from robx.problem import Applicants, Problem, SearchResult


@dataclass(frozen=True, kw_only=True)
class NearestNeighbour(Method):
    """The nearest row of the support that is accepted (Definition 2 of the paper).

    Nearest counts as the row would look for the applicant, before its values are rounded to a
    stated resolution or to levels.

    Parameters
    ----------
    norm : {1, 2}
    gamma : float, optional
        Look for scores above this instead of the problem's threshold, if it is higher.
    max_tries : int
        Rows to look at for each applicant before giving up.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from robx import Problem
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [4.0, 0.0]])
    >>> tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    >>> NearestNeighbour().explain(Problem(tree, X), X[:1]).points
    array([[3., 0.]])
    """

    gamma: float | None = None
    max_tries: int = 10_000

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        check_gamma(self.gamma, "NearestNeighbour")
        check_whole(self.max_tries, "max_tries", "NearestNeighbour", most=MOST_COUNT)

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(applicants)
        cutoff = problem.gate.cutoff(self.gamma)
        near = nearest_points(
            problem,
            applicants,
            applicants.matrix,
            norm=self.norm,
            n_wanted=1,
            cutoff=cutoff,
            max_tries=self.max_tries,
        )
        report(problem, applicants, near, found, cutoff)
        return found
