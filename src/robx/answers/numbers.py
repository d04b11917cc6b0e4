"""`PointNumbers`: applicants and answers as numbers, for as long as they are at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from robx.arrays import Floats
from robx.schema import Codec, Rules
from robx.schema.unlisted import Words, shown_words


@dataclass(frozen=True, eq=False)
class PointNumbers:
    """n answers as the numbers that they were found as, so that their tables need not be read.

    Parameters
    ----------
    codec : Codec
        Whose numbers they are.
    rules : Rules
    applicants, points : (n, d) float64
    words : dict
        The values in them that are no level.
    as_read : bool
        Whether the tables hold just these numbers: none of them was taken for a missing value.
    """

    codec: Codec
    rules: Rules
    applicants: Floats
    points: Floats
    words: Words
    as_read: bool

    def changes(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """Say what changes in some rows."""
        rules = self._naming
        return [tuple(rules.words(self.points[i], self.applicants[i])) for i in rows]

    def records(self) -> list[dict[str, Any]]:
        """Give the points as rows of plain values, by the names of the columns."""
        kinds = [
            bool if boolean else int if whole else float
            for boolean, whole in zip(self.codec.boolean, self.codec.whole, strict=True)
        ]
        values = self.codec.values(self.points)
        columns = [_plain(one, kind) for one, kind in zip(values, kinds, strict=True)]
        names = [feature.name for feature in self.codec.features]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    @cached_property
    def _naming(self) -> Rules:
        """The rules, which know what to call values that are no level."""
        if not self.words:
            return self.rules
        return replace(self.rules, words_unlisted=shown_words(self.words))


def _plain(values: NDArray[Any], kind: type) -> list[Any]:
    """Give a column as plain values of a kind where they have it, None for what is missing."""
    known = (None if value != value else value for value in values.tolist())  # noqa: PLR0124
    return [
        kind(v) if isinstance(v, float) and v.is_integer() and kind(v) == v else v for v in known
    ]
