"""Finding the support rows that lie nearest to an applicant.

A support row is seen as it would look for the applicant: a number stops at the edge of what is
allowed, a label that is not allowed is not taken, a value that the row lacks stays as it is. The
distance is measured to that adapted row and so differs from one applicant to the next; but it is
still made of one cost for each column, and a k-d tree over the rows as they are serves all.

The tree
--------
Nodes stand in preorder: the left child of node ``i`` is ``i + 1``, the right one ``right[i]``, or
0 at a leaf. Node ``i`` holds the rows ``order[start[i] : stop[i]]``, which ascend within a leaf;
the lowest is ``least[i]``. ``box[i, j]`` is the smallest and the largest value of column j; both
are NaN where one of its rows lacks the value, for then nothing can be said: every comparison with
them is false. ``cells`` holds the values again, leaf by leaf and within a leaf column by column, so
that a leaf is read in one go and its rows are measured side by side.

Raw distances
-------------
Distances are given raw: the sum of the costs for norm 1, the sum of their squares for norm 2, of
which callers take the root. A raw distance and a row number are a place in the order of all rows,
exactly; after the root, two places could look the same.

Nothing is lost to rounding. Costs of rows and bounds of nodes are summed over the same columns in
the same order by the same operations, and rounding keeps order: to the last bit, a bound is never
above the raw distance of a row below the node. So a node can be left out as soon as it can at best
tie with the last row kept and all its row numbers are higher. Ties are common: where little may
change, many adapted rows are equal.
"""

from __future__ import annotations

import numpy as np

from robx.arrays import AnyFloats, AnyInts, Bools
from robx.kernels.compiling import njit

Tree = tuple[AnyInts, AnyFloats, AnyInts, AnyInts, AnyInts, AnyInts, AnyFloats]

LEAF_SIZE = 128  # fastest on a million rows like HELOC; 64 and 256 are 10 to 15% slower

NUMBER, LABEL, FILL = range(3)


# --- building ------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _survey(
    rows: AnyFloats, members: AnyInts, centre: AnyFloats, box: AnyFloats, moments: AnyFloats
) -> None:
    """Write the range of each column, and the moments of its known values about the centre."""
    box[:, 0], box[:, 1] = np.inf, -np.inf
    moments[:] = 0.0
    for i in members:
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value == value:
                away = value - centre[j]
                moments[0, j] += 1.0
                moments[1, j] += away
                moments[2, j] += away * away
                if value < box[j, 0]:
                    box[j, 0] = value
                if value > box[j, 1]:
                    box[j, 1] = value


@njit(nogil=True, cache=True)
def _widest(box: AnyFloats, moments: AnyFloats, unit: AnyFloats, label: Bools) -> int:
    """Column in which the rows differ most, by their squared costs; -1 if they differ in none.

    The variance does better than the range, which a single row far out can stretch.
    """
    best, widest = -1, 0.0
    for j in range(unit.shape[0]):
        if box[j, 0] < box[j, 1]:
            known = moments[0, j]
            square = moments[2, j] - moments[1, j] * moments[1, j] / known
            if label[j]:  # codes are not quantities: at most two equal halves
                square = min(square, 0.25 * known)
            if square * unit[j] * unit[j] > widest:
                best, widest = j, square * unit[j] * unit[j]
    return best


@njit(nogil=True, cache=True)
def _divide(
    rows: AnyFloats, members: AnyInts, j: int, all_known: bool, cut: float, spare: AnyInts
) -> int:
    """Bring the rows that go left to the front, keeping the order on both sides.

    Left go values below the cut, or known values as long as some are missing. Returns how many.
    """
    left, right = 0, 0
    for i in members:  # what is written to the front has been read
        value = rows[i, j]
        if value < cut if all_known else value == value:
            members[left] = i
            left += 1
        else:
            spare[right] = i
            right += 1
    members[left:] = spare[:right]
    return left


@njit(nogil=True, cache=True)
def build(rows: AnyFloats, unit: AnyFloats, label: Bools, leaf_size: int) -> Tree:
    """Build the tree.

    Parameters
    ----------
    rows : (n, d) float64
        The support rows; NaN where a value is missing, never infinite.
    unit : (d,) float64
        Cost of moving by 1 in a column of numbers, or of any change of a label.
    label : (d,) bool
        Columns of category codes.
    leaf_size : int
        Largest number of rows in a leaf, at least 1.

    Returns
    -------
    order : (n,) int64
        Row numbers, leaf by leaf.
    cells : (n * d,) float64
        Values, leaf by leaf, then column by column.
    start, stop, least, right : (N,) int64
        Each node's part of the order, its lowest row number, and its right child.
    box : (N, d, 2) float64
        Range of each column in each node.
    """
    n, d = rows.shape
    order, spare, cells = np.arange(n), np.empty(n, np.int64), np.empty(n * d)
    nodes = np.zeros((2 * n + 1, 4), np.int64)
    # Unbalanced trees have more nodes than the first guess.
    box = np.empty((4 * (n // leaf_size) + 1, d, 2))
    centre, moments = np.zeros(d), np.empty((3, d))
    for j in range(d):
        for i in range(n):
            if rows[i, j] == rows[i, j]:
                centre[j] = rows[i, j]
                break
    waiting = np.empty((n + 1, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 0, n, -1
    depth, node = 1, 0
    while depth > 0:
        depth -= 1
        first, last, parent = waiting[depth]
        members, count = order[first:last], last - first
        if node == box.shape[0]:
            box = np.concatenate((box, np.empty_like(box)))
        if parent >= 0:
            nodes[parent, 3] = node
        nodes[node, 0], nodes[node, 1] = first, last
        nodes[node, 2] = members[0] if count > 0 else 0
        _survey(rows, members, centre, box[node], moments)
        if count > leaf_size:
            j, left = _widest(box[node], moments, unit, label), count // 2
            if j >= 0:
                cut = centre[j] + moments[1, j] / moments[0, j]
                # The mean may round to the smallest value, and then nothing is below it.
                cut = cut if box[node, j, 0] < cut <= box[node, j, 1] else box[node, j, 1]
                left = _divide(rows, members, j, moments[0, j] == count, cut, spare)
            waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = first + left, last, node
            depth += 1
            waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = first, first + left, -1
            depth += 1
        for j in range(d):
            if count <= leaf_size:
                column = cells[first * d + j * count : first * d + (j + 1) * count]
                for i in range(count):
                    column[i] = rows[members[i], j]
            if moments[0, j] < count:
                box[node, j] = np.nan
        node += 1
    start, stop = nodes[:node, 0].copy(), nodes[:node, 1].copy()
    least, right = nodes[:node, 2].copy(), nodes[:node, 3].copy()
    return order, cells, start, stop, least, right, box[:node].copy()


# --- measuring -----------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _terms(
    q: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    may_fill: Bools,
    fill_cost: AnyFloats,
    unit: AnyFloats,
    label: Bools,
    column: AnyInts,
    kind: AnyInts,
    term: AnyFloats,
) -> int:
    """List the columns that can cost something, with value, limits and unit; their number."""
    count = 0
    for j in range(q.shape[0]):
        cost = unit[j]
        if q[j] != q[j]:
            kind[count] = FILL
            cost = fill_cost[j] if may_fill[j] else 0.0
        elif label[j]:
            kind[count] = LABEL
        else:
            kind[count] = NUMBER
            if low[j] == q[j] and high[j] == q[j]:
                cost = 0.0
        column[count] = j
        term[count, 0], term[count, 1], term[count, 2], term[count, 3] = q[j], low[j], high[j], cost
        count += cost > 0
    return count


@njit(nogil=True, cache=True)
def _bound(
    box: AnyFloats,
    column: AnyInts,
    kind: AnyInts,
    term: AnyFloats,
    count: int,
    norm: int,
    limit: float,
) -> float:
    """Least raw distance that a row in a box can have; any value above the limit is as good."""
    total = 0.0
    for t in range(count):
        smallest, largest = box[column[t], 0], box[column[t], 1]
        q, low, high, unit = term[t, 0], term[t, 1], term[t, 2], term[t, 3]
        cost = 0.0
        if kind[t] == NUMBER:
            smallest = low if smallest < low else smallest
            smallest = high if smallest > high else smallest
            largest = low if largest < low else largest
            largest = high if largest > high else largest
            above, below = smallest - q, q - largest
            away = above if above > below else below
            if away > 0:
                cost = away * unit
        elif kind[t] == LABEL:
            if low <= smallest and largest <= high and (q < smallest or q > largest):
                cost = unit
        elif smallest == smallest:
            cost = unit
        total += cost * cost if norm == 2 else cost
        if total > limit:
            break
    return total


@njit(nogil=True, cache=True)
def _measure(
    cells: AnyFloats,
    size: int,
    column: AnyInts,
    kind: AnyInts,
    term: AnyFloats,
    count: int,
    norm: int,
    limit: float,
    total: AnyFloats,
) -> bool:
    """Write the raw distances of a leaf's rows; False as soon as all are above the limit.

    The loops over rows have no branches, so that they become vector instructions.
    """
    total[:size] = 0.0
    for t in range(count):
        values = cells[column[t] * size : (column[t] + 1) * size]
        q, low, high, unit = term[t, 0], term[t, 1], term[t, 2], term[t, 3]
        change = unit * unit if norm == 2 else unit
        if kind[t] == NUMBER:
            for i in range(size):
                value = values[i]
                value = low if value < low else value
                value = high if value > high else value
                cost = abs(value - q) * unit
                cost = cost * cost if norm == 2 else cost
                total[i] += cost if cost == cost else 0.0
        elif kind[t] == LABEL:
            for i in range(size):
                value = values[i]
                changed = (value != q) & (value >= low) & (value <= high)
                total[i] += change if changed else 0.0
        else:
            for i in range(size):
                total[i] += change if values[i] == values[i] else 0.0
        if t % 4 == 3:
            near = 0
            for i in range(size):
                near += total[i] <= limit
            if near == 0:
                return False
    return True


# --- asking --------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _precedes(raw: float, row: int, other_raw: float, other_row: int) -> bool:
    return raw < other_raw or (raw == other_raw and row < other_row)


@njit(nogil=True, cache=True)
def _replace(kept_raw: AnyFloats, kept_row: AnyInts, size: int, raw: float, row: int) -> None:
    """Put a row in place of the last of those kept, which stands on top of their heap."""
    at, child = 0, 1
    while child < size:
        if child + 1 < size and _precedes(
            kept_raw[child], kept_row[child], kept_raw[child + 1], kept_row[child + 1]
        ):
            child += 1
        if not _precedes(raw, row, kept_raw[child], kept_row[child]):
            break
        kept_raw[at], kept_row[at] = kept_raw[child], kept_row[child]
        at, child = child, 2 * child + 1
    kept_raw[at], kept_row[at] = raw, row


@njit(nogil=True, cache=True)
def _sort(kept_raw: AnyFloats, kept_row: AnyInts) -> None:
    """Bring a heap into order."""
    for size in range(kept_raw.shape[0] - 1, 0, -1):
        raw, row = kept_raw[size], kept_row[size]
        kept_raw[size], kept_row[size] = kept_raw[0], kept_row[0]
        _replace(kept_raw, kept_row, size, raw, row)


@njit(nogil=True, cache=True)
def query(
    order: AnyInts,
    cells: AnyFloats,
    start: AnyInts,
    stop: AnyInts,
    least: AnyInts,
    right: AnyInts,
    box: AnyFloats,
    unit: AnyFloats,
    label: Bools,
    q: AnyFloats,
    low: AnyFloats,
    high: AnyFloats,
    may_fill: Bools,
    fill_cost: AnyFloats,
    norm: int,
    skip: Bools,
    after_raw: AnyFloats,
    after_row: AnyInts,
    out_row: AnyInts,
    out_raw: AnyFloats,
) -> None:
    """Find the k nearest adapted rows of each applicant, by raw distance and then row number.

    Parameters
    ----------
    order, cells, start, stop, least, right, box
        The tree from `build`.
    unit, label : (d,)
        As the tree was built with.
    q : (m, d) float64
        The applicants; NaN where a value is missing.
    low, high : (m, d) float64
        What each may move to; possibly infinite. The applicant need not lie inside.
    may_fill : (d,) bool
        Columns in which a missing value may be filled in from a support row.
    fill_cost : (d,) float64
        What that costs, at least 0.
    norm : int
        1 or 2.
    skip : (n,) bool or uint8
        Rows to leave out.
    after_raw : (m,) float64
    after_row : (m,) int64
        Only rows after this place in the order are given: the last one of the page before, or
        (-1, -1) to begin.
    out_row : (m, k) int64
        Receives the row numbers; -1 where there are no more.
    out_raw : (m, k) float64
        Receives their raw distances; infinite where there are no more.
    """
    n, d, k = order.shape[0], q.shape[1], out_row.shape[1]
    if n == 0 or k == 0:
        out_row[:], out_raw[:] = -1, np.inf
        return
    # One more than d: a column that costs nothing is written, and then written over.
    column, kind = np.empty(d + 1, np.int64), np.empty(d + 1, np.int64)
    term, total = np.empty((d + 1, 4)), np.empty(n)
    waiting, waiting_raw = np.empty(right.shape[0], np.int64), np.empty(right.shape[0])
    for i in range(q.shape[0]):
        kept_raw, kept_row = out_raw[i], out_row[i]
        kept_raw[:], kept_row[:] = np.inf, n
        count = _terms(q[i], low[i], high[i], may_fill, fill_cost, unit, label, column, kind, term)
        waiting[0], waiting_raw[0], depth = 0, 0.0, 1
        while depth > 0:
            depth -= 1
            node, raw = waiting[depth], waiting_raw[depth]
            while _precedes(raw, least[node], kept_raw[0], kept_row[0]) and right[node] > 0:
                near, far = node + 1, right[node]
                raw = _bound(box[near], column, kind, term, count, norm, kept_raw[0])
                far_raw = _bound(box[far], column, kind, term, count, norm, kept_raw[0])
                if _precedes(far_raw, least[far], raw, least[near]):
                    near, far, raw, far_raw = far, near, far_raw, raw
                if far_raw <= kept_raw[0]:
                    waiting[depth], waiting_raw[depth] = far, far_raw
                    depth += 1
                node = near
            if not _precedes(raw, least[node], kept_raw[0], kept_row[0]):
                continue
            first, size = start[node], stop[node] - start[node]
            leaf = cells[first * d : stop[node] * d]
            if not _measure(leaf, size, column, kind, term, count, norm, kept_raw[0], total):
                continue
            for r in range(size):
                if total[r] <= kept_raw[0]:
                    row = order[first + r]
                    if (
                        _precedes(total[r], row, kept_raw[0], kept_row[0])
                        and _precedes(after_raw[i], after_row[i], total[r], row)
                        and not skip[row]
                    ):
                        _replace(kept_raw, kept_row, k, total[r], row)
        _sort(kept_raw, kept_row)
        for r in range(k):
            if kept_row[r] == n:
                kept_row[r] = -1
