"""The support: training rows that the model accepts, and which of them are near."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robx.arrays import Floats, Ints
from robx.kernels import nearest
from robx.parallel import in_threads
from robx.problem.applicants import Applicants
from robx.problem.gate import Gate
from robx.schema import Norm


class Support:
    """Accepted training rows, indexed for nearest-neighbour search.

    Distances are to a row *as it would look for the applicant*: what they cannot change is kept,
    a change stops at its bounds, what they lack stays missing.

    Parameters
    ----------
    rows : (n, d) float64
    score : (n,) float64
    gate : Gate
    """

    def __init__(self, rows: Floats, score: Floats, gate: Gate) -> None:
        self.rows = rows
        self.score = score
        self.gate, self.rules = gate, gate.rules
        self._trees: dict[Norm, nearest.Tree] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every row, as it is, is an allowed answer for all who miss no values."""
        return self.gate.is_open_for(self.rows)

    def near(
        self,
        points: Floats,
        people: Applicants,
        norm: Norm,
        k: int,
        skip: NDArray[np.bool_] | None = None,
        after: tuple[Floats, Ints] | None = None,
    ) -> tuple[Ints, Floats]:
        """Find for each point the k nearest rows, each made to fit the applicant.

        Parameters
        ----------
        points : (m, d) float64
            Where to look: the applicants themselves, or counterfactuals of theirs.
        people : m Applicants
        norm : {1, 2}
        k : int
        skip : (n,) bool, optional
            Rows to leave out.
        after : (m,) float64 and (m,) int64, optional
            Go on after these distances and rows, which an earlier call gave last.

        Returns
        -------
        rows : (m, k) int64
            Places in `rows`, nearest first; -1 where there are no more.
        distance : (m, k) float64
            Comparable between calls of one norm; squared in L2.
        """
        tree = self.tree(norm)
        m = len(points)
        rows, distance = np.empty((m, k), dtype=np.int64), np.empty((m, k))
        after_raw, after_row = after or (np.full(m, -1.0), np.full(m, -1, dtype=np.int64))
        left_out = np.zeros(len(self), dtype=bool) if skip is None else skip
        # Who is outside of a range may stay there: rows beside them are near.
        low, high = np.fmin(people.low, people.matrix), np.fmax(people.high, people.matrix)

        def run(part: slice) -> None:
            nearest.query(
                *tree,
                self.rules.unit(norm),
                self.rules.is_label,
                points[part],
                low[part],
                high[part],
                self.rules.may_fill,
                self.rules.fill_cost,
                norm,
                left_out,
                after_raw[part],
                after_row[part],
                rows[part],
                distance[part],
            )

        in_threads(run, m, 32)
        return rows, distance

    def tree(self, norm: Norm) -> nearest.Tree:
        """The index of the rows in a norm, made on first use."""
        if norm not in self._trees:
            self._trees[norm] = nearest.build(
                self.rows, self.rules.unit(norm), self.rules.is_label, nearest.LEAF_SIZE
            )
        return self._trees[norm]
