"""`Explainer`: what a user keeps; and `explain`, the one-line form for the common case."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from robx.answers import Counterfactuals, Status
from robx.answers.origin import checked_date
from robx.budget import UNLIMITED, Budget
from robx.errors import InvalidInput, LessPromised, WrongWayRound, warn_caller
from robx.explainer import contents, description, fitting
from robx.explainer.contents import Fitted
from robx.explainer.fitting import Given
from robx.files import atomically, existing_file
from robx.methods import Method, MethodLike, alternatives
from robx.parameters import check_whole
from robx.problem import Problem
from robx.rehearsal import Promise
from robx.retrained import certified
from robx.scenarios import Scenario
from robx.schema import Schema
from robx.tables import Category, count_rows
from robx.trees import Model

#: Batches of more applicants show a progress bar on a terminal.
LONG = 200
#: All of fewer applicants may well be accepted.
MANY = 5
#: Of the certificates.
CONFIDENCE = 0.95
#: The chance that an answer which keeps the promise is taken for one that does not.
ERROR = 0.05
ENDING = ".robx"


class Explainer:
    """A model that can say what to change: fitted once, kept in one file, asked many times.

    With the training labels, a promise is rehearsed first: on parts of the rows the whole procedure
    is played, and models of the other rows judge. So it is known how robust answers must be for a
    share `keep` of them to hold. Then the model is trained again `n_models` times on random thirds
    of its rows, each with every class: up to 16 of these models help to find the answers, the
    others certify them. Without labels, stability under noise alone decides, and there is neither
    promise nor certificate. All that does not depend on the applicant is worked out now, so that
    `explain` is fast.

    Parameters
    ----------
    model : fitted model, path, TreeEnsemble or BlackBox
        Anything that `robx.import_model` takes.
    X_train : table of shape (n, d)
        The rows that the model was trained on.
    y_train : (n,) labels, optional
        Labels of the rows of `X_train`.
    schema : Schema, optional
        What may change; guessed from `X_train` unless given.
    estimator : classifier, optional
        What to train again, with scikit-learn's interface; `model` itself unless given.
    models : sequence of models, optional
        Retrained models of your own, at least six, in place of `y_train`. A third of them helps to
        search, so none of them may have been used to choose anything before.
    method : Method or function, optional
        `Frugal` unless given; ``method=robx.RobX()`` is the paper's algorithm. A function of
        (problem, X), or an object with ``explain(problem, X)``, returns points; they are judged
        like those of `Given`.
    keep : float, "auto" or None
        The share of answers that the next model is to keep, such as 0.95; see `promise`. "auto" is
        0.95 for `Frugal` without a level, where there are labels and rows enough, and None
        elsewhere. With another method, its tau or gamma is chosen for the promise. None: no
        promise, and the level decides; fitting is faster.
    change : Scenario, optional
        What "the next model" means: by default one trained on as many new rows of the same source,
        ``robx.scenarios.OtherHalf()``. If that varies settings, so do the retrained models.
    challengers : sequence of models
        Candidate models that are already known. They must accept every answer.
    strict : bool
        Whether to refuse a promise that cannot be made, with the most that can. By default that
        is promised instead, with a warning, `robx.LessPromised`.
    target : label, optional
        The class that counts as accepted: the outcome that applicants want. By default the second
        of two classes; if its name is that of a bad outcome, there is a warning,
        `robx.WrongWayRound`.
    threshold : float
        A score above this is accepted.
    n_models : int
        Number of models to train beside those of the rehearsals, at least six.
    seed : int
        Seed for the choice of the rows that models are trained on.
    k_anonymous : int, optional
        Search among rows that stand for at least so many training people each, so that no answer
        is made from a single person's row, and that no such row is in the file. The models are
        trained on the true rows.
    progress : bool, optional
        Whether to show a progress bar while models are trained; by default on a terminal.
    **parameters
        Parameters of `Frugal`, where no method is given: ``level``, ``max_changes``, ``norm``, ...

    Attributes
    ----------
    problem : Problem
        Model, support, schema and threshold. That of a loaded explainer does not hold all training
        rows.
    method : Method
        With the retrained models that help to search.
    certifying : tuple of Model
        The retrained models that certify answers.
    promise : Promise, optional
        What may be said of the answers, in words and figures.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).random((300, 2)).round(2)
    >>> y = X[:, 0] > 0.5
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    >>> explainer = Explainer(forest, X, y, keep=0.9, n_models=12)
    >>> print(explainer.promise.sentence)
    90 % of the answers will be kept by a next model trained on as many new rows of the same source.
    >>> file = Path(tempfile.mkdtemp()) / "credit.robx"
    >>> explainer.save(file)
    >>> again = Explainer.load(file)
    >>> again
    <Explainer by Frugal of scikit-learn ... RandomForestClassifier: 300 rows, 169 accepted
     (score > 0.5), 2 features, 4 searching and 8 certifying models>
    >>> print(again.explain([[0.2, 0.5]]).words(0))
    Accepted (score 1.00, stability 0.12) with:
      0: 0.2 → 0.53
      7 of 8 retrained models accept it; of models trained on random thirds of the training rows, at
      least 52.9% will (95% confidence). Of models trained on as many new rows of the same source,
      about 100% will; of 20 answers like this one, 19 are accepted by at least 84.1%.
    """

    #: What errors call it.
    _owner = "Explainer"

    def __init__(
        self,
        model: Any,
        X_train: Any,
        y_train: Any = None,
        *,
        schema: Schema | None = None,
        estimator: Any = None,
        models: Sequence[Any] | None = None,
        method: MethodLike | None = None,
        keep: float | Literal["auto"] | None = "auto",
        change: Scenario | None = None,
        challengers: Sequence[Any] = (),
        strict: bool = False,
        target: Category | None = None,
        threshold: float = 0.5,
        n_models: int = 80,
        seed: int = 0,
        k_anonymous: int | None = None,
        progress: bool | None = None,
        **parameters: Any,
    ) -> None:
        given = Given(
            y_train=y_train,
            estimator=estimator,
            models=models,
            method=method,
            n_models=n_models,
            seed=seed,
            keep=keep,
            change=change,
            challengers=challengers,
            parameters=parameters,
        )
        given.check(model, X_train, self._owner)
        wanted_method = given.own
        needs = frozenset() if wanted_method is None else wanted_method.needs
        labels = y_train if "labels" in needs else None
        problem = Problem(model, X_train, schema, target, threshold, labels, k_anonymous)
        fitting.check_method(wanted_method, given, problem)
        if target is None:
            fitting.warn_of_names(problem, y_train)
        shown = sys.stderr.isatty() if progress is None else progress
        promise = fitting.promised(given, model, X_train, problem, shown=shown)
        if promise is not None:
            _say_less(promise, strict=strict)
        later, drawn = fitting.retrained(given, model, X_train, problem, shown=shown)
        chosen = fitting.with_models(wanted_method, given, later, problem, promise)
        is_callers = chosen is wanted_method
        if promise is not None:
            promise = promise.carried_over(chosen, problem)
            chosen = fitting.with_promise(chosen, promise)
        judges = fitting.certifying(later, problem)
        notes: dict[str, Any] = {
            "wanted": fitting.wanted(problem, y_train),
            "schema": "guessed" if schema is None else "given",
        }
        if y_train is not None:
            notes |= {"seed": seed, "n_models": n_models}
        if promise is not None:
            notes |= {"promise": promise.sentence, "promise_basis": promise.basis}
        digests = fitting.digests_of(problem, y_train, schema)
        fitting.warm_up(problem, chosen, judges)
        self._fitted = Fitted(problem, chosen, judges, drawn, notes, digests, promise)
        # Whether judges may have helped to search: only the caller knows where they are from.
        self._given = given if models is not None or is_callers else None
        self._refuse_seen()

    @property
    def problem(self) -> Problem:
        """Model, support, schema and threshold."""
        return self._fitted.problem

    @property
    def method(self) -> Method:
        """The method, with the retrained models that help to search."""
        return self._fitted.method

    @property
    def certifying(self) -> tuple[Model, ...]:
        """The retrained models that certify answers."""
        return self._fitted.certifying

    @property
    def promise(self) -> Promise | None:
        """What may be said of the answers: ``print(explainer.promise)``; None if nothing was."""
        return self._fitted.promise

    def explain(
        self, applicants: Any, *, n_answers: int = 1, progress: bool | None = None
    ) -> Counterfactuals:
        """Tell applicants what to change, so that it holds after the model is retrained.

        Parameters
        ----------
        applicants : table of shape (m, d)
        n_answers : int
            Number of answers to look for, by different features; see `robx.alternatives`.
        progress : bool, optional
            Whether to show a progress bar; by default for long batches on a terminal.

        Returns
        -------
        Counterfactuals
            Row i answers applicant i. Where retrained models certify, each answer has its
            `certificate`; under a promise, an answer that too few of them accept for the promised
            share is "unstable". If all applicants are accepted already, there is a warning,
            `robx.WrongWayRound`.
        """
        check_whole(n_answers, "n_answers", "Explainer.explain")
        problem, fitted = self.problem, self._fitted
        shown = shows_progress(applicants, progress)
        answer = alternatives(self.method, problem, applicants, n_answers, progress=shown)
        _warn_of_all(answer)
        answer = answer.noted(**fitted.notes)
        if not fitted.certifying:
            return answer
        self._refuse_seen()
        judges = list(fitted.certifying)
        first, *others = (
            judged(certified(problem, one, judges, CONFIDENCE, fitted.drawn), fitted.promise)
            for one in (answer, *answer.alternatives)
        )
        return first.replaced(alternatives=tuple(others))

    def _refuse_seen(self) -> None:
        if self._given is not None:
            fitting.refuse_seen(self.problem, self.certifying, self._given, self._owner)

    def noted(self, **facts: Any) -> Explainer:
        """Return the same explainer with more plain values for the `origin` of its answers."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._fitted = replace(self._fitted, notes={**self._fitted.notes, **facts})
        return other

    # --- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, date: str | None = None) -> None:
        """Write the explainer to one file: data and no code. The same explainer, the same bytes.

        It holds training rows: only its owner may read a new file. One that is overwritten keeps
        its permissions.

        Parameters
        ----------
        path : path ending in `.robx`
        date : str, optional
            When the explainer was made, in the form of ISO 8601, to be shown by ``robx show``.

        Raises
        ------
        UnsupportedModel
            If the model, or a retrained one, is a `BlackBox`.
        InvalidInput
            If the method is a function, or one that a file cannot hold.
        """
        file = Path(path)
        if file.suffix.lower() != ENDING:
            raise InvalidInput(f"An explainer is saved as {ENDING}. Got '{file.name}'.")
        made = (
            self._fitted
            if date is None
            else replace(self._fitted, date=checked_date(date, "Explainer.save"))
        )
        data = contents.to_bytes(made)
        with atomically(file) as temporary:
            temporary.write_bytes(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], budget: Budget | None = None) -> Explainer:
        """Read an explainer from a file that `save` or ``robx fit`` wrote.

        Nothing in it is executed. No model library and no training table is needed.

        Parameters
        ----------
        path : path
        budget : Budget, optional
            What reading the file may take.

        Raises
        ------
        InvalidInput, InvalidModel
            If the file is not an explainer, is damaged, or is in the format of a newer version.
        BudgetExceeded
            If it takes more than its budget allows.
        """
        allowed = Budget.default() if budget is None else budget
        file = existing_file(path)
        return cls._from_bytes(allowed.read(file), f"'{file.name}'", allowed)

    @classmethod
    def _from_bytes(
        cls, data: bytes, where: str = "The explainer", budget: Budget = UNLIMITED
    ) -> Explainer:
        explainer = object.__new__(cls)
        explainer._fitted = contents.from_bytes(data, where, budget)
        explainer._given = None
        return explainer

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._from_bytes, (contents.to_bytes(self._fitted),)

    # --- in words --------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """Say in plain values what the explainer is: model, rows, method, models, versions."""
        return description.described(self._fitted)

    def __repr__(self) -> str:
        return description.line(self._fitted)

    def _repr_html_(self) -> str:
        return description.as_html(self._fitted)


class _Once(Explainer):
    """An explainer that is asked once."""

    _owner = "explain"


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
    keep: float | Literal["auto"] | None = "auto",
    change: Scenario | None = None,
    challengers: Sequence[Any] = (),
    strict: bool = False,
    n_answers: int = 1,
    n_models: int = 80,
    seed: int = 0,
    k_anonymous: int | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> Counterfactuals:
    """Tell applicants what to change, so that it holds after the model is retrained.

    This fits an `Explainer`, asks it once and forgets it. Where more applicants will come, keep
    the explainer.

    Parameters
    ----------
    model, X_train, y_train, estimator, models, schema, target, threshold, method
        As for `Explainer`.
    keep, change, challengers, strict, n_models, seed, k_anonymous
        As for `Explainer`.
    applicants : table of shape (m, d)
    n_answers : int
        Number of answers to look for, by different features; see `robx.alternatives`.
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
    >>> answer = explain(forest, X, [[0.2, 0.5], [0.9, 0.5]], y_train=y, keep=None)
    >>> answer
    <Counterfactuals by Frugal: 1 ok, 1 already accepted>
    >>> print(answer.words(0))
    Accepted (score 1.00, stability 0.86) with:
      0: 0.2 → 0.72
      64 of 64 retrained models accept it; of models trained on random thirds of the training rows,
      at least 95.4% will (95% confidence).
    """
    check_whole(n_answers, "n_answers", "explain")
    shown = shows_progress(applicants, progress)
    explainer = _Once(
        model,
        X_train,
        y_train,
        schema=schema,
        estimator=estimator,
        models=models,
        method=method,
        keep=keep,
        change=change,
        challengers=challengers,
        strict=strict,
        target=target,
        threshold=threshold,
        n_models=n_models,
        seed=seed,
        k_anonymous=k_anonymous,
        progress=shown,
        **parameters,
    )
    return explainer.explain(applicants, n_answers=n_answers, progress=shown)


def shows_progress(applicants: Any, progress: bool | None) -> bool:
    """Whether to show a progress bar: by default for long batches on a terminal."""
    return count_rows(applicants) > LONG and sys.stderr.isatty() if progress is None else progress


def judged(answer: Counterfactuals, promise: Promise | None) -> Counterfactuals:
    """Hold each answer to the promise by its certificate, and say what is expected of it."""
    certificate = answer.certificate
    if promise is None or certificate is None:
        return answer
    scores = answer.measured.get("retrained_score")
    if promise.calibration is not None and scores is not None:
        expected = promise.calibration.of_scores(scores)
        known = [np.where(certificate.covers, one, np.nan) for one in expected]
        certificate = replace(
            certificate, change=promise.change, expected=known[0], expected_low=known[1]
        )
    status, reason = answer.status.copy(), list(answer.reason)
    few = answer.ok & (certificate.accepting < fewest_accepting(promise.keep, certificate.n_models))
    for i in np.flatnonzero(few):
        status[i] = Status.UNSTABLE
        reason[i] = (
            f"{certificate.accepting[i]} of {certificate.n_models} retrained models accept the "
            f"best that was found, too few for a promise of {100 * promise.keep:.3g} %"
        )
    return answer.replaced(certificate=certificate, status=status, reason=tuple(reason))


def fewest_accepting(keep: float, n: int) -> int:
    """Say how many of n models accept an answer at least, if a share `keep` of all models does.

    An answer that as many accept as promised has fewer with a chance of `ERROR` at most.

    Examples
    --------
    >>> fewest_accepting(0.95, 32), fewest_accepting(0.95, 64)
    (28, 58)
    """
    from scipy.stats import binom  # noqa: PLC0415 - takes long to load

    return int(binom.ppf(ERROR, n, keep))


def _say_less(promise: Promise, *, strict: bool) -> None:
    """Say that less can be promised than was asked for."""
    if promise.is_met:
        return
    said = (
        f"A share of {promise.asked:g} cannot be promised: in rehearsals on parts of the training "
        f"rows, at most {promise.keep:g} was sure to be kept."
    )
    if strict:
        raise InvalidInput(f"{said} Ask for that, or for more rows.")
    warn_caller(f"{said} This is promised instead.", LessPromised)


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
