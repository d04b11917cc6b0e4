"""Small files that ask for much: each is refused in a sentence, at the cost of what it holds."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import catboost as cb
import lightgbm as lgb
import numpy as np
import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
import skops.io
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import robx
import ubjson
from hostile import Outcome, read_all
from oracles import toy_data
from robx.tables import pack

X, Y = toy_data(200, 4)
#: Reading one of these files may take so much more memory than the file has bytes.
MOST = 250 * 2**20
#: These are taken for what they are, and cost nothing.
HARMLESS = {"a_list_of_lists_that_are_shared"}
#: These take some time to write.
LARGE = [
    "lists_of_nothing_in_ubjson",
    "a_node_for_every_five_bytes",
    "a_lightgbm_list_of_ones",
    "an_array_of_zeros_that_are_deflated",
    "a_bomb_by_another_packer",
    "one_tree_five_hundred_times",
    "a_number_to_the_base_of_sixty",
    "a_table_of_zeros",
    "a_million_columns",
    "a_run_of_rows",
    "a_table_for_every_hundred_bytes",
]
ATTACKS: dict[str, tuple[str, str, Callable[[Path], object]]] = {}


def attack(kind: str, name: str) -> Callable[[Callable[[Path], object]], object]:
    """Add a function that writes a hostile file; the file's name ends like this."""

    def add(write: Callable[[Path], object]) -> object:
        ATTACKS[write.__name__] = (kind, f"{write.__name__}{name}", write)
        return write

    return add


@cache
def xgboost_json() -> str:
    model = xgb.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(X, Y)
    return bytes(model.get_booster().save_raw("json")).decode()


def edited(change: Callable[[Any], object]) -> bytes:
    plain = json.loads(xgboost_json())
    change(plain["learner"])
    return json.dumps(plain).encode()


def trees_of(learner: Any) -> list[Any]:
    found: list[Any] = learner["gradient_booster"]["model"]["trees"]
    return found


def with_columns(count: str) -> Callable[[Any], object]:
    return lambda learner: learner["learner_model_param"].update(num_feature=count)


@attack("model", ".json")
def as_many_columns_as_there_are_numbers(path: Path) -> None:
    path.write_bytes(edited(with_columns("2147483647")))


@attack("model", ".json")
def thirty_million_columns(path: Path) -> None:
    path.write_bytes(edited(with_columns("30000000")))


@attack("model", ".json")
def lists_of_nothing(path: Path) -> None:
    path.write_bytes(b'{"learner":[' + b"[]," * 4_000_000 + b"[]]}")


@attack("model", ".ubj")
def lists_of_nothing_in_ubjson(path: Path) -> None:
    path.write_bytes(b"{i\x07learner[" + b"[]" * 1_200_000 + b"]}")


@attack("model", ".ubj")
def a_node_for_every_five_bytes(path: Path) -> None:
    """Arrays of single bytes, from which trees of fifty times as many bytes would be made."""
    n = 9_000_000
    plain = json.loads(xgboost_json())
    tree = trees_of(plain["learner"])[0]
    for name in ("left_children", "right_children", "split_indices"):
        tree[name] = np.full(n, -1, np.int8)
    for name in ("split_conditions", "default_left", "split_type"):
        tree[name] = np.zeros(n, np.int8)
    tree["tree_param"]["num_nodes"] = str(n)
    path.write_bytes(ubjson.dumps(plain))


@attack("model", ".json")
def categories_that_all_nodes_share(path: Path) -> None:
    n, m = 4000, 20_000

    def change(learner: Any) -> None:
        learner["feature_types"] = ["c"] * 4
        tree = trees_of(learner)[0]
        leaf = [k % 2 for k in range(2 * n + 1)]
        tree["left_children"] = [
            k + 1 if k < 2 * n and not leaf[k] else -1 for k in range(2 * n + 1)
        ]
        tree["right_children"] = [
            k + 2 if k < 2 * n and not leaf[k] else -1 for k in range(2 * n + 1)
        ]
        for name in ("split_indices", "default_left", "split_conditions", "base_weights"):
            tree[name] = [0] * (2 * n + 1)
        tree["split_type"] = [1 - one for one in leaf]
        tree["tree_param"]["num_nodes"] = str(2 * n + 1)
        tree["categories"] = list(range(m))
        tree["categories_nodes"] = list(range(0, 2 * n, 2))
        tree["categories_segments"], tree["categories_sizes"] = [0] * n, [m] * n

    path.write_bytes(edited(change))


@attack("model", ".txt")
def a_lightgbm_list_of_ones(path: Path) -> None:
    data = lgb.Dataset(X, Y, params={"verbose": -1})
    text = lgb.train({"objective": "binary", "verbose": -1}, data, 1).model_to_string()
    path.write_text(
        text.replace("max_feature_idx=3", "max_feature_idx=5000000").replace(
            "feature_names=", "feature_names=" + "ab " * 5_000_000
        )
    )


@attack("model", ".json")
def catboost_with_a_class_for_every_number(path: Path) -> None:
    model = cb.CatBoostClassifier(iterations=1, depth=1, verbose=0, allow_writing_files=False)
    model.fit(X, np.arange(200) % 3).save_model(str(path), format="json")
    plain = json.loads(path.read_text())
    n = 9000
    plain["scale_and_bias"] = [1, [0] * n]
    plain["oblivious_trees"] = [{"leaf_values": [0] * n, "splits": None}] * 200
    path.write_text(json.dumps(plain))


# --- skops ----------------------------------------------------------------------------------------


@cache
def forest() -> dict[str, bytes]:
    data = skops.io.dumps(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(
    path: Path, change: Callable[[Any, dict[str, bytes]], object], compression: int = 0
) -> None:
    parts = dict(forest())
    schema = json.loads(parts["schema.json"])
    change(schema["content"]["content"], parts)
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def plain(value: Any) -> dict[str, Any]:
    node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    return {**node, "content": json.dumps(value), "is_json": True}


def listing(content: Any, number: int = 0) -> dict[str, Any]:
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    return {**node, "content": content, "__id__": number}


def npy(descr: str, shape: str, data: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + data


@attack("model", ".skops")
def forty_million_columns(path: Path) -> None:
    zipped(path, lambda model, _: model.update(n_features_in_=plain(40_000_000)))


@attack("model", ".skops")
def an_array_of_zeros_that_are_deflated(path: Path) -> None:
    zeros = npy("|u1", "(80000000,)", bytes(80_000_000))
    zipped(path, lambda _, parts: parts.update({"zeros.npy": zeros}), zipfile.ZIP_DEFLATED)


@attack("model", ".skops")
def a_directory_that_lies_about_sizes(path: Path) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(100 * 2**20)) + packer.flush()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in forest().items():
            archive.writestr(name, data)
        archive.writestr("lie.npy", packed)
    data = path.read_bytes()
    for mark, at in ((b"PK\3\4", 8), (b"PK\1\2", 10)):  # stored becomes deflated, of 1000 bytes
        start = data.rindex(mark)
        size = start + at + 14
        data = data[: start + at] + b"\x08\0" + data[start + at + 2 :]
        data = data[:size] + (1000).to_bytes(4, "little") + data[size + 4 :]
    path.write_bytes(data)


@attack("model", ".skops")
def a_header_that_lies_about_its_array(path: Path) -> None:
    zipped(path, lambda _, parts: parts.update({next(iter(parts)): npy("<f8", "(99999999999,)")}))


@attack("model", ".skops")
def an_array_of_values_without_bytes(path: Path) -> None:
    first = next(name for name in forest() if name.endswith(".npy"))
    zipped(path, lambda _, parts: parts.update({first: npy("|V0", "(1000000000000,)")}))


@attack("model", ".skops")
def a_bomb_by_another_packer(path: Path) -> None:
    data = npy("|u1", "(80000000,)", bytes(80_000_000))
    zipped(path, lambda _, parts: parts.update({"zeros.npy": data}), zipfile.ZIP_BZIP2)


@attack("model", ".skops")
def a_list_of_lists_that_are_shared(path: Path) -> None:
    def change(model: Any, parts: Any) -> None:
        nested = listing([], 1)
        for k in range(2, 60):
            nested = listing([nested, {**listing([], k - 1)}], k)
        model["verbose"] = nested

    zipped(path, change)


@attack("model", ".skops")
def a_tree_of_very_many_outputs(path: Path) -> None:
    def change(model: Any, parts: Any) -> None:
        tree = model["estimators_"]["content"][0]["content"]["content"]["tree_"]
        tree["__reduce__"]["args"]["content"][2] = plain(2**31)

    zipped(path, change)


@attack("model", ".skops")
def a_generator_with_a_pool_that_is_mixed_for_ever(path: Path) -> None:
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    rng = schema["content"]["content"]["_feature_subsample_rng"]
    rng["content"]["seed_seq"]["content"]["pool_size"] = plain(2**20)
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


@attack("model", ".skops")
def one_tree_five_hundred_times(path: Path) -> None:
    def change(model: Any, parts: Any) -> None:
        first = model["estimators_"]["content"][0]
        state = first["content"]["content"]["tree_"]["content"]["content"]
        state["node_count"] = plain(50_000)
        for name in ("nodes", "values"):
            array, buffer = np.load(io.BytesIO(parts[state[name]["file"]])), io.BytesIO()
            np.save(buffer, np.zeros((50_000, *array.shape[1:]), array.dtype))
            parts[state[name]["file"]] = buffer.getvalue()
        model["estimators_"]["content"] = [first] * 500

    zipped(path, change)


# --- schemas, parameters, tables, answers ---------------------------------------------------------

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)
MERGES = "a: &a {x1: 1, x2: 1, x3: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join(['*' + before] * 9)}]}}\n"
    for before, name in zip("abcdefghij", "bcdefghijk", strict=True)
)


@attack("schema", ".yaml")
def a_billion_laughs(path: Path) -> None:
    path.write_text(LAUGHS + "features: *k\n")


@attack("params", ".yaml")
def a_billion_laughs_for_parameters(path: Path) -> None:
    path.write_text(LAUGHS)


@attack("params", ".yaml")
def a_billion_merges(path: Path) -> None:
    path.write_text(MERGES)


@attack("params", ".yaml")
def a_list_in_itself(path: Path) -> None:
    path.write_text("a: &a [1, *a]\n")


@attack("params", ".yaml")
def a_number_to_the_base_of_sixty(path: Path) -> None:
    path.write_text("a: 1" + ":59" * 300_000 + "\n")


@attack("schema", ".json")
def a_schema_of_lists_of_nothing(path: Path) -> None:
    path.write_bytes(b'{"features": [' + b"[]," * 4_000_000 + b"[]]}")


@attack("table", ".csv.gz")
def a_table_of_zeros(path: Path) -> None:
    path.write_bytes(gzip.compress(b"a\n" + b"0\n" * 40_000_000, 9))


@attack("table", ".csv")
def a_million_columns(path: Path) -> None:
    path.write_text(",".join(f"c{k}" for k in range(1_000_000)) + "\n")


@attack("table", ".parquet")
def a_run_of_rows(path: Path) -> None:
    table = pa.table({"a": pa.array(np.zeros(80_000_000, np.int8))})
    pq.write_table(table, path)


@attack("table", ".parquet")
def one_long_word_in_every_row(path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), ["x" * 2**18])
    pq.write_table(pa.table({"a": words}), path, store_schema=False, compression="zstd")


@attack("table", ".parquet")
def one_long_word_in_every_struct(path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000, np.int32)), ["x" * 2**18])
    within = pa.StructArray.from_arrays([words], ["a"])
    pq.write_table(pa.table({"a": within}), path, store_schema=False, compression="zstd")


@attack("table", ".parquet")
def one_long_word_in_every_view(path: Path) -> None:
    long, n = b"x" * 2**18, 20_000
    one = struct.pack("<i4sii", len(long), long[:4], 0, 0)  # length, beginning, buffer and place
    buffers = [None, pa.py_buffer(one * n), pa.py_buffer(long)]
    words = pa.Array.from_buffers(pa.string_view(), n, buffers)
    pq.write_table(pa.table({"a": words}), path, compression="zstd")


def answers_with(change: Callable[[Any], object]) -> bytes:
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)
    found = robx.NearestNeighbour().explain(robx.Problem(model, X), X[:5])
    plain = json.loads(found.to_json())
    change(plain)
    return json.dumps(plain).encode()


@attack("answers", ".json")
def words_of_a_claimed_width(path: Path) -> None:
    column = {"name": "0", "dtype": "<U60000", "type": "string", "values": ["a"] * 20_000}
    table = {"kind": "numpy", "columns": [column]}
    path.write_bytes(answers_with(lambda plain: plain.update(applicants=table)))


@attack("answers", ".json")
def a_table_for_every_hundred_bytes(path: Path) -> None:
    empty = json.dumps(pack(pd.DataFrame({"a": [1]})))
    whole = answers_with(lambda plain: plain.update(paths=["here"])).decode()
    path.write_text(whole.replace('"here"', ",".join([empty] * 270_000)))


def is_right(name: str, outcome: Outcome, size: int) -> bool:
    how = "read" if name in HARMLESS else "refused"
    in_a_sentence = len(outcome.said) < 600 and "\n" not in outcome.said
    return outcome.how == how and outcome.grown < MOST + 4 * size and in_a_sentence


def check(names: list[str], folder: Path) -> None:
    files = []
    for name in names:
        kind, file, write = ATTACKS[name]
        write(folder / file)
        files.append((kind, folder / file))
    found = dict(zip(names, read_all(files), strict=True))
    sizes = dict(zip(names, (path.stat().st_size for _, path in files), strict=True))
    assert {n: o for n, o in found.items() if not is_right(n, o, sizes[n])} == {}


def test_tiny_files_that_ask_for_much_are_refused_at_little_cost(tmp_path: Path) -> None:
    check([name for name in ATTACKS if name not in LARGE], tmp_path)


@pytest.mark.slow
def test_larger_files_that_ask_for_much_are_refused_at_little_cost(tmp_path: Path) -> None:
    check(LARGE, tmp_path)
