"""`evaluate`: methods and model changes in, one tidy table out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from robx.errors import InvalidInput
from robx.evaluation.cells import Cell
from robx.evaluation.digests import digest
from robx.evaluation.log import Log
from robx.evaluation.plan import Models, Plan, make_plan
from robx.evaluation.study import Base, Rehearsal, Study
from robx.evaluation.table import tabulate
from robx.methods import Method, MethodLike, as_method
from robx.metrics import FittedOutliers, Outliers
from robx.parameters import check_jobs, is_whole, require
from robx.problem import Problem, coordinates
from robx.progress import Progress
from robx.scenarios import Scenario
from robx.tables import take

Maker = Callable[[Rehearsal], MethodLike]


def evaluate(
    problem: Study | Problem,
    methods: Mapping[str, MethodLike | Maker],
    scenario: Scenario | Mapping[str, Any] | Sequence[Any],
    *,
    applicants: Any = None,
    seeds: int | Sequence[int] = 5,
    n_models: int = 20,
    outliers: Outliers | Mapping[str, Outliers] | None = None,
    common: bool = False,
    log: str | os.PathLike[str] | None = None,
    key: str = "",
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Find out how many of the answers that methods issue a changed model still accepts.

    With a `Study`, each seed trains base models, each method answers their declined applicants, and
    each scenario trains new models that judge the answers. With a `Problem`, the base model is
    given, and `scenario` holds models that might follow it: a list of models that judge together,
    or a mapping from names to models that judge one by one.

    A method may be a function of (problem, X), or an object with ``explain(problem, X)``: it gets
    declined applicants as a table of the training kind and returns a table with a row for each (of
    NaN where it found none), or `Counterfactuals`. Its points are judged like those of `Given`.

    A method that has to choose something, such as tau, is given as a function from a `Rehearsal` to
    a method. It sees only the base model and its training rows; the models that judge are trained
    after the answers. Models that `choose_tau` has used are refused as judges.

    Parameters
    ----------
    problem : Study or Problem
    methods : mapping from names to methods
        Or to functions of (problem, X), or to functions from a `Rehearsal` to a method. A function
        that can be called with one argument is one of a rehearsal.
    scenario : Scenario, list of scenarios, or mapping from names to scenarios
        With a `Problem`: a list of models, or a mapping from names to models.
    applicants : table, optional
        Required with a `Problem`, and only there. Applicants whom the model accepts are left out.
    seeds : int or sequence of int
        Number of base models, or a seed for each.
    n_models : int
        Number of new models for each base model and scenario.
    outliers : Outliers or mapping from names to Outliers, optional
        Settings of the local outlier factor. With names, each gives its own ``lof_<name>`` and
        ``lof_raw_<name>``.
    common : bool
        Whether validity and costs are over the applicants whom all methods answer, instead of
        those whom the method itself answers.
    log : path of a .jsonl file, optional
        Finished cells are stored here. They are not computed again when `evaluate` is called with
        the same data (values, dtypes, order of categories), parameters of the estimator, methods
        and scenarios, models, and versions of robx and of the installed model libraries. **Not
        noticed** are changed code of a function or class of yours, a changed global variable that
        this code reads, and changed source code of robx under the same version: pass another `key`
        then, or take a new log.
    key : str
        Any text. Only cells that were stored in the log under the same text are used.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.
    n_jobs : int, optional
        Number of models to train at a time; by default the number of cores.

    Returns
    -------
    DataFrame
        Columns ``method``, ``scenario``, ``seed``, ``metric``, ``value``, ``low``, ``high``. Each
        seed has its rows, and ``"all"`` is the mean over base models. The 95 % interval of a seed
        is for other applicants, that of ``"all"`` for other base models too. The metrics are
        ``coverage`` (share of applicants with an answer), ``base_validity`` (share of answers that
        the base model accepts as issued), ``validity`` (that the new models accept, on average),
        ``worst_model_validity``, ``all_models_validity``, ``end_to_end`` (coverage times base
        validity times validity), ``cost_l1`` and ``cost_l2`` in units of the features' scales,
        ``n_changes``, ``stability`` (of all methods by the same noise), ``lof`` (mean of +1 for
        inliers and -1 for outliers), ``lof_raw`` (factors above 10 count as 10), ``seconds`` per
        applicant, ``tau``, and the counts ``n_applicants``, ``n_answered`` and ``n_models``
        (different models; a scenario without randomness may train the same model again). A base
        model without any answered applicant has no validity, and is left out of ``"all"``.

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
    require(isinstance(common, bool), common, "common", "evaluate", "true or false")
    cells = judged_cells(
        problem,
        methods,
        scenario,
        applicants=applicants,
        seeds=seeds,
        n_models=n_models,
        outliers=outliers,
        log=log,
        key=key,
        progress=progress,
        n_jobs=n_jobs,
    )
    names = list(dict.fromkeys(cell.scenario for cell in cells))
    return tabulate(cells, list(methods), names, common=common)


def judged_cells(
    problem: Study | Problem,
    methods: Mapping[str, MethodLike | Maker],
    scenario: Scenario | Mapping[str, Any] | Sequence[Any],
    *,
    applicants: Any = None,
    seeds: int | Sequence[int] = 5,
    n_models: int = 20,
    outliers: Outliers | Mapping[str, Outliers] | None = None,
    log: str | os.PathLike[str] | None = None,
    key: str = "",
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> list[Cell]:
    """Do what `evaluate` does, and return the outcome for each applicant instead of a table.

    For figures that are not means over base models. Parameters are those of `evaluate`.
    """
    _check_methods(methods)
    check_jobs(n_jobs, "evaluate")
    settings = _named_outliers(outliers)
    plan = make_plan(problem, scenario, applicants, _seeds(seeds), n_models)
    require(isinstance(key, str), key, "key", "evaluate", "text")
    store = None if log is None else Log(log)
    keys = {} if store is None else _keys(plan, methods, settings, key)
    run = Run(plan, dict(methods), settings, store, keys, n_jobs)
    shown = sys.stderr.isatty() if progress is None else progress
    total = len(methods) * len(plan.scenarios) * len(plan.seeds)
    with Progress(total, "evaluate", "cells", shown=shown) as bar:
        cells = [cell for seed in plan.seeds for cell in run.cells(seed, bar)]
    return sorted(cells, key=lambda cell: list(plan.scenarios).index(cell.scenario))


@dataclass(eq=False)
class Run:
    """An evaluation in progress."""

    plan: Plan
    methods: dict[str, MethodLike | Maker]
    outliers: dict[str, Outliers]
    log: Log | None
    #: Keys of cells in the log, by method and scenario, without the seed.
    keys: dict[tuple[str, str], str]
    n_jobs: int | None
    _warm: set[str] = field(default_factory=set)

    def cells(self, seed: int, bar: Progress) -> list[Cell]:
        """Give all cells of a seed; those in the log are not computed again."""
        cells = []
        for names, train in self.plan.bases(seed):
            work = _Work(train, self.outliers)
            for method in self.methods:
                for name in names:
                    bar.say(f"{method}, seed {seed}")
                    cells.append(self._cell(work, method, name, seed))
                    bar.add(1)
        return cells

    def _cell(self, work: _Work, method: str, scenario: str, seed: int) -> Cell:
        key = "" if self.log is None else f"{self.keys[method, scenario]}-{seed}"
        done = None if self.log is None else self.log.get(key)
        if done is not None:  # perhaps under other names
            return replace(done, method=method, scenario=scenario)
        if method not in work.answers:
            work.answers[method] = self._answers(work, method)
        problem, cell, points = work.answers[method]
        if scenario not in work.models:
            work.models[scenario] = self.plan.changed(scenario, work.base, self.n_jobs)
        models = work.models[scenario]
        problem.used_models.refuse(models)
        judged = cell.judged(scenario, points, models, problem.threshold)
        if self.log is not None:
            self.log.add(key, judged)
        return judged

    def _answers(self, work: _Work, name: str) -> tuple[Problem, Cell, Any]:
        """Answer all applicants, on a problem that no other method has worked on."""
        problem, applicants = work.base.problem.renewed(), work.base.applicants
        method = _made(self.methods[name], name, problem, work.base.rehearsal)
        if name not in self._warm:  # compilation must not count as time
            _warm_up(method, problem.renewed(), applicants)
            self._warm.add(name)
        start = time.perf_counter()
        answer = method.explain(problem, applicants)
        seconds = time.perf_counter() - start
        seed = work.base.seed
        return problem, *Cell.unjudged(name, seed, answer, problem, work.fitted, seconds)


def _keys(
    plan: Plan, methods: Mapping[str, Any], outliers: Mapping[str, Outliers], key: str
) -> dict[tuple[str, str], str]:
    """Hash everything that goes into cells, before any of it is used and may change."""
    shared = digest(plan.data, outliers, key)
    origins = {name: digest(scenario) for name, scenario in plan.scenarios.items()}
    return {
        (name, scenario): digest(shared, origin, own)
        for name, own in ((name, digest(method)) for name, method in methods.items())
        for scenario, origin in origins.items()
    }


@dataclass(eq=False)
class _Work:
    """What the cells of one base model share, made when it is first needed."""

    train: Callable[[], Base]
    outliers: Mapping[str, Outliers]
    #: By method: the problem that it worked on, its answers measured, and their points.
    answers: dict[str, tuple[Problem, Cell, Any]] = field(default_factory=dict)
    models: dict[str, Models] = field(default_factory=dict)

    @cached_property
    def base(self) -> Base:
        return self.train()

    @cached_property
    def fitted(self) -> dict[str, FittedOutliers]:
        problem = self.base.problem
        rows = {"support": problem.training, "accepted": problem.support.rows}
        return {
            name: one.fit(coordinates(problem, rows[one.fitted_on]))
            for name, one in self.outliers.items()
        }


def _warm_up(method: Method, problem: Problem, applicants: Any) -> None:
    try:
        method.check(problem, 1)
    except InvalidInput:  # precomputed answers are for all applicants
        return
    method.explain(problem, take(applicants, np.arange(1)))


def _made(
    method: MethodLike | Maker, name: str, problem: Problem, rehearsal: Rehearsal | None
) -> Method:
    own = as_method(method, name)
    if own is not None:
        return own
    if rehearsal is None:
        raise InvalidInput(
            f"Method {name!r} is a function of a rehearsal, and a Problem has no rehearsal. Pass a "
            "robx.Study, a method, or a function of (problem, X)."
        )
    made = cast("Maker", method)(replace(rehearsal, problem=problem))
    own = as_method(made, name)
    if own is None:
        raise InvalidInput(f"The function for {name!r} must return a method. Got {made!r}.")
    return own


# --- validation -----------------------------------------------------------------------------------


def _check_methods(methods: Any) -> None:
    sound = isinstance(methods, Mapping) and len(methods) > 0
    expected = "a mapping from names to methods, such as {'NN': robx.NearestNeighbour()}"
    require(sound, methods, "methods", "evaluate", expected)
    for name, method in methods.items():
        if not isinstance(name, str):
            raise InvalidInput(f"The names of methods must be text. Got {name!r}.")
        sound = as_method(method) is not None or callable(method)
        if isinstance(method, type) or not sound:
            raise InvalidInput(
                f"Method {name!r} must be a method, or a function of (problem, X), or one from a "
                f"rehearsal to a method. Got {method!r}."
            )


def _seeds(seeds: Any) -> tuple[int, ...]:
    wanted = range(seeds) if is_whole(seeds) else seeds
    try:
        given = tuple(int(seed) for seed in wanted)
        sound = given == tuple(wanted) and len(set(given)) == len(given) > 0 and min(given) >= 0
    except (TypeError, ValueError):
        sound = False
    expected = "a number of seeds from 1, or a list of different integers from 0"
    require(sound, seeds, "seeds", "evaluate", expected)
    return given


def _named_outliers(outliers: Any) -> dict[str, Outliers]:
    named = outliers if isinstance(outliers, Mapping) else {"": outliers or Outliers()}
    sound = len(named) > 0 and all(isinstance(one, Outliers) for one in named.values())
    expected = "robx.metrics.Outliers, or a mapping from names to them"
    require(sound, outliers, "outliers", "evaluate", expected)
    return {str(name): one for name, one in named.items()}
