from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from report_cases import certified, checked, made, two_ways
from robx.answers import Counterfactuals
from robx.reports.applicants import about_rows, applicant_rows, asked_of_people, outcomes, reasons


def test_those_with_an_answer_come_first_and_keep_their_order() -> None:
    rows = applicant_rows(made(), ())
    names = " ".join(row["applicant"] for row in rows)
    assert names == "bob dee hal eve cy flo gus ann"


def test_a_row_says_what_was_measured_of_the_answer() -> None:
    rows = {row["applicant"]: row for row in applicant_rows(certified(10, 9, 3, 8), ())}
    assert rows["dee"] == {
        "applicant": "dee",
        "status": "ok",
        "outcome": "Answered",
        "changes": ["savings: none → much", "amount: 500 → 250"],
        "reason": "",
        "n_changes": 2,
        "cost": 1.25,
        "score": 0.95,
        "stability": 0.9,
        "measured": {},
        "said": "Answered, cost 1.25, score 0.95, accepted by 9 of 10 retrained models",
        "accepting": 9,
        "validity_bound": pytest.approx(beta.ppf(0.05, 9.5, 1.5)),
        "alternatives": [],
        "kept": [],
        "kept_said": "",
    }
    assert (rows["eve"]["outcome"], rows["eve"]["accepting"]) == ("Best found", 3)


def test_who_has_no_answer_has_no_numbers_and_who_is_accepted_their_own() -> None:
    rows = {row["applicant"]: row for row in applicant_rows(certified(10, 9, 3, 8), ())}
    names = ("n_changes", "cost", "score", "stability", "accepting", "validity_bound")
    for name in ("cy", "gus"):
        assert [rows[name][key] for key in names] == [None] * 6
    assert [rows["ann"][key] for key in names] == [None, None, 0.9, 0.85, None, None]


def test_alternatives_stand_with_whom_they_are_for() -> None:
    rows = {row["applicant"]: row for row in applicant_rows(two_ways(), ())}
    assert [one["changes"] for one in rows["dee"]["alternatives"]] == [["amount: 500 → 90"]]
    assert not any(row["alternatives"] for name, row in rows.items() if name != "dee")


def test_promises_that_a_new_model_keeps_are_told_from_those_it_does_not() -> None:
    answers = made()
    one = {r["applicant"]: r for r in applicant_rows(answers, [checked(answers, ["bob", "eve"])])}
    assert [one[name]["kept_said"] for name in ("bob", "dee", "eve")] == ["kept", "lost", "kept"]
    assert (one["ann"]["kept"], one["cy"]["kept_said"]) == ([], "")
    checks = [checked(answers, ["bob"]), checked(answers, ["bob", "dee"])]
    two = {row["applicant"]: row for row in applicant_rows(answers, checks)}
    assert two["dee"]["kept"] == [False, True]
    assert [two[name]["kept_said"] for name in ("bob", "dee", "hal")] == [
        "2 of 2",
        "1 of 2",
        "0 of 2",
    ]


def test_every_outcome_is_counted() -> None:
    counts = {row["outcome"]: row["people"] for row in outcomes(made())}
    assert counts == {
        "Answered": 3,
        "Best found": 1,
        "Not feasible": 2,
        "Gave up": 1,
        "Already accepted": 1,
    }
    assert all(row["meaning"] for row in outcomes(made()))


def test_what_else_was_measured_stands_in_the_row() -> None:
    measured = {"retraining_margin": np.arange(8.0), "outlier_score": np.full(8, np.nan)}
    rows = {row["applicant"]: row for row in applicant_rows(made(measured=measured), ())}
    assert rows["dee"]["measured"] == {"retraining_margin": 3.0, "outlier_score": None}
    assert rows["ann"]["measured"] == rows["cy"]["measured"] == {}


def test_who_cannot_be_read_has_an_outcome_of_their_own() -> None:
    score = made().score.copy()
    score[[2, 3]] = np.nan  # of cy, who is infeasible, and of dee, who has an answer
    answers = replace(made(), score=score)
    ended = {row["outcome"]: row for row in outcomes(answers)}
    assert (ended["Not readable"]["people"], ended["Not feasible"]["people"]) == (1, 1)
    assert "neither accepts nor declines" in ended["Not readable"]["meaning"]
    assert list(ended)[-2:] == ["Not readable", "Already accepted"]
    rows = {row["applicant"]: row for row in applicant_rows(answers, ())}
    assert (rows["cy"]["status"], rows["cy"]["outcome"]) == ("unreadable", "Not readable")
    assert rows["dee"]["outcome"] == "Answered"
    assert {row["outcome"] for row in reasons(answers)} >= {"Not readable", "Not feasible"}


def meaning(answers: Counterfactuals, outcome: str) -> str:
    (said,) = [row["meaning"] for row in outcomes(answers) if row["outcome"] == outcome]
    return str(said)


def test_what_an_outcome_means_depends_on_what_was_asked_and_measured() -> None:
    assert meaning(made(), "Answered").endswith("It passed every test that was asked of it.")
    assert "test" not in meaning(made(settings={"norm": 1}), "Answered")
    best = meaning(made(), "Best found")
    assert "did not pass every test that was asked of it. A retrained model may well" in best
    assert "may well decline" not in meaning(certified(10, 9, 3, 8), "Best found")
    assert meaning(certified(10, 9, 3, 8), "Best found").endswith("No promise should rest on it.")


@pytest.mark.parametrize(
    ("norm", "cost"), [(1, "the sum of all changes"), (2, "the length of the")]
)
def test_how_to_read_the_rows_is_said(norm: int, cost: str) -> None:
    first, second = about_rows(certified(10, 9, 3, 8, norm=norm))
    assert first.startswith(f"Cost is {cost}")
    assert "unit of cost" in first
    assert "range" not in first
    assert second.startswith("Retrained says how many of 10 retrained models accept it; with it")
    single = about_rows(certified(1, 1, 0, 1, n_models=1))[1]
    assert single.startswith("Retrained says whether (1) or not (0) the retrained model accepts it")
    assert second.endswith("with 95% confidence.")
    assert about_rows(made(norm=norm)) == [first]


def test_reasons_are_grouped_and_obstacles_counted() -> None:
    found = reasons(made())
    assert [(row["reason"], row["people"]) for row in found] == [
        ("no row of the support is accepted once it keeps the rules", 2),
        ("no point passed R >= 0.8", 1),
        ("none of the 9 nearest rows is accepted", 1),
    ]
    assert found[0]["obstacles"] == [
        {"what": "amount (fixed, at most 3)", "people": 2},
        {"what": "age (fixed)", "people": 1},
    ]
    assert found[1]["obstacles"] == []
    assert found[0]["outcome"] == "Not feasible"


def test_what_is_asked_counts_only_full_answers() -> None:
    asked = asked_of_people(made())
    costs = [0.5, 1.25, 0.4]
    assert asked["cost"]["mean"] == pytest.approx(np.mean(costs))
    assert asked["cost"]["median"] == 0.5
    assert asked["cost"]["most"] == 1.25
    assert asked["n_changes"]["mean"] == pytest.approx(4 / 3)
    assert asked["norm"] == 1


def test_nobody_answered_asks_for_nothing() -> None:
    some = made()
    nobody = replace(some, status=np.array([some.status[2]] * len(some)))
    assert set(asked_of_people(nobody)["cost"].values()) == {None}


def test_people_are_named_as_the_caller_names_them() -> None:
    some = made()
    pairs = pd.MultiIndex.from_arrays([list("aabbccdd"), range(8)])
    by_two = replace(some, applicants=some.applicants.set_index(pairs))
    assert applicant_rows(by_two, ())[0]["applicant"] == "a / 1"
    arrays = replace(some, applicants=some.applicants.to_numpy(), points=some.points.to_numpy())
    assert applicant_rows(arrays, ())[0]["applicant"] == "1"
