"""Layouts as plain data that JSON can hold, and back: how a table stores its columns.

What is unpacked may be damaged or hostile: it is an `InvalidInput` unless every column is stored as
its dtype says. Columns that numpy holds need no other library to be unpacked, and dtypes of pandas
are made when they are first asked for.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, get_args

import numpy as np

from robx.errors import InvalidInput
from robx.files.formats import first_line
from robx.tables.frames import Kind, library
from robx.tables.serialization import MISFITS, WIDEST, label_as_plain, pack_dtype, unpack_dtype
from robx.tables.storage import Family, Storage, of_dtype
from robx.tables.writer import Layout

Packed = dict[str, Any]
#: The numpy dtypes that a table may have, as `numpy.dtype.str` spells them.
NUMPY = re.compile(r"[<>|=]([biuf]\d{1,2}|O|U(?P<width>\d{1,6}))")
BLANKS = ("nan", "None", "NA")
#: What is known of a column beside its dtype.
FACTS = ("family", "number", "categories", "is_ordered", "blank")
#: Names of numpy's dtypes of numbers and flags, or nothing.
NUMBER = re.compile(r"|bool|u?int(8|16|32|64)|float(16|32|64)")


def pack_layout(layout: Layout) -> Packed:
    """Describe a layout so that `json.dumps` can write it.

    Examples
    --------
    >>> pack_layout(Layout.of(np.zeros((1, 1))))["columns"]
    [{'dtype': {'numpy': '<f8'}}]
    """
    columns = []
    for name, storage in zip(layout.names, layout.columns, strict=True):
        try:
            columns.append(_packed(storage, layout.kind))
        except (*MISFITS, library("pyarrow").ArrowException) as error:
            raise InvalidInput(
                f"Column '{name}' is of {storage.dtype}, which cannot be saved: "
                f"{first_line(error)}. Make it numbers, text or categories first."
            ) from error
    return {
        "kind": layout.kind,
        "named": layout.named,
        "names": list(layout.names),
        "labels": [label_as_plain(label) for label in layout.labels],
        "columns": columns,
    }


def unpack_layout(packed: Any) -> Layout:
    """The layout that `pack_layout` described.

    Where polars is not installed, its layouts come back as those of pandas.
    """
    where = "the layout"
    try:
        was, names, labels = packed["kind"], packed["names"], packed["labels"]
        _require(was in get_args(Kind), f"the kind {was!r} is not known")
        kind: Any = "pandas" if was == "polars" and find_spec("polars") is None else was
        _require(isinstance(packed["named"], bool), "'named' is neither true nor false")
        _require(all(isinstance(name, str) for name in names), "a name is not text")
        _require(len(set(names)) == len(names), "two columns have one name")
        _require([label_as_plain(one) for one in labels] == labels, "a label is not plain")
        _require(len(names) == len(labels) == len(packed["columns"]), "columns differ in number")
        columns = []
        for name, column in zip(names, packed["columns"], strict=True):
            where = f"column {name!r}"
            columns.append(_unpacked(column, kind))
    except (*MISFITS, library("pyarrow").ArrowException) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
        raise InvalidInput(f"The saved layout is damaged: {where[:80]}: {said}.") from error
    return Layout(tuple(names), kind, tuple(columns), tuple(labels), packed["named"])


def _packed(storage: Storage, kind: Kind) -> Packed:
    """Describe a column: its dtype, and what the dtype does not tell."""
    if storage.is_plain:
        _require(NUMPY.fullmatch(storage.dtype.str) is not None, "it is not a plain dtype")
        dtype: Packed = {"numpy": storage.dtype.str}
    else:
        dtype = {"library": pack_dtype(storage.dtype, kind)}
    known, more = of_dtype(storage.dtype, kind), {}
    for name in FACTS:
        value = getattr(storage, name)
        # What pandas would tell is told here as well, so that it is not loaded to be asked.
        if value != getattr(known, name) or _is_later(dtype, kind):
            more[name] = list(value) if name == "categories" else value
    _require(_is_plain(more.get("categories", [])), "its categories are not plain")
    return {"dtype": dtype, **more}


def _unpacked(packed: Packed, kind: Kind) -> Storage:
    more = {name: value for name, value in packed.items() if name != "dtype"}
    _require(_is_plain(more.get("categories", [])), "its categories are not plain")
    if "categories" in more:
        more["categories"] = tuple(more["categories"])
        _require(len(set(more["categories"])) == len(more["categories"]), "a category is doubled")
    _require(more.get("blank", "nan") in BLANKS, "what it has for missing values is not known")
    _require(isinstance(more.get("is_ordered", False), bool), "'is_ordered' is not a flag")
    if _is_later(packed["dtype"], kind):
        _require(set(more) == set(FACTS), "it does not say what it holds")
        _require(more["family"] in get_args(Family), "it does not hold what it says")
        number = NUMBER.fullmatch(str(more["number"]))
        _require(number is not None, "it does not hold what it says")
        said = Storage(None, **more)
        return Storage.later(partial(_dtype_of, packed["dtype"]["library"], kind, said), **more)
    known = of_dtype(_dtype(packed["dtype"], kind), kind)
    _check_facts(known, more, kind)
    return replace(known, **more)


def _is_later(dtype: Packed, kind: Kind) -> bool:
    """Whether a dtype is made when it is asked for: pandas takes long to load."""
    return kind == "pandas" and "library" in dtype


def _dtype(packed: Packed, kind: Kind) -> Any:
    word = packed.get("numpy")
    if word is None:
        return unpack_dtype(packed["library"], kind)
    spelled = NUMPY.fullmatch(word)
    _require(spelled is not None, f"the dtype {str(word)[:40]!r} is not known")
    wide = int((spelled and spelled["width"]) or 0)
    _require(wide <= WIDEST, "its text is too wide")
    return np.dtype(word)


def _dtype_of(packed: Packed, kind: Kind, said: Storage) -> Any:
    """Make a dtype of pandas, which must be what its column was said to hold."""
    try:
        dtype = unpack_dtype(packed, kind)
        known = of_dtype(dtype, kind)
        more = {name: getattr(said, name) for name in FACTS}
        _check_facts(known, {n: v for n, v in more.items() if v != getattr(known, n)}, kind)
    except (*MISFITS, library("pyarrow").ArrowException) as error:
        said_so = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
        raise InvalidInput(f"The saved layout is damaged: {said_so}.") from error
    return dtype


def _check_facts(known: Storage, more: Packed, kind: Kind) -> None:
    """Refuse what a column is said to hold, beyond its dtype, if it cannot."""
    if "categories" in more or "is_ordered" in more:
        _require(known.is_category and not known.has_fixed_categories, "it has no categories")
    if "family" in more or "number" in more:  # an array of objects that holds numbers alone
        said = more.get("family"), more.get("number")
        _require(kind == "numpy" and known.dtype == object, "it does not hold what it says")
        _require(said == ("float", "float64"), "it does not hold what it says")


def _is_plain(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, str | bool | int | float) for value in values
    )


def _require(holds: bool, said: str) -> None:
    if not holds:
        raise ValueError(said)
