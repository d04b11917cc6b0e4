"""Scrambled Sobol sequences, to the last bit those of `scipy.stats.qmc`, without loading it.

scipy.stats takes half a second to load, longer than everything else that a process does before its
first answer. What is needed of it are the direction numbers of Joe and Kuo, which are data: they
are read from scipy's file, and the sequence is made here. Where scipy keeps them elsewhere, its own
class makes the sequence.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy
from numpy.typing import NDArray

Words = NDArray[np.uint32]

#: Binary digits of a coordinate.
BITS = 30
#: Joe and Kuo give direction numbers for so many columns.
MOST_COLUMNS = 21_201

_FILE = Path(scipy.__file__).parent / "stats" / "_sobol_direction_numbers.npz"


def sobol(n_power: int, n_columns: int, seed: int) -> NDArray[np.float64]:
    """Make the first 2^n_power points of a sequence, each coordinate in [0, 1).

    It is scrambled by a lower triangular matrix of random bits and a random shift for each column.
    """
    try:
        with np.load(_FILE) as data:
            polynomials, initial = data["poly"][:n_columns], data["vinit"][:n_columns]
    except (OSError, KeyError, ValueError):
        from scipy.stats import qmc  # noqa: PLC0415 - takes long to load

        theirs = qmc.Sobol(n_columns, bits=BITS, rng=np.random.default_rng(seed))
        return theirs.random_base2(n_power)
    directions = _directions(polynomials.tolist(), initial.astype(np.uint32))
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])  # as qmc does
    shift = rng.integers(2, size=(n_columns, BITS), dtype=np.uint32) @ _powers()
    lower = np.tril(rng.integers(2, size=(n_columns, BITS, BITS), dtype=np.uint32))
    directions = _scrambled(directions, lower)
    # Each point differs from the one before by the direction of the lowest bit of its number.
    numbers = np.arange(1, 2**n_power)
    lowest = np.log2(numbers & -numbers).astype(np.intp)
    points = np.concatenate([shift[None], directions.T[lowest]])
    np.bitwise_xor.accumulate(points, axis=0, out=points)
    return points * 0.5**BITS


def _powers() -> Words:
    return 2 ** np.arange(BITS, dtype=np.uint32)


def _directions(polynomials: list[int], initial: Words) -> Words:
    """Continue the initial direction numbers by the recurrence of each column's polynomial."""
    found = np.ones((len(initial), BITS), dtype=np.uint32)  # all that the first column has
    by_degree: dict[int, list[int]] = {}
    for column, polynomial in enumerate(polynomials[1:], 1):
        by_degree.setdefault(polynomial.bit_length() - 1, []).append(column)
    for degree, columns in by_degree.items():
        known = np.zeros((len(columns), BITS), dtype=np.uint32)
        known[:, :degree] = initial[columns, :degree]
        bits = np.array([polynomials[column] for column in columns], dtype=np.uint32)
        for j in range(degree, BITS):
            known[:, j] = known[:, j - degree]
            for k in range(1, degree + 1):
                is_in = bits >> np.uint32(degree - k) & np.uint32(1)
                known[:, j] ^= is_in * (known[:, j - k] << np.uint32(k))
        found[columns] = known
    return found << np.arange(BITS - 1, -1, -1, dtype=np.uint32)


def _scrambled(directions: Words, lower: Words) -> Words:
    """Multiply the bits of every direction, the highest first, by its column's matrix, modulo 2."""
    lower[:, np.arange(BITS), np.arange(BITS)] = 1
    rows = lower @ _powers()[::-1]
    found = np.zeros_like(directions)
    for p in range(BITS):
        kept = directions & rows[:, p, None]
        for half in (16, 8, 4, 2, 1):
            kept ^= kept >> np.uint32(half)
        found |= (kept & np.uint32(1)) << np.uint32(BITS - 1 - p)
    return found
