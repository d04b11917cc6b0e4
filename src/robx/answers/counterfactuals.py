"""`Counterfactuals`: the answer, one row per applicant, in order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from robx.answers import files
from robx.answers.certificate import Certificate
from robx.answers.crowds import Crowds
from robx.answers.numbers import PointNumbers
from robx.answers.origin import checked_date, utc_date
from robx.answers.status import ANSWERED, Status, is_answered, is_ok
from robx.arrays import Floats
from robx.budget import Budget
from robx.later import Lazy
from robx.schema import Norm, Schema
from robx.tables import as_named_frame, in_order, is_missing, take


@dataclass(frozen=True, eq=False)
class Counterfactuals(Lazy):
    """Answers for n applicants: row i answers applicant i.

    Where there is no answer, the point is the applicant's own row, at no cost; `status` and
    `reason` say why. An unstable answer is the best that was found.

    Parameters
    ----------
    method : str
        Which method gave them, with its parameters in `settings`.
    settings : mapping
    schema : Schema
    applicants : table of shape (n, d)
        As they were given.
    points : table of shape (n, d)
        The answers, in the kind, dtypes, column order and index of `applicants`.
    status : (n,) object
        A `Status` each.
    reason : n strings
        Empty for an answer that is ok.
    cost : (n,) float64
        Distance from the applicant in units of the features' scales, in the norm of the method.
    score : (n,) float64
        The model's score of the point as it stands in `points`; NaN where the model takes no such
        row, which is then infeasible.
    stability : (n,) float64
        Stability R of the point; NaN where there is no score.
    n_changes : (n,) int64
        Number of features that differ.
    norm : {1, 2}
    base : Counterfactuals, optional
        What the base method gave.
    paths : n tables, optional
        The way from each applicant to the answer, where the method knows one.
    measured : mapping of str to (n,) float64
        What else the method found out about its answers, by name; NaN where there is no answer.
    certificate : Certificate, optional
        How many retrained models accept each answer; `robx.certify` adds it.
    alternatives : Counterfactuals each, optional
        Other answers, which each change other features; see `robx.alternatives`.
    obstacles : n tuples of str, or empty
        The rules that stand in the way of an answer, each as the reason names it at its end; empty
        where it names none.
    crowds : Crowds, optional
        How many training people share what each answer changes to. Files of earlier versions have
        none, and problems that do not know these people.
    origin : mapping
        Where they come from, in plain values: the model, what counts as accepted, versions. From
        `robx.explain` also: the outcome that applicants want, whether the schema was given or
        guessed, and the seed and number of the models that it trained. `dated` adds a date. Empty
        in old files.
    numbers : PointNumbers, optional
        Applicants and points as numbers, where they are at hand; they are no part of what is saved.
    """

    lazy_fields: ClassVar[tuple[str, ...]] = (
        *("settings", "applicants", "points"),
        *("base", "crowds"),
    )

    method: str
    settings: Mapping[str, Any]
    schema: Schema
    applicants: Any
    points: Any
    status: NDArray[Any]
    reason: tuple[str, ...]
    cost: Floats
    score: Floats
    stability: Floats
    n_changes: NDArray[np.int64]
    norm: Norm
    base: Counterfactuals | None = field(default_factory=lambda: None)
    paths: tuple[Any, ...] | None = field(default=None, repr=False)
    measured: Mapping[str, Floats] = field(default_factory=dict)
    certificate: Certificate | None = None
    alternatives: tuple[Counterfactuals, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict, repr=False)
    obstacles: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    crowds: Crowds | None = field(default_factory=lambda: None, repr=False)
    #: Not given and not handed on by `dataclasses.replace`, which may put other points.
    numbers: PointNumbers | None = field(default=None, init=False, repr=False)

    # --- views -----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.status)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which rows have an answer that keeps every promise: (n,) bool."""
        return is_ok(self.status)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which rows have an answer, also one that is not stable: (n,) bool."""
        return is_answered(self.status)

    @cached_property
    def changes(self) -> tuple[tuple[str, ...], ...]:
        """What changes for each applicant, in words."""
        if self.numbers is not None and self.numbers.as_read:
            return tuple(self.numbers.changes(range(len(self))))
        return tuple(map(tuple, self.schema.words(self.applicants, self.points)))

    def _changes_of(self, i: int) -> tuple[str, ...]:
        """Say what changes for one applicant, without reading the rows of all others."""
        if "changes" in self.__dict__ or len(self) == 1:
            return self.changes[i]
        i = range(len(self))[i]
        if self.numbers is not None and self.numbers.as_read:
            return self.numbers.changes([i])[0]
        row = np.array([i])
        return tuple(self.schema.words(take(self.applicants, row), take(self.points, row))[0])

    @property
    def frame(self) -> Any:
        """The points as a DataFrame: as they came, or pandas with names for what came as an array.

        Feed it to the model's own ``predict_proba``.
        """
        return as_named_frame(self.points, self.schema.names)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The points as a dict each, from the names of the columns to plain values.

        Missing values are None. Where applicants were given as dicts, this is the same form.
        """
        if self.numbers is not None and self.numbers.as_read:
            return self.numbers.records()
        frame = nw.from_native(in_order(self.frame, self.schema.names), eager_only=True)
        rows = frame.rows(named=True)
        return [{str(name): _plain(value) for name, value in row.items()} for row in rows]

    @property
    def summary(self) -> Any:
        """A pandas DataFrame: status, cost, score, stability and changes in words, a row each.

        What else the method measured stands under its own name.
        """
        import pandas as pd  # noqa: PLC0415 - made only when looked at

        return pd.DataFrame(
            {
                "status": [str(status) for status in self.status],
                "cost": self.cost,
                "n_changes": self.n_changes,
                "score": self.score,
                "stability": self.stability,
                **self.measured,
                **self._certified(),
                "changes": ["; ".join(change) for change in self.changes],
                "reason": list(self.reason),
            },
            index=self.applicants.index if hasattr(self.applicants, "iloc") else None,
        )

    @property
    def table(self) -> Any:
        """One flat pandas DataFrame for files and other programs, a row each.

        First who asked, by the index of their table, as `applicant`; then the points, under the
        names of their columns; then what is known of them, under names that begin with `robx_`.
        """
        from robx.answers.flat_table import as_table  # noqa: PLC0415 - made only when looked at

        return as_table(self)

    def _certified(self) -> dict[str, Any]:
        """Columns of the certificate."""
        if self.certificate is None:
            return {}
        covers, accepting = self.certificate.covers, self.certificate.accepting
        return {
            f"accepting_of_{self.certificate.n_models}": np.where(covers, accepting, np.nan),
            "validity_bound": self.certificate.bound,
            **self.certificate.expectations,
        }

    def words(self, i: int) -> str:
        """Say to applicant i what to change, or why there is no answer."""
        status = self.status[i]
        if status == Status.ACCEPTED:
            return f"Already accepted (score {self.score[i]:.2f})."
        if status not in ANSWERED:
            return f"No answer, {status}: {self.reason[i]}."
        lines = "\n".join(f"  {change}" for change in self._changes_of(i))
        said = f"score {self.score[i]:.2f}, stability {self.stability[i]:.2f}"
        if self.certificate is not None:
            lines += f"\n  {self.certificate.words(i)}"
        if status == Status.UNSTABLE:
            return f"Best found ({said}), but unstable: {self.reason[i]}.\n{lines}"
        return f"Accepted ({said}) with:\n{lines}"

    def __repr__(self) -> str:
        counts = {str(s): int((self.status == s).sum()) for s in Status}
        said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        return f"<Counterfactuals by {self.method}: {said or 'no applicants'}>"

    def _repr_html_(self) -> str:
        from robx.answers.notebook import as_html  # noqa: PLC0415 - for notebooks only

        return as_html(self)

    # --- origin -----------------------------------------------------------------------------------

    def dated(self, date: str | None = None) -> Counterfactuals:
        """Return the same answers with the date on which they are issued.

        Answers have no date of their own, so that the same input gives the same bytes. ``robx
        explain`` adds the day on which it writes them.

        Parameters
        ----------
        date : str, optional
            In the form of ISO 8601; by default today in UTC, or the day of SOURCE_DATE_EPOCH.
        """
        return self.noted(date=utc_date() if date is None else checked_date(date, "dated"))

    def noted(self, **facts: Any) -> Counterfactuals:
        """Return the same answers with more plain values in their `origin`."""
        others = tuple(other.noted(**facts) for other in self.alternatives)
        return self.replaced(origin={**self.origin, **facts}, alternatives=others)

    def replaced(self, **changes: Any) -> Counterfactuals:
        """Return the same answers with other values for some fields.

        As `dataclasses.replace` does, but tables that nobody has looked at are still not made.
        """
        names = [f.name for f in fields(self) if f.init and f.name not in changes]
        other = Counterfactuals(**{name: self.held(name) for name in names}, **changes)
        if not changes.keys() & {"applicants", "points", "schema"}:
            other.__dict__["numbers"] = self.numbers
        return other

    def with_numbers(self, numbers: PointNumbers) -> Counterfactuals:
        """Return the same answers, whose tables hold just these numbers."""
        other = self.replaced()
        other.__dict__["numbers"] = numbers
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "numbers": None}

    # --- files -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, ready for JSON."""
        return files.to_plain(self)

    @classmethod
    def from_dict(cls, plain: Any) -> Counterfactuals:
        """Make them from plain values, as `to_dict` gives them."""
        return files.from_plain(cls, plain)

    def to_json(self) -> str:
        """Everything as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a `.json` or `.parquet` file, or the table to a `.csv` file.

        `Counterfactuals.load` reads the first two back. Of a pandas index whole numbers and text
        come back as they were, anything else as text. Other programs find `table` in a parquet
        file.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, budget: Budget | None = None) -> Counterfactuals:
        """Read what `save` wrote to a `.json` or `.parquet` file, within a `robx.Budget`."""
        return files.load(cls, path, budget or Budget.default())


def _plain(value: Any) -> Any:
    """Give a cell as a plain value, None where it is missing."""
    plain = value.item() if isinstance(value, np.generic) else value
    return None if is_missing([plain])[0] else plain
