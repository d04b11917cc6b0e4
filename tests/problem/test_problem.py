"""`Problem`: tables and models of all sorts, and the same meaning behind them.

Every answer is held against the user's own ``predict_proba`` on the table that is returned.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import robx
from robx import Feature, Problem, Schema, Status
from robx.methods import Method
from speed import slow_but

Floats = NDArray[np.float64]
METHODS: list[Method] = [
    robx.NearestNeighbour(),
    robx.RobX(base=None, noise=robx.Noise(n_draws=64)),
]
FOREST: dict[str, Any] = {"n_estimators": 10, "random_state": 0, "n_jobs": 1}


def check(
    problem: Problem,
    people: Any,
    probability: Callable[[Any], Any],
    least: int = 1,
    methods: list[Method] = METHODS,
) -> list[robx.Counterfactuals]:
    """Ask methods, and hold what they say against the user's own model and the schema."""
    answers = []
    for method in methods:
        answer = method.explain(problem, people)
        score = np.asarray(probability(answer.points), dtype=np.float64)
        np.testing.assert_allclose(answer.score, score, atol=1e-6)
        np.testing.assert_array_equal(
            answer.status == Status.ACCEPTED, np.asarray(probability(people)) > problem.threshold
        )
        assert answer.ok.sum() >= least
        assert (score[answer.ok] > problem.threshold).all()
        broken = problem.schema.violations(answer.points, answer.applicants)
        assert not any(broken[i] for i in np.flatnonzero(answer.ok))
        assert len(answer.summary) == len(answer.changes) == len(answer)
        answers.append(answer)
    return answers


def frame(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"c": rng.random(n).round(2), "a": rng.random(n).round(2), "b": rng.integers(0, 5, n)}
    )


def target(table: pd.DataFrame) -> NDArray[np.int64]:
    return np.asarray(table["c"] + table["a"] + 0.1 * table["b"] > 1.2, dtype=np.int64)


@cache
def forest() -> Any:
    return RandomForestClassifier(**FOREST).fit(frame(), target(frame()))


def by_forest(table: Any) -> Floats:
    pandas = table.to_pandas() if hasattr(table, "to_pandas") else table
    if isinstance(pandas, np.ndarray):
        pandas = pd.DataFrame(pandas, columns=["c", "a", "b"])
    return np.asarray(forest().predict_proba(pandas[["c", "a", "b"]].astype(float))[:, 1])


# --- kinds of tables ------------------------------------------------------------------------------

KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda t: t,
    "polars": pl.from_pandas,
    "pyarrow": lambda t: pa.Table.from_pandas(t, preserve_index=False),
    "numpy": lambda t: t.to_numpy(),
}


@pytest.mark.parametrize("train", KINDS)
@pytest.mark.parametrize("apply", KINDS)
def test_training_and_applicants_may_be_tables_of_any_kind(train: str, apply: str) -> None:
    problem = Problem(forest(), KINDS[train](frame()))
    people = KINDS[apply](frame(20, 1))
    answers = check(problem, people, by_forest)
    assert type(answers[0].points) is type(people)


@pytest.mark.parametrize("apply", ["pandas", "polars", "numpy"])
def test_a_training_table_in_another_order_changes_nothing(apply: str) -> None:
    people = KINDS[apply](frame(20, 1))
    plain = check(Problem(forest(), frame()), people, by_forest)
    turned = check(Problem(forest(), frame()[["b", "c", "a"]]), people, by_forest)
    for one, other in zip(plain, turned, strict=True):
        assert np.array_equal(np.asarray(one.points), np.asarray(other.points))


def test_applicants_in_another_order_and_with_an_odd_index() -> None:
    people = frame(4, 1)[["b", "c", "a"]].set_index(
        pd.MultiIndex.from_product([[1, 2], ["x", "y"]])
    )
    answer = check(Problem(forest(), frame()), people, by_forest)[1]
    assert answer.points.columns.tolist() == ["b", "c", "a"]
    assert answer.points.index.equals(people.index)
    assert answer.summary.index.equals(people.index)


def test_names_of_the_model_count_where_the_training_table_has_none() -> None:
    problem = Problem(forest(), frame().to_numpy())
    assert problem.names == ("c", "a", "b")
    check(problem, frame(20, 1)[["b", "c", "a"]], by_forest)


def test_lists_are_tables_too() -> None:
    people = frame(3, 1).to_numpy().tolist()
    answers = check(Problem(forest(), frame()), people, lambda t: by_forest(np.asarray(t)))
    assert isinstance(answers[0].points, np.ndarray)


def test_columns_named_by_numbers() -> None:
    table = frame().set_axis([0, 1, 2], axis=1)
    model = RandomForestClassifier(**FOREST).fit(table.to_numpy(), target(frame()))
    problem = Problem(model, table)
    people = frame(9, 1).set_axis([0, 1, 2], axis=1)
    answers = check(problem, people, lambda t: model.predict_proba(t.to_numpy())[:, 1])
    assert answers[0].points.columns.tolist() == [0, 1, 2]


def test_whole_numbers_for_floats_and_floats_for_whole_numbers() -> None:
    people = pd.DataFrame({"c": [0, 1], "a": [0, 0], "b": [0.0, 2.0]})
    answer = check(Problem(forest(), frame()), people, by_forest, least=2)[0]
    assert answer.points["c"].dtype == np.float64
    assert (answer.points["b"] == answer.points["b"].round()).all()


DTYPES: list[Any] = [
    *(np.float32, "Int64", "Float64", np.int8, np.uint8, bool, "boolean"),
    *("int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]"),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_come_back_as_they_were(dtype: Any) -> None:
    def table(n: int, seed: int) -> pd.DataFrame:
        return frame(n, seed).assign(c=lambda t: (t["c"] > 0.5).astype(int))

    plain = table(200, 0)
    model = RandomForestClassifier(**FOREST).fit(plain, target(plain))

    def probability(t: Any) -> Any:
        return model.predict_proba(t.astype(float))[:, 1]

    train, people = (t.astype({"c": dtype}) for t in (plain, table(30, 1)))
    for answer in check(Problem(model, train), people, probability):
        assert (answer.points.dtypes == people.dtypes).all()
    check(Problem(model, train), table(30, 1), probability, methods=METHODS[:1])
    check(Problem(model, plain), people, probability, methods=METHODS[:1])


def test_a_float32_column_holds_what_is_promised() -> None:
    table = frame().astype({"c": np.float32, "a": np.float32})
    model = HistGradientBoostingClassifier(max_iter=10).fit(table, target(table))
    people = frame(30, 1).astype({"c": np.float32, "a": np.float32})
    answers = check(Problem(model, table), people, lambda t: model.predict_proba(t)[:, 1])
    assert answers[0].points["c"].dtype == np.float32


def test_missing_values_of_nullable_columns_stay_missing() -> None:
    table = frame().astype({"b": "Int64"})
    table.loc[:40, "b"] = pd.NA
    model = HistGradientBoostingClassifier(max_iter=10).fit(table, target(frame()))
    people = frame(30, 1).astype({"b": "Int64"})
    people.loc[::3, "b"] = pd.NA
    answers = check(Problem(model, table), people, lambda t: model.predict_proba(t)[:, 1])
    for answer in answers:
        assert answer.points["b"].isna().equals(people["b"].isna())
    may = Problem(model, table).schema.override(b={"may_fill": True, "weight": 0.01})
    filled = check(Problem(model, table, may), people, lambda t: model.predict_proba(t)[:, 1])
    assert filled[0].points["b"].isna().sum() < people["b"].isna().sum()


def test_a_column_of_nothing_has_no_dtype_to_speak_of() -> None:
    model = HistGradientBoostingClassifier(max_iter=10).fit(frame().astype(float), target(frame()))
    people = frame(9, 1).assign(b=None)
    answers = check(
        Problem(model, frame()), people, lambda t: model.predict_proba(t.astype(float))[:, 1]
    )
    assert answers[0].points["b"].isna().all()


# --- categories -----------------------------------------------------------------------------------


def words(n: int = 300, seed: int = 0, order: str = "xyz") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "num": rng.random(n).round(2),
            "cat": pd.Categorical(rng.choice(list("xyz"), n), categories=list(order)),
            "code": rng.integers(0, 4, n),
        }
    )


def worth(t: pd.DataFrame) -> NDArray[np.int64]:
    points = t["num"] + 0.4 * (t["cat"] == "x") + 0.5 * (t["code"] == 2)
    return np.asarray(points > 0.8, dtype=np.int64)


@cache
def category_model(name: str) -> Any:
    quick: dict[str, Any] = {"n_estimators": 10, "n_jobs": 1}
    if name == "lightgbm":
        model = lgb.LGBMClassifier(**quick, verbose=-1, min_child_samples=5)
    elif name == "xgboost":
        model = xgb.XGBClassifier(**quick, enable_categorical=True)
    else:
        model = HistGradientBoostingClassifier(max_iter=10, categorical_features=["cat", "code"])
    return model.fit(words(), worth(words()))


LIBRARIES = ["lightgbm", "xgboost", "hist"]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("order", ["xyz", "zyx", "yzx"])
def test_categories_mean_the_same_in_any_order(name: str, order: str) -> None:
    model = category_model(name)
    people = words(20, 1, order)
    answers = check(Problem(model, words()), people, lambda t: model.predict_proba(t)[:, 1])
    plain = [method.explain(Problem(model, words()), words(20, 1)) for method in METHODS]
    for one, other in zip(answers, plain, strict=True):
        assert one.points["cat"].dtype.categories.tolist() in (list(order), list("xyz"))
        assert one.points["cat"].astype(str).tolist() == other.points["cat"].astype(str).tolist()


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("levels", ["zyx", "yxz"])
def test_ordinal_levels_need_not_be_in_the_order_of_the_models_codes(
    name: str, levels: str
) -> None:
    model = category_model(name)
    guess = Problem(model, words()).schema
    words_of_codes = ("nil", "one", "two", "three")
    schema = guess.override(
        cat={"kind": "ordinal", "levels": tuple(levels), "change": "increase"},
        code={"kind": "ordinal", "levels": (0, 1, 2, 3), "labels": words_of_codes},
    )
    people = words(20, 1)
    for answer in check(
        Problem(model, words(), schema), people, lambda t: model.predict_proba(t)[:, 1]
    ):
        before = people["cat"].astype(str).map(levels.index)
        assert (answer.points["cat"].astype(str).map(levels.index) >= before).all()
        said = [line for lines in answer.changes for line in lines if line.startswith("code: ")]
        assert {word for line in said for word in line[6:].split(" → ")} <= set(words_of_codes)


@cache
def code_model() -> tuple[Any, pd.DataFrame]:
    table = words().assign(cat=lambda t: t["cat"].cat.codes.astype(int) + 5)
    model = lgb.LGBMClassifier(n_estimators=10, verbose=-1, min_child_samples=5, n_jobs=1)
    return model.fit(table, worth(words()), categorical_feature=["cat", "code"]), table


@pytest.mark.parametrize("code", [9, -1, 1.5, np.nan])
def test_codes_that_were_never_seen_are_read_as_the_model_does(code: float) -> None:
    model, table = code_model()
    people = table[:40].assign(code=code)
    check(Problem(model, table), people, lambda t: model.predict_proba(t)[:, 1])


def test_levels_may_leave_out_values_of_the_table() -> None:
    model, table = code_model()
    schema = Problem(model, table).schema.override(code={"kind": "ordinal", "levels": (0, 2)})
    answers = check(
        Problem(model, table, schema), table[:40], lambda t: model.predict_proba(t)[:, 1]
    )
    moved = answers[0].points["code"] != table[:40]["code"]
    assert answers[0].points["code"][moved].isin([0, 2]).all()


def test_what_the_model_takes_for_categories_must_have_levels() -> None:
    model, table = code_model()
    guess = Problem(model, table).schema
    assert guess["code"].kind == "categorical"
    with pytest.raises(
        robx.InvalidInput, match="The model takes 'code' for categories, so its fea"
    ):
        Problem(model, table, guess.override(code={"kind": "integer", "levels": None, "low": 1}))
    plain = robx.Schema.infer(table)
    assert plain["code"].kind == "integer"  # a table does not tell codes from numbers
    assert Problem(model, table, plain).schema["code"] == guess["code"]


def test_levels_that_the_model_was_not_trained_on_are_left_out() -> None:
    model = category_model("lightgbm")
    guess = Problem(model, words()).schema
    with pytest.raises(
        robx.InvalidInput,
        match="Feature 'cat' must list levels that the model was trained on, such as 'x'. Got 'q'",
    ):
        Problem(model, words(), guess.override(cat={"levels": ("q", "r")}))
    stated = guess.override(cat={"levels": {"q": "Q", "x": "X", "z": "Z"}})
    with pytest.warns(robx.RobxWarning, match="The model was not trained on 'q', which the schema"):
        some = Problem(model, words(), stated)
    assert (some.schema["cat"].levels, some.schema["cat"].labels) == (("x", "z"), ("X", "Z"))


# --- what libraries do in their own way -----------------------------------------------------------


def test_lightgbm_writes_blanks_in_names_as_underscores() -> None:
    def blanks(n: int, seed: int) -> pd.DataFrame:
        return frame(n, seed).set_axis(["my c", "my a", "b"], axis=1)

    model: Any = lgb.LGBMClassifier(n_estimators=10, verbose=-1, min_child_samples=5, n_jobs=1)
    model.fit(blanks(200, 0), target(frame()))
    order = ["my c", "my a", "b"]
    problem = Problem(model, blanks(200, 0)[["b", "my c", "my a"]])
    assert problem.names == tuple(order)
    schema = problem.schema.override(relations=["`my c` <= `my a` + b"])
    for use in (problem, Problem(model, blanks(200, 0), schema)):
        people = blanks(30, 1)[["my a", "b", "my c"]]
        check(use, people, lambda t: np.asarray(model.predict_proba(t[order]))[:, 1])


@pytest.mark.parametrize("marker", [-999.0, 0.0])
def test_xgboost_may_have_a_number_that_means_missing(marker: float) -> None:
    def marked(n: int, seed: int) -> pd.DataFrame:
        table = frame(n, seed).astype({"b": float})
        table.loc[::4, "b"] = marker
        return table

    model = xgb.XGBClassifier(n_estimators=10, missing=marker, n_jobs=1)
    model.fit(marked(200, 0), target(frame()))
    problem = Problem(model, marked(200, 0))
    assert problem.schema["b"].scale == 4.0
    people = marked(40, 1)
    for answer in check(problem, people, lambda t: model.predict_proba(t)[:, 1], least=10):
        if marker:  # what is missing stays missing
            assert ((answer.points["b"] == marker) == (people["b"] == marker)).all()
        new = answer.points != people
        assert not (new & (answer.points == marker)).any(axis=None)


def test_zero_is_a_number_also_where_lightgbm_takes_it_as_missing() -> None:
    table = frame().assign(b=lambda t: t["b"] - 2)
    model: Any = lgb.LGBMClassifier(
        n_estimators=10, verbose=-1, min_child_samples=5, zero_as_missing=True, n_jobs=1
    )
    model.fit(table, target(frame()))
    people = frame(60, 1).assign(b=lambda t: t["b"] - 2)
    for answer in check(
        Problem(model, table), people, lambda t: model.predict_proba(t)[:, 1], least=20
    ):
        assert (people["b"] == 0).any()
        assert (answer.points["b"][people["b"] == 0] == 0).any()  # who has it may keep it
        assert (answer.points["b"][people["b"] != 0] != 0).all()
        assert not any("missing" in line for lines in answer.changes for line in lines)


@cache
def pipeline() -> tuple[Any, pd.DataFrame]:
    table = words().astype({"cat": "str", "code": float})
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["cat"]), remainder="passthrough"),
        LogisticRegression(max_iter=1000),
    )
    return model.fit(table, worth(words())), table


@pytest.mark.parametrize("text", slow_but(["category"], ["str", "object", "category"]))
def test_text_goes_through_a_pipeline(text: str) -> None:
    model, table = pipeline()
    train = table.astype({"cat": text})[["code", "cat", "num"]]
    check(Problem(model, train), table[:8], lambda t: model.predict_proba(t)[:, 1])


def test_rows_that_a_black_box_refuses_do_not_stop_the_others() -> None:
    model, table = pipeline()
    people = table[:12].copy()
    people.loc[2, "num"], people.loc[5, "cat"], people.loc[7, "num"] = np.nan, None, np.inf
    problem = Problem(model, table)
    for method in METHODS:
        answer = method.explain(problem, people)
        assert answer.status[[2, 5, 7]].tolist() == [Status.INFEASIBLE] * 3
        assert answer.reason[2].startswith(
            "the model refuses the row: ValueError: Input X contains"
        )
        assert answer.reason[5].startswith("the model refuses the row: ValueError: Found unknown")
        assert answer.reason[7] == "num is infinite"
        rest = [0, 1, 3, 4, 6, 8, 9, 10, 11]
        alone = method.explain(problem, people.iloc[rest])
        assert alone.points.equals(answer.points.iloc[rest])
        assert np.isnan(answer.score[[2, 5, 7]]).all()


@pytest.mark.parametrize("named_fit", [True, False])
@pytest.mark.parametrize("named_table", [True, False])
def test_scikit_learn_is_not_made_to_warn(named_fit: bool, named_table: bool) -> None:
    model = LogisticRegression().fit(frame() if named_fit else frame().to_numpy(), target(frame()))
    kind = KINDS["pandas" if named_table else "numpy"]

    def probability(t: Any) -> Any:
        plain = np.asarray(t, dtype=np.float64)
        return model.predict_proba(
            pd.DataFrame(plain, columns=["c", "a", "b"]) if named_fit else plain
        )[:, 1]

    check(Problem(model, kind(frame())), kind(frame(20, 1)), probability)


# --- refused before work starts -------------------------------------------------------------------

TABLE = frame()
BAD_TRAINING: list[tuple[Any, str]] = [
    (None, "X_train has no rows: there is nothing to compare applicants with."),
    ([], "X_train has no rows"),
    (TABLE[:0], "X_train has no rows"),
    (TABLE.rename(columns={"a": "z"}), "lacks 1 of the model's columns: 'a'. It has these that"),
    (TABLE.drop(columns="a"), "lacks 1 of the model's columns: 'a'"),
    (TABLE.assign(q=1), "has columns that the model was not trained on: 'q'"),
    (pd.concat([TABLE, TABLE["a"]], axis=1), "has more than one column named 'a'"),
    (TABLE.assign(a="x"), "Column 'a' of X must hold numbers, as the model was trained on"),
    (TABLE.assign(a=np.inf), "Column 'a' of X has the value inf in row 0"),
    (TABLE.assign(a=pd.Timestamp("2020-01-01")), "Column 'a' of X must hold numbers"),
    (TABLE.assign(a=pd.Series([[1]] * 200)), "Column 'a' of X must hold numbers"),
    (np.zeros((5, 2)), "must have the 3 columns that the model was trained on. Got 2."),
    (np.zeros(3), "must have two dimensions"),
    (np.array([["x", "y", "z"]]), "must be a table of numbers, or a DataFrame"),
    ([[1, 2], [3]], "must be a table of numbers, or a DataFrame. Got list"),
    (pl.from_pandas(TABLE).lazy(), "is a lazy frame; expected rows. Call X.collect() first."),
]


@pytest.mark.parametrize(("table", "message"), BAD_TRAINING)
def test_a_bad_training_table_is_refused_in_words(table: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        Problem(forest(), table)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (TABLE.rename(columns={"a": "z"}), "X lacks 1 of the model's columns: 'a'. It has these"),
        (TABLE.assign(q=1), "X has columns that the model was not trained on: 'q'"),
        (pd.concat([TABLE, TABLE["a"]], axis=1), "X has more than one column named 'a'"),
        (TABLE.assign(a="x"), "Column 'a' of X must hold numbers, as the model was trained on"),
        (TABLE.assign(a=pd.Timestamp("2020-01-01")), "Column 'a' of X must hold numbers"),
        (np.zeros((5, 2)), "X must have the 3 columns that the model was trained on. Got 2."),
        (np.zeros(3), "X must have two dimensions (rows, columns). Got shape (3,)"),
        (None, "X must have two dimensions"),
        ({"a": 1}, "X lacks 2 of the model's columns: 'c', 'b'."),
        ([[1, 2], [3]], "X must be a table of numbers, or a DataFrame. Got list"),
    ],
)
def test_bad_applicants_are_refused_in_words(people: Any, message: str) -> None:
    problem = Problem(forest(), TABLE)
    for method in METHODS:
        with pytest.raises(robx.InvalidInput) as caught:
            method.explain(problem, people)
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"threshold": 1},
            "'threshold' parameter of Problem must be a number from 0 to below 1. Go",
        ),
        ({"threshold": -0.1}, "Got -0.1 instead"),
        ({"threshold": np.nan}, "Got nan instead"),
        ({"threshold": True}, "Got True instead"),
        ({"threshold": "half"}, "Got 'half' instead"),
        ({"target": 7}, "must be one of the model's classes, 0, 1. Got 7 instead."),
        ({"schema": {"a": 1}}, "The 'schema' parameter of Problem must be a robx.Schema. Got dict"),
        (
            {"schema": Schema((Feature("x"),))},
            "all of them and no others; not in the schema: ['c', 'a', 'b']; not among the model's",
        ),
    ],
)
def test_bad_parameters_are_refused_in_words(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        Problem(forest(), TABLE, **arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: 1 / 0, "must be able to score X_train. It raised ZeroDivisionError: division"),
        (
            lambda t: np.full(len(t), np.nan),
            "must give probabilities from 0 to 1. Got nan in row 0",
        ),
        (lambda t: np.full(len(t), 2.0), "must give probabilities from 0 to 1. Got 2.0 in row 0"),
        (lambda t: np.zeros(1), "must give one probability for each row, 200 in all"),
        (lambda t: "yes", "must be able to score X_train. It raised ValueError: could not convert"),
    ],
)
def test_a_black_box_that_gives_no_scores_is_refused(function: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        Problem(function, TABLE)
    assert message in str(caught.value)


def test_what_is_not_a_model_is_refused() -> None:
    with pytest.raises(robx.UnsupportedModel, match="BlackBox needs an object with predict_proba"):
        Problem(5, TABLE)
    with pytest.raises(robx.InvalidModel, match="is not fitted"):
        Problem(RandomForestClassifier(), TABLE)


# --- answers that are none ------------------------------------------------------------------------


def test_a_threshold_that_no_row_reaches_is_said_to_everybody() -> None:
    problem = Problem(lambda t: np.full(len(t), 0.4), TABLE)
    assert len(problem.support) == 0
    for method in [
        *METHODS,
        robx.Conservative(noise=robx.Noise(n_draws=64)),
        robx.RobX(noise=robx.Noise(n_draws=64)),
    ]:
        answer = method.explain(problem, TABLE[:3])
        assert answer.status.tolist() == [Status.NOT_FOUND] * 3
        assert set(answer.reason) == {"no row of the support scores above 0.5"}
        assert answer.points.equals(TABLE[:3])


def test_a_model_that_accepts_everybody_has_nothing_to_say() -> None:
    problem = Problem(lambda t: np.full(len(t), 0.9), TABLE)
    assert (METHODS[1].explain(problem, TABLE[:3]).status == Status.ACCEPTED).all()


@pytest.mark.parametrize("change", ["none", "decrease"])
def test_who_is_outside_of_a_stated_range_and_cannot_move_into_it_stays_there(change: str) -> None:
    schema = Problem(forest(), TABLE).schema.override(b={"low": 3, "change": change})
    problem = Problem(forest(), TABLE, schema)
    people = pd.DataFrame({"c": [0.0, 0.0], "a": [0.0, 0.0], "b": [1, 4]})
    for answer in check(problem, people, by_forest):
        assert answer.status.tolist() == [Status.OK, Status.OK]
        assert answer.points["b"][0] == 1


def test_what_blocks_is_named() -> None:
    fixed: dict[str, Any] = {name: {"change": "none"} for name in ("a", "b", "c")}
    problem = Problem(forest(), TABLE, Problem(forest(), TABLE).schema.override(fixed))
    people = pd.DataFrame({"c": [0.1], "a": [0.1], "b": [1]})
    answer = METHODS[0].explain(problem, people)
    assert answer.status[0] == Status.PRECLUDED
    assert answer.reason[0] == "no accepted point keeps a (fixed, in steps of 0.01), b (fixed)"
    # Of a black box it is not known what else it accepts.
    black_box = robx.BlackBox(forest())
    answer = METHODS[0].explain(Problem(black_box, TABLE, problem.schema), people)
    assert answer.status[0] == Status.INFEASIBLE
    assert answer.reason[0].startswith("no row of the support is accepted once it keeps ")
    assert "c (fixed, in steps of 0.01)" in answer.reason[0]


# --- shared ---------------------------------------------------------------------------------------


def test_the_schema_is_guessed_in_the_models_order_with_scales() -> None:
    problem = Problem(forest(), TABLE[["b", "a", "c"]])
    assert problem.names == ("c", "a", "b")
    assert problem.schema["b"] == Feature("b", "integer", scale=4.0)
    assert repr(problem).startswith("<Problem: 200 rows, ")
    assert repr(problem).endswith("accepted (score > 0.5), 3 features>")


def test_the_callers_tables_are_never_touched() -> None:
    table, people = frame(), frame(5, 1)
    METHODS[1].explain(Problem(forest(), table), people)
    assert table.equals(frame())
    assert people.equals(frame(5, 1))
    array = people.to_numpy()
    answer = METHODS[1].explain(Problem(forest(), table), array)
    answer.points[:] = -1
    assert (array == people.to_numpy()).all()


def test_rows_that_break_a_relation_are_no_examples() -> None:
    schema = Problem(forest(), TABLE).schema.override(relations=["c <= a"])
    problem = Problem(forest(), TABLE, schema)
    assert len(problem.support) < len(Problem(forest(), TABLE).support)
    assert (problem.support.rows[:, 0] <= problem.support.rows[:, 1]).all()
