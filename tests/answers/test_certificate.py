from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

import robx
from robx import Certificate


def certificate(
    accepting: Any, n_models: int, confidence: float = 0.95, covers: Any = None
) -> Certificate:
    counts = np.array(accepting, dtype=np.int64)
    held = np.ones(len(counts), dtype=bool) if covers is None else np.array(covers, dtype=bool)
    return Certificate(counts, n_models, held, confidence, "drawn like these")


@given(data=st.data(), k=st.integers(1, 300), confidence=st.floats(0.01, 0.999))
def test_the_bound_is_that_of_clopper_and_pearson(
    data: st.DataObject, k: int, confidence: float
) -> None:
    m = data.draw(st.integers(0, k))
    bound = certificate([m], k, confidence).bound[0]
    exact = beta.ppf(1 - confidence, m, k - m + 1) if m else 0.0
    assert bound == pytest.approx(exact, rel=1e-7)
    assert 0 <= bound <= 1


def test_the_figures_that_the_documentation_gives() -> None:
    for k, percent, said in ((16, 82.9, "82.9"), (32, 91.1, "91"), (64, 95.4, "95.4")):
        assert round(100 * certificate([k], k).bound[0], 1) == percent
        assert f"at least {said}% will (95% confidence)." in certificate([k], k).words(0)


def test_more_models_that_accept_promise_more_and_more_confidence_less() -> None:
    bounds = certificate(range(33), 32).bound
    assert (np.diff(bounds) > 0).all()
    assert (certificate(range(1, 33), 32, 0.99).bound < bounds[1:]).all()


@pytest.mark.parametrize("k", [16, 32, 64])
def test_the_bound_holds_at_least_as_often_as_it_says(k: int) -> None:
    counts = np.arange(k + 1)
    bound = certificate(counts, k).bound
    shares = np.linspace(0.01, 0.99, 981)
    holds = [float(binom.pmf(counts, k, p)[bound <= p].sum()) for p in shares]
    assert min(holds) >= 0.95 - 1e-9


def test_words_say_what_new_rows_made_of_such_answers() -> None:
    plain = certificate([64], 64)
    known = replace(
        plain,
        change="trained on as many new rows of the same source",
        expected=np.array([0.9712]),
        expected_low=np.array([0.8399]),
    )
    assert known.words(0) == (
        f"{plain.words(0)} Of models trained on as many new rows of the same source, about 97.1% "
        "will; of 20 answers like this one, 19 are accepted by at least 83.9%."
    )
    assert known.expectations.keys() == {"expected_validity", "expected_at_least"}
    assert plain.expectations == {}
    again = Certificate.from_dict(json.loads(json.dumps(known.to_dict())))
    assert again.words(0) == known.words(0)
    with pytest.raises(robx.InvalidInput, match="what is expected of each answer"):
        replace(plain, expected=np.zeros(2))


def test_words_round_the_bound_down_and_never_up() -> None:
    for m in range(33):
        one = certificate([m], 32)
        said = float(one.words(0).split("at least ")[1].split("%")[0])
        assert said <= 100 * one.bound[0] < said + 0.1
    assert (
        certificate([31], 32)
        .words(0)
        .startswith("31 of 32 retrained models accept it; of models drawn like these, at least ")
    )


def test_rows_without_an_answer_have_no_bound_no_words_and_no_share() -> None:
    some = certificate([4, 0, 2], 4, covers=[True, False, True])
    assert np.isnan(some.bound).tolist() == [False, True, False]
    assert some.words(1) == ""
    assert some.share == 0.75
    assert np.isnan(certificate([0], 4, covers=[False]).share)
    assert certificate([], 4).bound.shape == (0,)


def test_it_comes_back_from_plain_values() -> None:
    some = certificate([4, 0, 2], 4, 0.9, covers=[True, False, True])
    again = Certificate.from_dict(json.loads(json.dumps(some.to_dict())))
    assert again.to_dict() == some.to_dict()
    np.testing.assert_array_equal(again.bound, some.bound)


@pytest.mark.parametrize(
    ("accepting", "n_models", "covers", "message"),
    [
        ([1], 0, [True], "needs a model, and a count for each answer"),
        ([1, 2], 4, [True], "needs a model, and a count for each answer"),
        ([[1]], 4, [[True]], "needs a model, and a count for each answer"),
        ([5], 4, [True], "cannot count more models than there are"),
        ([-1], 4, [True], "cannot count more models than there are"),
    ],
)
def test_what_cannot_be_is_refused(
    accepting: Any, n_models: int, covers: Any, message: str
) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        certificate(accepting, n_models, covers=covers)
