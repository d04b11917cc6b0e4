from __future__ import annotations

import json
import pickletools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import catboost as cb
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

import robx
from oracles import toy_data
from robx.trees import TreeEnsemble

X, Y = toy_data(150, 4)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
CATEGORIES = FRAME.assign(
    b=pd.Categorical(np.array(["red", "green", "blue"])[np.arange(150) % 3])
).rename(columns={"d": "größe"})
Y_CATEGORIES = (X[:, 0] > 0) ^ (np.arange(150) % 3 == 1)
CLASSES = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
NUMBERS = np.digitize(X[:, 0], [-0.5, 0.5])


def xgboost(**parameters: Any) -> Any:
    return xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1, **parameters)


def lightgbm(**parameters: Any) -> Any:
    return lgb.LGBMClassifier(n_estimators=4, num_leaves=7, verbose=-1, **parameters)


def catboost(**parameters: Any) -> Any:
    return cb.CatBoostClassifier(
        iterations=4, depth=3, verbose=False, allow_writing_files=False, **parameters
    )


FAMILIES: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "xgboost": lambda: (xgboost().fit(FRAME, Y), None, FRAME),
    "xgboost, 0 is missing": lambda: (xgboost(missing=0.0).fit(X, Y), 0, X),
    "xgboost, categories": lambda: (
        xgboost(enable_categorical=True).fit(CATEGORIES, Y_CATEGORIES),
        None,
        CATEGORIES,
    ),
    "xgboost, three classes": lambda: (xgboost().fit(X, NUMBERS), 2, X),
    "lightgbm": lambda: (lightgbm().fit(X, Y), None, X),
    "lightgbm, categories": lambda: (
        lightgbm(min_data_per_group=5).fit(CATEGORIES, Y_CATEGORIES),
        None,
        CATEGORIES,
    ),
    "lightgbm, three classes": lambda: (lightgbm().fit(FRAME, CLASSES), "mid", FRAME),
    "catboost": lambda: (catboost().fit(X, Y), None, X),
    "catboost, three classes": lambda: (catboost().fit(FRAME, CLASSES), "low", FRAME),
    "forest": lambda: (RandomForestClassifier(4, random_state=0).fit(X, Y > 0), True, X),
    "boosting": lambda: (GradientBoostingClassifier(n_estimators=4).fit(X, Y), 0, X),
    "hist, categories": lambda: (
        HistGradientBoostingClassifier(max_iter=4).fit(CATEGORIES, Y_CATEGORIES),
        None,
        CATEGORIES,
    ),
    "hist, three classes": lambda: (
        HistGradientBoostingClassifier(max_iter=4).fit(X, CLASSES),
        "high",
        X,
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_read_back_is_what_was_saved(name: str, tmp_path: Path) -> None:
    model, target, table = FAMILIES[name]()
    saved = robx.import_model(model, target, X=table)
    assert isinstance(saved, TreeEnsemble)
    saved.save(tmp_path / "model.robx")
    read = robx.import_model(tmp_path / "model.robx", X=table)
    assert isinstance(read, TreeEnsemble)
    assert read == saved
    assert read.digest == saved.digest
    assert read.columns == saved.columns
    assert read.target == saved.target
    assert type(read.target) is type(saved.target)
    assert repr(read) == repr(saved)
    assert read.score(table).tolist() == saved.score(table).tolist()
    stabilities = [
        robx.stability(each, table[:20], scale=np.ones(4), rng=0).value.tolist()
        for each in (read, saved)
    ]
    assert stabilities[0] == stabilities[1]


def test_blanks_in_names_are_known_by_the_source_and_not_written(tmp_path: Path) -> None:
    blanks = FRAME.rename(columns={"a": "my a"})
    saved = robx.import_model(lightgbm().fit(blanks, Y), X=blanks)
    assert isinstance(saved, TreeEnsemble)
    assert not any("blank" in column for column in saved.header()["columns"])
    saved.save(tmp_path / "model.robx")
    read = robx.import_model(tmp_path / "model.robx", X=blanks)
    assert read.score(blanks[["d", "my a", "c", "b"]]).tolist() == saved.score(blanks).tolist()


ENSEMBLE = robx.import_model(xgboost().fit(FRAME, Y))
assert isinstance(ENSEMBLE, TreeEnsemble)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    assert isinstance(ENSEMBLE, TreeEnsemble)
    ENSEMBLE.save(tmp_path / "model.robx")
    return tmp_path / "model.robx"


def parts(path: Path) -> tuple[bytes, dict[str, Any], bytes]:
    magic, _, rest = path.read_bytes().partition(b"\n")
    header, _, body = rest.partition(b"\n")
    return magic, json.loads(header), body


def test_saving_twice_gives_the_same_bytes(path: Path, tmp_path: Path) -> None:
    again = robx.import_model(path)
    assert isinstance(again, TreeEnsemble)
    again.save(str(tmp_path / "again.robx"))
    assert (tmp_path / "again.robx").read_bytes() == path.read_bytes()


def test_what_is_read_back_cannot_be_written_to(path: Path) -> None:
    ensemble = robx.import_model(path)
    assert isinstance(ensemble, TreeEnsemble)
    assert not any(array.flags.writeable for array in ensemble.arrays().values())


def test_the_file_is_a_line_of_magic_a_line_of_json_and_plain_arrays(path: Path) -> None:
    magic, header, body = parts(path)
    assert magic == b"robx ensemble 1"
    assert set(header) == {"ensemble", "digest", "arrays"}
    at = 0
    for name, code, shape in header["arrays"]:
        dtype = np.dtype(code)
        count = int(np.prod(shape))
        array = np.frombuffer(body, dtype, count, at).reshape(shape)
        np.testing.assert_array_equal(array, getattr(ENSEMBLE, name))
        at += count * dtype.itemsize
    assert at == len(body)


def test_there_is_no_pickle_in_the_file(path: Path) -> None:
    data = path.read_bytes()
    with pytest.raises(ValueError, match="opcode|pickle"):
        list(pickletools.genops(data))
    assert b"numpy" not in data
    assert b"\x80\x04\x95" not in data
    assert b"\x80\x05\x95" not in data


def test_the_target_may_be_said_again_but_not_changed(path: Path) -> None:
    assert robx.import_model(path, target=1) == ENSEMBLE
    with pytest.raises(
        robx.InvalidInput,
        match=r"The file model\.robx scores the probability of 1, not of 0\. Import the original "
        r"model again with that target\.",
    ):
        robx.import_model(path, target=0)


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", r"The file model\.robx is not an ensemble saved by robx\."),
        (lambda data: b"PK\x03\x04" + data, r"is not an ensemble saved by robx\."),
        (lambda data: data[:-1], r"is cut off: it lacks a part of 'leaf_value'\."),
        (lambda data: data[:-500], r"is cut off: it lacks a part of '\w+'\."),
        (lambda data: data[:100], r"The file model\.robx is not valid JSON"),
        (lambda data: data[:16], r"The file model\.robx is not valid JSON"),
        (lambda data: data + b"\0", r"The file model\.robx goes on after its last array\."),
        (lambda data: data[:-1] + b"\x3f", r"damaged: its contents do not match its digest\."),
        (lambda data: data.replace(b'"name": "a"', b'"name": "e"'), r"do not match its digest"),
        (lambda data: data.replace(b'"target": 1', b'"target": 0'), r"do not match its digest"),
        (lambda data: data.replace(b'"named": true', b'"named": false'), r"match its digest"),
    ],
)
def test_damage_is_told_apart_by_its_message(
    path: Path, damage: Callable[[bytes], bytes], message: str
) -> None:
    data = path.read_bytes()
    assert damage(data) != data
    path.write_bytes(damage(data))
    with pytest.raises(robx.InvalidModel, match=message):
        robx.import_model(path)


@pytest.mark.parametrize("number", [b"2", b"0", b"01", b"1.0", b"x", b""])
def test_another_format_is_refused(path: Path, number: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(b"ensemble 1", b"ensemble " + number, 1))
    with pytest.raises(
        robx.UnsupportedModel, match=r"is not in format 1, the one that robx reads\."
    ):
        robx.import_model(path)


# --- files that somebody made up ------------------------------------------------------------------


def rewritten(path: Path, edit: Callable[[dict[str, Any]], Any], more: bytes = b"") -> Path:
    magic, header, body = parts(path)
    edit(header)
    path.write_bytes(magic + b"\n" + json.dumps(header).encode() + b"\n" + body + more)
    return path


HOSTILE_ARRAYS: dict[str, Any] = {
    "object": ["base", "|O", [1]],
    "record": ["base", "f4,f4", [1]],
    "text": ["base", "<U4", [1]],
    "old text": ["base", "a4", [1]],
    "void": ["base", "V4", [1]],
    "date": ["base", "<M8[s]", [1]],
    "complex": ["base", "<c8", [1]],
    "no dtype": ["base", "zzz", [1]],
    "dtype that is code": ["base", "__import__('os')", [1]],
    "dtype that breaks off": ["base", "(1,f4", [1]],
    "dtype that is a number": ["base", 4, [1]],
    "dtype that is nothing": ["base", None, [1]],
    "wide": ["base", "<f8", [1]],
    "negative": ["base", "<f4", [-1]],
    "negative twice": ["base", "<f4", [-1, -1]],
    "huge": ["base", "<f4", [2**62]],
    "huge beyond words": ["base", "<f4", [10**40]],
    "huge product": ["base", "<f4", [2**40, 2**40]],
    "huge by nothing": ["base", "<f4", [0, 2**62]],
    "huge by nothing beyond words": ["base", "<f4", [0, 10**40]],
    "too many dimensions": ["base", "<f4", [1] * 70],
    "no dimension": ["base", "<f4", []],
    "two dimensions": ["base", "<f4", [1, 1]],
    "infinite": ["base", "<f4", [float("inf")]],
    "no number": ["base", "<f4", [float("nan")]],
    "shape that is none": ["base", "<f4", None],
    "shape in words": ["base", "<f4", ["one"]],
    "shape in shape": ["base", "<f4", [[1]]],
    "too short": ["base", "<f4"],
    "too long": ["base", "<f4", [1], 0],
    "no list": 7,
    "nothing": None,
    "unknown name": ["bases", "<f4", [1]],
    "name that is a list": [["base"], "<f4", [1]],
}


@pytest.mark.parametrize("name", HOSTILE_ARRAYS)
def test_an_array_that_is_none_is_refused(path: Path, name: str) -> None:
    def edit(header: dict[str, Any]) -> None:
        assert header["arrays"][0] == ["base", "<f4", [1]]
        header["arrays"][0] = HOSTILE_ARRAYS[name]

    with pytest.raises(robx.InvalidModel, match=r"The file model\.robx|contradict each other"):
        robx.import_model(rewritten(path, edit))


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(
    "name",
    ["columns", "named", "target", "source", "link", "target_index", "divisor", "slope"],
)
def test_an_array_cannot_stand_in_for_a_field_of_the_header(
    path: Path, name: str, size: int
) -> None:
    def edit(header: dict[str, Any]) -> None:
        header["arrays"].append([name, "<f4", [size]])

    with pytest.raises(robx.InvalidModel):
        robx.import_model(rewritten(path, edit, bytes(4 * size)))


def _set(name: str, value: Any, header: dict[str, Any]) -> None:
    header["ensemble"][name] = value


def _set_in_column(name: str, value: Any, header: dict[str, Any]) -> None:
    header["ensemble"]["columns"][0][name] = value


HOSTILE_FIELDS: dict[str, tuple[str, list[Any]]] = {
    "named": (r"named is a \w+\.", [1, "yes", None]),
    "target": (r"target is a \w+\.", [None, [1], {}]),
    "source": (r"source is a \w+\.", [None, 3]),
    "link": (r"link is a \w+\.|the link, slope or divisor is unknown", [None, 3, "probit", ""]),
    "target_index": (r"target_index is a|target index", [True, 0.0, "0", -1, 1, 10**40]),
    "divisor": (r"divisor is a|the link, slope or divisor", [1, "1", 0.0, np.nan, np.inf]),
    "slope": (r"slope is a|the link, slope or divisor", [None, True, np.nan, -np.inf]),
    "columns": (
        r"columns must be a list|must be an object|out of range",
        ["ab", {}, [1], [], None],
    ),
}


@pytest.mark.parametrize("name", HOSTILE_FIELDS)
def test_a_field_of_the_header_of_another_type_is_refused(path: Path, name: str) -> None:
    message, values = HOSTILE_FIELDS[name]
    for value in values:
        rewritten(path, partial(_set, name, value))
        with pytest.raises(robx.InvalidModel, match=message):
            robx.import_model(path)


HOSTILE_COLUMN: dict[str, tuple[str, list[Any]]] = {
    "name": (r"columns\[0\]\.name is a \w+\.", [None, 3, ["a"]]),
    "n_codes": (r"n_codes is a \w+\.|too short for its column", [True, 1.0, "1", -1, 64, 10**40]),
    "categories": (
        r"categories is a \w+\.|category that is not a label",
        ["ab", {}, [None], [[1]]],
    ),
    "by_value": (r"by_value is a \w+\.", [None, 0]),
    "unseen_is_missing": (r"unseen_is_missing is a \w+\.", ["", 1]),
    "missing_range": (
        r"missing_range is a|a range that is not two",
        [0.0, [], [1.0], [1.0, 2.0, 3.0], [1, 2], ["a", "b"], [None, None]],
    ),
    "takes_missing": (r"takes_missing is a \w+\.", [None, 1]),
    "largest": (r"largest is a \w+\.", [None, "inf", 1]),
}


@pytest.mark.parametrize("name", HOSTILE_COLUMN)
def test_a_field_of_a_column_of_another_type_is_refused(path: Path, name: str) -> None:
    message, values = HOSTILE_COLUMN[name]
    for value in values:
        rewritten(path, partial(_set_in_column, name, value))
        with pytest.raises(robx.InvalidModel, match=message):
            robx.import_model(path)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda header: header.pop("digest"), r"lacks the field 'digest'\."),
        (lambda header: header.pop("arrays"), r"lacks the field 'arrays'\."),
        (lambda header: header.pop("ensemble"), r"lacks the field 'ensemble'\."),
        (lambda header: header.update(digest=None), r"digest must be text\. Got None\."),
        (lambda header: header.update(digest=""), r"its contents do not match its digest\."),
        (lambda header: header.update(arrays={}), r"arrays must be a list\. Got \{\}\."),
        (lambda header: header.update(ensemble=[]), r"ensemble must be an object\. Got \[\]\."),
        (lambda header: header["ensemble"].pop("link"), r"ensemble lacks the field 'link'\."),
        (
            lambda header: header["ensemble"]["columns"][2].pop("largest"),
            r"columns\[2\] lacks the field 'largest'\.",
        ),
        (lambda header: header["arrays"].reverse(), r"robx is cut off|contradict each other"),
    ],
)
def test_what_is_lacking_is_named(
    path: Path, edit: Callable[[dict[str, Any]], Any], message: str
) -> None:
    with pytest.raises(robx.InvalidModel, match=message):
        robx.import_model(rewritten(path, edit))


@pytest.mark.parametrize(
    "edit",
    [
        lambda header: header.update(surprise=1),
        lambda header: header["ensemble"].update(surprise=1),
        lambda header: header["ensemble"]["columns"][0].update(surprise=1),
    ],
)
def test_a_field_that_is_not_known_may_change_the_meaning(
    path: Path, edit: Callable[[dict[str, Any]], Any]
) -> None:
    with pytest.raises(robx.UnsupportedModel, match="fields that robx does not know: surprise"):
        robx.import_model(rewritten(path, edit))


@pytest.mark.parametrize("header", [b"[]", b"7", b"null", b'"x"', b"{", b"[" * 100_000])
def test_a_header_that_is_no_object_is_refused(path: Path, header: bytes) -> None:
    path.write_bytes(b"robx ensemble 1\n" + header + b"\n")
    with pytest.raises(robx.InvalidModel, match=r"must be an object|is not valid JSON"):
        robx.import_model(path)
