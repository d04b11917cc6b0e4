"""Three kinds of truth, from which as many tables can be drawn as are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
KINDS = ("smooth", "rough", "weak")
#: Columns: half of them numbers with two digits, half of them whole numbers from 0 to 6.
N_COLUMNS, MOST = 8, 6


@dataclass(frozen=True, eq=False)
class Truth:
    """A way in which labels depend on columns.

    Parameters
    ----------
    chance : function
        From rows, all columns between 0 and 1, to the chance of a good label.
    """

    chance: Callable[[Floats], Floats]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """Draw a table and its labels."""
        X = rng.random((n, N_COLUMNS))
        half = N_COLUMNS // 2
        X[:, :half] = X[:, :half].round(2)
        X[:, half:] = np.round(MOST * X[:, half:])
        scaled = X.copy()
        scaled[:, half:] /= MOST
        return X, (rng.random(n) < self.chance(scaled)).astype(np.int64)


def make_truth(kind: str, rng: np.random.Generator) -> Truth:
    """Draw a truth.

    Smooth is a strong linear effect with some products, rough has steps in pairs of columns, and
    weak is a linear effect that labels hardly show.
    """
    slope = rng.normal(size=N_COLUMNS) * (rng.random(N_COLUMNS) < 0.6)
    slope[rng.integers(N_COLUMNS)] += 1.0
    pairs, products = rng.integers(N_COLUMNS, size=(4, 2)), rng.normal(size=4)
    corners, steps = rng.random((6, 2)), 2 * rng.normal(size=6)

    def linear(X: Floats) -> Floats:
        return np.asarray(4 * (X - 0.5) @ slope)

    def smooth(X: Floats) -> Floats:
        crossed = (X[:, pairs[:, 0]] - 0.5) * (X[:, pairs[:, 1]] - 0.5)
        return _logistic(1.5 * (linear(X) + 4 * crossed @ products))

    def rough(X: Floats) -> Floats:
        jumps: Any = 0.5 * linear(X)
        for k in range(6):
            columns = [k % N_COLUMNS, (k + 3) % N_COLUMNS]
            jumps = jumps + steps[k] * np.sign(X[:, columns] - corners[k]).prod(axis=1)
        return _logistic(jumps)

    def weak(X: Floats) -> Floats:
        return _logistic(0.35 * linear(X))

    return Truth({"smooth": smooth, "rough": rough, "weak": weak}[kind])


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))
