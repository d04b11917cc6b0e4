"""`evaluate`: methods and model changes in, one tidy table out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from robx.errors import InvalidInput
from robx.evaluation.cells import Answers, Cell
from robx.evaluation.digests import digest
from robx.evaluation.log import Log
from robx.evaluation.plan import Models, Plan, make_plan
from robx.evaluation.study import Base, Rehearsal, Study
from robx.evaluation.table import tabulate
from robx.methods import Method
from robx.metrics import Outliers
from robx.parameters import check_jobs, is_whole, require
from robx.problem import Problem, coordinates
from robx.progress import Progress
from robx.retrained import refuse_seen
from robx.scenarios import Scenario
from robx.tables import take

Maker = Callable[[Rehearsal], Method]


def evaluate(
    problem: Study | Problem,
    methods: Mapping[str, Method | Maker],
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
    """Find out how much of what methods hand out is still honoured after the model changes.

    With a `Study`: for each seed base models are trained, their declined applicants answered by
    each method, and new models made by each scenario asked about the answers. With a `Problem`: the
    model is what it is, and `scenario` holds models that might follow it: a list, judged together,
    or a mapping from names, judged one by one.

    A method that has to choose something, such as tau, is given as a function from a `Rehearsal` to
    a method. It sees only the base model and its training rows; the models that judge are made
    after the answers. Models that `choose_tau` has seen are refused as judges.

    Parameters
    ----------
    problem : Study or Problem
    methods : mapping from names to methods
        Or to functions from a `Rehearsal` to a method.
    scenario : Scenario, list of scenarios, or mapping from names to scenarios
        With a `Problem`: a list of models, or a mapping from names to models.
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
        ``n_changes``, ``stability`` (of all methods by the same noise), ``lof`` (mean of +1 for
        inliers and -1 for outliers), ``lof_raw`` (factors above 10 count as 10), ``seconds`` for an
        applicant, ``tau``, and the counts ``n_applicants``, ``n_answered`` and ``n_models`` (those
        that differ; a scenario without any chance in it may make the same model again). A base
        model for which nobody is answered has no validity, and is left out of that of ``"all"``.

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
    methods: Mapping[str, Method | Maker],
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
    """Do what `evaluate` does, and give what came of each applicant instead of a table.

    For figures that are no mean over base models. Parameters are those of `evaluate`.
    """
    _check_methods(methods)
    check_jobs(n_jobs, "evaluate")
    settings = _named_outliers(outliers)
    plan = make_plan(problem, scenario, applicants, _seeds(seeds), n_models)
    require(isinstance(key, str), key, "key", "evaluate", "text")
    kept = None if log is None else Log(log)
    keys = {} if kept is None else _keys(plan, methods, settings, key)
    judged = Run(plan, dict(methods), settings, kept, keys, n_jobs)
    shown = sys.stderr.isatty() if progress is None else progress
    total = len(methods) * len(plan.scenarios) * len(plan.seeds)
    with Progress(total, "evaluate", "cells", shown=shown) as bar:
        cells = [cell for seed in plan.seeds for cell in judged.cells(seed, bar)]
    return sorted(cells, key=lambda cell: plan.scenarios.index(cell.scenario))


@dataclass(eq=False)
class Run:
    """An evaluation under way."""

    plan: Plan
    methods: dict[str, Method | Maker]
    outliers: dict[str, Outliers]
    log: Log | None
    #: The keys of cells in the log, by method and scenario; the seed is still to be added.
    keys: dict[tuple[str, str], str]
    n_jobs: int | None
    _warm: set[str] = field(default_factory=set)

    def cells(self, seed: int, bar: Progress) -> list[Cell]:
        """Give all cells of a seed; what the log has is not done again."""
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
        if done is not None:  # the same cell, under the names of today
            return replace(done, method=method, scenario=scenario)
        if method not in work.answers:
            work.answers[method] = self._answers(work, method)
        problem, answers = work.answers[method]
        if scenario not in work.models:
            work.models[scenario] = self.plan.changed(scenario, work.base, self.n_jobs)
        models = work.models[scenario]
        refuse_seen(problem, models)
        cell = Cell.of(method, scenario, seed, answers, models, problem.threshold)
        if self.log is not None:
            self.log.add(key, cell)
        return cell

    def _answers(self, work: _Work, name: str) -> tuple[Problem, Answers]:
        """Answer all applicants, on a problem that no other method has worked on."""
        problem, applicants = work.base.problem.renewed(), work.base.applicants
        method = _made(self.methods[name], name, problem, work.base.rehearsal)
        if name not in self._warm:  # compiling is not what is measured
            _warm_up(method, problem.renewed(), applicants)
            self._warm.add(name)
        start = time.perf_counter()
        answer = method.explain(problem, applicants)
        seconds = time.perf_counter() - start
        return problem, Answers.of(answer, problem, work.fitted, seconds)


def _keys(
    plan: Plan, methods: Mapping[str, Any], outliers: Mapping[str, Outliers], key: str
) -> dict[tuple[str, str], str]:
    """Hash everything that goes into cells, before any of it is used and may change."""
    shared = digest(plan.data, outliers, key)
    origins = {name: digest(plan.origin(name)) for name in plan.scenarios}
    return {
        (name, scenario): digest(shared, origin, own)
        for name, own in ((name, digest(method)) for name, method in methods.items())
        for scenario, origin in origins.items()
    }


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


def _warm_up(method: Method, problem: Problem, applicants: Any) -> None:
    try:
        method.check(problem, 1)
    except InvalidInput:  # such as answers that were given for all of them
        return
    method.explain(problem, take(applicants, np.arange(1)))


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
    made = method(replace(rehearsal, problem=problem))
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
            "The 'outliers' parameter of evaluate must be robx.metrics.Outliers, or a mapping "
            f"from names to them. Got {outliers!r} instead."
        )
    return {str(name): one for name, one in named.items()}
