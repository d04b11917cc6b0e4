"""`alternatives`: several answers for an applicant, each by other features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.arrays import Bools
from robx.errors import InvalidInput
from robx.methods.base import Method, finish
from robx.parameters import check_whole
from robx.problem import Applicants, Problem, SearchResult
from robx.progress import Progress

#: Features of an answer to try to do without.
MOST_TRIED = 3


def alternatives(
    method: Method, problem: Problem, X: Any, n_answers: int = 3, *, progress: bool = False
) -> Counterfactuals:
    """Find several answers for each applicant, so that a person can choose.

    Of every earlier answer a feature that it changes is held as it is when the next one is
    searched: of its three dearest, the one without which the next is cheapest. So each answer
    changes another set of features than all before, and leaves out something that they ask for.

    Parameters
    ----------
    method : Method
    problem : Problem
    X : table of shape (n, d)
        The applicants.
    n_answers : int
        How many to look for, the first one included.
    progress : bool

    Returns
    -------
    Counterfactuals
        The first answers; the others are its `alternatives`, each with a row for each applicant.
        Where there is no other answer, the status says so.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Frugal, Problem
    >>> X = np.random.default_rng(0).random((300, 3)).round(2)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] + X[:, 1] > 1)
    >>> answer = alternatives(Frugal(), Problem(forest, X), [[0.3, 0.4, 0.5]], n_answers=2)
    >>> print(answer.changes[0], answer.alternatives[0].changes[0])
    ('0: 0.3 → 0.72', '1: 0.4 → 0.65') ('1: 0.4 → 0.99', '2: 0.5 → 0.42')
    """
    if not isinstance(method, Method):
        raise InvalidInput(f"alternatives takes a method first. Got {method!r}.")
    check_whole(n_answers, "n_answers", "alternatives")
    first = method.explain(problem, X, progress=progress)
    people = problem.read(X)
    held = np.zeros(people.matrix.shape, dtype=bool)
    answers, used = [first], [_changed(problem, people, first)]
    for k in range(1, n_answers):
        with Progress((MOST_TRIED + 1) * len(people), f"alternative {k}", shown=progress) as bar:
            held = _hold_another(method, problem, people, answers[-1], held, used, bar)
            found = method.run(problem, _holding(people, held), bar)
        _refuse(problem, people, found, answers[-1], used, held)
        answers.append(finish(method, problem, X, people, found))
        used.append(_changed(problem, people, answers[-1]))
    return replace(first, alternatives=tuple(answers[1:]))


def _changed(problem: Problem, people: Applicants, answer: Counterfactuals) -> Bools:
    """Which features each answer changes: (n, features) bool."""
    points = problem.read(answer.points).matrix
    return problem.rules.changed_features(points, people.matrix)


def _hold_another(
    method: Method,
    problem: Problem,
    people: Applicants,
    before: Counterfactuals,
    held: Bools,
    used: list[Bools],
    bar: Progress,
) -> Bools:
    """Hold one more feature of the last answer, so that the next is cheap: (n, d) bool."""
    rules, own = problem.rules, people.matrix
    dearest = _dearest(problem, people, before)
    costs = []
    for more in dearest:
        found = method.run(problem, _holding(people, held | more), bar)
        counts = found.ok & more.any(axis=1) & ~_repeats(problem, people, found, used)
        costs.append(np.where(counts, rules.cost(found.points, own, method.norm), np.inf))
    best = np.argmin(costs, axis=0)  # the dearest, where there is no other answer
    return np.asarray(held | dearest[best, np.arange(len(people))])


def _dearest(problem: Problem, people: Applicants, answer: Counterfactuals) -> Bools:
    """Columns of the features that carry most of each answer's cost: (tries, n, d) bool."""
    rules, own = problem.rules, people.matrix
    points = problem.read(answer.points).matrix
    columns = rules.features_of_columns
    share = np.array([rules.cost(np.where(some, points, own), own, 1) for some in columns])
    order = np.argsort(-share, axis=0, kind="stable")[:MOST_TRIED]
    moves = np.take_along_axis(share, order, axis=0) > 0
    return np.asarray(columns[order] & (moves & answer.answered)[:, :, None])


def _holding(people: Applicants, held: Bools) -> Applicants:
    """Leave no room to what is held."""
    low = np.where(held, people.matrix, people.low)
    return replace(people, low=low, high=np.where(held, people.matrix, people.high))


def _repeats(problem: Problem, people: Applicants, found: SearchResult, used: list[Bools]) -> Bools:
    """Whether each answer changes the same features as an earlier one.

    Holding a feature keeps most from it, but not from filling in what is missing.
    """
    changed = problem.rules.changed_features(found.points, people.matrix)
    return np.asarray(np.any([(changed == one).all(axis=1) for one in used], axis=0))


def _refuse(
    problem: Problem,
    people: Applicants,
    found: SearchResult,
    before: Counterfactuals,
    used: list[Bools],
    held: Bools,
) -> None:
    """Refuse answers that repeat an earlier one; who had no answer has no other."""
    repeats = _repeats(problem, people, found, used)
    features = problem.schema.features
    for i in np.flatnonzero([status != Status.ACCEPTED for status in found.status]):
        if not before.answered[i]:
            status, reason = before.status[i], before.reason[i]
        elif repeats[i] or found.status[i] in {Status.BUDGET, Status.INFEASIBLE}:
            kept = [features[j] for j in np.flatnonzero(held[i])]
            names = dict.fromkeys(feature.group or feature.name for feature in kept)
            status, reason = Status.BUDGET, f"no answer was found without {', '.join(names)}"
        else:
            continue
        found.points[i] = people.matrix[i]
        found.refuse(i, status, reason)
