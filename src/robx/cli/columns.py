"""The columns of a table that a model takes, and its column of labels.

Errors name the file, the row and the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from robx.cli.screen import listed
from robx.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from robx.modelfiles import ModelFile
    from robx.trees import Model


def features_of(
    table: pd.DataFrame,
    path: str,
    model: Model,
    trained_on: Sequence[str] | None = None,
) -> tuple[pd.DataFrame, str]:
    """Choose the model's columns, with its categories, and remark on the choice if necessary.

    `table` has no labels and no names of applicants; `trained_on` are the columns of the training
    table, by which others are read if the model does not know their names.
    """
    from robx.modelfiles import with_categories

    if model.trees is None:
        return table, ""
    names = model.known_names or trained_on
    if names is not None:
        features, said = _by_name(table, path, names)
    else:
        features, said = _by_place(table, path, len(model.trees.columns))
    known: pd.DataFrame = with_categories(features, model, trained_on)
    columns = dict(zip(names or features.columns, model.trees.columns, strict=True))
    for name in known.columns:
        if not (columns[name].is_category or columns[name].is_ignored):
            _refuse_text(known[name], path, in_all_rows=trained_on is not None)
    return known, said


def _by_name(table: pd.DataFrame, path: str, names: Sequence[str]) -> tuple[pd.DataFrame, str]:
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        near = get_close_matches(lacking[0], map(str, table.columns), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else f" It has {listed(table)}."
        raise InvalidInput(f"'{path}' lacks columns that the model needs: {listed(lacking)}.{hint}")
    others = [name for name in table.columns if name not in names]
    said = f"Columns of '{path}' that the model does not use are left out: {listed(others)}."
    return table.drop(columns=others), said if others else ""


def _by_place(table: pd.DataFrame, path: str, n_columns: int) -> tuple[pd.DataFrame, str]:
    if len(table.columns) != n_columns:
        raise InvalidInput(
            f"The model takes {n_columns} columns and does not know their names. '{path}' has "
            f"{len(table.columns)}: {listed(table)}. --label and --id name columns that are not "
            "features; leave the others out."
        )
    said = f"The model does not know the names of its columns; those of '{path}' are taken in order"
    return table, f"{said}: {listed(table)}."


def _refuse_text(values: pd.Series[float], path: str, *, in_all_rows: bool) -> None:
    """Refuse text for numbers; for applicants only in all rows: each row has its own answer."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values.dtype):
        return
    wrong = pd.to_numeric(values, errors="coerce").isna() & values.notna()
    if not wrong.any() or (in_all_rows and not wrong[values.notna()].all()):
        return
    row = int(wrong.to_numpy().argmax())
    raise InvalidInput(
        f"'{path}', row {row + 1}, column '{values.name}': '{values.iloc[row]}' is not a number, "
        "and the model takes numbers there. Write it as a number, such as 3000.5."
    )


# --- labels ---------------------------------------------------------------------------------------


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
