from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xgboost import XGBClassifier

import robx
from contracts import assert_lawful, rows_of
from families import QUICK, TREES, family
from robx.arrays import Bools, Floats
from robx.methods import Method
from robx.problem.anonymity import Cells
from robx.schema import Codec, Rules
from robx.tables import Layout
from speed import examples, slow_but, tries
from strategies import random_schema


def table(n: int, seed: int) -> pd.DataFrame:
    """Columns of all kinds: many equal values, missing ones, levels, a group, a follower."""
    rng = np.random.default_rng(seed)
    home = rng.integers(0, 3, n)
    gain = np.where(rng.random(n) < 0.8, 0.0, rng.gamma(2, 500, n).round())
    grade = rng.integers(0, 4, n)
    return pd.DataFrame(
        {
            "rate": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "gain": gain,
            "age": rng.integers(18, 70, n),
            "place": np.array(["city", "town", "farm"])[rng.integers(0, 3, n)],
            "grade": grade,
            "grade_name": np.array(["none", "low", "mid", "high"])[grade],
            **{f"home_{k}": (home == k).astype(int) for k in range(3)},
            "always": 1.5,
        }
    )


def rules_of(frame: pd.DataFrame) -> tuple[Rules, Floats]:
    schema = robx.Schema.infer(frame).override(
        together=[["grade", "grade_name"]],
    )
    codec = Codec(schema.features, Layout.of(frame))
    rows = codec.read(frame, "X")
    return schema.fit_matrix(rows, codec.single).rules(codec, rows), rows


@st.composite
def cases(draw: st.DrawFn) -> tuple[Rules, Floats, Bools, int]:
    n, seed = draw(st.integers(2, 120)), draw(st.integers(0, 999))
    frame = table(n, seed)
    if draw(st.booleans()):  # many rows that are alike
        frame = frame.iloc[np.random.default_rng(seed).integers(0, min(n, 4), n)]
    rules, rows = rules_of(frame.reset_index(drop=True))
    kinds = np.random.default_rng(seed).random(n) < draw(st.sampled_from([0.0, 0.05, 0.5]))
    return rules, rows, kinds, draw(st.integers(2, min(n, 12)))


@examples(150)
@given(cases())
def test_every_cell_stands_for_at_least_k_rows_that_are_alike(
    case: tuple[Rules, Floats, Bools, int],
) -> None:
    rules, rows, kinds, k = case
    cells = Cells.of(rules, rows, kinds, k)
    assert (np.bincount(cells.cell) == cells.size).all()
    assert cells.size.min() >= k
    middles = cells.middles(rules, rows)
    for c in range(len(cells.size)):
        members, middle = rows[cells.cell == c], middles[c]
        alike = (members == members[0]) | (np.isnan(members) & np.isnan(members[0]))
        assert len(members) < 2 * k or alike.all()
        if kinds.sum() >= k and (~kinds).sum() >= k:
            assert len(set(kinds[cells.cell == c])) == 1
        with np.errstate(invalid="ignore"):
            known = ~np.isnan(members)
            inside = (np.nan_to_num(members, nan=np.inf).min(axis=0) <= middle + 1e-9) & (
                middle - 1e-9 <= np.nan_to_num(members, nan=-np.inf).max(axis=0)
            )
        assert (inside | (known.sum(axis=0) * 2 <= len(members))).all()
        for j, feature in enumerate(rules.features):
            if feature.level_numbers:
                assert middle[j] in members[:, j]
        for columns in rules.groups.values():
            assert (members[:, columns] == middle[columns]).all(axis=1).any()


@examples(60)
@given(cases(), st.integers(0, 99))
def test_the_order_of_the_rows_makes_no_difference(
    case: tuple[Rules, Floats, Bools, int], seed: int
) -> None:
    rules, rows, kinds, k = case
    # Rows that are alike are of one kind here, as those that a model scores are.
    kinds = np.nan_to_num(rows[:, 0]) > 0
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    one = Cells.of(rules, rows, kinds, k)
    other = Cells.of(rules, rows[shuffled], kinds[shuffled], k)
    assert one.middles(rules, rows).tobytes() == (other.middles(rules, rows[shuffled]).tobytes())
    assert (one.size == other.size).all()


def test_a_middle_is_a_common_value_else_the_mean_and_a_most_frequent_level() -> None:
    frame = table(5, 0).assign(
        rate=[np.nan, np.nan, np.nan, 1.0, 2.0],
        gain=[0.0, 0.0, 0.0, 700.0, 900.0],
        age=[20, 21, 30, 40, 49],
        place=["city", "farm", "farm", "town", "city"],
        home_0=[1, 1, 0, 0, 0],
        home_1=[0, 0, 1, 1, 1],
        home_2=0,
    )
    rules, rows = rules_of(frame)
    cells = Cells.of(rules, rows, np.zeros(5, dtype=bool), 5)
    middle = dict(zip([f.name for f in rules.features], cells.middles(rules, rows)[0], strict=True))
    assert np.isnan(middle["rate"])  # three of five lack it
    assert middle["gain"] == 0.0
    assert middle["age"] == 32.0
    assert [middle[f"home_{k}"] for k in range(3)] == [0, 1, 0]
    place = next(f for f in rules.features if f.name == "place")
    assert place.say(middle["place"]) == "city"  # as frequent as farm, and the first of both


@pytest.mark.parametrize("name", slow_but(QUICK, [*TREES, "pipeline"]))
def test_the_support_is_legal_accepted_and_on_allowed_values(name: str) -> None:
    case = family(name)
    guess = case.problem().schema
    for seed in range(tries(4, 3)):
        rng = np.random.default_rng(seed)
        schema = guess if seed == 0 else random_schema(guess, case.X, rng)
        problem = case.problem(schema=schema, k_anonymous=int(rng.integers(2, 15)))
        rows, k = problem.support.rows, problem.k_anonymous
        assert k is not None
        assert len(problem.training) <= len(case.X) // k
        assert problem.gate.keeps(problem.training).all()
        again, legal = problem.gate.settled(problem.training)
        np.testing.assert_array_equal(again, problem.training)
        assert legal.all()
        if len(rows):
            assert (case.probability(problem.codec.write(rows)) > 0.5).all()


METHODS = {
    "frugal": robx.Frugal(),
    "robx": robx.RobX(),
    "nearest": robx.NearestNeighbour(),
    "conservative": robx.Conservative(tau=0.3),
    "tweaking": robx.FeatureTweaking(),
    "face": robx.Face(),
    "live region": robx.LiveRegion(),
    "closest": robx.Closest(),
}


@pytest.mark.parametrize("name", slow_but(["frugal", "robx", "nearest"], list(METHODS)))
def test_answers_of_the_methods_are_lawful(name: str) -> None:
    method: Method = METHODS[name]
    case = family("xgboost")
    problem = case.problem(k_anonymous=10)
    answer = method.explain(problem, rows_of(case.applicants, slice(30)))
    assert_lawful(answer, case, problem)
    assert answer.ok.any()
    assert answer.origin["k_anonymous"] == 10
    assert answer.origin["n_support"] == len(case.X)


def numbers(n: int = 600) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    model = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1)
    return model.fit(X, X[:, 0] + X[:, 1] > 0), X, X[:, 0] + X[:, 1] > 0


def test_no_persons_row_and_no_extreme_is_kept_for_the_search() -> None:
    model, X, _ = numbers()
    plain, problem = robx.Problem(model, X), robx.Problem(model, X, k_anonymous=5)
    method = robx.Frugal()
    for one in (plain, problem):
        method.explain(one, X[:5])
    pairs = {row[j : j + 2].tobytes() for row in X for j in range(X.shape[1] - 1)}
    stored = {name: pickle.dumps(one) for name, one in (("plain", plain), ("k", problem))}
    assert sum(pair in stored["plain"] for pair in pairs) > len(pairs) / 2
    assert not any(pair in stored["k"] for pair in pairs)
    assert (problem.rules.seen[0] > X.min(axis=0)).all()
    assert (problem.rules.seen[1] < X.max(axis=0)).all()
    assert (problem.rules.scale < plain.rules.scale).all()
    again = pickle.loads(stored["k"])
    assert again.people is None
    first, second = (method.explain(one, X[:20]) for one in (problem, again))
    np.testing.assert_array_equal(first.points, second.points)
    assert first.crowds is not None
    assert second.crowds is None
    assert problem.renewed().people is problem.people


def test_without_it_the_support_is_the_accepted_rows() -> None:
    model, X, _ = numbers()
    problem = robx.Problem(model, X)
    accepted = X[model.predict_proba(X)[:, 1] > 0.5]
    np.testing.assert_array_equal(problem.support.rows, accepted)
    assert problem.people is problem.support.rows
    assert "k_anonymous" not in problem.origin


def test_a_problem_says_how_many_people_its_rows_stand_for() -> None:
    model, X, _ = numbers()
    text = repr(robx.Problem(model, X, k_anonymous=50))
    assert "600 rows" in text
    assert "accepted (score > 0.5, for at least 50 people each)" in text


@pytest.mark.parametrize("k", [1, 0, 2.5, True, "five"])
def test_a_k_that_makes_no_sense_is_refused(k: Any) -> None:
    model, X, _ = numbers()
    with pytest.raises(robx.InvalidInput, match="'k_anonymous' parameter of Problem must be"):
        robx.Problem(model, X, k_anonymous=k)


def test_more_people_than_there_are_cannot_be_stood_for() -> None:
    model, X, _ = numbers()
    with pytest.raises(robx.InvalidInput, match=r"must be at most 600, the number of rows"):
        robx.Problem(model, X, k_anonymous=601)
    assert len(robx.Problem(model, X, k_anonymous=600).training) == 1


def test_labels_are_those_of_most_of_the_people() -> None:
    model, X, y = numbers()
    problem = robx.Problem(model, X, y_train=np.where(y, "good", "bad"), k_anonymous=7)
    assert problem.labels is not None
    assert len(problem.labels) == len(problem.training)
    # The model has learned its rows, and cells hold rows that it accepts, or that it does not.
    agree = (problem.labels == "good") == (problem.training[:, :2].sum(axis=1) > 0)
    assert agree.mean() > 0.9


def test_explain_takes_it_and_notes_it() -> None:
    model, X, y = numbers()
    answer = robx.explain(model, X, X[:10], y_train=y, n_models=6, keep=None, k_anonymous=20)
    assert answer.certificate is not None
    assert answer.origin["k_anonymous"] == 20
    assert answer.ok.any()
    assert answer.crowds is not None
    assert answer.crowds.k_anonymous == 20
    same = robx.explain(model, X, X[:10], y_train=y, n_models=6, keep=None)
    assert "k_anonymous" not in same.origin
    # An answer for which a single training row was the source equals it in what it changes.
    assert same.crowds is not None
    assert same.crowds.n_alone >= answer.crowds.n_alone
