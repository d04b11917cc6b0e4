from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

import robx
from cli_cases import Run, train


def told(folder: Path, *more: object) -> list[object]:
    words: list[object] = ["explain", "--model", folder / "model.ubj"]
    words += ["--data", folder / "train.csv", "--applicants", folder / "people.csv", "--id", "who"]
    return [*words, "--schema", folder / "schema.yaml", *more]


def with_labels(folder: Path, *more: object) -> list[object]:
    params = [
        "--label",
        "good",
        "--params",
        folder / "params.yaml",
        "--models",
        6,
        "--keep",
        "none",
    ]
    return told(folder, *params, *more)


def test_answers_are_accepted_by_the_model_in_the_file(folder: Path, recourse: Path) -> None:
    answer = robx.Counterfactuals.load(recourse)
    model = XGBClassifier()
    model.load_model(folder / "model.ubj")
    assert answer.ok.sum() > 5
    assert (model.predict_proba(answer.frame)[answer.ok, 1] > 0.5).all()


def test_it_gives_what_the_library_gives(folder: Path, recourse: Path) -> None:
    data = pd.read_csv(folder / "train.csv")
    people = pd.read_csv(folder / "people.csv").set_index("who")
    ours = robx.explain(
        folder / "model.ubj",
        data[people.columns],
        people,
        y_train=data["good"],
        estimator=XGBClassifier(n_estimators=25, max_depth=3),
        schema=robx.Schema.load(folder / "schema.yaml"),
        n_models=6,
        keep=None,
    )
    theirs = robx.Counterfactuals.load(recourse)
    pd.testing.assert_frame_equal(theirs.frame, ours.frame)
    assert theirs.certificate is not None
    assert ours.certificate is not None
    assert theirs.certificate.accepting.tolist() == ours.certificate.accepting.tolist()


def test_a_schema_binds(folder: Path, recourse: Path) -> None:
    answer = robx.Counterfactuals.load(recourse)
    people = pd.read_csv(folder / "people.csv").set_index("who")
    assert (answer.frame["history"] == people["history"]).all()
    assert (answer.frame["savings"] >= people["savings"]).all()


def test_rows_that_stand_for_several_people(folder: Path, call: Run, tmp_path: Path) -> None:
    out, page = tmp_path / "recourse.json", tmp_path / "report.md"
    words = told(folder, "--method", "nearest", "--k-anonymous", 12, "--out", out)
    assert call(*words).code == 0
    answer = robx.Counterfactuals.load(out)
    assert answer.origin["k_anonymous"] == 12
    assert answer.ok.any()
    assert call("report", out, "--out", page).code == 0
    assert "stand for at least 12 training people each" in page.read_text(encoding="utf-8")
    too_many = call(*told(folder, "--k-anonymous", 10**6))
    assert too_many.code != 0
    assert "--k-anonymous must be at most" in too_many.err


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_all_kinds_of_files_hold_the_same(
    folder: Path, call: Run, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"recourse.{ending}"
    ran = call(*told(folder, "--method", "robx", "--out", out))
    assert ran.code == 0
    assert "Wrote" in ran.err
    assert "by RobX" in ran.out
    as_json = call(*told(folder, "--method", "robx", "--json")).json
    answered = [one for one in as_json["applicants"] if one["status"] == "ok"]
    if ending == "csv":
        table = pd.read_csv(out, keep_default_na=False)
        table = table[table["robx_status"] == "ok"]
        assert table["applicant"].tolist() == [one["applicant"] for one in answered]
        assert table["robx_changes"].tolist() == [one["changes"] for one in answered]
        return
    answer = robx.Counterfactuals.load(out)
    assert answer.summary["changes"][answer.ok].tolist() == [one["changes"] for one in answered]
    assert answer.frame.index[answer.ok].tolist() == [one["applicant"] for one in answered]


def test_a_piped_table_has_a_line_for_each_applicant(folder: Path, call: Run) -> None:
    rows = call(*told(folder, "--method", "nearest")).rows
    people = pd.read_csv(folder / "people.csv")
    assert [row["applicant"] for row in rows] == people["who"].tolist()
    assert {row["status"] for row in rows} <= {str(one) for one in robx.Status}
    assert all(row["changes"] for row in rows if row["status"] == "ok")


def test_options_of_the_method_reach_it(folder: Path, call: Run) -> None:
    few = call(*told(folder, "--max-changes", 1, "--json")).json
    done = [one for one in few["applicants"] if one["status"] == "ok"]
    assert done
    assert {one["n_changes"] for one in done} == {1}
    priced = [call(*told(folder, "--price-per-change", price, "--json")).json for price in (0, 2)]
    n_changes = [
        sum(one["n_changes"] for one in answers["applicants"] if one["status"] == "ok")
        for answers in priced
    ]
    assert n_changes[0] > n_changes[1] > 0
    high = call(*told(folder, "--method", "robx", "--tau", 0.7, "--json")).json
    assert all(o["stability"] >= 0.7 for o in high["applicants"] if o["status"] == "ok")


def test_a_price_is_for_frugal_and_not_negative(folder: Path, call: Run) -> None:
    refused = call(*told(folder, "--method", "robx", "--price-per-change", 0.1))
    assert refused.code == 2
    assert "The method 'robx' takes no --price-per-change." in refused.err
    assert call(*told(folder, "--price-per-change", -1)).code == 2


def test_with_labels_each_answer_has_a_certificate(folder: Path, call: Run) -> None:
    ran = call(*with_labels(folder, "--json"))
    done = [one for one in ran.json["applicants"] if one["status"] == "ok"]
    assert all(one["accepting_of_4"] <= 4 for one in done)
    assert "XGBoost" in ran.err  # it says how the model is trained again


def test_how_the_model_was_trained_again_is_kept_with_the_answers(recourse: Path) -> None:
    said = robx.Counterfactuals.load(recourse).origin["trained_again"]
    assert "XGBoost" in said
    assert "learning rate" in said


def test_labels_in_words_need_a_target(folder: Path, call: Run, tmp_path: Path) -> None:
    data = pd.read_csv(folder / "train.csv")
    said = data["good"].map({0: "bad", 1: "good"})
    data.assign(good=said).to_csv(tmp_path / "train.csv", index=False)
    words = with_labels(folder, "--json")
    ours = [tmp_path / "train.csv" if one == folder / "train.csv" else one for one in words]
    refused = call(*ours)
    assert refused.code == 2
    assert "--target" in refused.err
    assert call(*ours, "--target", "good").json == call(*words).json


def test_models_of_ones_own_take_the_place_of_labels(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    data = pd.read_csv(folder / "train.csv")
    X = data[pd.read_csv(folder / "people.csv").columns[1:]]
    files: list[object] = []
    for seed in range(6):
        rows = data.sample(150, random_state=seed).index
        model = XGBClassifier(n_estimators=25, max_depth=3).fit(X.loc[rows], data["good"][rows])
        model.save_model(tmp_path / f"{seed}.ubj")
        files += ["--retrained", tmp_path / f"{seed}.ubj"]
    done = call(*told(folder, *files, "--json")).json
    assert any("accepting_of_4" in one for one in done["applicants"])
    assert call(*told(folder, *files[:4])).code == 2


def test_several_answers(folder: Path, call: Run, tmp_path: Path) -> None:
    out = tmp_path / "recourse.json"
    ran = call(*told(folder, "--answers", 2, "--out", out))
    assert (ran.code, "Only the first answers" in ran.err) == (0, False)
    for more in ([], ["--out", tmp_path / "recourse.csv"]):  # what does not hold all of them
        assert "Only the first answers are here" in call(*told(folder, "--answers", 2, *more)).err
    other = robx.Counterfactuals.load(out).alternatives
    assert len(other) == 1
    as_json = call(*told(folder, "--answers", 2, "--json")).json["applicants"]
    for i, one in enumerate(as_json):
        said = [other[0].summary["changes"].iloc[i]] if other[0].answered[i] else []
        assert [line["changes"] for line in one["alternatives"]] == said


def test_names_stay_as_they_are_written(folder: Path, call: Run, tmp_path: Path) -> None:
    people = pd.read_csv(folder / "people.csv")[:12]
    people["who"] = [f"{i:05d}" for i in range(12)]
    people.to_csv(tmp_path / "people.csv", index=False)
    words = ["--model", folder / "model.ubj", "--data", folder / "train.csv", "--method", "nearest"]
    words += ["--applicants", tmp_path / "people.csv", "--id", "who"]
    assert [row["applicant"] for row in call("explain", *words).rows] == list(people["who"])
    assert call("explain", *words, "--out", tmp_path / "a.csv").code == 0
    every = call("check", tmp_path / "a.csv", "--model", folder / "model.ubj", "--all").rows
    assert {row["applicant"] for row in every} <= set(people["who"])


@pytest.mark.parametrize(
    "names",
    [
        ["1E5", "10E4", "12"],
        ["NA", "None", "Null"],
        ["007", "7", "12"],
        ["1.0", "2", "true"],
    ],
)
def test_names_that_look_like_something_else_stay(
    folder: Path, call: Run, tmp_path: Path, names: list[str]
) -> None:
    people, file = tmp_path / "people.csv", tmp_path / "answers.csv"
    pd.read_csv(folder / "people.csv")[:3].assign(who=names, team=[0, 1, 1]).to_csv(
        people, index=False
    )
    words = ["--model", folder / "model.ubj", "--data", folder / "train.csv", "--out", file]
    assert call("explain", *words, "--applicants", people, "--id", "who", "--quiet").code == 0
    assert [line.split(",")[0] for line in file.read_text().splitlines()[1:]] == names
    more = ["--by", "team", "--applicants", people, "--id", "who", "--json"]
    said = call("check", folder / "new.ubj", file, *more).json
    assert said["n_promises"] == sum(one["n_promises"] for one in said["by"]["team"])


def test_names_that_are_whole_numbers_are_numbers(folder: Path, call: Run, tmp_path: Path) -> None:
    people, file = tmp_path / "people.csv", tmp_path / "answers.json"
    pd.read_csv(folder / "people.csv")[:3].assign(who=[12, 0, -3]).to_csv(people, index=False)
    words = ["--model", folder / "model.ubj", "--data", folder / "train.csv", "--out", file]
    assert call("explain", *words, "--applicants", people, "--id", "who", "--quiet").code == 0
    assert robx.Counterfactuals.load(file).applicants.index.tolist() == [12, 0, -3]


def test_the_same_bytes_each_time(folder: Path, call: Run, tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        assert call(*with_labels(folder, "--seed", 3, "--out", file)).code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_quiet_says_nothing_on_the_side(folder: Path, call: Run, tmp_path: Path) -> None:
    assert call(*with_labels(folder, "--quiet", "--out", tmp_path / "a.json")).err == ""


def test_text_in_a_table_is_what_the_file_calls_its_categories(call: Run, tmp_path: Path) -> None:
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": rng.integers(10, 90, 400), "job": rng.choice(list("abc"), 400)})
    good = (table["income"] + 20 * (table["job"] == "b") > 50).astype(int)
    trained = table.astype({"job": "category"})
    model = LGBMClassifier(n_estimators=20, num_leaves=7, verbose=-1, n_jobs=1).fit(trained, good)
    model.booster_.save_model(tmp_path / "model.txt")
    table.assign(good=good).to_csv(tmp_path / "train.csv", index=False)
    declined = table[good == 0][:20]
    declined.to_csv(tmp_path / "people.csv", index=False)
    words = ["--model", tmp_path / "model.txt", "--data", tmp_path / "train.csv", "--label", "good"]
    told = call(
        "explain",
        *words,
        "--applicants",
        tmp_path / "people.csv",
        "--models",
        6,
        "--keep",
        "none",
        "--json",
    )
    answered = [one for one in told.json["applicants"] if one["status"] == "ok"]
    assert len(answered) > 10
    assert any("job: " in one["changes"] for one in answered)
    study = ["--seeds", 1, "--models", 2, "--method", "robx", "--change", "bootstrap"]
    assert call("evaluate", *words, *study, "--json").json[0]["validity"] > 0.8


def test_catboost_files_say_what_their_classes_are_called(call: Run, tmp_path: Path) -> None:
    from catboost import CatBoostClassifier

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 50, (300, 2)), columns=["income", "years"])
    said = np.where(table["income"] > 25, "yes", "no")
    model = CatBoostClassifier(iterations=10, verbose=False, allow_writing_files=False)
    model.fit(table, said).save_model(str(tmp_path / "model.cbm"))
    table.assign(paid=said).to_csv(tmp_path / "train.csv", index=False)
    table[said == "no"][:9].to_csv(tmp_path / "people.csv", index=False)
    words = ["--model", tmp_path / "model.cbm", "--data", tmp_path / "train.csv", "--label", "paid"]
    words += ["--applicants", tmp_path / "people.csv", "--models", 6, "--keep", "none", "--json"]
    done = call("explain", *words).json
    assert done["counts"] == {"ok": 9}
    assert call("explain", *words, "--target", "yes").json == done
    assert call("explain", *words, "--target", "no").json["counts"] == {"already accepted": 9}


def test_people_are_matched_to_the_training_table_by_name_where_the_model_has_no_names(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    data = pd.read_csv(folder / "train.csv")
    people = pd.read_csv(folder / "people.csv")
    bare = train(data.drop(columns="good").to_numpy(), data["good"])
    bare.save_model(tmp_path / "bare.ubj")
    people[[*people.columns[::-1]]].to_csv(tmp_path / "turned.csv", index=False)
    words = ["explain", "--model", tmp_path / "bare.ubj", "--data", folder / "train.csv"]
    words += ["--label", "good", "--id", "who", "--method", "robx", "--models", 6, "--keep", "none"]
    given = call(*words, "--applicants", folder / "people.csv", "--json").json
    out = tmp_path / "recourse.csv"
    assert call(*words, "--applicants", tmp_path / "turned.csv", "--out", out).code == 0
    turned = call(*words, "--applicants", tmp_path / "turned.csv", "--json").json
    assert turned["counts"] == given["counts"]
    assert [o["score"] for o in turned["applicants"]] == [o["score"] for o in given["applicants"]]
    checked = call("check", "--model", tmp_path / "bare.ubj", out).err
    n_ok = given["counts"]["ok"]
    assert f"keeps {n_ok} of {n_ok} promises" in checked
