"""What all methods share: one verb, and the last look before an answer goes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from robx.answers import Counterfactuals, Status
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parameters import check_number
from robx.problem import Applicants, Problem, SearchResult
from robx.progress import Progress
from robx.robustness import Noise
from robx.schema import Norm, check_norm
from robx.tables import take


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way of finding counterfactuals: its parameters, and one verb.

    Parameters
    ----------
    norm : {1, 2}
        In which distance the answer is to be close: L1 or L2.
    """

    norm: Norm = 1
    #: Applicants that are answered between two looks at the progress bar.
    chunk: ClassVar[int] = 512

    def explain(self, problem: Problem, X: Any, *, progress: bool = False) -> Counterfactuals:
        """Find an answer for each applicant.

        Parameters
        ----------
        problem : Problem
        X : table of shape (n, d)
            The applicants, in the form of the training table.
        progress : bool
            Whether to show a progress bar.

        Returns
        -------
        Counterfactuals
            Row i answers applicant i.
        """
        if not isinstance(problem, Problem):
            raise InvalidInput(
                f"{type(self).__name__}.explain takes a robx.Problem and then the applicants. Got "
                f"{type(problem).__name__}."
            )
        people = problem.read(X)
        self.check(problem, len(people))
        with Progress(len(people), type(self).__name__, shown=progress) as bar:
            found = self.run(problem, people, bar)
        return finish(self, problem, X, people, found)

    def run(self, problem: Problem, people: Applicants, bar: Progress) -> SearchResult:
        """Search for those who need an answer, some at a time; the others are told so."""
        accepted = people.score > problem.threshold
        sound = np.array([not trouble for trouble in people.trouble], dtype=bool)
        rows = np.flatnonzero(~accepted & sound)
        bar.add(len(people) - len(rows))
        parts = []
        # Also with nobody to answer: what a method says of itself is said once.
        for first in range(0, max(len(rows), 1), self.chunk):
            some = rows[first : first + self.chunk]
            parts.append(self.search(problem, people.take(some), some))
            bar.add(len(some))
        found = SearchResult.joined(parts, people, rows)
        told: SearchResult | None = found
        while told is not None:  # and so is everybody by the base
            for i in np.flatnonzero(~sound):
                told.refuse(i, Status.INFEASIBLE, people.trouble[i])
            for i in np.flatnonzero(accepted):
                told.refuse(i, Status.ACCEPTED, "")
            told = told.base
        return found

    @abstractmethod
    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:
        """Search for applicants who are declined and whose rows are sound.

        Parameters
        ----------
        problem : Problem
        people : m Applicants
        rows : (m,) int
            Their places in the table that was given.
        """

    def check(self, problem: Problem, n_people: int) -> None:  # noqa: ARG002
        """Raise for parameters that make no sense, alone or for this problem."""
        check_norm(self.norm, type(self).__name__)

    def noise(self) -> Noise:
        """How the stability of answers is measured."""
        return Noise()

    def settings(self) -> dict[str, Any]:
        """Give the parameters as plain values."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        return {"method": type(value).__name__, **value.settings()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return type(value).__name__


def finish(
    method: Method,
    problem: Problem,
    X: Any,
    people: Applicants,
    found: SearchResult,
    noise: Noise | None = None,
) -> Counterfactuals:
    """Write the answers back in the user's form, look at them once more, and measure them.

    A base's answers are measured with the noise of the method that they are a base of.
    """
    noise = noise or method.noise()
    rules, codec = problem.rules, problem.codec
    points = np.where(found.answered[:, None], found.points, people.matrix)
    table = codec.rewrite(X, people.matrix, points)
    # What is handed out is what counts: read it again as the model would.
    seen = problem.read(table, "the answers")
    score, seen_points = seen.score, seen.matrix
    same = ((seen_points == points) | (np.isnan(seen_points) & np.isnan(points))).all(axis=1)
    broken = rules.broken(points, people.matrix)
    withdrawn = False
    for i in np.flatnonzero(found.answered):
        if not same[i] or broken[i] or not score[i] > problem.threshold:
            what = ", ".join(broken[i]) or "the answer is not accepted once written back"
            found.refuse(i, Status.INFEASIBLE, what)
            points[i] = people.matrix[i]
            if found.paths is not None:
                found.paths[i] = people.matrix[i][None]
            score[i] = people.score[i]
            withdrawn = True
    if withdrawn:
        table = codec.rewrite(X, people.matrix, points)
    scored = ~np.isnan(score)
    stability = np.full(len(points), np.nan)
    stability[scored] = problem.stability(points[scored], noise).value
    base = None
    if found.base is not None:
        base = finish(_base_of(method), problem, X, people, found.base, noise)
    return Counterfactuals(
        method=type(method).__name__,
        settings={**method.settings(), **found.notes},
        schema=problem.schema,
        applicants=X,
        points=table,
        status=found.status,
        reason=tuple(found.reason),
        cost=rules.cost(points, people.matrix, method.norm),
        score=score,
        stability=stability,
        n_changes=rules.n_changes(points, people.matrix),
        norm=method.norm,
        base=base,
        paths=None if found.paths is None else _written(found.paths, problem, X, people),
        measured={
            name: np.where(found.answered, numbers, np.nan)
            for name, numbers in found.measured.items()
        },
        origin=problem.origin,
    )


def _written(paths: list[Floats], problem: Problem, X: Any, people: Applicants) -> tuple[Any, ...]:
    """Write paths in the applicants' own form, which can hold where they start."""
    lengths = [len(path) for path in paths]
    whose = np.repeat(np.arange(len(paths)), lengths)
    places = np.concatenate(paths) if paths else people.matrix
    table = problem.codec.rewrite(take(X, whose), people.matrix[whose], places)
    ends = np.cumsum(lengths)
    return tuple(
        take(table, np.arange(end - length, end)) for end, length in zip(ends, lengths, strict=True)
    )


def _base_of(method: Method) -> Method:
    base = getattr(method, "base", None)
    return base if isinstance(base, Method) else method


def check_gamma(gamma: Any, owner: str) -> None:
    """Refuse a gamma that is no score."""
    if gamma is not None:
        other = ", or None for the problem's threshold"
        check_number(gamma, "gamma", owner, least=0, below=1, or_else=other)
