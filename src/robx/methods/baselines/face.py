"""FACE: the accepted row that is reached by the shortest path through dense data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from robx.answers import Status
from robx.arrays import Bools, Floats, Ints, same_rows
from robx.errors import InvalidInput
from robx.methods.base import Method, check_gamma
from robx.methods.baselines.graph import Graph, Neighbourhood
from robx.methods.baselines.kernels import paths
from robx.methods.neighbours import why_none
from robx.parallel import in_threads
from robx.parameters import check_number, check_whole
from robx.problem import Applicants, Problem, Refusal, SearchResult

#: Ends that are looked at first where rows must be made to fit, and by how much more next.
FIRST_TRIES, MORE_TRIES = 16, 8


@dataclass(frozen=True, kw_only=True)
class Face(Method):
    """The accepted row that is reached by the shortest path through the data.

    FACE, by Poyiadzi et al. (2020). The training rows, accepted or not, are the nodes of a graph in
    which near rows are joined. Applicants join it by edges to the rows near them, and follow the
    shortest path to a row that is accepted and lies where the data are dense. ``answer.paths``
    holds the paths.

    FACE makes an edge as long as ``f(p) * distance``, with p the density there and f falling. Here
    p is the estimate from the distance r to the k-th neighbour, ``p = k / (n * volume * r**d)``,
    and ``f(p) = p ** (-1 / d)``, which is r up to a factor, in any number of columns d. With
    ``rho = r / median of r``, at least 0.1, the mean over both ends is taken::

        distance * (rho_i + rho_j) / 2

    so that an edge between rows of the usual density is as long as they are apart. Equal rows are
    one node; their number counts for the density. Neighbours are near in the values that both rows
    have; a value that only one of them has then costs as much as filling it in.

    Every row is adapted to the applicant: what they cannot change is kept, and the rest is brought
    onto allowed values. The model decides about the adapted row at the end of the path. Rows on the
    way need not be accepted; those that change nothing, or would break a relation, are not shown.

    Parameters
    ----------
    norm : {1, 2}
    graph : {"knn", "radius"}
        Whether rows are joined if one is among the other's nearest, or if they are within a radius.
    n_neighbours : int
        Number of nearest rows that a row is joined to, and k of the density.
    radius : float, optional
        For the graph "radius", in units of cost. Unless given, it is chosen so that 9 of 10 rows
        have `n_neighbours` within it; ``answer.settings["radius"]`` tells it.
    max_neighbours : int
        For the graph "radius": maximum number of rows within the radius that a row is joined to,
        the nearest first. A row is also joined to rows that choose it.
    min_density : float
        Share of the rows, those where the data are sparsest, that cannot be answers.
    gamma : float, optional
        Require scores above this instead of the problem's threshold, if it is higher.
    max_tries : int
        Maximum number of accepted rows to try for each applicant. Only applicants for whom rows
        must be adapted need more than one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from robx import Problem
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0], [3.0, 1.0], [4.0, 1.0]])
    >>> tree = DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1])
    >>> answer = Face(n_neighbours=1).explain(Problem(tree, X), X[:1])
    >>> answer.paths[0]
    array([[0., 0.],
           [1., 1.],
           [2., 1.],
           [3., 1.]])

    References
    ----------
    Poyiadzi, Sokol, Santos-Rodriguez, De Bie, Flach: FACE: Feasible and Actionable Counterfactual
    Explanations, AIES 2020.
    """

    graph: Literal["knn", "radius"] = "knn"
    n_neighbours: int = 10
    radius: float | None = None
    max_neighbours: int = 50
    min_density: float = 0.05
    gamma: float | None = None
    max_tries: int = 10_000

    def check(self, problem: Problem, n_applicants: int) -> None:
        """See `Method.check`."""
        super().check(problem, n_applicants)
        if self.graph not in {"knn", "radius"}:
            raise InvalidInput(
                f"The 'graph' parameter of Face must be 'knn' or 'radius'. Got {self.graph!r} "
                "instead."
            )
        for name in ("n_neighbours", "max_neighbours", "max_tries"):
            check_whole(getattr(self, name), name, "Face")
        if self.radius is not None:
            check_number(self.radius, "radius", "Face", above=0)
        check_number(self.min_density, "min_density", "Face", least=0, below=1)
        check_gamma(self.gamma, "Face")

    def search(
        self, problem: Problem, applicants: Applicants, rows: NDArray[np.intp]
    ) -> SearchResult:
        """See `Method.search`."""
        found = SearchResult.nothing(applicants)
        found.paths = [person[None] for person in applicants.matrix]
        graph = Graph.of(problem, self.norm, self._neighbourhood())
        if self.graph == "radius":
            found.notes = {"radius": graph.radius}
        goal = self._goal(problem, graph)
        if goal.n_ends == 0:
            for i in range(len(applicants)):
                found.refuse(i, *self._no_goal(problem, applicants, i, graph))
            return found
        near, weight = graph.join(applicants)
        plain = graph.is_plain_for(applicants)
        self._follow(graph, goal, near, weight, np.flatnonzero(plain), found)
        self._seek(problem, applicants, goal, near, weight, np.flatnonzero(~plain), found)
        for i in np.flatnonzero((near < 0).all(axis=1)).tolist():
            reason = f"no row is within the radius, {graph.radius:.4g}"
            found.refuse(i, Status.NOT_FOUND, reason)
        return found

    def _neighbourhood(self) -> Neighbourhood:
        if self.graph == "knn":  # the others do not matter: one graph for all
            return Neighbourhood("knn", self.n_neighbours, None, 0)
        return Neighbourhood("radius", self.n_neighbours, self.radius, self.max_neighbours)

    def _goal(self, problem: Problem, graph: Graph) -> _Goal:
        """Which nodes are answers; kept for everybody."""
        cutoff = problem.gate.cutoff(self.gamma)

        def make() -> _Goal:
            return _Goal(graph, (graph.rows.score > cutoff) & graph.is_dense(self.min_density))

        key = ("goal", self.norm, self._neighbourhood(), cutoff, self.min_density)
        made: _Goal = problem.memo.get(key, make)
        return made

    def _follow(
        self, graph: Graph, goal: _Goal, near: Ints, weight: Floats, some: Ints, found: SearchResult
    ) -> None:
        """Lead those for whom rows are answers as they are; the paths are known from every node."""
        if len(some) == 0:
            return
        assert found.paths is not None  # noqa: S101 - for the type checker
        reach, before = goal.ways
        there = near[some] >= 0
        total = np.where(there, weight[some] + reach[near[some]], np.inf)
        best = total.argmin(axis=1)
        for i, place, length in zip(some, best, total.min(axis=1), strict=True):
            if length == np.inf:
                reason = f"no accepted row can be reached: {self._parts(graph)}"
                found.refuse(i, Status.NOT_FOUND, reason)
                continue
            nodes = [int(near[i, place])]
            while before[nodes[-1]] >= 0:
                nodes.append(int(before[nodes[-1]]))
            found.answer(i, graph.rows.rows[nodes[-1]])
            found.paths[i] = _without_pauses(found.paths[i], graph.rows.rows[nodes])

    def _seek(
        self,
        problem: Problem,
        applicants: Applicants,
        goal: _Goal,
        near: Ints,
        weight: Floats,
        some: Ints,
        found: SearchResult,
    ) -> None:
        """Lead those for whom rows must be made to fit: each looks through its own ends."""
        most = min(self.max_tries, goal.n_ends)
        n_wanted, n_seen = min(FIRST_TRIES, most), 0
        waiting = some
        while len(waiting):
            ways = _ways(goal, near[waiting], weight[waiting], n_wanted)
            tried = [way.ends[n_seen:] for way in ways]
            chosen = self._first_accepted(problem, applicants.take(waiting), goal.graph, tried)
            left = []
            for k, i in enumerate(waiting):
                if chosen[k] >= 0:
                    self._arrive(
                        problem, applicants, goal, i, ways[k].path(n_seen + chosen[k]), found
                    )
                elif len(ways[k].ends) < n_wanted or n_wanted == most:
                    reason = self._in_vain(problem, applicants, i, goal, len(ways[k].ends))
                    found.refuse(i, *reason)
                else:
                    left.append(i)
            waiting = np.array(left, dtype=np.int64)
            n_seen, n_wanted = n_wanted, min(MORE_TRIES * n_wanted, most)

    def _first_accepted(
        self, problem: Problem, applicants: Applicants, graph: Graph, ends: list[Ints]
    ) -> list[int]:
        """Tell for each applicant which end is the first accepted once adapted; -1 for none."""
        owner = np.repeat(np.arange(len(ends)), [len(e) for e in ends])
        place = np.concatenate([np.arange(len(e)) for e in ends])
        node = np.concatenate(ends)
        wanted = graph.rows.rows[node]
        points, legal = problem.gate.admit(wanted, applicants, owner)
        accepted = legal & ~same_rows(points, applicants.matrix[owner])
        unknown = accepted & ~same_rows(points, wanted)
        accepted[unknown] = problem.gate.score(points[unknown]) > problem.gate.cutoff(self.gamma)
        chosen = [-1] * len(ends)
        for k in np.flatnonzero(accepted)[::-1]:
            chosen[owner[k]] = int(place[k])
        return chosen

    def _arrive(
        self,
        problem: Problem,
        applicants: Applicants,
        goal: _Goal,
        i: int,
        nodes: Ints,
        found: SearchResult,
    ) -> None:
        """Record the answer at the end of a path, and the path."""
        assert found.paths is not None  # noqa: S101 - for the type checker
        rows = goal.graph.rows.rows[nodes]
        points, shown = problem.gate.admit(rows, applicants, np.full(len(rows), i))
        shown[-1] = True
        found.answer(i, points[-1])
        found.paths[i] = _without_pauses(found.paths[i], points[shown])

    # --- why there is no answer -------------------------------------------------------------------

    def _no_goal(self, problem: Problem, applicants: Applicants, i: int, graph: Graph) -> Refusal:
        cutoff = problem.gate.cutoff(self.gamma)
        if (graph.rows.score > cutoff).any():
            reason = "no accepted row lies where the data are dense enough; lower min_density"
            return Refusal(Status.NOT_FOUND, reason)
        return why_none(problem, applicants, i, cutoff)

    def _parts(self, graph: Graph) -> str:
        what = "n_neighbours" if self.graph == "knn" else "the radius"
        return f"the graph has {graph.n_parts} parts; raise {what}"

    def _in_vain(
        self, problem: Problem, applicants: Applicants, i: int, goal: _Goal, n_tried: int
    ) -> Refusal:
        """Say why none of the ends that were tried is an answer."""
        if n_tried == 0:
            reason = f"no accepted row can be reached: {self._parts(goal.graph)}"
            return Refusal(Status.NOT_FOUND, reason)
        if n_tried == goal.n_ends:
            return why_none(problem, applicants, i, problem.gate.cutoff(self.gamma))
        if n_tried >= self.max_tries:
            reason = f"none of the {n_tried} accepted rows that were tried is accepted once adapted"
            return Refusal(Status.BUDGET, reason)
        reason = f"none of the {n_tried} accepted rows within reach is accepted once adapted"
        return Refusal(Status.NOT_FOUND, f"{reason}: {self._parts(goal.graph)}")


@dataclass(frozen=True, eq=False)
class _Goal:
    """Nodes of a graph that are answers, and the shortest ways there."""

    graph: Graph
    is_end: Bools

    @cached_property
    def n_ends(self) -> int:
        """Number of nodes that are answers."""
        return int(self.is_end.sum())

    @cached_property
    def ways(self) -> tuple[Floats, Ints]:
        """Length of the way from each node to the answer nearest to it, and the next node on it.

        Edges lead both ways, so one search from all answers together finds the ways of everybody.
        """
        graph, ends = self.graph, np.flatnonzero(self.is_end)
        return paths.spread(graph.first, graph.near, graph.weight, ends)


@dataclass(frozen=True, eq=False)
class _Ways:
    """Shortest paths from one applicant to several ends, the shortest first."""

    length: Floats
    stop: Ints
    nodes: Ints

    @cached_property
    def ends(self) -> Ints:
        """Where each path ends."""
        return np.asarray(self.nodes[self.stop[1:] - 1])

    def path(self, k: int) -> Ints:
        """The nodes of path k."""
        return np.asarray(self.nodes[self.stop[k] : self.stop[k + 1]])


def _ways(goal: _Goal, near: Ints, weight: Floats, n_wanted: int) -> list[_Ways]:
    """Find for each applicant the nearest ends, from the edges by which they join the graph."""
    graph = goal.graph
    out: dict[int, _Ways] = {}

    def run(part: slice) -> None:
        for i in range(part.start, part.stop):
            there = near[i] >= 0
            edges = (graph.first, graph.near, graph.weight, near[i][there], weight[i][there])
            out[i] = _Ways(*paths.search(*edges, goal.is_end, n_wanted))

    in_threads(run, len(near), 1)
    return [out[i] for i in range(len(near))]


def _without_pauses(start: Floats, points: Floats) -> Floats:
    """Put a path together, without steps that change nothing."""
    path = np.concatenate([start[:1], points])
    return np.asarray(path[np.concatenate([[True], ~same_rows(path[1:], path[:-1])])])
