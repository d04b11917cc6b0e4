from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from report_cases import certified, made
from robx.answers import Counterfactuals, Status
from robx.promises import Check
from robx.reports.validity import about_validity, validity


def test_the_certificate_speaks_of_promises_only() -> None:
    each, every = validity(certified(10, 9, 0, 8), (), None)
    assert each["value"] == pytest.approx(0.9)  # eve, whom no model accepts, was promised nothing
    # 2.7 successes of 3
    assert each["low"] == pytest.approx(beta.ppf(0.025, 3.2, 0.8))
    assert each["high"] == pytest.approx(beta.ppf(0.975, 3.2, 0.8))
    assert "wide on purpose" in each["words"]
    assert every["value"] == pytest.approx(1 / 3)
    assert every["low"] == pytest.approx(beta.ppf(0.025, 1.5, 2.5))
    assert every["high"] == pytest.approx(beta.ppf(0.975, 1.5, 2.5))
    assert "10 retrained models" in each["words"]
    assert every["words"].startswith("1 of 3 answers.")
    assert (each["said"], every["said"]) == ("90%", "33.3%")


def test_where_all_models_accept_all_answers_the_interval_still_has_a_width() -> None:
    each, every = validity(certified(10, 10, 0, 10), (), None)
    assert (each["value"], each["high"]) == (1, 1)
    assert each["low"] == every["low"] == pytest.approx(beta.ppf(0.025, 3.5, 0.5))


def test_an_interval_moves_with_the_shares_and_never_loses_its_width() -> None:
    accepting = [(10, 10, 10), (10, 10, 9), (10, 9, 9), (9, 9, 9), (5, 5, 5), (0, 0, 1), (0, 0, 0)]
    rows = [validity(certified(a, b, 10, c), (), None)[0] for a, b, c in accepting]
    lows, highs = ([row[end] for row in rows] for end in ("low", "high"))
    assert lows == sorted(lows, reverse=True)
    assert highs == sorted(highs, reverse=True)
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert all(row["high"] - row["low"] > 0.4 for row in rows)
    assert abs(rows[0]["low"] - rows[1]["low"]) < 0.1  # one model less is not another world


def test_of_one_model_there_is_one_share() -> None:
    (row,) = validity(certified(1, 0, 0, 1, n_models=1), (), None)
    assert (row["name"], row["said"]) == ("Accepted by a retrained model", "66.7%")
    assert row["words"].startswith("Average over the answers. 1 retrained model, drawn like these")
    assert "wide on purpose" not in row["words"]


def about(answers: Counterfactuals, evaluation: Any = None) -> list[str]:
    return about_validity(answers, validity(answers, (), evaluation), evaluation)


def test_that_nothing_was_measured_is_said_only_if_nothing_was() -> None:
    assert about(made())[0].startswith("Nothing was measured")
    best = made().status.copy()
    best[[1, 3, 7]] = Status.UNSTABLE
    certificate = certified(10, 9, 0, 8).certificate
    none_full = replace(made(), status=best, certificate=certificate)
    assert about(none_full) == ["No answer passed every test, so there is nothing to certify."]
    empty = evaluation(("NN", "coverage", 0.5))
    assert about(made(), empty) == ["The evaluation has no validity to show."]
    tried = evaluation(("NN", "validity", 0.5))
    assert about(made(), tried) == ["The level of the intervals is 95% unless stated otherwise."]
    assert about(certified(10, 9, 0, 8)) == about(made(), tried)


def test_resamples_that_all_say_the_same_are_no_interval() -> None:
    table = evaluation(("NN", "validity", 1.0)).assign(low=1.0, high=1.0)
    (row,) = validity(made(), (), table)
    assert (row["said"], row["low"], row["high"]) == ("100%", 1, 1)
    assert row["between"] == "no interval: all resamples are the same"


def test_an_interval_of_none_begins_at_none() -> None:
    every = validity(certified(9, 9, 10, 9), (), None)[1]
    assert (every["value"], every["low"]) == (0, 0)
    assert 0 < every["high"] < 1


def test_without_certificate_check_or_evaluation_nothing_is_claimed() -> None:
    assert validity(made(), (), None) == []


def check(kept: list[bool], confidence: float = 0.95) -> Check:
    n = len(kept)
    answers = made()
    return Check(
        applicants=np.arange(n),
        status=answers.status[answers.ok][:n],
        promised=np.ones(n, dtype=bool),
        kept=np.array(kept, dtype=bool),
        score_before=np.ones(n),
        score=np.ones(n),
        changes=("",) * n,
        reason=("",) * n,
        threshold=0.5,
        confidence=confidence,
        model={"digest": "0123456789abcdef", "source": "XGBoost 3", "n_trees": 60},
    )


def test_checks_are_shown_with_their_own_words_and_interval() -> None:
    one = check([True, True, False], 0.9)
    (row,) = validity(made(), [one], None)
    assert (row["name"], row["source"]) == ("Kept by the new model", "check")
    assert (row["value"], row["low"], row["high"]) == (one.share, one.low, one.high)
    assert (row["level"], row["words"]) == (0.9, one.words)
    assert row["model"] == "XGBoost 3, 60 trees, digest 0123456789ab"
    rows = validity(made(), [one, one], None)
    assert [row["name"] for row in rows] == ["Kept by new model 1", "Kept by new model 2"]
    assert rows[1]["words"].startswith("New model 2 keeps 2 of 3 promises (66.7%). For applicants")


def test_a_check_without_promises_has_no_share() -> None:
    (row,) = validity(made(), [check([])], None)
    assert (row["value"], row["low"], row["said"], row["between"]) == (None, None, "", "")
    assert "There is no promise for the new model to keep" in row["words"]


def evaluation(*lines: tuple[str, str, float]) -> pd.DataFrame:
    rows = [
        (method, "bootstrap", seed, metric, value, value - 0.1, value + 0.1)
        for method, metric, value in lines
        for seed in ("all", 0)
    ]
    names = ["method", "scenario", "seed", "metric", "value", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def test_an_evaluation_gives_a_share_for_each_method() -> None:
    table = evaluation(
        ("NN", "validity", 0.5),
        ("NN", "n_applicants", 1200),
        ("NN", "n_answered", 1100),
        ("NN", "cost_l1", 0.25),
        ("RobX", "validity", 0.75),
    )
    table.loc[(table.seed == 0), "value"] = 0.99  # rows of a seed are not what is shown
    first, second = validity(made(), (), table)
    assert (first["name"], first["value"]) == ("NN, bootstrap", 0.5)
    assert (first["low"], first["high"]) == (0.4, 0.6)
    assert first["words"] == (
        "In a trial: 1,100 of 1,200 applicants answered, at a mean L1 cost of 0.25."
    )
    assert (second["name"], second["words"]) == ("RobX, bootstrap", "In a trial.")


def test_a_method_that_answers_nobody_has_no_share() -> None:
    table = evaluation(("NN", "validity", np.nan), ("NN", "cost_l1", np.nan))
    (row,) = validity(made(), (), table)
    assert (row["value"], row["between"], row["words"]) == (None, "", "In a trial.")
