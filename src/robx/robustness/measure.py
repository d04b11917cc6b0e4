"""Counterfactual stability (Definition 4 of the paper) and its test.

The paper's symbols: K is `n_draws`, sigma `sigma`, tau `tau`, R the `value` of a `Stability`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parallel import available_threads, in_threads
from robx.parameters import is_number, is_whole, require
from robx.robustness.draws import DrawKind, Draws, make_draws, seed_of
from robx.robustness.exact import exact_stability
from robx.robustness.probe import Probe, open_probe
from robx.tables import parts, take
from robx.trees import Model
from robx.trees.importer import import_named
from robx.trees.rowwise import refusals

T = TypeVar("T")

#: Rows of a table that are held as numbers at a time.
PART = 2**17
#: `is_stable` tries these numbers of draws before the full one.
STAGES = (64, 256)
#: How many standard errors from tau count as clear.
CLEAR = 2.0
#: How far the score may drop in a region that the draws have not hit.
DROP = 0.5


@dataclass(frozen=True, eq=False)
class Stability:
    """Stability of n points: arrays of shape (n,).

    Parameters
    ----------
    mean, std : (n,) float64
        Mean and standard deviation of the score over the noisy copies of each point.
    error : (n,) float64
        Standard error of `value`: by how much it would differ with other draws of the same kind.
        Zero where it is exact.
    n_draws : int
        How many copies were scored; 0 where the result is exact.
    reason : tuple of n str
        Why a row could not be measured, whose numbers are then NaN: a cell that cannot be read, or
        that the model refuses. Empty where it was measured, and as a whole where all rows were.
    """

    mean: Floats
    std: Floats
    error: Floats
    n_draws: int
    reason: tuple[str, ...] = ()

    @property
    def value(self) -> Floats:
        """The stability R itself, ``mean - std``."""
        return self.mean - self.std

    def __len__(self) -> int:
        return len(self.mean)

    def __repr__(self) -> str:
        return f"<Stability of {len(self)} points, {self.n_draws or 'no'} draws>"


def stability(
    model: Model | Any,
    X: object,
    *,
    sigma: float | ArrayLike | Mapping[str, float] = 0.1,
    n_draws: int | None = None,
    scale: ArrayLike | Mapping[str, float] | object | None = None,
    draws: DrawKind | Literal["exact"] = "sobol",
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
) -> Stability:
    """Measure how firmly the model accepts each row and its neighbourhood.

    The stability of x is the mean minus the standard deviation of the model's score over Gaussian
    noise around x (Definition 4 of Dutta et al., 2022). It is high where the model accepts x,
    accepts what is near x, and does so evenly.

    Parameters
    ----------
    model : TreeEnsemble or BlackBox
        From `robx.import_model`, which is called for you on any other model.
    X : table of shape (n, d)
        The points. A missing value stays missing in every noisy copy. Categories are not perturbed,
        since a Gaussian step in their codes would not mean anything. A row that the model refuses
        has a reason, and does not stop the others.
    sigma : float, array of d or mapping from names
        Standard deviation of the noise, in units of `scale`; 0 keeps a column as it is.
    n_draws : int, optional
        Number of noisy copies, K in the paper: 1024 Sobol or 1000 Gaussian draws unless given. A
        power of two is best for Sobol draws.
    scale : array of d, mapping from names, or table, optional
        Unit of each column. A table, such as the training rows, gives the range of each column
        (max - min). Without it columns must be scaled to [0, 1] already, as in the paper; other
        units raise.
    draws : {"sobol", "gaussian", "exact"}
        Evenly spread draws, the paper's independent ones, or none: "exact" integrates averaged
        forests and single trees in closed form, on one thread.
    rng : int or Generator, optional
        Seed for the draws; 0 unless given. The same seed gives the same bytes.
    n_threads : int, optional
        Threads that share the rows: all cores unless given, but one for a `BlackBox`, which may
        not be safe to call from several. The result does not depend on it.

    Returns
    -------
    Stability
        With ``mean``, ``std``, ``value`` (their difference) and ``error``, each (n,), and the
        ``reason`` of rows that could not be measured.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).random((500, 3))
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> result = stability(forest, [[0.95, 0.5, 0.5], [0.55, 0.5, 0.5]])
    >>> bool(result.value[0] > 0.9 > 0.6 > result.value[1])
    True

    References
    ----------
    Dutta, Long, Mishra, Tilli, Magazzeni: Robust Counterfactual Explanations for Tree-Based
    Ensembles, ICML 2022.
    """
    if draws == "exact" and n_draws is not None:
        raise InvalidInput("The 'n_draws' parameter has no meaning with draws='exact'.")
    seed = seed_of(rng)

    def of(imported: Any, some: Any) -> Stability:
        if draws == "exact":
            mean, std = exact_stability(open_probe(imported, some, sigma, scale))
            return Stability(mean, std, np.zeros_like(mean), 0)
        results = []
        for probe in _open_parts(imported, some, sigma, scale):
            noise = make_draws(draws, n_draws, probe.n_columns, seed)
            results.append(measure(probe, np.arange(probe.n_rows), noise, n_threads))
        return Stability(
            np.concatenate([result.mean for result in results]),
            np.concatenate([result.std for result in results]),
            np.concatenate([result.error for result in results]),
            results[0].n_draws,
        )

    found, reason = _by_row(of, model, X)
    if not reason:
        return found
    numbers = np.full((3, len(reason)), np.nan)
    numbers[:, np.array(reason) == ""] = found.mean, found.std, found.error
    mean, std, error = numbers
    return Stability(mean, std, error, found.n_draws, reason)


def is_stable(
    model: Model | Any,
    X: object,
    tau: float,
    *,
    sigma: float | ArrayLike | Mapping[str, float] = 0.1,
    n_draws: int | None = None,
    scale: ArrayLike | Mapping[str, float] | object | None = None,
    draws: DrawKind = "sobol",
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
) -> NDArray[np.bool_]:
    """Tell which rows pass the stability test, ``stability(...).value >= tau`` (Definition 5).

    Rows are decided in stages of 64, 256 and `n_draws` draws: as soon as a stability lies further
    from `tau` than chance explains. Most rows cost a fraction of the full measurement. Answers
    differ from those of `stability` on few rows near `tau`; `docs/design.md` has measured rates.

    Parameters
    ----------
    model, X, sigma, n_draws, scale, draws, rng, n_threads
        As for `stability`.
    tau : float
        The minimum stability that passes.

    Returns
    -------
    (n,) bool
        False for a row that the model refuses.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).random((500, 3))
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X[:, 0] > 0.5)
    >>> is_stable(forest, [[0.95, 0.5, 0.5], [0.55, 0.5, 0.5]], tau=0.8)
    array([ True, False])
    """
    require(is_number(tau), tau, "tau", "is_stable", "a finite number")
    seed = seed_of(rng)

    def of(imported: Any, some: Any) -> NDArray[np.bool_]:
        return np.concatenate(
            [
                passes(probe, tau, make_draws(draws, n_draws, probe.n_columns, seed), n_threads)
                for probe in _open_parts(imported, some, sigma, scale)
            ]
        )

    found, reason = _by_row(of, model, X)
    if not reason:
        return found
    passed: NDArray[np.bool_] = np.array([not said for said in reason], dtype=bool)
    passed[passed] = found
    return passed


def _by_row(of: Callable[[Any, Any], T], model: Any, X: Any) -> tuple[T, tuple[str, ...]]:
    """Measure rows; those that the model refuses are left out, and have a reason."""
    try:
        return of(model, X), ()
    except InvalidInput:
        imported = import_named(model, None, (X,))
        reason = refusals(imported, X)
        if not any(reason) and imported is model:
            raise
    # Not compared with the model's own library, which may refuse the whole table.
    if not any(reason):
        return of(imported, X), ()
    return of(imported, take(X, np.flatnonzero(np.array(reason) == ""))), tuple(reason)


def _open_parts(model: Any, X: Any, sigma: Any, scale: Any) -> Iterator[Probe]:
    """Open a model on a few rows after the other, so that a long table is never held twice.

    All rows are read once before the first are measured: bad ones come to light before the work.
    """
    imported = model
    several = parts(X, PART)
    if len(several) > 1:
        imported = import_named(model, None, (X,), several[0])
        for part in several:
            open_probe(imported, part, sigma, scale)
    for part in several:
        yield open_probe(imported, part, sigma, scale)


def passes(
    probe: Probe,
    tau: float,
    full: Draws,
    n_threads: int | None,
    *,
    staged: bool = True,
    confirmed: bool = False,
) -> NDArray[np.bool_]:
    """Tell which points of a probe pass the test, in stages or with all draws at once.

    Where passing is to be `confirmed`, stages only rule points out: what passes has passed with all
    draws. No point is measured twice with the same draws.
    """
    passed = np.zeros(probe.n_rows, dtype=bool)
    undecided = np.arange(probe.n_rows)
    for n_stage in [n for n in STAGES if n < len(full)] if staged else []:
        result = measure(probe, undecided, full.first(n_stage), n_threads)
        passed[undecided] = result.value >= tau
        undecided = undecided[np.abs(result.value - tau) <= _doubt(result, tau)]
    if confirmed:
        passed[undecided] = True
        undecided = np.flatnonzero(passed)
    passed[undecided] = measure(probe, undecided, full, n_threads).value >= tau
    return passed


def _doubt(result: Stability, tau: float) -> Floats:
    """How near to tau a stability is not clear yet.

    A multiple of the standard error, and at least what the draws can resolve: runs can agree by
    balance while a threshold lies between two draws. What passes may yet fall: a draw in n that
    shows a drop in score for the first time would lower its stability by what is added here.
    """
    n, std = result.n_draws, result.std
    known = np.maximum(CLEAR * result.error, std / np.sqrt(n))
    hidden = np.sqrt(std**2 + DROP**2 / n) - std + DROP / n
    return np.asarray(np.where(result.value >= tau, np.maximum(known, hidden), known))


def measure(probe: Probe, rows: NDArray[np.intp], draws: Draws, n_threads: int | None) -> Stability:
    """Measure some rows, in chunks over threads; a row's result is the same in any chunk."""
    threads = _threads(n_threads) if n_threads is not None or probe.takes_threads else 1
    mean, std, error = np.empty((3, len(rows)))
    # Enough rows to be worth a thread, few enough to share evenly.
    size = min(probe.chunk, max(-(-len(rows) // threads), 32))

    def run(chunk: slice) -> None:
        centre, sums = probe.moments(rows[chunk], draws)
        mean[chunk], std[chunk], error[chunk] = _summarise(centre, sums, len(draws))

    in_threads(run, len(rows), size, threads)
    return Stability(mean, std, error, len(draws))


def _summarise(centre: Floats, sums: Floats, n_draws: int) -> tuple[Floats, Floats, Floats]:
    """Mean, standard deviation, and the standard error of their difference.

    Parameters
    ----------
    centre : (n,) float64
        A score near each row's mean.
    sums : (n, runs, 2) float64
        Sums over runs of draws of the differences from it, and of their squares.

    Notes
    -----
    A draw with score m moves ``mean - std`` by its influence, ``(m - mean) - ((m - mean)^2 - var) /
    (2 std)``, over n. The error is the standard deviation of that over the runs: for independent
    draws the usual one; for Sobol draws, whose runs each cover space evenly, an upper estimate.
    """
    n_runs = sums.shape[1]
    counts = np.diff(np.arange(n_runs + 1) * n_draws // n_runs)
    shift, square = sums.sum(axis=1).T / n_draws
    variance = np.maximum(square - shift**2, 0.0)
    std = np.sqrt(variance)
    first = sums[:, :, 0] - counts * shift[:, None]
    second = sums[:, :, 1] - 2 * shift[:, None] * sums[:, :, 0] + counts * (shift**2)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = (second - counts * variance[:, None]) / (2 * std[:, None])
    influence = first - np.where(std[:, None] > 0, tilt, 0.0)
    error = np.sqrt((influence**2).sum(axis=1) * n_runs / max(n_runs - 1, 1)) / n_draws
    return centre + shift, std, error


def _threads(n_threads: int | None) -> int:
    if n_threads is None:
        return available_threads()
    sound = is_whole(n_threads) and n_threads >= 1
    require(sound, n_threads, "n_threads", "", "an integer from 1, or None for all cores")
    return int(n_threads)
