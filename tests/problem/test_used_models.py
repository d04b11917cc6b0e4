from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from families import family
from oracles import toy_data
from retrained_cases import retrained
from robx.problem.used_models import scores_or_zero
from robx.retrained import import_models

USED = "Model {} of {} was used to choose tau or answers for this problem"


class Moody:
    """Gives a score that can be changed later."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def __call__(self, table: Any) -> Any:
        return np.clip(self.weight * np.asarray(table, dtype=float)[:, 0] / 100, 0, 1)


@pytest.mark.parametrize("name", ["forest", "pipeline"])
def test_models_that_were_used_may_not_judge_also_in_another_wrapping(name: str) -> None:
    problem, models = family(name).problem(), retrained(name)
    assert len(problem.used_models) == 0
    problem.used_models.add(import_models(problem, models[:2]))
    assert len(problem.used_models) == 2
    judges = [robx.BlackBox(models[k], 1) for k in (2, 3, 1)]
    problem.used_models.refuse(judges[:2])
    with pytest.raises(robx.InvalidInput, match=USED.format(2, 3)):
        problem.used_models.refuse(judges)
    with pytest.raises(robx.InvalidInput, match=USED.format(0, 1)):
        problem.used_models.refuse(import_models(problem, models[:1]))
    with pytest.raises(robx.InvalidInput, match=USED.format(2, 3)):
        problem.renewed().used_models.refuse(judges)


def test_a_model_counts_once() -> None:
    problem = family("forest").problem()
    models = import_models(problem, retrained("forest")[:2])
    for _ in range(3):
        problem.used_models.add(models)
    assert len(problem.used_models) == 2


def test_models_that_were_used_elsewhere_are_known_by_their_digests() -> None:
    problem = family("forest").problem()
    models = import_models(problem, retrained("forest")[:3])
    digests = [model.digest for model in models if model.digest is not None]
    problem.used_models.refuse(models)
    problem.used_models.refuse(models[:1], digests[1:])
    with pytest.raises(robx.InvalidInput, match=USED.format(1, 2)):
        problem.used_models.refuse(models[:2], digests[1:])


def test_a_function_is_known_by_what_it_said_when_it_was_used() -> None:
    problem = family("xgboost-array").problem()
    used = Moody(1.0)
    problem.used_models.add([robx.BlackBox(used)])
    used.weight = 0.5
    problem.used_models.refuse([robx.BlackBox(Moody(0.5))])
    with pytest.raises(robx.InvalidInput, match=USED.format(1, 2)):
        problem.used_models.refuse([robx.BlackBox(Moody(0.5)), robx.BlackBox(Moody(1.0))])


def test_methods_add_models_when_they_search_with_them_and_not_before() -> None:
    case, models = family("forest"), retrained("forest")[:2]
    problem = case.problem()
    method = robx.Frugal(models=models, n_targets=1, halvings=0, noise=robx.Noise(n_draws=16))
    method.check(problem, 1)
    method.test(problem)
    assert len(problem.used_models) == 0
    for _ in range(2):
        method.explain(problem, case.applicants[:2])
        assert len(problem.used_models) == 2


def test_rows_that_a_model_refuses_have_no_score() -> None:
    def picky(table: Any) -> Any:
        if (table["a"] < 0).any():
            raise ValueError("negative")
        return table["a"].to_numpy() / 10

    table = pd.DataFrame({"a": [1.0, -1.0, 3.0, 4.0, -2.0]})
    assert scores_or_zero(robx.BlackBox(picky), table).tolist() == [0.1, 0.0, 0.3, 0.4, 0.0]
    assert scores_or_zero(robx.BlackBox(picky), table[:0]).tolist() == []


# --- which models count as the same --------------------------------------------------------------

X, _ = toy_data(60, 3)


def shifted(shift: float = 0.0) -> robx.BlackBox:
    """Scores that rise with the first feature, moved up by a shift."""

    def both(rows: Any) -> Any:
        first = np.clip(np.asarray(rows, dtype=float)[:, 0] / 20 + 0.5, 0.1, 0.9) + shift
        return np.column_stack([1 - first, first])

    return robx.BlackBox(both)


@pytest.fixture(scope="module")
def problem() -> robx.Problem:
    """A problem for which a tau was chosen by looking at one model."""
    made = robx.Problem(shifted(), X)
    sweep: dict[str, Any] = {
        "method": robx.Conservative(noise=robx.Noise(n_draws=8)),
        "taus": [0.5],
    }
    robx.choose_tau(made, X, [shifted()], **sweep)
    return made


@pytest.mark.parametrize("shift", [1e-3, -1e-3, 1e-5])
def test_models_whose_scores_differ_a_little_are_two_models(
    problem: robx.Problem, shift: float
) -> None:
    answers = robx.NearestNeighbour().explain(problem, X)
    certificate = robx.certify(problem, answers, [shifted(shift)]).certificate
    assert certificate is not None
    assert certificate.n_models == 1


@pytest.mark.parametrize("shift", [0.0, 1e-9])
def test_models_that_differ_by_rounding_are_one_model(problem: robx.Problem, shift: float) -> None:
    answers = robx.NearestNeighbour().explain(problem, X)
    with pytest.raises(robx.InvalidInput, match="Model 0 of 1 was used to choose"):
        robx.certify(problem, answers, [shifted(shift)])
