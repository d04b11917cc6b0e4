from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from report_cases import certified, checked, made
from robx.answers import Counterfactuals, Status
from robx.promises import Issued
from robx.reports import report


def headline(answers: Counterfactuals, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = report(answers, **more).summary["headline"]
    return told


def validity_of(answers: Counterfactuals) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = report(answers).summary["validity"]
    return rows


def few(answers: Counterfactuals, *places: int) -> Counterfactuals:
    """Give the answers of some people only."""
    rows = list(places)
    certificate = answers.certificate
    if certificate is not None:
        votes = certificate.accepting[rows], certificate.covers[rows]
        certificate = replace(certificate, accepting=votes[0], covers=votes[1])
    arrays = ("status", "cost", "score", "stability", "n_changes")
    return replace(
        answers,
        applicants=answers.applicants.iloc[rows],
        points=answers.points.iloc[rows],
        reason=tuple(answers.reason[i] for i in rows),
        certificate=certificate,
        **{name: getattr(answers, name)[rows] for name in arrays},
    )


def test_one_and_two_are_said_as_people_say_them() -> None:
    ann, bob, cy, dee = range(4)
    passes = " and passes the test of stability."
    leads = {
        (ann,): "The model accepts the only applicant: nobody needs to change anything.",
        (ann, ann): "The model accepts both applicants: nobody needs to change anything.",
        (bob,): f"The model declines the only applicant. For them a change was found that gets "
        f"them accepted{passes}",
        (cy,): f"The model declines the only applicant. For them no change was found that gets "
        f"them accepted{passes}",
        (bob, dee): "The model declines both applicants. For both of them a change was found that "
        f"gets them accepted{passes}",
        (ann, bob): "The model declines 1 of 2 applicants. For them a change was found that gets "
        f"them accepted{passes}",
    }
    for places, lead in leads.items():
        assert headline(few(made(), *places))["lead"] == lead
    one = headline(few(made(), bob))["numbers"]
    assert [(number["value"], number["label"]) for number in one[2:]] == [("1", "change")]
    assert [number["value"] for number in headline(few(made(), dee))["numbers"][2:]] == ["2"]


def test_one_model_and_one_answer_are_no_average() -> None:
    (of_one,) = headline(few(certified(7, 9, 0, 8), 1))["sentences"]
    assert of_one.startswith("The answer is accepted by 70% of 10 retrained models (95% interval")
    single = certified(1, 1, 0, 0, n_models=1)
    assert headline(single)["sentences"][0].startswith(
        "The retrained model accepts 66.7% of the answers (95% interval: "
    )
    assert headline(single)["numbers"][-1]["label"] == "of answers accepted by the retrained model"


def test_a_method_with_more_tests_than_that_of_stability_passes_every_test() -> None:
    answers = made(measured={"margin": np.ones(8)})
    assert headline(answers)["lead"].endswith("gets them accepted and passes every test.")


def test_who_cannot_be_read_is_neither_accepted_nor_declined() -> None:
    score = made().score.copy()
    score[2] = np.nan  # cy, who is infeasible
    told = headline(replace(made(), score=score))
    assert told["lead"].startswith("The model declines 6 of 7 applicants. For 3 of them")
    assert told["sentences"][-1] == (
        "The model cannot read 1 applicant, who counts neither as accepted nor as declined."
    )
    assert "For 1, no change was found that the schema allows." in told["sentences"]
    assert told["numbers"][1]["note"] == "50% of the declined"
    unread = replace(few(made(), 2, 5), score=np.full(2, np.nan))
    assert headline(unread) == {
        "lead": "The model cannot read any of the 2 applicants, so there is nothing to report.",
        "sentences": [],
        "numbers": [],
    }
    accepted = few(replace(made(), score=score), 0, 2)
    assert headline(accepted)["lead"] == (
        "The model accepts the only applicant that it can read: nobody needs to change anything."
    )
    assert len(headline(accepted)["sentences"]) == 1


def test_the_lead_says_how_many_were_declined_and_answered() -> None:
    assert headline(made())["lead"] == (
        "The model declines 7 of 8 applicants. For 3 of them a change was found that gets them "
        "accepted and passes the test of stability."
    )


def test_a_method_without_a_test_of_stability_claims_none() -> None:
    plain = made(settings={"norm": 1})
    lead = headline(few(plain, 0, 1, 2, 3, 5, 6, 7))["lead"]
    assert lead.endswith("For 3 of them a change was found that gets them accepted.")
    # Eve's answer did not pass a test, so there was one.
    assert headline(plain)["lead"].endswith("that gets them accepted and passes every test.")


def test_all_and_none_are_said_in_words() -> None:
    everybody = replace(made(), status=np.array([Status.OK] * 8))
    assert "declines all 8 applicants. For all of them a change" in headline(everybody)["lead"]
    nobody = replace(made(), status=np.array([Status.BUDGET] * 8))
    assert "For none of them was a change found that gets" in headline(nobody)["lead"]
    accepted = replace(made(), status=np.array([Status.ACCEPTED] * 8))
    told = headline(accepted)
    assert told["lead"] == "The model accepts all 8 applicants: nobody needs to change anything."
    assert told["numbers"] == []
    (doubt,) = told["sentences"]
    assert doubt == (
        "This is nearly always the wrong way round: class 1 counts as accepted here. It may be the "
        "outcome that applicants want to avoid."
    )
    assert headline(few(accepted, 0, 1, 2, 3))["sentences"] == []


def test_the_sentences_say_how_sure_it_is_and_what_became_of_the_others() -> None:
    sentences = headline(certified(10, 9, 0, 8))["sentences"]
    low, high = validity_of(certified(10, 9, 0, 8))[0]["between"].split(" to ")
    assert sentences[0] == (
        "On average, an answer is accepted by 90% of 10 retrained models (95% interval: "
        f"{low} to {high})."
    )
    best, none, gave_up = sentences[1:]
    assert best == (
        "For 1, the best change that was found is accepted today but does not pass every test: do "
        "not promise it."
    )
    assert none == "For 2, no change was found that the schema allows."
    assert gave_up == ("For 1, the search used up its budget; a longer search may find an answer.")


def test_that_no_model_was_asked_is_said() -> None:
    assert "so there is no certificate" in headline(made())["sentences"][0]
    assert "no certificate" not in " ".join(headline(certified(1, 2, 3, 4))["sentences"])


def test_the_numbers_are_the_ones_behind_the_words() -> None:
    numbers = headline(certified(10, 9, 0, 8))["numbers"]
    assert [(one["value"], one["label"], one["sure"]) for one in numbers] == [
        ("7", "declined", False),
        ("3", "answered", False),
        ("1.3", "changes", False),
        ("90%", "of retrained models accept", True),
    ]
    assert numbers[0]["note"] == "of 8 applicants"
    assert numbers[1]["note"] == "42.9% of the declined"
    assert numbers[2]["note"] == "on average; mean cost 0.72"
    assert numbers[3]["note"].startswith("95% interval ")


def test_the_tile_shows_the_worst_of_several_new_models_by_its_file() -> None:
    answers = made()
    names = {"march.ubj": ["bob", "dee"], "april.ubj": ["dee"], "may.ubj": ["bob", "dee", "hal"]}
    checks = [replace(checked(answers, kept), model={"file": file}) for file, kept in names.items()]
    told = headline(answers, checks=checks)
    tile = told["numbers"][-1]
    assert (tile["value"], tile["label"]) == (
        "33.3%",
        "of promises kept by the worst of 3 new models",
    )
    assert tile["note"].startswith("april.ubj; 95% interval ")
    for k, file in enumerate(names):
        assert any(s.startswith(f"New model {k + 1} ({file}) keeps") for s in told["sentences"])
    alone = headline(answers, checks=checks[:1])
    assert alone["numbers"][-1]["label"] == "of promises kept"
    assert any(s.startswith("The new model (march.ubj) keeps 2 of 3") for s in alone["sentences"])


def test_the_model_of_the_answers_has_no_tile() -> None:
    answers = made()
    issued = (Issued(None, None, "abc123", len(answers), True),)
    same = replace(checked(answers, ["bob"]), model={"digest": "abc123"}, issued=issued)
    told = headline(answers, checks=[same])
    assert all("promises" not in tile["label"] for tile in told["numbers"])
    assert "This is the model that the answers were issued under" in " ".join(told["sentences"])
    both = headline(answers, checks=[same, checked(answers, ["bob", "dee"])])
    assert both["numbers"][-1]["value"] == "66.7%"
    assert both["numbers"][-1]["label"] == "of promises kept"


def test_what_was_taken_for_granted_is_said_at_the_top() -> None:
    origin = {**made().origin, "wanted": "good = 1"}
    assert headline(made(origin=origin))["sentences"][0] == "Applicants want: good = 1."
    guessed = headline(made(origin={**origin, "schema": "guessed"}))["sentences"]
    assert guessed[1].startswith("The schema was guessed from the training rows: nobody has stated")
    assert "guessed" not in " ".join(
        headline(made(origin={**origin, "schema": "given"}))["sentences"]
    )


def test_every_test_is_named_where_an_answer_passes_every_test() -> None:
    settings = {"tau": 0.34, "tau_reason": "R >= 0.34, margin >= 2", "why": "level 0.7 asks"}
    answers = made(settings=settings, measured={"margin": np.ones(8)})
    told = headline(answers)
    assert "passes every test" in told["lead"]
    assert "The tests of an answer: stability R >= 0.34, margin >= 2." in told["sentences"]
    assert "The tests" not in " ".join(headline(made())["sentences"])
