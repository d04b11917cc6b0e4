from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import LocalOutlierFactor
from xgboost import XGBClassifier

import robx
from contracts import ANSWERED, MethodContract, assert_lawful, assert_same_answers, rows_of
from families import family
from oracles import toy_data
from retrained_cases import LIBRARIES, own_scores, retrained, steadiness
from robx.evaluation.digests import digest
from robx.methods import frugal, pulling
from robx.problem import coordinates
from robx.robustness.draws import draw
from strategies import random_schema

Floats = NDArray[np.float64]
QUICK: dict[str, Any] = {"n_draws": 32, "n_targets": 3, "halvings": 2}


class TestFrugal(MethodContract):
    method = robx.Frugal(n_draws=16, n_targets=2, halvings=1)
    n_schemas = 3


class TestFrugalInL2(MethodContract):
    method = robx.Frugal(**QUICK, norm=2, base=None, realism=None, price_per_change=0.05)
    needs_trees = True  # a black box takes it long, and is asked above
    n_schemas = 2


# --- with retrained models ------------------------------------------------------------------------


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_answers_by_retrained_models_pass_what_was_asked_by_their_libraries_own_word(
    library: str,
) -> None:
    case, models = family(library), retrained(library)
    # With a bound on the oddity itself, nobody is answered without regard to it.
    method = robx.Frugal(models=models, level=0.6, typical=0.7, max_oddity=9.0, n_draws=64)
    problem = case.problem()
    answer = method.explain(problem, case.applicants)
    assert_lawful(answer, case, problem)
    assert answer.ok.sum() > 15
    ours = rows_of(answer.points, answer.ok)
    accepted = rows_of(case.X, case.probability(case.X) > 0.5)

    unit = dict(zip(problem.names, problem.rules.noise, strict=True))
    noise: dict[str, Any] = {"scale": unit, "n_draws": 64}
    tau = np.quantile(robx.stability(case.model, accepted, **noise).value, 0.4)  # two thirds of 0.6
    assert answer.settings["tau"] == pytest.approx(tau, abs=1e-9)
    stability = robx.stability(case.model, ours, **noise).value
    np.testing.assert_allclose(stability, answer.stability[answer.ok], atol=1e-9)
    assert (stability >= tau - 1e-9).all()

    least = np.quantile(steadiness(own_scores(models, accepted)), 0.6)
    steady = steadiness(own_scores(models, ours))
    np.testing.assert_allclose(answer.measured["steadiness"][answer.ok], steady, rtol=1e-3)
    assert (steady >= least * (1 - 1e-4)).all()

    places, crowd = (coordinates(problem, problem.read(t).matrix) for t in (ours, accepted))
    new = ~(places[:, None] == crowd).all(axis=2).any(axis=1)
    factor = -LocalOutlierFactor(n_neighbors=20, novelty=True).fit(crowd).score_samples(places[new])
    oddity = answer.measured["oddity"][answer.ok]
    np.testing.assert_allclose(oddity[new], factor, rtol=0.02)  # equal distances may part them
    own = robx.metrics.Outliers(n_neighbors=20).fit(crowd).factor(crowd)
    assert (oddity <= np.quantile(own, 0.7)).all()
    assert np.isnan(answer.measured["oddity"][~answer.answered]).all()


def test_any_batch_thread_count_and_copy_gives_the_same_bytes_with_models(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = family(library)
    method = robx.Frugal(**QUICK, models=retrained(library))
    some = rows_of(case.applicants, slice(14))
    whole = method.explain(case.problem(), some)
    copy = pickle.loads(pickle.dumps(method))
    assert_same_answers(
        whole, copy.explain(pickle.loads(pickle.dumps(case.problem())), some), range(14)
    )
    monkeypatch.setattr(robx.Frugal, "chunk", 3)
    for threads in (1, 3):
        for where in (
            "robx.parallel.available_threads",
            "robx.robustness.measure.available_threads",
        ):
            monkeypatch.setattr(where, lambda threads=threads: threads)
        for module in ("robx.retrained.panel.CHUNK", "robx.metrics.outliers.AT_ONCE"):
            monkeypatch.setattr(module, 2 * threads)
        backwards = method.explain(case.problem(), rows_of(some, slice(None, None, -1)))
        assert_same_answers(whole, backwards, range(13, -1, -1))


def test_models_that_found_the_answers_cannot_judge_them() -> None:
    case, models = family("forest"), retrained("forest")
    problem = case.problem()
    some = rows_of(case.applicants, slice(6))
    answer = robx.Frugal(**QUICK, models=models).explain(problem, some)
    for judge in (
        lambda: robx.certify(problem, answer, models[3:4]),
        lambda: robx.evaluate(
            problem, {"f": robx.NearestNeighbour()}, [models[0]], applicants=some
        ),
    ):
        with pytest.raises(robx.InvalidInput, match="Model 0 of 1 was used to choose"):
            judge()
    fresh = case.problem()
    with pytest.raises(robx.InvalidInput, match="was used to choose"):
        robx.evaluate(
            fresh, {"f": robx.Frugal(**QUICK, models=models)}, [models[2]], applicants=some
        )
    with pytest.raises(robx.InvalidInput, match="Model 0 of 6 was used to choose"):
        robx.certify(case.problem(), answer, models)  # also of a problem made anew


def test_other_models_make_another_method_to_a_log() -> None:
    one, same, other = (
        digest(robx.Frugal(models=retrained("forest", 2, seed))) for seed in (0, 0, 1)
    )
    assert one == same
    assert one != other


# --- against RobX ---------------------------------------------------------------------------------

BASES: dict[str, Any] = {
    "nearest": robx.NearestNeighbour(),
    "tweaking": robx.FeatureTweaking(),
    "none": None,
}


def same_test(problem: robx.Problem, level: float) -> float:
    noise = robx.Noise(n_draws=256)
    return float(np.quantile(problem.stability(problem.support.rows, noise).value, level))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("norm", [1, 2])
def test_it_never_costs_more_than_robx_under_the_same_test(base: str, norm: Any) -> None:
    saved = []
    for seed, name in enumerate(["xgboost", "lightgbm", "forest", "catboost"]):
        case = family(name)
        problem = case.problem()
        if seed % 2:
            rng = np.random.default_rng(seed)
            problem = case.problem(schema=random_schema(problem.schema, case.X, rng))
        shared: dict[str, Any] = {"base": BASES[base], "norm": norm, "n_draws": 256}
        for level in (0.3, 0.75):
            tau = same_test(problem, level)
            some = rows_of(case.applicants, slice(18))
            paper = robx.RobX(tau=tau, **shared).explain(problem, some)
            ours = robx.Frugal(level=level, realism=None, **shared).explain(problem, some)
            assert ours.settings["tau"] == tau
            assert (ours.ok >= paper.ok).all()
            assert (ours.stability[ours.ok] >= tau).all()
            assert (ours.cost[paper.ok] <= paper.cost[paper.ok] + 1e-12).all()
            saved += (1 - ours.cost[paper.ok] / paper.cost[paper.ok]).tolist()
    assert np.mean(saved) > 0.1


def test_with_no_tests_to_spend_it_gives_its_best_start() -> None:
    case = family("xgboost-array")
    problem = case.problem()
    tau = same_test(problem, 0.6)
    method = robx.Frugal(level=0.6, realism=None, base=None)  # so RobX walks to the nearest rows
    ours = replace(method, max_tests=0).explain(problem, case.applicants)
    paper = robx.RobX(tau=tau, n_draws=256, base=None).explain(problem, case.applicants)
    rows = robx.Conservative(tau=tau, n_draws=256).explain(problem, case.applicants)
    np.testing.assert_array_equal(ours.cost, np.minimum(paper.cost, rows.cost))
    assert ours.ok.any()
    pulled = method.explain(problem, case.applicants)
    assert (pulled.cost <= ours.cost).all()
    assert pulled.cost.sum() < 0.9 * ours.cost.sum()


def test_every_halving_brings_answers_nearer() -> None:
    case = family("forest")
    problem = case.problem()
    costs = [
        robx.Frugal(n_draws=32, halvings=halvings).explain(problem, case.applicants).cost
        for halvings in (0, 1, 4)
    ]
    assert (costs[1] <= costs[0]).all()
    assert (costs[2] <= costs[0]).all()
    assert costs[0].sum() > 1.02 * costs[1].sum() > 1.02 * costs[2].sum()


# --- the naive twin -------------------------------------------------------------------------------

X, Y = toy_data(300, 4, seed=3)
LOW, HIGH = X.min(axis=0), X.max(axis=0)
X = (X - LOW) / (HIGH - LOW)
UNITS = robx.Schema(tuple(robx.Feature(str(j), scale=1.0) for j in range(4)))
MODEL = XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1).fit(X, Y)
PEOPLE = np.random.default_rng(5).random((80, 4))
PEOPLE = PEOPLE[MODEL.predict_proba(PEOPLE)[:, 1] <= 0.5][:25]


def test_stability_by_the_librarys_own_scores_of_noisy_copies() -> None:
    def score(rows: Any) -> Any:
        return MODEL.predict_proba(rows)[:, 1]

    method = robx.Frugal(level=0.5, typical=0.6, n_draws=128, rng=4)
    answer = method.explain(robx.Problem(MODEL, X, UNITS), PEOPLE)
    noise = 0.1 * draw("sobol", 128, 4, 4).noise
    accepted = X[score(X) > 0.5]

    def stability(rows: Floats) -> Floats:
        copies = np.array([score(row + noise) for row in rows], dtype=np.float64)
        return np.asarray(copies.mean(axis=1) - copies.std(axis=1, ddof=0))

    tau = np.quantile(stability(accepted), 0.5)
    assert answer.settings["tau"] == pytest.approx(tau, abs=2e-3)  # of n or n - 1 draws
    assert answer.ok.all()
    assert (stability(answer.points) >= tau - 2e-3).all()
    assert (score(answer.points) > 0.5).all()


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize("max_changes", [1, 2])
def test_no_answer_changes_more_features_than_it_may(max_changes: int) -> None:
    for name in ("xgboost", "forest"):
        case = family(name)
        for level in (0.5, 1.0):
            method = robx.Frugal(**QUICK, max_changes=max_changes, level=level, typical=0.5)
            problem = case.problem()
            answer = method.explain(problem, case.applicants)
            assert_lawful(answer, case, problem)
            assert (answer.n_changes[answer.ok] <= max_changes).all()
            used_up = [
                r
                for r, s in zip(answer.reason, answer.status, strict=True)
                if s == "budget used up"
            ]
            assert all("with at most" in reason for reason in used_up)
            if level == 0.5:
                assert answer.ok.any()
                free = replace(method, max_changes=None).explain(problem, case.applicants)
                assert free.n_changes[free.ok].max() > max_changes
                assert used_up
                # Few changes come before a low cost: nobody is refused who could be answered.
                fewest = replace(method, price_per_change=100.0).explain(problem, case.applicants)
                assert (answer.ok >= fewest.ok).all()


def test_unstable_answers_change_no_more_features_than_they_may_either() -> None:
    tight = robx.Frugal(**QUICK, max_changes=1, typical=0.0, max_oddity=0.0)
    answer = tight.explain(family("forest").problem(), family("forest").applicants)
    assert not answer.ok.any()
    assert answer.n_changes.max() <= 1


def test_a_price_for_every_change_buys_fewer_of_them() -> None:
    case = family("forest")
    problem = case.problem()
    answers = [
        robx.Frugal(**QUICK, price_per_change=price).explain(problem, case.applicants)
        for price in (0.0, 0.2, 1.0)
    ]
    n_changes = [answer.n_changes[answer.ok].mean() for answer in answers]
    assert n_changes[0] > n_changes[1] > n_changes[2]
    assert answers[0].cost[answers[0].ok].mean() < answers[2].cost[answers[2].ok].mean()


@pytest.mark.parametrize("realism", ["lof", "forest"])
def test_stricter_bounds_are_met(realism: Any) -> None:
    problem = robx.Problem(MODEL, X, UNITS)
    odd = {}
    for typical in (0.2, 0.9):
        method = robx.Frugal(**QUICK, realism=realism, typical=typical)
        answer = method.explain(problem, PEOPLE)
        bound = method.test(problem).most_oddity
        assert answer.ok.all()
        assert (answer.measured["oddity"] <= bound).all()
        odd[typical] = bound, answer.measured["oddity"].max(), answer.cost.mean()
    assert odd[0.2][0] < odd[0.9][1]  # so that the strict bound did rule something out
    assert odd[0.2][2] > odd[0.9][2]
    bound = float(np.mean([odd[0.2][0], odd[0.9][0]]))
    capped = robx.Frugal(**QUICK, realism=realism, typical=0.9, max_oddity=bound)
    assert capped.explain(problem, PEOPLE).measured["oddity"].max() <= bound


def test_higher_levels_give_firmer_answers_at_a_higher_price() -> None:
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

    class Recorded(pulling.Pulling):
        def __post_init__(self) -> None:
            super().__post_init__()
            inner = self.test

            class Test:
                problem, key = inner.problem, inner.key

                def __call__(self, points: Floats) -> Any:
                    seen.append(points.copy())
                    return inner(points)

            self.test = Test()

    monkeypatch.setattr(frugal, "Pulling", Recorded)
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
        ({"max_oddity": "low"}, "'max_oddity' parameter of Frugal must be"),
        ({"max_changes": 0}, "'max_changes' parameter of Frugal must be an integer from 1"),
        (
            {"price_per_change": -1},
            "'price_per_change' parameter of Frugal must be a number from 0",
        ),
        ({"halvings": -1}, "'halvings' parameter of Frugal must be an integer from 0"),
        ({"max_tests": 1.5}, "'max_tests' parameter of Frugal must be an integer from 0"),
        ({"norm": 3}, "'norm' parameter of Frugal must be 1 or 2"),
        ({"sigma": -1}, "'sigma' parameter must be finite and not negative"),
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
    most = robx.Frugal().test(problem).most_oddity
    assert answer.measured["oddity"][0] > most
    strict = robx.Frugal(max_oddity=most).explain(problem, old)
    assert not strict.ok.any()


def test_one_by_one_the_measures_are_the_same_to_the_last_bit() -> None:
    models = tuple(
        XGBClassifier(n_estimators=10, n_jobs=1, random_state=0).fit(X[k::9], Y[k::9])
        for k in range(9)
    )
    problem = robx.Problem(MODEL, X, UNITS)
    method = robx.Frugal(models=models, n_draws=32)
    together = method.explain(problem, PEOPLE).measured["steadiness"]
    alone = [
        method.explain(problem, PEOPLE[i : i + 1]).measured["steadiness"][0]
        for i in range(len(PEOPLE))
    ]
    np.testing.assert_array_equal(together, alone)
