from __future__ import annotations

from dataclasses import replace
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import naive_tweak
from contracts import MethodContract
from oracles import toy_data, with_missing
from robx import Feature, InvalidInput, Problem, Schema, Status, UnsupportedModel
from robx.methods.baselines.feature_tweaking import FeatureTweaking
from speed import tries

Floats = NDArray[np.float64]

X, Y = toy_data(300, 5)
THREE = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 2)


def boosted(table: Any, y: Any, **traits: Any) -> Any:
    traits = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1, "random_state": 0} | traits
    return xgb.XGBClassifier(**traits).fit(table, y)


MODELS: dict[str, Problem] = {
    "XGBoost": Problem(boosted(X, Y), X),
    "LightGBM": Problem(
        lgb.LGBMClassifier(n_estimators=10, num_leaves=8, n_jobs=1, verbose=-1).fit(X, Y), X
    ),
    "RandomForest": Problem(RandomForestClassifier(8, max_depth=5, random_state=0).fit(X, Y), X),
    "GradientBoosting, first class": Problem(
        GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, Y), X, target=0
    ),
    "three classes": Problem(boosted(X, THREE, n_estimators=6), X, target=2, threshold=0.4),
    "with holes": Problem(boosted(with_missing(X), Y), with_missing(X)),
}


def declined(problem: Problem, n: int) -> Any:
    rows = np.flatnonzero(problem.gate.score(problem.training) <= problem.threshold)[:n]
    return problem.codec.write(problem.training[rows])


class TestFeatureTweaking(MethodContract):
    method = FeatureTweaking()
    needs_trees = True


@pytest.mark.slow
class TestFeatureTweakingInL2(MethodContract):
    method = FeatureTweaking(norm=2)
    needs_trees = True


# --- the answer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_one_step_gives_the_cheapest_tweak_that_the_model_accepts(name: str, norm: Any) -> None:
    problem = MODELS[name]
    people = declined(problem, 25)
    method = FeatureTweaking(norm=norm, max_steps=1)
    answer = method.explain(problem, people)
    matrix = problem.read(people).matrix
    expected = [naive_tweak.one_step(problem, x, 0.1, norm, problem.threshold) for x in matrix]
    np.testing.assert_array_equal(answer.ok, np.isfinite(expected))
    assert answer.ok.sum() >= 5
    np.testing.assert_allclose(answer.cost[answer.ok], np.array(expected)[answer.ok], atol=1e-9)
    assert (answer.score[answer.ok] > problem.threshold).all()


def stumps() -> tuple[Any, Floats]:
    """A model to which each of six features adds a little: no stump alone can flip it."""
    rng = np.random.default_rng(0)
    table = rng.random((600, 6)).round(2)
    y = (table > 0.5).sum(axis=1) >= 4
    return boosted(table, y, n_estimators=60, max_depth=1, learning_rate=0.3), table


def test_tweaks_are_chained_where_none_flips_the_model_alone() -> None:
    model, table = stumps()
    problem, lowest = Problem(model, table), np.full((1, 6), 0.1)
    assert naive_tweak.one_step(problem, lowest[0], 0.1, 1, 0.5) == np.inf
    alone = FeatureTweaking(max_steps=1).explain(problem, lowest)
    assert (alone.status[0], alone.reason[0]) == (
        Status.BUDGET,
        "no tweak is accepted within 1 steps",
    )
    chained = FeatureTweaking().explain(problem, lowest)
    assert chained.status[0] == Status.OK
    assert chained.n_changes[0] >= 3
    assert model.predict_proba(chained.points)[0, 1] > 0.5


@pytest.mark.parametrize("norm", [1, 2])
def test_a_chain_goes_where_the_twin_s_does(norm: Any) -> None:
    model, table = stumps()
    weight = {"x0": {"weight": 0.5}, "x3": {"weight": 2.0}}
    features = tuple(Feature(f"x{j}", **weight.get(f"x{j}", {})) for j in range(6))  # type: ignore[arg-type]
    problem = Problem(model, table, Schema(features))
    people = np.random.default_rng(3).random((8, 6)) * 0.5
    answer = FeatureTweaking(norm=norm, epsilon=0.03).explain(problem, people)
    twin = [naive_tweak.chain(problem, x, 0.03, norm, 0.5, 10) for x in people]
    np.testing.assert_allclose(answer.cost, [cost for _, cost in twin], atol=1e-9)
    assert max(steps for steps, _ in twin) >= 3


def test_a_chain_that_gets_nowhere_says_so() -> None:
    model, table = stumps()
    features = tuple(Feature(f"x{j}", resolution=0.01) for j in range(6))
    schema = Schema(features).override(relations=["x0 + x1 + x2 + x3 <= 0.4"])
    answer = FeatureTweaking().explain(Problem(model, table, schema), np.full((1, 6), 0.1))
    assert answer.status[0] == Status.NOT_FOUND
    assert "no tweak raises the score" in answer.reason[0]
    np.testing.assert_array_equal(answer.points, np.full((1, 6), 0.1))


def test_a_saturated_score_is_climbed_by_its_margin() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((400, 3))
    y = (table > 0.3).all(axis=1)
    model = boosted(table, y, n_estimators=300, max_depth=1, learning_rate=1.0, reg_lambda=0)
    problem = Problem(model, table)
    low = np.full((1, 3), 0.05)
    view = naive_tweak.view_of(problem)
    view.trees = replace(view.trees, slope=40.0)  # to all digits, the score is 0
    assert problem.gate.score(low)[0] < 1e-30
    assert FeatureTweaking().explain(problem, low).ok[0]


def test_epsilon_is_how_far_inside_a_path_one_is_put() -> None:
    line = np.linspace(0, 1, 101)[:, None]
    problem = Problem(
        DecisionTreeClassifier(max_depth=1).fit(line, line[:, 0] > 0.605),
        line,
        Schema((Feature("x0"),)),
    )
    for epsilon in (0.01, 0.2):
        answer = FeatureTweaking(epsilon=epsilon).explain(problem, [[0.2]])
        assert answer.points[0, 0] == pytest.approx(0.605 + epsilon)
    # No further than anybody was seen.
    assert FeatureTweaking(epsilon=3.0).explain(problem, [[0.2]]).points[0, 0] == 1.0


def test_a_narrow_box_is_met_in_its_middle() -> None:
    line = np.linspace(0, 1, 101)[:, None]
    window = (line[:, 0] > 0.495) & (line[:, 0] < 0.555)
    problem = Problem(
        DecisionTreeClassifier(max_depth=2).fit(line, window), line, Schema((Feature("x0"),))
    )
    answer = FeatureTweaking(epsilon=0.1).explain(problem, [[0.2], [0.9]])
    np.testing.assert_allclose(answer.points[:, 0], 0.525)


@pytest.mark.parametrize("name", MODELS)
def test_gamma_asks_for_a_higher_score(name: str) -> None:
    problem = MODELS[name]
    people = declined(problem, 12)
    gamma = problem.threshold + 0.1
    plain = FeatureTweaking().explain(problem, people)
    higher = FeatureTweaking(gamma=gamma).explain(problem, people)
    lower = FeatureTweaking(gamma=0.1).explain(problem, people)
    assert higher.ok.any()
    assert (higher.score[higher.ok] > gamma).all()
    np.testing.assert_array_equal(plain.cost, lower.cost)
    both = plain.ok & higher.ok
    assert higher.cost[both].mean() >= plain.cost[both].mean()


def test_an_answer_does_not_depend_on_who_else_asks() -> None:
    problem = MODELS["RandomForest"]
    people = declined(problem, 40)
    together = FeatureTweaking().explain(problem, people)
    before = problem.training.copy()
    for i in (0, 7, 39):
        alone = FeatureTweaking().explain(problem, people[i : i + 1])
        np.testing.assert_array_equal(alone.points[0], together.points[i])
    np.testing.assert_array_equal(problem.training, before)


def test_few_candidates_bound_the_work_and_still_give_sound_answers() -> None:
    problem = MODELS["RandomForest"]
    people = declined(problem, 30)
    few = FeatureTweaking(max_candidates=5).explain(problem, people)
    many = FeatureTweaking().explain(problem, people)
    assert few.ok.any()
    assert (few.score[few.ok] > 0.5).all()
    first = FeatureTweaking(max_candidates=5, max_steps=1).explain(problem, people)
    np.testing.assert_array_equal(first.points[first.ok], many.points[first.ok])


# --- what may change -----------------------------------------------------------------------------

JOBS = ("clerk", "driver", "nurse", "cook")


def mixed(seed: int = 0, n: int = 300) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Every kind of column there is, some values missing."""
    rng = np.random.default_rng(seed)
    job, town = rng.integers(0, 4, n), rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "income": rng.normal(50, 15, n),
            "rate": rng.random(n).round(2),
            "age": rng.integers(20, 70, n),
            "grade": rng.integers(0, 5, n),
            "small": rng.random(n).round(1).astype(np.float32),
            "job": pd.Categorical([JOBS[j] for j in job], categories=JOBS),
            **{f"town_{t}": (town == t).astype(int) for t in range(3)},
        }
    )
    table.loc[rng.random(n) < 0.1, "income"] = np.nan
    good = table["income"].fillna(45) / 50 + table["rate"] + 0.3 * table["grade"] + 0.4 * (job % 2)
    return table, (good + 0.4 * (town == 1) + table["small"] > 2.9).to_numpy()


def random_schema(table: pd.DataFrame, rng: np.random.Generator) -> Schema:
    ways = ["any", "any", "increase", "decrease", "none"]
    way: dict[str, Any] = {
        name: str(rng.choice(ways)) for name in ("income", "rate", "age", "grade", "small")
    }
    fixed: dict[str, Any] = {
        name: str(rng.choice(["any", "any", "none"])) for name in ("job", "town")
    }
    bound = [None, float(rng.integers(30, 45)), float(rng.integers(55, 80))]
    features = [
        Feature("income", change=way["income"], low=bound[rng.integers(2)],
                may_fill=bool(rng.random() < 0.5)),
        Feature("rate", change=way["rate"], resolution=float(rng.choice([0.01, 0.05, 0.1]))),
        Feature("age", "integer", change=way["age"], high=[None, 60.0][rng.integers(2)]),
        Feature("grade", "ordinal", change=way["grade"], levels=(0, 1, 2, 3, 4)),
        Feature("small", change=way["small"], resolution=float(rng.choice([0.1, 0.25]))),
        *(Feature(f"town_{t}", "onehot", change=fixed["town"], group="town") for t in range(3)),
    ]  # fmt: skip
    if "job" in table:
        features.append(Feature("job", "categorical", change=fixed["job"], levels=JOBS))
    relations = ["grade <= 0.1 * age"] if rng.random() < 0.2 else []
    optional = ("town",) if rng.random() < 0.3 else ()
    order = {f.name: f for f in features}
    return Schema(tuple(order[name] for name in table.columns), tuple(relations), optional)


def mixed_models() -> dict[str, tuple[Any, pd.DataFrame]]:
    table, y = mixed()
    numbers = table.drop(columns="job")
    light = lgb.LGBMClassifier(n_estimators=15, num_leaves=7, min_data_per_group=5, n_jobs=1,
                               cat_smooth=1, verbose=-1).fit(table, y)  # fmt: skip
    return {
        "LightGBM": (light, table),
        "XGBoost": (boosted(numbers, y), numbers),
        "XGBoost with categories": (boosted(table, y, enable_categorical=True), table),
        "RandomForest": (
            RandomForestClassifier(10, max_depth=6, random_state=0).fit(numbers.fillna(0), y),
            numbers.fillna(0),
        ),
    }


MIXED = mixed_models()


@pytest.mark.parametrize("name", MIXED)
def test_answers_keep_any_schema_and_are_accepted_by_the_model_itself(name: str) -> None:
    model, table = MIXED[name]
    n_ok, seen = 0, set()
    n_seeds = tries(60, 10)
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        problem = Problem(model, table, random_schema(table, rng))
        people = table.iloc[rng.permutation(len(table))[:8]]
        method = FeatureTweaking(norm=(1, 2)[seed % 2], epsilon=(0.02, 0.1)[seed // 2 % 2])
        answer = method.explain(problem, people)
        ok = answer.ok
        n_ok += int(ok.sum())
        points, own = problem.read(answer.points).matrix, problem.read(people).matrix
        assert problem.rules.broken(points[ok], own[ok]) == [[]] * ok.sum()
        assert (points[ok] != own[ok]).any(axis=1).all()
        if ok.any():
            assert (model.predict_proba(answer.frame[ok])[:, 1] > 0.5).all()
        assert all(r for r, s in zip(answer.reason, answer.status, strict=True) if s in REFUSED)
        seen |= set(answer.status)
        # What is said to be impossible: no row of the table, made to fit, shows the contrary.
        sound = np.array([not trouble for trouble in problem.read(people).trouble])
        for i in np.flatnonzero(sound & (answer.status == Status.PRECLUDED)):
            low, high = (np.tile(b[i], (len(table), 1)) for b in problem.rules.bounds(own))
            mine = np.tile(own[i], (len(table), 1))
            fitted = problem.rules.settle(problem.training, mine, (low, high))
            assert not problem.gate.accepts(fitted).any()
    assert n_ok > n_seeds
    assert Status.OK in seen
    assert Status.PRECLUDED in seen or n_seeds < 60
    assert Status.INFEASIBLE not in seen


REFUSED = set(Status) - {Status.OK, Status.ACCEPTED}


def test_a_change_of_an_applicant_outside_a_stated_range_leads_into_it() -> None:
    line = np.linspace(0, 1, 101)[:, None]
    tree = DecisionTreeClassifier(max_depth=1).fit(line, line[:, 0] > 0.505)
    problem = Problem(tree, line, Schema((Feature("x0", low=0.7, high=0.9),)))
    answer = FeatureTweaking().explain(problem, [[0.2]])
    assert answer.points.tolist() == [[0.7]]


def test_one_hot_members_move_together() -> None:
    table, _ = mixed()
    towns = table[["town_0", "town_1", "town_2"]]
    tree = DecisionTreeClassifier(random_state=0).fit(towns, table["town_2"] == 1)
    schema = Schema(tuple(Feature(f"town_{t}", "onehot", group="town") for t in range(3)))
    people = towns[table["town_2"] == 0].iloc[:4]
    answer = FeatureTweaking().explain(Problem(tree, towns, schema), people)
    assert answer.points.to_numpy().tolist() == [[0, 0, 1]] * 4
    assert answer.cost.tolist() == [1.0] * 4
    away = DecisionTreeClassifier(random_state=0).fit(towns, table["town_2"] == 0)
    for optional, expected in (((), [1, 0, 0]), (("town",), [0, 0, 0])):
        free = Schema(schema.features, (), optional)
        people = towns[table["town_2"] == 1].iloc[:1]
        answer = FeatureTweaking().explain(Problem(away, towns, free), people)
        assert answer.points.to_numpy().tolist() == [expected]


def test_every_category_that_a_path_allows_is_tried() -> None:
    rng = np.random.default_rng(0)
    job = rng.integers(0, 6, 600)
    age = rng.integers(20, 60, 600)
    table = pd.DataFrame({"job": pd.Categorical([f"job {j}" for j in job]), "age": age})
    model = lgb.LGBMClassifier(n_estimators=20, min_data_per_group=5, cat_smooth=1,
                               n_jobs=1, verbose=-1).fit(table, job == 4)  # fmt: skip
    people = table[job != 4].iloc[:10]
    answer = FeatureTweaking(max_steps=1).explain(Problem(model, table), people)
    assert (answer.points["job"] == "job 4").all()
    assert answer.cost.tolist() == [1.0] * 10


@pytest.mark.parametrize("fill", [False, True])
def test_what_is_missing_stays_so_unless_it_may_be_filled(fill: bool) -> None:
    rng = np.random.default_rng(1)
    table = rng.random((300, 2))
    y = table[:, 0] > 0.5
    table[rng.random(300) < 0.2, 0] = np.nan
    problem = Problem(
        boosted(table, y & ~np.isnan(table[:, 0])),
        table,
        Schema((Feature("a", may_fill=fill), Feature("b"))),
    )
    answer = FeatureTweaking().explain(problem, [[np.nan, 0.5]])
    if fill:
        assert answer.status[0] == Status.OK
        assert answer.points[0, 0] > 0.5
        assert answer.cost[0] == 1.0
    else:
        assert (answer.status[0], answer.reason[0]) == (
            Status.PRECLUDED,
            "no accepted point keeps a (missing)",
        )


# --- when there is no answer ---------------------------------------------------------------------


def grid_tree(rule: Any, **changes: Any) -> Problem:
    side = np.linspace(0, 1, 21)
    table = np.array([(a, b, c) for a in side for b in side[::4] for c in side[::4]])
    tree = DecisionTreeClassifier(random_state=0).fit(table, rule(table))
    names = ("age", "income", "debt")
    return Problem(tree, table, Schema(tuple(Feature(n, **changes.get(n, {})) for n in names)))


def test_the_constraints_that_stand_in_the_way_are_named() -> None:
    either = grid_tree(
        lambda t: (t[:, 0] > 0.5) | (t[:, 1] < 0.3),
        age={"change": "none"}, income={"change": "increase"}, debt={"change": "decrease"},
    )  # fmt: skip
    answer = FeatureTweaking().explain(either, [[0.2, 0.6, 0.5]])
    assert answer.status[0] == Status.PRECLUDED
    assert answer.reason[0] == "no accepted point keeps age (fixed), income (may only rise)"


def test_constraints_that_only_stand_in_the_way_together_are_named_together() -> None:
    both = grid_tree(
        lambda t: (t[:, 0] > 0.5) & (t[:, 1] < 0.3),
        age={"change": "none"}, income={"low": 0.5, "high": 0.9}, debt={"change": "decrease"},
    )  # fmt: skip
    answer = FeatureTweaking().explain(both, [[0.2, 0.6, 0.5]])
    assert answer.reason[0] == "no accepted point keeps age (fixed), income (from 0.5 to 0.9)"


def test_a_gamma_that_nothing_reaches_is_named() -> None:
    noisy, y = toy_data(200, 3, seed=5)
    forest = RandomForestClassifier(5, max_depth=1, random_state=0).fit(noisy, y)
    problem = Problem(forest, noisy)
    answer = FeatureTweaking(gamma=0.99).explain(problem, declined(problem, 3))
    assert set(answer.status) == {Status.NOT_FOUND}
    assert set(answer.reason) == {"no allowed point scores above 0.99"}


# --- errors ---------------------------------------------------------------------------------------


def test_a_black_box_is_refused() -> None:
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    with pytest.raises(
        UnsupportedModel, match="FeatureTweaking needs the trees of the model.*NearestNeighbour"
    ):
        FeatureTweaking().explain(Problem(pipeline, X), X[:1])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"epsilon": 0}, "The 'epsilon' parameter of FeatureTweaking must be a number above 0"),
        ({"gamma": 1.0}, "The 'gamma' parameter of FeatureTweaking must be"),
        ({"max_steps": 0}, "The 'max_steps' parameter of FeatureTweaking must be an integer"),
        ({"max_candidates": 2.5}, "The 'max_candidates' parameter of FeatureTweaking must be"),
        ({"norm": 3}, "The 'norm' parameter of FeatureTweaking must be 1 or 2"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        FeatureTweaking(**parameters).explain(MODELS["XGBoost"], X[:1])
