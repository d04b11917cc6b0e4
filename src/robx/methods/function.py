"""A function, or any object with ``explain(problem, X)``, as a method."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from robx.answers import ANSWERED, Counterfactuals, Status
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods.base import Method
from robx.methods.given import judged, read_points
from robx.problem import Applicants, Problem, SearchResult
from robx.tables import count_rows
from robx.trees.rowwise import first_line


class Explains(Protocol):
    """What can stand for a method."""

    def explain(self, problem: Problem, X: Any, /) -> Any:
        """Return a table with a row for each applicant, or `Counterfactuals`."""


#: What `as_method` takes: a method, an object like one, or a function of (problem, X).
MethodLike = Explains | Callable[[Problem, Any], Any]


def as_method(value: Any, title: str | None = None) -> Method | None:
    """Give a method, or what can be called like one, as a method; None for anything else.

    Parameters
    ----------
    value : Method, object with ``explain(problem, X)``, or function of (problem, X)
    title : str, optional
        What to call it; the name of the function, or of the object's class, unless given.
    """
    if isinstance(value, Method):
        return value
    if isinstance(value, type):
        return None
    if callable(getattr(value, "explain", None)) or _takes_two(value):
        named = getattr(value, "__name__", type(value).__name__)
        return FromFunction(function=value, called=named if title is None else title)
    return None


def _takes_two(value: Any) -> bool:
    """Whether something is called with two arguments, and not with one."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return False
    return not _binds(signature, 1) and _binds(signature, 2)


def _binds(signature: inspect.Signature, n: int) -> bool:
    try:
        signature.bind(*range(n))
    except TypeError:
        return False
    return True


#: A function that fails for as many applicants, and has answered nobody, is not called again.
MOST_FAILURES = 10


class RowCountError(InvalidInput):
    """As many points as applicants were expected; nobody knows whose the points are."""


@dataclass(frozen=True, kw_only=True)
class FromFunction(Method):
    """A method that is a function from a problem and applicants to points.

    It gets declined applicants as a table of the training kind. It returns a table with a row for
    each of them (a row without any value stands for "none found"), or `Counterfactuals`. The points
    are judged like precomputed ones: brought onto what the schema allows, and scored.

    What it raises for some applicants is the reason of these applicants; what it raises for all of
    several applicants, or for ten that it is asked about alone before it answered any, is raised.

    Parameters
    ----------
    function : function of (problem, X), or object with ``explain(problem, X)``
    called : str
        Its name in answers and messages.
    """

    function: Any = field(compare=False)
    called: str

    @property
    def title(self) -> str:
        """See `Method.title`."""
        return self.called

    def settings(self) -> dict[str, Any]:
        """See `Method.settings`; what the function holds is not known."""
        return {"norm": self.norm}

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(applicants)
        n, has_answered = len(applicants), False
        errors: list[Exception] = []
        waiting = [np.arange(n)] if n else []
        while waiting:
            if len(errors) == MOST_FAILURES < n and not has_answered:
                raise InvalidInput(
                    f"Method {self.called!r} failed for all {MOST_FAILURES} sampled applicants: "
                    f"{first_line(errors[0])}. The other {n - MOST_FAILURES} were not tried."
                ) from errors[0]
            some = waiting.pop()
            try:
                part = self._ask(problem, applicants.take(some))
            except RowCountError:
                raise
            except Exception as error:  # of the caller's own code: halved until it stands alone
                if len(some) == n > MOST_FAILURES:  # some alone, to see whether it works at all
                    alone = np.linspace(0, n - 1, MOST_FAILURES).astype(np.intp)
                    waiting += [np.delete(some, alone), *alone[::-1, None]]
                    continue
                if len(some) > 1:
                    waiting += np.array_split(some, 2)[::-1]
                    continue
                errors.append(error)
                reason = f"{self.called} raised an error: {first_line(error)}"
                found.refuse(some[0], Status.NOT_FOUND, reason)
                continue
            has_answered = True
            found.points[some], found.status[some] = part.points, part.status
            for i, reason in zip(some, part.reason, strict=True):
                found.reason[i] = reason
        if len(errors) == n > 1:
            raise InvalidInput(
                f"Method {self.called!r} failed for all {n} applicants: {first_line(errors[0])}."
            ) from errors[0]
        return found

    def _ask(self, problem: Problem, applicants: Applicants) -> SearchResult:
        """Call the function, and judge the points that it returns."""
        call = getattr(self.function, "explain", self.function)
        returned = call(problem, problem.codec.write(applicants.matrix))
        answer = returned if isinstance(returned, Counterfactuals) else None
        returned = returned if answer is None else answer.points
        points, trouble = self._read(problem, returned, applicants)
        found = judged(problem, applicants, points, trouble, "returned")
        if answer is not None:
            _keep_status(found, answer)
        return found

    def _read(
        self, problem: Problem, points: Any, applicants: Applicants
    ) -> tuple[Floats, NDArray[Any]]:
        n = 0 if points is None else count_rows(points)
        if n != len(applicants):
            got = f"{n} rows" if n else f"{points!r:.80}"
            raise RowCountError(
                f"Method {self.called!r} must return a table with a row for each applicant, "
                f"{len(applicants)}, or Counterfactuals. Got {got}. A row of NaN stands for an "
                "applicant without an answer."
            )
        return read_points(problem, points, f"The table of method {self.called!r}")


def _keep_status(found: SearchResult, answer: Counterfactuals) -> None:
    """Keep what an answer says of itself: that it is unstable, or why there is none."""
    for i, (status, reason) in enumerate(zip(answer.status, answer.reason, strict=True)):
        if status == Status.ACCEPTED:
            found.refuse(i, Status.NOT_FOUND, "no counterfactual was returned")
        elif status not in ANSWERED or (status == Status.UNSTABLE and found.ok[i]):
            found.refuse(i, status, reason)
