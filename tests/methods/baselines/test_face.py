from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra as scipy_dijkstra
from sklearn.tree import DecisionTreeClassifier

import robx
from contracts import MethodContract, assert_lawful, rows_of
from families import family
from naive_face import SlowGraph, slow_graph
from naive_nearest import Costs
from robx import Problem, Schema, Status
from robx.methods.baselines.face import Face
from robx.methods.baselines.graph import Graph
from robx.methods.baselines.kernels import paths
from robx.problem import Applicants
from strategies import random_schema

Floats = NDArray[np.float64]


class TestFace(MethodContract):
    method = Face()
    n_schemas = 4


@pytest.mark.parametrize("name", ["xgboost", "forest"])
def test_random_schemas_are_kept_in_a_radius_and_l2(name: str) -> None:
    case = family(name)
    method = Face(graph="radius", norm=2, n_neighbours=5)
    n_answers = 0
    for seed in range(4):
        schema = random_schema(case.problem().schema, case.X, np.random.default_rng(seed))
        problem = case.problem(schema=schema)
        answer = method.explain(problem, rows_of(case.applicants, slice(10)))
        assert_lawful(answer, case, problem)
        n_answers += int(answer.ok.sum())
    assert n_answers > 0


# --- against the twin ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Slow:
    """What the twin makes of a problem."""

    problem: Problem
    method: Face
    graph: SlowGraph
    is_end: list[bool]

    @classmethod
    def of(cls, problem: Problem, method: Face) -> Slow:
        rules, table = problem.rules, problem.training
        costs = Costs(rules.unit(method.norm), rules.is_label, rules.may_fill, rules.fill_cost)
        usable = np.isfinite(np.where(np.isnan(table), 0, table)).all(axis=1)
        usable &= rules.keeps(table, table)
        knn = method.graph == "knn"
        graph = slow_graph(
            table[usable],
            costs,
            method.norm,
            method.n_neighbours,
            method.n_neighbours if knn else method.max_neighbours,
            np.inf if knn else method.radius,
        )
        high = problem.gate.score(graph.rows) > problem.gate.cutoff(method.gamma)
        dense = graph.dense(method.min_density)
        return cls(
            problem, method, graph, [bool(h) and d for h, d in zip(high, dense, strict=True)]
        )

    def best(self, people: Applicants, i: int) -> tuple[float, list[Floats]]:
        """Length of the shortest path to an end that can be an answer, and all such answers."""
        x, low, high = people.matrix[i], people.low[i], people.high[i]
        lengths = self.graph.lengths(self.graph.start(x, low, high))
        best, points = np.inf, []
        for node, length in sorted(lengths.items(), key=lambda item: item[1]):
            if not self.is_end[node] or length > best * (1 + 1e-9):
                continue
            row = self.graph.rows[node : node + 1]
            point = self.problem.rules.settle(row, x[None], (low[None], high[None]))
            if (
                self.problem.gate.score(point)[0] > self.problem.gate.cutoff(self.method.gamma)
                and self.problem.rules.changed(point, x[None]).any()
                and self.problem.rules.keeps(point, point)[0]
            ):
                best = min(best, length)
                points.append(point[0])
        return best, points

    def length(self, people: Applicants, i: int, path: Floats) -> float:
        """Length of a path of rows as they are; fails where a step is no edge."""
        x = people.matrix[i]
        nodes = [int(np.flatnonzero((self.graph.rows == step).all(axis=1))[0]) for step in path[1:]]
        start = self.graph.start(x, people.low[i], people.high[i])
        # A row of the table starts from its own node, at no cost, which is not shown.
        own = np.flatnonzero((self.graph.rows == x).all(axis=1))
        total = start.get(nodes[0], np.inf)
        if len(own):
            total = min(
                total, start[int(own[0])] + self.graph.edges[int(own[0])].get(nodes[0], np.inf)
            )
        for a, b in pairwise(nodes):
            total += self.graph.edges[a][b]
        return total


def data(kind: str, seed: int, n: int = 90) -> tuple[Floats, Schema | None]:
    """A small table of one sort, and its schema where it is not to be guessed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if kind == "duplicates":
        X = X[rng.integers(0, n // 4, n)].round(1)
        X[:15] = X[0]
    if kind == "ties":
        X = rng.integers(0, 4, (n, 3)).astype(float)
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
        X[0] = np.nan, np.nan, 0.1
    if kind == "labels":
        X[:, 1] = rng.integers(0, 4, n)
        levels = [0, 1, 2, 3]
        schema = Schema.infer(X)
        label = robx.Feature(schema.names[1], "categorical", levels=tuple(levels))
        return X, schema.override({schema.names[1]: label})
    return X, None


def tree_problem(X: Floats, schema: Schema | None = None, threshold: float = 0.5) -> Problem:
    weight = np.arange(1, X.shape[1] + 1) / X.shape[1]
    value = np.nan_to_num(X) @ weight
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=3, random_state=0)
    return Problem(tree.fit(X, value > np.median(value)), X, schema, threshold=threshold)


def ways(answer: robx.Counterfactuals) -> tuple[Any, ...]:
    assert answer.paths is not None
    return answer.paths


def declined(problem: Problem, rows: Floats, n: int = 12) -> Floats:
    return rows[problem.read(rows).score <= problem.threshold][:n]


KINDS = ["continuous", "duplicates", "ties", "missing", "labels"]
GRAPHS = [
    Face(n_neighbours=4),
    Face(n_neighbours=2, min_density=0.3),
    Face(graph="radius", n_neighbours=3, max_neighbours=6),
    Face(graph="radius", n_neighbours=5, radius=0.4, max_neighbours=4, min_density=0),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("method", GRAPHS, ids=["knn", "sparse knn", "radius", "given radius"])
def test_the_answer_has_the_shortest_path_by_the_twin(kind: str, norm: Any, method: Face) -> None:
    method = replace(method, norm=norm)
    X, schema = data(kind, seed=3)
    problem = tree_problem(X, schema)
    strangers, _ = data(kind, seed=4)
    table = np.concatenate([declined(problem, X, 8), declined(problem, strangers, 8)])
    slow, people = Slow.of(problem, method), problem.read(table)
    answer = method.explain(problem, table)
    graph = Graph.of(problem, method.norm, method._neighbourhood())
    assert graph.r.tolist() == slow.graph.r
    assert [len(e) for e in slow.graph.edges.values()] == np.diff(graph.first).tolist()
    n_plain = 0
    for i in range(len(table)):
        best, points = slow.best(people, i)
        assert answer.ok[i] == bool(points)
        if not points:
            assert answer.reason[i]
            assert np.array_equal(ways(answer)[i], table[i : i + 1], equal_nan=True)
            continue
        assert any(np.array_equal(answer.points[i], p, equal_nan=True) for p in points)
        assert np.array_equal(ways(answer)[i][0], table[i], equal_nan=True)
        assert np.array_equal(ways(answer)[i][-1], answer.points[i], equal_nan=True)
        if graph.is_plain_for(people)[i]:
            n_plain += 1
            assert slow.length(people, i, ways(answer)[i]) == pytest.approx(best, rel=1e-9)
    assert answer.ok.sum() > 4
    assert n_plain > 4 or kind == "missing"


@pytest.mark.parametrize("method", [Face(n_neighbours=4), Face(graph="radius", n_neighbours=4)])
@pytest.mark.parametrize("seed", range(4))
def test_with_constraints_the_end_is_the_nearest_that_fits(method: Face, seed: int) -> None:
    X, _ = data("continuous", seed)
    guess = Schema.infer(X)
    a, b, _ = guess.names
    schema = guess.override(
        {a: {"change": "increase"}, b: {"change": "none"}}, relations=[f"`{a}` <= `{b}` + 2"]
    )
    problem = tree_problem(X, schema)
    table = declined(problem, X)
    slow, people = Slow.of(problem, method), problem.read(table)
    answer = method.explain(problem, table)
    for i in range(len(table)):
        _, points = slow.best(people, i)
        assert answer.ok[i] == bool(points)
        assert not points or any(np.array_equal(answer.points[i], p) for p in points)
        path = ways(answer)[i]
        assert problem.rules.broken(path[1:], np.repeat(table[i : i + 1], len(path) - 1, 0)) == [
            []
        ] * (len(path) - 1)
    assert answer.ok.any()


def test_both_ways_to_search_agree_where_nothing_is_constrained() -> None:
    X, _ = data("continuous", 0, n=400)
    problem = tree_problem(X)
    table = declined(problem, X, 60)
    usual = Face().explain(problem, table)
    # A range that holds everything constrains nobody, but it is a constraint.
    wide = problem.schema.override({name: {"low": -99, "high": 99} for name in problem.names})
    other = tree_problem(X, wide)
    assert problem.support.is_plain
    assert not other.support.is_plain
    one_by_one = Face().explain(other, table)
    assert usual.ok.all()
    assert np.array_equal(usual.points, one_by_one.points)
    for path, same in zip(ways(usual), ways(one_by_one), strict=True):
        assert np.array_equal(path, same)


def test_the_kernels_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    n = 60
    full = np.where(rng.random((n, n)) < 0.06, rng.integers(1, 9, (n, n)), 0)
    edges = csr_array(np.maximum(full, full.T).astype(float))
    graph = edges.indptr.astype(np.int64), edges.indices.astype(np.int64), edges.data
    is_end = rng.random(n) < 0.3
    reach, before = paths.spread(*graph, np.flatnonzero(is_end))
    expected = scipy_dijkstra(edges, indices=np.flatnonzero(is_end), min_only=True)
    assert np.array_equal(reach, expected)
    assert (before[is_end] == -1).all()
    length, stop, nodes = paths.search(*graph, np.array([3, 7]), np.array([0.5, 2.0]), is_end, n)
    apart = scipy_dijkstra(edges, indices=[3, 7])
    expected = np.minimum(apart[0] + 0.5, apart[1] + 2.0)
    ends = nodes[stop[1:] - 1]
    assert set(ends) == set(np.flatnonzero(is_end & np.isfinite(expected)))
    assert np.array_equal(length, expected[ends])
    assert (np.diff(length) >= 0).all()
    for k in range(len(ends)):
        path = nodes[stop[k] : stop[k + 1]]
        walked = sum(edges[a, b] for a, b in pairwise(path))
        assert walked + {3: 0.5, 7: 2.0}[int(path[0])] == length[k]
    few = paths.search(*graph, np.array([3, 7]), np.array([0.5, 2.0]), is_end, 4)[0]
    assert np.array_equal(few, length[:4])


# --- what it is for ------------------------------------------------------------------------------


def above(limit: float) -> Any:
    """A model that accepts a first column above a limit; its score is that column over ten."""
    return robx.BlackBox(lambda X: np.where(X[:, 0] > limit, np.clip(X[:, 0] / 10, 0.51, 1), 0.1))


def free(d: int = 2) -> Schema:
    return Schema(tuple(robx.Feature(str(j), scale=1.0) for j in range(d)))


def two_routes() -> Floats:
    """A straight line of few points from (0, 0) to (8, 0), and a bow of thick crowds beside it."""
    rng = np.random.default_rng(0)
    sparse = np.stack([np.arange(1.0, 8.0), np.zeros(7)], axis=1)
    bow = np.stack([np.linspace(0, 8, 33), 3 * np.sin(np.linspace(0, np.pi, 33))], axis=1)
    crowd = np.concatenate([bow + 0.02 * rng.normal(size=bow.shape) for _ in range(12)])
    return np.concatenate([[[0.0, 0.0]], sparse, crowd, [[8.0, 0.0]]])


def test_the_way_leads_through_dense_data() -> None:
    X = two_routes()
    problem = Problem(above(7.9), X, free())
    method = Face(norm=2, graph="radius", radius=1.1, n_neighbours=4, max_neighbours=500)
    path = ways(method.explain(problem, X[:1]))[0]
    assert path[:, 1].max() > 2.5
    # By distance alone the straight way is shorter.
    graph = Graph.of(problem, 2, method._neighbourhood())
    i = np.repeat(np.arange(len(graph)), np.diff(graph.first))
    flat = np.linalg.norm(graph.rows.rows[i] - graph.rows.rows[graph.near], axis=1)
    edges = csr_array((flat, graph.near, graph.first))
    _, before, _ = scipy_dijkstra(edges, indices=[0], min_only=True, return_predecessors=True)
    node = int(np.flatnonzero((graph.rows.rows == [8.0, 0.0]).all(axis=1))[0])
    heights = []
    while node >= 0:
        heights.append(graph.rows.rows[node, 1])
        node = int(before[node])
    assert max(heights) < 0.5


def test_a_lone_accepted_row_is_no_answer_unless_asked_for() -> None:
    rng = np.random.default_rng(0)
    there = rng.random((60, 2)) + np.array([1.9, 0.0])
    X = np.concatenate([rng.random((60, 2)), [[1.5, 0.5]], there])
    problem = Problem(above(1.3), X, free())
    applicant = np.array([[1.0, 0.5]])
    near = Face(min_density=0.0).explain(problem, applicant)
    assert near.points.tolist() == [[1.5, 0.5]]
    dense = Face(min_density=0.05).explain(problem, applicant)
    assert dense.ok[0]
    assert dense.points[0, 0] > 1.8


def test_gamma_asks_for_a_higher_score() -> None:
    X = np.stack([np.linspace(0, 10, 101), np.zeros(101)], axis=1)
    problem = Problem(above(5), X, free())
    method = Face(min_density=0)
    assert method.explain(problem, X[:1]).points[0, 0] == pytest.approx(5.1)
    higher = replace(method, gamma=0.8).explain(problem, X[:1])
    assert higher.points[0, 0] == pytest.approx(8.1)
    assert len(ways(higher)[0]) > 5
    assert replace(method, gamma=0.9999).explain(problem, X[:1]).points[0, 0] == 10
    assert Face(gamma=0.8, min_density=0.4).explain(problem, X[:1]).ok[0]


def islands() -> tuple[Problem, Floats]:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((30, 2)), rng.random((30, 2)) + 20])
    return Problem(above(5), X, free()), X


def test_what_cannot_be_reached_is_said() -> None:
    problem, X = islands()
    answer = Face().explain(problem, X[:2])
    assert answer.status.tolist() == [Status.NOT_FOUND] * 2
    assert answer.reason[0] == (
        "no accepted row can be reached: the graph has 2 parts; raise n_neighbours"
    )
    assert all(len(path) == 1 for path in ways(answer))
    assert Face(n_neighbours=30).explain(problem, X[:2]).ok.all()
    fixed = Problem(above(5), X, problem.schema.override({"1": {"change": "none"}}))
    assert Face().explain(fixed, X[:1]).reason == answer.reason[:1]


def test_an_applicant_beyond_the_radius_is_told_so() -> None:
    problem, X = islands()
    answer = Face(graph="radius", radius=0.5).explain(problem, [[0.5, 0.5], [-4.0, 0.5]])
    assert answer.reason[1] == "no row is within the radius, 0.5"
    assert answer.reason[0].endswith("raise the radius")
    assert answer.settings["radius"] == 0.5
    derived = Face(graph="radius").explain(problem, X[:1]).settings["radius"]
    assert 0.1 < derived < 1


def test_no_row_that_can_be_an_answer_is_said() -> None:
    problem, X = islands()
    assert (
        Face(gamma=0.9999).explain(problem, X[:1]).ok[0]
        == (Face(gamma=0.9999, min_density=0).explain(problem, X[:1]).ok[0])
    )
    nobody = Problem(above(50), X, free())
    assert Face().explain(nobody, X[:1]).reason == ("no row of the support scores above 0.5",)
    lone = Problem(above(5), np.concatenate([X[:30], [[9.0, 9.0]]]), free())
    assert Face().explain(lone, X[:1]).reason == (
        "no accepted row lies where the data are dense enough; lower min_density",
    )


def test_what_blocks_everybody_is_named_and_the_budget_is_kept() -> None:
    X = np.stack([np.linspace(0, 10, 101), np.linspace(0, 1, 101)], axis=1)
    schema = free().override({"0": {"change": "none"}})
    problem = Problem(above(5), X, schema)
    answer = Face().explain(problem, X[:1])
    assert answer.status[0] == Status.INFEASIBLE
    assert answer.reason[0] == "no row of the support is accepted once it keeps 0 (fixed)"
    short = Face(max_tries=7).explain(problem, X[:1])
    assert short.status[0] == Status.BUDGET
    assert short.reason[0] == (
        "none of the 7 accepted rows that were tried is accepted once adapted"
    )


def test_many_equal_rows_do_not_cut_the_graph() -> None:
    X = np.repeat(np.stack([np.arange(11.0), np.zeros(11)], axis=1), 30, axis=0)
    answer = Face(n_neighbours=2).explain(Problem(above(5.5), X, free()), X[:1])
    assert answer.points.tolist() == [[6.0, 0.0]]
    assert len(ways(answer)[0]) >= 4


def test_a_row_with_missing_values_is_no_shortcut() -> None:
    line = np.stack([np.linspace(0, 10, 101), np.zeros(101)], axis=1)
    X = np.concatenate([line, [[np.nan, 0.0]]])
    problem = Problem(above(5), X)
    answer = Face(n_neighbours=3, min_density=0).explain(problem, line[20:21])
    assert answer.points[0, 0] == pytest.approx(5.1)
    assert len(ways(answer)[0]) > 8


def test_rows_that_are_infinite_or_break_relations_are_no_nodes() -> None:
    X = np.stack([np.linspace(0, 10, 101), np.zeros(101)], axis=1)
    X[60, 1], X[61, 1] = np.inf, -np.inf
    schema = free().override(relations=["`0` <= 9"])
    graph = Graph.of(Problem(above(5), X, schema), 1, Face()._neighbourhood())
    assert len(graph) == 101 - 2 - 10
    assert graph.rows.rows[:, 0].max() <= 9


def test_a_step_that_would_break_a_relation_is_neither_shown_nor_an_answer() -> None:
    X = np.array([[1.0, 1.0, 1.0], [9.0, 5.0, 2.0], [6.0, 0.0, 3.0]])
    wide = {"scale": 100.0}
    schema = free(3).override(
        {"0": wide, "1": {**wide, "change": "none"}}, relations=["`0` <= `1` + 6"]
    )
    answer = Face(n_neighbours=1, min_density=0).explain(Problem(above(5), X, schema), [[0.0] * 3])
    assert ways(answer)[0].tolist() == [[0, 0, 0], [1, 0, 1], [6, 0, 3]]


def test_answers_do_not_depend_on_the_batch() -> None:
    X, _ = data("missing", 1, n=300)
    problem = tree_problem(X)
    table = declined(problem, X, 40)
    for method in GRAPHS:
        whole = method.explain(problem, table)
        for i in range(0, 40, 7):
            alone = method.explain(tree_problem(X), table[i : i + 1])
            assert np.array_equal(alone.points[0], whole.points[i], equal_nan=True)
            assert np.array_equal(ways(alone)[0], ways(whole)[i], equal_nan=True)
            assert alone.reason[0] == whole.reason[i]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"graph": "tree"}, "The 'graph' parameter of Face must be 'knn' or 'radius'"),
        ({"n_neighbours": 0}, "The 'n_neighbours' parameter of Face must be an integer from 1"),
        ({"max_neighbours": 2.5}, "The 'max_neighbours' parameter of Face must be an integer"),
        ({"max_tries": True}, "The 'max_tries' parameter of Face must be an integer from 1"),
        ({"radius": 0}, "The 'radius' parameter of Face must be a number above 0"),
        (
            {"min_density": 1},
            "The 'min_density' parameter of Face must be a number from 0 to below",
        ),
        ({"min_density": "0.1"}, "The 'min_density' parameter of Face must be a number from 0"),
        ({"gamma": 2}, "The 'gamma' parameter of Face must be a number from 0 to below 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, said: str) -> None:
    problem, X = islands()
    with pytest.raises(robx.InvalidInput, match=said):
        Face(**parameters).explain(problem, X[:1])
