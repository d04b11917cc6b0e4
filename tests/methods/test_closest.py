from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression

import robx
from contracts import MethodContract, assert_same_answers
from robx import Closest, Feature, InvalidInput, Problem, Schema, Status, UnsupportedModel
from robx.methods import closest

Floats = NDArray[np.float64]

LEVELS = {"job": (0, 1, 3), "place": (0, 1, 2, 3)}
HOMES = ["home_a", "home_b", "home_c"]


class TestClosest(MethodContract):
    # Little effort: some proofs are finished and some are not, and all of it is repeatable.
    method = Closest(effort=0.05)
    needs_trees = True
    n_schemas = 4


# --- the oracle: every allowed point, scored by the library --------------------------------------


def table(n: int, seed: int, *, missing: bool = False) -> pd.DataFrame:
    """Columns of all kinds with few values each."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "kids": rng.integers(0, 5, n).astype(float),
            "job": rng.choice(LEVELS["job"], n),
            "rate": rng.integers(0, 5, n) / 4,
            "place": rng.integers(0, 4, n),
        }
    )
    home = rng.integers(0, 3, n)
    for k, name in enumerate(HOMES):
        frame[name] = (home == k).astype(int)
    if missing:
        frame.loc[rng.random(n) < 0.2, "kids"] = np.nan
    return frame


def outcome(frame: pd.DataFrame, n_classes: int = 2, *, noise: float = 0.3) -> NDArray[np.int64]:
    rng = np.random.default_rng(9)
    worth = frame["kids"].fillna(3) * 0.4 + frame["job"] * 0.3 - np.abs(frame["rate"] - 0.5)
    worth += 0.8 * (frame["place"] == 2) + 0.5 * frame["home_b"] - 0.4 * frame["home_c"]
    worth += noise * rng.normal(size=len(frame))
    cuts = np.quantile(worth, [0.55, 0.8][: n_classes - 1])
    return np.asarray(np.digitize(worth, cuts), dtype=np.int64)


@cache
def fitted(name: str) -> tuple[Any, pd.DataFrame, Any]:
    """Give a model, its table and the target."""
    quick: dict[str, Any] = {"n_jobs": 1, "random_state": 0}
    holes = name in {"XGBoost", "LightGBM", "HistGradientBoosting", "XGBoost by category"}
    X = table(250, 0, missing=holes)
    models = {
        "XGBoost": xgb.XGBClassifier(n_estimators=15, max_depth=3, **quick),
        "XGBoost by category": xgb.XGBClassifier(
            n_estimators=15, max_depth=3, max_cat_to_onehot=1, enable_categorical=True, **quick
        ),
        "three classes": xgb.XGBClassifier(n_estimators=8, max_depth=3, **quick),
        "LightGBM": lgb.LGBMClassifier(
            n_estimators=12, num_leaves=6, min_child_samples=5, verbose=-1, **quick
        ),
        "RandomForest": RandomForestClassifier(9, max_depth=4, **quick),
        "forest of votes": RandomForestClassifier(6, **quick),
        "GradientBoosting, first class": GradientBoostingClassifier(
            n_estimators=12, random_state=0
        ),
        "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=12, random_state=0),
    }
    if name == "XGBoost by category":
        X["place"] = X["place"].astype("category")
    target = {"three classes": 2, "GradientBoosting, first class": 0}.get(name)
    noise = 0.0 if name == "forest of votes" else 0.3  # each leaf is then of one class
    y = outcome(X, 3 if name == "three classes" else 2, noise=noise)
    return models[name].fit(X, y), X, target


MODELS = [
    *("XGBoost", "XGBoost by category", "three classes", "LightGBM", "RandomForest"),
    *("forest of votes", "GradientBoosting, first class", "HistGradientBoosting"),
]


def schema(seed: int) -> Schema:
    """What may change, at random."""
    rng = np.random.default_rng(seed)

    def any_of(*ways: str) -> Any:
        return str(rng.choice(ways))

    ways = ("any", "any", "increase", "decrease", "none")
    weights = rng.choice([0.5, 1.0, 2.0], 4)
    home: Any = {"kind": "onehot", "group": "home", "change": any_of("any", "any", "none")}
    kids: Any = {"low": 1.0, "high": 3.0} if rng.random() < 0.3 else {}
    relations = [[], [], ["kids + 2*rate <= 4"], ["kids + 2*rate >= 1"]][seed % 4]
    features: tuple[Feature, ...] = (
        Feature("kids", "integer", any_of(*ways), may_fill=bool(rng.random() < 0.5), **kids),
        Feature("job", "ordinal", any_of(*ways), levels=LEVELS["job"]),
        Feature("rate", "continuous", any_of(*ways), resolution=0.25),
        Feature("place", "categorical", any_of("any", "any", "none"), levels=LEVELS["place"]),
    )
    features = tuple(
        f.replaced(weight=float(w), scale=float(rng.choice([1.0, 3.0])))
        for f, w in zip(features, weights, strict=True)
    )
    homes = tuple(Feature(name, **home) for name in HOMES)
    optional = ("home",) if rng.random() < 0.3 else ()
    return Schema(features + homes, optional_groups=optional).override(relations=relations)


def free_schema() -> Schema:
    """Everything may change."""
    return schema(0).override(
        {name: {"change": "any"} for name in ("kids", "job", "rate", "place", *HOMES)}
    )


def values_of(f: Feature, x: float, seen: Floats) -> list[float]:
    """All values that an applicant with x may come to have."""
    if np.isnan(x) and not f.may_fill:
        return [x]
    if f.levels is not None:
        values = [float(v) for v in f.levels]
    else:
        step = f.resolution or 1.0
        values = [k * step for k in range(-40, 41)]
        low = np.nanmin(np.append(seen, x)) if f.low is None else f.low
        high = np.nanmax(np.append(seen, x)) if f.high is None else f.high
        values = [v for v in values if low <= v <= high]
    if f.change in {"none", "increase"} and not np.isnan(x):
        values = [v for v in values if v >= x]
    if f.change in {"none", "decrease"} and not np.isnan(x):
        values = [v for v in values if v <= x]
    stays = np.isnan(x) or ((f.low is None or f.low <= x) and (f.high is None or x <= f.high))
    return [*values, x] if stays else values


def every_point(problem: Problem, x: Floats) -> Floats:
    """All allowed points of an applicant: (n, d)."""
    s, seen = problem.schema, problem.all_rows
    columns = [values_of(f, float(x[j]), seen[:, j]) for j, f in enumerate(s.features[:4])]
    homes = [tuple(x[4:])]
    if s["home_a"].change == "any":
        homes += [tuple(row) for row in np.eye(3)]
        homes += [(0.0, 0.0, 0.0)] if s.optional_groups else []
    points = np.array([(*p[:4], *p[4]) for p in itertools.product(*columns, homes)])  # type: ignore[misc]
    points = points.reshape(-1, 7)
    for relation in s.relations:
        total = sum(c * points[:, s.names.index(name)] for name, c in relation.terms)
        points = points[np.isnan(total) | (total <= relation.bound)]
    return points


def costs(problem: Problem, points: Floats, x: Floats) -> Floats:
    """L1 in units of scale and weight, feature by feature."""
    total = np.zeros(len(points))
    for j, f in enumerate(problem.schema.features):
        z = points[:, j]
        if np.isnan(x[j]):
            moved = np.where(np.isnan(z), 0.0, 1.0)
        elif f.kind == "categorical":
            moved = (z != x[j]) / f.scale
        else:
            moved = np.abs(z - x[j]) / f.scale * (0.5 if f.kind == "onehot" else 1.0)
        total += f.weight * moved
    return total


def optimum(problem: Problem, model: Any, target: Any, x: Floats, bar: float) -> float:
    """Find the least cost of an accepted point by looking at all; infinite where there is none."""
    points = every_point(problem, x)
    if len(points) == 0:
        return np.inf
    place = list(model.classes_).index(1 if target is None else target)
    score = model.predict_proba(problem.codec.write(points))[:, place].astype(float)
    return float(costs(problem, points, x)[score > bar].min(initial=np.inf))


def assert_optimal(problem: Problem, model: Any, target: Any, X: Any, gamma: Any = None) -> Any:
    answer = Closest(gamma=gamma).explain(problem, X)
    people = problem.read(X)
    bar = problem.bar(gamma)
    asked = [i for i, s in enumerate(answer.status) if s != Status.ACCEPTED]
    best = np.array([optimum(problem, model, target, people.matrix[i], bar) for i in asked])
    np.testing.assert_array_equal(answer.ok[asked], np.isfinite(best))
    ok, found = np.isfinite(best), answer.ok
    np.testing.assert_allclose(answer.cost[found], best[ok], rtol=0, atol=1e-8)
    bound = answer.measured["bound"]
    assert (bound[found] <= best[ok] + 1e-12).all()
    np.testing.assert_allclose(bound[found], best[ok], rtol=0, atol=1e-7)
    assert np.isnan(bound[~found]).all()
    assert all(answer.status[i] in {Status.OK, Status.INFEASIBLE} for i in asked)
    return answer


@pytest.mark.parametrize("name", MODELS)
def test_the_answer_is_the_cheapest_of_all_allowed_points(name: str) -> None:
    model, X, target = fitted(name)
    people = X.iloc[:40].reset_index(drop=True)
    n_ok, n_infeasible = 0, 0
    for seed in range(9):
        problem = Problem(
            model, X, schema(seed), target=target, threshold=[0.3, 0.5, 0.6][seed % 3]
        )
        low = np.flatnonzero(problem.read(people).score <= problem.threshold)[seed % 3 :][:8]
        answer = assert_optimal(problem, model, target, people.iloc[low])
        n_ok += int(answer.ok.sum())
        n_infeasible += int((answer.status == Status.INFEASIBLE).sum())
    assert n_ok >= 15
    assert n_infeasible >= 2


@pytest.mark.parametrize("name", MODELS)
def test_gamma_asks_for_a_higher_score(name: str) -> None:
    model, X, target = fitted(name)
    problem = Problem(model, X, free_schema(), target=target)
    low = np.flatnonzero(problem.read(X).score <= 0.5)[:8]
    answer = assert_optimal(problem, model, target, X.iloc[low], gamma=0.6)
    assert answer.ok.any()
    assert (answer.score[answer.ok] > 0.6).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_score_on_the_threshold_is_not_above_it(name: str) -> None:
    model, X, target = fitted(name)
    free = free_schema()
    first = Problem(model, X, free, target=target)
    low = np.flatnonzero(first.read(X).score <= first.threshold)[:4]
    before = Closest().explain(first, X.iloc[low])
    moved = 0
    for i in np.flatnonzero(before.ok):
        problem = Problem(model, X, free, target=target, threshold=float(before.score[i]))
        after = assert_optimal(problem, model, target, X.iloc[low[i : i + 1]])
        moved += int(not after.ok[0] or after.cost[0] > before.cost[i])
    assert moved >= 1


# --- numbers without a grid ----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_number_without_a_grid_goes_to_the_next_one_that_its_column_holds(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.random((300, 3)).astype(dtype), columns=list("abc"))
    y = (X["a"] + X["b"] * X["c"] > 0.8).astype(int)
    model = xgb.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, y)
    problem = Problem(model, X, Schema(tuple(Feature(name, scale=1.0) for name in "abc")))
    low = np.flatnonzero(problem.read(X).score <= 0.5)[:4]
    answer = Closest().explain(problem, X.iloc[low])
    assert (answer.points.dtypes == dtype).all()
    e: Any = problem.model
    for i, x in zip(range(4), X.iloc[low].to_numpy(), strict=True):
        columns = []
        for j in range(3):
            cuts = e.split_threshold[e.split_feature == j]
            near = cuts.astype(dtype)
            around = [near, np.nextafter(near, dtype(-np.inf)), np.nextafter(near, dtype(np.inf))]
            # In single precision a split lies between two numbers, in double on one.
            around += [np.nextafter(cuts, np.inf).astype(dtype)]
            values = np.unique(np.concatenate([*around, [x[j]]]).astype(dtype))
            inside = (values >= X.iloc[:, j].min()) & (values <= X.iloc[:, j].max())
            # Of each cell only the nearest counts.
            cell = np.searchsorted(cuts, values[inside].astype(float))
            order = np.argsort(np.abs(values[inside].astype(float) - float(x[j])), kind="stable")
            columns.append(values[inside][order][np.unique(cell[order], return_index=True)[1]])
        points = np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, 3)
        accepted = model.predict_proba(pd.DataFrame(points, columns=list("abc")))[:, 1] > 0.5
        cost = np.abs(points.astype(float) - x.astype(float)).sum(axis=1)
        assert answer.cost[i] == pytest.approx(cost[accepted].min(), abs=1e-12)
        assert answer.measured["bound"][i] <= answer.cost[i]


def marked(mark: float) -> Problem:
    """A model to which a number means "missing", and which accepts who lacks a value."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-1.0, 0.0, 1.0, 2.0], 400), rng.integers(0, 5, 400)])
    y = (X[:, 0] == mark) | (X[:, 1] >= 4)
    model = xgb.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, missing=mark).fit(X, y)
    steps = (Feature("a", resolution=0.5, scale=1.0), Feature("b", "integer", scale=1.0))
    return Problem(model, X, Schema(steps))


@pytest.mark.parametrize("x", [[0.5, 2.0], [1.5, 2.0], [-1.0, 2.0]])
def test_a_zero_may_come_to_mean_missing(x: list[float]) -> None:
    answer = Closest().explain(marked(0.0), [x])
    assert answer.points[0].tolist() == [0.0, 2.0]
    assert answer.measured["bound"][0] == pytest.approx(abs(x[0])) == answer.cost[0]


def test_no_other_number_may_come_to_mean_missing() -> None:
    answer = Closest().explain(marked(1.0), [[2.0, 2.0]])
    assert answer.points[0].tolist() == [2.0, 4.0]
    assert answer.measured["bound"][0] == pytest.approx(2.0)


# --- relations -----------------------------------------------------------------------------------


def related(resolution: float | None) -> tuple[Any, Problem]:
    rng = np.random.default_rng(0)
    X = rng.random((300, 2)).round(2)
    model = xgb.XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X, X[:, 0] > 0.5)
    features = tuple(Feature(n, resolution=resolution, scale=1.0, low=0, high=1) for n in "ab")
    return model, Problem(model, X, Schema(features).override(relations=["a <= b"]))


def test_a_relation_that_binds_is_paid_for() -> None:
    model, problem = related(0.01)
    grid = np.array(list(itertools.product(np.arange(101) / 100, repeat=2)))
    accepted = (model.predict_proba(grid)[:, 1] > 0.5) & (grid[:, 0] <= grid[:, 1])
    answer = Closest().explain(problem, [[0.2, 0.3]])
    best = np.abs(grid[accepted] - [0.2, 0.3]).sum(axis=1).min()
    assert answer.cost[0] == pytest.approx(best)
    assert answer.measured["bound"][0] == pytest.approx(best)
    assert answer.points[0, 1] > 0.3


def test_a_relation_of_uncountable_values_leaves_an_honest_bound() -> None:
    _, problem = related(None)
    answer = Closest().explain(problem, [[0.2, 0.3], [0.3, 0.9]])
    assert answer.ok.all()
    assert (answer.points[:, 0] <= answer.points[:, 1]).all()
    exact = Closest().explain(related(0.01)[1], [[0.2, 0.3], [0.3, 0.9]])
    # Where the closest point breaks the relation, the bound is not reached ...
    assert answer.measured["bound"][0] < answer.cost[0] - 0.1
    assert answer.measured["bound"][0] <= exact.cost[0]
    # ... and where it keeps it, it is.
    assert answer.measured["bound"][1] == pytest.approx(answer.cost[1])
    assert answer.cost[1] <= exact.cost[1]


def test_a_relation_that_cannot_be_kept_is_named_where_no_row_helps() -> None:
    _, problem = related(None)
    gamma = float(problem.support.score.max())
    problem.support.score[:] = 0.0  # no row of the support is good enough
    answer = Closest(gamma=gamma - 1e-6).explain(problem, [[0.2, 0.3]])
    assert answer.status[0] == Status.BUDGET
    assert answer.reason[0] == "the closest point breaks a relation of uncountable values"


# --- rounding ------------------------------------------------------------------------------------


def tied() -> tuple[robx.TreeEnsemble, Floats]:
    """Seven columns worth some tenths each: 0.1 + 0.2 and 0.3 are a tie that rounding decides."""
    X = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    model = lgb.LGBMClassifier(n_estimators=60, num_leaves=2, n_jobs=1, verbose=-1)
    e: Any = robx.import_model(model.fit(X, X.sum(axis=1) >= 4), X=X)
    worth = np.zeros(e.n_leaves)
    tenths = dict(enumerate([0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1]))
    for root in e.tree_start[:-1]:  # the first stump of each column gives what the column is worth
        column = int(e.split_feature[e.node_split[root]])
        worth[-1 - e.node_split[root + 2]] = tenths.pop(column, 0.0)
    assert not tenths
    return replace(e, leaf_value=worth, base=np.zeros(1), link="identity"), X


@pytest.mark.parametrize("most", [0, 1, 2, 20])
def test_ties_that_rounding_decides_never_make_a_wrong_bound(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closest, "MOST_EXCLUDED", most)
    model, points = tied()
    score = model.score(points)
    known = np.unique(score[score < 0.95])
    weights = [1.0, 1.1, 2.9, 1.3, 1.2, 2.6, 0.9]
    names = robx.Schema.infer(points).names
    dear = Schema(
        tuple(Feature(n, "integer", weight=w) for n, w in zip(names, weights, strict=True))
    )
    bars = known[:-1][np.diff(known) < 1e-12]
    assert len(bars) >= 4
    for bar in bars:
        problem = Problem(model, points[[0, -1]], dear, threshold=float(bar))  # one row is accepted
        people = points[score <= bar][::4]
        answer = Closest().explain(problem, people)
        for i, x in enumerate(people):
            best = problem.rules.cost(points, np.tile(x, (128, 1)), 1)[score > bar].min()
            assert answer.ok[i]
            assert answer.score[i] > bar
            assert answer.measured["bound"][i] <= best + 1e-12 <= answer.cost[i] + 2e-12
            if most == 20:
                assert answer.cost[i] == pytest.approx(best)


def test_what_rounding_left_open_is_not_called_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closest, "MOST_EXCLUDED", 1)
    monkeypatch.setattr(closest._Condition, "made_safe", lambda c: replace(c, least=10**12))
    model, points = tied()
    score = model.score(points)
    known = np.unique(score[score < 0.95])
    said = set()
    for bar in known[:-1][np.diff(known) < 1e-12]:
        problem = Problem(model, points, threshold=float(bar))
        problem.support.score[:] = 0.0  # no row of the support helps
        said |= set(Closest().explain(problem, points[score <= bar][-12:]).status)
    assert said == {Status.OK, Status.BUDGET}


def test_votes_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> bool:
        raise AssertionError("a tie was taken for an answer")

    monkeypatch.setattr(closest._Search, "_exclude", never)
    model, X, target = fitted("forest of votes")
    problem = Problem(model, X, free_schema(), target=target)
    low = np.flatnonzero(problem.read(X).score <= 0.5)[:10]
    assert assert_optimal(problem, model, target, X.iloc[low]).ok.all()


# --- proofs, and what others find ----------------------------------------------------------------


@cache
def german() -> tuple[Problem, Any]:
    X, y, schema = robx.datasets.load_german()
    model = xgb.XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1, random_state=0)
    problem = Problem(model.fit(X[:700], y[:700]), X[:700], schema)
    people = X[700:]
    return problem, people[problem.read(people).score <= 0.5][:20]


def test_no_method_is_cheaper_than_the_bound() -> None:
    problem, people = german()
    answer = Closest().explain(problem, people)
    bound = answer.measured["bound"]
    assert answer.ok.all()
    np.testing.assert_allclose(bound, answer.cost, atol=1e-8)
    others = [robx.NearestNeighbour(), robx.LiveRegion(), robx.Focus(), robx.Face()]
    for method in [*others, robx.FeatureTweaking(), robx.FeatureTweaking(epsilon=1e-9)]:
        found = method.explain(problem, people)
        assert found.ok.sum() >= 10
        assert (found.cost[found.ok] >= bound[found.ok] - 1e-9).all(), type(method).__name__


def test_bounds_are_the_same_bytes_in_any_batch() -> None:
    problem, people = german()
    method = Closest(effort=0.005)
    whole = method.explain(problem, people)
    assert (whole.measured["bound"] < whole.cost - 1e-6).any()
    for i in range(0, 20, 7):
        part = method.explain(problem, people.iloc[i : i + 1])
        assert_same_answers(whole, part, [i])
        assert whole.measured["bound"][[i]].tobytes() == part.measured["bound"].tobytes()


# --- the budget ----------------------------------------------------------------------------------


def test_effort_bounds_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, people = german()
    spent: list[float] = []
    solve = closest._Program.solve

    def counted(self: Any, effort: float) -> Any:
        solved = solve(self, effort)
        spent.append(solved.effort)
        return solved

    monkeypatch.setattr(closest._Program, "solve", counted)
    Closest(effort=10.0).explain(problem, people[:3])
    enough = sum(spent)
    spent.clear()
    little = Closest(effort=enough / 30).explain(problem, people[:3])
    assert 0 < sum(spent) < enough
    assert little.ok.all()
    assert (little.measured["bound"] <= little.cost).all()
    assert (little.measured["bound"] < little.cost - 1e-6).any()


def test_without_effort_and_without_a_row_nearby_there_is_no_answer() -> None:
    X = np.random.default_rng(0).random((300, 3)).round(2)
    model = xgb.XGBClassifier(n_estimators=60, max_depth=3, n_jobs=1).fit(X, X.sum(axis=1) > 1.5)
    features = tuple(Feature(n, resolution=0.01) for n in "abc")
    problem = Problem(model, X, Schema(features))
    gamma = float(problem.support.score.max())
    answer = Closest(gamma=gamma, effort=1e-6).explain(problem, [[0.1, 0.1, 0.1]])
    assert answer.status[0] == Status.BUDGET
    assert answer.reason[0] == "no point was found with an effort of 1e-06"
    assert np.isnan(answer.measured["bound"][0])
    assert Closest(gamma=gamma).explain(problem, [[0.1, 0.1, 0.1]]).status[0] != Status.BUDGET


def test_a_model_of_too_many_leaves_leaves_the_answer_of_live_regions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, people = german()
    monkeypatch.setattr(closest, "MOST_LEAVES", 50)
    answer = Closest().explain(problem, people[:3])
    np.testing.assert_array_equal(answer.cost, robx.LiveRegion().explain(problem, people[:3]).cost)
    assert (answer.measured["bound"] == 0).all()
    gamma = float(problem.support.score.max())  # which no row is above
    alone = Closest(gamma=gamma).explain(problem, people[:1])
    assert (alone.status[0], alone.reason[0]) == (
        Status.BUDGET,
        "more than 50 leaves are in reach",
    )


# --- why there is none ---------------------------------------------------------------------------


def test_what_stands_in_the_way_is_named() -> None:
    X = np.random.default_rng(0).random((300, 2)).round(2)
    model = xgb.XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X, X[:, 0] > 0.5)
    fixed = Schema((Feature("a", change="none"), Feature("b")))
    answer = Closest().explain(Problem(model, X, fixed), [[0.2, 0.5]])
    assert answer.status[0] == Status.INFEASIBLE
    assert answer.reason[0] == "no accepted point keeps a (fixed)"
    steps = tuple(Feature(n, resolution=0.01) for n in "ab")
    tie = Schema(steps).override(relations=["a + b <= 0.4"])
    answer = Closest().explain(Problem(model, X, tie), [[0.2, 0.1]])
    assert answer.reason[0] == "no point that keeps every rule scores above 0.5"


# --- at the door ---------------------------------------------------------------------------------


def test_a_black_box_is_refused() -> None:
    X = np.random.default_rng(0).random((50, 2))
    model = LogisticRegression().fit(X, X[:, 0] > 0.5)
    with pytest.raises(UnsupportedModel, match=r"Closest needs the trees.*NearestNeighbour"):
        Closest().explain(Problem(model, X), X[:1])


def test_who_lacks_the_solver_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, people = german()
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(InvalidInput, match=r"pip install robx\[exact\]"):
        Closest().explain(problem, people)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"norm": 2}, "The 'norm' parameter of Closest must be 1: .* in L1 only. Got 2 instead"),
        ({"norm": 3}, "The 'norm' parameter of Closest must be 1 or 2"),
        ({"gamma": 1.0}, "The 'gamma' parameter of Closest must be"),
        ({"effort": 0}, "The 'effort' parameter of Closest must be a number above 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, sentence: str) -> None:
    problem, people = german()
    with pytest.raises(InvalidInput, match=sentence):
        Closest(**parameters).explain(problem, people)
