from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from report_cases import certified, made
from robx.answers import Counterfactuals, Status
from robx.reports import report
from robx.reports.applicants import applicant_rows
from robx.reports.outcomes import OUTCOMES, in_order, outcome_of, outcomes, reasons

#: Statuses that are about to come, and one that nobody knows.
NEW = ("nothing found", "precluded", "interrupted")


def test_every_outcome_is_counted() -> None:
    counts = {row["outcome"]: row["people"] for row in outcomes(made())}
    assert counts == {
        "Answered": 3,
        "Best found": 1,
        "Not feasible": 2,
        "Budget used up": 1,
        "Already accepted": 1,
    }
    assert all(row["meaning"] for row in outcomes(made()))


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
    assert meaning(made(), "Answered").endswith("It passes every test.")
    assert "passes" not in meaning(made(settings={"norm": 1}), "Answered")
    best = meaning(made(), "Best found")
    assert "does not pass every test. A retrained model may well decline it." in best
    assert "may well decline" not in meaning(certified(10, 9, 3, 8), "Best found")
    assert meaning(certified(10, 9, 3, 8), "Best found").endswith("Do not promise it.")


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


def test_obstacles_are_data_and_not_read_from_the_reason() -> None:
    odd = "no row of the support is accepted once it keeps a, b (c, d)"
    some = replace(made(), reason=tuple(odd if r else "" for r in made().reason), obstacles=())
    (group, *_) = reasons(some)
    assert (group["reason"], group["obstacles"]) == (odd, [])
    known = replace(some, obstacles=(("a, b (c, d)",),) * 8)
    (group, *_) = reasons(known)
    assert group["reason"] == "no row of the support is accepted once it keeps the rules"
    assert group["obstacles"] == [{"what": "a, b (c, d)", "people": group["people"]}]


def with_status(status: str) -> Counterfactuals:
    """Give answers in which cy has this status."""
    some = made()
    changed = some.status.copy()
    changed[2] = status
    return replace(some, status=changed)


def test_every_status_has_words_of_its_own() -> None:
    assert {str(status) for status in Status} <= set(OUTCOMES)
    assert len({one.label for one in OUTCOMES.values()}) == len(OUTCOMES)
    assert len({one.tone for one in OUTCOMES.values()}) == len(OUTCOMES)


def test_a_longer_search_may_help_only_where_the_budget_was_used_up() -> None:
    for status in (*OUTCOMES, *NEW):
        said = outcome_of(status).meaning + outcome_of(status).sentence
        assert ("a longer search may find" in said) == (status == "budget used up")
    assert "a longer search will not help" in outcome_of("nothing found").meaning
    assert outcome_of("precluded").meaning == (
        "It is proved that no change that the schema allows is accepted by this model."
    )


@pytest.mark.parametrize("status", NEW)
def test_a_status_that_does_not_exist_yet_is_counted_explained_and_drawn(status: str) -> None:
    made_of = report(with_status(status))
    label = outcome_of(status).label
    (row,) = [one for one in made_of.summary["outcomes"] if one["status"] == status]
    assert (row["outcome"], row["people"]) == (label, 1)
    assert row["meaning"] in made_of.html.replace("&#39;", "'")
    assert f'<span class="key tone-{outcome_of(status).tone}"></span>{label}' in made_of.html
    assert f"| {label} | 1 |" in made_of.markdown
    assert f"For 1, {outcome_of(status).sentence}" in made_of.summary["headline"]["sentences"]
    assert made_of.summary["headline"]["numbers"][0]["value"] == "7"
    assert not [one for one in outcomes(made()) if one["status"] in NEW]


def test_unknown_statuses_stand_before_those_who_need_no_answer() -> None:
    order = in_order(Counter(["later", "unreadable", "precluded", "nothing found"]))
    assert order == [
        *("ok", "unstable", "infeasible", "nothing found", "precluded", "budget used up"),
        *("later", "unreadable", "already accepted"),
    ]
