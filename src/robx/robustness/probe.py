"""A model opened on some points, ready to be asked for moments of its score around them.

Two kinds: `EnsembleProbe` hands whole neighbourhoods to the compiled kernel; `CopiesProbe` makes
the noisy copies and puts them through the model itself, a few rows at a time. Both use the same
draws for the same columns, so a model gives the same stability through either, with two exceptions:
only the model itself knows that a copy hits a value that it takes to mean "missing", and boolean
columns of a frame are kept as they are for a black box.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput, RobxError
from robx.kernels import neighbourhood
from robx.robustness.draws import Draws
from robx.robustness.noise import per_column, spread_of
from robx.tables import column_names
from robx.trees import BlackBox, TreeEnsemble
from robx.trees.importer import import_named

#: Values outside of this are not taken to be scaled to [0, 1]. XGBoost splits missing values off at
#: twice the largest value, which is 2 for scaled columns.
LOW, HIGH = -0.01, 2.01
#: A `CopiesProbe` makes at most about this many numbers at a time.
MOST_NUMBERS = 2**21


class Probe(Protocol):
    """What `robx.stability` needs of a model opened on n points."""

    @property
    def n_rows(self) -> int:
        """Number of points."""

    @property
    def n_columns(self) -> int:
        """Number of columns, and of dimensions of the noise."""

    @property
    def chunk(self) -> int:
        """How many rows to ask for at a time."""

    @property
    def takes_threads(self) -> bool:
        """Whether it is safe to ask from several threads at once."""

    def moments(self, rows: NDArray[np.intp], draws: Draws) -> tuple[Floats, Floats]:
        """Sum the score's differences from a centre, and their squares, over runs of draws.

        Returns
        -------
        centre : (m,) float64
            A score from each row's neighbourhood.
        sums : (m, draws.n_runs, 2) float64
        """


def open_probe(
    model: Any,
    X: object,
    sigma: float | ArrayLike | Mapping[str, float],
    scale: object | None,
) -> Probe:
    """Read the points and the noise, and check everything before any work starts."""
    # Rows are at hand, so a model that is not imported yet is checked on them.
    imported = import_named(model, None, (X,) if scale is None else (X, scale), X)
    if isinstance(imported, TreeEnsemble):
        return EnsembleProbe(imported, imported.read(X), _ensemble_spread(imported, sigma, scale))
    return _copies_probe(imported, X, sigma, scale)


def _ensemble_spread(ensemble: TreeEnsemble, sigma: Any, scale: Any) -> Floats:
    perturbed = np.array([not column.is_category for column in ensemble.columns])
    sigmas = np.where(perturbed, per_column(sigma, ensemble.names, "sigma"), 0.0)
    if scale is None:
        _refuse_unscaled(ensemble, sigmas)
    return spread_of(sigmas, scale, ensemble.names, lambda table: ensemble.read(table, "scale"))


def _refuse_unscaled(ensemble: TreeEnsemble, sigmas: Floats) -> None:
    """Refuse noise in units of 1 for columns that are plainly not scaled to [0, 1]."""
    threshold, feature = ensemble.split_threshold, ensemble.split_feature
    outside = (threshold < LOW) | (threshold > HIGH)
    outside &= np.isfinite(threshold) & (sigmas[feature] > 0)
    if outside.any():
        first = int(outside.argmax())
        raise InvalidInput(
            f"The model splits '{ensemble.names[feature[first]]}' at {threshold[first]:.4g}: "
            "it was not trained on columns scaled to [0, 1], so noise needs a unit for each. Pass "
            "scale=X_train (the range of each column is taken), or an array of units."
        )


@dataclass(frozen=True)
class EnsembleProbe:
    """An ensemble, points as a matrix, and the standard deviation of the noise on each column."""

    ensemble: TreeEnsemble
    matrix: Floats
    spread: Floats
    chunk: int = 1024
    takes_threads: bool = True

    @property
    def n_rows(self) -> int:
        """Number of points."""
        return len(self.matrix)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1])

    def moments(self, rows: NDArray[np.intp], draws: Draws) -> tuple[Floats, Floats]:
        """See `Probe`."""
        centre = np.empty((len(rows), 1))
        sums = np.zeros((len(rows), draws.n_runs, 2))
        walk = self.ensemble.walk
        # Noise on a column without splits changes no score.
        matrix, spread = self.matrix[rows[:, None], walk.columns], self.spread[walk.columns]
        tables = draws.tables(walk.columns)
        neighbourhood.moments(matrix, spread, walk, tables, len(draws), centre, sums)
        return centre[:, 0], sums


@dataclass(frozen=True)
class CopiesProbe:
    """A black box, the caller's table, and the standard deviation of the noise on each column."""

    model: BlackBox
    table: Any
    values: Floats
    spread: Floats
    chunk: int = 64
    takes_threads: bool = False

    @property
    def n_rows(self) -> int:
        """Number of points."""
        return len(self.values)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    def moments(self, rows: NDArray[np.intp], draws: Draws) -> tuple[Floats, Floats]:
        """See `Probe`."""
        n_draws, n_runs = len(draws), draws.n_runs
        centre = np.empty(len(rows))
        sums = np.zeros((len(rows), n_runs, 2))
        runs = np.arange(n_runs + 1) * n_draws // n_runs
        at_once = max(MOST_NUMBERS // (n_draws * max(self.n_columns, 1)), 1)
        for first in range(0, len(rows), at_once):
            part = rows[first : first + at_once]
            scores = self._score(self._copies(part, draws.noise)).reshape(len(part), n_draws)
            centre[first : first + at_once] = scores[:, 0]
            away = scores - scores[:, :1]
            sums[first : first + at_once, :, 0] = np.add.reduceat(away, runs[:-1], axis=1)
            sums[first : first + at_once, :, 1] = np.add.reduceat(away**2, runs[:-1], axis=1)
        return centre, sums

    def _score(self, copies: Any) -> Floats:
        try:
            return self.model.score(copies)
        except RobxError:
            raise
        except Exception as error:
            raise InvalidInput(
                f"The model refused noisy copies of the rows: {type(error).__name__}: "
                f"{str(error)[:200]} Give columns whose values it checks no noise: sigma 0, or "
                "noise=0 in their Feature."
            ) from error

    def _copies(self, rows: NDArray[np.intp], noise: Floats) -> Any:
        """Every noisy copy of some rows, as the model takes them: NaN and unmoved columns stay."""
        moved = self.values[rows, None, :] + self.spread * noise
        flat = moved.reshape(-1, self.n_columns)
        frame = nw.from_native(self.table, eager_only=True, pass_through=True)
        if not isinstance(frame, nw.DataFrame):
            return flat
        copies = frame[np.repeat(rows, len(noise))]
        new = [
            nw.new_series(name, flat[:, j], nw.Float64, backend=copies.implementation)
            for j, name in enumerate(copies.columns)
            if self.spread[j] > 0
        ]
        native = copies.to_native()
        if hasattr(native, "reset_index"):
            copies = nw.from_native(native.reset_index(drop=True), eager_only=True)
        return copies.with_columns(*new).to_native()


def _copies_probe(model: BlackBox, X: Any, sigma: Any, scale: Any) -> CopiesProbe:
    table = model.ordered(X)
    values, moves = _numbers(table)
    labels = column_names(table) or model.names or tuple(map(str, range(values.shape[1])))
    moves[list(model.category_places)] = False
    sigmas = np.where(moves, per_column(sigma, labels, "sigma"), 0.0)
    if scale is None:
        with np.errstate(invalid="ignore"):
            outside = ((values < LOW) | (values > HIGH)).any(axis=0) & (sigmas > 0)
        if outside.any():
            raise InvalidInput(
                f"Column '{labels[int(outside.argmax())]}' is not scaled to [0, 1], so noise needs "
                "a unit for each column. Pass scale=X_train (the range of each column is taken), "
                "or an array of units."
            )
    spread = spread_of(sigmas, scale, labels, lambda rows: _numbers(model.ordered(rows))[0])
    return CopiesProbe(model, table, values, spread)


def _numbers(table: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Values of the columns that noise can move, and which these are; zero for the others."""
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [frame[:, j] for j in range(len(frame.columns))]
        moves = np.array([column.dtype.is_numeric() for column in columns], dtype=bool)
        values = np.zeros((len(frame), len(columns)))
        for j in np.flatnonzero(moves):
            values[:, j] = columns[j].cast(nw.Float64).to_numpy()
        return values, moves
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            "X must be a table of numbers, or a DataFrame that the model understands."
        ) from error
    return values, np.ones(values.shape[1], dtype=bool)
