"""Guessing what the columns of a table are, and which of them are about protected features."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import GuessedSchema, InvalidInput, warn_caller
from robx.schema.feature import Change, Feature, Kind
from robx.schema.protected import AGE, protected_by
from robx.schema.resolution import guess_resolution
from robx.tables import Layout, Storage, column_values, count_rows, distinct_values, number_column

#: A sign in a name, after which the name of a level may begin.
PARTING = re.compile(r"(?<=.)[_=:.\- ]")


def guess_features(
    X: Any, names: Sequence[str] | None = None, protected: Iterable[str] | None = None
) -> list[Feature]:
    """Guess a feature for each column, in order.

    Parameters
    ----------
    X : table of shape (n, d)
    names : d names, optional
        What the columns of an array are called.
    protected : names of columns or one-hot groups, optional
        What is fixed; by default columns that are about protected features.
    """
    layout = Layout.of(X, names=None)
    if not layout.names:
        raise InvalidInput("The table has no columns.")
    if count_rows(X) == 0:
        raise InvalidInput("The table has no rows, so nothing can be told of its columns.")
    found: dict[str, Feature] = {}
    numbers: dict[str, NDArray[np.float64]] = {}
    for j, (name, storage) in enumerate(zip(layout.names, layout.columns, strict=True)):
        if layout.kind == "numpy" and storage.is_text:
            raise InvalidInput(
                f"An array must hold numbers. Column {name} holds text: use a DataFrame."
            )
        if storage.is_text or storage.is_category:
            levels = _levels(X, j, name, storage)
            kind: Kind = "ordinal" if storage.is_ordered else "categorical"
            found[name] = Feature(name, kind, levels=levels) if levels else _empty(name)
        elif storage.is_boolean:
            found[name] = Feature(name, "categorical", levels=(False, True))
        elif storage.is_number:
            numbers[name] = number_column(X, j)
            found[name] = _number_feature(name, numbers[name], storage.is_single)
        else:
            raise InvalidInput(
                f"Column '{name}' must hold numbers, booleans, text or categories. "
                f"Got {storage.dtype}."
            )
    for group, members in _one_hot_groups(numbers).items():
        for name in members:
            found[name] = Feature(name, "onehot", group=group)
    called = layout.names if names is None else names
    features = [feature.replaced(name=called[j]) for j, feature in enumerate(found.values())]
    flags = {name for name, values in numbers.items() if _is_flag(values)}
    flagged = {called[j] for j, name in enumerate(found) if name in flags}
    if protected is None:
        return _with_changes(features, protected_changes(features, flagged))
    return _with_changes(features, _stated_changes(features, protected))


def guess_words(features: Sequence[Feature], together: Sequence[Sequence[str]] = ()) -> str:
    """Say in one sentence what a guess does not let change, and what goes together.

    Examples
    --------
    >>> guess_words([Feature("sex", change="none"), Feature("age", change="increase")])
    'protected features are sex (fixed), age (may only rise); all others may change'
    """
    known = protected_changes(features)
    parts = []
    for change, words in (("none", "fixed"), ("increase", "may only rise")):
        found = [f for f in features if f.name in known and f.change == change]
        if found:
            parts.append(f"{', '.join(dict.fromkeys(f.group or f.name for f in found))} ({words})")
    said = "all features may change"
    if parts:
        said = f"protected features are {', '.join(parts)}; all others may change"
    for leader, *others in together:
        said += f"; {', '.join(others)} {'goes' if len(others) == 1 else 'go'} with {leader}"
    return said


def warn_of_guess(features: Sequence[Feature], together: Sequence[Sequence[str]] = ()) -> None:
    """Warn that no schema was given, at the line outside of robx that should give one."""
    warn_caller(
        "No schema was given, so it was guessed from the training table: "
        f"{guess_words(features, together)}. "
        "To decide otherwise, pass a schema: Schema.infer(X).override(...), or a file that `robx "
        "schema` writes.",
        GuessedSchema,
    )


# --- what is protected ---------------------------------------------------------------------------


def protected_changes(
    features: Sequence[Feature], flags: Iterable[str] = ()
) -> dict[str, tuple[str, Change]]:
    """Tell for columns about protected features what they are about, and how they may change.

    Parameters
    ----------
    features : d Features
    flags : names of columns of 0 and 1, which do not rise with the years
    """
    found: dict[str, tuple[str, Change]] = {}
    for group in {f.group: f for f in features if f.group is not None}:
        names = [f.name for f in features if f.group == group]
        ends = [name[len(str(group)) :] for name in names]
        if what := protected_by(str(group), ends) or _all_alike(names):
            found.update(dict.fromkeys(names, (what, "none")))
    for f in features:
        if f.group is None and (what := protected_by(f.name, f.levels or ())):
            rises = what == AGE and f.is_number and f.name not in flags
            found[f.name] = (what, "increase" if rises else "none")
    return found


def _all_alike(names: Sequence[str]) -> str | None:
    """Name what all members of a group are about, if it is the same."""
    said = {protected_by(name) for name in names}
    return said.pop() if len(said) == 1 else None


def _stated_changes(
    features: Sequence[Feature], protected: Iterable[str]
) -> dict[str, tuple[str, Change]]:
    """Fix the columns and one-hot groups that the caller names."""
    if isinstance(protected, str) or not isinstance(protected, Iterable):
        raise InvalidInput(
            "The 'protected' parameter of Schema.infer must be a list of names of columns, or () "
            f"for none. Got {protected!r} instead."
        )
    stated = [str(name) for name in protected]
    known = {name for f in features for name in (f.name, f.group)}
    unknown = [name for name in stated if name not in known]
    if unknown:
        raise InvalidInput(
            f"The 'protected' parameter of Schema.infer names {unknown[0]!r}, which is not a "
            "column of the table. Check the spelling."
        )
    groups = {f.group for f in features if f.group and ({f.name, f.group} & set(stated))}
    return {f.name: ("", "none") for f in features if f.name in stated or f.group in groups}


def _with_changes(
    features: Sequence[Feature], changes: dict[str, tuple[str, Change]]
) -> list[Feature]:
    return [f.replaced(change=changes[f.name][1]) if f.name in changes else f for f in features]


def _levels(X: Any, j: int, name: str, storage: Storage) -> tuple[Any, ...]:
    """Give the values that occur, in the order of the dtype where it has one.

    A dtype may list categories that no row has. No change is to lead to them: nobody had them when
    the model was trained. Among ordered ones they keep their places.
    """
    try:
        values = distinct_values(X, j)
        if not values or storage.is_ordered:
            return storage.categories if values else ()
        _refuse_mixed(X, j, name, values)
        occurring = set(values)
        listed = tuple(value for value in storage.categories if value in occurring)
        return listed or tuple(sorted(values, key=str))
    except TypeError as error:  # objects that cannot be compared
        raise InvalidInput(
            f"Column '{name}' must hold numbers, booleans, text or categories. Got {error}."
        ) from error


def _refuse_mixed(X: Any, j: int, name: str, values: list[Any]) -> None:
    """Refuse a column of text and numbers: a level is one or the other."""
    if len({isinstance(value, str) for value in values}) > 1:
        cells = list(enumerate(column_values(X, j)))
        text = next((i, v) for i, v in cells if isinstance(v, str))
        other = next((i, v) for i, v in cells if v is not None and not isinstance(v, str))
        raise InvalidInput(
            f"Column '{name}' must hold text or numbers, not both. Got {text[1]!r} in row "
            f"{text[0]} and {other[1]!r} in row {other[0]}. Make the column one of the two."
        )


def _empty(name: str) -> Feature:
    """A column that is missing in every row: nothing is known that a change could lead to."""
    return Feature(name, "continuous", change="none")


def _number_feature(name: str, values: NDArray[np.float64], single: bool) -> Feature:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return _empty(name)
    kind: Kind = "integer" if (finite == np.rint(finite)).all() else "continuous"
    return Feature(name, kind, resolution=guess_resolution(finite, single=single))


def _one_hot_groups(numbers: dict[str, NDArray[np.float64]]) -> dict[str, list[str]]:
    """Find 0/1 columns with a common beginning, of which each row has exactly one set.

    The beginning ends at the last sign that parts words, and where that makes no group, at an
    earlier one: names of levels may hold such signs, too.
    """
    flags = [name for name, values in numbers.items() if _is_flag(values)]
    found: dict[str, list[str]] = {}
    for only_last in (True, False):
        by_prefix: dict[str, list[str]] = {}
        for name in flags:
            ends = [sign.start() for sign in PARTING.finditer(name)]
            for end in ends[-1:] if only_last else ends:
                by_prefix.setdefault(name[:end], []).append(name)
        for prefix in sorted(by_prefix, key=len, reverse=True):
            names = [name for name in by_prefix[prefix] if name in flags]
            exactly_one = np.sum([numbers[name] for name in names], axis=0) == 1
            if len(names) > 1 and prefix not in found and exactly_one.all():
                found[prefix] = names
                flags = [name for name in flags if name not in names]
    return found


def _is_flag(values: NDArray[np.float64]) -> bool:
    return bool(((values == 0) | (values == 1)).all())
