from __future__ import annotations

import gzip
import json
import tracemalloc
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

import robx
from robx import Counterfactuals, Problem, Status
from robx.promises import Check, check
from robx.promises.folders import files_in


@cache
def data() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.random(300).round(2), "age": rng.integers(20, 60, 300)})
    return X, (X["income"] > 0.5).astype(int)


def forest(shift: float = 0.0, seed: int = 0) -> Any:
    X, _ = data()
    return RandomForestClassifier(10, random_state=seed, n_jobs=1).fit(
        X, (X["income"] > 0.5 + shift).astype(int)
    )


@cache
def answers() -> Counterfactuals:
    """Six promises, and one who is accepted already."""
    X, _ = data()
    people = X[X["income"] < 0.45][:6]
    rich = X[X["income"] > 0.9][:1]
    return robx.NearestNeighbour().explain(Problem(forest(), X), pd.concat([people, rich]))


def with_incomes(*incomes: float) -> Counterfactuals:
    """The same with other points."""
    points = answers().points.copy()
    points.iloc[: len(incomes), 0] = incomes
    return replace(answers(), points=points)


def test_a_promise_is_kept_if_the_new_model_accepts_the_very_point() -> None:
    new = forest(0.2)
    found = check(with_incomes(0.9, 0.9, 0.95, 0.95, 0.6, 0.6), new)
    assert found.promised.tolist() == [True] * 6 + [False]
    assert found.kept.tolist() == [True] * 4 + [False] * 3
    assert found.share == 4 / 6
    assert len(found) == 7
    points = with_incomes(0.9, 0.9, 0.95, 0.95, 0.6, 0.6).points[:6]
    np.testing.assert_allclose(found.score[:6], new.predict_proba(points)[:, 1])
    assert np.isnan(found.score[6])
    np.testing.assert_array_equal(found.score_before, answers().score)


def test_the_interval_is_that_of_jeffreys() -> None:
    found = check(with_incomes(0.9, 0.9, 0.95, 0.95, 0.6, 0.6), forest(0.2), confidence=0.9)
    low, high = beta(4.5, 2.5).ppf([0.05, 0.95])
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-9)
    all_kept = check(with_incomes(*[0.95] * 6), forest())
    assert all_kept.high == 1
    np.testing.assert_allclose(all_kept.low, beta(6.5, 0.5).ppf(0.025))
    none_kept = check(with_incomes(*[0.1] * 6), forest())
    assert (none_kept.share, none_kept.low) == (0, 0)
    np.testing.assert_allclose(none_kept.high, beta(0.5, 6.5).ppf(0.975))


def test_the_table_has_everybody_with_what_was_said() -> None:
    table = check(answers(), forest()).table
    assert table.columns.tolist() == [
        *("applicant", "status", "score_before", "score_now", "kept", "changes", "reason")
    ]
    assert table["applicant"].tolist() == answers().applicants.index.tolist()
    assert table["status"].tolist() == ["ok"] * 6 + ["already accepted"]
    assert table["changes"][0] == "; ".join(answers().changes[0])
    assert table["kept"].dtype == bool


def test_words_say_what_the_share_means() -> None:
    found = check(with_incomes(0.9, 0.9, 0.95, 0.95, 0.6, 0.6), forest(0.2))
    assert found.words == (
        "The new model keeps 4 of 6 promises (66.7%). For applicants like these, the 95% interval "
        f"is {100 * found.low:.1f}% to {100 * found.high:.1f}%."
    )
    assert repr(found) == "<Check: 4 of 6 promises kept>"


def test_one_promise_and_one_best_found_are_said_as_one() -> None:
    def of(places: list[int], incomes: list[float]) -> Check:
        status = answers().status.copy()
        status[:6] = Status.INFEASIBLE
        status[0], status[places] = Status.OK, Status.UNSTABLE
        return check(replace(with_incomes(*incomes), status=status), forest(seed=1))

    kept, lost = of([], [0.95] * 6), of([1], [0.1, 0.1, 0.9])
    assert kept.words.startswith("The new model keeps the only promise (100%). For")
    assert kept.words.endswith("to 100%.")
    assert repr(kept) == "<Check: 1 of 1 promise kept>"
    assert lost.words.startswith("The new model does not keep the only promise (0%).")
    assert lost.words.endswith(
        "It does not accept the one answer that was the best found but not promised."
    )
    assert of([1], [0.9, 0.9]).words.endswith(
        "It accepts the one answer that was the best found but not promised."
    )
    assert kept.say("new model 2").startswith("New model 2 keeps the only promise (100%).")


def test_answers_that_were_the_best_found_are_told_apart() -> None:
    status = answers().status.copy()
    status[:2] = [Status.UNSTABLE] * 2
    some = replace(with_incomes(0.95, 0.1, 0.95, 0.95, 0.95, 0.95), status=status)
    found = check(some, forest())
    assert found.promised.tolist() == [False] * 2 + [True] * 4 + [False]
    assert found.kept.tolist() == [True, False] + [True] * 4 + [False]
    assert found.share == 1
    assert found.words.endswith(
        "It accepts 1 of the 2 answers that were the best found but not promised."
    )


def test_without_a_promise_there_is_no_share() -> None:
    status = answers().status.copy()
    status[:] = Status.INFEASIBLE
    for none in (replace(answers(), status=status), answers_for(answers().applicants[:0])):
        found = check(none, forest())
        assert np.isnan([found.share, found.low, found.high]).all()
        assert found.words == "There is no promise for the new model to keep: no answer is ok."
        assert not found.kept.any()
        assert found.to_dict()["share"] is None


def answers_for(people: Any) -> Counterfactuals:
    return robx.NearestNeighbour().explain(Problem(forest(), data()[0]), people)


def test_alternatives_are_checked_too() -> None:
    both = replace(with_incomes(*[0.95] * 6), alternatives=(with_incomes(*[0.1] * 6),))
    found = check(both, forest())
    assert found.share == 1
    assert [other.share for other in found.alternatives] == [0]
    assert found.to_dict()["alternatives"][0]["share"] == 0


def test_everything_goes_into_json() -> None:
    found = check(with_incomes(0.9, 0.9, 0.95, 0.95, 0.6, 0.6), forest(0.2))
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["n_promises"] == 6
    assert plain["n_kept"] == 4
    assert plain["share"] == found.share
    new = robx.import_model(forest(0.2))
    assert isinstance(new, robx.TreeEnsemble)
    assert plain["model"]["digest"] == new.digest
    assert plain["model"]["kind"] == "tree ensemble"
    assert [row["kept"] for row in plain["answers"]] == [True] * 4 + [False] * 2


# --- where the answers come from ------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".json", ".parquet", ".csv", ".csv.gz"])
def test_files_say_the_same_as_the_answers(tmp_path: Path, ending: str) -> None:
    some = with_incomes(0.9, 0.9, 0.95, 0.95, 0.6, 0.6)
    some.save(tmp_path / f"a{ending}")
    found, straight = check(tmp_path / f"a{ending}", forest(0.2)), check(some, forest(0.2))
    pd.testing.assert_frame_equal(found.table, straight.table, check_dtype=False)
    assert found.words == straight.words


def test_a_table_says_the_same_as_the_answers() -> None:
    some = with_incomes(0.9, 0.9, 0.95, 0.95, 0.6, 0.6)
    found = check(some.table, forest(0.2))
    assert found.kept.tolist() == check(some, forest(0.2)).kept.tolist()


@pytest.mark.parametrize("make", [pl.from_pandas, lambda t: t.to_numpy()])
def test_every_kind_of_table_is_checked(make: Any) -> None:
    found = check(answers_for(make(answers().applicants)), forest())
    assert found.promised.sum() == 6
    assert found.share == 1


def test_a_level_that_looks_missing_is_text_in_a_csv_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"debtors": pd.Categorical(rng.choice(["None", "NA", "some"], 300))})
    X["income"] = rng.random(300).round(2)
    y = (X["income"] + 0.4 * (X["debtors"] == "None") > 0.7).astype(int)
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=20)
    found = robx.NearestNeighbour().explain(Problem(model.fit(X, y), X), X[y == 0][:20])
    found.save(tmp_path / "a.csv")
    straight = check(found, model)
    assert straight.share == 1
    np.testing.assert_array_equal(check(tmp_path / "a.csv", model).score, straight.score)


def test_threshold_and_target_come_from_the_answers_unless_given(tmp_path: Path) -> None:
    some = with_incomes(*[0.95] * 6)
    strict = replace(some, origin={**some.origin, "threshold": 0.9999, "target": 0})
    found = check(strict, forest())
    assert found.threshold == 0.9999
    assert found.share == 0
    assert check(strict, forest(), threshold=0.5, target=1).share == 1
    strict.save(tmp_path / "a.csv")
    found = check(tmp_path / "a.csv", forest())
    assert (found.threshold, found.share) == (0.9999, 0)
    assert check(tmp_path / "a.csv", forest(), threshold=0.5, target=1).share == 1
    some.save(tmp_path / "a.csv")
    assert check(tmp_path / "a.csv", forest()).threshold == 0.5
    assert check(tmp_path / "a.csv", forest(), target=0).share == 0
    assert check(replace(some, origin={}), forest()).threshold == 0.5


@pytest.mark.parametrize("labels", [("no", "yes"), ("0", "1"), (False, True), (-1.0, 2.0)])
@pytest.mark.parametrize("wanted", [0, 1])
def test_a_csv_file_keeps_the_target_class(
    labels: tuple[Any, Any], wanted: int, tmp_path: Path
) -> None:
    X, y = data()
    model = RandomForestClassifier(10, random_state=0).fit(X, np.array(labels)[y])
    problem = Problem(model, X, target=labels[wanted], threshold=0.6)
    found = robx.NearestNeighbour().explain(problem, X[y != wanted][:5])
    found.save(tmp_path / "a.csv")
    kept = check(tmp_path / "a.csv", model)
    assert kept.threshold == 0.6
    np.testing.assert_array_equal(kept.score, found.score)


def test_a_table_that_says_two_things_is_refused_unless_told() -> None:
    table = with_incomes(*[0.95] * 6).table
    table["robx_threshold"] = [0.5] * 6 + [0.6]
    with pytest.raises(
        robx.InvalidInput, match="'robx_threshold' must be the same .* Got 0.5 and 0.6. .* pass th"
    ):
        check(table, forest())
    assert check(table, forest(), threshold=0.5).share == 1
    with pytest.raises(robx.InvalidInput, match="damaged: their threshold must be"):
        check(table.assign(robx_threshold="high"), forest())
    assert check(table.assign(robx_threshold=np.nan), forest()).threshold == 0.5


@pytest.mark.parametrize(
    "names", [["007", "008", "1"], ["1e5", "2", "3"], ["+4", "5", "6"], ["1.50", "2", "3"], [7, 8]]
)
def test_people_keep_their_names_in_a_csv_file(names: list[Any], tmp_path: Path) -> None:
    people = answers().applicants[: len(names)].set_index(pd.Index(names))
    answers_for(people).save(tmp_path / "a.csv")
    assert check(tmp_path / "a.csv", forest()).applicants.tolist() == names


def test_a_feature_that_is_called_applicant_is_asked_about(tmp_path: Path) -> None:
    X, y = data()
    names = {"age": "applicant"}
    odd = X.rename(columns=names)
    model = RandomForestClassifier(10, random_state=0).fit(odd, y)
    found = robx.Frugal(noise=robx.Noise(n_draws=16)).explain(Problem(model, odd), odd[y == 0][:4])
    found = replace(found, measured={"of_my_own": np.ones(4)})  # which stands behind the status
    found.save(tmp_path / "a.csv")
    np.testing.assert_array_equal(check(tmp_path / "a.csv", model).score, found.score)


def test_a_class_that_the_new_model_does_not_know_is_said() -> None:
    some = replace(answers(), origin={**answers().origin, "target": "good"})
    with pytest.raises(
        robx.InvalidInput,
        match="The answers are for the class 'good'. .* Pass the class .* as target=",
    ):
        check(some, forest())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "'answers' parameter of check must be Counterfactuals, a file .* Got int instead."),
        ("none.json", "There is no file at 'none.json'"),
        (pd.DataFrame({"a": [1]}), "no column 'robx_status'. Pass what Counterfactuals.save"),
    ],
)
def test_what_is_no_answers_is_refused(given: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        check(given, forest())


def test_a_status_that_is_none_is_refused() -> None:
    with pytest.raises(robx.InvalidInput, match="must be one of .* Got 'fine'"):
        check(answers().table.assign(robx_status="fine"), forest())


@pytest.mark.parametrize("confidence", [0, 1, "x", None])
def test_the_confidence_is_a_share(confidence: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="'confidence' parameter of check"):
        check(answers(), forest(), confidence=confidence)


@pytest.mark.parametrize("threshold", [-0.1, 1, "x"])
def test_the_threshold_is_a_score(threshold: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="'threshold' parameter of check"):
        check(answers(), forest(), threshold=threshold)


# --- several files --------------------------------------------------------------------------------


def issued_under(seed: int, *incomes: float, **origin: Any) -> Counterfactuals:
    """Six promises that another model gave."""
    some = with_incomes(*incomes)
    model = {**some.origin["model"], "digest": f"digest of model {seed}"}
    return replace(some, origin={**some.origin, "model": model, **origin})


def folder_of_answers(place: Path) -> Path:
    """Two batches of six, one of them in two forms, and files that are no answers."""
    place.mkdir()
    issued_under(1, *[0.95] * 6, date="2026-01-31").save(place / "january.json")
    issued_under(1, *[0.95] * 6, date="2026-01-31").save(place / "january.csv")
    issued_under(2, 0.9, 0.9, 0.9, 0.6, 0.6, 0.6).save(place / "february.parquet")
    data()[0].to_csv(place / "train.csv")
    (place / "report.json").write_text('{"robx_report": 3}', encoding="utf-8")
    (place / "notes.txt").write_text("robx_status", encoding="utf-8")
    return place


def test_a_folder_of_answers_is_one_check(tmp_path: Path) -> None:
    place = folder_of_answers(tmp_path / "issued")
    found = check(place, forest(0.2))
    assert [part.file for part in found.issued] == ["february.parquet", "january.json"]
    assert [part.date for part in found.issued] == [None, "2026-01-31"]
    assert [part.digest for part in found.issued] == ["digest of model 2", "digest of model 1"]
    assert (found.promised.sum(), found.kept.sum()) == (12, 9)
    assert found.share == 9 / 12
    assert found.words.startswith("The new model keeps 9 of 12 promises in 2 files (75%). For ")
    assert found.table["file"].tolist() == ["february.parquet"] * 7 + ["january.json"] * 7
    apart = [check(place / part.file, forest(0.2)) for part in found.issued if part.file]
    np.testing.assert_array_equal(found.score, np.concatenate([one.score for one in apart]))


def test_a_file_that_is_named_twice_counts_once(tmp_path: Path) -> None:
    place = folder_of_answers(tmp_path / "issued")
    found = check([place / "january.json", place, str(place / "january.json")], forest(0.2))
    assert found.promised.sum() == 12
    both = check([place / "january.json", place / "january.csv"], forest(0.2))
    assert both.promised.sum() == 12
    assert "The files repeat 6 of the promises, and each counts." in both.words


def test_folders_without_answers_and_empty_lists_are_refused(tmp_path: Path) -> None:
    with pytest.raises(robx.InvalidInput, match="has no file of answers. Name one with the .json"):
        check(tmp_path, forest())
    with pytest.raises(robx.InvalidInput, match="check needs answers. Got an empty list."):
        check([], forest())


def test_files_that_state_different_thresholds_need_one_for_the_new_model() -> None:
    two = [issued_under(1, *[0.95] * 6), issued_under(2, *[0.95] * 6, threshold=0.7)]
    with pytest.raises(robx.InvalidInput, match="different values of 'threshold': 0.5 in .* 0.7"):
        check(two, forest(0.2))
    assert check(two, forest(0.2), threshold=0.6).threshold == 0.6
    others = [two[0], issued_under(2, *[0.95] * 6, target=0)]
    with pytest.raises(robx.InvalidInput, match=r"'target': 1 in .* 0 in .* target= \(--target\)"):
        check(others, forest(0.2))


def test_alternatives_of_all_files_are_checked(tmp_path: Path) -> None:
    one = replace(issued_under(1, *[0.95] * 6), alternatives=(with_incomes(*[0.1] * 6),))
    found = check([one, issued_under(2, *[0.95] * 6)], forest(0.2))
    assert [other.share for other in found.alternatives] == [0]


# --- the same model -------------------------------------------------------------------------------


def test_the_model_of_the_answers_is_not_a_new_one(tmp_path: Path) -> None:
    answers().save(tmp_path / "a.csv")
    for given in (answers(), tmp_path / "a.csv"):
        found = check(given, forest())
        assert not found.is_evidence
        assert found.words.startswith("This is the model that the answers were issued under (dig")
        assert str(found.model["digest"])[:12] in found.words
        assert "interval" not in found.words
        assert found.to_dict()["is_evidence"] is False
    assert check(answers(), forest(seed=1)).is_evidence
    assert check(answers(), forest(), threshold=0.6).is_evidence  # another rule is news
    assert check(replace(answers(), origin={}), forest()).is_evidence  # who knows


def test_promises_of_the_same_model_are_not_counted_with_others() -> None:
    found = check([answers(), issued_under(1, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1)], forest())
    assert found.same_model.tolist() == [True] * 7 + [False] * 7
    assert found.counted.sum() == 6
    assert found.share == 2 / 6
    assert found.to_dict()["n_promises"] == 6
    assert "Not counted: 6 more that were issued under this very model." in found.words


# --- groups ---------------------------------------------------------------------------------------


def test_promises_are_counted_by_a_column_of_the_applicants() -> None:
    some = issued_under(1, 0.9, 0.9, 0.95, 0.1, 0.1, 0.1)
    own = some.applicants.assign(age=[30, 30, 40, 30, 40, 40, 50])
    found = check(replace(some, applicants=own), forest()).by("age")
    assert found.columns.tolist() == ["age", "n_promises", "n_kept", "share", "low", "high"]
    assert found["age"].tolist() == ["30", "40", "50"]
    assert found["n_promises"].tolist() == [3, 3, 0]
    assert found["n_kept"].tolist() == [2, 1, 0]
    np.testing.assert_allclose(found["low"][0], beta(2.5, 1.5).ppf(0.025))
    assert np.isnan(found["share"][2])


def test_numbers_are_cut_at_quartiles_and_others_may_be_given() -> None:
    checked = check(issued_under(1, *[0.95] * 6), forest())
    incomes = answers().applicants["income"].to_numpy()
    found = checked.by("income")
    assert 2 <= len(found) <= 4
    assert found["n_promises"].sum() == 6
    first = found["income"][0].split(" to ")
    assert float(first[0]) == incomes.min()
    given = checked.by(["a", "b", "a", "b", "a", None, "b"], "branch")
    assert given["branch"].tolist() == ["a", "b", "missing"]
    assert given["n_promises"].tolist() == [3, 2, 1]
    with pytest.raises(robx.InvalidInput, match="value for each of the 7 rows .* Got 2 values"):
        checked.by(["a", "b"])
    with pytest.raises(robx.InvalidInput, match="no column 'sex'. They have income, age"):
        checked.by("sex")
    with pytest.raises(robx.InvalidInput, match="only for answers as .json or .parquet"):
        check(answers().table, forest()).by("age")


def test_groups_go_by_the_labels_of_levels() -> None:
    X, y, schema = robx.datasets.load_german()
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    some = robx.NearestNeighbour().explain(Problem(model, X, schema), X[model.predict(X) == 0][:20])
    table = check(some, model).by("savings")
    words = schema["savings"].labels
    assert words is not None
    assert set(table["savings"]) <= set(words)
    assert table["savings"].tolist() == [word for word in words if word in set(table["savings"])]


# --- records --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_record_has_threshold_dates_and_digests(tmp_path: Path, ending: str) -> None:
    place = folder_of_answers(tmp_path / "issued")
    found = check(place, forest(0.2), date="2026-03-01")
    found.save(tmp_path / f"kept{ending}")
    read = pd.read_csv if ending == ".csv" else pd.read_parquet
    table = read(tmp_path / f"kept{ending}")
    assert table["kept"].tolist() == found.kept.tolist()
    assert set(table["new_model"]) == {found.model["digest"]}
    assert table["old_model"].tolist() == ["digest of model 2"] * 7 + ["digest of model 1"] * 7
    assert table["issued"].fillna("").tolist() == [""] * 7 + ["2026-01-31"] * 7
    assert set(table["checked"]) == {"2026-03-01"}
    assert set(table["threshold"]) == {0.5}


def test_a_json_record_has_all_of_it(tmp_path: Path) -> None:
    found = check(issued_under(1, *[0.95] * 6, date="2026-01-31"), forest(0.2), date="2026-03-01")
    found.save(tmp_path / "kept.json")
    plain = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert plain == json.loads(json.dumps(found.to_dict()))
    assert (plain["date"], plain["issued"][0]["date"]) == ("2026-03-01", "2026-01-31")
    assert plain["issued"][0]["digest"] == "digest of model 1"
    with pytest.raises(robx.InvalidInput, match="saved as .json, .csv or .parquet. Got 'kept.txt'"):
        found.save(tmp_path / "kept.txt")
    with pytest.raises(robx.InvalidInput, match="'date' parameter of check .* Got 'soon' instead"):
        check(answers(), forest(), date="soon")


def test_no_clock_is_read() -> None:
    assert check(answers(), forest(0.2)).date is None


# --- models that do not fit -----------------------------------------------------------------------


def test_a_model_of_another_shape_is_refused_with_the_columns() -> None:
    X, y = data()
    other = RandomForestClassifier(3).fit(X.rename(columns={"age": "height"}), y)
    message = (
        "The new model must take the columns of the answers. The table of answers lacks 1 of the "
        "model's columns: 'height'. It has these that the model does not know: 'age'. Pass a model"
    )
    with pytest.raises(robx.InvalidInput, match=message):
        check(answers(), other)
    wide = RandomForestClassifier(3).fit(np.c_[X, X], y)
    with pytest.raises(robx.InvalidInput, match="must take the columns of the answers"):
        check(answers(), wide)


def test_a_black_box_of_another_shape_is_refused_too() -> None:
    X, y = data()
    named = make_pipeline(StandardScaler(), LogisticRegression())
    named.fit(X.rename(columns={"age": "height"}), y)
    with pytest.raises(robx.InvalidInput, match=r"Missing: \['height'\]; not known: \['age'\]"):
        check(answers(), named)
    wide = make_pipeline(StandardScaler(), LogisticRegression()).fit(np.c_[X, X], y)
    with pytest.raises(robx.InvalidInput, match="columns of the answers.*4.* Pass a model"):
        check(answers(), wide)


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_a_model_without_one_of_the_columns_is_asked_about_the_others(
    tmp_path: Path, ending: str
) -> None:
    X, y = data()
    fewer = RandomForestClassifier(10, random_state=0).fit(X[["income"]], y)
    some = with_incomes(0.9, 0.9, 0.95, 0.1, 0.1, 0.1)
    some.save(tmp_path / f"a{ending}")
    found = check(tmp_path / f"a{ending}", fewer)
    np.testing.assert_allclose(found.score[:6], fewer.predict_proba(some.points[["income"]])[:6, 1])
    assert found.left_out == ("age",)
    assert found.words.endswith("It does not have the column age.")
    pipeline = make_pipeline(StandardScaler(), fewer).fit(X[["income"]], y)
    assert check(some, pipeline).left_out == ("age",)


def test_columns_may_come_in_another_order() -> None:
    X, y = data()
    turned = RandomForestClassifier(10, random_state=0).fit(X[["age", "income"]], y)
    assert check(with_incomes(*[0.95] * 6), turned).share == 1


def without_names(kind: str) -> Any:
    """A model that was fitted on an array, and so goes by the order of columns."""
    X, _ = data()
    y = ((X["income"] > 0.5) & (X["age"] > 30)).astype(int)
    if kind == "booster":
        return XGBClassifier(n_estimators=10, n_jobs=1).fit(X.to_numpy(), y)
    forest = RandomForestClassifier(10, random_state=0, n_jobs=1)
    if kind == "forest":
        return forest.fit(X.to_numpy(), y)
    pipeline = make_pipeline(StandardScaler(), forest).fit(X.to_numpy(), y)
    if kind == "pipeline":
        return pipeline
    return robx.BlackBox(lambda table: pipeline.predict_proba(np.asarray(table))[:, 1])


@pytest.mark.parametrize("kind", ["booster", "forest", "pipeline", "function"])
@pytest.mark.parametrize("ending", ["", ".json", ".parquet", ".csv"])
def test_a_model_without_names_is_asked_in_the_order_of_the_training_table(
    kind: str, ending: str, tmp_path: Path
) -> None:
    X, _ = data()
    model = without_names(kind)
    inferred = robx.Schema.infer(X)
    turned = robx.Schema(inferred.features[::-1])
    people = X[X["income"] < 0.45][:8][["age", "income"]]
    found = robx.NearestNeighbour().explain(Problem(model, X, schema=turned), people)
    assert found.ok.sum() == 8
    assert found.points.columns.tolist() == ["age", "income"]
    if ending:
        found.save(tmp_path / f"a{ending}")
    kept = check(tmp_path / f"a{ending}" if ending else found, model)
    np.testing.assert_array_equal(kept.score, found.score)
    assert kept.reason == ("",) * 8


def test_text_where_the_new_model_takes_numbers_is_refused() -> None:
    table = answers().table.assign(age="forty")
    with pytest.raises(
        robx.InvalidInput,
        match="Column 'age' of the table of answers holds String; the model takes numbers",
    ):
        check(table, forest())


def test_a_row_that_the_model_cannot_read_is_not_kept() -> None:
    points = answers().points.astype({"age": float})
    points.iloc[1, 1] = np.inf
    found = check(replace(with_incomes(), points=points), forest())
    assert found.kept.tolist() == [True, False, True, True, True, True, False]
    assert np.isnan(found.score[1])
    assert found.reason[1].startswith(
        "the model refuses the row: Column 'age' of X has the value inf"
    )
    assert [bool(reason) for reason in found.reason] == [i == 1 for i in range(7)]
    assert found.words.endswith("It cannot read 1 of the answers, which counts as not accepted.")
    assert found.table["reason"][1] == found.reason[1]


def test_a_row_on_which_a_black_box_raises_is_not_kept() -> None:
    def picky(table: Any) -> Any:
        if (np.asarray(table)[:, 0] > 0.99).any():
            raise RuntimeError("too rich")
        return np.full(len(table), 0.9)

    found = check(with_incomes(0.6, 1.0, 0.6, 0.6, 1.0, 0.6), robx.BlackBox(picky))
    assert found.kept.tolist() == [True, False, True, True, False, True, False]
    assert found.reason[1] == "the model refuses the row: RuntimeError: too rich"
    assert found.model["digest"] is None


def test_a_category_that_the_new_model_does_not_know_is_judged_as_it_judges() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"job": rng.choice(["boss", "clerk", "cook"], 200), "x": rng.random(200)})
    X["job"] = X["job"].astype("category")
    y = X["x"] > 0.5
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
    found = robx.NearestNeighbour().explain(Problem(model.fit(X, y), X), X[~y][:30])
    few = X[X["job"] != "cook"].copy()
    few["job"] = few["job"].cat.remove_unused_categories()
    later = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
    seen = check(found, later.fit(few, few["x"] > 0.5))
    cooks = (found.points["job"] == "cook").to_numpy()
    assert cooks.any()
    accepted = later.predict(found.points)
    assert (seen.kept[found.ok] == accepted[found.ok]).all()
    assert seen.kept[cooks & found.ok].any()


def test_a_check_is_public() -> None:
    assert robx.check is check
    assert isinstance(robx.check(answers(), forest()), Check)


def test_damaged_and_long_files_of_a_folder_are_left_out_at_little_cost(tmp_path: Path) -> None:
    line = b"id,robx_status\n" + bytes(range(256)) * 64
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(line)[:12])
    packed = bytearray(gzip.compress(line))
    packed[10] ^= 0b111  # no such kind of block
    (tmp_path / "broken.csv.gz").write_bytes(packed)
    (tmp_path / "long.csv.gz").write_bytes(gzip.compress(b"x," * 2**24 + b"robx_status\n"))
    (tmp_path / "sound.csv.gz").write_bytes(gzip.compress(line))
    tracemalloc.start()
    try:
        assert [file.name for file in files_in(tmp_path)] == ["sound.csv.gz"]
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()
