"""Dtypes in words that JSON can hold, and back.

Two words describe a column: its type, which any library can read ("int64", "text", "object",
"category", "nothing"), and how its own library holds it:

- plain: numpy, in an array or in pandas; an array of text says its width, as in "<U5";
- nullable, or "python nan", "pyarrow NA" for text: pandas' own dtypes;
- arrow, "arrow string", "arrow int8" for a dictionary with such codes: pyarrow, in its own tables
  or in pandas;
- polars, Enum, Categorical; CategoricalDtype, of pandas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robx.tables.storage import NUMBERS, Kind, Storage, is_installed, is_missing, library, spell

ARROW_TEXT = ("string", "large_string", "string_view")
WAYS: dict[str, set[Any]] = {
    "numpy": {"plain"},
    "pandas": {"plain", "nullable", "arrow"},
    "polars": {"polars"},
    "pyarrow": {"arrow"},
}


def put_in_words(store: Storage, kind: Kind) -> tuple[str, str]:
    """A column's type and how it is held; "" for the latter where there is no word for it."""
    dtype = getattr(store.dtype, "pyarrow_dtype", store.dtype)
    in_arrow = kind == "pyarrow" or dtype is not store.dtype
    if store.is_plain:
        return _plain_words(dtype)
    if store.number:
        known = spell(store.number, kind, store.backing).dtype == store.dtype
        held = "arrow" if in_arrow else "polars" if kind == "polars" else store.backing
        return store.number, held if known else ""
    if store.is_category:
        return "category", f"arrow {dtype.index_type}" if in_arrow else type(dtype).__name__
    if str(dtype).lower() == "null":
        return "nothing", "arrow" if in_arrow else "polars"
    if not store.is_text:
        return "", ""
    if in_arrow:
        return "text", f"arrow {dtype}" if str(dtype) in ARROW_TEXT else ""
    missing = "nan" if isinstance(getattr(dtype, "na_value", None), float) else "NA"
    return "text", "polars" if kind == "polars" else f"{dtype.storage} {missing}"


def _plain_words(dtype: np.dtype[Any]) -> tuple[str, str]:
    if dtype.kind == "O":
        return "object", "plain"
    if dtype.name in NUMBERS:
        return dtype.name, "plain"
    return "text", dtype.str if dtype.kind == "U" else ""


def at_hand(type_: str, held: str) -> tuple[str, str]:
    """The same words, or those of pandas where the library that they need is not installed."""
    how, _, detail = held.partition(" ")
    needs = {"arrow": "pyarrow", "pyarrow": "pyarrow"}.get(how, "polars")
    if how not in {"arrow", "pyarrow", "polars", "Enum", "Categorical"} or is_installed(needs):
        return type_, held
    if how == "pyarrow":
        return type_, f"python {detail}"
    if type_ in NUMBERS:
        return type_, "nullable"
    return (type_, "CategoricalDtype") if type_ == "category" else ("object", "plain")


def storage(type_: str, held: str, kind: Kind) -> Storage | None:
    """The storage behind two words, of all but categories; None where a library has no such."""
    how: Any
    how, _, detail = held.partition(" ")
    dtype: Any = None
    if type_ in NUMBERS:
        return spell(type_, kind, how) if held in WAYS[kind] else None
    if type_ == "object" and "plain" in WAYS[kind]:
        dtype = np.dtype(object)
    elif type_ == "text" and kind == "numpy" and held[:2] in {"<U", ">U"}:
        dtype = np.dtype(held)
    elif type_ == "text" and kind == "pandas" and how in {"python", "pyarrow"}:
        missing: Any = {"nan": {"na_value": np.nan}, "NA": {}}.get(detail)
        dtype = None if missing is None else library("pandas").StringDtype(how, **missing)
    elif kind == "polars" and held == "polars" and type_ in {"text", "nothing"}:
        dtype = library("polars").String() if type_ == "text" else library("polars").Null()
    elif how == "arrow" and how in WAYS[kind] and type_ in {"text", "nothing"}:
        word = detail if type_ == "text" else "null"
        if word in {*ARROW_TEXT, "null"}:
            dtype = _in_arrow(library("pyarrow").type_for_alias(word), kind)
    return None if dtype is None else Storage(dtype, "other" if type_ == "nothing" else "text")


def category_storage(inner: Any, held: str, ordered: bool, kind: Kind) -> Storage | None:
    """The storage of a column with these categories, which are a column themselves."""
    how, _, detail = held.partition(" ")
    categories = inner.to_pylist() if kind == "pyarrow" else inner.to_list()
    if len(set(categories)) < len(categories) or is_missing(categories).any():
        raise ValueError("a category is missing or listed twice")
    dtype: Any = None
    if kind == "pandas" and how == "CategoricalDtype":
        listed = library("pandas").Index(inner, dtype=inner.dtype)
        dtype = library("pandas").CategoricalDtype(listed, ordered)
    elif kind == "polars" and how in {"Categorical", "Enum"}:
        dtype = library("polars").Enum(inner) if how == "Enum" else library("polars").Categorical()
    elif how == "arrow" and how in WAYS[kind] and detail in NUMBERS:
        index = library("pyarrow").type_for_alias(detail)
        value = inner.type if kind == "pyarrow" else inner.dtype.pyarrow_dtype
        dtype = _in_arrow(library("pyarrow").dictionary(index, value, ordered), kind)
    return None if dtype is None else Storage(dtype, "category", "", tuple(categories), ordered)


def _in_arrow(dtype: Any, kind: Kind) -> Any:
    return library("pandas").ArrowDtype(dtype) if kind == "pandas" else dtype
