"""`certify`: how many retrained models keep a promise, and what that says of those to come."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers import Certificate, Counterfactuals
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parameters import check_number
from robx.problem import Problem
from robx.problem.used_models import scores_or_zero
from robx.retrained.scoring import ModelScores, import_models
from robx.tables import take
from robx.trees import Model

#: Answers that are judged at a time.
ROWS_AT_ONCE = 2**14


def certify(
    problem: Problem,
    answers: Counterfactuals,
    models: Any,
    *,
    confidence: float = 0.95,
    drawn: str = "drawn like these",
) -> Counterfactuals:
    """Give each answer a certificate: how many retrained models accept it, and a lower bound.

    Where m of k models accept a point, the share of all models drawn in the same way that would
    accept it is at least the ``1 - confidence`` quantile of Beta(m, k - m + 1), or 0 if none do.
    The bound speaks of models drawn as these were, of nothing else. Models that helped to find the
    answers would flatter them and are refused.

    Parameters
    ----------
    problem : Problem
        Whose answers they are.
    answers : Counterfactuals
    models : sequence of models
        Retrained models, anything that `robx.import_model` takes; 32 that all accept give 91 %.
    confidence : float
    drawn : str
        How the models came about, in words: "of models ..., at least 91 % will".

    Returns
    -------
    Counterfactuals
        The same answers, with their `certificate`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Problem, RobX
    >>> X = np.random.default_rng(0).random((300, 3))
    >>> fit = lambda seed: RandomForestClassifier(20, random_state=seed).fit(X, X[:, 0] > 0.5)
    >>> problem = Problem(fit(0), X)
    >>> answer = RobX(tau=0.8).explain(problem, [[0.2, 0.5, 0.5]])
    >>> certified = certify(problem, answer, [fit(seed) for seed in range(1, 17)])
    >>> int(certified.certificate.accepting[0]), certified.certificate.bound.round(3).tolist()
    (16, [0.829])
    """
    if not isinstance(problem, Problem) or not isinstance(answers, Counterfactuals):
        raise InvalidInput(
            "certify takes a robx.Problem, its answers (Counterfactuals) and retrained models. Got "
            f"{type(problem).__name__} and {type(answers).__name__}."
        )
    check_number(confidence, "confidence", "certify", above=0, below=1)
    later = import_models(problem, models)
    problem.used_models.refuse(later, answers.settings.get("models", ()))
    return certified(problem, answers, later, confidence, drawn)


def certified(
    problem: Problem,
    answers: Counterfactuals,
    models: Sequence[Model] | ModelScores,
    confidence: float,
    drawn: str,
) -> Counterfactuals:
    """Do as `certify` does, with models that are known to have been drawn apart from the search.

    Such models may judge also where one of them came out as one that was used. That they can read
    the problem's tables is known as well (`check_readers`).
    """
    scoring = models if isinstance(models, ModelScores) else ModelScores.of(problem, models)
    accepting, covers = np.zeros(len(answers), dtype=np.int64), answers.answered
    rows = np.flatnonzero(covers)
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[first : first + ROWS_AT_ONCE]
        kept = _scores(problem, answers, scoring, some) > problem.threshold
        accepting[some] = kept.sum(axis=0)
    certificate = Certificate(accepting, len(scoring), covers, float(confidence), str(drawn))
    return answers.replaced(certificate=certificate)


def _scores(
    problem: Problem, answers: Counterfactuals, scoring: ModelScores, rows: NDArray[np.intp]
) -> Floats:
    """Score some answers as they are returned: (models, n)."""

    def table() -> Any:
        return problem.codec.as_trained(take(answers.points, rows))

    people, numbers = None, answers.numbers
    if not _may_be_rounded(problem):
        if numbers is not None and numbers.codec is problem.codec:
            return scoring.scores(numbers.points[rows], table)
        with suppress(InvalidInput):  # of which each model says what it makes of it
            people = problem.read(take(answers.points, rows))
    if people is None or any(people.trouble):
        return np.array([scores_or_zero(model, table()) for model in scoring.models])
    return scoring.scores(people.matrix, table)


def _may_be_rounded(problem: Problem) -> bool:
    """Whether answers may stand in an array of integers that the models' library would round."""
    limits = [column.largest_integer for column in problem.view.columns]
    return bool(problem.codec.whole.all()) and min(limits, default=np.inf) < np.inf
