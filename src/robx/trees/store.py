"""Saving a `TreeEnsemble` to a file of robx's own, and reading it back safely.

The file is one line of magic, the header as a line of JSON, then the arrays' bytes, little-endian,
in the order that the header lists them. Nothing in it is executed: a file from anywhere gives a
sound ensemble or an `InvalidModel`. When the layout changes, raise `FORMAT` and keep reading the
old number for one release.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.budget import Budget
from robx.errors import InvalidModel, UnsupportedModel
from robx.files import atomically
from robx.tables import Category, Column
from robx.trees import lightgbm
from robx.trees.ensemble import ARRAY_TYPES, UNTOLD, TreeEnsemble
from robx.trees.records import Record, parse_json
from robx.trees.targets import UnknownTarget

FORMAT = 1
MAGIC = b"robx ensemble %d\n"
#: What an explainer's file begins with, which has the same ending.
ZIP = b"PK\3\4"
#: So often the bytes of a file are in memory while it is read and checked.
COPIES = 8

CATEGORY = (str, int, float, bool)
LIST = (list, type(None))
HEADER_TYPES: dict[str, tuple[type, ...]] = {
    "named": (bool,),
    "target": CATEGORY,
    "source": (str,),
    "link": (str,),
    "target_index": (int,),
    "divisor": (float,),
    "slope": (float,),
}
COLUMN_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "n_codes": (int,),
    "categories": LIST,
    "missing_range": LIST,
    "limits": LIST,
    **dict.fromkeys(("by_value", "unseen_is_missing", "takes_unseen", "takes_missing"), (bool,)),
    **dict.fromkeys(("as_text", "partly_known"), (bool,)),
    "is_ignored": (bool,),
    **dict.fromkeys(("largest", "largest_integer"), (float,)),
}


def save(ensemble: TreeEnsemble, path: Path) -> None:
    """Write the ensemble; the same ensemble gives the same bytes."""
    with atomically(path, private=False) as temporary:
        temporary.write_bytes(to_bytes(ensemble))


def to_bytes(ensemble: TreeEnsemble) -> bytes:
    """Give the bytes of an ensemble's file."""
    arrays = {
        name: np.ascontiguousarray(array, dtype=_little_endian(array.dtype.str))
        for name, array in ensemble.arrays().items()
    }
    header = {
        "ensemble": ensemble.header(),
        "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()],
    }
    body = b"".join(array.tobytes() for array in arrays.values())
    header["digest"] = _digest(header["ensemble"], header["arrays"], body)
    return MAGIC % FORMAT + json.dumps(header).encode() + b"\n" + body


def parse_file(path: Path, budget: Budget) -> TreeEnsemble:
    """Read an ensemble back, and check it as if a stranger had written it."""
    data = budget.read(path)
    if data.startswith(ZIP):
        raise InvalidModel(
            f"The file {path.name} is not an ensemble saved by robx. It begins like a zip file: an "
            "explainer is read by robx.Explainer.load, or by the command robx show."
        )
    return from_bytes(data, f"The file {path.name}", budget)


def from_bytes(data: bytes, where: str, budget: Budget) -> TreeEnsemble:
    """Read what `to_bytes` gave; `where` is what to call it in errors."""
    budget.check_memory(COPIES * len(data), where)
    magic, _, rest = data.partition(b"\n")
    if not magic.startswith(b"robx ensemble "):
        raise InvalidModel(f"{where} is not an ensemble saved by robx.")
    if magic + b"\n" != MAGIC % FORMAT:
        raise UnsupportedModel(f"{where} is not in format {FORMAT}, the one that robx reads.")
    text, _, body = rest.partition(b"\n")
    root = parse_json(text, where, budget).only("ensemble digest arrays")
    header = _typed(root.record("ensemble"), HEADER_TYPES)
    blank = lightgbm.BLANK if header["source"].startswith("LightGBM ") else " "
    records = root.record("ensemble").records("columns")
    budget.check_columns(len(records), where)
    columns = tuple(_column(record, blank) for record in records)
    ensemble = TreeEnsemble(**{**header, "columns": columns, **_read_arrays(root, body)})
    if _digest(root.any("ensemble"), root.any("arrays"), body) != root.text("digest"):
        raise InvalidModel(f"{where} is damaged: its contents do not match its digest.")
    return ensemble


def from_parsed(
    ensemble: TreeEnsemble,
    path: Path,
    target: Category | None,
    budget: Budget,  # noqa: ARG001 - `parse_file` has kept it
) -> TreeEnsemble:
    """Give the ensemble that `parse_file` read, if it scores the target."""
    if target is not None and target != ensemble.target:
        raise UnknownTarget(
            f"The file {path.name} scores the probability of {ensemble.target!r}, not of "
            f"{target!r}. Import the original model again with that target.",
            [ensemble.target],
        )
    return ensemble


def _digest(header: object, arrays: object, body: bytes) -> str:
    """Digest of everything in a file, to tell damage from a change of mind."""
    return hashlib.sha256(json.dumps([header, arrays]).encode() + body).hexdigest()


def file_probability(path: Path, target: Category, X: Any, budget: Budget) -> None:
    """Nobody can be asked: the file holds robx's own arrays, guarded by their digest."""


def _read_arrays(root: Record, body: bytes) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    at = 0
    for entry in root.sequence("arrays"):
        parts: list[Any] = entry if isinstance(entry, list) and len(entry) == 3 else [None] * 3
        name, code, shape = parts
        types = ARRAY_TYPES.get(name, ()) if isinstance(name, str) and name not in arrays else ()
        dtype = next((t for t in map(_little_endian, types) if t.str == code), None)
        if dtype is None:
            raise InvalidModel(f"{root.where} lists an array that an ensemble does not have.")
        n_dimensions = 2 if name == "category_bits" else 1
        is_list = isinstance(shape, list) and len(shape) == n_dimensions
        if not is_list or any(type(n) is not int or n < 0 for n in shape):
            raise InvalidModel(f"{root.where} gives '{name}' a shape that it cannot have.")
        count = math.prod(shape)
        if at + count * dtype.itemsize > len(body) or max(shape) > len(body):
            raise InvalidModel(f"{root.where} is cut off: it lacks a part of '{name}'.")
        flat = np.frombuffer(body, dtype, offset=at, count=count)
        arrays[name] = flat.reshape(shape).astype(dtype.newbyteorder("="))
        at += count * dtype.itemsize
    if at != len(body):
        raise InvalidModel(f"{root.where} goes on after its last array.")
    if set(arrays) != set(ARRAY_TYPES):
        raise InvalidModel(f"{root.where} lacks some of an ensemble's arrays.")
    return arrays


def _little_endian(code: str) -> np.dtype[Any]:
    return np.dtype(code).newbyteorder("<")


def _column(record: Record, blank: str) -> Column:
    untold = {name: getattr(Column, name) for name in UNTOLD}
    fields = _typed(Record({**untold, **record.fields}, record.where), COLUMN_TYPES)
    for name in ("categories", "missing_range", "limits"):
        if fields[name] is not None:
            fields[name] = tuple(fields[name])
    if not all(type(category) in CATEGORY for category in fields["categories"] or ()):
        raise InvalidModel(f"{record.where} has a category that is not a label.")
    for span in (fields["missing_range"], fields["limits"]):
        if span is not None and (len(span) != 2 or any(type(bound) is not float for bound in span)):
            raise InvalidModel(f"{record.where} has a range that is not two numbers.")
    return Column(**fields, blank=blank)


def _typed(record: Record, types: dict[str, tuple[type, ...]]) -> dict[str, Any]:
    """Read all fields of an object, each of the type that it was saved with."""
    fields = {name: record.any(name) for name in types}
    for name, value in record.only(*types, "columns").fields.items():
        if name in types and type(value) not in types[name]:
            raise InvalidModel(f"{record.where}.{name} is a {type(value).__name__}.")
    return fields
