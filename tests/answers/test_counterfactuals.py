from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from robx import Counterfactuals, Problem, Schema, Status


def people(n: int = 150, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"income": rng.random(n).round(2), "savings": rng.integers(0, 3, n)})


@cache
def problem() -> Problem:
    table = people()
    accepted = (table["income"] + 0.3 * table["savings"] > 0.8).astype(int)
    model = RandomForestClassifier(10, random_state=0, n_jobs=1).fit(table, accepted)
    schema = Schema.infer(table).override(
        savings={
            "kind": "ordinal",
            "levels": {0: "under 100", 1: "100 to 500", 2: "500 or more"},
            "change": "increase",
        }
    )
    return Problem(model, table, schema)


#: Somebody who is accepted, who cannot be answered, and two who can.
FOUR = pd.DataFrame(
    {"income": [0.9, np.inf, 0.1, 0.3], "savings": [2, 0, 0, 1]}, index=list("wxyz")
)


def answer(table: Any = FOUR, **parameters: Any) -> Counterfactuals:
    return robx.RobX(**parameters, noise=robx.Noise(n_draws=64)).explain(problem(), table)


def test_row_i_answers_applicant_i() -> None:
    found = answer()
    assert found.status.tolist() == [Status.ACCEPTED, Status.INFEASIBLE, Status.OK, Status.OK]
    assert found.ok.tolist() == [False, False, True, True]
    assert found.reason[:2] == ("", "income is infinite")
    assert found.points.index.tolist() == list("wxyz")
    assert found.points.loc[["w", "x"]].equals(FOUR.loc[["w", "x"]])
    assert found.cost[:2].tolist() == [0, 0]
    assert np.isnan(found.score[1])
    assert np.isnan(found.stability[1])
    assert len(found) == 4


def test_what_the_base_gave_is_kept_for_every_row() -> None:
    found = answer()
    assert found.base is not None
    assert found.base.method == "NearestNeighbour"
    assert found.base.status.tolist() == found.status.tolist()
    assert found.base.reason == found.reason
    assert (found.base.cost[found.ok] > 0).all()
    assert answer(base=None).base is None


def test_everybody_accepted_still_has_a_base_that_says_so() -> None:
    found = answer(FOUR[:1])
    assert found.base is not None
    assert found.base.status.tolist() == [Status.ACCEPTED]
    assert "tau" in found.settings


def test_words_say_what_to_change_or_why_not() -> None:
    found = answer()
    assert found.words(0).startswith("Already accepted (score ")
    assert found.words(1) == "No answer, infeasible: income is infinite."
    assert found.words(2).startswith("Accepted (score ")
    assert any("→" in line for line in found.words(2).splitlines())
    hard = answer(tau=5.0)
    assert hard.status[2] == Status.UNSTABLE
    assert hard.words(2).startswith("Best found (score ")
    assert "no point passed tau = 5; the best seen has R = " in hard.words(2)
    said = [line for lines in found.changes for line in lines]
    assert any(line.startswith("savings: under 100 → ") for line in said) or any(
        line.startswith("income: ") for line in said
    )


def test_the_summary_has_a_row_for_everybody() -> None:
    summary = answer().summary
    assert summary.index.tolist() == list("wxyz")
    assert summary.columns.tolist() == [
        *("status", "cost", "n_changes", "score", "stability", "changes", "reason")
    ]
    assert summary["status"].tolist() == ["already accepted", "infeasible", "ok", "ok"]
    assert summary["n_changes"].tolist()[:2] == [0, 0]
    assert all("→" in text for text in summary["changes"][2:])


KINDS: list[Callable[[pd.DataFrame], Any]] = [
    lambda t: t,
    pl.from_pandas,
    lambda t: pa.Table.from_pandas(t, preserve_index=False),
    lambda t: t.to_numpy(),
    lambda t: t.to_numpy().tolist(),
]


@pytest.mark.parametrize("make", KINDS, ids=["pandas", "polars", "pyarrow", "numpy", "list"])
def test_views_and_files_work_for_every_kind_of_table(tmp_path: Path, make: Any) -> None:
    found = answer(make(FOUR))
    assert found.changes == answer().changes
    assert len(found.summary) == 4
    assert len(found.frame.columns) == 2 if hasattr(found.frame, "columns") else True
    found.save(tmp_path / "a.json")
    loaded = Counterfactuals.load(tmp_path / "a.json")
    assert loaded.to_json() == found.to_json()
    assert type(loaded.points) is type(found.points)
    assert loaded.status.tolist() == found.status.tolist()
    assert loaded.changes == found.changes
    assert loaded.schema == found.schema
    for name in ("cost", "score", "stability", "n_changes"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(found, name))


def test_an_array_gets_names_in_its_frame() -> None:
    found = answer(FOUR.to_numpy())
    assert found.frame.columns.tolist() == ["income", "savings"]
    assert (found.frame.to_numpy()[2:] == found.points[2:]).all()


def test_an_empty_batch_has_empty_views(tmp_path: Path) -> None:
    found = answer(FOUR[:0])
    assert len(found) == len(found.summary) == len(found.changes) == 0
    assert repr(found) == "<Counterfactuals by RobX: no applicants>"
    found.save(tmp_path / "a.json")
    assert len(Counterfactuals.load(tmp_path / "a.json")) == 0


def test_the_repr_counts() -> None:
    assert repr(answer()) == "<Counterfactuals by RobX: 2 ok, 1 already accepted, 1 infeasible>"


def test_json_holds_no_nan_and_all_in_words() -> None:
    plain = json.loads(answer().to_json())
    assert plain["score"][1] is None
    assert plain["status"] == ["already accepted", "infeasible", "ok", "ok"]
    assert plain["changes"][2]
    assert plain["base"]["method"] == "NearestNeighbour"
    assert "NaN" not in answer().to_json()


def places(plain: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything inside plain values."""
    inside = plain if isinstance(plain, dict) else range(min(len(plain), 2))
    for key in inside:
        yield (*at, key)
        if isinstance(plain[key], dict | list):
            yield from places(plain[key], (*at, key))


def test_damaged_files_are_refused_or_read_never_a_crash() -> None:
    plain = answer(FOUR.to_numpy(), base=None).to_dict()
    plain = json.loads(json.dumps(plain))
    refused = 0
    values: list[Any] = [None, 5, "x", [], {}, [[1]], -1.5]
    for place in places(plain):
        for value in values:
            damaged = copy.deepcopy(plain)
            inner = damaged
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
            try:
                made = Counterfactuals.from_dict(damaged)
                assert len(made.summary) == 4
                assert [made.words(i) for i in range(4)]
            except robx.RobxError:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "'a.json' is not JSON: "),
        ("[]", "These are not counterfactuals that this version of robx wrote."),
        ('{"robx_counterfactuals": 99}', "These are not counterfactuals that this version of robx"),
        ('{"robx_counterfactuals": 2}', "The counterfactuals are damaged: KeyError('base')."),
        (
            '{"robx_counterfactuals": 1}',
            "are in format 1, of an earlier version of robx; this version reads format 2.",
        ),
    ],
)
def test_files_of_other_things_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(robx.InvalidInput) as caught:
        Counterfactuals.load(tmp_path / "a.json")
    assert message in str(caught.value)


def test_answers_within_answers_without_end_are_refused() -> None:
    plain = answer(FOUR.to_numpy(), base=None).to_dict()
    for _ in range(40):
        plain = {**plain, "base": plain}
    with pytest.raises(robx.InvalidInput, match="damaged: nested more than 32 deep"):
        Counterfactuals.from_dict(plain)


def test_columns_that_differ_in_length_are_refused() -> None:
    plain = answer().to_dict()
    for name in ("cost", "reason", "score"):
        short = {**plain, name: plain[name][:-1]}
        with pytest.raises(robx.InvalidInput, match="damaged: columns differ in length"):
            Counterfactuals.from_dict(short)
    other = {**plain, "points": answer(FOUR[:2]).to_dict()["points"]}
    with pytest.raises(robx.InvalidInput, match="damaged: columns differ in length"):
        Counterfactuals.from_dict(other)


def test_a_file_has_one_ending_and_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(robx.InvalidInput, match=r"saved as .json or .parquet.* Got 'a.yaml'"):
        answer().save(tmp_path / "a.yaml")
    with pytest.raises(robx.InvalidInput, match="There is no file at"):
        Counterfactuals.load(tmp_path / "none.json")


# --- what a method measures ----------------------------------------------------------------------


def test_what_a_method_measures_stands_in_its_rows() -> None:
    found = robx.Closest().explain(problem(), FOUR)
    bound = found.measured["bound"]
    assert np.isnan(bound[:2]).all()  # one is accepted, one cannot be answered
    np.testing.assert_allclose(bound[2:], found.cost[2:], atol=1e-7)
    assert found.summary["bound"].tolist()[2:] == bound[2:].tolist()
    assert found.summary.index.tolist() == list("wxyz")
    assert answer().measured == {}
    assert "bound" not in answer().summary


def test_what_was_measured_of_an_answer_that_is_withdrawn_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = robx.Closest.search

    def spoiled(self: Any, asked: Problem, who: Any, rows: Any) -> Any:
        found = search(self, asked, who, rows)
        found.points[0] = who.matrix[0]  # which is declined
        return found

    monkeypatch.setattr(robx.Closest, "search", spoiled)
    found = robx.Closest().explain(problem(), FOUR)
    assert found.status[2:].tolist() == [Status.INFEASIBLE, Status.OK]
    assert np.isnan(found.measured["bound"][2])
    assert found.measured["bound"][3] > 0


def test_parts_are_joined_with_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = robx.Closest().explain(problem(), FOUR)
    monkeypatch.setattr(robx.Closest, "chunk", 1)
    parts = robx.Closest().explain(problem(), FOUR)
    assert whole.measured["bound"].tobytes() == parts.measured["bound"].tobytes()


def test_measured_numbers_are_saved_and_files_without_them_still_load(tmp_path: Path) -> None:
    found = robx.Closest().explain(problem(), FOUR)
    found.save(tmp_path / "answer.json")
    loaded = Counterfactuals.load(tmp_path / "answer.json")
    np.testing.assert_array_equal(loaded.measured["bound"], found.measured["bound"])
    plain = json.loads(found.to_json())
    assert plain["measured"]["bound"][0] is None
    del plain["measured"]
    assert Counterfactuals.from_dict(plain).measured == {}


@pytest.mark.parametrize("measured", [{"bound": [1.0]}, {"bound": ["x"] * 4}, [1.0], None])
def test_damaged_measured_numbers_are_refused(measured: Any) -> None:
    plain = robx.Closest().explain(problem(), FOUR).to_dict()
    with pytest.raises(robx.InvalidInput, match="damaged"):
        Counterfactuals.from_dict({**plain, "measured": measured})


@pytest.mark.parametrize("status", [s for s in Status if s not in {"ok", "unstable"}])
def test_nobody_without_an_answer_is_told_to_be_accepted_by_one(status: Status) -> None:
    found = answer(FOUR)
    told = replace(found, status=np.full(len(found), status, dtype=object), reason=("why",) * 4)
    said = told.words(2)
    assert "with:" not in said
    assert said.startswith("Already accepted" if status == "already accepted" else "No answer, ")
