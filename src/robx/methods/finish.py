"""`finish`: the last look before answers go out, and what is measured of them.

Tables are the slowest part of a single answer. For few applicants they are written when somebody
looks at them, if it is plain that the columns hold the answers as they are. So are the answers of
the base, and so is counted who shares an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robx.answers import Counterfactuals, Crowds, Status
from robx.answers.numbers import PointNumbers
from robx.arrays import Floats, same_rows
from robx.later import Later
from robx.problem import Applicants, Problem, SearchResult
from robx.robustness import Noise
from robx.tables import is_records, records_frame, snapshot, take

if TYPE_CHECKING:
    from robx.methods.base import Method

#: Answers of at most so many applicants are written when they are looked at.
FEW = 1024
#: Rows that are measured at a time, so that long batches need little memory beside their tables.
ROWS_AT_ONCE = 2**14


def finish(
    method: Method, problem: Problem, X: Any, applicants: Applicants, found: SearchResult
) -> Counterfactuals:
    """Write the answers back in the user's form, look at them once more, and measure them."""
    return _finish(method, problem, _Asked.of(X, applicants), applicants, found, method.noise)


@dataclass(frozen=True)
class _Asked:
    """The applicants' table.

    Parameters
    ----------
    given : table or Later
        As answers show it.
    source : table
        What answers are written into; it stays as it is.
    few : bool
        Whether they may be written later.
    """

    given: Any
    source: Any
    few: bool

    @classmethod
    def of(cls, X: Any, applicants: Applicants) -> _Asked:
        few, table = len(applicants) <= FEW, applicants.table
        source = X if table is None or table.native is not X else table
        source = snapshot(source) if few else source
        if not is_records(X):
            return cls(X, source, few)
        # A cell that cannot be read is written at once, by whom it is known how.
        return cls(
            Later(lambda: records_frame(source)), source, few and not any(applicants.trouble)
        )


def _finish(
    method: Method,
    problem: Problem,
    asked: _Asked,
    applicants: Applicants,
    found: SearchResult,
    noise: Noise,
) -> Counterfactuals:
    """Finish answers; those of a base are measured with the noise of the method it is a base of."""
    base = _base(method, problem, asked, applicants, found, noise)
    points, matrix, n = found.points, applicants.matrix, len(applicants)
    answered = found.answered
    if not answered.all():
        np.copyto(points, matrix, where=~answered[:, None])
    score, table = _look_again(problem, asked, applicants, found, np.flatnonzero(answered))
    answered = found.answered
    stability = np.full(n, np.nan)
    scored = np.flatnonzero(~np.isnan(score))
    for some in _parts(scored):
        stability[some] = problem.gate.stability(points[some], noise).value
    rules = problem.rules

    def settings() -> dict[str, Any]:
        return {**method.settings(), **found.notes}

    def crowds() -> Crowds | None:
        return problem.crowds(points, matrix, answered)

    words_as_read = not problem.view.marks_missing
    numbers = PointNumbers(problem.codec, rules, matrix, points, applicants.words, words_as_read)
    answers = Counterfactuals(
        method=method.title,
        settings=Later(settings) if asked.few else settings(),  # type: ignore[arg-type]
        schema=problem.schema,
        applicants=asked.given,
        points=table,
        status=found.status,
        reason=tuple(found.reason),
        cost=_measured(lambda z, x: rules.cost(z, x, method.norm), points, matrix, np.float64),
        score=score,
        stability=stability,
        n_changes=_measured(rules.n_changes, points, matrix, np.int64),
        norm=method.norm,
        base=base,
        paths=None if found.paths is None else _written(found.paths, problem, asked, applicants),
        measured={
            name: np.where(answered, numbers, np.nan) for name, numbers in found.measured.items()
        },
        origin=problem.origin,
        obstacles=tuple(found.obstacles.get(i, ()) for i in range(n)),
        crowds=Later(crowds) if asked.few else crowds(),  # type: ignore[arg-type]
    )
    return answers.with_numbers(numbers) if asked.few else answers


def _look_again(
    problem: Problem,
    asked: _Asked,
    applicants: Applicants,
    found: SearchResult,
    rows: NDArray[np.intp],
) -> tuple[Floats, Any]:
    """Score the answers as they are written; withdraw those that break a rule or are not accepted.

    Returns the scores, and the table of points, perhaps `Later`.
    """
    gate, points, matrix = problem.gate, found.points, applicants.matrix
    # What is returned is what counts: a column may have had to round what it was given.
    table, stored = _rewritten(problem, asked, matrix, points)
    score, fails = applicants.score.copy(), np.zeros(len(matrix), dtype=bool)
    for some in _parts(rows):
        z = points[some]
        score[some] = gate.score(z)
        fails[some] = gate.breaks(z, matrix[some]) | ~(score[some] > problem.threshold)
        if stored is not points:
            fails[some] |= ~same_rows(stored[some], z)
    withdrawn = np.flatnonzero(fails)
    for i in withdrawn.tolist():
        row = np.array([i])
        broken = gate.explains(points[row], applicants.take(row))[0]
        what = ", ".join(broken) or "the answer is not accepted once written back"
        found.refuse(i, Status.INFEASIBLE, what)
        points[i] = matrix[i]
        if found.paths is not None:
            found.paths[i] = matrix[i][None]
        score[i] = applicants.score[i]
    if len(withdrawn):
        table, _ = _rewritten(problem, asked, matrix, points)
    return score, table


def _rewritten(
    problem: Problem, asked: _Asked, before: Floats, after: Floats
) -> tuple[Any, Floats]:
    """Write points into the applicants' table, perhaps `Later`, and tell what it reads as."""
    if asked.few:
        later = problem.codec.rewrite_later(asked.source, before, after)
        if later is not None:
            return later, after
    return problem.codec.rewrite(asked.source, before, after)


def _base(
    method: Method,
    problem: Problem,
    asked: _Asked,
    applicants: Applicants,
    found: SearchResult,
    noise: Noise,
) -> Any:
    """Finish the answers of the base, at once or when they are looked at."""
    part, found.base = found.base, None  # whose points are not needed twice
    if part is None:
        return None

    def make() -> Counterfactuals:
        return _finish(method.base_method(), problem, asked, applicants, part, noise)

    return Later(make) if asked.few else make()


def _parts(rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Some rows at a time."""
    for first in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[first : first + ROWS_AT_ONCE]


def _measured(
    measure: Callable[[Floats, Floats], NDArray[Any]], points: Floats, matrix: Floats, dtype: Any
) -> NDArray[Any]:
    """Measure all points, some rows at a time: (n,)."""
    if len(points) <= ROWS_AT_ONCE:
        return measure(points, matrix)
    out = np.empty(len(points), dtype=dtype)
    for first in range(0, len(points), ROWS_AT_ONCE):
        part = slice(first, first + ROWS_AT_ONCE)
        out[part] = measure(points[part], matrix[part])
    return out


def _written(
    paths: list[Floats], problem: Problem, asked: _Asked, applicants: Applicants
) -> tuple[Any, ...]:
    """Write paths in the applicants' own form, which can hold where they start."""
    lengths = [len(path) for path in paths]
    owner = np.repeat(np.arange(len(paths)), lengths)
    places = np.concatenate(paths) if paths else applicants.matrix
    table, _ = problem.codec.rewrite(take(asked.source, owner), applicants.matrix[owner], places)
    ends = np.cumsum(lengths)
    return tuple(
        take(table, np.arange(end - length, end)) for end, length in zip(ends, lengths, strict=True)
    )
