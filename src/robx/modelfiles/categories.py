"""`with_categories`: a table from a file with category columns as the model was trained on."""

from __future__ import annotations

from typing import Any

from robx.tables import Column
from robx.trees import BlackBox, TreeEnsemble

__all__ = ["with_categories"]


def with_categories(X: Any, model: TreeEnsemble | BlackBox) -> Any:
    """Give a table's columns the categories that the model knows, in their order.

    A CSV file has text where the training table had categories. Models that know their categories
    read text as well, but their libraries do not train on it.

    Parameters
    ----------
    X : table of shape (n, d)
    model : TreeEnsemble or BlackBox

    Returns
    -------
    table
        A pandas frame in which columns are of a category dtype if the model knows their
        categories and no other value stands in them. Any other table, and any other column, is
        as it was: who reads it will say what is wrong.

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
    if isinstance(model, BlackBox) or not hasattr(X, "iloc"):
        return X
    known = {column.name: column for column in model.columns if column.categories}
    if not model.named:  # columns go by their places
        known = {
            name: column
            for name, column in zip(X.columns, model.columns, strict=False)
            if column.categories
        }
    found = {name: _as_category(X[name], known[name]) for name in X.columns if name in known}
    return X.assign(**{name: values for name, values in found.items() if values is not None})


def _as_category(values: Any, column: Column) -> Any:
    """Turn a column into one of the model's categories; None if it is one, or cannot be."""
    import pandas as pd  # noqa: PLC0415 - takes long to load

    if isinstance(values.dtype, pd.CategoricalDtype):
        return None
    if not values.dropna().isin(list(column.categories or ())).all():
        return None
    return values.astype(pd.CategoricalDtype(list(column.categories or ())))
