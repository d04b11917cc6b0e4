"""`Noise`: the settings of a stability measurement, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.robustness.draws import DEFAULT_DRAWS, DrawKind, Draws, check_draws, make_draws, seed_of
from robx.robustness.measure import Stability, measure, passes
from robx.robustness.noise import per_column
from robx.robustness.probe import Probe


@dataclass(frozen=True)
class Noise:
    """How points are perturbed when their stability is measured.

    Parameters
    ----------
    sigma : float or mapping from names
        Standard deviation, in units of each column's scale.
    n_draws : int, optional
        Number of draws: 1024 Sobol or 1000 Gaussian ones unless given.
    draws : {"sobol", "gaussian"}
        Evenly spread draws, or the paper's independent ones.
    rng : int
        Seed of the draws.
    staged : bool
        Whether the test may rule out clear cases with fewer draws.
    """

    sigma: float | Mapping[str, float] = 0.1
    n_draws: int | None = None
    draws: DrawKind = "sobol"
    rng: int = 0
    staged: bool = True

    def key(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        """Tell settings apart that give different results."""
        return tuple(self.sigmas(names)), self.n_draws, self.draws, seed_of(self.rng), self.staged

    def check(self, names: tuple[str, ...]) -> None:
        """Raise if the settings make no sense for columns of these names."""
        self.sigmas(names)
        check_draws(self.draws, self.n_draws, len(names))
        seed_of(self.rng)

    def sigmas(self, names: Sequence[str]) -> Floats:
        """Standard deviation of each column's noise, in units of its scale: (d,) float64."""
        return per_column(self.sigma, names, "sigma")

    def measure(self, probe: Probe, draws: Draws, n_threads: int | None = None) -> Stability:
        """Measure the stability of a probe's points with draws as `draws_of` gives them."""
        return measure(probe, np.arange(probe.n_rows), draws, n_threads)

    def passes(
        self, probe: Probe, tau: float, draws: Draws, n_threads: int | None = None
    ) -> NDArray[np.bool_]:
        """Test the stability of a probe's points.

        Stages only rule points out: what passes has passed with all draws.
        """
        return passes(probe, tau, draws, n_threads, staged=self.staged, confirmed=True)

    def draws_of(self, n_columns: int, stored: Sequence[Draws] = ()) -> Draws:
        """Give the draws for so many columns: of those that are stored, or made now."""
        for one in stored:
            wanted = self.draws, self.n_draws or DEFAULT_DRAWS[self.draws], seed_of(self.rng)
            if (one.kind, len(one), one.seed) == wanted:
                return one
        return make_draws(self.draws, self.n_draws, n_columns, self.rng)
