"""`Crowds`: how many training people share what each answer asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Crowds:
    """For each of n answers: of the accepted training rows, how many share what it changes to.

    The *crowd* of an answer are the rows that have all the values to which it changes features,
    whatever they have in the others. A crowd of one points at a person; who reads an answer whose
    crowd is large learns nothing of anybody.

    Parameters
    ----------
    size : (n,) int64
        Number of rows in each crowd.
    whole : (n,) bool
        Whether a row is equal to the answer in every column, also those that do not change.
    covers : (n,) bool
        Which rows have an answer; the others have no crowd.
    n_rows : int
        Number of accepted training rows.
    k_anonymous : int, optional
        How many people each row stood for, at least, that the answers were made from.
    """

    size: NDArray[np.int64]
    whole: NDArray[np.bool_]
    covers: NDArray[np.bool_]
    n_rows: int
    k_anonymous: int | None = None

    def __post_init__(self) -> None:
        shapes = {np.shape(part) for part in (self.size, self.whole, self.covers)}
        if len(shapes) > 1 or np.ndim(self.size) != 1:
            raise InvalidInput("Crowds need a size for each answer.")
        if ((self.size < 0) | (self.size > self.n_rows)).any():
            raise InvalidInput("A crowd cannot have more rows than there are.")

    @property
    def n_alone(self) -> int:
        """Number of answers that exactly one training row shares."""
        return int((self.size[self.covers] == 1).sum())

    @property
    def n_whole(self) -> int:
        """Number of answers that equal a training row in every column."""
        return int(self.whole[self.covers].sum())

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {
            "size": self.size.tolist(),
            "whole": self.whole.tolist(),
            "covers": self.covers.tolist(),
            "n_rows": self.n_rows,
            "k_anonymous": self.k_anonymous,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Crowds:
        """Make them from plain values."""
        k = plain.get("k_anonymous")
        return cls(
            np.array(plain["size"], dtype=np.int64),
            np.array(plain["whole"], dtype=bool),
            np.array(plain["covers"], dtype=bool),
            int(plain["n_rows"]),
            None if k is None else int(k),
        )
