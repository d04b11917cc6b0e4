"""The local outlier factor, where no point is its own neighbour.

scikit-learn's ``LocalOutlierFactor(novelty=True)`` assumes that a new point is not one of the rows
it was fitted on. A counterfactual often is; it then finds itself at distance 0 and looks like an
inlier. Here such a point is compared with all *other* rows, as if the factor were fitted without
it. The lists of neighbours are one longer than needed, so that each still holds enough without it.

Of rows at the same distance, scikit-learn leaves it to its search which is nearer. Here it is the
one with the smaller coordinates, so that the factor does not depend on the order of the rows, to
the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.parallel import in_threads
from robx.parameters import check_number, check_whole, require

if TYPE_CHECKING:
    from robx.kernels import lof

Ints = NDArray[np.intp]
Rows = Literal["support", "accepted"]
#: The nearest other rows of each row, and their distances.
Neighbours = tuple[Ints, Floats]

#: Keeps the density of rows with many copies finite; scikit-learn's number.
TINY = 1e-10
#: scikit-learn's offset for contamination="auto".
AUTO_OFFSET = -1.5
#: Squares of larger numbers overflow.
HUGE = 1e150
#: Maximum size of a temporary array.
CELLS = 2**19
#: New points for one thread at a time.
AT_ONCE = 64


@dataclass(frozen=True)
class Outliers:
    """Settings of the local outlier factor: `fit` it on rows, then compute it for points.

    Parameters
    ----------
    n_neighbors : int
        If there are fewer rows, all others are neighbours.
    contamination : float or "auto"
        The share of the fitted rows that count as outliers, above 0 and at most 0.5. With "auto",
        a point with a factor above 1.5 is an outlier.
    fitted_on : {"support", "accepted"}
        Whether `evaluate` fits it on all training rows, or on those that the model accepts.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(500, 2))
    >>> fitted = Outliers(n_neighbors=10).fit(rows)
    >>> fitted.factor([[0.0, 0.0], [5.0, 5.0]]).round(1).tolist()
    [1.0, 6.7]
    >>> fitted.label([[0.0, 0.0], [5.0, 5.0]]).tolist()
    [1, -1]
    """

    n_neighbors: int = 20
    contamination: float | Literal["auto"] = "auto"
    fitted_on: Rows = "support"

    def __post_init__(self) -> None:
        check_whole(self.n_neighbors, "n_neighbors", "Outliers")
        if (share := self.contamination) != "auto":
            other = ", or 'auto'"
            check_number(share, "contamination", "Outliers", above=0, most=0.5, or_else=other)
        known = self.fitted_on in get_args(Rows)
        require(known, self.fitted_on, "fitted_on", "Outliers", "'support' or 'accepted'")

    def fit(self, rows: ArrayLike, known: Neighbours | None = None) -> FittedOutliers:
        """Learn where rows are dense.

        Parameters
        ----------
        rows : (n, d)
            At least three, in coordinates in which Euclidean distances are meaningful.
        known : two arrays, optional
            `FittedOutliers.neighbours` of the same rows and settings, which is not searched for
            again.

        Returns
        -------
        FittedOutliers
        """
        places = np.asarray(rows, dtype=np.float64)
        if places.ndim != 2 or len(places) < 3 or places.shape[1] == 0:
            raise InvalidInput(
                "Outliers.fit takes at least 3 rows of at least one column. Got rows of shape "
                f"{places.shape}."
            )
        if not (np.abs(places) < HUGE).all():
            raise InvalidInput(
                "Outliers.fit takes finite numbers below 1e150 in size. Fill in missing values and "
                "scale the columns first."
            )
        return FittedOutliers(_DistinctRows(places), self, known)


class FittedOutliers:
    """The local outlier factor, fitted on rows; made by `Outliers.fit`.

    Attributes
    ----------
    offset : float
        Points with ``-factor < offset`` are outliers.

    Examples
    --------
    A fitted row far from the others is an outlier:

    >>> fitted = Outliers(n_neighbors=2).fit([[0.0], [1.0], [2.0], [3.0], [9.0]])
    >>> fitted.factor([[9.0], [1.5]]).round(2).tolist()
    [4.33, 0.67]
    """

    def __init__(
        self, rows: _DistinctRows, settings: Outliers, known: Neighbours | None = None
    ) -> None:
        n, wanted = int(rows.copies.sum()), int(settings.n_neighbors)
        self._rows = rows
        self._all_k = min(wanted, n - 1)
        self._other_k = k = min(wanted, n - 2)  # with one row left out
        if known is None:
            known = rows.neighbours(k + 1)
        _check_neighbours(known, len(rows.values), k + 1)
        self._ids, self._distances = known
        #: Row w has row u among its nearest: sorted keys of all such pairs.
        everyone = np.arange(len(rows.values))[:, None]
        self._pairs = np.unique(everyone * len(rows.values) + self._ids[:, :k])

        near, far = self._ids[:, : self._all_k], self._distances[:, : self._all_k]
        reach = far[:, -1]
        density = _density(np.maximum(far, reach[near]))
        factors = (density[near] / density[:, None]).mean(axis=1)
        copied = np.repeat(rows.values, rows.copies, axis=0)
        #: Rows, columns, reach and density, copies one by one.
        self._copied = (
            copied,
            np.ascontiguousarray(copied.T),
            np.repeat(reach, rows.copies),
            np.repeat(density, rows.copies),
        )
        #: Factor of each row among the others, once it was asked for.
        self._of_each = np.full(len(rows.values), np.nan)
        self.offset = AUTO_OFFSET
        if settings.contamination != "auto":
            of_each = np.repeat(-factors, rows.copies)
            self.offset = float(np.percentile(of_each, 100.0 * settings.contamination))

    @property
    def neighbours(self) -> Neighbours:
        """Nearest other rows of each distinct row, and their distances: (m, k + 1) each."""
        return self._ids, self._distances

    def factor(self, points: ArrayLike) -> Floats:
        """Local outlier factor of points: about 1 among the rows, larger for outliers.

        A point that equals a fitted row in every coordinate is compared with the other rows only,
        as if the factor were fitted without that row; of several equal rows, one is left out.
        Other points get the factor of scikit-learn, except for ties of distances.

        Parameters
        ----------
        points : (n, d)

        Returns
        -------
        (n,) float64
            nan where a value of the point is not a finite number.
        """
        places = np.asarray(points, dtype=np.float64)
        if places.ndim != 2 or places.shape[1] != self._rows.values.shape[1]:
            raise InvalidInput(
                f"FittedOutliers takes points of shape (n, {self._rows.values.shape[1]}), with the "
                f"columns that it was fitted on. Got shape {places.shape}."
            )
        factors = np.full(len(places), np.nan)
        own = self._rows.find(places)
        new = np.flatnonzero((own < 0) & (np.abs(places) < HUGE).all(axis=1))
        factors[new] = self._of_new(places[new])
        old, which = np.unique(own[own >= 0], return_inverse=True)
        factors[own >= 0] = self._of_rows(old)[which]
        return factors

    def label(self, points: ArrayLike) -> NDArray[np.int8]:
        """Tell inliers from outliers.

        Parameters
        ----------
        points : (n, d)

        Returns
        -------
        (n,) int8
            +1 for inliers, -1 for outliers, 0 where there is no factor.
        """
        return self.label_of(self.factor(points))

    def label_of(self, factors: Floats) -> NDArray[np.int8]:
        """Tell inliers from outliers by their factors: +1, -1, or 0 for nan."""
        labels = np.where(-factors - self.offset < 0, -1, 1)
        return np.where(np.isnan(factors), 0, labels).astype(np.int8)

    @cached_property
    def arrays(self) -> lof.Rows:
        """The rows as kernels take them, with the factor of each among the others."""
        own = self._of_rows(np.arange(len(self._rows.values)))
        return self._arrays(np.repeat(own, self._rows.copies))

    def _arrays(self, own: Floats) -> lof.Rows:
        from robx.kernels import lof  # noqa: PLC0415 - takes long to load

        return lof.Rows(*self._copied, own, self._all_k, TINY)

    def _of_new(self, points: Floats) -> Floats:
        """Compare points that are not fitted rows with all rows."""
        from robx.kernels import lof  # noqa: PLC0415 - takes long to load

        out, rows = np.empty(len(points)), self._arrays(np.zeros(len(self._copied[0])))

        def run(part: slice) -> None:
            lof.factors(points[part], rows, out[part])

        in_threads(run, len(points), AT_ONCE)
        return out

    def _of_rows(self, own: Ints) -> Floats:
        """Compare fitted rows with the others, some at a time; those that were before, no more."""
        new, size = own[np.isnan(self._of_each[own])], max(1, CELLS // self._other_k**2)
        for first in range(0, len(new), size):
            some = new[first : first + size]
            self._of_each[some] = self._of_row(some)
        return self._of_each[own]

    def _of_row(self, own: Ints) -> Floats:
        """Compare fitted rows with the others: with every list as without one copy of `own`."""
        k = self._other_k
        near, far = self._ids[own, :k], self._distances[own, :k]  # (n, k)
        lists = self._ids[near]  # (n, k, k + 1), one too many
        kept = _without(lists, own[:, None, None])
        second = np.take_along_axis(lists, kept, axis=-1)
        second_far = np.take_along_axis(self._distances[near], kept, axis=-1)
        has_own = self._is_near(second, own[:, None, None])
        second_reach = np.where(has_own, self._distances[second, k], self._distances[second, k - 1])
        densities = _density(np.maximum(second_far, second_reach))
        density = _density(np.maximum(far, second_far[..., -1]))
        return np.asarray((densities / density[:, None]).mean(axis=1))

    def _is_near(self, rows: Ints, other: Ints) -> NDArray[np.bool_]:
        """Whether each row has the other among its nearest."""
        keys = rows * len(self._rows.values) + other
        found = np.searchsorted(self._pairs, keys)
        return np.asarray(self._pairs[np.minimum(found, len(self._pairs) - 1)] == keys)


class _DistinctRows:
    """Distinct rows in order of their coordinates, and how often each occurs."""

    def __init__(self, rows: Floats) -> None:
        # Adding zero turns -0.0 into 0.0.
        self.values, self.copies = np.unique(rows + 0.0, axis=0, return_counts=True)
        self._index = {row.tobytes(): i for i, row in enumerate(self.values)}

    def find(self, points: Floats) -> Ints:
        """Row that each point equals, or -1: (n,)."""
        found = [self._index.get(point.tobytes(), -1) for point in points + 0.0]
        return np.array(found, dtype=np.intp)

    def neighbours(self, k: int) -> tuple[Ints, Floats]:
        """Find the k nearest other rows of each: their numbers and distances, (n, k) each.

        Copies count one by one, without one copy of the row itself. Rows at the same distance come
        in order of their numbers.
        """
        from robx.kernels import nearest  # noqa: PLC0415 - takes long to load

        (n, d), numbers = self.values.shape, np.repeat(np.arange(len(self.values)), self.copies)
        unit, none = np.ones(d), np.zeros(d, dtype=bool)  # columns of labels, and of gaps to fill
        tree = nearest.build(self.values[numbers], unit, none, nearest.LEAF_SIZE)
        skip, start = np.zeros(len(numbers), dtype=bool), np.full(n, -1)
        found, raw = np.empty((n, k + 1), dtype=np.int64), np.empty((n, k + 1))

        def run(part: slice) -> None:
            points, begin = self.values[part], start[part]
            anywhere = np.full(points.shape, np.inf)
            options: tuple[Any, ...] = (-anywhere, anywhere, none, unit, 2, skip)
            pages: tuple[Any, ...] = (begin.astype(np.float64), begin, found[part], raw[part])
            nearest.query(*tree, unit, none, points, *options, *pages)

        in_threads(run, n, AT_ONCE)
        ids = numbers[found]
        kept = _without(ids, np.arange(n)[:, None])
        return np.take_along_axis(ids, kept, 1), np.sqrt(np.take_along_axis(raw, kept, 1))


def _check_neighbours(known: Neighbours, n: int, k: int) -> None:
    """Refuse neighbours that are not those of n rows: a file may say anything."""
    ids, distances = known
    sound = ids.shape == distances.shape == (n, k) and ids.dtype == np.intp
    if not sound or ids.min() < 0 or ids.max() >= n or not (distances >= 0).all():
        raise InvalidInput(
            f"The neighbours of {n} rows must be {k} rows each, with their distances. Got arrays "
            f"of shape {ids.shape} and {distances.shape}."
        )


def _without(lists: Ints, own: Ints) -> Ints:
    """Positions of all but one in lists, (..., k + 1): without `own`, or else without the last."""
    k, is_own = lists.shape[-1] - 1, lists == own
    dropped = np.where(is_own.any(axis=-1), is_own.argmax(axis=-1), k)
    return np.asarray(np.arange(k) + (np.arange(k) >= dropped[..., None]))


def _density(reach: Floats) -> Floats:
    """Local reachability density, from reachability distances of the neighbours: (..., k)."""
    return np.asarray(1.0 / (reach.mean(axis=-1) + TINY))
