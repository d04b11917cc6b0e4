"""Tables as plain data that JSON can hold, and back.

A packed column has a type that any library can read ("int64", "text", "category" ...) and, in
"held", how its own library holds it. Numbers are written so that they come back exactly; "nan",
"inf" and "-inf" are text, a missing value is null, and categories are numbered.

This module writes no files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput
from robx.tables.columns import Neutral, build, read
from robx.tables.storage import Kind, Storage, describe, is_installed, library
from robx.tables.words import WAYS, at_hand, category_storage, put_in_words, storage
from robx.tables.writer import put_together, taken_apart

Packed = dict[str, Any]
SPECIAL = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def pack(table: Any) -> Packed:
    """Describe a table so that `json.dumps` can write it, with ``allow_nan=False`` too.

    Parameters
    ----------
    table : table of shape (n, d)
        Its columns hold numbers, flags, text or categories. A pandas index of whole numbers or of
        text is kept; any other, and any other name than a number or text, is kept as text. Lists
        become an array.

    Returns
    -------
    dict
        For `unpack`.

    Examples
    --------
    >>> import numpy as np
    >>> pack(np.array([[1.5, np.nan]]))["columns"]
    [{'name': '0', 'type': 'float64', 'held': 'plain', 'values': [1.5]},
     {'name': '1', 'type': 'float64', 'held': 'plain', 'values': ['nan']}]
    """
    whole, kind, columns, labels = taken_apart(table)
    packed: Packed = {"kind": kind, "columns": []}
    for column, label in zip(columns, labels, strict=True):
        described = _pack_column(column, kind, str(label))
        packed["columns"].append({"name": _plain_label(label), **described})
    if kind == "pandas":
        packed["index"] = _pack_index(whole.index)
        packed["columns_name"] = _plain_label(whole.columns.name)
    return packed


def unpack(packed: Mapping[str, Any]) -> Any:
    """The table that `pack` described: its kind, names, order, dtypes and values.

    Where polars or pyarrow is not installed, its tables come back as pandas frames: numbers and
    flags in nullable dtypes, text as objects, categories as categories. Columns of pandas that
    pyarrow held come back so too.

    Parameters
    ----------
    packed : dict
        As made by `pack`, and perhaps read from JSON.

    Returns
    -------
    table of shape (n, d)

    Raises
    ------
    InvalidInput
        Where `packed` is not what `pack` makes; the message says where.

    Examples
    --------
    >>> import json
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 47]}, index=["Ann", "Bob"])
    >>> unpack(json.loads(json.dumps(pack(frame))))
         age
    Ann   31
    Bob   47
    """
    was = _get(packed, "kind", str, "the table")
    if was not in WAYS:
        raise _malformed("the table", f"has the unknown kind {was!r}")
    kind: Any = was if is_installed(was) else "pandas"
    described = _get(packed, "columns", list, "the table")
    names = [_label(column, "name", "a column") for column in described]
    columns = [
        _unpack_column(column, kind, f"column {name!r}")
        for column, name in zip(described, names, strict=True)
    ]
    if not columns or len({len(column) for column in columns}) > 1:
        raise _malformed("the table", "must have columns, all of one length")
    if len(set(map(str, names))) < len(names):
        raise _malformed("the table", "has two columns of one name")
    if kind == "numpy" and len({column.dtype for column in columns}) > 1:
        raise _malformed("the table", "is an array with columns of several dtypes")
    if kind != "pandas":
        return put_together(columns, kind, list(map(str, names)))
    frame = put_together(columns, kind, names)
    if was == "pandas":
        frame.index = _unpack_index(_get(packed, "index", Mapping, "the table"), len(frame))
        frame.columns.name = _label(packed, "columns_name", "the table")
    return frame


# --- columns --------------------------------------------------------------------------------------


def _pack_column(column: Any, kind: Kind, name: str) -> Packed:
    store = describe(column, kind)
    type_, held = put_in_words(store, kind)
    if not held:
        raise InvalidInput(
            f"Column '{name}' is of {store.dtype}, which cannot be packed. Make it numbers, text "
            "or categories first."
        )
    values, missing = read(column, store, kind)
    if type_ == "object":
        cells = [_pack_object(value, name) for value in values]
        return {"type": type_, "held": held, "values": cells}
    cells = values.tolist()
    if values.dtype.kind == "f":
        cells = [cell if math.isfinite(cell) else str(cell) for cell in cells]
    packed: Packed = {"type": type_, "held": held, "values": cells}
    if store.is_category:
        code = {category: i for i, category in enumerate(store.categories)}
        packed["values"] = [code.get(cell) for cell in cells]
        packed["ordered"] = store.is_ordered
        packed["categories"] = _pack_column(_categories(store, kind), kind, name)
    packed["values"] = [
        None if blank else cell for cell, blank in zip(packed["values"], missing, strict=True)
    ]
    return packed


def _categories(store: Storage, kind: Kind) -> Any:
    """A column's categories as a column of their own."""
    if kind == "polars":
        pl = library("polars")
        return pl.Series(store.categories, dtype=pl.String)
    if store.has_fixed_categories:
        listed = store.dtype.categories
        return library("pandas").Series(listed.array, dtype=listed.dtype)
    arrow = getattr(store.dtype, "pyarrow_dtype", store.dtype).value_type
    column = library("pyarrow").array(store.categories, type=arrow)
    if kind == "pandas":
        return library("pandas").Series(column, dtype=library("pandas").ArrowDtype(arrow))
    return library("pyarrow").chunked_array([column])


def _unpack_column(packed: Any, kind: Kind, where: str) -> Any:
    type_, held = _get(packed, "type", str, where), _get(packed, "held", str, where)
    type_, held = at_hand(type_, held)
    cells = _get(packed, "values", list, where)
    try:
        if type_ == "category":
            ordered = _get(packed, "ordered", bool, where)
            listed = _get(packed, "categories", Mapping, where)
            if _get(listed, "type", str, where) == "category":
                raise _malformed(where, "has categories of categories")
            inner = _unpack_column(listed, kind, f"the categories of {where}")
            store = category_storage(inner, held, ordered, kind)
        else:
            store = storage(type_, held, kind)
        if store is None:
            raise _malformed(where, f"has the unknown type {type_!r}, held as {held!r}")
        return build(*_unpack_cells(cells, type_, store, where), store, kind)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise _malformed(where, f"cannot be built: {error}") from error


# --- cells ----------------------------------------------------------------------------------------


def _pack_object(value: Any, name: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if type(value).__name__ == "NAType":
        return {"missing": "NA"}
    raise InvalidInput(
        f"Column '{name}' holds {value!r}, which cannot be packed. Make it a number or text first."
    )


def _unpack_cells(cells: list[Any], type_: str, store: Storage, where: str) -> Neutral:
    missing = np.array([cell is None for cell in cells], dtype=bool)
    if type_ == "object":
        return _array_of([_unpack_object(cell, where) for cell in cells]), np.zeros_like(missing)
    if store.number:
        return _unpack_numbers(cells, missing, store, where)
    for cell in cells:
        if cell is None:
            fits = not store.is_plain
        elif type_ == "category":
            fits = type(cell) is int and 0 <= cell < len(store.categories)
        else:
            fits = type_ == "text" and isinstance(cell, str)
            fits = fits and not (store.is_plain and 4 * len(cell) > store.dtype.itemsize)
        if not fits:
            raise _malformed(where, f"has {cell!r} among its values")
    if type_ == "category":
        cells = [None if cell is None else store.categories[cell] for cell in cells]
    return _array_of(cells), missing


def _unpack_object(cell: Any, where: str) -> Any:
    if cell is None or isinstance(cell, str | bool | int | float):
        return cell
    if cell == {"missing": "NA"}:
        return library("pandas").NA
    if isinstance(cell, dict) and list(cell) == ["float"] and cell["float"] in list(SPECIAL):
        return SPECIAL[cell["float"]]
    raise _malformed(where, f"has {cell!r} among its values")


def _unpack_numbers(
    cells: list[Any], missing: NDArray[np.bool_], store: Storage, where: str
) -> Neutral:
    target = np.dtype(store.number)
    types = {"b": (bool,), "f": (int, float)}.get(target.kind, (int,))
    low, high = (np.iinfo(target).min, np.iinfo(target).max) if target.kind in "iu" else (0, 1)
    numbers: list[Any] = []
    for cell in cells:
        number = cell
        if target.kind == "f" and isinstance(cell, str):
            number = SPECIAL.get(cell)
        elif cell is None and (target.kind == "f" or not store.is_plain):
            number = types[0](0)
        in_range = target.kind == "f" or (type(number) in types and low <= number <= high)
        if type(number) not in types or not in_range:
            raise _malformed(where, f"has {cell!r} among its values, which are {store.number}")
        numbers.append(number)
    wide = np.array(numbers, dtype=np.float64 if target.kind == "f" else target)
    with np.errstate(over="ignore"):
        values = wide.astype(target)
    if not np.array_equal(values, wide, equal_nan=target.kind == "f"):
        raise _malformed(where, f"has values that are not {store.number}")
    if target.kind == "f":
        values[missing] = np.nan
    return values, missing


def _array_of(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


# --- the rest of a table --------------------------------------------------------------------------


def _pack_index(index: Any) -> Packed:
    name = _plain_label(index.name)
    if type(index).__name__ == "RangeIndex":
        return {"range": [index.start, index.stop, index.step], "name": name}
    pd = library("pandas")
    column = pd.Series(index.array, dtype=index.dtype) if index.nlevels == 1 else None
    if column is None or not (
        describe(column, "pandas").is_integer or all(isinstance(label, str) for label in index)
    ):
        column = pd.Series([str(label) for label in index], dtype=object)
    return {**_pack_column(column, "pandas", "index"), "name": name}


def _unpack_index(packed: Any, n: int) -> Any:
    pd = library("pandas")
    name = _label(packed, "name", "the index")
    if "range" in packed:
        ends = _get(packed, "range", list, "the index")
        if len(ends) != 3 or any(type(end) is not int for end in ends) or not ends[2]:
            raise _malformed("the index", f"has the range {ends!r}")
        index = pd.RangeIndex(*ends, name=name)
    else:
        column = _unpack_column(packed, "pandas", "the index")
        index = pd.Index(column, dtype=column.dtype, name=name)
    if len(index) != n:
        raise _malformed("the index", f"has {len(index)} labels for {n} rows")
    return index


def _plain_label(label: Any) -> str | int | None:
    if isinstance(label, np.integer):
        return int(label)
    is_plain = label is None or (isinstance(label, str | int) and not isinstance(label, bool))
    return label if is_plain else str(label)


def _label(packed: Any, key: str, where: str) -> str | int | None:
    label: str | int | None = _get(packed, key, object, where)
    if label is not None and type(label) not in {str, int}:
        raise _malformed(where, f"has {label!r} as its {key!r}")
    return label


def _get(packed: Any, key: str, type_: type, where: str) -> Any:
    if not isinstance(packed, Mapping):
        raise _malformed(where, f"must be a dict. Got {type(packed).__name__}")
    if key not in packed:
        raise _malformed(where, f"lacks {key!r}")
    if not isinstance(packed[key], type_):
        wanted, got = type_.__name__, type(packed[key]).__name__
        raise _malformed(where, f"must have a {wanted} as its {key!r}. Got {got}")
    return packed[key]


def _malformed(where: str, what: str) -> InvalidInput:
    return InvalidInput(f"The packed table is damaged: {where} {what}.")
