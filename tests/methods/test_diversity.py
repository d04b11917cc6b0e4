from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import robx
from contracts import assert_lawful, assert_same_answers, rows_of
from families import family
from robx.methods import Method
from speed import slow_but
from strategies import random_schema

Bools = NDArray[np.bool_]
METHODS: dict[str, Method] = {
    "Frugal": robx.Frugal(n_targets=3, halvings=2, level=0.4, noise=robx.Noise(n_draws=32)),
    "RobX": robx.RobX(n_targets=3, tau=0.5, noise=robx.Noise(n_draws=32)),
    "NearestNeighbour": robx.NearestNeighbour(norm=2),
}
FAMILIES = ["xgboost", "lightgbm", "forest"]
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


def changed_by(answer: robx.Counterfactuals) -> list[frozenset[str]]:
    """Which features each answer changes, a one-hot group by its name, as a user would see it."""
    return [frozenset(line.split(":")[0] for line in lines) for lines in answer.changes]


@every_method
@pytest.mark.parametrize("name", slow_but(["forest"], FAMILIES))
@pytest.mark.parametrize("seed", slow_but([0], [0, 1]))
def test_each_answer_leaves_out_something_that_every_earlier_one_changes(
    method: Method, name: str, seed: int
) -> None:
    case = family(name)
    problem = case.problem()
    if seed:
        rng = np.random.default_rng(seed)
        problem = case.problem(schema=random_schema(problem.schema, case.X, rng))
    some = rows_of(case.applicants, slice(20))
    first = robx.alternatives(method, problem, some, 4)
    answers = [first, *first.alternatives]
    assert len(answers) == 4
    kinds: set[str] = set()
    for k, answer in enumerate(answers):
        assert_lawful(answer, case, problem)
        assert (answer.status == "already accepted").tolist() == (
            first.status == "already accepted"
        ).tolist()
        for i in np.flatnonzero(answer.answered):
            features = changed_by(answer)[i]
            assert len(features) == answer.n_changes[i]
            kinds |= features
            for earlier in answers[:k]:
                assert earlier.answered[i]  # who had no answer has no other
                assert changed_by(earlier)[i] - features
    if not seed:
        assert (answers[1].answered & first.answered).sum() > 4
        assert "home" in kinds or name != "forest"


@every_method
def test_the_first_answers_are_those_of_the_method(method: Method) -> None:
    case = family("forest")
    some = rows_of(case.applicants, slice(12))
    alone = method.explain(case.problem(), some)
    many = robx.alternatives(method, case.problem(), some, 2)
    assert_same_answers(alone, many, range(12))
    assert robx.alternatives(method, case.problem(), some, 1).alternatives == ()
    again = robx.alternatives(method, case.problem(), rows_of(some, [3, 4, 5]), 2)
    assert_same_answers(many.alternatives[0], again.alternatives[0], [3, 4, 5])


@every_method
def test_every_answer_that_is_ok_is_firm(method: Method) -> None:
    case = family("xgboost")
    first = robx.alternatives(method, case.problem(), rows_of(case.applicants, slice(20)), 3)
    for answer in first.alternatives:
        if "tau" in answer.settings:
            assert answer.settings["tau"] == first.settings["tau"]
            assert (answer.stability[answer.ok] >= answer.settings["tau"]).all()
        for name, numbers in answer.measured.items():
            assert np.isfinite(numbers[answer.answered]).all(), name


def tree_problem() -> robx.Problem:
    rows = np.array([[a, b, c] for a in range(5) for b in range(5) for c in range(2)], dtype=float)
    rows = np.repeat(rows, 3, axis=0)
    model = DecisionTreeClassifier().fit(rows, (rows[:, 0] >= 3) | (rows[:, 1] >= 4))
    features = (
        *(robx.Feature(name, "integer", scale=1.0) for name in "ab"),
        robx.Feature("c", scale=1.0),
    )
    return robx.Problem(model, rows, robx.Schema(features))


def test_where_there_is_no_other_way_the_status_says_so() -> None:
    problem = tree_problem()
    people = np.array([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0], [np.inf, 0.0, 0.0]])
    first = robx.alternatives(robx.LiveRegion(), problem, people, 3)
    second, third = first.alternatives
    assert first.changes == (("a: 2 → 3",), ("b: 3 → 4",), (), ())
    assert second.changes == (("b: 0 → 4",), ("a: 0 → 3",), (), ())
    assert third.changes == ((), (), (), ())
    assert [str(s) for s in third.status[:3]] == ["nothing found"] * 2 + ["already accepted"]
    assert third.reason[0] == "no answer was found without a, b"
    assert third.points[0].tolist() == people[0].tolist()
    for answer in first.alternatives:
        assert (answer.status[3], answer.reason[3]) == (first.status[3], first.reason[3])


def test_of_an_answers_features_the_one_is_held_that_can_be_spared_most_cheaply() -> None:
    # The answer changes a by 2 and b by 1. Without b, a must rise by 3; without a, b by 10.
    rows = np.array([[a, b] for a in range(4) for b in range(11)], dtype=float)
    label = ((rows[:, 0] >= 2) & (rows[:, 1] >= 1)) | (rows[:, 0] >= 4) | (rows[:, 1] >= 10)
    rows = np.concatenate([rows, [[4.0, 0.0]] * 3])
    label = np.concatenate([label, [True] * 3])
    schema = robx.Schema(tuple(robx.Feature(name, "integer", scale=1.0) for name in "ab"))
    problem = robx.Problem(DecisionTreeClassifier().fit(rows, label), rows, schema)
    first = robx.alternatives(robx.NearestNeighbour(), problem, [[0.0, 0.0]], 2)
    assert first.changes == (("a: 0 → 2", "b: 0 → 1"),)
    assert first.alternatives[0].changes == (("a: 0 → 4",),)


def test_another_answer_differs_by_a_feature_that_matters() -> None:
    # The answer changes a by 20 and c a little. Without c, a by 21 is cheap, and hardly another.
    rows = np.array([[a, b, c] for a in range(21) for b in (0, 30) for c in (0, 1)], dtype=float)
    rows = np.concatenate([rows, [[21.0, 0.0, 0.0]] * 3])
    a, b, c = rows.T
    label = ((a >= 20) & (c >= 1)) | (a >= 21) | (b >= 30)
    schema = robx.Schema(
        tuple(robx.Feature(n, "integer", scale=s) for n, s in zip("abc", (1, 1, 2), strict=True))
    )
    problem = robx.Problem(DecisionTreeClassifier().fit(rows, label), rows, schema)
    first = robx.alternatives(robx.NearestNeighbour(), problem, [[0.0, 0.0, 0.0]], 2)
    assert first.changes == (("a: 0 → 20", "c: 0 → 1"),)
    assert first.alternatives[0].changes == (("b: 0 → 30",),)


def test_an_answer_that_comes_again_is_refused() -> None:
    given = robx.Given(points=[[3.0, 0.0, 0.0]])
    first = robx.alternatives(given, tree_problem(), [[2.0, 0.0, 0.0]], 2)
    assert first.ok.tolist() == [True]
    (again,) = first.alternatives
    assert again.status.tolist() == [robx.Status.NOT_FOUND]
    assert again.reason == ("no answer was found without a",)
    assert again.cost.tolist() == [0]


def test_a_missing_value_that_is_held_is_not_filled_in() -> None:
    case = family("lightgbm")
    schema = case.problem().schema.override(
        income={"may_fill": True, "weight": 3.0}, debts={"may_fill": True}
    )
    problem = case.problem(schema=schema)
    people = case.applicants[case.applicants[["income", "debts"]].isna().any(axis=1)]
    first = robx.alternatives(METHODS["RobX"], problem, people, 3)
    filled = [answer.points.notna() & people.isna() for answer in (first, *first.alternatives)]
    assert filled[0].any(axis=None)
    spared = 0
    for i in range(len(people)):
        answered = [one for one in (first, *first.alternatives) if one.answered[i]]
        for k, later in enumerate(answered):
            for earlier in answered[:k]:
                left_out = changed_by(earlier)[i] - changed_by(later)[i]
                assert left_out
                spared += bool(left_out & set(people.columns[people.iloc[i].isna()]))
    assert spared


def test_saved_alternatives_come_back(tmp_path: Path) -> None:
    case = family("forest")
    some = rows_of(case.applicants, slice(8))
    first = robx.alternatives(METHODS["Frugal"], case.problem(), some, 3)
    first.save(tmp_path / "answers.json")
    loaded = robx.Counterfactuals.load(tmp_path / "answers.json")
    assert len(loaded.alternatives) == 2
    for ours, theirs in zip(first.alternatives, loaded.alternatives, strict=True):
        assert_same_answers(ours, theirs, range(8))
        assert {k: v.tolist() for k, v in theirs.measured.items()}.keys() == ours.measured.keys()
    damaged = first.to_dict()
    damaged["alternatives"][1] = {"method": "x"}
    with pytest.raises(robx.InvalidInput, match="not counterfactuals"):
        robx.Counterfactuals.from_dict(damaged)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("RobX", None, [[0.0]]), "alternatives takes a method first. Got 'RobX'"),
        (
            (robx.NearestNeighbour(), None, [[0.0]]),
            "alternatives takes a method, a robx.Problem and then the applicants. Got NoneType",
        ),
        ((robx.NearestNeighbour(), tree_problem(), [[0.0, 0.0, 0.0]], 0), "integer from 1"),
    ],
)
def test_bad_input_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.alternatives(*arguments)


def test_many_small_changes_have_alternatives_as_well() -> None:
    """None of fourteen changes has a tenth of the cost; the dearest is done without even so."""
    rng = np.random.default_rng(0)
    accepted = np.arange(200) % 2 == 1
    X = np.where(accepted[:, None], 0.8, 0.2) + 0.02 * rng.random((200, 14))
    model = RandomForestClassifier(30, random_state=0, max_features=3).fit(X, accepted)
    problem = robx.Problem(model, X)
    answer = robx.alternatives(robx.NearestNeighbour(), problem, X[~accepted][:2], 2)
    assert [len(lines) for lines in answer.changes] == [14, 14]
    assert answer.alternatives[0].ok.all()
    assert [len(lines) for lines in answer.alternatives[0].changes] == [13, 13]
