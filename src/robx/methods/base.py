"""What all methods share: one verb, and what they need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from robx.answers import Counterfactuals, Status
from robx.errors import InvalidInput, UnsupportedModel
from robx.methods.finish import finish
from robx.methods.leaf_space import LeafSpace, held_back_by
from robx.parameters import check_number
from robx.problem import Applicants, Problem, SearchResult
from robx.progress import Progress
from robx.robustness import Noise
from robx.schema import Norm, check_norm

Need = Literal["trees", "labels", "retrained models"]


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A way of finding counterfactuals: its parameters, and one verb.

    A method of your own is a frozen dataclass that inherits this class and writes `search`; "Write
    your own method" in the documentation shows one.

    Parameters
    ----------
    norm : {1, 2}
        In which distance the answer is to be close: L1 or L2.
    """

    norm: Norm = 1

    #: What the method cannot do without; `check_needs` compares it with what is there.
    needs: ClassVar[frozenset[Need]] = frozenset()
    #: Applicants that are answered between two looks at the progress bar.
    chunk: ClassVar[int] = 512
    # How the stability of answers is measured; a method may have it as a parameter.
    noise = Noise()

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
        check_problem(problem, f"{type(self).__name__}.explain takes")
        applicants = problem.read(X)
        self.check(problem, len(applicants))
        with Progress(len(applicants), self.title, shown=progress) as bar:
            found = self.run(problem, applicants, bar)
        return finish(self, problem, X, applicants, found)

    def run(self, problem: Problem, applicants: Applicants, bar: Progress) -> SearchResult:
        """Search for those who need an answer, some at a time; the others are told so."""
        accepted = applicants.score > problem.threshold
        sound = np.fromiter((not one for one in applicants.trouble), bool, len(applicants))
        rows = np.flatnonzero(~accepted & sound)
        bar.add(len(applicants) - len(rows))

        def parts() -> Iterator[tuple[NDArray[np.intp], SearchResult]]:
            # Also with nobody to answer: what a method says of itself is said once.
            for first in range(0, max(len(rows), 1), self.chunk):
                some = rows[first : first + self.chunk]
                yield some, self.search(problem, applicants.take(some), some)
                bar.add(len(some))

        found = SearchResult.joined(parts(), applicants)
        told: SearchResult | None = found
        while told is not None:  # and so is everybody by the base
            for i in np.flatnonzero(~sound):
                told.refuse(i, Status.INFEASIBLE, applicants.trouble[i])
            for i in np.flatnonzero(accepted):
                told.refuse(i, Status.ACCEPTED, "")
            say_precluded(problem, applicants, told, rows)
            told = told.base
        return found

    @abstractmethod
    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """Search for applicants who are declined and whose rows are sound.

        Every point that is tested or returned comes from ``problem.gate``. A row's answer must not
        depend on the others.

        Parameters
        ----------
        problem : Problem
        applicants : m Applicants
        rows : (m,) int
            Their places in the table that was given.
        """

    def check(self, problem: Problem, n_applicants: int) -> None:
        """Raise for parameters that make no sense, alone or for this problem."""
        check_norm(self.norm, type(self).__name__)
        check_needs(self, problem)

    @property
    def title(self) -> str:
        """What answers call the method."""
        return type(self).__name__

    def settings(self) -> dict[str, Any]:
        """Give the parameters as plain values."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    def base_method(self) -> Method:
        """Give the method whose answers this one starts from; itself where there is none."""
        base = getattr(self, "base", None)
        return base if isinstance(base, Method) else self


def check_problem(problem: Any, takes: str) -> None:
    """Refuse what is not a Problem."""
    if not isinstance(problem, Problem):
        raise InvalidInput(
            f"{takes} a robx.Problem and then the applicants. Got {type(problem).__name__}."
        )


def check_needs(method: Method, problem: Problem) -> None:
    """Refuse a problem that lacks what a method says it needs."""
    name = type(method).__name__
    if "trees" in method.needs and problem.view.trees is None:
        raise UnsupportedModel(
            f"{name} needs the trees of the model, and this model is a BlackBox, known only by its "
            "scores. Use NearestNeighbour, which needs scores alone, or pass the tree model "
            "without what is wrapped around it."
        )
    if "labels" in method.needs and problem.labels is None:
        raise InvalidInput(
            f"{name} needs the labels of the training rows. Pass y_train to robx.Problem."
        )
    if "retrained models" in method.needs and not len(getattr(method, "models", ())):
        raise InvalidInput(
            f"{name} needs retrained models. Pass them as 'models', such as "
            "list(robx.retrainings(estimator, X_train, y_train, 16))."
        )


def say_precluded(
    problem: Problem, applicants: Applicants, found: SearchResult, rows: NDArray[np.intp]
) -> None:
    """Tell those without an answer, of whom it can be proved, that no allowed point is accepted."""
    rows = rows[~found.answered[rows]]
    if problem.view.trees is None or len(rows) == 0:
        return
    space = LeafSpace.of(problem)
    rows = rows[~(space.bound(applicants.take(rows)) > problem.threshold)]
    refusals = held_back_by(space, applicants.take(rows), problem.threshold)
    for i, refusal in zip(rows, refusals, strict=True):
        found.refuse(i, *refusal)


def _plain(value: Any) -> Any:
    if isinstance(value, Method):
        return {"method": value.title, **value.settings()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    return type(value).__name__


def check_noise(noise: Any, problem: Problem, owner: str) -> None:
    """Refuse what is not a Noise, or one that makes no sense for the problem."""
    if not isinstance(noise, Noise):
        raise InvalidInput(
            f"The 'noise' parameter of {owner} must be a robx.Noise, such as Noise(sigma=0.1). Got "
            f"{noise!r} instead."
        )
    noise.check(problem.names)


def check_gamma(gamma: Any, owner: str) -> None:
    """Refuse a gamma that is not a score."""
    if gamma is not None:
        other = ", or None for the problem's threshold"
        check_number(gamma, "gamma", owner, least=0, below=1, or_else=other)
