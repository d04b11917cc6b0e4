"""Draws of standard Gaussian noise, shared by all points.

``"sobol"``
    A scrambled Sobol sequence turned Gaussian: draws that cover space evenly. 256 to 512 of them
    estimate a stability as well as 1000 independent ones do, 1024 two to four times as well.
``"gaussian"``
    Independent draws, as in the paper.

Both are the same for every point, which makes points comparable (the same noise hits them all),
results independent of how a batch is cut, and the fast kernel possible.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from robx.arrays import AnyInts
from robx.errors import InvalidInput
from robx.kernels.neighbourhood import Tables, prefix_tables
from robx.kernels.sets import aligned
from robx.parameters import check_whole, is_whole, require
from robx.robustness.sobol import BITS, MOST_COLUMNS, sobol

DrawKind = Literal["sobol", "gaussian"]
DRAW_KINDS: tuple[DrawKind, ...] = get_args(DrawKind)
DEFAULT_DRAWS: dict[DrawKind, int] = {"sobol": 1024, "gaussian": 1000}

#: Bytes of tables for a draw of one column, and how many in all are still taken.
TABLE_BYTES = 88
MOST_BYTES = 2**31
#: Draws and tables are kept for the next call up to this many bytes in all.
KEPT_BYTES = 2**29


class Kept:
    """Results by key, of which those asked for last are kept, up to a number of bytes in all.

    Parameters
    ----------
    most : int
        Bytes; a result that is larger by itself is not kept.
    """

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._results: dict[Hashable, tuple[Any, int]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any], n_bytes: int) -> Any:
        """Return what was made under a key, or make it now; it takes about `n_bytes`.

        Nobody waits while it is made: of two threads that make the same, one result is kept.
        """
        with self._lock:
            if key in self._results:
                return self._again(key)
        made = make()
        with self._lock:
            if key in self._results:
                return self._again(key)
            if n_bytes <= self._most:
                while self._bytes + n_bytes > self._most:
                    self._bytes -= self._results.pop(next(iter(self._results)))[1]
                self._results[key] = made, n_bytes
                self._bytes += n_bytes
        return made

    def _again(self, key: Hashable) -> Any:
        self._results[key] = self._results.pop(key)  # now the last one asked for
        return self._results[key][0]

    def renew_lock(self) -> None:
        """Forget who held the lock, in a forked process in which nobody would release it."""
        self._lock = threading.Lock()
        self._bytes = sum(n_bytes for _, n_bytes in self._results.values())


_kept = Kept(KEPT_BYTES)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.renew_lock)


@dataclass(frozen=True, eq=False)
class Draws:
    """Standard Gaussian draws.

    Parameters
    ----------
    kind : {"sobol", "gaussian"}
    seed : int
    noise : (n_draws, d) float64
    source : str
        Empty for draws that were made here, else a digest of those that came in a file. Tables are
        kept by it, so that what a file holds never stands in for our own draws.
    """

    kind: DrawKind
    seed: int
    noise: NDArray[np.float64]
    source: str = ""

    def __len__(self) -> int:
        return len(self.noise)

    def first(self, n_draws: int) -> Draws:
        """Give the first of these draws, on their own."""
        return Draws(self.kind, self.seed, self.noise[:n_draws], self.source)

    @property
    def n_runs(self) -> int:
        """Into how many runs the draws are cut to see how far runs differ.

        Eight runs of a Sobol sequence are eight even covers of space, so their spread shows how
        little even covers err, where single draws would not; of independent draws, more and shorter
        runs give a steadier estimate.
        """
        return min(8 if self.kind == "sobol" else 50, len(self.noise))

    def tables(self, columns: AnyInts, least_words: int = 1) -> Tables:
        """Give the draws of some columns cut into blocks, each sorted by every column.

        A model that looks at few of its columns needs tables for these alone. A kernel that takes
        long to compile asks for sets of at least so many words, so that it meets fewer widths.
        """
        n_words = max(1 if len(self) <= 64 else 4 if len(self) <= 256 else 8, least_words)
        key = (self.source, self.kind, *self.noise.shape, self.seed, n_words, columns.tobytes())
        n_bytes = TABLE_BYTES * len(self) * len(columns)
        made: Tables = _kept.get(key, lambda: _tables(self.noise[:, columns], n_words), n_bytes)
        return made


def _tables(noise: NDArray[np.float64], n_words: int) -> Tables:
    n_draws, n_columns = noise.shape
    block = 64 * n_words
    n_blocks = -(-n_draws // block)
    # At a cache line, so that no set of draws lies across more lines than it must.
    prefix = aligned(n_blocks * n_columns * (block + 1) * n_words)
    prefix = prefix.reshape(n_blocks, n_columns, block + 1, n_words)
    ranked = np.empty((n_blocks, n_columns, block + 1))
    start = np.empty((n_blocks, n_columns, 4 * block), dtype=np.uint16)
    steps = 0
    for b in range(n_blocks):
        part = np.ascontiguousarray(noise[b * block : (b + 1) * block].T)
        order = np.argsort(part, axis=1, kind="stable")
        steps = max(steps, prefix_tables(part, order, prefix[b], ranked[b], start[b]))
    return Tables((0,) * n_words, prefix.reshape(n_blocks, -1), ranked, start, steps)


def draw(kind: DrawKind, n_draws: int, n_features: int, seed: int) -> Draws:
    """Make draws, or take the ones made last time.

    A shorter sequence is the beginning of a longer one with the same seed.
    """

    def make() -> Draws:
        if kind == "gaussian":
            # Row by row, so that a longer sequence begins with a shorter one.
            noise = np.random.default_rng(seed).standard_normal((n_draws, n_features))
        else:
            noise = _sobol(n_draws, n_features, seed)
        noise.flags.writeable = False
        return Draws(kind, seed, noise)

    made: Draws = _kept.get((kind, n_draws, n_features, seed), make, 8 * n_draws * n_features)
    return made


def _sobol(n_draws: int, n_features: int, seed: int) -> NDArray[np.float64]:
    if n_features > MOST_COLUMNS:
        raise InvalidInput(
            f"Sobol draws exist for at most {MOST_COLUMNS} columns; the model has "
            f"{n_features}. Use draws='gaussian'."
        )
    n_power = max(n_draws - 1, 0).bit_length()
    uniform = sobol(n_power, n_features, seed)[:n_draws]
    # Centred in its cell: no draw is exactly 0, whose Gaussian would be infinite.
    return np.asarray(ndtri(uniform + 0.5 ** (BITS + 1)))


def make_draws(
    kind: DrawKind, n_draws: int | None, n_features: int, rng: int | np.random.Generator | None
) -> Draws:
    """Check what a caller asked for, and make it."""
    return draw(kind, check_draws(kind, n_draws, n_features), n_features, seed_of(rng))


def check_draws(kind: DrawKind, n_draws: int | None, n_features: int) -> int:
    """Check what a caller asked for, and give the number of draws."""
    require(kind in DRAW_KINDS, kind, "draws", "", f"one of {', '.join(map(repr, DRAW_KINDS))}")
    number = DEFAULT_DRAWS[kind] if n_draws is None else n_draws
    check_whole(number, "n_draws", "", least=2)
    n_bytes = int(number) * n_features * TABLE_BYTES
    if n_bytes > MOST_BYTES:
        raise InvalidInput(
            f"The 'n_draws' parameter is too large: {number} draws of {n_features} columns need "
            f"{n_bytes / 2**30:.1f} GiB of tables; the maximum is {MOST_BYTES / 2**30:.0f}. "
            "Average several smaller runs with different rng instead."
        )
    return int(number)


def seed_of(rng: int | np.random.Generator | None) -> int:
    """Turn a caller's `rng` into a seed: None is 0, a Generator draws one."""
    if rng is None:
        return 0
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    expected = "a seed (an integer from 0), a numpy Generator or None"
    require(is_whole(rng) and rng >= 0, rng, "rng", "", expected)
    return int(rng)
