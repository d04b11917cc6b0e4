"""Search for points that change few features: the features that help most come first.

Each applicant's search starts at the applicant and keeps a few points, the *beam*. In a round, every
point of the beam takes every option for one feature: values that accepted rows have. The model
scores all of these; the best are measured by the test; those nearest to passing are the next beam.
So single features are tried first, then pairs that begin with the best of them, and so on up to the
limit; a last round looks again at the values of the features that were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Bools, Floats
from robx.methods.point_tests import RobustnessTest
from robx.methods.pullback import Ints, place_in_line
from robx.problem import Applicants, Problem

#: Values of one feature to try: these quantiles of the accepted rows, or their commonest values.
QUANTILES = np.array([0.0, 0.05, 0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95, 1.0])
MOST_LEVELS = 24
#: Points of an applicant to go on from, points to measure in a round, and how many of these may
#: differ only in the value of one feature.
BEAM = 8
MEASURED = 48
ALIKE = 3
#: Numbers to lay out at one time.
MOST_NUMBERS = 2**22


@dataclass(eq=False)
class FewChanges:
    """Points that change at most some number of features, as far as they were measured.

    Parameters
    ----------
    owner : (n,) int
        The applicant of each point.
    points : (n, d) float64
        Legal points that the model accepts.
    lacks : (n, 3) float64
        See `RobustnessTest.lacks`.
    complete : (m,) bool
        Whether each applicant's search went to its end.
    """

    owner: Ints
    points: Floats
    lacks: Floats
    complete: Bools

    @classmethod
    def search(
        cls,
        applicants: Applicants,
        test: RobustnessTest,
        most: int,
        tests_left: NDArray[np.int64],
    ) -> FewChanges:
        """Look for points of m applicants that change at most `most` features.

        Parameters
        ----------
        applicants : m Applicants
        test : RobustnessTest
        most : int
        tests_left : (m,) int64
            How many points of each applicant may still be measured.
        """
        problem = test.problem
        options = Options.of(problem)
        n = max(MOST_NUMBERS // (BEAM * len(options.values) * len(problem.names)), 1)
        parts = [
            _search(applicants, np.arange(first, min(first + n, len(applicants))), *asked)
            for asked in [(test, options, most, tests_left)]
            for first in range(0, len(applicants), n)
        ]
        d = len(problem.names)
        return cls(
            np.concatenate([np.zeros(0, dtype=np.intp), *(p.owner for p in parts)]),
            np.concatenate([np.zeros((0, d)), *(p.points for p in parts)]),
            np.concatenate([np.zeros((0, 3)), *(p.lacks for p in parts)]),
            np.concatenate([np.zeros(0, dtype=bool), *(p.complete for p in parts)]),
        )

    def passing(self, n_parts: int = 3) -> list[list[Floats]]:
        """Give the points of each applicant that pass the first parts of the test."""
        out: list[list[Floats]] = [[] for _ in self.complete]
        for k in np.flatnonzero((self.lacks[:, :n_parts] == 0).all(axis=1)):
            out[self.owner[k]].append(self.points[k])
        return out

    def best(self) -> list[Floats | None]:
        """Give the point of each applicant that is nearest to passing, where there is one."""
        out: list[Floats | None] = [None] * len(self.complete)
        order = np.lexsort((self.lacks.sum(axis=1), self.owner))
        for k in order[place_in_line(self.owner[order]) == 0]:
            out[self.owner[k]] = self.points[k]
        return out


@dataclass(frozen=True, eq=False)
class Options:
    """What features may be set to: n options, each for one feature.

    Parameters
    ----------
    values : (n, d) float64
    columns : (n, d) bool
        The columns of each option's feature.
    feature : (n,) int
        Its place in `Rules.features_of_columns`.
    """

    values: Floats
    columns: Bools
    feature: Ints

    @classmethod
    def of(cls, problem: Problem) -> Options:
        """List values that accepted rows have; once for all who ask."""
        made: Options = problem.memo.get(("options",), lambda: cls._listed(problem))
        return made

    @classmethod
    def _listed(cls, problem: Problem) -> Options:
        rules, rows = problem.rules, problem.support.rows
        values, features = [np.empty((0, rows.shape[1]))], []
        for k, columns in enumerate(rules.features_of_columns):
            known = rows[~np.isnan(rows[:, columns]).any(axis=1)]
            seen, count = np.unique(known[:, columns], axis=0, return_counts=True)
            if len(seen) > len(QUANTILES) and columns.sum() == 1 and not rules.is_label[columns][0]:
                seen = np.quantile(known[:, columns], QUANTILES, axis=0, method="nearest")
                seen = np.unique(seen, axis=0)
            elif len(seen) > MOST_LEVELS:
                seen = seen[np.sort(np.argsort(-count, kind="stable")[:MOST_LEVELS])]
            some = np.zeros((len(seen), rows.shape[1]))
            some[:, columns] = seen
            values.append(some)
            features += [k] * len(seen)
        feature = np.array(features, dtype=np.intp)
        return cls(np.concatenate(values), rules.features_of_columns[feature], feature)


def _search(
    applicants: Applicants,
    rows: Ints,
    test: RobustnessTest,
    options: Options,
    most: int,
    tests_left: NDArray[np.int64],
) -> FewChanges:
    """Search for some of the applicants."""
    problem = test.problem
    owner, beam = rows, applicants.matrix[rows]
    found: list[tuple[Ints, Floats, Floats]] = []
    complete = np.ones(len(rows), dtype=bool)
    for _ in range(min(most, len(problem.rules.features_of_columns)) + 1):
        owner, points, legal, score = _next(applicants, owner, beam, options, most, problem)
        has_tests = place_in_line(owner) < tests_left[owner]
        complete[owner[~has_tests] - rows[:1]] = False
        owner, points, legal, score = (a[has_tests] for a in (owner, points, legal, score))
        np.subtract.at(tests_left, owner, 1)
        accepted = legal & (score > problem.threshold)
        lacks = np.empty((len(points), 3))
        # Who is not accepted yet is further from passing than anybody who is.
        lacks[:] = (1 + problem.threshold - score)[:, None]
        lacks[accepted] = test.lacks(points[accepted])
        found.append((owner[accepted], points[accepted], lacks[accepted]))
        lack = lacks.sum(axis=1)
        done = np.zeros(len(applicants), dtype=bool)
        done[owner[lack == 0]] = True
        order = np.lexsort((-score, lack, owner))
        order = order[~done[owner[order]]]
        kept = order[place_in_line(owner[order]) < BEAM]
        owner, beam = owner[kept], points[kept]
    owners, points, lacks = (np.concatenate(part) for part in zip(*found, strict=True))
    return FewChanges(owners, points, lacks, complete)


def _next(
    applicants: Applicants,
    owner: Ints,
    beam: Floats,
    options: Options,
    most: int,
    problem: Problem,
) -> tuple[Ints, Floats, Bools, Floats]:
    """Take every option from every point, and choose those that are worth measuring.

    Returns owners, points, which of them are legal, and scores.
    """
    rules, n = problem.rules, len(options.values)
    wanted = np.where(options.columns, options.values, beam[:, None]).reshape(-1, beam.shape[1])
    start, option = np.repeat(np.arange(len(beam)), n), np.tile(np.arange(n), len(beam))
    x = applicants.matrix[owner[start]]
    few = rules.n_changes(wanted, x) <= most
    few &= rules.changed_features(wanted, beam[start]).any(axis=1)
    start, option, wanted = start[few], option[few], wanted[few]
    points, legal = problem.gate.admit(wanted, applicants, owner[start])
    new = rules.changed_features(points, beam[start]).any(axis=1)
    start, option, points, legal = start[new], option[new], points[new], legal[new]
    score = problem.gate.score(points)
    # Of points that differ in one value only a few, so that several features are looked at.
    alike = start * len(rules.features_of_columns) + options.feature[option]
    order = np.lexsort((-score, alike))
    order = order[place_in_line(alike[order]) < ALIKE]
    order = order[np.lexsort((-score[order], owner[start[order]]))]
    order = order[_firsts(owner[start[order]], points[order])]
    whose = owner[start[order]]
    order = order[place_in_line(whose) < MEASURED]
    return owner[start[order]], points[order], legal[order], score[order]


def _firsts(owner: Ints, points: Floats) -> Ints:
    """Places of points that do not repeat an earlier one of the same applicant, in order."""
    keyed = np.column_stack([owner, np.where(np.isnan(points), np.inf, points)])
    return np.asarray(np.sort(np.unique(keyed, axis=0, return_index=True)[1]))
