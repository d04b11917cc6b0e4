from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robx
from contracts import rows_of
from families import family
from retrained_cases import LIBRARIES, mean_scores, own_scores, retrained
from robx.retrained import Panel


@pytest.mark.parametrize("name", [*LIBRARIES, "xgboost-array", "xgboost-3", "hist", "pipeline"])
def test_scores_are_each_models_own(name: str) -> None:
    case, models = family(name), retrained(name)
    problem = case.problem()
    panel = Panel(problem, models)
    assert len(panel) == len(models)
    table = rows_of(case.applicants, slice(30))
    points = problem.read(table).matrix
    theirs = own_scores(models, table, case.target)
    np.testing.assert_allclose(panel.scores(points), theirs, atol=1e-6)
    np.testing.assert_allclose(panel.mean_scores(points), mean_scores(theirs), atol=1e-6)
    assert panel.scores(points[:0]).shape == (len(models), 0)
    assert panel.mean_scores(points[:0]).shape == (0,)


def test_models_of_other_libraries_are_asked_in_their_own_form() -> None:
    case = family("forest")
    models = [*retrained("forest")[:2], *retrained("boosting")[:1], *retrained("xgboost-3")[:1]]
    problem = case.problem()
    points = problem.read(case.applicants).matrix
    black_box = robx.BlackBox(lambda table: models[0].predict_proba(table)[:, 1])
    mixed = Panel(problem, [*models[:3], black_box]).scores(points)
    np.testing.assert_allclose(mixed[:3], own_scores(models[:3], case.applicants), atol=1e-6)
    np.testing.assert_allclose(mixed[3], mixed[0], atol=1e-6)


def test_categories_that_a_model_numbers_otherwise_mean_the_same() -> None:
    case = family("lightgbm")
    other = case.X.assign(
        place=case.X["place"].cat.reorder_categories(["town", "city", "abroad", "village"])
    )
    y = case.X["place"].isin(["city", "abroad"]).astype(int)
    model = type(case.model)(**case.model.get_params()).fit(other, y)
    problem = case.problem()
    points = problem.read(case.applicants).matrix
    ours = Panel(problem, [model, case.model]).scores(points)
    people = case.applicants.assign(
        place=case.applicants["place"].cat.set_categories(["town", "city", "abroad", "village"])
    )
    np.testing.assert_allclose(ours[0], model.predict_proba(people)[:, 1], atol=1e-6)
    np.testing.assert_allclose(ours[1], case.probability(case.applicants), atol=1e-6)


class Constant:
    """Gives everybody the same score."""

    def __init__(self, score: float) -> None:
        self.score = score

    def __call__(self, table: Any) -> Any:
        return np.full(len(table), self.score)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ((0.9, 0.9), 0.9),
        ((0.25, 0.75), 0.5),
        ((0.0, 0.0, 1.0), 1 / 3),
        ((0.6,), 0.6),
        ((0.6, 0.6 + 1e-12), 0.6),
    ],
)
@pytest.mark.parametrize("threshold", [0.5, 0.7])
def test_the_mean_is_over_all_models_whatever_the_threshold(
    scores: Any, expected: float, threshold: float
) -> None:
    problem = family("xgboost-array").problem(threshold=threshold)
    panel = Panel(problem, [robx.BlackBox(Constant(score)) for score in scores])
    points = problem.training[:3]
    np.testing.assert_allclose(panel.mean_scores(points), [expected] * 3, rtol=1e-9)


@pytest.mark.parametrize("name", ["xgboost", "forest"])
def test_a_point_has_the_same_mean_alone_as_among_others(name: str) -> None:
    problem = family(name).problem()
    panel, points = Panel(problem, retrained(name)), problem.training
    alone = [panel.mean_scores(points[i : i + 1])[0] for i in range(20)]
    assert panel.mean_scores(points)[:20].tolist() == alone


@pytest.mark.parametrize("name", ["forest", "catboost"])  # of which one has no hash
def test_a_problem_makes_the_panel_of_some_models_once(name: str) -> None:
    problem, models = family(name).problem(), retrained(name)
    assert Panel.of(problem, models) is Panel.of(problem, models)
    assert Panel.of(problem, models) is Panel.of(problem, list(models))
    assert Panel.of(problem, models) is not Panel.of(problem, models[1:])
    assert Panel.of(problem, models) is not Panel.of(family(name).problem(), models)
    assert len(problem.used_models) == 0  # who chooses with them says so


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([], "a list of at least one retrained model. Got list"),
        (None, "a list of at least one retrained model. Got NoneType"),
        ("models", "a list of at least one retrained model. Got str"),
        (["a model", "another"], "no model file"),
    ],
)
def test_what_is_no_panel_is_refused(models: Any, message: str) -> None:
    problem = family("forest").problem()
    with pytest.raises(robx.RobxError, match=message):
        Panel(problem, models)
    assert len(problem.used_models) == 0
