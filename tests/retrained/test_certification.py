from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import robx
from contracts import rows_of
from families import family
from retrained_cases import own_scores, retrained


@pytest.mark.parametrize("name", ["xgboost", "xgboost-3", "forest", "pipeline"])
def test_models_are_counted_as_their_own_scores_say(name: str) -> None:
    case, models = family(name), retrained(name)
    problem = case.problem()
    answer = robx.NearestNeighbour().explain(problem, rows_of(case.applicants, slice(30)))
    certified = robx.certify(problem, answer, models, confidence=0.9, drawn="made by hand")
    certificate = certified.certificate
    assert certificate is not None
    counts = (own_scores(models, answer.points, case.target) > 0.5).sum(axis=0)
    np.testing.assert_array_equal(certificate.accepting, np.where(answer.ok, counts, 0))
    assert 0 < certificate.share < 1
    np.testing.assert_array_equal(certificate.covers, answer.answered)
    # By the share that is the bound, so many or more of the models accept one time in ten.
    some = answer.ok & (counts > 0)
    chance = binom.sf(counts[some] - 1, len(models), certificate.bound[some])
    np.testing.assert_allclose(chance, 0.1, rtol=1e-9)
    assert (certificate.bound[answer.ok & (counts == 0)] == 0).all()
    assert (certificate.confidence, certificate.drawn) == (0.9, "made by hand")
    assert answer.certificate is None
    assert certified.points is answer.points


def test_the_threshold_is_the_problems() -> None:
    case, models = family("forest"), retrained("forest")
    problem = case.problem(threshold=0.7)
    answer = robx.NearestNeighbour().explain(problem, case.applicants)
    certificate = robx.certify(problem, answer, models).certificate
    assert certificate is not None
    counts = (own_scores(models, answer.points) > 0.7).sum(axis=0)
    np.testing.assert_array_equal(certificate.accepting[answer.ok], counts[answer.ok])


def test_rows_without_an_answer_have_no_certificate_and_stop_nobody() -> None:
    case = family("boosting")
    people = case.applicants[:8].copy()
    people.loc[2, "income"], people.loc[5, "rate"] = np.inf, np.nan  # which no model takes
    problem = case.problem()
    answer = robx.NearestNeighbour().explain(problem, people)
    certified = robx.certify(problem, answer, retrained("boosting"))
    certificate = certified.certificate
    assert certificate is not None
    for i in range(8):
        has_one = answer.status[i] == robx.Status.OK
        assert certificate.covers[i] == has_one
        assert np.isnan(certificate.bound[i]) != has_one
        assert ("retrained models accept it" in certified.words(i)) == has_one
    assert not certificate.covers[[2, 5]].any()
    summary = certified.summary
    assert summary["accepting_of_6"].isna().tolist() == (~certificate.covers).tolist()
    np.testing.assert_array_equal(summary["validity_bound"], certificate.bound)
    nobody = robx.certify(
        problem, robx.NearestNeighbour().explain(problem, people[:0]), retrained("boosting")
    )
    assert nobody.certificate is not None
    assert np.isnan(nobody.certificate.share)


def test_unstable_answers_are_certified_too() -> None:
    case = family("forest")
    problem = case.problem()
    answer = robx.RobX(tau=2.0, noise=robx.Noise(n_draws=16)).explain(
        problem, rows_of(case.applicants, slice(10))
    )
    certified = robx.certify(problem, answer, retrained("forest"))
    assert (answer.status == robx.Status.UNSTABLE).any()
    i = int(np.flatnonzero(answer.answered)[0])
    assert "retrained models accept it" in certified.words(i)


def test_certified_answers_come_back_from_a_file(tmp_path: Path) -> None:
    case = family("xgboost")
    problem = case.problem()
    answer = robx.NearestNeighbour().explain(problem, rows_of(case.applicants, slice(8)))
    certified = robx.certify(problem, answer, retrained("xgboost"))
    certified.save(tmp_path / "answers.json")
    loaded = robx.Counterfactuals.load(tmp_path / "answers.json")
    assert loaded.to_json() == certified.to_json()
    assert [loaded.words(i) for i in range(8)] == [certified.words(i) for i in range(8)]
    assert loaded.summary.equals(certified.summary)
    damaged = certified.to_dict()
    damaged["certificate"]["accepting"].append(1)
    damaged["certificate"]["covers"].append(True)
    with pytest.raises(robx.InvalidInput, match="columns differ in length"):
        robx.Counterfactuals.from_dict(damaged)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"confidence": 1},
            "'confidence' parameter of certify must be a number above 0 and below 1",
        ),
        ({"models": []}, "a list of at least one retrained model"),
        ({"problem": None}, "certify takes a robx.Problem, its answers .* Got NoneType"),
        ({"answers": "good"}, "Got Problem and str"),
    ],
)
def test_bad_input_is_refused(changed: dict[str, Any], message: str) -> None:
    case = family("forest")
    problem = case.problem()
    answer = robx.NearestNeighbour().explain(problem, rows_of(case.applicants, slice(2)))
    arguments = {"problem": problem, "answers": answer, "models": retrained("forest"), **changed}
    with pytest.raises(robx.InvalidInput, match=message):
        robx.certify(**arguments)
