"""`explain`: the one-line form for the common case."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from itertools import islice
from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.errors import InvalidInput, WrongWayRound, warn_caller
from robx.label_names import sense_of_class
from robx.methods import Frugal, Method, MethodLike, alternatives, as_method
from robx.modelfiles import with_categories
from robx.parameters import check_whole
from robx.problem import Problem
from robx.progress import Progress
from robx.retrained import certified, import_models, retrainings
from robx.scenarios import read_labels
from robx.schema import Schema
from robx.tables import Category, count_rows

#: Batches of more applicants show a progress bar on a terminal.
LONG = 200
#: Of the retrained models one in so many helps to find answers; the others certify them.
SEARCHING = 3
#: Fewer retrained models tell too little.
LEAST_MODELS = 6
#: All of fewer applicants may well be accepted.
MANY = 5
#: Of the certificates.
CONFIDENCE = 0.95


def explain(
    model: Any,
    X_train: Any,
    applicants: Any,
    *,
    y_train: Any = None,
    estimator: Any = None,
    models: Sequence[Any] | None = None,
    schema: Schema | None = None,
    target: Category | None = None,
    threshold: float = 0.5,
    method: MethodLike | None = None,
    n_answers: int = 1,
    n_models: int = 48,
    seed: int = 0,
    progress: bool | None = None,
    **parameters: Any,
) -> Counterfactuals:
    """Tell applicants what to change, so that it holds after the model is retrained.

    With the training labels, the model is trained again `n_models` times on random thirds of its
    rows, each with every class: a third of these models helps to find the answers, the others
    certify them. Without labels, stability under noise alone decides and there is no certificate.

    Parameters
    ----------
    model : fitted model, path, TreeEnsemble or BlackBox
        Anything that `robx.import_model` takes.
    X_train : table of shape (n, d)
        The rows that the model was trained on.
    applicants : table of shape (m, d)
    y_train : (n,) labels, optional
        Labels of the rows of `X_train`.
    estimator : classifier, optional
        What to train again, with scikit-learn's interface; `model` itself unless given.
    models : sequence of models, optional
        Retrained models of your own, at least six, in place of `y_train`. A third of them helps to
        search, so none of them may have been used to choose anything before.
    schema : Schema, optional
        What may change; guessed from `X_train` unless given.
    target : label, optional
        The class that counts as accepted: the outcome that applicants want. By default the second
        of two classes; if its name is that of a bad outcome, or if all applicants have it already,
        there is a warning, `robx.WrongWayRound`.
    threshold : float
        A score above this is accepted.
    method : Method or function, optional
        `Frugal` unless given; ``method=robx.RobX()`` is the paper's algorithm. A function of
        (problem, X), or an object with ``explain(problem, X)``, returns points; they are judged
        like those of `Given`.
    n_answers : int
        Number of answers to look for, by different features; see `robx.alternatives`.
    n_models : int
        Number of models to train, at least six.
    seed : int
        Seed for the choice of the rows that these models are trained on.
    progress : bool, optional
        Whether to show a progress bar; by default for long batches on a terminal.
    **parameters
        Parameters of `Frugal`, where no method is given: ``level``, ``max_changes``, ``norm``, ...

    Returns
    -------
    Counterfactuals
        Row i answers applicant i.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).random((300, 2)).round(2)
    >>> y = X[:, 0] > 0.5
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> answer = explain(forest, X, [[0.2, 0.5], [0.9, 0.5]], y_train=y)
    >>> answer
    <Counterfactuals by Frugal: 1 ok, 1 already accepted>
    >>> print(answer.words(0))
    Accepted (score 1.00, stability 0.86) with:
      0: 0.2 → 0.72
      32 of 32 retrained models accept it; of models trained on random thirds of the training rows,
      at least 94.2% will (95% confidence).
    """
    if method is not None and parameters:
        raise InvalidInput(
            "explain takes a method or parameters of Frugal, not both. Got a method and "
            f"{sorted(parameters)[0]!r}."
        )
    given, method = method, as_method(method)
    if given is not None and method is None:
        raise InvalidInput(
            "The 'method' parameter of explain must be a method, or a function of (problem, X). "
            f"Got {given!r}."
        )
    known = [field.name for field in fields(Frugal) if field.name != "models"]
    unknown = [name for name in parameters if name not in known]
    if unknown:
        raise InvalidInput(f"Frugal has no parameter {unknown[0]!r}. It has {', '.join(known)}.")
    check_whole(n_answers, "n_answers", "explain")
    check_whole(n_models, "n_models", "explain", least=LEAST_MODELS)
    labels = y_train if method is not None and "labels" in method.needs else None
    problem = Problem(model, X_train, schema, target, threshold, y_train=labels)
    if target is None:
        _warn_of_names(problem, y_train)
    is_long = count_rows(applicants) > LONG and sys.stderr.isatty()
    shown = is_long if progress is None else progress
    trained_on = with_categories(X_train, problem.model)
    later, drawn = _later(model, estimator, trained_on, y_train, models, n_models, seed)
    if y_train is not None:
        later = _counted_in_a_bar(later, n_models, shown)
    chosen: Any = Frugal(**parameters) if method is None else method
    if method is None or _lacks_models(method):
        searching = tuple(islice(later, _n_searching(models, n_models)))
        chosen = replace(chosen, models=searching) if searching else chosen
    answer = alternatives(chosen, problem, applicants, n_answers, progress=shown)
    _warn_of_all(answer)
    answer = answer.noted(
        wanted=_wanted(problem, y_train), schema="guessed" if schema is None else "given"
    )
    if y_train is not None:
        answer = answer.noted(seed=seed, n_models=n_models)
    rest = list(later)
    if not rest:
        return answer
    certifying = import_models(problem, rest)
    if models is not None or chosen is method:  # whose origin only the caller knows
        _refuse_seen(problem, certifying, models)
    others = [certified(problem, a, certifying, CONFIDENCE, drawn) for a in answer.alternatives]
    first = certified(problem, answer, certifying, CONFIDENCE, drawn)
    return replace(first, alternatives=tuple(others))


def _lacks_models(method: Method) -> bool:
    """Whether a method needs retrained models and was given none."""
    return "retrained models" in method.needs and not len(getattr(method, "models", ()))


def _wanted(problem: Problem, y_train: Any) -> str:
    """Name the outcome that applicants are taken to want, such as "good = 1"."""
    name, target = getattr(y_train, "name", None), problem.model.target
    return f"class {target}" if name is None else f"{name} = {target}"


def _warn_of_names(problem: Problem, y_train: Any) -> None:
    """Warn where the target, by the name of the labels, is an outcome that applicants avoid."""
    name, target = getattr(y_train, "name", None), problem.model.target
    classes = [] if y_train is None else np.unique(read_labels(y_train)).tolist()
    others = [one for one in classes if one != target]
    if sense_of_class(None if name is None else str(name), target, others) != "bad":
        return
    instead = f"target={others[0]!r}" if len(others) == 1 else "target"
    warn_caller(
        f"By its name, '{_wanted(problem, y_train)}' is an outcome that applicants want to avoid, "
        f"and it counts as accepted here. Pass {instead} if they do, or target={target!r} if they "
        "want it.",
        WrongWayRound,
    )


def _warn_of_all(answer: Counterfactuals) -> None:
    """Warn where everybody is accepted: nobody asks for answers then."""
    if len(answer) >= MANY and (answer.status == Status.ACCEPTED).all():
        warn_caller(
            f"The model accepts all {len(answer)} applicants, so that none of them gets an answer. "
            f"This is nearly always the wrong way round: class {answer.origin['target']!r} counts "
            "as accepted here. If it is the outcome that applicants want to avoid, pass the other "
            "one as target.",
            WrongWayRound,
        )


def _counted_in_a_bar(models: Iterator[Any], total: int, shown: bool) -> Iterator[Any]:
    """Show how far the training is, as the models are asked for."""
    with Progress(total, "train again", "models", shown=shown) as bar:
        for model in models:
            bar.add(1)
            yield model


def _n_searching(models: Sequence[Any] | None, n_models: int) -> int:
    return (n_models if models is None else len(models)) // SEARCHING


def _later(
    model: Any,
    estimator: Any,
    X_train: Any,
    y_train: Any,
    models: Sequence[Any] | None,
    n_models: int,
    seed: int,
) -> tuple[Iterator[Any], str]:
    """Give the retrained models, if there are to be any, and say how they are drawn."""
    if models is not None:
        if y_train is not None or estimator is not None:
            raise InvalidInput(
                "explain takes retrained models, or y_train to train them with, not both."
            )
        if (
            isinstance(models, str)
            or not isinstance(models, Sequence)
            or (len(models) < LEAST_MODELS)
        ):
            raise InvalidInput(
                f"The 'models' parameter of explain must be a list of at least {LEAST_MODELS} "
                f"retrained models. Got {_counted(models)} instead."
            )
        for one in models:
            _check_classes(model, getattr(one, "classes_", None), "Retrained models")
        return iter(models), "drawn like these"
    if y_train is None:
        if estimator is not None:
            raise InvalidInput("explain needs y_train, the labels of X_train, to train again.")
        return iter(()), ""
    _check_classes(model, np.unique(read_labels(y_train)), "y_train")
    if _is_shuffled(X_train, y_train):
        raise InvalidInput(
            "y_train has the index of X_train in another order. Sort one as the other."
        )
    chosen = model if estimator is None else estimator
    if not hasattr(chosen, "fit") or not hasattr(chosen, "get_params"):
        raise InvalidInput(
            "To train again, explain needs a classifier in scikit-learn's form. Got "
            f"{type(chosen).__name__}. Pass it as 'estimator'."
        )
    return retrainings(chosen, X_train, y_train, n_models, seed), (
        "trained on random thirds of the training rows"
    )


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


def _refuse_seen(problem: Problem, certifying: list[Any], models: Sequence[Any] | None) -> None:
    try:
        problem.used_models.refuse(certifying)
    except InvalidInput as error:
        if models is None:
            raise
        raise InvalidInput(
            f"explain searches with the first {_n_searching(models, 0)} of 'models' and certifies "
            "by the others, and one of these is the same as one of the first. Leave doubles out."
        ) from error


def _counted(models: Any) -> str:
    return f"{len(models)}" if isinstance(models, list | tuple) else type(models).__name__
