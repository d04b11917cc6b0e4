"""Functions and objects of a user's own, in the place of a method."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from xgboost import XGBClassifier

import robx
from contracts import assert_lawful, rows_of
from families import EVERY, family
from robx.methods import as_method
from robx.problem import Problem
from robx.scenarios import DropRows
from speed import slow_but
from study_cases import NN, SCHEMA, STUDY, X, Y, boosted, value, without_time

MODEL = boosted().fit(X[:200], Y[:200])
PEOPLE = X[200:]


def problem() -> Problem:
    return Problem(MODEL, X[:200], SCHEMA)


def nearest(asked: Problem, some: pd.DataFrame) -> pd.DataFrame:
    """Returns the nearest accepted rows, as a table alone."""
    assert list(some) == list(X)
    assert (asked.model.score(some) <= asked.threshold).all()  # nobody else needs an answer
    found: pd.DataFrame = NN.explain(asked, some).frame
    return found


class Nearest:
    """An object that is no `Method`, and answers like one."""

    def explain(self, asked: Problem, some: pd.DataFrame) -> np.ndarray[Any, Any]:
        return np.asarray(nearest(asked, some))


def as_answer(asked: Problem, some: pd.DataFrame) -> robx.Counterfactuals:
    return NN.explain(asked, some)


def explained(method: Any, people: Any = PEOPLE) -> robx.Counterfactuals:
    return robx.explain(MODEL, X[:200], people, schema=SCHEMA, method=method)


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [nearest, Nearest(), as_answer], ids=["table", "object", "answer"])
def test_points_of_a_function_are_answers_like_any_other(own: Any) -> None:
    ours, theirs = explained(own), explained(NN)
    assert theirs.ok.sum() > 20
    assert ours.frame.equals(theirs.frame)
    assert ours.status.tolist() == theirs.status.tolist()
    for name in ("score", "stability", "cost", "n_changes"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=True)
    assert ours.method == getattr(own, "__name__", "Nearest")


@pytest.mark.parametrize("name", slow_but(["xgboost"], EVERY))
def test_whatever_a_function_returns_becomes_lawful(name: str) -> None:
    case = family(name)
    others = rows_of(case.applicants, slice(25, 50))

    def others_have(_: Problem, some: Any) -> Any:
        return rows_of(others, slice(0, len(some)))

    asked = case.problem()
    method = as_method(others_have)
    assert method is not None
    answer = method.explain(asked, rows_of(case.applicants, slice(0, 25)))
    assert_lawful(answer, case, asked)


def test_points_are_brought_onto_the_schema_and_judged() -> None:
    X = pd.DataFrame({"a": np.arange(100) % 10, "b": np.arange(100) // 10})
    model = XGBClassifier(n_estimators=5, n_jobs=1).fit(X, X["a"] >= 5)
    fixed = robx.Schema.infer(X).override(b={"change": "none"})

    def wishes(_: Problem, some: pd.DataFrame) -> list[list[float]]:
        points = [[7.4, 9.0], [2.0, 0.0], [np.nan, np.nan], [9.0, 9.0]]
        return points[: len(some)]

    people = pd.DataFrame({"a": [1, 1, 1, 1], "b": [3, 3, 3, 3]})
    answer = robx.explain(model, X, people, schema=fixed, method=wishes)
    assert answer.frame["a"].tolist() == [7, 1, 1, 9]
    assert (answer.frame["b"] == 3).all()
    assert answer.status.tolist() == ["ok", "nothing found", "nothing found", "ok"]
    assert answer.reason[1] == (
        "the counterfactual that was returned is not accepted once it keeps the schema"
    )
    assert answer.reason[2] == "no counterfactual was returned"


def test_a_function_gets_the_kind_of_table_that_the_model_was_trained_on() -> None:
    kinds = []

    def looks(asked: Problem, some: Any) -> Any:
        kinds.append(type(some))
        return nearest(asked, some)

    theirs = explained(looks, pl.from_pandas(PEOPLE))
    assert set(kinds) == {pd.DataFrame}
    assert isinstance(theirs.points, pl.DataFrame)


def test_what_an_answer_says_of_itself_is_kept() -> None:
    """RobX says who is unstable or without an answer; a function passes it on."""
    strict = robx.RobX(tau=0.999)

    def robust(asked: Problem, some: Any) -> robx.Counterfactuals:
        return strict.explain(asked, some)

    ours, theirs = explained(robust), explained(strict)
    assert {"unstable", "nothing found", "infeasible"} & set(theirs.status)
    assert ours.status.tolist() == theirs.status.tolist()
    assert ours.reason == theirs.reason


def test_a_function_can_be_the_base_of_robx() -> None:
    ours = robx.RobX(base=nearest).explain(problem(), PEOPLE)
    theirs = robx.RobX(base=NN).explain(problem(), PEOPLE)
    assert ours.frame.equals(theirs.frame)
    assert ours.settings["base"] == {"method": "nearest", "norm": 1}
    assert ours.base is not None
    assert ours.base.method == "nearest"


# --- errors --------------------------------------------------------------------------------------


def picky(asked: Problem, some: pd.DataFrame) -> pd.DataFrame:
    if (some.iloc[:, 0] < 0).any():
        raise ValueError("negative\nand more")
    return nearest(asked, some)


def test_an_error_stays_with_the_applicants_it_is_about() -> None:
    ours, theirs = explained(picky), explained(NN)
    negative = np.asarray(PEOPLE.iloc[:, 0] < 0) & theirs.ok
    assert 0 < negative.sum() < theirs.ok.sum()
    assert {ours.reason[i] for i in np.flatnonzero(negative)} == {
        "picky raised an error: ValueError: negative"
    }
    assert (ours.ok == (theirs.ok & ~negative)).all()
    assert ours.frame[~negative].equals(theirs.frame[~negative])


def test_values_that_cannot_be_read_stay_with_their_row() -> None:
    theirs = explained(NN)
    unlucky = int(np.flatnonzero(theirs.ok)[1])
    first = str(X.columns[0])

    def odd(asked: Problem, some: pd.DataFrame) -> pd.DataFrame:
        found = nearest(asked, some).astype({first: object})
        found.loc[some[first].to_numpy() == PEOPLE[first].iloc[unlucky], first] = "a lot"
        return found

    ours = explained(odd)
    assert np.flatnonzero(ours.ok != theirs.ok).tolist() == [unlucky]
    assert "cannot be read" in ours.reason[unlucky]
    assert "a lot" in ours.reason[unlucky]


def test_a_function_that_fails_for_all_is_an_error_with_its_name() -> None:
    def broken(_: Problem, some: pd.DataFrame) -> Any:
        return some["no such column"]

    said = "Method 'broken' failed for all .* applicants: KeyError: 'no such column'"
    with pytest.raises(robx.InvalidInput, match=said) as raised:
        explained(broken)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(robx.InvalidInput, match="Method 'mine' failed for all"):
        robx.evaluate(STUDY, {"mine": broken}, DropRows(1), seeds=1, n_models=1)


@pytest.mark.parametrize(
    ("returned", "got"), [(None, "Got None"), (X[:3], "Got 3 rows"), (7, "Got 7")]
)
def test_other_numbers_of_rows_are_refused_with_the_name(returned: Any, got: str) -> None:
    def few(_: Problem, __: Any) -> Any:
        return returned

    said = f"Method 'few' must return a table with a row for each applicant, .*{got}"
    with pytest.raises(robx.InvalidInput, match=said):
        explained(few)


def test_what_is_no_method_is_none() -> None:
    for other in (None, "NN", 3, robx.NearestNeighbour, Nearest, np.mean, lambda one: one, X):
        assert as_method(other) is None


# --- evaluation ----------------------------------------------------------------------------------


def test_functions_and_objects_stand_beside_methods_in_an_evaluation() -> None:
    methods: dict[str, Any] = {"NN": NN, "function": nearest, "object": Nearest()}
    methods["made"] = lambda _: nearest
    table = without_time(robx.evaluate(STUDY, methods, DropRows(5), seeds=2, n_models=2))
    theirs = table[table.method == "NN"].drop(columns="method").reset_index(drop=True)
    assert value(table, "n_answered") > 20
    for name in ("function", "object", "made"):
        ours = table[table.method == name].drop(columns="method").reset_index(drop=True)
        pd.testing.assert_frame_equal(ours, theirs)


def test_a_function_is_evaluated_with_given_models_and_a_log(tmp_path: Any) -> None:
    later = [boosted(max_depth=2).fit(X[200:300], Y[200:300])]

    def once() -> pd.DataFrame:
        return robx.evaluate(
            problem(),
            {"mine": picky},
            later,
            applicants=X[300:],
            log=tmp_path / "log.jsonl",
        )

    first = once()
    assert 0 < value(first, "coverage", "mine") < 1
    pd.testing.assert_frame_equal(once(), first)  # seconds too: from the log


@pytest.mark.slow
def test_dice_is_evaluated_by_a_function_of_ten_lines() -> None:
    dice_ml = pytest.importorskip("dice_ml", reason="DiCE is installed by `make test`")
    german, labels, schema = robx.datasets.load_german()

    class Scores:
        def __init__(self, asked: Problem) -> None:
            self.asked = asked

        def predict_proba(self, some: pd.DataFrame) -> Any:
            score = self.asked.model.score(some)
            return np.column_stack([1 - score, score])

        def predict(self, some: pd.DataFrame) -> Any:
            return (self.asked.model.score(some) > self.asked.threshold).astype(int)

    def dice(asked: Problem, some: pd.DataFrame) -> pd.DataFrame:
        train: pd.DataFrame = asked.codec.write(asked.training)
        data = dice_ml.Data(
            dataframe=train.assign(good=Scores(asked).predict(train)),
            continuous_features=list(train),
            outcome_name="good",
        )
        explainer = dice_ml.Dice(data, dice_ml.Model(Scores(asked), backend="sklearn"), "random")
        found = explainer.generate_counterfactuals(
            some, total_CFs=1, desired_class=1, random_seed=0
        )
        nothing = pd.DataFrame(index=[0], columns=list(train), dtype=float)
        rows = [one.final_cfs_df_sparse for one in found.cf_examples_list]
        points: pd.DataFrame = pd.concat(
            [nothing if row is None else row[list(train)] for row in rows]
        )
        return points

    study = robx.Study(boosted(), german, labels, schema=schema, max_applicants=6)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")  # of DiCE
        table = robx.evaluate(
            study, {"DiCE": dice, "RobX": robx.RobX()}, DropRows(100), seeds=1, n_models=3
        )
    assert value(table, "base_validity", "DiCE") == 1
    assert 0 < value(table, "n_answered", "DiCE") <= 6
    assert value(table, "stability", "DiCE") < value(table, "stability", "RobX")


@pytest.mark.parametrize("works_for", [0, 1])
def test_a_function_that_always_fails_is_not_asked_about_everybody(works_for: int) -> None:
    calls = []
    declined = X[MODEL.predict_proba(X)[:, 1] < 0.5][:60]
    last = declined.iloc[-1]

    def down(asked: Problem, some: pd.DataFrame) -> pd.DataFrame:
        calls.append(len(some))
        if works_for and len(some) == 1 and some.iloc[0].equals(last):
            return nearest(asked, some)
        raise RuntimeError("server down")

    if works_for:
        assert explained(down, declined).ok.tolist() == [False] * 59 + [True]
        return
    with pytest.raises(robx.InvalidInput, match="10 sampled .*server down. The other 50 were not"):
        explained(down, declined)
    assert calls == [60] + [1] * 10
