"""`with_categories`: a table from a file with category columns as the model was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robx.tables import Column
from robx.trees import Model


def with_categories(X: Any, model: Model, names: Sequence[str] | None = None) -> Any:
    """Give a table's columns the categories that the model knows, in their order.

    A CSV file has text where the training table had categories. Models that know their categories
    read text as well, but their libraries do not train on it. Reading a CSV file turns categories
    that look like numbers into numbers, and codes such as 00123 into text: both are turned back.

    Parameters
    ----------
    X : table of shape (n, d)
    model : TreeEnsemble or BlackBox
    names : sequence of str, optional
        The columns of the training table in its order, for a model that does not know them; those
        of `X` unless given.

    Returns
    -------
    table
        A pandas frame whose columns have a category dtype where the model knows at least one of
        their values as a category; the values that it does not know come behind those that it does.
        Text columns are numbers where the model takes numbers and they hold only digits; where
        some cells are numbers and others are not, each cell is what it spells. Any other table or
        column is unchanged: its reader will say what is wrong.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from robx import import_model
    >>> X = pd.DataFrame({"job": pd.Categorical(["boss", "clerk"] * 50)})
    >>> trees = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=2)
    >>> model = import_model(trees.fit(X, [1, 0] * 50))
    >>> with_categories(pd.DataFrame({"job": ["clerk", "clerk"]}), model)["job"].dtype
    CategoricalDtype(categories=['boss', 'clerk'], ordered=False, categories_dtype=str)
    """
    if model.trees is None or not hasattr(X, "iloc"):
        return X
    columns = model.trees.columns
    known = {column.name: column for column in columns}
    if model.known_names is None:  # columns go by their places
        order = X.columns if names is None else names
        known = dict(zip(order, columns, strict=False))
    found = {name: _as_trained(X[name], known[name]) for name in X.columns if name in known}
    return X.assign(**{name: values for name, values in found.items() if values is not None})


def _as_trained(values: Any, column: Column) -> Any:
    """Turn a column into what the model was trained on; None if it is that, or cannot be."""
    import pandas as pd  # noqa: PLC0415 - takes long to load

    if isinstance(values.dtype, pd.CategoricalDtype) or column.is_ignored:
        return None
    if column.by_value and not column.unseen_is_missing:
        return None  # a pipeline takes its categories as they are, in text or numbers
    if not column.is_category:
        return _as_numbers(values)
    if column.as_text:  # what the table holds, only that numbers must be whole
        return (
            values.map(_as_written) if values.dtype.kind == "f" and values.notna().all() else None
        )
    known = list(column.categories or ())
    if not known:
        return None
    if pd.api.types.is_numeric_dtype(values.dtype) and all(isinstance(one, str) for one in known):
        values = values.map(_as_written, na_action="ignore")
    found = values.dropna()
    is_known = found.isin(known)
    if len(found) and not is_known.any():
        return None
    unknown = sorted(found[~is_known].unique(), key=str)
    return values.astype(pd.CategoricalDtype([*known, *unknown]))


def _as_written(value: Any) -> str:
    """Spell a number as the file did; pandas makes floats of integers if some are missing."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def _as_numbers(values: Any) -> Any:
    """Turn text into the numbers that it spells; None if none of it is digits alone."""
    import pandas as pd  # noqa: PLC0415

    if pd.api.types.is_numeric_dtype(values.dtype) or values.isna().all():
        return None
    text = values.dropna()
    if not text.map(lambda value: isinstance(value, str)).all():
        return None
    if text.map(lambda value: value.strip().isdecimal()).all():
        return pd.to_numeric(values)
    numbers = pd.to_numeric(values, errors="coerce").astype(object)
    if numbers.isna().all():
        return None
    return numbers.where(numbers.notna(), values.astype(object))
