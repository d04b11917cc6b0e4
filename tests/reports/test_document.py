from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import robx
from report_cases import certified, made, two_ways
from robx.answers import Counterfactuals
from robx.promises import check
from robx.reports import report

X, Y, GERMAN = robx.datasets.load_german()


@pytest.fixture(scope="module")
def tree() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(8, max_depth=4, random_state=0).fit(X[:400], Y[:400])


@pytest.fixture(scope="module")
def answers(tree: Any) -> Counterfactuals:
    how: dict[str, Any] = {"y_train": Y[:400], "schema": GERMAN, "n_models": 6, "threshold": 0.65}
    how["keep"] = None
    return robx.explain(tree, X[:400], X[400:470], **how)


def test_a_report_of_real_answers_counts_what_the_answers_say(answers: Counterfactuals) -> None:
    summary = report(answers).summary
    counts = {row["status"]: row["people"] for row in summary["outcomes"]}
    assert counts["ok"] == answers.ok.sum() > 3
    assert sum(counts.values()) == len(answers) == len(summary["applicants"])
    certificate = answers.certificate
    assert certificate is not None
    share = certificate.accepting[answers.ok].mean() / certificate.n_models
    assert summary["validity"][0]["value"] == pytest.approx(share)
    first = summary["applicants"][0]
    i = int(np.flatnonzero(answers.ok)[0])
    assert first["applicant"] == str(answers.applicants.index[i])
    assert first["changes"] == list(answers.changes[i])
    assert (first["cost"], first["score"]) == (answers.cost[i], answers.score[i])


def test_checks_evaluation_and_stability_add_their_parts(
    answers: Counterfactuals, tree: Any
) -> None:
    problem = robx.Problem(tree, X[:400], GERMAN)
    models = [type(tree)(8, max_depth=4, random_state=k).fit(X[:400], Y[:400]) for k in (1, 2)]
    methods = {"NN": robx.NearestNeighbour()}
    table = robx.evaluate(problem, methods, models, applicants=X[400:440])
    from robx.plots import stability_table

    measured = stability_table(problem)
    made_of_all = report(
        answers, checks=[check(answers, models[0])], evaluation=table, stability=measured
    )
    kinds = [one["kind"] for one in made_of_all.summary["pictures"]]
    assert kinds == ["asked", "answers", "example", "support", "frontier"]
    assert [row["source"] for row in made_of_all.summary["validity"]] == [
        *("certificate", "certificate", "check", "evaluation")
    ]
    assert made_of_all.html.count("<figure") == 5
    assert '<th scope="col">New model</th>' in made_of_all.html
    assert '<td class="kept">kept</td>' in made_of_all.html
    assert "| Retrained models | New models |" in made_of_all.markdown
    support = made_of_all.summary["pictures"][3]
    bars = [row for row in support["rows"] if row["column"] == "stability"]
    assert sum(row["rows"] for row in bars) == (measured["stability"] >= support["tau"]).sum()
    assert sum(row["below"] for row in bars) == (measured["stability"] < support["tau"]).sum()
    assert support["tau"] == answers.settings["tau"]


def test_the_bars_of_a_large_support_count_every_row() -> None:
    values = np.random.default_rng(0).random(10_000)
    table = pd.DataFrame({"score": values, "mean": values, "stability": values})
    found = report(made(), stability=table)
    rows = found.summary["pictures"][-1]["rows"]
    assert len(rows) == 60
    expected = np.histogram(values, np.linspace(0, 1, 21))[0]
    for name in ("score", "stability"):
        counts = [row["rows"] + row["below"] for row in rows if row["column"] == name]
        assert counts == expected.tolist()
    assert "stability R, 10000 values" in found.html
    assert f"tau 0.8: {100 * (values >= 0.8).mean():.1f}% pass" in found.html


def test_what_is_asked_is_shown_also_of_the_best_found() -> None:
    best = made().status.copy()
    best[[1, 3, 7]] = robx.Status.UNSTABLE
    found = report(replace(made(), status=best))
    assert [one["kind"] for one in found.summary["pictures"]] == ["asked"]
    assert found.html.count("<figure") == 1
    assert "## What the answers ask for" in found.markdown
    assert "| savings | 3 | 75% |" in found.markdown


def test_the_example_is_an_answer_of_median_cost() -> None:
    example = report(made()).summary["pictures"][2]
    assert (example["applicant"], example["rows"][0]["words"]) == ("bob", "savings: none → some")
    assert example["rows"][0]["high"] == 1.0
    amount = report(replace(made(), cost=np.array([0, 9, 0, 1, 0, 0, 0, 0.5]))).summary["pictures"][
        2
    ]
    assert amount["applicant"] == "dee"
    assert amount["rows"][1]["high"] is None  # the schema states no bound


def test_tau_is_spoken_of_only_where_there_is_one() -> None:
    with_tau, without = (
        report(answers).summary["pictures"][1] for answers in (made(), made(settings={"norm": 1}))
    )
    assert (with_tau["tau"], without["tau"]) == (0.8, None)
    assert without["words"] == "Distribution over 3 full answers."
    assert with_tau["words"] == f"{without['words']} The stability had to reach tau = 0.8."
    counts = {row["low"]: row["rows"] for row in without["rows"] if row["column"] == "score"}
    assert [round(low, 9) for low, count in counts.items() if count] == [0.7, 0.8, 0.95]


@pytest.mark.parametrize(("tau", "words"), [(1.25, "tau 1.25: 0% pass →"), (-0.5, "← tau -0.5")])
def test_a_tau_that_is_not_drawn_is_said(tau: float, words: str) -> None:
    found = report(made(settings={"tau": tau}))
    assert found.summary["pictures"][1]["words"].endswith(f"reach tau = {tau:g}.")
    assert words in found.html


def test_json_is_the_summary_and_has_no_nan() -> None:
    for answers in (made(), certified(10, 9, 0, 8), two_ways()):
        found = report(answers)
        assert json.loads(found.json) == found.summary
        assert "NaN" not in found.json
        assert "Infinity" not in found.json


def test_the_same_answers_make_the_same_report() -> None:
    first, second = report(made()), report(made())
    assert first.html == second.html
    assert first.json == second.json
    assert first.markdown == second.markdown


def test_the_date_is_the_callers() -> None:
    assert report(made()).summary["date"] is None
    dated = report(made(), date="1 May 2031", title="For the board")
    for text in (dated.html, dated.markdown, dated.json):
        assert "1 May 2031" in text
        assert "For the board" in text
    assert not re.search(r"20[23]\d-\d\d-\d\d", report(made()).html)


@pytest.mark.parametrize("n", [0, 1])
def test_few_or_no_applicants_make_a_report_too(n: int) -> None:
    some = made()
    few = replace(
        some,
        applicants=some.applicants[:n],
        points=some.points[:n],
        status=some.status[:n],
        reason=some.reason[:n],
        **{name: getattr(some, name)[:n] for name in ("cost", "score", "stability", "n_changes")},
    )
    found = report(few)
    assert len(found.summary["applicants"]) == n
    assert "<h1>Recourse report</h1>" in found.html
    assert found.markdown.startswith("# Recourse report\n")
    assert found.summary["pictures"] == []


def test_arrays_and_polars_frames_are_reported_alike() -> None:
    some = made()
    polars = replace(
        some, applicants=pl.from_pandas(some.applicants), points=pl.from_pandas(some.points)
    )
    arrays = replace(some, applicants=some.applicants.to_numpy(), points=some.points.to_numpy())
    expected = [row["changes"] for row in report(some).summary["applicants"]]
    for other in (polars, arrays):
        rows = report(other).summary["applicants"]
        assert [row["changes"] for row in rows] == expected
        assert rows[0]["applicant"] == "1"


def test_a_report_is_saved_in_the_form_of_its_ending(tmp_path: Path) -> None:
    found = report(made())
    for ending, text in ((".html", found.html), (".md", found.markdown), (".json", found.json)):
        found.save(tmp_path / f"report{ending}")
        assert (tmp_path / f"report{ending}").read_text(encoding="utf-8") == text
    with pytest.raises(robx.InvalidInput, match=r"saved as .html, .md or .json. Got 'report.pdf'"):
        found.save(tmp_path / "report.pdf")
    assert len(list(tmp_path.iterdir())) == 3


def test_a_report_shows_its_lead() -> None:
    found = report(made())
    assert repr(found).startswith("<Report: The model declines 7 of 8")
    assert found._repr_html_().startswith("<p>The model declines 7 of 8")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"checks": "kept"},
            "The 'checks' parameter of report must be a list of results of robx.check",
        ),
        (
            {"checks": [1]},
            "The 'checks' parameter of report must be a list of results of robx.check",
        ),
        ({"title": 3}, "The 'title' parameter of report must be text, or None. Got 3 instead"),
        ({"date": 3}, "The 'date' parameter of report must be text, or None. Got 3 instead"),
        ({"evaluation": [1]}, "as robx.evaluate returns. Got list, which is not a pandas table."),
        (
            {"evaluation": pd.DataFrame({"method": [1], "seed": [1]})},
            "Missing: scenario, metric, value, low, high. Got: method, seed.",
        ),
        ({"stability": pd.DataFrame({"score": [1]})}, "Missing: mean, stability. Got: score."),
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(robx.InvalidInput, match=re.escape(said)):
        report(made(), **wrong)


def test_only_answers_are_reported() -> None:
    with pytest.raises(robx.InvalidInput, match="report takes answers, as .* Got DataFrame."):
        report(pd.DataFrame())  # type: ignore[arg-type]


def test_a_check_of_other_answers_is_refused(answers: Counterfactuals, tree: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="A check of 70 rows does not fit these 8 answers"):
        report(made(), checks=[check(answers, tree)])
    other = replace(answers, status=answers.status[::-1])
    with pytest.raises(robx.InvalidInput, match="number and status of the rows must be the same"):
        report(other, checks=[check(answers, tree)])
