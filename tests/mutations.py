"""Files with hostile numbers and sizes: the format is parsed, changed and written."""

from __future__ import annotations

import io
import json
import random
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import yaml

import ubjson
from explainer_cases import signed, unzipped
from robx.answers.files import KEY
from robx.trees.store import MAGIC, _digest
from robx.trees.ubjson import parse_ubjson

#: Numbers on the edges of what a type holds, and beyond.
WHOLE = [0, -1, 1, 2, 255, 65_537, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, 2**64]
BROKEN = [0.5, -0.0, 1e308, -1e308, 5e-324, float("nan"), float("inf"), float("-inf")]
Mutator = Callable[[bytes, random.Random], bytes]


def number(rng: random.Random) -> Any:
    return rng.choice(WHOLE if rng.random() < 0.7 else BROKEN)


# --- plain values ---------------------------------------------------------------------------------


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in plain values: what holds it, and its key there."""
    found, waiting = [], [value]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict | list):
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            found += [(holder, key) for key in keys]
            waiting += [holder[key] for key in keys]
    return found


def changed(value: Any, rng: random.Random) -> Any:
    """Another value in the place of one, of the same type more often than not."""
    way = rng.randrange(10)
    if isinstance(value, np.ndarray):
        return _changed_array(value, rng)
    if isinstance(value, list) and way < 6:
        longer = value * rng.choice([2, 100, 10_000]) if len(value) < 100 else value * 2
        return rng.choice([[], value[:-1], longer, value[::-1], [value]])
    if isinstance(value, str) and way < 6:
        is_number = re.fullmatch(r"\[?-?[\d.eE+-]+\]?", value) is not None
        return str(number(rng)) if is_number else rng.choice(["", value * 1000, value[:-1], "\0"])
    if isinstance(value, dict) and way < 6:
        return {key: value[key] for key in list(value)[1:]}
    if way == 9:
        return rng.choice([None, True, "x", [], {}, nested(rng.choice([5, 90, 2000]))])
    return number(rng)


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def mutate_plain(value: Any, rng: random.Random) -> Any:
    """Change plain values, in place, in one to three places."""
    for _ in range(rng.randint(1, 3)):
        holder, key = rng.choice(places(value))
        try:
            holder[key] = changed(holder[key], rng)
        except (IndexError, KeyError):  # an earlier change took it away
            continue
    return value


def _changed_array(array: Any, rng: random.Random) -> Any:
    way, array = rng.randrange(5), array.copy()
    if way == 0:
        return array[: rng.randrange(len(array) + 1)]
    if way == 1:
        return np.tile(array, rng.choice([2, 1000]))
    if way == 2:
        return array.astype(rng.choice(["i1", "u1", "f4", "f8", "i8"]))
    if len(array):
        kind = array.dtype
        limits = np.iinfo(kind) if kind.kind in "iu" else None
        edges = [limits.min, limits.max, 0, 1] if limits else [np.nan, np.inf, 1e30, -1]
        with np.errstate(all="ignore"):
            array[rng.randrange(len(array))] = rng.choice(edges)
    return array


# --- formats --------------------------------------------------------------------------------------


def json_file(data: bytes, rng: random.Random) -> bytes:
    try:
        return json.dumps(mutate_plain(json.loads(data), rng)).encode()
    except RecursionError:
        return data[:-2]


def yaml_file(data: bytes, rng: random.Random) -> bytes:
    try:
        text = yaml.safe_dump(mutate_plain(yaml.safe_load(data), rng), sort_keys=False)
    except RecursionError:
        return b"[" * 3000
    anchors = "".join(f"x{k}: &x{k} [{f'*x{k - 1}, ' * 9 if k else 1}]\n" for k in range(9))
    return (anchors + text if rng.random() < 0.1 else text).encode()


def ubjson_file(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.4:  # a length, wherever one stands
        starts = [m.end() for m in re.finditer(rb"[#{\]}SL]L", data)]
        at, size = rng.choice(starts), rng.choice(WHOLE[:-1])
        return data[:at] + struct.pack(">q", size) + data[at + 8 :]
    try:
        return ubjson.dumps(mutate_plain(dict(parse_ubjson(data, "It").fields), rng))
    except RecursionError:
        return data[:-2]


def text_file(data: bytes, rng: random.Random) -> bytes:
    """Change numbers of a text, or how often one stands there."""
    for _ in range(rng.randint(1, 3)):
        found = list(re.finditer(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", data))
        if not found:
            return data
        one = rng.choice(found)
        word = str(number(rng)).encode()
        if rng.random() < 0.2:
            word = b" ".join([one[0]] * rng.choice([2, 1000, 100_000]))
        data = data[: one.start()] + word + data[one.end() :]
    return data


def lightgbm_file(data: bytes, rng: random.Random) -> bytes:
    """Change numbers, and let the sizes of the trees fit again more often than not."""
    data = text_file(data, rng)
    if rng.random() < 0.7:
        head, mark, rest = data.partition(b"\n\nTree=0")
        trees = re.split(rb"(?=Tree=\d)", mark[2:] + rest.partition(b"end of trees")[0])
        sizes = b" ".join(b"%d" % len(tree) for tree in trees if tree)
        head = re.sub(rb"tree_sizes=[^\n]*", b"tree_sizes=" + sizes, head)
        data = head + mark + rest
    return data


def robx_file(data: bytes, rng: random.Random) -> bytes:
    """Change the header or the arrays, and sign it."""
    _, text, body = data.split(b"\n", 2)
    header = json.loads(text)
    if rng.random() < 0.3:
        at = rng.randrange(len(body))
        body = body[:at] + rng.choice([b"\xff", b"\x7f", b"\0", b"\x80"]) * 8 + body[at + 8 :]
    else:
        header = mutate_plain(header, rng)
    try:
        header["digest"] = _digest(header["ensemble"], header["arrays"], body)
        return MAGIC % 1 + json.dumps(header).encode() + b"\n" + body
    except (KeyError, TypeError, RecursionError):
        return data[:-2]


def explainer_file(data: bytes, rng: random.Random) -> bytes:
    """Change one part of an explainer's file, and sign it; or change a byte, and do not."""
    if rng.random() < 0.1:
        at = rng.randrange(len(data))
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    parts = unzipped(data)
    name = rng.choice([one for one in parts if one != "manifest.json"])
    if rng.random() < 0.05:
        other = rng.choice(list(parts))
        parts[name] = parts[other]
    elif rng.random() < 0.05:
        del parts[name]
    elif name.endswith(".robx"):
        parts[name] = robx_file(parts[name], rng)
    elif name.endswith(".json"):
        parts[name] = json_file(parts[name], rng)
    else:
        parts[name] = npy_part(parts[name], rng)
    return signed(parts)


def npy_part(data: bytes, rng: random.Random) -> bytes:
    """Change numbers of an array, its dtype, its shape, or what its header says."""
    if rng.random() < 0.1:
        return data.replace(b"True" if b"True" in data else b"False", b"Maybe", 1)
    array = np.load(io.BytesIO(data))
    way = rng.randrange(6)
    if way == 0:
        array = array.T
    elif way == 1:
        array = np.concatenate([array, array], axis=rng.randrange(array.ndim))
    elif way == 2 and array.ndim == 2:
        array = array[:, : rng.randrange(array.shape[1] + 1)]
    else:
        array = _changed_array(array.reshape(-1), rng)
        array = (
            array.reshape(np.load(io.BytesIO(data)).shape)
            if array.size == len(np.load(io.BytesIO(data)).reshape(-1))
            else array
        )
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def skops_file(data: bytes, rng: random.Random) -> bytes:
    """Change the schema, an array's header or values, or a size in the zip's directory."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in parts if name.endswith(".npy")]
    one, way = rng.choice(arrays), rng.randrange(10)
    if way < 5:
        parts["schema.json"] = _changed_schema(parts["schema.json"], rng)
    elif way < 7:
        end = parts[one].index(b"\n")
        parts[one] = (
            text_file(parts[one][10:end], rng)
            .ljust(end - 10)[: end - 10]
            .join([parts[one][:10], parts[one][end:]])
        )
    elif way == 7:
        at = rng.randrange(len(parts[one]))
        parts[one] = (
            parts[one][:at] + rng.choice([b"\xff", b"\x7f", b"\0"]) * 8 + parts[one][at + 8 :]
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([0, zipfile.ZIP_DEFLATED])) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    whole = out.getvalue()
    if way > 7:
        mark, at = rng.choice([(b"PK\1\2", 20), (b"PK\1\2", 24), (b"PK\3\4", 18), (b"PK\3\4", 22)])
        start = rng.choice([m.start() for m in re.finditer(re.escape(mark), whole)]) + at
        size = rng.choice([0, 1, 1000, 2**31 - 1, 2**32 - 2])
        whole = whole[:start] + struct.pack("<I", size) + whole[start + 4 :]
    return whole


def _changed_schema(text: bytes, rng: random.Random) -> bytes:
    schema = json.loads(text)
    if rng.random() < 0.5:
        return json_file(text, rng)
    leaves = [
        holder for holder, key in places(schema) if key == "content" and holder.get("is_json")
    ]
    for leaf in rng.sample(leaves, min(3, len(leaves))):
        leaf["content"] = json.dumps(number(rng))
    return json.dumps(schema).encode()


def parquet_answers(data: bytes, rng: random.Random) -> bytes:
    table = pq.read_table(io.BytesIO(data))
    whole = json_file(table.schema.metadata[KEY], rng)
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({KEY: whole}), out)
    return out.getvalue()


def binary_file(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes, of which the last ones are numbers and sizes in a parquet file."""
    for _ in range(rng.randint(1, 3)):
        start = max(len(data) - 400, 0) if rng.random() < 0.7 else 0
        at = rng.randrange(start, len(data))
        data = (
            data[:at]
            + bytes([rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])])
            + data[at + 1 :]
        )
    return data
