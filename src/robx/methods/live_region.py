"""Live-region search: from accepted rows as far back home as the model's output stays the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.kernels import regions
from robx.kernels.trees import Trees
from robx.methods.base import Method, check_gamma
from robx.methods.leaf_space import trees_of
from robx.methods.neighbours import nearest_points, report
from robx.parallel import in_threads
from robx.parameters import MOST_COUNT, check_whole
from robx.problem import Applicants, Problem, SearchResult


@dataclass(frozen=True, kw_only=True)
class LiveRegion(Method):
    """The nearest point of the live regions of accepted rows near the applicant.

    A row of the support falls into one leaf of every tree; the intersection of their boxes is its
    live region, in which every point has the row's score. For each of the nearest rows that are
    accepted once they fit the applicant, every feature goes back towards the applicant as far as
    the region reaches, onto allowed values. The cheapest of these points is the answer.

    It never costs more than `NearestNeighbour`, and takes a few times as long.

    Parameters
    ----------
    norm : {1, 2}
    gamma : float, optional
        Look for scores above this instead of the problem's threshold, if it is higher.
    n_rows : int
        Accepted rows to start from.
    max_tries : int
        Rows to look at for each applicant before giving up.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from robx import Feature, Problem, Schema
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [4.0, 0.0]])
    >>> schema = Schema((Feature("a", resolution=0.1), Feature("b")))
    >>> problem = Problem(DecisionTreeClassifier().fit(X, [0, 0, 1, 1]), X, schema)
    >>> LiveRegion().explain(problem, X[1:2]).points
    array([[1.6, 1. ]])
    """

    needs = frozenset({"trees"})

    gamma: float | None = None
    n_rows: int = 16
    max_tries: int = 10_000

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        check_gamma(self.gamma, "LiveRegion")
        check_whole(self.n_rows, "n_rows", "LiveRegion", most=MOST_COUNT)
        check_whole(self.max_tries, "max_tries", "LiveRegion", most=MOST_COUNT)

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
            n_wanted=self.n_rows,
            cutoff=cutoff,
            max_tries=self.max_tries,
        )
        report(problem, applicants, near, found, cutoff)
        owner = np.repeat(np.arange(len(applicants)), [len(points) for points in near.points])
        if len(owner) == 0:
            return found
        points = np.array([point for points in near.points for point in points])
        trees = trees_of(problem).trees.kernel_arrays
        closer = towards_home(problem, applicants.take(owner), points, trees)
        closer, legal = problem.gate.admit(closer, applicants, owner)
        kept = legal & problem.gate.accepts(closer, self.gamma)
        points = np.where(kept[:, None], closer, points)
        cost = problem.rules.cost(points, applicants.matrix[owner], self.norm)
        # Of the rows of each applicant the cheapest, of equals the first.
        order = np.lexsort((cost, owner))
        firsts = order[np.unique(owner[order], return_index=True)[1]]
        for k in firsts:
            found.answer(owner[k], points[k])
        return found


def towards_home(problem: Problem, applicants: Applicants, points: Floats, trees: Trees) -> Floats:
    """Bring points back towards their applicants within their live regions: (n, d)."""
    view, rules = trees_of(problem), problem.rules
    # What the applicants lack: nothing of it is on the way home.
    numbers, point_numbers = view.numbers(applicants.matrix), view.numbers(points)
    missing_from, missing_to = view.missing_ranges.T.copy()
    members = [np.zeros(0, dtype=np.int64), *rules.groups.values()]
    group_start = np.cumsum([0, *map(len, members[1:])]).astype(np.int64)
    out = np.empty_like(points)

    def run(part: slice) -> None:
        regions.clip_into_regions(
            applicants.matrix[part],
            numbers[part],
            applicants.low[part],
            applicants.high[part],
            points[part],
            point_numbers[part],
            missing_from,
            missing_to,
            *rules.grid,
            group_start,
            np.concatenate(members).astype(np.int64),
            trees,
            out[part],
        )

    in_threads(run, len(points), 64)
    return out
