"""What `Explainer` does before the first applicant: check, import, train again, warm up."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from robx.errors import InvalidInput, WrongWayRound, warn_caller
from robx.explainer.stored_methods import is_storable
from robx.label_names import sense_of_class
from robx.methods import Closest, Frugal, Method, NearestNeighbour, as_method
from robx.methods import Given as GivenPoints
from robx.methods.compiled import CompiledSearch
from robx.methods.frugal import outlier_bounds
from robx.modelfiles import refuse_lost_parameters, with_categories
from robx.parameters import check_number, check_whole
from robx.problem import Problem
from robx.progress import Progress
from robx.rehearsal import (
    LEAST_ROWS,
    CannotRehearse,
    Play,
    Promise,
    dial_of,
    is_set,
    n_trials,
    rehearse,
    with_dial,
)
from robx.retrained import (
    ModelScores,
    check_readers,
    drawn_from,
    import_models,
    importer_for,
    retrainings,
)
from robx.scenarios import OtherHalf, Scenario, read_labels
from robx.scenarios.base import check_lengths
from robx.schema import Schema
from robx.schema.codec import Reading
from robx.tables import as_pandas, count_rows
from robx.trees import Model

#: Of the retrained models one in so many helps to find answers, and no more than this number; the
#: others certify them.
SEARCHING, MOST_SEARCHING = 3, 16
#: Fewer retrained models tell too little.
LEAST_MODELS = 6
#: The share of promises that the next model is to keep, unless the caller says otherwise.
KEEP = 0.95
#: How much smaller than that the share of the searching models is which must accept.
LENIENCE = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """What a caller gave, but for the model and its training table.

    Parameters
    ----------
    y_train, estimator, models, method, n_models, seed, keep, change, challengers
        As for `Explainer`.
    parameters : dict
        Parameters of `Frugal`.
    """

    y_train: Any
    estimator: Any
    models: Sequence[Any] | None
    method: Any
    n_models: int
    seed: int
    keep: float | Literal["auto"] | None
    change: Scenario | None
    challengers: Sequence[Any]
    parameters: dict[str, Any]

    def check(self, model: Any, X_train: Any, owner: str) -> None:
        """Refuse, before any work starts, what does not go together."""
        if isinstance(model, type):
            raise InvalidInput(
                f"{owner} needs a fitted model. Got the class {model.__name__} itself."
            )
        if self.method is not None and self.parameters:
            raise InvalidInput(
                f"{owner} takes a method or parameters of Frugal, not both. Got a method and "
                f"{sorted(self.parameters)[0]!r}."
            )
        if self.method is not None and as_method(self.method) is None:
            raise InvalidInput(
                f"The 'method' parameter of {owner} must be a method, or a function of "
                f"(problem, X). Got {self.method!r}."
            )
        apart = ("models", "challengers")
        known = [field.name for field in fields(Frugal) if field.name not in apart]
        unknown = [name for name in self.parameters if name not in known]
        if unknown:
            raise InvalidInput(
                f"Frugal has no parameter {unknown[0]!r}. It has {', '.join(known)}."
            )
        check_whole(self.n_models, "n_models", owner, least=LEAST_MODELS)
        if self.models is not None:
            self._check_models(model, owner)
        elif self.y_train is not None:
            self._check_training(model, X_train, owner)
        elif self.estimator is not None:
            raise InvalidInput(f"{owner} needs y_train, the labels of X_train, to train again.")
        self._check_promise(owner)

    def _check_promise(self, owner: str) -> None:
        if self.change is not None and not isinstance(self.change, Scenario):
            raise InvalidInput(
                f"The 'change' parameter of {owner} must be a scenario of robx.scenarios. Got "
                f"{type(self.change).__name__} instead."
            )
        if self.keep is None or self.keep == "auto":
            if self.change is not None and (self.keep is None or not self.may_promise):
                raise InvalidInput(f"{owner} takes a change for a promise. Pass keep as well.")
            return
        or_else = ", 'auto' or None"
        check_number(self.keep, "keep", owner, above=0, below=1, or_else=or_else)
        method = self.wanted
        if self.y_train is None:
            raise InvalidInput(
                f"{owner} needs y_train to rehearse a promise: models are trained on parts of the "
                "rows. Pass it, or keep=None."
            )
        if not hasattr(method, "__dataclass_fields__") or dial_of(method) is None:
            raise InvalidInput(
                f"{owner} cannot keep a promise with {method.title}, which has no parameter that "
                "makes answers more robust. Pass keep=None."
            )
        if is_set(method):
            raise InvalidInput(
                f"{owner} takes a promise, or a method whose robustness you have set, not both. "
                f"Got keep = {self.keep:g} and {method!r}."
            )

    @property
    def own(self) -> Method | None:
        """The caller's method, asked to please challengers as well; None where there is none."""
        method = as_method(self.method)
        if isinstance(method, Frugal) and len(self.challengers):
            return replace(method, challengers=(*method.challengers, *self.challengers))
        return method

    @property
    def wanted(self) -> Method:
        """The method, with its parameters and without retrained models."""
        if self.own is not None:
            return self.own
        return Frugal(**self.parameters, challengers=tuple(self.challengers))

    @property
    def may_promise(self) -> bool:
        """Whether a promise can be rehearsed without the caller asking for it."""
        method = self.wanted
        return self.y_train is not None and isinstance(method, Frugal) and not is_set(method)

    def _check_models(self, model: Any, owner: str) -> None:
        if self.y_train is not None or self.estimator is not None:
            raise InvalidInput(
                f"{owner} takes retrained models, or y_train to train them with, not both."
            )
        is_list = isinstance(self.models, Sequence) and not isinstance(self.models, str)
        if not is_list or len(self.models or ()) < LEAST_MODELS:
            raise InvalidInput(
                f"The 'models' parameter of {owner} must be a list of at least {LEAST_MODELS} "
                f"retrained models. Got {_counted(self.models)} instead."
            )
        for one in self.models or ():
            _check_classes(model, getattr(one, "classes_", None), "Retrained models")

    def _check_training(self, model: Any, X_train: Any, owner: str) -> None:
        labels = read_labels(self.y_train)
        check_lengths(X_train, labels)
        _check_classes(model, np.unique(labels), "y_train")
        if _is_shuffled(X_train, self.y_train):
            raise InvalidInput(
                "y_train has the index of X_train in another order. Sort one as the other."
            )
        chosen = self.to_train(model)
        if not hasattr(chosen, "fit") or not hasattr(chosen, "get_params"):
            raise InvalidInput(
                f"To train again, {owner} needs a classifier in scikit-learn's form. Got "
                f"{type(chosen).__name__}. Pass it as 'estimator'."
            )
        if self.estimator is None:
            refuse_lost_parameters(model)

    def to_train(self, model: Any) -> Any:
        """Give what is trained again."""
        return model if self.estimator is None else self.estimator

    @property
    def n_searching(self) -> int:
        """How many of the retrained models help to search, where the method takes models."""
        n = self.n_models if self.models is None else len(self.models)
        return min(n // SEARCHING, MOST_SEARCHING)


def check_method(method: Method | None, given: Given, problem: Problem) -> None:
    """Refuse parameters of a method before models are trained.

    Methods of a caller's own, and tables of points, may want to know how many applicants there are.
    """
    chosen = given.wanted if method is None else method
    if is_storable(chosen) and not _lacks_models(chosen):
        chosen.check(problem, 1)
    if len(given.challengers) and not isinstance(chosen, Frugal):
        raise InvalidInput(f"Challengers are for Frugal alone. {chosen.title} cannot ask them.")


# --- training -------------------------------------------------------------------------------------


def retrained(
    given: Given, model: Any, X_train: Any, problem: Problem, *, shown: bool
) -> tuple[Iterator[Any], str]:
    """Give the retrained models, if there are to be any, and say how they are drawn."""
    if given.models is not None:
        return iter(given.models), "drawn like these"
    if given.y_train is None:
        return iter(()), ""
    method = as_method(given.method)
    # Another method may want models as they are to search with.
    wants_them = method is not None and not isinstance(method, Frugal) and _lacks_models(method)
    vary = getattr(given.change, "vary", None)
    then = importer_for(problem, X_train)
    later = retrainings(
        given.to_train(model),
        _trained_on(given.to_train(model), X_train, problem),
        given.y_train,
        given.n_models,
        given.seed,
        None if wants_them else then,
        vary,
    )
    counted = _counted_in_a_bar(later, given.n_models, shown)
    drawn = drawn_from(count_rows(X_train))
    return counted, drawn + (f" with another {' or '.join(vary)}" if vary else "")


def _trained_on(estimator: Any, X_train: Any, problem: Problem) -> Any:
    """Give the training table as the estimator takes it."""
    if type(estimator).__module__.startswith("lightgbm"):
        X_train = as_pandas(X_train)  # of another frame with categories, it ends the process
    return with_categories(X_train, problem.model)


def promised(
    given: Given, model: Any, X_train: Any, problem: Problem, *, shown: bool
) -> Promise | None:
    """Rehearse the promise that was asked for; None where none was, or none can be."""
    is_asked = given.keep is not None and given.keep != "auto"
    if given.keep is None or not (is_asked or given.may_promise):
        return None
    if not is_asked and (problem.view.trees is None or count_rows(X_train) < LEAST_ROWS):
        return None
    keep = KEEP if given.keep == "auto" else float(given.keep)
    play = play_of(given, model, X_train, problem, keep)
    try:
        outcome = rehearse(play, n_trials(keep), shown=shown)
    except CannotRehearse:
        if is_asked:
            raise
        return None
    return Promise.of(outcome, keep, play.change.next_model, given.seed)


def play_of(given: Given, model: Any, X_train: Any, problem: Problem, keep: float) -> Play:
    """Say what is rehearsed."""
    method: Any = given.wanted
    if isinstance(method, Frugal):  # challengers have seen the rows that the trials hold back
        method = replace(method, min_accepting=share_of_searching(keep), challengers=())
        if isinstance(method.base, GivenPoints):  # which are of other people
            method = replace(method, base=NearestNeighbour())
    takes_models = isinstance(method, Frugal) or _lacks_models(method)
    return Play(
        estimator=given.to_train(model),
        table=_trained_on(given.to_train(model), X_train, problem),
        rows=X_train,
        labels=read_labels(given.y_train),
        problem=problem,
        method=method,
        n_models=given.n_searching if takes_models else 0,
        change=OtherHalf() if given.change is None else given.change,
        seed=given.seed,
    )


def with_models(
    method: Method | None,
    given: Given,
    later: Iterator[Any],
    problem: Problem,
    promise: Promise | None,
) -> Method:
    """Give the method that searches, with the retrained models that it searches with.

    A caller's `Frugal` without models searches without any, unless a promise was rehearsed with it.
    """
    rehearsed = promise is not None and isinstance(method, Frugal) and not len(method.models)
    if method is not None and not (_lacks_models(method) or rehearsed):
        return method
    chosen: Any = given.wanted if method is None else method
    first = list(islice(later, given.n_searching))
    if isinstance(chosen, Frugal) and first:
        first = [*import_models(problem, first)]
    found: Method = replace(chosen, models=tuple(first)) if first else chosen
    return found


def share_of_searching(keep: float) -> float:
    """Share of the searching models that must accept an answer under a promise.

    A little less than is promised: these models have a third of the rows and are harder to please
    than the next one. If as many as promised had to accept, all 16 would at 95 %, and no cheaper
    answer would ever be rehearsed.
    """
    return max(keep - LENIENCE, 0.0)


def with_promise(method: Method, promise: Promise) -> Method:
    """Give the method as robust as a promise needs, as it was rehearsed."""
    turned = with_dial(method, promise.value)
    if isinstance(turned, Frugal):
        return replace(turned, min_accepting=share_of_searching(promise.asked))
    return turned


def certifying(later: Iterator[Any], problem: Problem) -> tuple[Model, ...]:
    """Import the models that judge, and make sure that they can read the problem's tables."""
    rest = list(later)
    models = import_models(problem, rest) if rest else []
    check_readers(problem, models)
    return tuple(models)


def refuse_seen(problem: Problem, judges: Sequence[Model], given: Given, owner: str) -> None:
    """Refuse to certify by models that were used to search."""
    try:
        problem.used_models.refuse(judges)
    except InvalidInput as error:
        if given.models is None:
            raise
        raise InvalidInput(
            f"{owner} searches with the first {given.n_searching} of 'models' and certifies by "
            "the others, and one of these is the same as one of the first. Leave doubles out."
        ) from error


def _lacks_models(method: Method) -> bool:
    """Whether a method needs retrained models and was given none."""
    return "retrained models" in method.needs and not len(getattr(method, "models", ()))


def _counted_in_a_bar(models: Iterator[Any], total: int, shown: bool) -> Iterator[Any]:
    """Show how far the training is, as the models are asked for."""
    with Progress(total, "train again", "models", shown=shown) as bar:
        for model in models:
            bar.add(1)
            yield model


def _check_classes(model: Any, classes: Any, what: str) -> None:
    """Refuse another coding of classes than the model's: models trained on it would be turned."""
    known = getattr(model, "classes_", None)
    if known is None or classes is None:
        return
    known, classes = np.asarray(known).tolist(), np.asarray(classes).tolist()
    if set(known) != set(classes):
        raise InvalidInput(f"{what} must have the classes of the model, {known}. Got {classes}.")


def _is_shuffled(X_train: Any, y_train: Any) -> bool:
    """Whether two pandas objects have the same index in different orders."""
    ours: Any = getattr(X_train, "index", None)
    theirs: Any = getattr(y_train, "index", None)
    if not hasattr(ours, "equals") or not hasattr(theirs, "equals") or ours.equals(theirs):
        return False
    return bool(len(ours) == len(theirs) and ours.sort_values().equals(theirs.sort_values()))


def _counted(models: Any) -> str:
    return f"{len(models)}" if isinstance(models, list | tuple) else type(models).__name__


# --- what it is about -----------------------------------------------------------------------------


def wanted(problem: Problem, y_train: Any) -> str:
    """Name the outcome that applicants are taken to want, such as "good = 1"."""
    name, target = getattr(y_train, "name", None), problem.model.target
    return f"class {target}" if name is None else f"{name} = {target}"


def warn_of_names(problem: Problem, y_train: Any) -> None:
    """Warn where the target, by the name of the labels, is an outcome that applicants avoid."""
    name, target = getattr(y_train, "name", None), problem.model.target
    classes = [] if y_train is None else np.unique(read_labels(y_train)).tolist()
    others = [one for one in classes if one != target]
    if sense_of_class(None if name is None else str(name), target, others) != "bad":
        return
    instead = f"target={others[0]!r}" if len(others) == 1 else "target"
    warn_caller(
        f"By its name, '{wanted(problem, y_train)}' is an outcome that applicants want to avoid, "
        f"and it counts as accepted here. Pass {instead} if they do, or target={target!r} if they "
        "want it.",
        WrongWayRound,
    )


def digests_of(problem: Problem, y_train: Any, schema: Schema | None) -> dict[str, str | None]:
    """Digest all that went in: model, training table, labels, and the schema that was given."""
    table = hashlib.sha256(json.dumps(problem.names).encode())
    table.update(np.ascontiguousarray(problem.training).tobytes())
    labels = None
    if y_train is not None:
        plain = read_labels(y_train).tolist()
        labels = hashlib.sha256("\n".join(map(str, plain)).encode()).hexdigest()
    stated = None
    if schema is not None:
        text = json.dumps(schema.to_dict(), sort_keys=True, default=str)
        stated = hashlib.sha256(text.encode()).hexdigest()
    return {
        "model": problem.model.digest,
        "training_table": table.hexdigest(),
        "labels": labels,
        "schema": stated,
    }


# --- warming up -----------------------------------------------------------------------------------


def warm_up(problem: Problem, method: Method, judges: Sequence[Model]) -> None:
    """Work out all that the first answer needs and that does not depend on the applicant.

    That is done by answering one who was declined in training. Methods of a caller's own are not
    called: nobody knows what they do, nor how long a black box takes. Nor is the exact search.
    """
    if not is_storable(method) or problem.view.trees is None:
        return
    method.check(problem, 1)
    if isinstance(method, Closest):
        method.quorum(problem)
        return
    if isinstance(method, Frugal):  # also as it asks of those who are not typical
        test = method.test(problem)
        for bound in outlier_bounds(test):
            CompiledSearch.of(replace(test, max_outlier_score=float(bound)), method.norm)
    declined = _someone_declined(problem)
    if len(declined):
        trouble = np.full(len(declined), "", dtype=object)
        people = problem.applicants(Reading(declined, trouble, {}))
        with Progress(len(declined), method.title, shown=False) as bar:
            method.run(problem, people, bar)
    if len(judges):
        ModelScores.of(problem, judges).scores(problem.support.rows[:1])


def _someone_declined(problem: Problem) -> Any:
    """Give the first training row that is declined: (1, d), or (0, d) where none is."""
    rows = problem.training
    for first in range(0, len(rows), 1024):
        some = rows[first : first + 1024]
        declined = problem.gate.score(some) <= problem.threshold
        declined &= ~problem.view.unknown(some).any(axis=1) & ~np.isinf(some).any(axis=1)
        if declined.any():
            return some[declined][:1].copy()
    return rows[:0]
