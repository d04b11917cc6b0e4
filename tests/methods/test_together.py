"""Closest, where columns go together, against every point that an applicant may have."""

from __future__ import annotations

import itertools
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.ensemble import RandomForestClassifier

import robx
from robx.schema import Together
from speed import slow_but

GRADES = ("none", "school", "degree", "master")


def table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    grade, town = rng.integers(0, 4, n), rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(np.array(GRADES)[grade], GRADES),
            "years": np.array([1, 9, 13, 14])[grade],
            "savings": rng.integers(0, 4, n),
            "code": np.array([5, 0, 2])[town],
        }
    )
    frame["money"] = 100 * frame["savings"] ** 2
    for k, name in enumerate("abc"):
        frame[f"town_{name}"] = (town == k).astype(int)
    return frame


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(grade=frame["grade"].cat.codes.astype(int))


def labels(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    worth = frame["years"] / 7 + frame["money"] / 400 + 0.7 * frame["savings"] + frame["town_c"]
    return np.asarray(worth > worth.quantile(0.6))


def schema(frame: pd.DataFrame, seed: int) -> robx.Schema:
    """Guess what goes together; say at random what may change, also of what follows."""
    rng = np.random.default_rng(seed)
    found = robx.Schema.infer(frame)
    assert [set(one.names) for one in found.together] == [
        {"grade", "years"},
        {"savings", "money"},
        {"code", "town"},
    ]
    ways = ["any", "any", "increase", "decrease"]
    changes: dict[str, dict[str, Any]] = {
        "savings": {"change": str(rng.choice(ways)), "weight": float(rng.choice([0.5, 2.0]))},
        "money": {"max_increase": [None, 300, 400][rng.integers(3)]},
        "years": {"change": str(rng.choice(ways)), "within": [None, 5, 12][rng.integers(3)]},
        "code": {"change": str(rng.choice(["any", "any", "none"]))},
    }
    relations = [[], ["years + 4*savings <= 22"], ["money <= 500 + 100*code"]][seed % 3]
    if seed % 2:  # the group leads
        ties: list[Any] = [one for one in found.together if "code" not in one.names]
        found = found.override(together=[*ties, ["town", "code"]]).fit(frame)
        changes["code"] = {"change": "any"}
    return found.override(changes, relations=relations)


def every_point(problem: robx.Problem, x: pd.Series[Any], frame: pd.DataFrame) -> pd.DataFrame:
    """All that an applicant may come to have, by looking at all rows that go together."""
    options = []
    for one in problem.schema.together:
        names = list(one.names) if "town" not in one.names else ["code", *TOWNS]
        rows = [x[names].tolist(), *frame[names].drop_duplicates().to_numpy(object).tolist()]
        options.append([dict(zip(names, row, strict=True)) for row in rows])
    points = pd.DataFrame(
        [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*options)]
    )[list(frame.columns)]
    points = points.astype(frame.dtypes.to_dict())
    kept = np.ones(len(points), dtype=bool)
    for f in problem.schema:
        if f.kind == "integer":
            move = points[f.name].astype(float) - float(x[f.name])
            kept &= (f.change not in {"increase", "none"}) | (move >= 0)
            kept &= (f.change not in {"decrease", "none"}) | (move <= 0)
            kept &= (move <= (np.inf if f.max_increase is None else f.max_increase)) | (move == 0)
            kept &= (-move <= (np.inf if f.max_decrease is None else f.max_decrease)) | (move == 0)
    for relation in problem.schema.relations:
        kept &= sum(c * points[name] for name, c in relation.terms) <= relation.bound
    return points[kept]


TOWNS = ["town_a", "town_b", "town_c"]


def cost(problem: robx.Problem, points: pd.DataFrame, x: pd.Series[Any]) -> pd.Series[float]:
    """What it costs to move the features that lead, and only these."""
    total = pd.Series(0.0, index=points.index)
    for one in problem.schema.together:
        leader = one.names[0]
        f = problem.schema["town_a" if leader == "town" else leader]
        if leader == "town":
            moved = 0.5 * (points[TOWNS] != x[TOWNS].to_numpy()).sum(axis=1)
        elif f.kind == "categorical":
            moved = (points[leader] != x[leader]).astype(float)
        else:
            moved = (points[leader] - x[leader]).abs()
        total += f.weight * moved / float(f.scale or 1.0)
    return total


@pytest.mark.parametrize("seed", slow_but([0, 1, 2, 5], range(12)))
@pytest.mark.parametrize("family", ["forest", "xgboost"])
def test_the_closest_point_is_the_closest_of_all_that_go_together(family: str, seed: int) -> None:
    frame = table(300)
    model: Any = xgb.XGBClassifier(n_estimators=15, max_depth=3, enable_categorical=True, n_jobs=1)
    if family == "forest":
        frame, model = numbers(frame), RandomForestClassifier(9, max_depth=5, random_state=0)
    model.fit(frame, labels(frame))
    problem = robx.Problem(model, frame, schema(frame, seed))
    declined = frame[model.predict_proba(frame)[:, 1] <= 0.5][seed : seed + 8]
    answer = robx.Closest(effort=5.0).explain(problem, declined)
    n_ok = 0
    for i, (_, x) in enumerate(declined.iterrows()):
        points = every_point(problem, x, frame)
        accepted = points[model.predict_proba(points)[:, 1] > 0.5] if len(points) else points
        if len(accepted) == 0:
            assert not answer.ok[i]
            continue
        n_ok += 1
        assert answer.ok[i], answer.reason[i]
        best = cost(problem, accepted, x).min()
        assert answer.cost[i] == pytest.approx(best)
        assert answer.measured["bound"][i] == pytest.approx(best)
    assert not any(problem.schema.violations(answer.points, declined))
    assert n_ok > 0 or seed not in {0, 1}


def test_alternatives_and_reasons_know_what_goes_together() -> None:
    frame = numbers(table(300))
    model = RandomForestClassifier(9, max_depth=5, random_state=0).fit(frame, labels(frame))
    found = robx.Schema.infer(frame)
    declined = frame[model.predict(frame) == 0][:8]
    answer = robx.alternatives(
        robx.Frugal(level=0.1), robx.Problem(model, frame, found), declined, 2
    )
    for one in (answer, *answer.alternatives):
        assert (one.points["money"] == 100 * one.points["savings"] ** 2).all()
    said = [line for lines in answer.changes for line in lines]
    assert any("savings: " in line and "(money " in line for line in said)
    assert not any(line.startswith("money") for line in said)
    stuck = found.override({f.name: {"change": "none"} for f in found})
    refused = robx.FeatureTweaking().explain(robx.Problem(model, frame, stuck), declined)
    assert (refused.status == "precluded").all()


def test_together_is_what_the_schema_gives() -> None:
    found = robx.Schema.infer(numbers(table(300)))
    assert all(isinstance(one, Together) for one in found.together)


def test_a_rule_on_what_follows_is_named_where_it_holds_an_applicant_back() -> None:
    frame = table(200)[["years", "savings"]].assign(code=lambda t: t["years"] * 3)
    model = RandomForestClassifier(10, random_state=0, max_features=None)
    shuffled = frame["years"].sample(frac=1, random_state=0).to_numpy()
    model.fit(frame.assign(years=shuffled), frame["code"] >= 39)  # it looks at the code alone
    guess = robx.Schema.infer(frame)
    people = frame[frame["years"] == 9][:1]
    said = {}
    cases: dict[str, dict[str, dict[str, Any]]] = {
        "follower": {"code": {"max_increase": 1}},
        "leader": {"years": {"change": "none"}},
        "both": {"code": {"max_increase": 1}, "years": {"change": "none"}},
    }
    for name, rules in cases.items():
        problem = robx.Problem(model, frame, guess.override(rules, together=[["years", "code"]]))
        said[name] = robx.NearestNeighbour().explain(problem, people).reason[0]
    assert said["follower"] == "no accepted point keeps code (may rise by at most 1)"
    assert said["leader"].endswith("keeps years (fixed)")
    assert said["both"] == "no accepted point keeps years (fixed), code (may rise by at most 1)"


def test_an_array_with_columns_that_go_together_takes_the_names_of_the_model() -> None:
    frame = table(200).drop(columns="grade")
    model = RandomForestClassifier(10, random_state=0).fit(frame, labels(table(200)))
    unnamed = robx.Schema.infer(frame.to_numpy(dtype=float))
    named = robx.Problem(model, frame.to_numpy(dtype=float), unnamed).schema
    place = dict(zip(unnamed.names, named.names, strict=True))
    assert len(unnamed.together) > 0
    for one, two in zip(unnamed.together, named.together, strict=True):
        assert tuple(place.get(name, name) for name in one.names) == two.names
        assert len(one.values) == len(two.values)


def test_a_level_that_the_model_does_not_know_goes_with_nothing() -> None:
    frame = table(300)[["grade", "years", "savings"]]
    known = frame[frame["grade"] != "none"]
    known = known.assign(grade=known["grade"].cat.remove_unused_categories())
    model = lgb.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    model.fit(known, known["savings"] > 1)
    guess = robx.Schema.infer(frame)
    with pytest.warns(robx.RobxWarning, match="The model was not trained on 'none'"):
        found = robx.Problem(model, frame, guess).schema
    assert {row[0] for row in found.together[0].values} == {*GRADES[1:]}  # noqa: PD011
