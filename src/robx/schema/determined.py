"""Guessing which columns of a table say the same thing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from robx.arrays import Floats, Ints
from robx.schema.feature import Feature
from robx.schema.together import Part

#: Columns with more different values than this are not looked at.
MOST_VALUES = 50
#: Fewer rows show nothing.
LEAST_ROWS = 20
#: Of ten to the power of this many pairs of columns that have nothing to do with each other, one
#: would look as if one determined the other.
CHANCE = 9.0
#: Rows that are looked at first, in even distances.
SAMPLE = 1000


def guess_together(features: Sequence[Feature], matrix: Floats) -> list[list[str]]:
    """List features of which the first determines the others in every row.

    A feature with more values leads, of those with equally many one that is text, then the first.
    Two features that agree in few rows agree by chance: the rows of each value of the first would
    have to have the same value of the second, and that must be next to impossible.

    Parameters
    ----------
    features : d Features
    matrix : (n, d) float64
        The table, as numbers.
    """
    if len(matrix) < LEAST_ROWS:
        return []
    every = [(part, _codes(part, matrix)) for part in _parts(features)]
    sorts = [(part, codes) for part, codes in every if codes is not None]
    # The sort is stable: of features that are alike, the first leads.
    sorts.sort(key=lambda sort: (-int(sort[1].max()), sort[0].features[0].levels is None))
    found: list[list[str]] = []
    while sorts:
        (leader, codes), *rest = sorts
        name = _names(leader, features)
        followers = [sort for sort in rest if len(name) == 1 and _determines(codes, sort[1])]
        if followers:
            found.append([*name, *(n for part, _ in followers for n in _names(part, features))])
        sorts = [sort for sort in rest if sort not in followers]
    return found


def _parts(features: Sequence[Feature]) -> Iterator[Part]:
    """Give each column, and each one-hot group once."""
    groups: dict[str, list[int]] = {}
    for j, f in enumerate(features):
        if f.group is None:
            yield Part(np.array([j]), (f,))
        else:
            groups.setdefault(f.group, []).append(j)
    for columns in groups.values():
        yield Part(np.array(columns), tuple(features[j] for j in columns))


def _names(part: Part, features: Sequence[Feature]) -> list[str]:
    """Name a column or a group; members, where a column has the name of their group."""
    group = part.features[0].group
    if group is None or any(f.name == group for f in features):
        return [f.name for f in part.features]
    return [group]


def _codes(part: Part, matrix: Floats) -> Ints | None:
    """Number what the rows have from 0; None where too much, too little or not all is known."""
    codes = part.codes(matrix)
    step = len(codes) // SAMPLE + 1
    if np.isnan(codes).any() or len(np.unique(codes[::step])) > MOST_VALUES:
        return None
    different, places = np.unique(codes, return_inverse=True)
    levels = part.features[0].levels
    all_seen = len(different) == (len(levels) if levels is not None else len(different))
    sound = 2 <= len(different) <= MOST_VALUES and all_seen
    return places.reshape(-1).astype(np.int64) if sound else None


def _determines(leader: Ints, follower: Ints) -> bool:
    """Whether rows that are alike in one column are alike in the other, and not by chance."""
    step = len(leader) // SAMPLE + 1
    for every in (step, 1):
        one, two = leader[::every], follower[::every]
        first = np.zeros(int(one.max()) + 1, dtype=np.int64)
        first[one[::-1]] = np.arange(len(one))[::-1]
        if (two != two[first[one]]).any():
            return False
    share = np.bincount(follower) / len(follower)
    rows = np.bincount(leader)
    by_chance = np.log10((share[:, None] ** rows[rows > 0]).sum(axis=0)).sum()
    return bool(by_chance <= -CHANCE)
