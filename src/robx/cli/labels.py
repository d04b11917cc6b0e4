"""Labels in a column, as the model codes them, and the one that applicants wish for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import robx
from robx.cli.words import listed
from robx.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd


def class_named(target: str | None, model: Any) -> Any:
    """The class that is meant by what was typed."""
    if target is None:
        return None
    by_name = {str(one): one for one in getattr(model, "classes_", ())}
    if by_name and target not in by_name:
        raise InvalidInput(f"--target must be one of {listed(by_name)}. Got '{target}'.")
    if by_name:
        return by_name[target]
    return int(target) if target.isdecimal() else target


def read_column(table: pd.DataFrame, label: str, data: str) -> pd.Series[Any]:
    """Take the labels out of a table."""
    if label not in table.columns:
        raise InvalidInput(
            f"'{data}' has no column '{label}' of labels. It has {listed(table.columns)}."
        )
    y = table[label]
    if y.isna().any():
        raise InvalidInput(
            f"{y.isna().sum()} rows of '{data}' have no label in '{label}'. Leave them out."
        )
    if y.nunique() < 2:
        raise InvalidInput(
            f"All labels in '{label}' of '{data}' are '{y.iloc[0]}'. Training needs both kinds."
        )
    return y


def coded(
    y: pd.Series[Any], label: str, target: str | None, model: Any
) -> tuple[pd.Series[Any], Any]:
    """Labels as the model knows them, and the class that is the wish; None for the model's own."""
    wish, known = class_named(target, model), y.unique().tolist()
    names = _names_of_classes(model, wish)
    if names and not names <= set(known):
        raise InvalidInput(
            f"The labels in '{label}' must be the model's own, such as "
            f"{listed(sorted(map(str, names)))}. They are {listed(sorted(map(str, known)))}."
        )
    if names or set(known) == set(range(len(known))):
        return y, wish
    if len(known) > 2 or target not in [str(one) for one in known]:
        raise InvalidInput(
            f"The model file does not say what its classes are called, so '{label}' must hold 0 "
            "and 1, or --target must name the label that applicants wish for. It holds "
            f"{listed(sorted(map(str, known)))}."
        )
    return (y.astype(str) == target).astype(int), None


def refuse_turned(y: pd.Series[Any], X: pd.DataFrame, model: Any, label: str, data: str) -> None:
    """Refuse labels that say the opposite of the model: people would be told how to be declined."""
    right = (model.score(X) > 0.5) == (y.to_numpy() == model.target)
    if y.nunique() == 2 and right.mean() < 0.5:
        raise InvalidInput(
            f"The model agrees with only {right.mean():.0%} of the labels in '{label}'. They may "
            "be coded the other way round: recode them as 0 and 1, or name the wish with --target. "
            f"Or '{data}' is not what the model was trained on."
        )


def _names_of_classes(model: Any, wish: Any) -> set[Any]:
    """Names that a model has for its classes; most files only number them."""
    if hasattr(model, "classes_"):
        return set(model.classes_.tolist())
    try:
        target = robx.import_model(model, wish).target
    except InvalidInput:  # a name that is none of the numbers
        return set()
    return {target} if isinstance(target, str) else set()
