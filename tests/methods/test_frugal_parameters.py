from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import robx
from contracts import ANSWERED, rows_of
from families import family
from frugal_cases import MODEL, PEOPLE, QUICK, UNITS, X
from retrained_cases import LIBRARIES, retrained
from robx.methods import frugal, pullback
from robx.methods.compiled import CompiledSearch
from robx.methods.sparse_starts import Offered
from speed import examples
from strategies import random_schema

Floats = NDArray[np.float64]


def test_a_price_for_every_change_buys_fewer_of_them() -> None:
    n_changes, worth = {0.0: 0.0, 0.3: 0.0}, {0.0: 0.0, 0.3: 0.0}
    for name in ("forest", "xgboost"):
        case = family(name)
        problem = case.problem()
        for price in worth:
            answer = robx.Frugal(**QUICK, price_per_change=price).explain(problem, case.applicants)
            n_changes[price] += answer.n_changes[answer.ok].sum()
            worth[price] += (answer.cost + 0.3 * answer.n_changes)[answer.ok].sum()
    assert n_changes[0.3] < n_changes[0.0]
    assert worth[0.3] < worth[0.0]


def test_by_default_a_trifle_is_left_out_if_another_change_makes_up_for_it() -> None:
    def accepted(rows: Any) -> Any:
        income, payment = np.asarray(rows, dtype=float).T
        enough = (income >= 0.55) | ((income >= 0.5) & (payment >= 0.02))
        return np.column_stack([~enough, enough]).astype(float)

    rows = np.array([[0.5, 0.02], [0.9, 0.9], [0.0, 0.0]])
    schema = robx.Schema(tuple(robx.Feature(n, scale=1.0) for n in ("income", "payment")))
    problem = robx.Problem(robx.BlackBox(accepted), rows, schema)
    method = robx.Frugal(realism=None, level=0.0, noise=robx.Noise(1e-9, 64))
    cheapest = replace(method, price_per_change=0.0).explain(problem, rows[2:])
    assert cheapest.points.tolist() == [[0.5, 0.02]]
    ((income, payment),) = method.explain(problem, rows[2:]).points
    assert payment == 0
    assert 0.55 <= income < 0.57
    # Where the price does not pay for it, the small change stays.
    little = replace(method, price_per_change=0.02).explain(problem, rows[2:])
    assert little.points.tolist() == [[0.5, 0.02]]


@pytest.mark.parametrize("realism", ["lof", "forest"])
def test_stricter_bounds_are_met(realism: Any) -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    outlying = {}
    for typical in (0.2, 0.9):
        # With a bound for all, it does not matter how typical people are themselves.
        method = robx.Frugal(**QUICK, realism=realism, typical=typical, max_outlier_score=9.0)
        answer = method.explain(problem, PEOPLE)
        bound = method.test(problem).max_outlier_score
        assert answer.ok.all()
        assert (answer.measured["outlier_score"] <= bound).all()
        outlying[typical] = bound, answer.measured["outlier_score"].max(), answer.cost.mean()
    assert outlying[0.2][0] < outlying[0.9][1]  # so that the strict bound did rule something out
    assert outlying[0.2][2] > outlying[0.9][2]
    bound = float(np.mean([outlying[0.2][0], outlying[0.9][0]]))
    capped = robx.Frugal(**QUICK, realism=realism, typical=0.9, max_outlier_score=bound)
    assert capped.explain(problem, PEOPLE).measured["outlier_score"].max() <= bound


def test_higher_levels_give_more_robust_answers_at_a_higher_price() -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    before = (-np.inf, 0.0)
    for level in (0.1, 0.5, 0.9):
        answer = robx.Frugal(**QUICK, level=level).explain(problem, PEOPLE)
        tau, cost = answer.settings["tau"], float(answer.cost.mean())
        assert (answer.stability >= tau).all()
        assert (tau, cost) > before
        assert cost > before[1]
        before = (tau, cost)


def test_auto_is_lower_with_models_than_with_noise_alone() -> None:
    case = family("forest")
    problem, models = case.problem(), retrained("forest")
    for some, level in (((), frugal.LEVELS["noise"]), (models, frugal.LEVELS["models"])):
        stated = robx.Frugal(models=some, level=level)
        assert robx.Frugal(models=some).test(problem).key == stated.test(problem).key
    assert robx.Frugal().explain(problem, case.applicants).settings["models"] == []
    assert len(robx.Frugal(models=models).settings()["models"]) == len(models)


def test_every_point_on_the_way_keeps_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Floats] = []

    class Recorded(pullback.Pullback):
        def __post_init__(self) -> None:
            super().__post_init__()
            inner = self.test

            class Test:
                problem, key = inner.problem, inner.key
                without_noise = None  # every point is asked everything, here

                def __call__(self, points: Floats) -> Any:
                    seen.append(points.copy())
                    return inner(points)

            self.test = Test()

    monkeypatch.setattr(frugal, "Pullback", Recorded)
    monkeypatch.setattr(CompiledSearch, "of", lambda *_: None)  # whose points are not seen
    n_points = 0
    for seed, name in enumerate(LIBRARIES):
        case = family(name)
        schema = random_schema(case.problem().schema, case.X, np.random.default_rng(seed))
        problem = case.problem(schema=schema, threshold=0.4)
        for i in range(12):
            seen.clear()
            one = rows_of(case.applicants, [i])
            robx.Frugal(**QUICK).explain(problem, one)
            points = np.concatenate([np.empty((0, len(problem.names))), *seen])
            own = np.repeat(problem.read(one).matrix, len(points), axis=0)
            assert not any(problem.rules.broken(points, own))
            n_points += len(points)
    assert n_points > 100


@given(name=st.sampled_from(LIBRARIES), seed=st.integers(0, 2**32), norm=st.sampled_from([1, 2]))
@examples(60, 6, deadline=None)
def test_compiled_answers_keep_any_schema_after_any_number_of_tests(
    name: str, seed: int, norm: Any
) -> None:
    case, rng = family(name), np.random.default_rng(seed)
    schema = random_schema(case.problem().schema, case.X, rng)
    problem = case.problem(schema=schema, threshold=0.4)
    models = retrained(name) if seed % 2 else ()
    test = robx.Frugal(**QUICK, models=models).test(problem)
    search = CompiledSearch.of(test, norm)
    assume(search is not None)
    assert search is not None
    everybody = problem.read(case.applicants)
    people = everybody.take(np.flatnonzero(~problem.gate.accepts(everybody.matrix))[:20])
    settings = robx.RobX(n_targets=3, norm=norm).search_settings
    # What a search answers with after a few tests lies on the way of one that takes many.
    for max_tests in (0, 3, 12, 40, 150, 2000):
        asked = settings._replace(halvings=3, max_tests=max_tests, price=0.05)
        nothing = Offered.none(*people.matrix.shape)
        found = search.run(people, people.matrix, asked, nothing)
        points, owner = found.points[found.found], np.flatnonzero(found.found)
        own = people.take(owner)
        assert problem.gate.explains(points, own) == [[] for _ in owner]
        assert test(points).all()
        event("answers" if len(owner) else "no answer")


def test_missing_values_stay_missing_unless_they_may_be_filled() -> None:
    case = family("lightgbm")
    people = case.applicants[case.applicants["income"].isna()]
    for may_fill in (False, True):
        schema = case.problem().schema.override(income={"may_fill": may_fill})
        answer = robx.Frugal(**QUICK, level=0.2).explain(case.problem(schema=schema), people)
        assert answer.answered.any()
        filled = answer.points["income"].notna().to_numpy()
        assert filled[answer.answered].any() == may_fill


def test_a_support_too_small_for_realism_is_judged_by_noise() -> None:
    problem = robx.Problem(MODEL, X[MODEL.predict_proba(X)[:, 1] > 0.5][:9], UNITS)
    answer = robx.Frugal(level=0.0).explain(problem, PEOPLE)
    assert answer.ok.all()
    assert answer.measured == {}
    nobody = robx.Problem(MODEL, X[MODEL.predict_proba(X)[:, 1] <= 0.5], UNITS)
    alone = robx.Frugal(models=[MODEL, MODEL]).explain(nobody, PEOPLE)
    assert not alone.answered.any()
    assert set(alone.reason) == {"no row of the support scores above 0.5"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"level": 1.5}, "'level' parameter of Frugal must be a number from 0 to 1, or 'auto'"),
        ({"level": "high"}, "'level' parameter of Frugal must be a number"),
        ({"typical": -0.1}, "'typical' parameter of Frugal must be a number from 0 to 1"),
        ({"realism": "knn"}, "'realism' parameter of Frugal must be 'lof', 'forest' or None"),
        ({"max_outlier_score": "low"}, "'max_outlier_score' parameter of Frugal must be"),
        ({"max_changes": 0}, "'max_changes' parameter of Frugal must be an integer from 1"),
        (
            {"price_per_change": -1},
            "'price_per_change' parameter of Frugal must be a number from 0",
        ),
        ({"halvings": -1}, "'halvings' parameter of Frugal must be an integer from 0"),
        ({"max_tests": 1.5}, "'max_tests' parameter of Frugal must be an integer from 0"),
        ({"norm": 3}, "'norm' parameter of Frugal must be 1 or 2"),
        ({"noise": robx.Noise(sigma=-1)}, "'sigma' parameter must be finite and not negative"),
        ({"models": [MODEL]}, "at least two are needed, to see how they differ. Got one"),
        ({"models": "xgboost"}, "'models' parameter of Frugal must be a list of retrained models"),
        ({"models": MODEL}, "must be a list of retrained models. Got XGBClassifier instead"),
        ({"models": np.array([1, 2])}, "must be a list of at least one retrained model"),
    ],
)
def test_bad_parameters_are_refused_before_work_starts(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.Frugal(**parameters).explain(robx.Problem(MODEL, X, UNITS), PEOPLE[:1])


def test_the_paper_part_is_robx_with_the_same_parameters() -> None:
    table = PEOPLE[:3]
    assert isinstance(robx.Frugal(base=table).base, robx.Given)
    with pytest.raises(robx.InvalidInput, match="must be a method, such as NearestNeighbour"):
        robx.Frugal(base="nearest")
    answer = robx.Frugal(**QUICK).explain(robx.Problem(MODEL, X, UNITS), table)
    assert answer.base is not None
    assert answer.base.method == "NearestNeighbour"
    assert set(answer.status) <= ANSWERED


def test_who_cannot_become_typical_is_answered_all_the_same() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((400, 3)).round(2), columns=list("abc"))
    X["age"] = [40.0] * 398 + [80.0, 85.0]
    model = RandomForestClassifier(20, random_state=0).fit(X, X["a"] > 0.5)
    schema = robx.Schema.infer(X).override(age={"change": "none"})
    problem = robx.Problem(model, X, schema)
    old = pd.DataFrame({"a": [0.2], "b": [0.5], "c": [0.5], "age": [85.0]})
    answer = robx.Frugal().explain(problem, old)
    assert answer.ok.all()
    assert answer.n_changes[0] == 1
    most = robx.Frugal().test(problem).max_outlier_score
    assert answer.measured["outlier_score"][0] > most
    strict = robx.Frugal(max_outlier_score=most).explain(problem, old)
    assert not strict.ok.any()
