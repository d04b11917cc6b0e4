"""`check`: score the answers that were issued with a new model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from robx.answers import Counterfactuals, Status
from robx.answers.origin import checked_date
from robx.answers.status import ANSWERED
from robx.errors import InvalidInput
from robx.parameters import check_number
from robx.promises.folders import listed_answers
from robx.promises.issued import IssuedAnswers, facts_in, of_answers, of_table, opened, origin_in
from robx.promises.joined import joined
from robx.promises.result import Check, Issued
from robx.tables import Category, Column, column_names, take
from robx.trees import Model
from robx.trees.category_names import Source, UnnamedCategories
from robx.trees.importer import import_named
from robx.trees.rowwise import score_rows

THRESHOLD = 0.5


def check(
    answers: Any,
    model: Any,
    *,
    confidence: float = 0.95,
    threshold: float | None = None,
    target: Category | None = None,
    date: str | None = None,
) -> Check:
    """Find out which of the issued answers a new model still accepts.

    Parameters
    ----------
    answers : Counterfactuals, path, DataFrame, or a list of these
        The answers that were issued; or a file that `Counterfactuals.save` wrote (`.json`,
        `.parquet` or `.csv`), a folder of such files, or the table in one.
    model : fitted model, path, TreeEnsemble or BlackBox
        The new model: anything that `robx.import_model` takes, with the same columns or some of
        them. A model that does not know the names of its columns gets them in the order of the old
        model.
    confidence : float
        Confidence level of the interval around the share of kept promises.
    threshold : float, optional
        A score above it is accepted. By default the threshold of the answers, or 0.5 if they do
        not state one.
    target : label, optional
        The class that counts as accepted; by default that of the answers.
    date : str, optional
        Date of the check, in the form of ISO 8601, to record. No clock is read.

    Returns
    -------
    Check
        `share` of the promises that are kept, with `low` and `high`, an interval for applicants
        like these; `table` has a row for each applicant, `by` counts by groups, and `save` writes
        it all. A row that the model cannot read is not kept. Promises that were issued under this
        very model are no evidence, and `share` counts them only if there are no others.

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
    when = None if date is None else checked_date(date, "check")
    parts = [_opened(one, target, threshold) for one in listed_answers(answers)]
    wanted = _common(parts, "target") if target is None else target
    any_table = any(isinstance(part.answers, pd.DataFrame) for part in parts)
    importing = partial(_imported, model, wanted, is_told=target is not None, is_table=any_table)
    try:
        new = importing()
    except UnnamedCategories:
        new = _with_names(importing, parts)
    cutoff = _common(parts, "threshold") if threshold is None else threshold
    judge = _Judge(
        new,
        {**new.about(), "file": _file_of(model)},
        float(THRESHOLD if cutoff is None else cutoff),
        float(confidence),
        when,
    )
    return joined([judge.check(part) for part in parts])


class _Part(NamedTuple):
    """Some answers, opened, with what they state about themselves and the file that they are in."""

    answers: Any
    origin: Mapping[str, Any]
    file: str | None


def _opened(answers: Any, target: Category | None, threshold: float | None) -> _Part:
    given = opened(answers)
    file = Path(answers).name if isinstance(answers, str | os.PathLike) else None
    if isinstance(given, Counterfactuals):
        return _Part(given, given.origin, file)
    options = {"target": target, "threshold": threshold}
    still_open = [name for name, value in options.items() if value is None]
    return _Part(given, {**facts_in(given), **origin_in(given, still_open)}, file)


def _common(parts: list[_Part], name: str) -> Any:
    """Give what all answers state, or None; a new model has one threshold and one target."""
    stated: list[tuple[Any, str | None]] = []
    for part in parts:
        value = part.origin.get(name)
        if value is not None and value not in [one for one, _ in stated]:
            stated.append((value, part.file))
    if len(stated) > 1:
        first, second = (f"{value!r} in {file or 'other answers'}" for value, file in stated[:2])
        raise InvalidInput(
            f"The answers state different values of '{name}': {first} and {second}. Pass that of "
            f"the new model: {name}= (--{name})."
        )
    return stated[0][0] if stated else None


def _file_of(model: Any) -> str | None:
    """Name the file of a model, if it is one."""
    path = model if isinstance(model, str | os.PathLike) else getattr(model, "path", None)
    return Path(path).name if isinstance(path, str | os.PathLike) else None


def _with_names(importing: Callable[..., Model], parts: list[_Part]) -> Model:
    """Import a model with the categories that the answers' schemas list, or else all of theirs.

    With those of the schemas, the model of the answers is known again.
    """
    levels, points = list[Source](), list[Source]()
    for part in parts:
        is_whole = isinstance(part.answers, Counterfactuals)
        several = [part.answers, *part.answers.alternatives] if is_whole else [part.answers]
        issued = [of_answers(one) if is_whole else of_table(one) for one in several]
        features = () if issued[0].schema is None else issued[0].schema.features
        listed = {f.name: tuple(f.levels) for f in features if f.levels is not None}
        columns = [Column(name, len(one), one, as_text=True) for name, one in listed.items()]
        levels.append(tuple(columns))
        points += [one.points for one in issued]
    with suppress(UnnamedCategories):
        found = importing(levels)
        if found.trees is None or not any(c.partly_known for c in found.trees.columns):
            return found
    return importing([*levels, *points])


def _imported(
    model: Any,
    target: Category | None,
    sources: Sequence[Source] = (),
    *,
    is_told: bool,
    is_table: bool,
) -> Model:
    if isinstance(model, Model) and model.target is None and not is_told:
        return model  # a function, whose class only its writer knows
    try:
        return import_named(model, target, sources)
    except InvalidInput as error:
        if target is None or is_told:
            raise
        if is_table and not isinstance(target, str):  # a CSV file has no quotes around labels
            with suppress(InvalidInput):
                return import_named(model, str(target), sources)
        raise InvalidInput(
            f"The answers are for the class {target!r}. {error} Pass the class of the new model "
            "as target=."
        ) from error


@dataclass(frozen=True)
class _Judge:
    """A new model, and what counts as kept."""

    model: Model
    about: dict[str, Any]
    threshold: float
    confidence: float
    date: str | None

    def check(self, part: _Part) -> Check:
        """Check some answers, and their alternatives."""
        if not isinstance(part.answers, Counterfactuals):
            return self._checked(of_table(part.answers), part)
        others = [self._checked(of_answers(one), part) for one in part.answers.alternatives]
        return self._checked(of_answers(part.answers), part, tuple(others))

    def _checked(
        self, issued: IssuedAnswers, part: _Part, alternatives: tuple[Check, ...] = ()
    ) -> Check:
        n = len(issued.status)
        answered = np.array([status in ANSWERED for status in issued.status], dtype=bool)
        columns, left_out = _columns(issued.points, self.model)
        score, reason = np.full(n, np.nan), np.full(n, "", dtype=object)
        rows = np.flatnonzero(answered)
        score[rows], reason[rows] = score_rows(
            lambda some: self.model.score(take(issued.points, rows[some], columns)), len(rows)
        )
        return Check(
            applicants=issued.applicants,
            status=issued.status,
            promised=np.array([status == Status.OK for status in issued.status], dtype=bool),
            kept=answered & (score > self.threshold),
            score_before=issued.score,
            score=score,
            changes=issued.changes,
            reason=tuple(reason),
            threshold=self.threshold,
            confidence=self.confidence,
            model=self.about,
            alternatives=alternatives,
            issued=(self._issued(part, n),),
            date=self.date,
            left_out=left_out,
            own=issued.own,
            schema=issued.schema,
        )

    def _issued(self, part: _Part, n_rows: int) -> Issued:
        digest = part.origin.get("model", {}).get("digest")
        is_same = (
            digest is not None
            and digest == self.model.digest
            and part.origin.get("threshold", self.threshold) == self.threshold
        )
        return Issued(part.file, part.origin.get("date"), digest, n_rows, is_same)


def _columns(points: Any, model: Model) -> tuple[Sequence[str] | None, tuple[str, ...]]:
    """Say which columns of the answers the new model takes, None for all, and which it lacks."""
    try:
        model.check_columns(points, "the table of answers")
    except InvalidInput as error:
        have, known = column_names(points) or (), model.known_names
        if known is not None and set(known) < set(have):
            model.check_columns(take(points, np.arange(0), known), "the table of answers")
            return known, tuple(name for name in have if name not in known)
        said = str(error)
        raise InvalidInput(
            f"The new model must take the columns of the answers. {said[:1].upper()}{said[1:]} "
            "Pass a model that was trained on these columns, or on some of them, and the .json or "
            ".parquet file of the answers, which keep their types."
        ) from error
    return None, ()
