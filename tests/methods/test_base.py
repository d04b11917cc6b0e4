"""What methods say where they have no answer, and what they need."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

import robx
from families import family
from robx import Feature, Problem, Schema, Status
from robx.arrays import same
from robx.methods import Method
from robx.problem import Applicants, SearchResult
from robx.progress import Progress

Floats = NDArray[np.float64]

# --- precluded: never where a look at all points finds one ---------------------------------------

HOMES = ["home_a", "home_b", "home_c"]
MODELS = ["tree", "xgboost", "xgboost, 0 is missing", "lightgbm, 0 is missing", "lightgbm", "hist"]


def small(name: str, seed: int) -> tuple[Any, pd.DataFrame, Schema]:
    """Draw a model of few trees, a table of few values, and what may change."""
    rng = np.random.default_rng(seed)
    n = 60
    X = pd.DataFrame({name: rng.integers(-1, 4, n).astype(float) for name in "abc"})
    X["c"] = X["c"].clip(0, 2)
    X[HOMES] = np.eye(3)[rng.integers(0, 3, n)]
    worth = X.to_numpy() @ rng.normal(size=6) + 0.3 * rng.normal(size=n)
    if name in {"xgboost", "hist"}:
        X.loc[rng.random(n) < 0.2, "a"] = np.nan
    quick: dict[str, Any] = {"n_estimators": int(rng.integers(1, 4)), "n_jobs": 1}
    light: dict[str, Any] = {
        "min_child_samples": 2,
        "min_data_in_bin": 1,
        "min_data_per_group": 1,
        "verbose": -1,
    }
    models = {
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
        "xgboost": xgb.XGBClassifier(max_depth=3, **quick),
        "xgboost, 0 is missing": xgb.XGBClassifier(max_depth=3, missing=0.0, **quick),
        "lightgbm, 0 is missing": lgb.LGBMClassifier(zero_as_missing=True, **light, **quick),
        "lightgbm": lgb.LGBMClassifier(**light, **quick),
        "hist": HistGradientBoostingClassifier(
            max_iter=2, min_samples_leaf=2, categorical_features=["c"]
        ),
    }
    fit: dict[str, Any] = {"categorical_feature": ["c", *HOMES]} if name == "lightgbm" else {}
    model = models[name].fit(X, worth > np.quantile(worth, 0.7), **fit)
    return model, X, _small_schema(rng)


def _small_schema(rng: np.random.Generator) -> Schema:
    def number(name: str) -> Feature:
        stated: dict[str, Any] = {"may_fill": bool(rng.random() < 0.4)}
        if rng.random() < 0.5:
            low = int(rng.integers(-1, 3))
            stated |= {"low": low, "high": low + int(rng.integers(0, 2))}
        ways = ["any", "any", "increase", "decrease", "none"]
        return Feature(name, "integer", change=rng.choice(ways), **stated)

    label = Feature("c", "categorical", levels=(0, 1, 2), change=rng.choice(["any", "none"]))
    change: Any = rng.choice(["any", "any", "none"])
    homes = [Feature(name, "onehot", group="home", change=change) for name in HOMES]
    relations = ["a <= b + 1"] if rng.random() < 0.3 else []
    optional = ["home"] if rng.random() < 0.4 else []
    return Schema((number("a"), number("b"), label, *homes), relations, optional)


def every_point(problem: Problem, x: Floats) -> Floats:
    """All points that the schema allows somebody, within what was seen: (n, d)."""
    seen = problem.training
    columns = []
    for j, f in enumerate(problem.schema.features[:3]):
        lowest, highest = np.nanmin([*seen[:, j], x[j]]), np.nanmax([*seen[:, j], x[j]])
        low, high = (lowest if f.low is None else f.low, highest if f.high is None else f.high)
        values = [float(v) for v in f.level_numbers or range(-1, 5) if low <= v <= high]
        if f.level_numbers:
            values = list(f.level_numbers)
        if np.isnan(x[j]):
            values = values if f.may_fill else []
        elif f.change != "any":
            way = {"increase": 1, "decrease": -1, "none": 0}[f.change]
            values = [v for v in values if (v - x[j]) * way > 0]
        columns.append([*values, float(x[j])])
    homes = [tuple(x[3:])]
    if problem.schema["home_a"].change == "any":
        homes += [tuple(row) for row in np.eye(3)]
        homes += [(0.0, 0.0, 0.0)] * len(problem.schema.optional_groups)
    points = np.array([(*p[:3], *p[3]) for p in itertools.product(*columns, homes)])  # type: ignore[misc]
    if problem.schema.relations:
        points = points[~(points[:, 0] > points[:, 1] + 1)]
    # Nobody comes to have a number that means "missing", but for a member that is not set.
    lost = np.isnan(problem.view.numbers(points)) & ~np.isnan(points) & ~same(points, x)
    return np.asarray(points[~lost[:, :3].any(axis=1)])


@pytest.mark.parametrize("name", MODELS)
def test_who_is_told_to_be_precluded_is_by_a_look_at_all_points(name: str) -> None:
    told = 0
    for seed in range(24):
        model, X, schema = small(name, seed)
        scores = model.predict_proba(X)[:, 1]
        threshold = float(np.quantile(scores, [0.5, 0.8, 0.95][seed % 3]))
        problem = Problem(model, X, schema, threshold=min(threshold, 0.99))
        people = X[scores <= problem.threshold][:6]
        matrix = problem.read(people).matrix
        reachable = np.array(
            [problem.gate.accepts(every_point(problem, x)).any() for x in matrix], dtype=bool
        )
        methods: list[Method] = [robx.NearestNeighbour(), robx.FeatureTweaking()]
        if seed % 4 == 0:
            methods.append(robx.Closest())
        for method in methods:
            answer = method.explain(problem, people)
            precluded = answer.status == Status.PRECLUDED
            assert not (precluded & reachable).any(), (seed, method)
            assert not (answer.ok & ~reachable).any(), (seed, method)
            told += int(precluded.sum())
            if isinstance(method, robx.Closest):
                assert (precluded == ~reachable).all()
            if name == "tree" and not schema.relations and schema["home_a"].change == "none":
                assert (precluded == ~reachable).all()  # the bound of one tree is reached
    assert told > 20


def test_the_base_is_told_so_as_well() -> None:
    case = family("forest")
    fixed = {f.name: {"change": "none"} for f in case.problem().schema}
    problem = case.problem(schema=case.problem().schema.override(fixed))
    for method in (robx.RobX(noise=robx.Noise(n_draws=16)), robx.Frugal()):
        answer = method.explain(problem, case.applicants[:5])
        assert answer.base is not None
        for some in (answer, answer.base):
            assert set(some.status) <= {Status.PRECLUDED, Status.ACCEPTED}
            assert not some.answered.any()
            assert all(r.startswith("no accepted point keeps ") for r in some.reason if r)


# --- which of the others -------------------------------------------------------------------------

GRID = np.array([[a, b] for a in range(10) for b in range(10)], dtype=float)
NUMBERS = (Feature("a", "integer"), Feature("b", "integer"))


def stepped(*features: Feature, relations: Any = ()) -> Problem:
    """Scores rise with a and b: 0.6 from a = 5 on, and up to 0.9 with b."""
    y = np.where(GRID[:, 0] >= 5, 0.6, 0.1) + np.where(GRID[:, 1] >= 8, 0.3, 0.0)
    rows = np.repeat(GRID, 20, axis=0)
    shares = np.tile(np.arange(20) / 20, len(GRID)) < np.repeat(y, 20) - 1e-9
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(rows, shares)
    return Problem(tree, GRID, Schema(features or NUMBERS, relations))


ASKING: list[Any] = [
    robx.NearestNeighbour, robx.LiveRegion, robx.FeatureTweaking, robx.Focus, robx.Face,
    robx.Closest,
]  # fmt: skip


@pytest.mark.parametrize("kind", ASKING)
def test_where_only_gamma_stands_in_the_way_nothing_is_found(kind: Any) -> None:
    problem = stepped(Feature("a", "integer"), Feature("b", "integer", change="none"))
    assert kind().explain(problem, [[0.0, 0.0]]).status[0] == Status.OK
    asked = kind(gamma=0.8).explain(problem, [[0.0, 0.0]])
    spent = kind is robx.Focus  # which cannot tell that more steps will not help
    assert asked.status[0] == (Status.BUDGET if spent else Status.NOT_FOUND)
    assert not asked.answered.any()
    assert asked.reason[0]
    nobody = kind(gamma=0.95).explain(stepped(), [[0.0, 0.0]])  # no row scores that high
    assert nobody.status[0] == (Status.BUDGET if spent else Status.NOT_FOUND)


@pytest.mark.parametrize("kind", ASKING)
def test_where_the_schema_stands_in_the_way_the_applicant_is_precluded(kind: Any) -> None:
    problem = stepped(Feature("a", "integer", change="decrease"), Feature("b", "integer"))
    for gamma in (None, 0.8):
        answer = kind(gamma=gamma).explain(problem, [[0.0, 0.0]])
        assert answer.status[0] == Status.PRECLUDED
        assert answer.reason[0] == "no accepted point keeps a (may only fall)"


def test_where_only_tau_stands_in_the_way_the_best_point_is_given() -> None:
    noise = robx.Noise(n_draws=16)
    for method in (
        robx.Conservative(tau=0.99, noise=noise),
        robx.RobX(tau=0.99, noise=noise),
        robx.Frugal(typical=0.0, max_outlier_score=0.0, noise=noise),
    ):
        answer = method.explain(stepped(), [[0.0, 0.0]])
        assert answer.status[0] == Status.UNSTABLE
        assert answer.score[0] > 0.5


def test_a_budget_is_used_up_only_where_more_of_it_may_help() -> None:
    either = DecisionTreeClassifier().fit(GRID, (GRID[:, 0] >= 5) | (GRID[:, 1] >= 8))
    fixed = Schema((Feature("a", "integer"), Feature("b", "integer", change="none")))
    problem = Problem(either, GRID, fixed)
    methods: list[Any] = [robx.NearestNeighbour(), robx.LiveRegion(n_rows=1), robx.Face()]
    for method in methods:
        # The nearest accepted rows are accepted for their b, which does not follow.
        little = replace(method, max_tries=3).explain(problem, [[0.0, 0.0]])
        assert (little.status[0], little.ok[0]) == (Status.BUDGET, False), method
        assert little.reason[0].startswith("none of the ")
        assert method.explain(problem, [[0.0, 0.0]]).status[0] == Status.OK


def black_box(problem: Problem) -> Problem:
    model = problem.model
    return Problem(robx.BlackBox(lambda t: model.score(np.asarray(t))), GRID, problem.schema)


def test_of_a_black_box_nothing_is_proved_but_what_stands_in_the_way_is_named() -> None:
    problem = black_box(
        stepped(Feature("a", "integer", change="decrease"), Feature("b", "integer"))
    )
    noise = robx.Noise(n_draws=16)
    for method in (
        robx.NearestNeighbour(),
        robx.Face(),
        robx.Conservative(noise=noise),
        robx.RobX(noise=noise),
        robx.Frugal(noise=noise),
    ):
        answer = method.explain(problem, [[0.0, 0.0]])
        assert answer.status[0] == Status.INFEASIBLE
        assert answer.reason[0] == (
            "no row of the support is accepted once it keeps a (may only fall)"
        )
        assert answer.obstacles == (("a (may only fall)",),)
        assert robx.Counterfactuals.from_dict(answer.to_dict()).obstacles == answer.obstacles
    # With a higher gamma it is still the schema; where only gamma is in the way, it is not.
    asked = robx.NearestNeighbour(gamma=0.8).explain(problem, [[0.0, 0.0]])
    assert asked.status[0] == Status.INFEASIBLE
    free = black_box(stepped(Feature("a", "integer"), Feature("b", "integer", change="none")))
    asked = robx.NearestNeighbour(gamma=0.8).explain(free, [[0.0, 0.0]])
    assert asked.status[0] == Status.NOT_FOUND
    assert "but none passes all that the method asks for" in asked.reason[0]


# --- needs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Needy(Method):
    """Finds nothing, and needs all there is."""

    needs: ClassVar[Any] = frozenset({"labels", "retrained models"})
    models: tuple[Any, ...] = ()

    def search(self, problem: Problem, applicants: Applicants, rows: Any) -> SearchResult:
        del problem, rows
        return SearchResult.nothing(applicants)


def test_what_a_method_needs_is_looked_at_before_work_starts() -> None:
    model = stepped().model
    with pytest.raises(robx.InvalidInput, match="Needy needs the labels of the training rows. Pas"):
        Needy().explain(Problem(model, GRID), GRID[:1])
    labelled = Problem(model, GRID, y_train=GRID[:, 0] > 4)
    with pytest.raises(robx.InvalidInput, match="Needy needs retrained models. Pass them as 'mod"):
        Needy().explain(labelled, GRID[:1])
    answer = Needy(models=(model,)).explain(labelled, GRID[:1])
    assert (answer.status[0], answer.reason[0]) == (Status.NOT_FOUND, "nothing was found")
    with pytest.raises(robx.UnsupportedModel, match="Closest needs the trees of the model, and th"):
        robx.Closest().explain(black_box(stepped()), GRID[:1])


def test_what_is_not_a_problem_is_refused() -> None:
    sentence = "NearestNeighbour.explain takes a robx.Problem and then the applicants. Got ndarray"
    with pytest.raises(robx.InvalidInput, match=sentence):
        robx.NearestNeighbour().explain(GRID, GRID)  # type: ignore[arg-type]


def test_what_is_not_noise_is_refused() -> None:
    for kind in (robx.RobX, robx.Conservative, robx.Frugal):
        with pytest.raises(robx.InvalidInput, match="'noise' parameter of .* must be a robx.Noise"):
            kind(noise=0.1).explain(stepped(), GRID[:1])  # type: ignore[arg-type]


def test_settings_are_plain_values() -> None:
    settings = robx.RobX(noise=robx.Noise(sigma={"a": 0.2}, n_draws=64)).settings()
    assert settings["noise"] == {
        "sigma": {"a": 0.2}, "n_draws": 64, "draws": "sobol", "rng": 0, "staged": True
    }  # fmt: skip
    assert settings["base"] == {
        "method": "NearestNeighbour", "norm": 1, "gamma": None, "max_tries": 10_000
    }  # fmt: skip
    assert robx.Frugal().settings()["noise"]["n_draws"] == 256


def test_rows_are_searched_some_at_a_time_and_come_back_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = stepped()
    asked: list[list[int]] = []

    class Noting(robx.NearestNeighbour):
        chunk = 4

        def search(self, problem: Problem, applicants: Applicants, rows: Any) -> SearchResult:
            asked.append(rows.tolist())
            return super().search(problem, applicants, rows)

    applicants = problem.read(GRID[45:65])
    with Progress(len(applicants), "Noting", shown=False) as bar:
        found = Noting().run(problem, applicants, bar)
    declined = np.flatnonzero(applicants.score <= 0.5).tolist()
    assert [row for some in asked for row in some] == declined
    assert max(map(len, asked)) == 4
    whole = robx.NearestNeighbour().explain(problem, GRID[45:65])
    np.testing.assert_array_equal(found.points, whole.points)
    assert found.status.tolist() == whole.status.tolist()
