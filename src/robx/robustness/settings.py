"""`Noise`: the settings of a stability measurement, as one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats
from robx.robustness.draws import DrawKind, Draws, make_draws, seed_of
from robx.robustness.measure import Stability, measure, passes
from robx.robustness.noise import per_column, spread_of
from robx.robustness.probe import EnsembleProbe, Probe, open_probe
from robx.trees import BlackBox, TreeEnsemble


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
        sigmas = tuple(per_column(self.sigma, names, "sigma").tolist())
        return sigmas, self.n_draws, self.draws, seed_of(self.rng), self.staged

    def check(self, names: tuple[str, ...]) -> None:
        """Raise if the settings make no sense for columns of these names."""
        per_column(self.sigma, names, "sigma")
        self._draws(len(names))

    def measure(self, probe: Probe, n_threads: int | None = None) -> Stability:
        """Measure the stability of a probe's points."""
        return measure(probe, np.arange(probe.n_rows), self._draws(probe.n_columns), n_threads)

    def passes(self, probe: Probe, tau: float, n_threads: int | None = None) -> NDArray[np.bool_]:
        """Test the stability of a probe's points.

        Stages only rule points out: what passes has passed with all draws.
        """
        draws = self._draws(probe.n_columns)
        passed = passes(probe, tau, draws, n_threads, staged=self.staged)
        if self.staged:
            rows = np.flatnonzero(passed)
            passed[rows] = measure(probe, rows, draws, n_threads).value >= tau
        return passed

    def _draws(self, n_columns: int) -> Draws:
        return make_draws(self.draws, self.n_draws, n_columns, self.rng)

    def open(
        self,
        model: TreeEnsemble | BlackBox,
        points: Any,
        unit: Floats,
        names: tuple[str, ...],
    ) -> Probe:
        """Open a model on points: a matrix that an ensemble has read, or a black box's table."""
        sigmas = per_column(self.sigma, names, "sigma")
        if isinstance(model, TreeEnsemble):
            is_number = np.array([not column.is_category for column in model.columns])
            spread = spread_of(np.where(is_number, sigmas, 0.0), unit, names, model.read)
            return EnsembleProbe(model, points, spread)
        return open_probe(model, points, sigmas, unit)
