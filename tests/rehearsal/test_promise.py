from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

import robx
from explainer_cases import saved
from robx.explainer import fitting
from robx.methods.point_tests import mean_scores_of_support
from robx.rehearsal import dial_of, n_trials
from robx.rehearsal.dials import rank_of, value_at
from robx.retrained import Panel
from robx.scenarios import Bootstrap, DropRows, LaterVintage, OtherHalf

RNG = np.random.default_rng(3)
X = pd.DataFrame({name: RNG.random(240).round(2) for name in ("a", "b", "c")})
Y = pd.Series((X["a"] + 0.5 * X["b"] + 0.1 * RNG.normal(size=240) > 0.8).astype(int), name="good")
MODEL = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, Y)
SCHEMA = robx.Schema.infer(X)
PEOPLE = X[MODEL.predict(X) == 0][:20]
QUICK: dict[str, Any] = {"schema": SCHEMA, "n_models": 24, "noise": robx.Noise(n_draws=64)}


def fitted(**given: Any) -> robx.Explainer:
    return robx.Explainer(MODEL, X, Y, **{**QUICK, **given})


@cache
def explainer() -> robx.Explainer:
    return fitted(keep=0.8)


def test_a_promise_says_what_was_rehearsed_and_in_what_it_may_fail() -> None:
    promise = explainer().promise
    assert promise is not None
    assert promise.keep == promise.asked == 0.8
    assert 0.5 < promise.value < 1
    assert promise.low <= promise.rehearsed <= promise.high
    said = str(promise)
    assert said.startswith(
        "80 % of the answers will be kept by a next model trained on as many new rows of the same "
        "source. This was rehearsed 8 times on parts of the training rows:"
    )
    assert "fails if the next model is made in another way" in said


def test_the_answers_are_as_robust_as_was_rehearsed() -> None:
    promise, method = explainer().promise, explainer().method
    assert promise is not None
    assert isinstance(method, robx.Frugal)
    assert method.min_retrained_score == promise.value
    answer = explainer().explain(PEOPLE)
    assert answer.ok.any()
    assert (answer.measured["retrained_score"][answer.ok] >= promise.value).all()
    assert answer.origin["promise"] == promise.sentence
    certificate = answer.certificate
    assert certificate is not None
    assert certificate.expected is not None
    assert certificate.expected_low is not None
    told = answer.answered
    assert (certificate.expected_low[told] <= certificate.expected[told]).all()
    assert "expected_validity" in answer.summary.columns


def test_an_answer_that_too_few_judges_accept_is_not_ok() -> None:
    from robx.explainer.explainer import fewest_accepting, judged

    answer = explainer().explain(PEOPLE)
    certificate = answer.certificate
    assert certificate is not None
    few = fewest_accepting(0.8, certificate.n_models)
    assert (certificate.accepting[answer.ok] >= few).all()
    accepting = certificate.accepting.copy()
    first = int(np.flatnonzero(answer.ok)[0])
    accepting[first] = few - 1

    less = judged(
        answer.replaced(certificate=replace(certificate, accepting=accepting)),
        explainer().promise,
    )
    assert less.status[first] == robx.Status.UNSTABLE
    assert "too few for a promise of 80 %" in less.reason[first]
    assert fewest_accepting(0.95, 32) > 26


def test_it_is_the_same_again_and_in_a_file(tmp_path: Any) -> None:
    again = fitted(keep=0.8)
    assert again.promise == explainer().promise or str(again.promise) == str(explainer().promise)
    loaded = robx.Explainer.load(saved(explainer(), tmp_path))
    assert str(loaded.promise) == str(explainer().promise)
    one, other = loaded.explain(PEOPLE), explainer().explain(PEOPLE)
    assert one.to_json() == other.to_json()
    assert loaded.describe()["promise"] == explainer().promise.sentence  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "change", [Bootstrap(), DropRows(10), LaterVintage(np.arange(240))], ids=str
)
def test_a_promise_names_the_change_that_it_is_about(change: Any) -> None:
    promise = fitted(keep=0.6, change=change).promise
    assert promise is not None
    assert promise.change == change.next_model
    assert promise.keep == 0.6


def test_models_vary_what_the_next_model_may_vary() -> None:
    change = OtherHalf(vary={"max_depth": [2, 5]})
    made = fitted(keep=0.6, change=change)
    assert made.promise is not None
    assert made.promise.change.endswith("with another max_depth")
    assert "max_depth" in made.explain(PEOPLE[:1]).certificate.drawn  # type: ignore[union-attr]
    leaves = {one.trees.n_leaves for one in made.certifying if one.trees is not None}
    assert min(leaves) <= 40 < max(leaves)  # ten trees of depth 2 have no more


def test_less_is_promised_with_a_warning_or_refused() -> None:
    luck = pd.Series(RNG.integers(2, size=240), name="good")
    model = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, luck)
    with pytest.warns(robx.LessPromised, match="cannot be promised: .* This is promised instead"):
        made = robx.Explainer(model, X, luck, keep=0.9, **QUICK)
    promise = made.promise
    assert promise is not None
    assert promise.keep < promise.asked == 0.9
    assert "90 % were asked for, and cannot be promised" in str(promise)
    with pytest.raises(robx.InvalidInput, match=r"at most 0\.\d+ was sure to be kept"):
        robx.Explainer(model, X, luck, keep=0.9, strict=True, **QUICK)


def test_methods_of_the_paper_can_promise_too() -> None:
    made = robx.Explainer(
        MODEL, X, Y, schema=SCHEMA, n_models=6, keep=0.6, method=robx.NearestNeighbour()
    )
    assert made.promise is not None
    assert made.promise.dial == "gamma"
    assert made.method == robx.NearestNeighbour(gamma=made.promise.value)


def test_a_callers_frugal_is_given_the_models_that_it_was_rehearsed_with() -> None:
    method = robx.Frugal(realism=None, noise=robx.Noise(n_draws=64))
    made = robx.Explainer(MODEL, X, Y, schema=SCHEMA, n_models=24, keep=0.8, method=method)
    assert made.promise is not None
    assert isinstance(made.method, robx.Frugal)
    assert made.method.realism is None
    assert made.method.min_retrained_score == made.promise.value
    assert len(made.method.models) > 0
    assert len(made.certifying) == 24 - len(made.method.models)
    assert made.explain(PEOPLE).ok.any()


def test_challengers_accept_every_answer(tmp_path: Any) -> None:
    others = [XGBClassifier(n_estimators=k, max_depth=2, n_jobs=1).fit(X, Y) for k in (5, 8)]
    made = fitted(keep=None, challengers=others)
    answer = made.explain(PEOPLE)
    assert answer.ok.any()
    for other in others:
        assert (other.predict_proba(answer.points[answer.ok])[:, 1] > 0.5).all()
    loaded = robx.Explainer.load(saved(made, tmp_path))
    assert loaded.describe()["challengers"] == 2
    assert loaded.explain(PEOPLE).to_json() == answer.to_json()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keep": 1.0}, "'keep' parameter of Explainer must be .*below 1"),
        ({"keep": "much"}, "'keep' parameter of Explainer"),
        ({"keep": 0.9, "level": 0.5}, "a promise, or a method whose robustness you have set"),
        ({"keep": None, "change": Bootstrap()}, "takes a change for a promise"),
        ({"change": "bootstrap"}, "must be a scenario of robx.scenarios. Got str"),
        ({"method": robx.Focus(), "keep": None, "challengers": [MODEL]}, "for Frugal alone"),
        ({"method": lambda problem, X: X, "keep": 0.9}, "has no parameter that makes answers"),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], message: str) -> None:
    if "method" in given:
        with pytest.raises(robx.InvalidInput, match=message):
            robx.Explainer(MODEL, X, Y, schema=SCHEMA, n_models=6, **given)
        return
    with pytest.raises(robx.InvalidInput, match=message):
        fitted(**given)


def test_a_promise_needs_labels_and_rows() -> None:
    with pytest.raises(robx.InvalidInput, match="needs y_train to rehearse a promise"):
        robx.Explainer(MODEL, X, schema=SCHEMA, keep=0.9)
    assert robx.Explainer(MODEL, X, schema=SCHEMA).promise is None
    with pytest.raises(robx.InvalidInput, match="there must be at least 100. Got 60"):
        robx.Explainer(MODEL, X[:60], Y[:60], schema=SCHEMA, keep=0.9, n_models=6)
    assert robx.Explainer(MODEL, X[:60], Y[:60], schema=SCHEMA, n_models=6).promise is None


def test_a_promise_that_was_tampered_with_is_refused() -> None:
    promise = explainer().promise
    assert promise is not None
    plain = json.loads(json.dumps(promise.to_dict()))
    assert str(robx.Promise.from_dict(plain)) == str(promise)
    for name, value in (("keep", 1.5), ("change", 3), ("n_trials", "many"), ("value", None)):
        with pytest.raises(robx.InvalidInput, match="its promise"):
            robx.Promise.from_dict({**plain, name: value})
    with pytest.raises(robx.InvalidInput, match="fields of one"):
        robx.Promise.from_dict({"keep": 0.9})
    bad = {**plain["calibration"], "share": plain["calibration"]["share"][::-1]}
    with pytest.raises(robx.InvalidInput, match="columns of shares that rise"):
        robx.Promise.from_dict({**plain, "calibration": bad})


def test_rarer_failures_take_more_trials() -> None:
    assert [n_trials(keep) for keep in (0.5, 0.9, 0.95, 0.99, 0.9999)] == [8, 8, 12, 40, 40]
    assert dial_of(robx.Frugal()) == "min_retrained_score"
    assert [dial_of(one) for one in (robx.RobX(), robx.LiveRegion())] == ["tau", "gamma"]


@pytest.mark.parametrize(("keep", "share"), [(0.95, 0.85), (0.9, 0.8), (0.05, 0.0)])
def test_a_little_fewer_of_the_searching_models_must_accept(keep: float, share: float) -> None:
    assert fitting.share_of_searching(keep) == pytest.approx(share)


def test_a_promise_is_carried_over_by_its_score_or_by_its_rank_what_asks_for_more() -> None:
    promise, method = explainer().promise, explainer().method
    assert promise is not None
    assert promise.calibration is not None
    problem = explainer().problem
    easy = replace(promise, value=0.51, rank=0.9).carried_over(method, problem)
    scores = mean_scores_of_support(Panel.of(problem, method.models))  # type: ignore[attr-defined]
    assert easy.value == np.quantile(scores, 0.9) > 0.51
    hard = replace(promise, value=0.99, rank=0.1).carried_over(method, problem)
    assert hard.value == 0.99
    assert easy.calibration is not None
    assert (easy.calibration.score >= promise.calibration.score).all()
    assert (np.diff(easy.calibration.score) >= 0).all()
    plain = replace(promise, value=0.6, rank=0.0).carried_over(robx.NearestNeighbour(), problem)
    assert plain.value == 0.6
    assert rank_of(method, problem, float(np.quantile(scores, 0.5))) == pytest.approx(0.5, abs=0.05)
    assert np.isnan(rank_of(robx.RobX(), problem, 0.9))
    assert value_at(robx.RobX(), problem, 0.9) == 0.0


def test_models_that_search_do_not_certify_under_a_promise() -> None:
    own = robx.retrainings(MODEL, X, Y, 8)
    method = robx.Frugal(models=tuple(own), noise=robx.Noise(n_draws=64))
    with pytest.raises(robx.InvalidInput, match="was used to choose"):
        robx.Explainer(MODEL, X, Y, schema=SCHEMA, n_models=24, keep=0.6, method=method)


def test_challengers_are_asked_by_a_callers_frugal_too() -> None:
    strict = XGBClassifier(n_estimators=3, n_jobs=1).fit(X, (X["a"] > 0.97).astype(int))
    method = robx.Frugal(realism=None, noise=robx.Noise(n_draws=64))
    given: dict[str, Any] = {"schema": SCHEMA, "n_models": 24, "keep": None, "method": method}
    without = robx.Explainer(MODEL, X, Y, **given).explain(PEOPLE)
    asked = robx.Explainer(MODEL, X, Y, **given, challengers=[strict]).explain(PEOPLE)
    assert without.ok.sum() > asked.ok.sum()
    assert (strict.predict_proba(asked.points[asked.ok])[:, 1] > 0.5).all()
