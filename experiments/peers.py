"""Methods of others that stand beside RobX: NICE's sparse copies, and DiCE's genetic search."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Floats, same, same_rows
from robx.errors import InvalidInput
from robx.methods.base import Method, check_gamma
from robx.methods.neighbours import nearest_points, report
from robx.parameters import check_whole
from robx.problem import Applicants, Problem, SearchResult

__all__ = ["DiceGenetic", "Nice", "require_dice"]

#: Of the frame that DiCE is given.
OUTCOME = "accepted"


@dataclass(frozen=True, kw_only=True)
class Nice(Method):
    """As few values as it takes, copied from the nearest accepted row (NICE, "sparsity").

    Starts from the applicant. Each step copies the one feature that raises the score most, until
    the score is above the cutoff; with every feature copied it is. A one-hot group is one feature.

    Parameters
    ----------
    norm : {1, 2}
        Of the distance to the row.
    gamma : float, optional
        Look for scores above this instead of the problem's threshold, if it is higher.
    max_tries : int
        Rows to look at for each applicant before giving up.

    References
    ----------
    Brughmans, Leyman, Martens: NICE: an Algorithm for Nearest Instance Counterfactual
    Explanations, Data Mining and Knowledge Discovery 38, 2024.
    """

    gamma: float | None = None
    max_tries: int = 10_000

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        check_gamma(self.gamma, "Nice")
        check_whole(self.max_tries, "max_tries", "Nice")

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:  # noqa: ARG002
        """See `Method.search`."""
        found = SearchResult.nothing(people)
        cutoff = problem.gate.cutoff(self.gamma)
        near = nearest_points(
            problem,
            people,
            people.matrix,
            norm=self.norm,
            n_wanted=1,
            cutoff=cutoff,
            max_tries=self.max_tries,
        )
        report(problem, people, near, found, cutoff)
        features = _features(problem)
        for i in np.flatnonzero(found.ok):
            person = people.take(np.array([i]))
            found.answer(i, _copied(problem, person, found.points[i], features, cutoff))
        return found


def _features(problem: Problem) -> list[NDArray[np.int64]]:
    """Columns that change together: a one-hot group, or one."""
    groups = list(problem.rules.groups.values())
    grouped = {int(j) for group in groups for j in group}
    alone = [np.array([j]) for j in range(len(problem.names)) if j not in grouped]
    return [*groups, *alone]


def _copied(
    problem: Problem,
    person: Applicants,
    goal: Floats,
    features: list[NDArray[np.int64]],
    cutoff: float,
) -> Floats:
    """Copy features of a goal that is above the cutoff, the best first, until it is passed."""
    point = person.matrix[0].copy()
    left = [columns for columns in features if not same(point[columns], goal[columns]).all()]
    while len(left) > 1:
        tries = np.repeat(point[None], len(left), axis=0)
        for one, columns in zip(tries, left, strict=True):
            one[columns] = goal[columns]
        score = problem.gate.score(tries)
        best = int(score.argmax())
        admitted, legal = problem.gate.admit(tries, person, np.zeros(len(tries), dtype=np.int64))
        legal &= same_rows(admitted, tries)
        passed = np.where(legal & (score > cutoff), score, -np.inf)
        if passed.max() > cutoff:
            return np.asarray(tries[int(passed.argmax())])
        point = tries[best]
        left.pop(best)
    return goal


# --- DiCE -----------------------------------------------------------------------------------------


class OverBudgetError(ValueError):
    """DiCE has asked the model more often than it may."""


class _Asked:
    """A problem's model as DiCE takes one, which answers only so often in one try."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self._problem, self._budget = problem, budget
        self.left = budget

    def renew(self) -> None:
        """Start anew."""
        self.left = self._budget

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """Score rows of numbers."""
        self.left -= 1
        if self.left < 0:
            raise OverBudgetError
        numbers = np.ascontiguousarray(frame[list(self._problem.names)], dtype=np.float64)
        score = self._problem.gate.score(numbers)
        return np.column_stack([1 - score, score])

    def predict(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Decide about rows of numbers."""
        accepted: NDArray[np.int64] = (self.predict_proba(frame)[:, 1] > 0.5).astype(np.int64)
        return accepted


@dataclass(frozen=True, kw_only=True)
class DiceGenetic(Method):
    """The genetic search of DiCE with its own settings, one counterfactual an applicant.

    What it gives is brought onto the schema, which it does not know. All columns must be numbers
    without gaps, and the problem's threshold 0.5.

    Parameters
    ----------
    norm : {1, 2}
        Unused: DiCE has a distance of its own.
    tries : int
        How often to start again where it stops with nothing. Now and then its population dies out.
    budget : int
        How often it may ask the model in one try.
    seed : int
        Of the first try; every applicant meets the same.
    """

    tries: int = 5
    budget: int = 10_000
    seed: int = 0

    def check(self, problem: Problem, n_people: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_people)
        check_whole(self.tries, "tries", "DiceGenetic")
        check_whole(self.budget, "budget", "DiceGenetic")
        check_whole(self.seed, "seed", "DiceGenetic", 0)
        if problem.threshold != 0.5:
            raise InvalidInput(
                f"DiceGenetic takes a threshold of 0.5, which is DiCE's. Got {problem.threshold:g}."
            )
        if problem.rules.is_label.any() or np.isnan(problem.training).any():
            raise InvalidInput(
                "DiceGenetic takes columns of numbers without gaps. Leave other columns out."
            )
        require_dice()

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:  # noqa: ARG002
        """See `Method.search`."""
        found = SearchResult.nothing(people)
        for i in range(len(people)):
            point, why = self._one(problem, people.matrix[i])
            if point is None:
                found.refuse(i, Status.BUDGET, f"DiCE found nothing in {self.tries} tries: {why}")
                continue
            allowed, legal = problem.gate.admit(point[None], people.take(np.array([i])))
            if legal[0] and problem.gate.accepts(allowed)[0]:
                found.answer(i, allowed[0])
            else:
                reason = "what DiCE found is not accepted once it is allowed"
                found.refuse(i, Status.NOT_FOUND, reason)
        return found

    def _one(self, problem: Problem, own: Floats) -> tuple[Floats | None, str]:
        """Ask for one applicant: the point, or why there is none."""
        person = pd.DataFrame([own], columns=list(problem.names))
        said = ""
        for attempt in range(self.tries):
            with _quiet(), _seeded(self.seed + attempt):
                # Made anew: it carries things over from one call to the next.
                search = _explainer(problem, self.budget)
                try:
                    found = search.generate_counterfactuals(person, total_CFs=1, desired_class=1)
                except OverBudgetError:
                    said = f"the model was asked {self.budget} times"
                    continue
                except ValueError as error:  # the population has died out
                    said = str(error)
                    continue
                except Exception as error:
                    if type(error).__name__ != "UserConfigValidationException":
                        raise
                    said = str(error)  # its word for nothing found
                    continue
            frame = found.cf_examples_list[0].final_cfs_df_sparse
            if frame is not None and len(frame):
                return np.asarray(frame[list(problem.names)].iloc[0], dtype=np.float64), ""
            said = "no counterfactual"
        return None, said


def require_dice() -> None:
    """Raise where DiCE is not installed, with how to get it."""
    if find_spec("dice_ml") is None:
        raise InvalidInput(
            "DiCE is not installed. Do so with: pip install --no-deps dice-ml raiutils && pip "
            "install jsonschema"
        )


def _explainer(problem: Problem, budget: int) -> Any:
    """Make DiCE's search over the rows of a problem, with its whole budget."""
    import dice_ml  # noqa: PLC0415 - only this peer needs it

    def make() -> tuple[Any, Any, _Asked]:
        asked = _Asked(problem, budget)
        rows = pd.DataFrame(problem.training, columns=list(problem.names))
        labels = (problem.gate.score(problem.training) > problem.threshold).astype(np.int64)
        data = dice_ml.Data(
            dataframe=rows.assign(**{OUTCOME: labels}),
            continuous_features=list(problem.names),
            outcome_name=OUTCOME,
        )
        return data, dice_ml.Model(model=asked, backend="sklearn"), asked

    data, model, asked = problem.memo.get(("dice", budget), make)
    asked.renew()
    return dice_ml.Dice(data, model, method="genetic")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep warnings and progress bars of DiCE to itself."""
    with (
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the states that DiCE draws from, and leave them as they were."""
    plain, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numpys)  # noqa: NPY002
