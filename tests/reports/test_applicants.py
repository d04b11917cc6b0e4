from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from report_cases import certified, checked, made, two_ways
from robx.reports.applicants import about_rows, applicant_rows, asked_of_people


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
        "validity_bound": pytest.approx(beta.ppf(0.05, 9, 2)),
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


def test_what_else_was_measured_stands_in_the_row() -> None:
    measured = {"margin": np.arange(8.0), "outlier score": np.full(8, np.nan)}
    rows = {row["applicant"]: row for row in applicant_rows(made(measured=measured), ())}
    assert rows["dee"]["measured"] == {"margin": 3.0, "outlier score": None}
    assert rows["ann"]["measured"] == rows["cy"]["measured"] == {}


@pytest.mark.parametrize(
    ("norm", "cost"), [(1, "the sum of all changes"), (2, "the length of the")]
)
def test_how_to_read_the_rows_is_said(norm: int, cost: str) -> None:
    first, second = about_rows(certified(10, 9, 3, 8, norm=norm))
    assert first.startswith(f"Cost is {cost}")
    assert "unit of cost" in first
    assert "range" not in first
    models = "The column for retrained models says "
    assert second.startswith(f"{models}how many of 10 retrained models accept the answer, and the")
    single = about_rows(certified(1, 1, 0, 1, n_models=1))[1]
    assert single.startswith(f"{models}whether (1) or not (0) the retrained model accepts the")
    assert second.endswith("with 95% confidence.")
    assert about_rows(made(norm=norm)) == [first]


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


def test_a_status_that_is_not_known_here_stands_before_those_who_are_accepted() -> None:
    some = made()
    status = some.status.copy()
    status[:] = ["already accepted", "new", "ok", "precluded", "ok", "ok", "ok", "nothing found"]
    rows = applicant_rows(replace(some, status=status), ())
    assert [row["outcome"] for row in rows[4:]] == [
        *("Nothing found", "Precluded", "New", "Already accepted")
    ]


def test_stability_is_explained_where_it_stands() -> None:
    several = {"tau": 0.34, "tau_reason": "R >= 0.34, margin >= 2", "why": "level 0.7 asks"}
    (said,) = about_rows(made(settings=several, measured={"margin": np.ones(8)}))
    assert "Stability is the mean minus the standard deviation of the model's score" in said
    assert "Here it had to reach 0.34, as one of several tests: level 0.7 asks." in said
    (alone,) = about_rows(made())
    assert alone.endswith("can be a good one. Here it had to reach 0.8.")
    (none,) = about_rows(made(settings={}))
    assert none.endswith("It is not a probability of acceptance, and no minimum was asked for.")
