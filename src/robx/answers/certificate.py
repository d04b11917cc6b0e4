"""`Certificate`: how many retrained models accept each answer, and what that promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Certificate:
    """For each of n answers: of k retrained models, how many accept it.

    The bound is Jeffreys'. It is right as often as its confidence says on average over all shares;
    for a share just below the bound of "all accept" it is right less often (85 % of the time for 32
    models at 95 %). It speaks of each answer by itself.

    Parameters
    ----------
    accepting : (n,) int64
    n_models : int
    covers : (n,) bool
        Which rows have an answer; the others have no certificate.
    confidence : float
        Of the lower bound.
    drawn : str
        How the models were drawn, in words.
    """

    accepting: NDArray[np.int64]
    n_models: int
    covers: NDArray[np.bool_]
    confidence: float
    drawn: str

    def __post_init__(self) -> None:
        shapes = np.shape(self.accepting), np.shape(self.covers)
        if self.n_models < 1 or len(shapes[0]) != 1 or shapes[0] != shapes[1]:
            raise InvalidInput("A certificate needs a model, and a count for each answer.")
        if ((self.accepting < 0) | (self.accepting > self.n_models)).any():
            raise InvalidInput("A certificate cannot count more models than there are.")

    @cached_property
    def bound(self) -> NDArray[np.float64]:
        """Lower bound on the share of models drawn in the same way that accept: (n,), or nan."""
        from scipy.special import betaincinv  # noqa: PLC0415 - takes long to load

        m, k = self.accepting, self.n_models
        lower = betaincinv(m + 0.5, k - m + 0.5, 1 - self.confidence)
        return np.where(self.covers, lower, np.nan)

    @property
    def share(self) -> float:
        """Share of the models that accept, on average over the answers; nan without any."""
        return (
            float(self.accepting[self.covers].mean() / self.n_models)
            if self.covers.any()
            else (float("nan"))
        )

    def words(self, i: int) -> str:
        """Say what the certificate of answer i promises."""
        if not self.covers[i]:
            return ""
        return (
            f"{self.accepting[i]} of {self.n_models} retrained models accept it; of models "
            f"{self.drawn}, at least {np.floor(1000 * self.bound[i]) / 10:g}% will "
            f"({100 * self.confidence:g}% confidence)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {
            "accepting": self.accepting.tolist(),
            "n_models": self.n_models,
            "covers": self.covers.tolist(),
            "confidence": self.confidence,
            "drawn": self.drawn,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Certificate:
        """Make one from plain values."""
        return cls(
            np.array(plain["accepting"], dtype=np.int64),
            int(plain["n_models"]),
            np.array(plain["covers"], dtype=bool),
            float(plain["confidence"]),
            str(plain["drawn"]),
        )
