"""`alternatives`: several answers for an applicant, each by other features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.arrays import Bools
from robx.errors import InvalidInput
from robx.methods.base import Method, check_problem
from robx.methods.finish import finish
from robx.parameters import check_whole
from robx.problem import Applicants, Problem, Refusal, SearchResult
from robx.progress import Progress

#: Features of an answer to try to do without.
MOST_TRIED = 3
#: A feature matters to an answer if it has at least this share of the cost.
MATTERS = 0.1


def alternatives(
    method: Method, problem: Problem, X: Any, n_answers: int = 3, *, progress: bool = False
) -> Counterfactuals:
    """Find several answers for each applicant, so that a person can choose.

    Of every earlier answer a feature that matters to it is held as it is when the next one is
    searched: of its three dearest with at least a tenth of the cost each (if there is none, of the
    dearest alone), the one without which the next is cheapest. So each answer does without a change
    that was no trifle in any one before.

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
    check_problem(problem, "alternatives takes a method,")
    check_whole(n_answers, "n_answers", "alternatives")
    applicants = problem.read(X)
    method.check(problem, len(applicants))
    with Progress(len(applicants), method.title, shown=progress) as bar:
        last = method.run(problem, applicants, bar)
    answers = [finish(method, problem, X, applicants, last)]
    held = np.zeros(applicants.matrix.shape, dtype=bool)
    used = [problem.rules.changed_features(last.points, applicants.matrix)]
    for k in range(1, n_answers):
        total = (MOST_TRIED + 1) * len(applicants)
        with Progress(total, f"alternative {k}", shown=progress) as bar:
            held = _hold_another(method, problem, applicants, last, held, used, bar)
            found = method.run(problem, _holding(applicants, held), bar)
        _refuse(problem, applicants, found, last, used, held)
        answers.append(finish(method, problem, X, applicants, found))
        used.append(problem.rules.changed_features(found.points, applicants.matrix))
        last = found
    return answers[0].replaced(alternatives=tuple(answers[1:])) if answers[1:] else answers[0]


def _hold_another(
    method: Method,
    problem: Problem,
    applicants: Applicants,
    before: SearchResult,
    held: Bools,
    used: list[Bools],
    bar: Progress,
) -> Bools:
    """Hold one more feature of the last answer, so that the next is cheap: (n, d) bool."""
    rules, x = problem.rules, applicants.matrix
    dearest = _dearest(problem, applicants, before)
    costs = []
    for more in dearest:
        found = method.run(problem, _holding(applicants, held | more), bar)
        counts = found.ok & more.any(axis=1) & ~_repeats(problem, applicants, found, used)
        costs.append(np.where(counts, rules.cost(found.points, x, method.norm), np.inf))
    best = np.argmin(costs, axis=0)  # the dearest, where there is no other answer
    return np.asarray(held | dearest[best, np.arange(len(applicants))])


def _dearest(problem: Problem, applicants: Applicants, answer: SearchResult) -> Bools:
    """Columns of the features that matter most to each answer: (tries, n, d) bool."""
    rules, x, points = problem.rules, applicants.matrix, answer.points
    columns = rules.features_of_columns
    share = np.array([rules.cost(np.where(some, points, x), x, 1) for some in columns])
    order = np.argsort(-share, axis=0, kind="stable")[:MOST_TRIED]
    part = np.take_along_axis(share, order, axis=0)
    matters = (part > 0) & (part >= MATTERS * share.sum(axis=0))
    matters[:1] |= part[:1] > 0  # of many small ones, each a trifle, the dearest
    return np.asarray(columns[order] & (matters & answer.answered)[:, :, None])


def _holding(applicants: Applicants, held: Bools) -> Applicants:
    """Let what is held stay as it is."""
    low = np.where(held, applicants.matrix, applicants.low)
    return replace(applicants, low=low, high=np.where(held, applicants.matrix, applicants.high))


def _repeats(
    problem: Problem, applicants: Applicants, found: SearchResult, used: list[Bools]
) -> Bools:
    """Whether each answer changes the same features as an earlier one.

    Holding a feature keeps most from it, but not from filling in what is missing.
    """
    changed = problem.rules.changed_features(found.points, applicants.matrix)
    return np.asarray(np.any([(changed == one).all(axis=1) for one in used], axis=0))


def _refuse(
    problem: Problem,
    applicants: Applicants,
    found: SearchResult,
    before: SearchResult,
    used: list[Bools],
    held: Bools,
) -> None:
    """Refuse answers that repeat an earlier one; who had no answer has no other."""
    repeats = _repeats(problem, applicants, found, used)
    features = problem.schema.features
    for i in np.flatnonzero(found.status != Status.ACCEPTED):
        if not before.answered[i]:
            why = Refusal(before.status[i], before.reason[i], before.obstacles.get(int(i), ()))
        elif repeats[i] or not found.answered[i]:
            kept = [features[j] for j in np.flatnonzero(held[i])]
            names = dict.fromkeys(feature.group or feature.name for feature in kept)
            said = f"no answer was found without {', '.join(names)}"
            why = Refusal(Status.NOT_FOUND, said, tuple(names))
        else:
            continue
        found.points[i] = applicants.matrix[i]
        found.refuse(i, *why)
