from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.ensemble import RandomForestClassifier

import robx
from robx import Certificate, Counterfactuals, Problem, Status
from robx.answers.files import check_path
from robx.answers.flat_table import check_names
from robx.files import read_table
from robx.tables import pack


def people(n: int = 150, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    job = pd.Categorical(rng.choice(["clerk", "boss"], n))
    return pd.DataFrame(
        {"income": rng.random(n).round(2), "savings": rng.integers(0, 3, n)}
    ).assign(job=job.codes)


@cache
def problem() -> Problem:
    table = people()
    accepted = (table["income"] + 0.3 * table["savings"] > 0.8).astype(int)
    model = RandomForestClassifier(10, random_state=0, n_jobs=1).fit(table, accepted)
    return Problem(model, table, threshold=0.4)


#: Somebody who is accepted, who cannot be answered, and two who can.
FOUR = pd.DataFrame(
    {"income": [0.9, np.inf, 0.1, 0.3], "savings": [2, 0, 0, 1], "job": [0, 1, 1, 0]},
    index=list("wxyz"),
)


@cache
def answer() -> Counterfactuals:
    found = robx.Frugal(noise=robx.Noise(n_draws=64)).explain(problem(), FOUR)
    covers = found.answered
    certificate = Certificate(np.array([0, 0, 8, 7]), 8, covers, 0.95, "drawn like these")
    return replace(found, certificate=certificate)


# --- the flat table -------------------------------------------------------------------------------


def test_the_table_has_who_asked_the_points_and_what_is_known() -> None:
    table = answer().table
    measured = [f"robx_{name}" for name in answer().measured]
    assert measured
    assert table.columns.tolist() == [
        *("applicant", "income", "savings", "job"),
        *("robx_status", "robx_cost", "robx_n_changes", "robx_score", "robx_stability"),
        *measured,
        *("robx_accepting", "robx_models", "robx_validity_bound"),
        *("robx_target", "robx_threshold", "robx_model", "robx_changes", "robx_reason"),
    ]
    assert table["applicant"].tolist() == list("wxyz")
    assert table.index.tolist() == [0, 1, 2, 3]
    for name in FOUR:
        assert table[name].dtype == answer().points[name].dtype
        assert table[name].tolist() == answer().points[name].tolist()
    assert table["robx_status"].tolist() == [str(status) for status in answer().status]
    assert table["robx_accepting"].isna().tolist() == [True, True, False, False]
    assert table["robx_accepting"].tolist()[2:] == [8, 7]
    assert table["robx_models"].tolist() == [8] * 4
    assert table["robx_target"].tolist() == [1] * 4
    assert table["robx_threshold"].tolist() == [0.4] * 4
    assert table["robx_model"].tolist() == [answer().origin["model"]["digest"]] * 4
    assert "robx_date" not in table
    assert answer().dated("2026-11-16").table["robx_date"].tolist() == ["2026-11-16"] * 4
    assert table["robx_changes"][2] == "; ".join(answer().changes[2])
    assert table["robx_reason"][1] == "income is infinite"
    np.testing.assert_array_equal(table["robx_cost"], answer().cost)


def test_without_certificate_the_table_has_no_columns_of_one() -> None:
    assert "robx_models" not in replace(answer(), certificate=None).table


@pytest.mark.parametrize("make", [pl.from_pandas, lambda t: t.to_numpy()])
def test_tables_without_index_name_people_by_place(make: Any) -> None:
    table = robx.NearestNeighbour().explain(problem(), make(FOUR)).table
    assert table["applicant"].tolist() == [0, 1, 2, 3]
    assert table.columns.tolist()[:4] == ["applicant", "income", "savings", "job"]


def test_an_index_of_several_levels_becomes_text() -> None:
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]])
    table = robx.NearestNeighbour().explain(problem(), FOUR.set_index(index)).table
    assert table["applicant"].tolist() == ["a / 1", "a / 2", "b / 1", "b / 2"]


def test_a_feature_named_as_a_column_of_ours() -> None:
    table = people().rename(columns={"savings": "applicant"})
    model = RandomForestClassifier(5, random_state=0).fit(table, table["income"] > 0.5)
    found = robx.NearestNeighbour().explain(Problem(model, table), table[:2])
    columns = found.table.columns.tolist()
    assert columns[:4] == ["robx_applicant", "income", "applicant", "job"]
    odd = people().rename(columns={"savings": "robx_cost"})
    model = RandomForestClassifier(5, random_state=0).fit(odd, odd["income"] > 0.5)
    found = robx.NearestNeighbour().explain(Problem(model, odd), odd[:2])
    with pytest.raises(
        robx.InvalidInput, match="named 'robx_cost'. Names that begin with 'robx_' are robx's own"
    ):
        _ = found.table


@pytest.mark.parametrize("name", ["robx_status", "robx_steadiness", "robx_target", "robx_bound"])
def test_a_name_of_ours_is_refused_before_any_work_is_done(name: str, tmp_path: Path) -> None:
    for ending in (".csv", ".csv.gz", ".parquet"):
        with pytest.raises(
            robx.InvalidInput, match=f"'{name}'. Names that begin .* or save the answers as .json"
        ):
            check_path(tmp_path / f"a{ending}", ["income", name])
    assert check_path(tmp_path / "a.json", [name]) == tmp_path / "a.json"
    assert check_path(tmp_path / "a.csv", ["income", "robx"]) == tmp_path / "a.csv"


def test_all_columns_of_ours_are_known_to_be_ours() -> None:
    methods: list[Any] = [robx.Frugal(noise=robx.Noise(n_draws=64)), robx.Closest(effort=1)]
    for method in methods:
        found = method.explain(problem(), FOUR)
        assert found.measured
        names = [name for name in found.table if name.startswith("robx_")]
        for name in names:
            with pytest.raises(robx.InvalidInput, match=f"named '{name}'"):
                check_names([name])


def test_columns_of_the_table_stand_in_the_order_of_the_model() -> None:
    turned = robx.NearestNeighbour().explain(problem(), FOUR[["job", "savings", "income"]])
    assert turned.points.columns.tolist() == ["job", "savings", "income"]
    assert turned.table.columns.tolist()[1:4] == ["income", "savings", "job"]


def test_without_an_origin_the_table_does_not_tell_target_and_threshold() -> None:
    assert not {"robx_target", "robx_threshold", "robx_model"} & set(
        replace(answer(), origin={}).table
    )


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".json", ".parquet"])
def test_everything_comes_back(tmp_path: Path, ending: str) -> None:
    whole = replace(answer(), alternatives=(answer(),))
    whole.save(tmp_path / f"a{ending}")
    loaded = Counterfactuals.load(tmp_path / f"a{ending}")
    assert loaded.to_json() == whole.to_json()
    assert loaded.origin == whole.origin
    assert loaded.points.equals(whole.points)
    assert len(loaded.alternatives) == 1
    assert [file.name for file in tmp_path.iterdir()] == [f"a{ending}"]


def test_other_programs_find_the_table_in_a_parquet_file(tmp_path: Path) -> None:
    answer().save(tmp_path / "a.parquet")
    table = pd.read_parquet(tmp_path / "a.parquet")
    assert table.columns.tolist() == answer().table.columns.tolist()
    assert table["income"].tolist() == answer().table["income"].tolist()


def test_columns_of_this_and_that_are_saved_too(tmp_path: Path) -> None:
    mixed = replace(answer(), applicants=FOUR.set_index(pd.Index([1, "a", 2.5, None])))
    mixed.save(tmp_path / "a.parquet")
    assert len(Counterfactuals.load(tmp_path / "a.parquet")) == 4
    assert pd.read_parquet(tmp_path / "a.parquet")["applicant"][1] == "a"


def test_csv_has_the_table_to_the_last_bit(tmp_path: Path) -> None:
    for name in ("a.csv", "a.csv.gz"):
        answer().save(tmp_path / name)
        back = read_table(tmp_path / name, only_blanks_missing=True)
        assert back["income"].tolist() == answer().points["income"].tolist()
        np.testing.assert_array_equal(back["robx_score"], answer().score)
        assert back["robx_status"].tolist() == [str(status) for status in answer().status]
    with pytest.raises(
        robx.InvalidInput, match=r"from .json or .parquet. Got 'a.csv'; a .csv file"
    ):
        Counterfactuals.load(tmp_path / "a.csv")


def test_a_parquet_file_of_others_is_refused(tmp_path: Path) -> None:
    FOUR.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(robx.InvalidInput, match="'a.parquet' is a parquet file that robx did not"):
        Counterfactuals.load(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and so on PAR1")
    with pytest.raises(
        robx.InvalidInput, match="'b.parquet' is not a parquet file, or a damaged one"
    ):
        Counterfactuals.load(tmp_path / "b.parquet")


def test_endings_and_places_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(robx.InvalidInput, match="saved as .json or .parquet.*Got 'a.xlsx'"):
        answer().save(tmp_path / "a.xlsx")
    with pytest.raises(robx.InvalidInput, match="There is no folder '.*none' to write"):
        answer().save(tmp_path / "none" / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_is_kept_when_saving_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.json", "a.parquet", "a.csv"):
        answer().save(tmp_path / name)
        old = (tmp_path / name).read_bytes()

        def stop(self: Path, target: Any) -> Path:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Path, "replace", stop)
            with pytest.raises(KeyboardInterrupt):
                answer().save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 3


# --- where answers come from ----------------------------------------------------------------------


def test_the_origin_tells_the_model_what_counts_and_versions() -> None:
    origin = answer().origin
    model = problem().model
    assert isinstance(model, robx.TreeEnsemble)
    assert origin["model"] == {
        "kind": "tree ensemble",
        "digest": model.digest,
        "source": model.source,
        "n_trees": 10,
        "n_features": 3,
    }
    assert origin["target"] == 1
    assert origin["threshold"] == 0.4
    assert origin["n_support"] == 150
    assert origin["versions"]["robx"] == robx.__version__
    assert origin["versions"]["numpy"] == np.__version__
    assert set(origin["versions"]) == {"robx", "python", "numpy", "scikit-learn"}
    assert "seed" not in origin
    json.dumps(origin, allow_nan=False)


def test_the_version_of_the_models_library_is_told() -> None:
    table = people()
    model = xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(table, table["income"] > 0.5)
    found = robx.NearestNeighbour().explain(Problem(model, table), table[:1])
    assert found.origin["versions"]["xgboost"] == xgboost.__version__
    assert found.origin["model"]["source"].startswith("XGBoost ")


def test_a_black_box_has_no_digest() -> None:
    table = people()
    box = robx.BlackBox(lambda X: np.clip(np.asarray(X)[:, 0], 0, 1))
    found = robx.NearestNeighbour().explain(Problem(box, table), table[:3])
    assert found.origin["model"]["kind"] == "black box"
    assert found.origin["model"]["digest"] is None
    assert found.origin["model"]["source"] == "builtins.function"
    assert found.origin["target"] is None
    json.dumps(found.origin, allow_nan=False)


@pytest.mark.parametrize("label", [np.str_("good"), True, 2.0])
def test_labels_stand_in_the_origin_as_plain_values(label: Any) -> None:
    table = people()
    y = np.where(table["income"] > 0.5, label, type(label)())
    model = RandomForestClassifier(3, random_state=0).fit(table, y)
    found = robx.NearestNeighbour().explain(Problem(model, table, target=label), table[:1])
    assert found.origin["target"] == label
    assert type(found.origin["target"]) in {str, bool, float}


def test_explain_notes_the_models_that_it_trained() -> None:
    table = people()
    y = (table["income"] > 0.5).astype(int)
    model = RandomForestClassifier(5, random_state=0, n_jobs=1).fit(table, y)
    found = robx.explain(
        model, table, table[:4], y_train=y, n_models=6, keep=None, seed=3, n_answers=2
    )
    assert found.origin["seed"] == 3
    assert found.origin["n_models"] == 6
    assert found.alternatives[0].origin == found.origin
    plain = robx.explain(model, table, table[:4])
    assert not {"seed", "n_models"} & set(plain.origin)


def test_files_from_before_there_was_an_origin_still_load() -> None:
    plain = json.loads(answer().to_json())
    del plain["origin"]
    assert Counterfactuals.from_dict(plain).origin == {}


@pytest.mark.parametrize(
    "origin",
    [
        *(5, "x", [1], None, {"model": 1}, {"versions": []}),
        *({"threshold": value} for value in ("x", True, None, -0.1, 1, 1.5, [0.5])),
        *({"target": value} for value in ([1], {}, {"a": 1})),
    ],
)
def test_a_damaged_origin_is_refused(origin: Any) -> None:
    plain = {**answer().to_dict(), "origin": origin}
    with pytest.raises(robx.InvalidInput, match="damaged: their (origin|threshold|target)"):
        Counterfactuals.from_dict(plain)


@pytest.mark.parametrize("origin", [{"threshold": 0}, {"target": "good"}, {"target": None}])
def test_an_origin_that_others_can_rely_on_is_taken(origin: Any) -> None:
    plain = {**answer().to_dict(), "origin": origin}
    assert Counterfactuals.from_dict(plain).origin == origin


def test_the_origin_changes_no_answer() -> None:
    found = robx.Frugal(noise=robx.Noise(n_draws=64)).explain(problem(), FOUR)
    assert found.settings == answer().settings
    assert "origin" not in found.settings
    assert "origin" not in repr(found)
    assert found.status.tolist()[2:] == [Status.OK, Status.OK]


def test_a_notebook_shows_the_answers() -> None:
    assert "<table" in answer()._repr_html_()


@pytest.mark.parametrize("key", ['"columns"', '"column\\u0073"'])
def test_tables_are_counted_however_they_are_written(tmp_path: Path, key: str) -> None:
    n, file = 400, tmp_path / "a.json"
    small = json.dumps(pack(pd.DataFrame({"a": [1]}))).replace('"columns"', key)
    whole = json.dumps({**json.loads(answer().to_json()), "paths": ["here"]})
    file.write_text(whole.replace('"here"', ",".join([small] * n)), encoding="utf-8")
    assert len(Counterfactuals.load(file).paths or ()) == n
    with pytest.raises(robx.BudgetExceeded, match=r"would take about 3,\d{3},\d{3} bytes"):
        Counterfactuals.load(file, budget=robx.Budget(max_memory=8192 * n))
