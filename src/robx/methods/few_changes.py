"""Search for points that change few features: the features that help most come first.

Each search starts at the applicant and keeps a few points, the *beam*. In a round, every point of
the beam takes every option for one feature: values that accepted rows have. The model scores all of
these; the best are measured by the test; those nearest to passing are the next beam. So single
features are tried first, then pairs that begin with the best of them, and so on up to the limit; a
last round looks again at the values of the features that were chosen. Who passes needs no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from robx.arrays import Bools, Floats, same_rows
from robx.methods.point_tests import N_PARTS, RobustnessTest
from robx.methods.pullback import Ints, place_in_line
from robx.problem import Applicants, Problem

#: Values of one feature to try: these quantiles of the accepted rows, or their commonest values.
QUANTILES = np.array([0.0, 0.05, 0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85, 0.95, 1.0])
MOST_LEVELS = 24
#: Points of an applicant to go on from; points to measure in a round, of how many that differ in
#: one value only, and of how many times as many with repeated ones.
BEAM = 16
MEASURED = 96
ALIKE = 3
REPEATED = 4
#: Numbers to lay out at one time.
MOST_NUMBERS = 2**22


@dataclass(eq=False)
class FewChanges:
    """Points of m applicants that change at most some number of features, as they were measured.

    Parameters
    ----------
    owner : (n,) int
        The applicant of each point.
    points : (n, d) float64
        Legal points that the model accepts.
    lacks : (n, N_PARTS) float64
        How far they are from passing: see `RobustnessTest.lacks`.
    complete : (m,) bool
        Whether the search did not end for want of tests.
    most : int
        Maximum number of features that change.
    """

    owner: Ints
    points: Floats
    lacks: Floats
    complete: Bools
    most: int

    @classmethod
    def search(
        cls,
        applicants: Applicants,
        rows: Ints,
        test: RobustnessTest,
        most: int,
        max_tests: int,
    ) -> FewChanges:
        """Look for points that pass.

        Parameters
        ----------
        applicants : m Applicants
        rows : (k,) int
            Those to search for.
        test : RobustnessTest
        most : int
            Maximum number of features that change.
        max_tests : int
            Points to measure for one applicant.
        """
        m, d = applicants.matrix.shape
        nobody = np.zeros(0, dtype=np.intp)
        found = cls(nobody, np.zeros((0, d)), np.zeros((0, N_PARTS)), np.ones(m, bool), most)
        options = Options.of(test.problem)
        at_once = max(MOST_NUMBERS // (BEAM * max(len(options.values), 1) * d), 1)
        for first in range(0, len(rows), at_once):
            found._run(applicants, rows[first : first + at_once], test, options, max_tests)
        return found

    def passing(self, rows: Bools | None = None, but: int | None = None) -> list[list[Floats]]:
        """Give the points of each applicant that pass, or that pass but for one part of the test.

        Only for some applicants, (m,) bool, if these are given.
        """
        lacks = self.lacks if but is None else np.delete(self.lacks, but, axis=1)
        passed = (lacks == 0).all(axis=1)
        if rows is not None:
            passed &= rows[self.owner]
        out: list[list[Floats]] = [[] for _ in self.complete]
        for k in np.flatnonzero(passed):
            out[self.owner[k]].append(self.points[k])
        return out

    @cached_property
    def best(self) -> Ints:
        """Place of each applicant's point that is nearest to passing, or -1: (m,)."""
        out = np.full(len(self.complete), -1, dtype=np.intp)
        order = np.lexsort((self.lacks.sum(axis=1), self.owner))
        firsts = order[place_in_line(self.owner[order]) == 0]
        out[self.owner[firsts]] = firsts
        return out

    def _run(
        self,
        applicants: Applicants,
        some: Ints,
        test: RobustnessTest,
        options: Options,
        max_tests: int,
    ) -> None:
        """Search for some of the applicants."""
        tests_left = np.full(len(applicants), max_tests)
        threshold = test.problem.threshold
        owner, beam = some, applicants.matrix[some]
        for _ in range(min(self.most, len(test.problem.rules.features_of_columns)) + 1):
            owner, points, legal, score = _next(
                test.problem, applicants, owner, beam, options, self.most
            )
            may = place_in_line(owner) < tests_left[owner]
            self.complete[owner[~may]] = False
            owner, points, legal, score = owner[may], points[may], legal[may], score[may]
            np.subtract.at(tests_left, owner, 1)
            accepted = legal & (score > threshold)
            lacks = test.lacks(points[accepted])
            self.owner = np.concatenate([self.owner, owner[accepted]])
            self.points = np.concatenate([self.points, points[accepted]])
            self.lacks = np.concatenate([self.lacks, lacks])
            # Who is not accepted yet is further from passing than anybody who is.
            lack = 2 * N_PARTS + threshold - score
            lack[accepted] = lacks.sum(axis=1)
            going = np.flatnonzero(~np.isin(owner, owner[lack == 0]))
            order = going[np.lexsort((-score[going], lack[going], owner[going]))]
            kept = order[place_in_line(owner[order]) < BEAM]
            owner, beam = owner[kept], points[kept]


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
        values, feature = values_of_features(problem, QUANTILES)
        return cls(values, problem.rules.features_of_columns[feature], feature)


def values_of_features(problem: Problem, quantiles: Floats) -> tuple[Floats, Ints]:
    """List values of each feature that accepted rows have: all, the commonest, or quantiles.

    Returns (n, d) values, in the columns of their feature, and (n,) features by their places in
    `Rules.features_of_columns`.
    """
    rules, rows = problem.rules, problem.support.rows
    values, features = [np.empty((0, rows.shape[1]))], []
    for k, columns in enumerate(rules.features_of_columns):
        known = rows[~np.isnan(rows[:, columns]).any(axis=1)]
        seen, count = np.unique(known[:, columns], axis=0, return_counts=True)
        if len(seen) > len(quantiles) and columns.sum() == 1 and not rules.is_label[columns][0]:
            seen = np.quantile(known[:, columns], quantiles, axis=0, method="nearest")
            seen = np.unique(seen, axis=0)
        elif len(seen) > MOST_LEVELS:
            seen = seen[np.sort(np.argsort(-count, kind="stable")[:MOST_LEVELS])]
        some = np.zeros((len(seen), rows.shape[1]))
        some[:, columns] = seen
        values.append(some)
        features += [k] * len(seen)
    return np.concatenate(values), np.array(features, dtype=np.intp)


def _next(
    problem: Problem,
    applicants: Applicants,
    owner: Ints,
    beam: Floats,
    options: Options,
    most: int,
) -> tuple[Ints, Floats, Bools, Floats]:
    """Take every option from every point, and choose those that are worth measuring.

    Returns owners, points, which of them are legal, and scores.
    """
    changed = problem.rules.changed_features(beam, applicants.matrix[owner])
    has_more = changed.sum(axis=1) < most
    start, option = np.nonzero(has_more[:, None] | changed[:, options.feature])
    wanted = np.where(options.columns[option], options.values[option], beam[start])
    points, legal = problem.gate.admit(wanted, applicants, owner[start])
    moved = ~same_rows(points, beam[start])
    start, option, points, legal = start[moved], option[moved], points[moved], legal[moved]
    score, whose = problem.gate.score(points), owner[start]
    # Of points that differ in one value only a few, so that several features are looked at.
    alike = start * changed.shape[1] + options.feature[option]
    order = np.lexsort((-score, alike))
    order = order[place_in_line(alike[order]) < ALIKE]
    order = order[np.lexsort((-score[order], whose[order]))]
    # A set of features is reached by as many ways as there are orders of them.
    order = order[place_in_line(whose[order]) < REPEATED * MEASURED]
    order = order[_firsts(whose[order], points[order])]
    order = order[place_in_line(whose[order]) < MEASURED]
    return whose[order], points[order], legal[order], score[order]


def _firsts(owner: Ints, points: Floats) -> Ints:
    """Places of points that do not repeat an earlier one of the same applicant, in order."""
    keyed = np.column_stack([owner, np.where(np.isnan(points), np.inf, points)])
    return np.asarray(np.sort(np.unique(keyed, axis=0, return_index=True)[1]))
