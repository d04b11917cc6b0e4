"""The parts of LightGBM's text model, none of which is trusted.

A header of ``name=value`` lines, trees of the stated sizes, and what follows them. This module
knows where things stand, not what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidModel, UnsupportedModel
from robx.trees.records import Record

VERSIONS = ("v3", "v4")
HEADER_FIELDS = (
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx"),
    *("objective", "average_output", "feature_names", "monotone_constraints", "feature_infos"),
    "tree_sizes",
)


def sections(text: str, where: str) -> tuple[Record, list[Record], str]:
    """Cut the text into its header, its trees and what follows them."""
    head, _, body = text.partition("\n\n")
    first, *lines = head.split("\n")
    if first != "tree":
        raise InvalidModel(f"{where} must begin with the line 'tree'. Got {first[:40]!r}.")
    header = _fields(lines, where)
    if (version := header.text("version")) not in VERSIONS:
        raise UnsupportedModel(
            f"{where} is of the format {version[:20]!r}; robx knows {', '.join(VERSIONS)}. Update "
            "robx, or wrap the live model in robx.BlackBox."
        )
    header.only(HEADER_FIELDS)
    records, at = [], 0
    for number, size in enumerate(integers(header, "tree_sizes").tolist()):
        title, _, tree = body[at : at + max(size, 0)].partition("\n")
        if title != f"Tree={number}" or not tree.endswith("\n\n"):
            raise InvalidModel(f"{where} does not have tree {number} where its tree_sizes say.")
        records.append(_fields(tree.rstrip("\n").split("\n"), f"{where}, tree {number}"))
        at += size
    rest = body[at:]
    if not rest.startswith("end of trees\n"):
        raise InvalidModel(f"{where} does not end its trees after {len(records)}: was it cut off?")
    if "\nparameters:\n" in rest and "\nend of parameters\n" not in rest:
        raise InvalidModel(f"{where} breaks off within its parameters.")
    return header, records, rest


def _fields(lines: Iterable[str], where: str) -> Record:
    fields: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if name in fields or not (equals or name == "average_output"):
            raise InvalidModel(f"{where} has a line that is doubled or no field: {line[:40]!r}.")
        fields[name] = value
    return Record(fields, where)


def integers(record: Record, name: str, size: int | None = None) -> NDArray[np.int64]:
    """Read a field of blank-separated integers, as many as `size` says."""
    return _vector(record, name, np.int64, r"[-0-9 ]*", size)


def numbers(record: Record, name: str, size: int) -> NDArray[np.float64]:
    """Read a field of blank-separated numbers, which may be infinite."""
    return _vector(record, name, np.float64, r"[-+.0-9einfa ]*", size)


def _vector(record: Record, name: str, dtype: Any, letters: str, size: int | None) -> NDArray[Any]:
    text = record.text(name)
    message = f"{record.where} has a {name} that is not made of numbers: {text[:40]!r}."
    if not re.fullmatch(letters, text):
        raise InvalidModel(message)
    try:
        values = np.array(text.split(), dtype=dtype)
    except (ValueError, OverflowError) as error:
        raise InvalidModel(message) from error
    if size is not None and len(values) != size:
        raise InvalidModel(f"{record.where} has {len(values)} values of {name}; expected {size}.")
    return values
