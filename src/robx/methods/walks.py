"""Walks from counterfactuals towards stable ones, and the first stable place on each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robx.arrays import Bools, Floats, same_rows
from robx.methods.point_tests import PointTest
from robx.problem import Applicants, Problem
from robx.schema import Norm

#: A walk that is this near its target, as a share of the whole way, has arrived.
ARRIVED = 1e-3
#: Walks are laid out for so many applicants at a time that they take about this many numbers.
MOST_NUMBERS = 2**22


@dataclass(eq=False)
class Walks:
    """For each of m applicants up to c walks of up to s places.

    Parameters
    ----------
    places : (m, c, s, d) float64
        Where each walk comes by, on allowed values. The last place is the target.
    cost : (m, c, s) float64
        Distance of each place from the applicant; inf where there is no walk, or no such place.
    known : (m, c) bool
        Whether the last place is known to pass, because it is the target itself.
    """

    places: Floats
    cost: Floats
    known: Bools

    @staticmethod
    def most_at_once(step: float, n_targets: int, n_columns: int) -> int:
        """Say for how many applicants walks can be laid out in bounded memory."""
        return max(MOST_NUMBERS // (steps_to_go(step) * n_targets * n_columns), 1)

    @classmethod
    def towards(
        cls,
        problem: Problem,
        applicants: Applicants,
        start: Floats,
        targets: list[list[Floats]],
        step: float,
        norm: Norm,
    ) -> Walks:
        """Lay out the walks ``x' <- step * target + (1 - step) * x'``."""
        m, d = start.shape
        c = max(map(len, targets))
        n_steps = steps_to_go(step)
        goal = np.empty((m, c, d))
        exists = np.zeros((m, c), dtype=bool)
        for i, points in enumerate(targets):
            goal[i] = points[0]
            goal[i, : len(points)] = points
            exists[i, : len(points)] = True
        places = np.empty((m, c, n_steps, d))
        here = np.repeat(start[:, None], c, axis=1)
        jumps = problem.rules.is_label | np.isnan(here) | np.isnan(goal)
        left = 1.0
        for k in range(n_steps - 1):
            here = step * goal + (1 - step) * here
            left *= 1 - step
            # What has no way between jumps at half of it.
            first = goal if left < 0.5 else start[:, None]
            places[:, :, k] = np.where(jumps, first, here)
        places[:, :, -1] = goal
        flat = places.reshape(-1, d)
        owner = np.repeat(np.arange(m), c * n_steps)
        flat, legal = problem.gate.admit(flat, applicants, owner)
        cost = problem.rules.cost(flat, applicants.matrix[owner], norm)
        cost[~legal] = np.inf
        cost = cost.reshape(m, c, n_steps)
        cost[~exists] = np.inf
        places = flat.reshape(m, c, n_steps, d)
        return cls(places, cost, same_rows(places[:, :, -1], goal))

    def first_passing(self, test: PointTest) -> list[Floats]:
        """Find where each walk first passes, and of these places the one of least cost: m points.

        The walk that can still become the cheapest goes on first; one that cannot become cheaper
        than what is found is left where it is. A place that equals the one before is not tested
        again, and a target not at all: it is known to pass.
        """
        m, c, n_steps, _ = self.places.shape
        to_come = np.minimum.accumulate(self.cost[:, :, ::-1], axis=2)[:, :, ::-1]
        repeats = np.zeros(self.cost.shape, dtype=bool)
        repeats[:, :, 1:] = same_rows(self.places[:, :, 1:], self.places[:, :, :-1])
        at = np.zeros((m, c), dtype=np.int64)
        best_cost, best_walk = np.full(m, np.inf), np.full(m, c)
        best = self.places[:, 0, -1].copy()
        everyone, walks = np.arange(m), np.arange(c)
        while True:
            bound = np.where(
                at < n_steps, to_come[everyone[:, None], walks, np.minimum(at, n_steps - 1)], np.inf
            )
            walk = bound.argmin(axis=1)
            least = bound[everyone, walk]
            going = np.flatnonzero(
                (least < best_cost) | ((least == best_cost) & (walk < best_walk) & (least < np.inf))
            )
            if len(going) == 0:
                return list(best)
            w, k = walk[going], at[going, walk[going]]
            point, cost = self.places[going, w, k], self.cost[going, w, k]
            is_goal = (k == n_steps - 1) & self.known[going, w]
            passed = is_goal.copy()
            asked = ~is_goal & ~repeats[going, w, k] & (cost < np.inf)
            passed[asked] = test(point[asked])
            better = passed & (
                (cost < best_cost[going]) | ((cost == best_cost[going]) & (w < best_walk[going]))
            )
            rows = going[better]
            best_cost[rows], best_walk[rows], best[rows] = cost[better], w[better], point[better]
            at[going, w] = np.where(passed, n_steps, k + 1)


def steps_to_go(step: float) -> int:
    """Number of steps until a walk has arrived."""
    n_steps, left = 1, 1 - step
    while left >= ARRIVED:
        n_steps, left = n_steps + 1, left * (1 - step)
    return n_steps
