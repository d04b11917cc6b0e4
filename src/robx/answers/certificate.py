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

    The bound is exact, that of Clopper and Pearson: it is right at least as often as its confidence
    says. It speaks of each answer by itself, and of models drawn as these were. These share their
    rows with the model in whose favour answers were chosen; where a promise was rehearsed, the
    certificate says beside it what models on rows of their own made of answers like this one.

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
    change : str
        What the next model is, in words, where a promise was rehearsed.
    expected, expected_low : (n,) float64, optional
        Share of such models that accept the answer: what came in rehearsals of answers that
        retrained models scored alike, and what 95 % of these answers had at least.
    """

    accepting: NDArray[np.int64]
    n_models: int
    covers: NDArray[np.bool_]
    confidence: float
    drawn: str
    change: str = ""
    expected: NDArray[np.float64] | None = None
    expected_low: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        shapes = np.shape(self.accepting), np.shape(self.covers)
        if self.n_models < 1 or len(shapes[0]) != 1 or shapes[0] != shapes[1]:
            raise InvalidInput("A certificate needs a model, and a count for each answer.")
        if ((self.accepting < 0) | (self.accepting > self.n_models)).any():
            raise InvalidInput("A certificate cannot count more models than there are.")
        for known in (self.expected, self.expected_low):
            if known is not None and np.shape(known) != shapes[0]:
                raise InvalidInput("A certificate needs what is expected of each answer.")

    @cached_property
    def bound(self) -> NDArray[np.float64]:
        """Lower bound on the share of models drawn in the same way that accept: (n,), or nan."""
        from scipy.special import betaincinv  # noqa: PLC0415 - takes long to load

        m, k = self.accepting, self.n_models
        lower = betaincinv(np.maximum(m, 1), k - m + 1, 1 - self.confidence)
        return np.where(self.covers, np.where(m > 0, lower, 0.0), np.nan)

    @property
    def expectations(self) -> dict[str, NDArray[np.float64]]:
        """What is expected of models on new rows, by the names of columns; nothing if not known."""
        named = {"expected_validity": self.expected, "expected_at_least": self.expected_low}
        return {name: values for name, values in named.items() if values is not None}

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
        said = (
            f"{self.accepting[i]} of {self.n_models} retrained models accept it; of models "
            f"{self.drawn}, at least {_percent(self.bound[i])} will "
            f"({100 * self.confidence:g}% confidence)."
        )
        if self.expected is not None and self.expected_low is not None:
            said += (
                f" Of models {self.change}, about {_percent(self.expected[i])} will; of 20 answers "
                f"like this one, 19 are accepted by at least {_percent(self.expected_low[i])}."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {
            "accepting": self.accepting.tolist(),
            "n_models": self.n_models,
            "covers": self.covers.tolist(),
            "confidence": self.confidence,
            "drawn": self.drawn,
            "change": self.change,
            "expected": _plain(self.expected),
            "expected_low": _plain(self.expected_low),
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
            str(plain.get("change", "")),
            _shares(plain.get("expected")),
            _shares(plain.get("expected_low")),
        )


def _percent(share: float) -> str:
    """Say a share, rounded down."""
    return f"{np.floor(1000 * share + 1e-9) / 10:g}%"


def _plain(values: NDArray[np.float64] | None) -> list[float | None] | None:
    return None if values is None else [None if np.isnan(v) else float(v) for v in values]


def _shares(plain: Any) -> NDArray[np.float64] | None:
    return None if plain is None else np.array(plain, dtype=np.float64)
