"""The plan of an evaluation: base models, applicants, and the models that judge the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robx.errors import InvalidInput
from robx.evaluation.study import Base, Study
from robx.parameters import check_whole, require
from robx.problem import Problem
from robx.retrained import import_models
from robx.scenarios import Scenario
from robx.tables import count_rows
from robx.trees import Model

Models = list[Model]
#: Name of the scenario if the models are given as a list.
GIVEN = "given models"


@dataclass(frozen=True, eq=False)
class Plan:
    """How base models and their successors are made."""

    #: Scenarios, or lists of models that judge, by name.
    scenarios: Mapping[str, Any]
    seeds: tuple[int, ...]
    #: The base models of a seed, each with the scenarios that start from it.
    bases: Callable[[int], Iterable[tuple[tuple[str, ...], Callable[[], Base]]]]
    #: The models that follow a base model under a scenario.
    changed: Callable[[str, Base, int | None], Models]
    #: What the cells of all scenarios depend on.
    data: list[Any]


def make_plan(
    problem: Any, scenario: Any, applicants: Any, seeds: tuple[int, ...], n_models: int
) -> Plan:
    """Check the inputs of an evaluation before any work is done."""
    check_whole(n_models, "n_models", "evaluate")
    if isinstance(problem, Study):
        if applicants is not None:
            raise InvalidInput(
                "A Study takes its applicants from its own rows. Leave 'applicants' out, or pass a "
                "Problem."
            )
        return _plan_of_study(problem, _named_scenarios(scenario), seeds, n_models)
    if isinstance(problem, Problem):
        return _plan_of_problem(problem, scenario, applicants)
    raise InvalidInput(
        "evaluate takes a robx.Study, or a robx.Problem with a list of models and applicants. Got "
        f"{type(problem).__name__}."
    )


def _plan_of_study(
    study: Study, scenarios: dict[str, Scenario], seeds: tuple[int, ...], n_models: int
) -> Plan:
    for seed in seeds:
        for one in scenarios.values():
            study.check(one, seed, n_models)

    def bases(seed: int) -> Iterable[tuple[tuple[str, ...], Callable[[], Base]]]:
        starts: dict[bytes, list[str]] = {}
        for name, one in scenarios.items():
            starts.setdefault(study.base_rows(one, seed).tobytes(), []).append(name)
        for start, names in starts.items():
            rows = np.frombuffer(start, dtype=np.intp)
            yield tuple(names), lambda rows=rows: study.base(rows, seed)  # type: ignore[misc]

    return Plan(
        scenarios,
        seeds,
        bases,
        lambda name, base, n_jobs: study.changed(scenarios[name], base, n_models, n_jobs),
        [study, n_models],
    )


def _plan_of_problem(problem: Problem, models: Any, applicants: Any) -> Plan:
    given = models if isinstance(models, Mapping) else {GIVEN: models}
    inside = given.values() if isinstance(models, Mapping) else models
    if isinstance(models, Scenario) or (
        isinstance(inside, Iterable) and any(isinstance(one, Scenario) for one in inside)
    ):
        raise InvalidInput(
            "A scenario trains new models, for which a Problem has no labels. Pass a robx.Study "
            "with the estimator and the labels, or a list of models that might follow this one."
        )
    if applicants is None or count_rows(applicants) == 0:
        raise InvalidInput("With a Problem, evaluate needs at least one of the 'applicants'.")
    later: dict[str, Models] = {}
    for name, some in given.items():
        later[str(name)] = import_models(problem, [some] if given is models else some)
        problem.used_models.refuse(later[str(name)])
    if (problem.read(applicants, "applicants").score > problem.threshold).all():
        raise InvalidInput("evaluate needs applicants whom the model declines. It accepts all.")
    base = Base(0, problem, applicants, None)
    return Plan(
        later,
        (0,),
        lambda _: [(tuple(later), lambda: base)],
        lambda name, *_: later[name],
        [problem.model, problem.training, problem.schema, problem.threshold, applicants],
    )


def _named_scenarios(scenario: Any) -> dict[str, Scenario]:
    some: Any = [scenario] if isinstance(scenario, Scenario) else scenario
    is_list = isinstance(some, Sequence) and not isinstance(some, str)
    named: Any = {str(one): one for one in some} if is_list else some
    sound = isinstance(named, Mapping) and len(named) > 0
    sound = sound and all(isinstance(one, Scenario) for one in named.values())
    expected = "a scenario, such as robx.scenarios.Bootstrap(), a list or a mapping of them"
    require(sound, scenario, "scenario", "evaluate", f"{expected}, with a Study")
    if is_list and len(named) < len(some):
        raise InvalidInput("Two scenarios have the same name. Pass a mapping with other names.")
    return {str(name): one for name, one in named.items()}
