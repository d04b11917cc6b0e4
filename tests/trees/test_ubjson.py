from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import example, given
from hypothesis import strategies as st

import robx
from oracles import toy_data
from robx.trees.ubjson import MAX_DEPTH, parse_ubjson
from speed import examples

X, Y = toy_data(150, 4)


def text(value: str) -> bytes:
    raw = value.encode()
    return b"i" + struct.pack(">b", len(raw)) + raw


def field(value: bytes) -> Any:
    """What is read from an object whose only field has these bytes."""
    return parse_ubjson(b"{" + text("f") + value + b"}", "The file").fields["f"]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"Z", None),
        (b"T", True),
        (b"F", False),
        (b"i\x80", -128),
        (b"U\xff", 255),
        (b"I\x80\x00", -(2**15)),
        (b"l\x7f\xff\xff\xff", 2**31 - 1),
        (b"L\x80" + bytes(7), -(2**63)),
        (b"d" + struct.pack(">f", 1.5), 1.5),
        (b"D" + struct.pack(">d", 0.1), 0.1),
        (b"Cx", "x"),
        (b"S" + "iß".encode().replace(b"i", b"i\x02", 1), "ß"),
        (b"SU\x03abc", "abc"),
        (b"SL" + struct.pack(">q", 3) + b"abc", "abc"),
        (b"Si\x00", ""),
        (b"[]", []),
        (b"[TZi\x05]", [True, None, 5]),
        (b"[#i\x02TF", [True, False]),
        (b"[#i\x00", []),
        (b"{}", {}),
        (b"{#i\x00", {}),
        (b"{#i\x02" + text("a") + b"T" + text("b") + b"Z", {"a": True, "b": None}),
        (b"[[i\x01]{" + text("x") + b"[]}]", [[1], {"x": []}]),
    ],
)
def test_every_kind_of_value(data: bytes, value: Any) -> None:
    read = field(data)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_that_are_none(sign: int) -> None:
    assert field(b"d" + struct.pack(">f", sign * math.inf)) == sign * math.inf
    assert math.isnan(field(b"D" + struct.pack(">d", sign * math.nan)))


@pytest.mark.parametrize(
    ("marker", "code", "dtype"),
    [
        (b"i", "b", np.int8),
        (b"U", "B", np.uint8),
        (b"I", "h", np.int16),
        (b"l", "i", np.int32),
        (b"L", "q", np.int64),
        (b"d", "f", np.float32),
        (b"D", "d", np.float64),
    ],
)
def test_typed_lists_become_arrays(marker: bytes, code: str, dtype: type) -> None:
    read = field(b"[$" + marker + b"#i\x03" + struct.pack(f">3{code}", 1, 2, 100))
    assert read.dtype == np.dtype(dtype)
    assert read.dtype.isnative
    assert read.tolist() == [1, 2, 100]


def test_a_typed_list_may_be_empty_or_stand_in_another() -> None:
    assert field(b"[$d#i\x00").tolist() == []
    nested = field(b"[[$U#i\x01\x07[$U#i\x01\x08]")
    assert [part.tolist() for part in nested] == [[7], [8]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"The file is cut off or damaged at byte 0\."),
        (b"{", r"The file is cut off or damaged at byte 1\."),
        (b"{i\x01a", r"The file is cut off or damaged at byte 4\."),
        (b"{i\x05abc", r"cut off or damaged at byte 3\."),
        (b"{i\x01al\x00\x00", r"cut off or damaged at byte 5\."),
        (b"{i\x01a[", r"cut off or damaged at byte 5\."),
        (b"{i\x01a[$d#i\x03\x00\x00}", r"cut off or damaged at byte 10\."),
        (b"{}}", r"The file goes on after its end, at byte 2\."),
        (b"{i\x01aX}", r"The file has the unknown marker b'X' at byte 4\."),
        (b"N", r"unknown marker b'N' at byte 0\."),
        (b"{i\x01aH", r"unknown marker b'H' at byte 4\."),
        (b"{d\x00\x00\x00\x00", r"The file lacks a length at byte 1\."),
        (b"{S", r"The file lacks a length at byte 1\."),
        (b"{i\xffabc", r"The file claims a length of -1 at byte 3\."),
        (b"{U\xffabc", r"The file claims a length of 255 at byte 3\."),
        (b"{i\x01a[#L" + struct.pack(">q", 2**62), r"claims a length of 4611686018427387904"),
        (b"{i\x01\xff", r"The file has text that is not UTF-8\."),
        (b"{i\x01aSi\x02\xc3\x28}", r"The file has text that is not UTF-8\."),
        (b"{i\x01a[$d]}", r"The file has a typed list without a length\."),
        (b"{i\x01a[$T#i\x02}", r"The file has a list of the unknown type b'T'\."),
        (b"{i\x01a[$S#i\x02}", r"The file has a list of the unknown type b'S'\."),
        (b"{$i#i\x01", r"The file has a typed object, which XGBoost does not write\."),
        (b"{i\x01aTi\x01aF}", r"The file has the field 'a' twice\."),
        (b"{#i\x02i\x01aTi\x01aF", r"The file has the field 'a' twice\."),
        (b"[]", r"The file must be an object\. Got \[\]\."),
        (b"i\x07", r"The file must be an object\. Got 7\."),
        (b"{i\x01a" * 70, r"The file is nested more than 64 deep\."),
        (b"{i\x01a" + b"[" * 70, r"The file is nested more than 64 deep\."),
        (b"{i\x01a" + b"[#i\x01" * 70, r"The file is nested more than 64 deep\."),
    ],
)
def test_what_is_wrong_is_said_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(robx.InvalidModel, match=message):
        parse_ubjson(data, "The file")


def test_nesting_is_taken_up_to_the_limit() -> None:
    value = field(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for _ in range(MAX_DEPTH - 1):
        (value,) = value
    assert value == []


PIECES = st.sampled_from(
    [b"{", b"}", b"[", b"]", b"$", b"#", b"i\x01", b"i\x01a", b"S", b"U", b"d", b"D", b"T", b"Z"]
)
SAMPLE = b"{" + text("a") + b"[$d#i\x02" + bytes(8) + text("b") + b"[TF]" + text("c") + b"{}}"


@examples(500)
@given(data=st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=30).map(b"".join)))
@example(data=b"{i\x01ad\x7f\x80\x00\x01}")
def test_any_bytes_give_an_object_or_an_error_of_ours(data: bytes) -> None:
    try:
        record = parse_ubjson(data, "The file")
    except robx.InvalidModel as error:
        assert str(error).startswith("The file ")
    else:
        assert data[:1] == b"{"
        assert isinstance(record.fields, dict)


@given(at=st.integers(0, len(SAMPLE) - 1))
def test_no_beginning_of_a_file_is_a_file(at: int) -> None:
    assert set(parse_ubjson(SAMPLE, "The file").fields) == {"a", "b", "c"}
    with pytest.raises(robx.InvalidModel):
        parse_ubjson(SAMPLE[:at], "The file")


def plain(value: Any) -> Any:
    """The same value as JSON would hold it: floats of XGBoost have float32's precision."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | np.ndarray):
        return [plain(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(np.float32(value))
    return int(value) if isinstance(value, np.integer) else value


@pytest.mark.parametrize("kind", ["gbtree", "dart", "categories", "several classes"])
def test_xgboost_writes_the_same_in_both_formats(kind: str, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"objective": "binary:logistic", "max_depth": 3}
    table, label, types = X, Y, ["float"] * 4
    if kind == "dart":
        parameters |= {"booster": "dart", "rate_drop": 0.5}
    if kind == "categories":
        table, types = np.column_stack([np.arange(150) % 9, X[:, 1:]]), ["c", *types[1:]]
    if kind == "several classes":
        label = np.digitize(X[:, 0], [-0.5, 0.5])
        parameters |= {"objective": "multi:softprob", "num_class": 3}
    data = xgb.DMatrix(table, label, feature_types=types, enable_categorical=True)
    booster = xgb.train(parameters, data, 4)
    binary = parse_ubjson(bytes(booster.save_raw("ubj")), "The file").fields
    words = json.loads(bytes(booster.save_raw("json")))
    assert plain(binary) == plain(words)
    booster.save_model(tmp_path / "model.ubj")
    booster.save_model(tmp_path / "model.json")
    scores = [
        robx.import_model(tmp_path / f"model.{ending}", target=1).score(table).tolist()
        for ending in ("ubj", "json")
    ]
    assert scores[0] == scores[1]
    assert len(set(scores[0])) > 2
