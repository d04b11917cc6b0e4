from __future__ import annotations

import random
from functools import cache

import numpy as np
import pandas as pd
import pytest
from experiments.betarce import BetaRce
from experiments.peers import DiceGenetic, Nice
from scipy.stats import beta
from xgboost import XGBClassifier

import robx
from contracts import MethodContract


class TestNice(MethodContract):
    method = Nice()
    n_schemas = 5


@cache
def problem() -> robx.Problem:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((300, 4)).round(2), columns=list("abcd"))
    y = (X["a"] + X["b"] + 0.3 * X["c"] > 1.1).astype(int)
    model = XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1, random_state=0).fit(X, y)
    return robx.Problem(model, X)


@cache
def declined(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.random((100, 4)).round(2), columns=list("abcd"))
    return X[problem().model.score(X) <= 0.5].head(n)


@pytest.mark.parametrize("gamma", [None, 0.7])
def test_nice_copies_the_best_values_of_the_nearest_row_and_stops(gamma: float | None) -> None:
    people = declined(30)
    near = robx.NearestNeighbour(gamma=gamma).explain(problem(), people)
    answer = Nice(gamma=gamma).explain(problem(), people)
    cutoff = 0.5 if gamma is None else gamma
    assert answer.ok.all()
    for i in range(len(people)):
        x, goal = people.iloc[i].to_numpy(), near.points.iloc[i].to_numpy()
        point, left = x.copy(), [j for j in range(4) if x[j] != goal[j]]
        while not problem().gate.score(point[None])[0] > cutoff:  # the slow, obvious twin
            tries = {j: np.where(np.arange(4) == j, goal, point) for j in left}
            best = max(left, key=lambda j: problem().gate.score(tries[j][None])[0])
            point = tries[best]
            left.remove(best)
        np.testing.assert_array_equal(answer.points.iloc[i], point)
    assert (answer.score > cutoff).all()
    assert (answer.n_changes <= near.n_changes).all()
    assert answer.n_changes.sum() < near.n_changes.sum()
    assert (answer.cost <= near.cost + 1e-12).all()


def test_nice_keeps_a_schema() -> None:
    schema = problem().schema.override(a={"change": "none"}, b={"change": "increase"})
    table = pd.DataFrame(problem().training, columns=list("abcd"))
    bound = robx.Problem(problem().model, table, schema)
    answer = Nice().explain(bound, declined(30))
    assert answer.ok.any()
    assert not any(schema.violations(answer.points, declined(30)))
    assert (answer.points["a"].to_numpy() == declined(30)["a"].to_numpy()).all()


def test_dice_answers_and_leaves_the_random_state_alone() -> None:
    people = declined(4)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
    answer = DiceGenetic().explain(problem(), people)
    after = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
    assert before == after
    assert answer.ok.all()
    assert (answer.score > 0.5).all()
    assert (answer.n_changes > 0).all()


def test_what_dice_answers_does_not_depend_on_the_batch() -> None:
    people = declined(3)
    whole = DiceGenetic().explain(problem().renewed(), people)
    for i in (2, 0):
        alone = DiceGenetic().explain(problem().renewed(), people.iloc[[i]])
        pd.testing.assert_frame_equal(alone.points, whole.points.iloc[[i]])


def test_dice_without_a_budget_fails_with_a_reason() -> None:
    answer = DiceGenetic(tries=2, budget=1).explain(problem().renewed(), declined(2))
    assert not answer.ok.any()
    assert set(answer.reason) == {"DiCE found nothing in 2 tries: the model was asked 1 times"}
    assert (answer.cost == 0).all()


def test_dice_starts_again_where_its_population_dies_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from dice_ml.explainer_interfaces.dice_genetic import DiceGenetic as Theirs

    usual, calls = Theirs._generate_counterfactuals, []

    def dies_once(self: object, *given: object, **named: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("empty range for randrange()")
        return usual(self, *given, **named)

    monkeypatch.setattr(Theirs, "_generate_counterfactuals", dies_once)
    assert DiceGenetic().explain(problem().renewed(), declined(1)).ok.all()
    assert len(calls) == 2
    calls.clear()
    (reason,) = DiceGenetic(tries=1).explain(problem().renewed(), declined(1)).reason
    assert reason == "DiCE found nothing in 1 tries: empty range for randrange()"


def test_dice_obeys_a_schema_or_has_no_answer() -> None:
    schema = problem().schema.override(a={"change": "none"})
    table = pd.DataFrame(problem().training, columns=list("abcd"))
    bound = robx.Problem(problem().model, table, schema)
    answer = DiceGenetic().explain(bound, declined(4))
    assert (answer.points["a"].to_numpy() == declined(4)["a"].to_numpy()).all()
    assert {reason for reason in answer.reason if reason} <= {
        "what DiCE found is not accepted once it is allowed"
    }


def test_dice_refuses_another_threshold() -> None:
    table = pd.DataFrame(problem().training, columns=list("abcd"))
    other = robx.Problem(problem().model, table, threshold=0.6)
    with pytest.raises(robx.InvalidInput, match="takes a threshold of 0.5, which is DiCE's"):
        DiceGenetic().explain(other, declined(1))


@cache
def changed() -> tuple[XGBClassifier, ...]:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(16):
        X = pd.DataFrame(rng.random((120, 4)).round(2), columns=list("abcd"))
        y = (X["a"] + X["b"] + 0.3 * X["c"] > 1.1).astype(int)
        found.append(XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X, y))
    return tuple(found)


def test_betarce_gives_points_whose_bound_reaches_tau() -> None:
    people, asked = declined(12), BetaRce(models=changed(), tau=0.8)
    answer = asked.explain(problem(), people)
    assert answer.ok.mean() > 0.5
    points = answer.points[answer.ok]
    accepting = sum(model.predict_proba(points)[:, 1] > 0.5 for model in changed())
    low = beta.ppf(0.1, 1 + accepting, 1 + 16 - accepting)
    assert np.all(low >= 0.8)
    first = int(np.flatnonzero(answer.ok)[0])
    alone = asked.explain(problem(), people.iloc[first : first + 1])
    np.testing.assert_array_equal(alone.points.iloc[0], answer.points.iloc[first])


def test_betarce_leaves_a_base_counterfactual_that_is_robust_enough() -> None:
    people, asked = declined(30), BetaRce(models=changed(), tau=0.4)
    near = robx.NearestNeighbour().explain(problem(), people)
    stays = asked.passes(problem(), near.points.to_numpy())
    assert 0 < stays.sum() < len(stays)
    answer = asked.explain(problem(), people)
    np.testing.assert_array_equal(answer.points[stays], near.points[stays])


def test_betarce_says_where_nothing_is_robust_enough() -> None:
    answer = BetaRce(models=changed(), tau=0.95, n_spheres=1).explain(problem(), declined(4))
    assert not answer.ok.any()  # 16 of 16 give 0.873
    assert "no point in the spheres" in answer.reason[0]
