"""Answers to begin with: the better they are, the smaller is what the exact search goes through."""

from __future__ import annotations

import numpy as np

from robx.arrays import Floats
from robx.methods.conservative import passing_points
from robx.methods.exact.quorum import Quorum
from robx.methods.live_region import towards_home
from robx.methods.pullback import Pullback
from robx.problem import Applicants

#: Rows of the support that are pulled back, of so many that are looked at.
N_ROWS, MOST_ROWS = 16, 10_000
#: How often the way that is left of a change is halved, and the tests that a row may take.
HALVINGS, MOST_TESTS = 6, 500


def warm_start(quorum: Quorum, applicants: Applicants) -> list[Floats | None]:
    """Pull rows near each applicant back as far as enough models accept them; give the cheapest.

    Last of all, each goes to the nearest edge of the cell that it lies in, where all models score
    the same.
    """
    problem, x = quorum.problem, applicants.matrix
    near = passing_points(
        applicants, x, quorum, norm=1, n_wanted=N_ROWS, max_tries=MOST_ROWS, order="any"
    )
    best: list[Floats | None] = [None] * len(applicants)
    owner = np.repeat(np.arange(len(applicants)), [len(points) for points in near.points])
    if len(owner) == 0:
        return best
    points = np.array([point for points in near.points for point in points])
    tests = np.full(len(owner), MOST_TESTS, dtype=np.int64)
    pullback = Pullback(applicants, owner, points, quorum, 1, tests)
    pullback.undo()
    pullback.halve(HALVINGS)
    pullback.trade(0.0)
    closer = towards_home(problem, applicants.take(owner), pullback.points, quorum.trees)
    closer, legal = problem.gate.admit(closer, applicants, owner)
    points = np.where((legal & quorum(closer))[:, None], closer, pullback.points)
    cost = problem.rules.cost(points, x[owner], 1)
    for k in np.lexsort((-cost, owner)):  # the cheapest last
        best[owner[k]] = points[k]
    return best
