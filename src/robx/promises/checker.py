"""`check`: score the answers that were issued with a new model."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.answers.status import ANSWERED
from robx.errors import InvalidInput
from robx.parameters import check_number
from robx.promises.issued import IssuedAnswers, of_answers, of_table, opened, origin_in
from robx.promises.result import Check
from robx.tables import Category, take
from robx.trees import Model, import_model
from robx.trees.rowwise import score_rows

THRESHOLD = 0.5


def check(
    answers: Any,
    model: Any,
    *,
    confidence: float = 0.95,
    threshold: float | None = None,
    target: Category | None = None,
) -> Check:
    """Find out which of the issued answers a new model still accepts.

    Parameters
    ----------
    answers : Counterfactuals, path or DataFrame
        The answers that were issued; or a file that `Counterfactuals.save` wrote (`.json`,
        `.parquet` or `.csv`), or its table.
    model : fitted model, path, TreeEnsemble or BlackBox
        The new model: anything that `robx.import_model` takes, with the same columns. A model that
        does not know the names of its columns gets them in the order of the old model.
    confidence : float
        Confidence level of the interval around the share of kept promises.
    threshold : float, optional
        A score above it is accepted. By default the threshold of the answers, or 0.5 if they do
        not state one.
    target : label, optional
        The class that counts as accepted; by default that of the answers.

    Returns
    -------
    Check
        `share` of the promises that are kept, with `low` and `high`, an interval for applicants
        like these; `table` has a row for each applicant. A row that the model cannot read is not
        kept.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Problem, RobX
    >>> X = np.random.default_rng(0).random((300, 2)).round(2)
    >>> old = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> new = RandomForestClassifier(20, random_state=1).fit(X, X[:, 0] > 0.55)
    >>> answer = RobX().explain(Problem(old, X), [[0.2, 0.5], [0.4, 0.1]])
    >>> print(check(answer, new).words)
    The new model keeps 2 of 2 promises (100%). For applicants like these, the 95% interval is
    33.3% to 100%.
    """
    check_number(confidence, "confidence", "check", above=0, below=1)
    if threshold is not None:
        check_number(threshold, "threshold", "check", least=0, below=1)
    given = opened(answers)
    is_table = not isinstance(given, Counterfactuals)
    options = {"target": target, "threshold": threshold}
    open_options = [name for name, value in options.items() if value is None]
    origin = origin_in(given, open_options) if is_table else given.origin
    wanted = origin.get("target") if target is None else target
    new = _imported(model, wanted, is_told=target is not None, is_table=is_table)
    cutoff = float(origin.get("threshold", THRESHOLD) if threshold is None else threshold)
    if is_table:
        return _checked(of_table(given), new, cutoff, confidence)
    others = [_checked(of_answers(other), new, cutoff, confidence) for other in given.alternatives]
    return _checked(of_answers(given), new, cutoff, confidence, tuple(others))


def _imported(model: Any, target: Category | None, *, is_told: bool, is_table: bool) -> Model:
    if isinstance(model, Model) and model.target is None and not is_told:
        return model  # a function, whose class only its writer knows
    try:
        return import_model(model, target)
    except InvalidInput as error:
        if target is None or is_told:
            raise
        if is_table and not isinstance(target, str):  # a CSV file has no quotes around labels
            with suppress(InvalidInput):
                return import_model(model, str(target))
        raise InvalidInput(
            f"The answers are for the class {target!r}. {error} Pass the class of the new model "
            "as target=."
        ) from error


def _checked(
    issued: IssuedAnswers,
    model: Model,
    threshold: float,
    confidence: float,
    alternatives: tuple[Check, ...] = (),
) -> Check:
    n = len(issued.status)
    answered = np.array([status in ANSWERED for status in issued.status], dtype=bool)
    _check_columns(issued.points, model)
    score, reason = np.full(n, np.nan), np.full(n, "", dtype=object)
    rows = np.flatnonzero(answered)
    score[rows], reason[rows] = score_rows(
        lambda some: model.score(take(issued.points, rows[some])), len(rows)
    )
    return Check(
        applicants=issued.applicants,
        status=issued.status,
        promised=np.array([status == Status.OK for status in issued.status], dtype=bool),
        kept=answered & (score > threshold),
        score_before=issued.score,
        score=score,
        changes=issued.changes,
        reason=tuple(reason),
        threshold=threshold,
        confidence=float(confidence),
        model=model.about(),
        alternatives=alternatives,
    )


def _check_columns(points: Any, model: Model) -> None:
    """Refuse a model with other columns: it cannot be the successor of the old one."""
    try:
        model.check_columns(points, "the table of answers")
    except InvalidInput as error:
        said = str(error)
        raise InvalidInput(
            f"The new model must take the columns of the answers. {said[:1].upper()}{said[1:]} "
            "Pass a model that was trained on the same columns, and the .json or .parquet file of "
            "the answers, which keep their types."
        ) from error
