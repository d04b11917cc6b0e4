from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

import robx
from robx import InvalidInput
from robx.datasets import Dataset, heloc, load_heloc
from robx.datasets.heloc import COLUMNS, DROPPED, SHA256


def by_hand(raw: pd.DataFrame) -> tuple[list[list[int]], list[int]]:
    """The paper's preparation row by row."""
    people, good = [], []
    for _, row in raw.iterrows():
        values = [int(row[name]) for name in COLUMNS if name not in DROPPED]
        if not {-7, -8, -9} & set(values):
            people.append(values)
            good.append(int(row["RiskPerformance"] == "Good"))
    return people, good


def assert_same(one: Dataset, other: Dataset) -> None:
    pd.testing.assert_frame_equal(one.X, other.X)
    pd.testing.assert_series_equal(one.y, other.y)


# --- the real file --------------------------------------------------------------------------------


def test_the_paper_s_counts(real_heloc: Path) -> None:
    X, y, _ = load_heloc(real_heloc)
    assert X.shape == (8291, 20)
    assert y.value_counts().to_dict() == {0: 4251, 1: 4040}
    assert set(X.dtypes) == {np.dtype(np.int64)}
    raw = pd.read_csv(real_heloc)
    assert raw.shape == (heloc.N_ROWS, 24)
    assert (X.to_numpy().tolist(), y.tolist()) == by_hand(raw)


def test_the_checksum_is_that_of_the_file_and_its_form_does_not_matter(
    real_heloc: Path, tmp_path: Path
) -> None:
    assert hashlib.sha256(real_heloc.read_bytes()).hexdigest() == SHA256
    copy = tmp_path / "copy.csv"
    raw = pd.read_csv(real_heloc)
    raw["RiskPerformance"] = (raw["RiskPerformance"] == "Good").astype(int)
    raw[raw.columns[::-1]].astype(float).to_csv(copy)
    assert copy.read_bytes() != real_heloc.read_bytes()
    assert_same(load_heloc(copy), load_heloc(real_heloc))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda raw: raw[:-1],
        lambda raw: raw[::-1],
        lambda raw: raw.assign(NumTotalTrades=raw["NumTotalTrades"] + (raw.index == 3)),
        lambda raw: raw.assign(RiskPerformance=1 * (raw["RiskPerformance"] == "Bad")),
    ],
    ids=["a row less", "another order", "one number", "labels the other way round"],
)
def test_other_contents_are_reported(
    spoil: Callable[[Any], Any], real_heloc: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.csv"
    spoil(pd.read_csv(real_heloc)).to_csv(copy, index=False)
    with pytest.raises(InvalidInput, match=SHA256):
        load_heloc(copy)
    assert load_heloc(copy, check=False).X.shape[1] == 20


def test_robust_recourse_keeps_what_is_fixed_in_the_real_data(real_heloc: Path) -> None:
    X, y, schema = load_heloc(real_heloc)
    model = XGBClassifier(n_estimators=40, max_depth=4, n_jobs=1).fit(X[:3000], y[:3000])
    people = X[3000:][model.predict_proba(X[3000:])[:, 1] <= 0.5][:100]
    answer = robx.RobX().explain(robx.Problem(model, X[:3000], schema), people)
    assert answer.ok.mean() > 0.8
    points, asked = answer.points[answer.ok], people[answer.ok]
    past = ["NumTrades60Ever2DerogPubRec", "NumTrades90Ever2DerogPubRec", "MaxDelqEver"]
    pd.testing.assert_frame_equal(points[past], asked[past])
    assert (points["MSinceOldestTradeOpen"] >= asked["MSinceOldestTradeOpen"]).all()
    assert (points["NumInqLast6Mexcl7days"] <= points["NumInqLast6M"]).all()
    assert not any(schema.violations(points, asked))


# --- files of the same form -----------------------------------------------------------------------


def test_columns_go_before_rows(raw: pd.DataFrame, heloc_csv: Path) -> None:
    X, y, _ = load_heloc(heloc_csv, check=False)
    assert (X.to_numpy().tolist(), y.tolist()) == by_hand(raw)
    missing = raw.isin([-7, -8, -9])
    assert len(X) > (~missing.any(axis=1)).sum() > 0
    assert tuple(X.columns) == tuple(name for name in COLUMNS if name not in DROPPED)


@pytest.mark.parametrize(
    "otherwise",
    [
        lambda raw: raw[raw.columns[::-1]],
        lambda raw: raw.assign(id=range(len(raw))),
        lambda raw: raw.astype(dict.fromkeys(COLUMNS, float)),
        lambda raw: raw.assign(RiskPerformance=(raw["RiskPerformance"] == "Good").astype(int)),
        lambda raw: raw.assign(RiskPerformance=(raw["RiskPerformance"] == "Good").astype(float)),
        lambda raw: raw.mask(raw == -9),
    ],
    ids=["order of columns", "one more", "floats", "1 and 0", "1.0 and 0.0", "empty cells"],
)
def test_the_form_of_a_table_does_not_matter(
    otherwise: Callable[[Any], Any], raw: pd.DataFrame, heloc_csv: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.csv"
    otherwise(raw).to_csv(other, index=False, lineterminator="\r\n")
    assert other.read_bytes() != heloc_csv.read_bytes()
    assert_same(load_heloc(str(other), check=False), load_heloc(heloc_csv, check=False))


def test_the_schema_says_what_people_can_do(heloc_csv: Path) -> None:
    schema = load_heloc(heloc_csv, check=False).schema
    assert {f.name for f in schema if f.change == "none"} == {
        *("NumTrades60Ever2DerogPubRec", "NumTrades90Ever2DerogPubRec", "MaxDelqEver"),
    }
    assert {f.name for f in schema if f.change == "increase"} == {
        *("MSinceOldestTradeOpen", "NumSatisfactoryTrades", "NumTotalTrades"),
        *("PercentTradesNeverDelq", "MaxDelq2PublicRecLast12M"),
    }
    assert {f.name for f in schema if (f.low, f.high) == (0, 100)} == {
        *("PercentTradesNeverDelq", "PercentInstallTrades", "PercentTradesWBalance"),
    }
    assert schema["MaxDelqEver"].say(8) == "never late"
    assert [relation.text for relation in schema.relations] == [
        "NumInqLast6Mexcl7days <= NumInqLast6M"
    ]


def test_another_file_is_refused_unless_it_is_meant(heloc_csv: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_heloc(heloc_csv)
    for part in (str(heloc_csv), "10459 rows", SHA256, "Got 120 rows", "check=False"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda raw: raw.drop(columns=["NumInqLast6M", "MaxDelqEver"]),
            "must have the columns of heloc_dataset_v1.csv. Missing: MaxDelqEver, NumInqLast6M.",
        ),
        (
            lambda raw: raw.replace({"RiskPerformance": {"Good": "good"}}),
            "must be Good or Bad, or 1 or 0. Got 'good'.",
        ),
        (
            lambda raw: raw.assign(RiskPerformance=2),
            "must be Good or Bad, or 1 or 0. Got np.int64(2).",
        ),
        (
            lambda raw: raw.assign(NumInqLast6M=0.5),
            "NumInqLast6M of '{file}' must hold integers. Got np.float64(0.5).",
        ),
        (
            lambda raw: raw.assign(NumInqLast6M=["many", *raw["NumInqLast6M"][1:]]),
            "NumInqLast6M of '{file}' must hold integers. Got 'many'.",
        ),
        (
            lambda raw: raw.assign(NumInqLast6M=np.inf),
            "must hold integers. Got np.float64(inf",
        ),
        (
            lambda raw: raw.assign(NumInqLast6M=1e300),
            "must hold integers. Got np.float64(1e+30",
        ),
    ],
)
def test_a_table_of_another_form_is_refused(
    spoil: Callable[[Any], Any], message: str, raw: pd.DataFrame, tmp_path: Path
) -> None:
    file = tmp_path / "other.csv"
    spoil(raw).to_csv(file, index=False)
    with pytest.raises(InvalidInput, match=re.escape(message.format(file=file))):
        load_heloc(file, check=False)


def test_what_is_no_csv_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no file at .*nothing.csv"):
        load_heloc(tmp_path / "nothing.csv")
    with pytest.raises(InvalidInput, match="There is no file at"):
        load_heloc(tmp_path)
    with pytest.raises(InvalidInput, match="'path' parameter of load_heloc must .* Got 3 instead"):
        load_heloc(3)  # type: ignore[arg-type]
    file = tmp_path / "x.csv"
    for contents in (b"", b"\xff\xfe\x00", b'a,b\n1,2,3\n"'):
        file.write_bytes(contents)
        with pytest.raises(InvalidInput, match="cannot be read as csv"):
            load_heloc(file, check=False)
