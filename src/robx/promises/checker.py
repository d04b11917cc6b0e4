"""`check`: ask a new model about the promises that were made."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np

from robx.answers import Counterfactuals, Status
from robx.answers.origin import about_model
from robx.answers.status import ANSWERED
from robx.arrays import Floats
from robx.errors import InvalidInput, RobxError
from robx.parameters import check_number
from robx.promises.issued import Handed, of_answers, of_table, opened, origin_in
from robx.promises.result import Check
from robx.tables import Category, Column, take
from robx.trees import BlackBox, TreeEnsemble, import_model

THRESHOLD = 0.5


def check(
    answers: Any,
    model: Any,
    *,
    confidence: float = 0.95,
    threshold: float | None = None,
    target: Category | None = None,
) -> Check:
    """See which of the promises that were made a new model keeps.

    Parameters
    ----------
    answers : Counterfactuals, path or DataFrame
        What was handed out; or a file that `Counterfactuals.save` wrote (`.json`, `.parquet` or
        `.csv`), or its table.
    model : fitted model, path, TreeEnsemble or BlackBox
        The new model: anything that `robx.import_model` takes, with the same columns. One that does
        not know their names is asked with them in the order of the model that promised.
    confidence : float
        Of the interval around the share of promises that are kept.
    threshold : float, optional
        Accepted are scores above this; the one of the answers unless given, 0.5 where they do not
        tell it.
    target : label, optional
        The class that applicants wish for; that of the answers unless given.

    Returns
    -------
    Check
        Its `share`, `low` and `high` speak of people like these; `table` tells of each of
        them. A row that the model cannot read counts as not kept.

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
    The new model keeps 2 of 2 promises (100%). Of people like these it keeps 33.3% to 100%
    (95% interval).
    """
    check_number(confidence, "confidence", "check", above=0, below=1)
    if threshold is not None:
        check_number(threshold, "threshold", "check", least=0, below=1)
    given = opened(answers)
    is_table = not isinstance(given, Counterfactuals)
    options = {"target": target, "threshold": threshold}
    asked = [name for name, value in options.items() if value is None]
    origin = origin_in(given, asked) if is_table else given.origin
    wish = origin.get("target") if target is None else target
    new = _imported(model, wish, is_told=target is not None, is_table=is_table)
    level = float(origin.get("threshold", THRESHOLD) if threshold is None else threshold)
    if isinstance(given, Counterfactuals):
        rest = [_checked(of_answers(other), new, level, confidence) for other in given.alternatives]
        return _checked(of_answers(given), new, level, confidence, tuple(rest))
    return _checked(of_table(given), new, level, confidence)


def _imported(
    model: Any, target: Category | None, *, is_told: bool, is_table: bool
) -> TreeEnsemble | BlackBox:
    if isinstance(model, BlackBox) and model.target is None and not is_told:
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
            f"The answers are for the class {target!r}. {error} Say with target= which class of "
            "the new model is meant."
        ) from error


def _checked(
    handed: Handed,
    model: TreeEnsemble | BlackBox,
    threshold: float,
    confidence: float,
    alternatives: tuple[Check, ...] = (),
) -> Check:
    n = len(handed.status)
    answered = np.array([status in ANSWERED for status in handed.status], dtype=bool)
    _check_columns(handed.points, model)
    score, reason = np.full(n, np.nan), [""] * n
    rows = np.flatnonzero(answered)
    score[rows], reasons = _score_each(take(handed.points, rows), model)
    for i, said in zip(rows, reasons, strict=True):
        reason[i] = said
    with np.errstate(invalid="ignore"):
        kept = answered & (score > threshold)
    status = np.empty(n, dtype=object)
    status[:] = handed.status
    return Check(
        applicants=handed.applicants,
        status=status,
        promised=np.array([status == Status.OK for status in handed.status], dtype=bool),
        kept=kept,
        score_before=handed.score,
        score=score,
        changes=handed.changes,
        reason=tuple(reason),
        threshold=threshold,
        confidence=float(confidence),
        model=about_model(model),
        alternatives=alternatives,
    )


def _check_columns(points: Any, model: TreeEnsemble | BlackBox) -> None:
    """Refuse a model of another shape: it is not the successor of the one that promised."""
    frame = nw.from_native(points, eager_only=True)
    nobody = take(points, np.arange(0))
    try:
        if isinstance(model, TreeEnsemble):
            model.read(nobody, "the answers")
        else:
            model.ordered(nobody)
            _check_width(len(frame.columns), model)
    except InvalidInput as error:
        theirs = [] if model.names is None else [repr(name) for name in model.names]
        raise InvalidInput(
            "The new model takes other columns than the answers have. The answers have "
            f"{', '.join(map(repr, frame.columns))}; the model takes "
            f"{', '.join(theirs) if theirs else error}. Check with a model of the same columns."
        ) from error
    if isinstance(model, TreeEnsemble):
        columns = model.columns if model.named else None
        ordered = take(points, np.arange(len(frame)), columns)
        for series, column in zip(
            nw.from_native(ordered, eager_only=True).iter_columns(), model.columns, strict=True
        ):
            _check_type(series, column)


def _check_width(n_columns: int, model: BlackBox) -> None:
    wanted = getattr(model.model, "n_features_in_", n_columns)
    if wanted != n_columns:
        raise InvalidInput(f"{wanted} columns")


def _check_type(series: nw.Series[Any], column: Column) -> None:
    """Refuse text where the model takes numbers, and the other way round: no row will do."""
    dtype = series.dtype
    is_number = dtype.is_numeric() or dtype == nw.Boolean
    if series.is_null().all() or (is_number and not column.is_category):
        return
    if not column.is_category:
        raise InvalidInput(
            f"Column '{column.name}' of the answers holds {dtype}; the new model takes numbers "
            "there. Check with a model that was trained on the same columns."
        )
    if column.categories is None and dtype == nw.String:
        raise InvalidInput(
            f"Column '{column.name}' of the answers holds text, and the new model knows its "
            "categories only by number. Check the .json or .parquet file of the answers."
        )


def _score_each(points: Any, model: TreeEnsemble | BlackBox) -> tuple[Floats, list[str]]:
    """Score rows; those that the model refuses get NaN, and what it said."""
    n = len(points)
    if n == 0:
        return np.zeros(0), []
    try:
        return model.score(points), [""] * n
    except Exception as error:
        if n == 1:
            said = str(error).strip().split("\n")[0]
            named = said if isinstance(error, RobxError) else f"{type(error).__name__}: {said}"
            return np.array([np.nan]), [f"the model refuses the row: {named}"]
    half = n // 2
    parts = [
        _score_each(take(points, rows), model) for rows in (np.arange(half), np.arange(half, n))
    ]
    return np.concatenate([score for score, _ in parts]), [r for _, part in parts for r in part]
