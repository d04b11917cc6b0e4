"""Tables as plain data that JSON can hold, and back, typed by Arrow.

A packed column has its name, its dtype in its own library, the Arrow type of its values, and the
values: null where one is missing, and such as {"special": "nan"} where JSON has no word. Of a
category column the values are numbers, which count its categories. What is unpacked may be damaged
or hostile: every column must pack again to what it was made of, and nothing is read as code.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from importlib.util import find_spec
from math import isfinite
from typing import Any, get_args

import numpy as np

from robx.budget import UNLIMITED, Budget
from robx.errors import BudgetExceeded, InvalidInput
from robx.files.formats import first_line
from robx.tables.cells import shown
from robx.tables.columns import as_array
from robx.tables.frames import Kind, library
from robx.tables.storage import is_missing, one_chunk
from robx.tables.writer import as_table, put_together

Packed = dict[str, Any]
SPECIAL = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
#: The widest text that an array is made for, in bytes: a width in a file is only a claim.
WIDEST = 2**18
#: Whole numbers of more bits are not written as digits.
MOST_BITS = 4096
#: Names of the dtypes of numpy and pandas that hold numbers, flags, or an array's text.
DTYPES = r"[uU]?[iI]nt\d+|[fF]loat\d+|bool(ean)?|[<>]U\d+"
#: What is raised where something does not fit; most errors of Arrow are among these.
MISFITS = (ArithmeticError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)


def pack(table: Any) -> Packed:
    """Describe a table so that `json.dumps` can write it, with ``allow_nan=False`` too.

    A pandas index of whole numbers or of text is kept; any other, and any other name than a number
    or text, is kept as text. So is a cell of an object column that is neither. Lists become an
    array.

    Examples
    --------
    >>> pack(np.array([[1.5, np.nan]]))["columns"]
    [{'name': '0', 'dtype': 'float64', 'type': 'double', 'values': [1.5]},
     {'name': '1', 'dtype': 'float64', 'type': 'double', 'values': [None]}]
    """
    given = as_table(table)
    packed: Packed = {"kind": given.kind, "columns": []}
    for j, (label, dtype) in enumerate(zip(given.labels, given.dtypes, strict=True)):
        try:
            column = _packed(given.column(j), given.kind)
        except (*MISFITS, library("pyarrow").ArrowException) as error:
            raise InvalidInput(
                f"Column '{label}' is of {dtype}, which cannot be saved: {first_line(error)}. "
                "Make it numbers, text or categories first."
            ) from error
        packed["columns"].append({"name": label_as_plain(label), **column})
    if given.kind != "pandas":
        return packed
    index, name = given.native.index, label_as_plain(given.native.index.name)
    if type(index).__name__ == "RangeIndex":
        rows: Packed = {"range": [index.start, index.stop, index.step]}
    else:
        pd = library("pandas")
        is_kept = pd.api.types.is_integer_dtype(index) or all(isinstance(v, str) for v in index)
        labels = pd.Series(index) if is_kept else pd.Series([str(v) for v in index], dtype=object)
        rows = _packed(labels, "pandas")
    return {
        **packed,
        "index": {"name": name, **rows},
        "axis": label_as_plain(given.native.columns.name),
    }


def unpack(packed: Any, budget: Budget = UNLIMITED) -> Any:
    """The table that `pack` described: its kind, names, order, dtypes and values.

    Where polars is not installed, its tables come back as pandas frames with Arrow dtypes. What
    `pack` does not make is an `InvalidInput`.

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
    where = "the table"
    try:
        was, columns, names = packed["kind"], [], []
        _require(was in get_args(Kind), f"the kind {was!r} is not known")
        kind: Any = "pandas" if was == "polars" and find_spec("polars") is None else was
        for column in packed["columns"]:
            names.append(column["name"])
            where = f"column {names[-1]!r}"
            _refuse_wide(column, budget)
            columns.append(_unpacked(column if kind == was else {**column, "dtype": "arrow"}, kind))
        where = "the table"
        _require(list(map(label_as_plain, names)) == names, "a name is neither a number nor text")
        _require(len({*map(str, names)}) == len(names), "two columns have one name")
        _require(len({*map(len, columns)}) == 1, "columns must be there, and of one length")
        if kind == "numpy":
            _require(len({c.dtype for c in columns}) == 1, "an array must have one dtype")
        table = put_together(columns, kind, names if kind == "pandas" else [*map(str, names)])
        if was == "pandas":
            _refuse_wide(packed["index"], budget)
            table.index = _unpacked_index(packed["index"], len(table))
            table.columns.name = label_as_plain(packed["axis"])
    except BudgetExceeded:
        raise
    except (*MISFITS, library("pyarrow").ArrowException) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
        raise InvalidInput(f"The saved table is damaged: {where}: {said}.") from error
    return table


def pack_dtype(dtype: Any, kind: Kind) -> Packed:
    """Describe a dtype that is not numpy's, as a column of it that has no rows."""
    return _packed(_empty(dtype, kind), kind)


def unpack_dtype(packed: Packed, kind: Kind) -> Any:
    """The dtype that `pack_dtype` described; what does not fit raises one of `MISFITS`."""
    _require(packed["values"] == [], "it has values")
    _require(kind != "numpy", "numpy has no such dtype")
    column = _unpacked(packed, kind)
    return column.type if kind == "pyarrow" else column.dtype


def _empty(dtype: Any, kind: Kind) -> Any:
    if kind == "pyarrow":
        return library("pyarrow").array([], type=dtype)
    return library(kind).Series([], dtype=dtype)


def _special(word: str) -> Any:
    return library("pandas").NA if word == "<NA>" else SPECIAL[word]


def _refuse_wide(packed: Packed, budget: Budget) -> None:
    """Refuse text of a stated width that would take too much memory: a width is only a claim."""
    for part in (packed, packed.get("categories")):
        if part and (text := re.fullmatch(r"[<>]U(\d{1,9})", str(part.get("dtype")))):
            budget.check_memory(8 * int(text[1]) * len(part["values"]), "The saved table")


def _packed(column: Any, kind: Kind) -> Packed:
    dtype = column.type if kind == "pyarrow" else column.dtype
    word = _word(dtype, kind)
    if word == "object":
        return {"dtype": word, "values": _cells([_plain(cell) for cell in column.tolist()])}
    pa = library("pyarrow")
    if word == "category":
        pd = library("pandas")
        listed, codes = _packed(pd.Series(dtype.categories), kind), column.array.codes.tolist()
        codes = [None if code < 0 else code for code in codes]
        return {"dtype": word, "ordered": dtype.ordered, "categories": listed, "values": codes}
    if kind == "numpy":  # Arrow takes no other order of bytes than the machine's
        column = pa.array(column.astype(dtype.newbyteorder("=")), from_pandas=True)
    arrow = one_chunk(column.to_arrow() if kind == "polars" else column)
    if hasattr(arrow, "dictionary"):
        listed, codes = _packed(arrow.dictionary, "pyarrow"), arrow.indices.to_pylist()
        packed = {"dtype": word, "type": str(arrow.type.index_type), "ordered": arrow.type.ordered}
        return {**packed, "categories": listed, "values": codes}
    pa.type_for_alias(str(arrow.type))  # what has no such name is refused
    return {"dtype": word, "type": str(arrow.type), "values": _cells(arrow.to_pylist())}


def _unpacked(packed: Packed, kind: Kind) -> Any:
    word, cells = packed["dtype"], packed["values"]
    listed = packed.get("categories")
    inner: Any = None
    values = [_special(cell["special"]) if isinstance(cell, dict) else cell for cell in cells]
    if word == "object":
        _require(_cells(values) == cells, "the values are not plain")
        return as_array(values)
    pa = library("pyarrow")
    if listed is not None:
        _require("categories" not in listed, "categories have categories")
        inner = _unpacked(listed, kind if word == "category" else "pyarrow")
        _require(len({*listed["values"]} - {None}) == len(inner), "categories are not distinct")
    if word == "category":
        pd, n = library("pandas"), len(inner)
        codes = [-1 if cell is None else range(n).index(cell) for cell in cells]
        dtype = pd.CategoricalDtype(pd.Index(inner, dtype=inner.dtype), packed["ordered"])
        return pd.Categorical.from_codes(codes, dtype=dtype)
    arrow = pa.array(values, type=pa.type_for_alias(packed["type"]))
    _require(_cells(arrow.to_pylist()) == cells, f"the values are not {packed['type']}")
    if listed is not None:
        arrow = pa.DictionaryArray.from_arrays(arrow, inner, ordered=packed["ordered"])
    column = _restored(arrow, word, kind)
    _require(kind == "pyarrow" or _word(column.dtype, kind) == word, f"the values are not {word}")
    return column


def _restored(arrow: Any, word: str, kind: Kind) -> Any:
    """An array of Arrow in the dtype of its own library, or in another one that is told from it."""
    if kind == "pyarrow":
        return arrow
    if kind == "polars":
        pl = library("polars")
        column = pl.from_arrow(arrow)
        return column.cast(pl.Enum(arrow.dictionary.to_pylist())) if word == "Enum" else column
    pd = library("pandas")
    if word == "arrow":
        return pd.ArrowDtype(arrow.type).__from_arrow__(arrow)
    if word.startswith("string "):
        _, storage, blank = word.split()
        dtype = pd.StringDtype(storage, na_value=np.nan if blank == "nan" else pd.NA)
        return dtype.__from_arrow__(arrow)
    _require(re.fullmatch(DTYPES, word) is not None, f"the dtype {word!r} is not known")
    dtype = pd.api.types.pandas_dtype(word)
    if not isinstance(dtype, np.dtype):  # where NaN is not missing, which __from_arrow__ forgets
        solid, missing = np.array(arrow.fill_null(dtype.type(0))), np.array(arrow.is_null())
        return dtype.construct_array_type()(solid, missing)
    values = np.array(arrow)
    if dtype.kind == "U" and dtype.itemsize <= WIDEST and not arrow.null_count:
        values = values.astype("U")  # as wide as the text is, and then as wide as it was
        values = values.astype(dtype) if values.dtype <= dtype else values
    return values


def _word(dtype: Any, kind: Kind) -> str:
    """What a library calls a dtype; for pyarrow the type says all."""
    if kind in {"polars", "pyarrow"}:
        return type(dtype).__name__ if kind == "polars" else ""
    if hasattr(dtype, "pyarrow_dtype"):
        return "arrow"
    if hasattr(dtype, "storage"):
        return f"string {dtype.storage} {'nan' if isinstance(dtype.na_value, float) else 'NA'}"
    is_text = isinstance(dtype, np.dtype) and dtype.kind == "U"
    return str(dtype.str if is_text else dtype.name)


def _plain(cell: Any) -> Any:
    """A cell of a column of objects, which may be anything: what JSON has no word for is text."""
    if isinstance(cell, Decimal | Fraction):
        return float(cell)
    is_known = cell is None or type(cell).__name__ == "NAType"
    if isinstance(cell, int) and cell.bit_length() > MOST_BITS:
        return shown(cell)
    if is_known or isinstance(cell, str | bool | int | float | np.generic):
        return cell
    return None if is_missing([cell])[0] else shown(cell, most=200)


def _cells(values: list[Any]) -> list[Any]:
    """Values as JSON has them."""
    cells = [value.item() if isinstance(value, np.generic) else value for value in values]
    for i, value in enumerate(cells):
        if type(value).__name__ == "NAType" or (isinstance(value, float) and not isfinite(value)):
            cells[i] = {"special": str(value)}
        else:
            is_plain = value is None or isinstance(value, str | bool | int | float)
            _require(is_plain, f"it holds {value!r}")
    return cells


def _unpacked_index(packed: Packed, n: int) -> Any:
    pd, name = library("pandas"), label_as_plain(packed["name"])
    if "range" in packed:
        index = pd.RangeIndex(*packed["range"], name=name)
    else:
        column = _unpacked(packed, "pandas")
        index = pd.Index(column, dtype=column.dtype, name=name)
    _require(len(index) == n, f"{len(index)} labels of rows, where there are {n} rows")
    return index


def label_as_plain(label: Any) -> str | int | None:
    """Give a column's name as JSON holds it: a number or text."""
    label = int(label) if isinstance(label, np.integer) else label
    return label if label is None or type(label) in {str, int} else str(label)


def _require(holds: bool, said: str) -> None:
    if not holds:
        raise ValueError(said)
