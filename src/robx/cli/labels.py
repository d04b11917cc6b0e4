"""Labels in a column, as the model codes them, and the class that counts as accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robx.cli.screen import listed
from robx.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from robx.modelfiles import ModelFile


def class_named(target: str | None, file: ModelFile) -> Any:
    """Find the class that is meant by what was typed."""
    if target is None:
        return None
    by_name = {str(one): one for one in getattr(file.model, "classes_", ())}
    if by_name and target not in by_name:
        raise InvalidInput(f"--target must be one of {listed(by_name)}. Got '{target}'.")
    if by_name:
        return by_name[target]
    return int(target) if target.isdecimal() else target


def read_column(table: pd.DataFrame, label: str, data: str) -> pd.Series[Any]:
    """Take the labels out of a table."""
    if label not in table.columns:
        raise InvalidInput(f"'{data}' has no column '{label}' (--label). It has {listed(table)}.")
    y = table[label]
    if y.isna().any():
        raise InvalidInput(
            f"{y.isna().sum()} rows of '{data}' have no label in '{label}'. Leave them out."
        )
    if y.nunique() < 2:
        raise InvalidInput(
            f"All labels in '{label}' of '{data}' are '{y.iloc[0]}'. Training needs two classes."
        )
    return y


def coded(
    y: pd.Series[Any], label: str, target: str | None, file: ModelFile
) -> tuple[pd.Series[Any], Any]:
    """Give labels as the model knows them, and the target class; None for the model's own."""
    chosen, known = class_named(target, file), y.unique().tolist()
    try:
        names = file.classes(chosen)
    except InvalidInput:  # the file numbers its classes, and the target is a name
        names = set()
    if names and not names <= set(known):
        raise InvalidInput(
            f"The labels in '{label}' must be the classes of the model, such as "
            f"{listed(sorted(map(str, names)))}. Got {listed(sorted(map(str, known)))}."
        )
    if names or set(known) == set(range(len(known))):
        return y, chosen
    if len(known) > 2 or target not in [str(one) for one in known]:
        raise InvalidInput(
            f"The model file does not name its classes, so '{label}' must hold 0 and 1, or "
            "--target must name the label that counts as accepted. Got "
            f"{listed(sorted(map(str, known)))}."
        )
    return (y.astype(str) == target).astype(int), None


def refuse_turned(y: pd.Series[Any], X: pd.DataFrame, model: Any, label: str, data: str) -> None:
    """Refuse labels that contradict the model: answers would show how to be declined."""
    right = (model.score(X) > 0.5) == (y.to_numpy() == model.target)
    if y.nunique() == 2 and right.mean() < 0.5:
        raise InvalidInput(
            f"The model agrees with only {right.mean():.0%} of the labels in '{label}'. They may "
            "be coded the other way round: recode them as 0 and 1, or name the label that counts "
            f"as accepted with --target. Or '{data}' is not what the model was trained on."
        )
