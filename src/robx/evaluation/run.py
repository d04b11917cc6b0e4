"""`evaluate`: methods and model changes in, one tidy table out."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from types import CodeType, FunctionType
from typing import Any

import joblib
import numpy as np
import pandas as pd

from robx.errors import InvalidInput
from robx.evaluation.cells import Answers, Cell, coordinates
from robx.evaluation.log import Log
from robx.evaluation.study import Base, Rehearsal, Study
from robx.evaluation.table import tabulate
from robx.methods import Method
from robx.metrics import Outliers
from robx.parameters import check_whole, is_whole, require
from robx.problem import Problem
from robx.progress import Progress
from robx.retrained import acceptance, import_models, refuse_seen
from robx.scenarios import Scenario
from robx.tables import as_named_frame, as_pandas, count_rows, take
from robx.trees import BlackBox, TreeEnsemble

__all__ = ["evaluate"]

Models = list[TreeEnsemble | BlackBox]
Maker = Callable[[Rehearsal], Method]
#: The name of the scenario where models are given.
GIVEN = "given models"


def evaluate(
    problem: Study | Problem,
    methods: Mapping[str, Method | Maker],
    scenario: Scenario | Mapping[str, Scenario] | Sequence[Any],
    *,
    applicants: Any = None,
    seeds: int | Sequence[int] = 5,
    n_models: int = 20,
    outliers: Outliers | Mapping[str, Outliers] | None = None,
    common: bool = False,
    log: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Find out how much of what methods hand out is still honoured after the model changes.

    With a `Study`: for each seed base models are trained, their declined applicants answered by
    each method, and new models made by each scenario asked about the answers. With a `Problem`: the
    model is what it is, and `scenario` is a list of models that might follow it.

    A method that has to choose something, such as tau, is given as a function from a `Rehearsal` to
    a method. It sees only the base model and its training rows; the models that judge are made
    after the answers. Models that `choose_tau` has seen are refused as judges.

    Parameters
    ----------
    problem : Study or Problem
    methods : mapping from names to methods
        Or to functions from a `Rehearsal` to a method.
    scenario : Scenario, mapping from names to scenarios, or list of models
    applicants : table, optional
        Who asks; only, and always, with a `Problem`. Those who are accepted already are left out.
    seeds : int or sequence of int
        How many base models, or the seeds of each.
    n_models : int
        New models for each base model and scenario.
    outliers : Outliers or mapping from names to Outliers, optional
        How the local outlier factor is taken. With names, each gives its own ``lof_<name>`` and
        ``lof_raw_<name>``.
    common : bool
        Whether validity and costs are over the applicants whom all methods answer; else they are
        over those whom the method itself answers.
    log : path of a .jsonl file, optional
        Finished cells are kept here and not done again when the same evaluation is called again.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    n_jobs : int, optional
        Trainings at a time; by default as many as there are cores.

    Returns
    -------
    DataFrame
        Columns ``method``, ``scenario``, ``seed``, ``metric``, ``value``, ``low``, ``high``. Each
        seed has its rows, and ``"all"`` is the mean over base models. The 95 % interval of a seed
        speaks of other applicants, that of ``"all"`` of other base models too. The metrics are
        ``coverage`` (share of applicants with an answer), ``base_validity`` (share of answers that
        the base model accepts as handed out), ``validity`` (that the new models accept, on
        average), ``worst_model_validity``, ``all_models_validity``, ``end_to_end`` (coverage times
        base validity times validity), ``cost_l1`` and ``cost_l2`` in units of the features' scales,
        ``n_changes``, ``stability``, ``lof`` (mean of +1 for inliers and -1 for outliers),
        ``lof_raw``, ``seconds`` for an applicant, ``n_applicants`` (the sum, for all) and ``tau``.

    Examples
    --------
    >>> import robx
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y, schema = robx.datasets.make_gaussians(400, seed=0)
    >>> study = robx.Study(RandomForestClassifier(10, random_state=0), X, y, schema=schema)
    >>> methods = {"NN": robx.NearestNeighbour(), "NN + RobX": robx.RobX()}
    >>> table = robx.evaluate(study, methods, robx.scenarios.Bootstrap(), seeds=2, n_models=3)
    >>> after = table[(table.seed == "all") & (table.metric == "validity")].set_index("method")
    >>> bool(after.value["NN + RobX"] > after.value["NN"])
    True
    """
    _check_methods(methods)
    plan = _plan(problem, scenario, applicants, seeds, n_models)
    settings = _named_outliers(outliers)
    judged = Run(plan, dict(methods), settings, Log(log), n_jobs)
    shown = sys.stderr.isatty() if progress is None else progress
    total = len(methods) * len(plan.scenarios) * len(plan.seeds)
    with Progress(total, "evaluate", "cells", shown=shown) as bar:
        cells = [cell for seed in plan.seeds for cell in judged.cells(seed, bar)]
    return tabulate(cells, list(methods), list(plan.scenarios), common=common)


@dataclass(frozen=True, eq=False)
class Plan:
    """Where base models and their successors come from."""

    scenarios: tuple[str, ...]
    seeds: tuple[int, ...]
    #: The base models of a seed, each with the scenarios that start from it.
    bases: Callable[[int], Iterable[tuple[tuple[str, ...], Callable[[], Base]]]]
    #: The models that follow a base model under a scenario.
    changed: Callable[[str, Base, int | None], Models]
    #: Stands for everything that goes into a scenario's cells but the method.
    digest: Callable[[str], str]


def _plan(problem: Any, scenario: Any, applicants: Any, seeds: Any, n_models: int) -> Plan:
    check_whole(n_models, "n_models", "evaluate")
    if isinstance(problem, Study):
        return _plan_of_study(problem, scenario, applicants, _seeds(seeds), n_models)
    if isinstance(problem, Problem):
        return _plan_of_problem(problem, scenario, applicants)
    raise InvalidInput(
        "evaluate takes a robx.Study, or a robx.Problem with a list of models and applicants. Got "
        f"{type(problem).__name__}."
    )


def _plan_of_study(
    study: Study, scenario: Any, applicants: Any, seeds: tuple[int, ...], n_models: int
) -> Plan:
    named = {str(scenario): scenario} if isinstance(scenario, Scenario) else scenario
    is_named = isinstance(named, Mapping) and len(named) > 0
    if not is_named or not all(isinstance(one, Scenario) for one in named.values()):
        raise InvalidInput(
            "With a Study, the 'scenario' parameter of evaluate must be a scenario, such as "
            f"robx.scenarios.Bootstrap(), or a mapping from names to scenarios. Got {scenario!r}."
        )
    if applicants is not None:
        raise InvalidInput(
            "A Study sets applicants aside itself. Leave 'applicants' out, or pass a Problem."
        )
    scenarios: dict[str, Scenario] = {str(name): one for name, one in named.items()}

    def bases(seed: int) -> Iterable[tuple[tuple[str, ...], Callable[[], Base]]]:
        starts: dict[bytes, list[str]] = {}
        for name, one in scenarios.items():
            starts.setdefault(study.base_rows(one, seed).tobytes(), []).append(name)
        for start, names in starts.items():
            rows = np.frombuffer(start, dtype=np.intp)
            yield tuple(names), lambda rows=rows: study.base(rows, seed)  # type: ignore[misc]

    of_study = _digest_of_study(study)
    return Plan(
        tuple(scenarios),
        seeds,
        bases,
        lambda name, base, n_jobs: study.changed(scenarios[name], base, n_models, n_jobs),
        lambda name: _digest(of_study, joblib.hash(scenarios[name]), n_models),
    )


def _plan_of_problem(problem: Problem, models: Any, applicants: Any) -> Plan:
    if isinstance(models, Scenario | Mapping):
        raise InvalidInput(
            "A scenario trains models anew, which a Problem cannot. Pass a robx.Study with the "
            "estimator and the labels, or a list of models that might follow this one."
        )
    if applicants is None or count_rows(applicants) == 0:
        raise InvalidInput(
            "With a Problem, evaluate needs the 'applicants' to answer, at least one."
        )
    later = import_models(problem, models)
    refuse_seen(problem, later)
    declined = ~(problem.read(applicants, "applicants").score > problem.threshold)
    if not declined.any():
        raise InvalidInput("evaluate needs applicants whom the model declines. Got none.")
    base = Base(0, problem, take(applicants, np.flatnonzero(declined)), None)
    what = [base.applicants, *(getattr(m, "digest", id(m)) for m in (problem.model, *later))]
    digest = _digest(_digest_of_table(what[0]), what[1:], problem.schema, problem.threshold)
    return Plan(
        (GIVEN,), (0,), lambda _: [((GIVEN,), lambda: base)], lambda *_: later, lambda _: digest
    )


@dataclass(eq=False)
class Run:
    """An evaluation under way."""

    plan: Plan
    methods: dict[str, Method | Maker]
    outliers: dict[str, Outliers]
    log: Log
    n_jobs: int | None
    _warm: set[str] = field(default_factory=set)

    def cells(self, seed: int, bar: Progress) -> list[Cell]:
        """Give all cells of a seed; what the log has is not done again."""
        cells = []
        for names, train in self.plan.bases(seed):
            work = _Work(train, self.outliers)
            for method in self.methods:
                for name in names:
                    bar.say(f"seed {seed}, {name}: {method}")
                    cells.append(self._cell(work, method, name, seed))
                    bar.add(1)
        return cells

    def _cell(self, work: _Work, method: str, scenario: str, seed: int) -> Cell:
        key = self._key(method, scenario, seed)
        done = self.log.get(key)
        if done is not None:  # the same cell, under the names of today
            return replace(done, method=method, scenario=scenario)
        if method not in work.answers:
            work.answers[method] = self._answers(work, method)
        problem, answers = work.answers[method]
        if scenario not in work.models:
            work.models[scenario] = self.plan.changed(scenario, work.base, self.n_jobs)
        models = work.models[scenario]
        refuse_seen(problem, models)
        later = acceptance(models, answers.points, problem.threshold)
        cell = Cell.of(method, scenario, seed, answers, later)
        self.log.add(key, cell)
        return cell

    def _answers(self, work: _Work, name: str) -> tuple[Problem, Answers]:
        """Answer all applicants, on a problem that no other method has worked on."""
        problem, applicants = work.base.problem.renewed(), work.base.applicants
        method = _made(self.methods[name], name, problem, work.base.rehearsal)
        if name not in self._warm:  # compiling is not what is measured
            method.explain(problem.renewed(), take(applicants, np.arange(1)))
            self._warm.add(name)
        start = time.perf_counter()
        answer = method.explain(problem, applicants)
        seconds = time.perf_counter() - start
        return problem, Answers.of(answer, problem, work.fitted, seconds)

    def _key(self, method: str, scenario: str, seed: int) -> str:
        return _digest(
            version("robx"),
            self.plan.digest(scenario),
            _digest_of_method(self.methods[method]),
            sorted((name, repr(one)) for name, one in self.outliers.items()),
            seed,
        )


class _Work:
    """What the cells of one base model share, made when first asked for."""

    def __init__(self, train: Callable[[], Base], outliers: Mapping[str, Outliers]) -> None:
        self._train, self._outliers = train, outliers
        self._base: Base | None = None
        self._fitted: dict[str, Any] | None = None
        self.answers: dict[str, tuple[Problem, Answers]] = {}
        self.models: dict[str, Models] = {}

    @property
    def base(self) -> Base:
        if self._base is None:
            self._base = self._train()
        return self._base

    @property
    def fitted(self) -> dict[str, Any]:
        if self._fitted is None:
            problem = self.base.problem
            rows = {"support": problem.all_rows, "accepted": problem.support.rows}
            self._fitted = {
                name: one.fit(coordinates(problem, rows[one.fitted_on]))
                for name, one in self._outliers.items()
            }
        return self._fitted


def _made(
    method: Method | Maker, name: str, problem: Problem, rehearsal: Rehearsal | None
) -> Method:
    if isinstance(method, Method):
        return method
    if rehearsal is None:
        raise InvalidInput(
            f"Method {name!r} is a function of a rehearsal, which a Problem alone cannot give. "
            "Pass a robx.Study, or a method."
        )
    own = Rehearsal(problem, rehearsal.estimator, rehearsal.X, rehearsal.y, rehearsal.seed)
    made = method(own)
    if not isinstance(made, Method):
        raise InvalidInput(f"The function for {name!r} must return a method. Got {made!r}.")
    return made


# --- at the door ----------------------------------------------------------------------------------


def _check_methods(methods: Any) -> None:
    if not isinstance(methods, Mapping) or len(methods) == 0:
        raise InvalidInput(
            "The 'methods' parameter of evaluate must map names to methods, such as "
            f"{{'NN': robx.NearestNeighbour()}}. Got {methods!r} instead."
        )
    for name, method in methods.items():
        if not isinstance(name, str):
            raise InvalidInput(f"Names of methods must be text. Got {name!r}.")
        if not isinstance(method, Method) and (isinstance(method, type) or not callable(method)):
            raise InvalidInput(
                f"Method {name!r} must be a method, or a function from a rehearsal to one. Got "
                f"{method!r}."
            )


def _seeds(seeds: Any) -> tuple[int, ...]:
    wanted = range(seeds) if is_whole(seeds) else seeds
    try:
        given = tuple(int(seed) for seed in wanted)
        sound = given == tuple(wanted) and len(set(given)) == len(given) > 0 and min(given) >= 0
    except (TypeError, ValueError):
        sound = False
    expected = "a number of seeds from 1, or a list of different whole numbers from 0"
    require(sound, seeds, "seeds", "evaluate", expected)
    return given


def _named_outliers(outliers: Any) -> dict[str, Outliers]:
    named = outliers if isinstance(outliers, Mapping) else {"": outliers or Outliers()}
    if not named or not all(isinstance(one, Outliers) for one in named.values()):
        raise InvalidInput(
            "The 'outliers' parameter of evaluate must be robx.Outliers, or a mapping from names "
            f"to them. Got {outliers!r} instead."
        )
    return {str(name): one for name, one in named.items()}


# --- what makes two cells the same ----------------------------------------------------------------


def _digest(*parts: Any) -> str:
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()


def _digest_of_table(X: Any) -> str:
    names = [str(j) for j in range(np.shape(X)[1])] if np.ndim(X) == 2 else []
    frame = as_pandas(as_named_frame(X, names))
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return _digest([str(name) for name in frame.columns], rows.tobytes())


def _digest_of_study(study: Study) -> str:
    return _digest(
        joblib.hash(study.estimator),
        _digest_of_table(study.X),
        joblib.hash(study.y),
        study.schema,
        study.target,
        study.threshold,
        study.test,
        study.max_applicants,
    )


def _digest_of_method(method: Method | Maker) -> str:
    if not isinstance(method, FunctionType):
        return str(joblib.hash(method))
    held = [cell.cell_contents for cell in method.__closure__ or ()]
    return str(joblib.hash([_body(method.__code__), held, method.__defaults__]))


def _body(code: CodeType) -> list[Any]:
    """What a function does, as plain values."""
    constants = [_body(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return [code.co_code, code.co_names, constants]
