from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.neighbors import LocalOutlierFactor
from xgboost import XGBClassifier

import robx
from contracts import MethodContract, assert_lawful, assert_same_answers, rows_of
from families import family
from frugal_cases import MODEL, PEOPLE, QUICK, UNITS, X, Y
from retrained_cases import LIBRARIES, mean_scores, own_scores, retrained
from robx.evaluation.digests import digest
from robx.problem import coordinates
from robx.robustness.draws import draw
from speed import slow_but
from strategies import random_schema

Floats = NDArray[np.float64]


class TestFrugal(MethodContract):
    method = robx.Frugal(n_targets=2, halvings=1, noise=robx.Noise(n_draws=16))
    n_schemas = 3


@pytest.mark.slow
class TestFrugalInL2(MethodContract):
    method = robx.Frugal(**QUICK, norm=2, base=None, realism=None, price_per_change=0.05)
    needs_trees = True  # a black box takes it long, and is asked above
    n_schemas = 2


# --- with retrained models ------------------------------------------------------------------------


@pytest.fixture(params=slow_but(["xgboost", "forest"], LIBRARIES))
def library(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_answers_by_retrained_models_pass_what_was_asked_by_their_libraries_own_word(
    library: str,
) -> None:
    case, models = family(library), retrained(library)
    # With a bound on the outlier score itself, nobody is answered without regard to it.
    method = robx.Frugal(
        models=models, level=0.6, typical=0.7, max_outlier_score=9.0, noise=robx.Noise(n_draws=64)
    )
    problem = case.problem()
    answer = method.explain(problem, case.applicants)
    assert_lawful(answer, case, problem)
    assert answer.ok.sum() > 15
    ours = rows_of(answer.points, answer.ok)
    accepted = rows_of(case.X, case.probability(case.X) > 0.5)

    unit = dict(zip(problem.names, problem.rules.noise, strict=True))
    noise: dict[str, Any] = {"scale": unit, "n_draws": 64}
    mean = mean_scores(own_scores(models, accepted))
    least = np.quantile(mean, 0.6)
    share = (mean < least).mean() * 2 / 3
    assert share == pytest.approx(0.4, abs=0.01)
    tau = np.quantile(robx.stability(case.model, accepted, **noise).value, share)
    assert answer.settings["tau"] == pytest.approx(tau, abs=1e-9)
    stability = robx.stability(case.model, ours, **noise).value
    np.testing.assert_allclose(stability, answer.stability[answer.ok], atol=1e-9)
    assert (stability >= tau - 1e-9).all()

    mean = mean_scores(own_scores(models, ours))
    np.testing.assert_allclose(answer.measured["retrained_score"][answer.ok], mean, atol=1e-6)
    assert (mean >= least - 1e-6).all()

    places, crowd = (coordinates(problem, problem.read(t).matrix) for t in (ours, accepted))
    new = ~(places[:, None] == crowd).all(axis=2).any(axis=1)
    factor = -LocalOutlierFactor(n_neighbors=20, novelty=True).fit(crowd).score_samples(places[new])
    outlying = answer.measured["outlier_score"][answer.ok]
    np.testing.assert_allclose(outlying[new], factor, rtol=0.02)  # equal distances may part them
    own = robx.metrics.Outliers(n_neighbors=20).fit(crowd).factor(crowd)
    assert (outlying <= np.quantile(own, 0.7)).all()
    assert np.isnan(answer.measured["outlier_score"][~answer.answered]).all()


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
        for module in ("robx.retrained.scoring.CHUNK", "robx.metrics.outliers.AT_ONCE"):
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
    return float(np.quantile(problem.gate.stability(problem.support.rows, noise).value, level))


@pytest.mark.parametrize("base", slow_but(["nearest"], BASES))
@pytest.mark.parametrize("norm", slow_but([1], [1, 2]))
@pytest.mark.parametrize("price", slow_but([0.05], [0.0, 0.05, 0.5]))
def test_it_never_costs_more_than_robx_under_the_same_test(
    base: str, norm: Any, price: float
) -> None:
    saved = []
    for seed, name in enumerate(["xgboost", "lightgbm", "forest", "catboost"]):
        case = family(name)
        problem = case.problem()
        if seed % 2:
            rng = np.random.default_rng(seed)
            problem = case.problem(schema=random_schema(problem.schema, case.X, rng))
        shared: dict[str, Any] = {
            "base": BASES[base],
            "norm": norm,
            "noise": robx.Noise(n_draws=256),
        }
        for level in (0.3, 0.75):
            tau = same_test(problem, level)
            some = rows_of(case.applicants, slice(18))
            paper = robx.RobX(tau=tau, **shared).explain(problem, some)
            method = robx.Frugal(level=level, realism=None, price_per_change=price, **shared)
            ours = method.explain(problem, some)
            assert ours.settings["tau"] == tau
            assert (ours.ok >= paper.ok).all()
            assert (ours.stability[ours.ok] >= tau).all()
            # What a change costs by itself counts for both; without a price the cost alone does.
            worth, theirs = (a.cost + price * a.n_changes for a in (ours, paper))
            assert (worth[paper.ok] <= theirs[paper.ok] + 1e-12).all()
            saved += (1 - worth[paper.ok] / theirs[paper.ok]).tolist()
    assert np.mean(saved) > 0.1


def test_with_no_tests_to_spend_it_gives_its_best_start() -> None:
    case = family("xgboost-array")
    problem = case.problem()
    tau = same_test(problem, 0.6)
    # Without a base RobX walks to the nearest rows; without a price the cost alone counts.
    method = robx.Frugal(level=0.6, realism=None, base=None, price_per_change=0, sparse_starts=0)
    ours = replace(method, max_tests=0).explain(problem, case.applicants)
    paper = robx.RobX(tau=tau, base=None, noise=robx.Noise(n_draws=256)).explain(
        problem, case.applicants
    )
    rows = robx.Conservative(tau=tau, noise=robx.Noise(n_draws=256)).explain(
        problem, case.applicants
    )
    np.testing.assert_array_equal(ours.cost, np.minimum(paper.cost, rows.cost))
    assert ours.ok.any()
    pulled = method.explain(problem, case.applicants)
    assert (pulled.cost <= ours.cost).all()
    assert pulled.cost.sum() < 0.9 * ours.cost.sum()


def test_every_halving_brings_answers_nearer() -> None:
    case = family("forest")
    schema = robx.Schema.infer(case.X, protected=()).fit(case.X)
    as_scale = {f.name: {"noise": f.scale} for f in schema if f.is_number}
    problem = case.problem(schema=schema.override(as_scale))
    costs = [
        robx.Frugal(halvings=halvings, noise=robx.Noise(n_draws=32), sparse_starts=0)
        .explain(problem, case.applicants)
        .cost
        for halvings in (0, 1, 4)
    ]
    assert costs[0].sum() > 1.01 * costs[1].sum() > 1.01 * costs[2].sum()


# --- the naive twin -------------------------------------------------------------------------------


def test_stability_by_the_librarys_own_scores_of_noisy_copies() -> None:
    def score(rows: Any) -> Any:
        return MODEL.predict_proba(rows)[:, 1]

    method = robx.Frugal(level=0.5, typical=0.6, noise=robx.Noise(n_draws=128, rng=4))
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


def test_one_by_one_the_measures_are_the_same_to_the_last_bit() -> None:
    models = tuple(
        XGBClassifier(n_estimators=10, n_jobs=1, random_state=0).fit(X[k::9], Y[k::9])
        for k in range(9)
    )
    problem = robx.Problem(MODEL, X, UNITS)
    method = robx.Frugal(models=models, noise=robx.Noise(n_draws=32))
    together = method.explain(problem, PEOPLE).measured["retrained_score"]
    alone = [
        method.explain(problem, PEOPLE[i : i + 1]).measured["retrained_score"][0]
        for i in range(len(PEOPLE))
    ]
    np.testing.assert_array_equal(together, alone)


def test_who_gets_no_robust_answer_is_told_what_the_best_one_lacks() -> None:
    models = list(robx.retrainings(MODEL, X, Y, n_models=3))
    method = robx.Frugal(**QUICK, min_retrained_score=1.0, models=models)
    answer = method.explain(robx.Problem(MODEL, X), PEOPLE)
    assert (answer.status == robx.Status.UNSTABLE).all()
    for i in range(len(answer)):
        assert "mean score of 3 retrained models >= 1, outlier score" in answer.reason[i]
        said = f"retrained score {answer.measured['retrained_score'][i]:.3g}, outlier score "
        assert said in answer.reason[i]
    assert "as sure under retrained models as 100%" in answer.settings["why"]
