"""Law 4: what is wrong with one row stays that row's."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

import robx
from contracts import assert_same_answers
from robx import Problem, Schema, Status
from robx.methods import Method
from row_cases import (
    CELLS,
    KINDS,
    MODELS,
    REFUSING,
    fitted,
    pipeline,
    problem,
    strangers,
    with_cells,
    workers,
)
from speed import examples, slow_but
from table_kinds import cells

TREES = ["xgboost", "lightgbm", "boosting"]
SCORING = [name for name in MODELS if name not in REFUSING]
REFUSED = "job is 'pilot', a category that the model was not trained on and refuses"
METHODS: dict[str, Method] = {
    "RobX": robx.RobX(noise=robx.Noise(n_draws=64)),
    "NearestNeighbour": robx.NearestNeighbour(),
    "Conservative": robx.Conservative(noise=robx.Noise(n_draws=64)),
    "Face": robx.Face(),
    "Focus": robx.Focus(),
    "FeatureTweaking": robx.FeatureTweaking(),
    "LiveRegion": robx.LiveRegion(),
    "Closest": robx.Closest(),
}


def own_scores(name: str, table: Any) -> Any:
    return fitted(name).predict_proba(table)[:, 1]


# --- categories that the model was not trained on -------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SCORING)
def test_an_unseen_category_is_scored_as_the_library_scores_it(name: str, kind: str) -> None:
    people = problem(name).read(KINDS[kind](strangers()))
    assert people.trouble == ("",) * 5
    np.testing.assert_allclose(people.score, own_scores(name, strangers()), rtol=0, atol=1e-12)
    if name in TREES:
        scores = problem(name).model.score(KINDS[kind](strangers()))
        assert scores.tobytes() == people.score.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFUSING)
def test_a_row_that_the_model_refuses_has_a_reason_and_the_others_an_answer(
    name: str, kind: str
) -> None:
    with pytest.raises(Exception, match=r"category|categories"):
        own_scores(name, strangers())
    answer = METHODS["NearestNeighbour"].explain(problem(name), KINDS[kind](strangers()))
    assert [status == Status.INFEASIBLE for status in answer.status] == [False, True, True] + (
        [False] * 2
    )
    assert "pilot" in answer.reason[2]
    if name == "xgboost":
        assert answer.reason[2] == REFUSED
    assert answer.ok[[0, 3, 4]].all()
    rest = strangers().iloc[[0, 3, 4]].copy()
    rest["job"] = rest["job"].cat.remove_unused_categories()
    wanted = own_scores(name, answer_rows(answer, rest))
    np.testing.assert_allclose(answer.score[[0, 3, 4]], wanted, atol=1e-6)


def answer_rows(answer: robx.Counterfactuals, rest: pd.DataFrame) -> pd.DataFrame:
    """The answers of the rows that are left, as the library takes them."""
    found = dict(zip(("pay", "years", "job"), cells(answer.points), strict=True))
    rows = [0, 3, 4]
    return rest.assign(
        pay=[found["pay"][i] for i in rows],
        years=[found["years"][i] for i in rows],
        job=pd.Categorical([found["job"][i] for i in rows], workers()[0]["job"].cat.categories),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["lightgbm", "boosting", "catboost"])
def test_an_unseen_category_may_stay_or_go_and_no_change_leads_to_it(name: str, kind: str) -> None:
    table = KINDS[kind](strangers())
    free = METHODS["NearestNeighbour"].explain(problem(name), table)
    assert free.ok.all()
    jobs = cells(free.points)[2]
    assert jobs[1] in {"farm", "cook", "clerk", "judge"}
    assert jobs[2] in {"pilot", "cook", "clerk", "judge"}
    assert {jobs[0], jobs[3], jobs[4]} <= {"cook", "clerk", "judge"}
    fixed = problem(name).schema.override(job={"change": "none"})
    kept = METHODS["NearestNeighbour"].explain(
        Problem(problem(name).model, workers()[0], fixed), table
    )
    assert cells(kept.points)[2] == ["cook", "farm", "pilot", "clerk", "cook"]
    assert kept.answered[1:3].all()


def test_leaving_an_unseen_category_costs_what_any_change_of_category_costs() -> None:
    schema = problem("lightgbm").schema.override(job={"weight": 3.0})
    X, _ = workers()
    case = Problem(fitted("lightgbm"), X, schema)
    points = strangers().assign(job=pd.Categorical(["clerk"] * 5))
    given = robx.Given(points=points.assign(pay=0.99, years=7)).explain(case, strangers())
    scale = dict(zip(case.names, case.rules.scale.tolist(), strict=True))
    moved = (0.99 - strangers()["pay"]) / scale["pay"] + (7 - strangers()["years"]) / scale["years"]
    wanted = moved + 3.0 * (strangers()["job"] != "clerk")
    np.testing.assert_allclose(given.cost, wanted)
    assert given.changes[2][-1] == "job: pilot → clerk"
    assert schema.cost(points, strangers()).tolist() == pytest.approx([3, 3, 3, 0, 3])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", slow_but(["lightgbm"], TREES))
def test_every_method_answers_all_others_as_if_they_were_alone(name: str, method: str) -> None:
    table = with_cells(strangers(), "pay", {1: "much"})
    whole = METHODS[method].explain(problem(name), table)
    assert whole.reason[1] == "pay is 'much', which is not a number"
    assert_same_answers(whole, METHODS[method].explain(problem(name), table.iloc[[0, 2]]), [0, 2])
    assert_same_answers(whole, METHODS[method].explain(problem(name), table.iloc[[4]]), [4])
    assert whole.points["pay"].iloc[1] == "much"
    assert (whole.points["job"].iloc[1], whole.status[1]) == ("farm", Status.INFEASIBLE)
    assert whole.ok[[0, 3, 4]].all()


@pytest.mark.parametrize("name", SCORING)
def test_training_rows_may_hold_levels_that_the_model_does_not_know(name: str) -> None:
    X, _ = workers()
    model = problem(name).model
    more = pd.concat([X, strangers().assign(pay=0.99, years=7)], ignore_index=True)
    more["job"] = pd.Categorical(more["job"])
    case = Problem(model, more)
    answer = METHODS["NearestNeighbour"].explain(case, strangers())
    assert answer.ok.all()
    if name != "catboost" and "pipeline" not in name:  # which do not tell what they know
        assert set(case.schema["job"].levels or ()) == {"cook", "clerk", "judge"}
        assert not {"farm", "pilot"} & {*answer.points["job"].iloc[[0, 3, 4]]}
    again: Problem = pickle.loads(pickle.dumps(case))
    other = METHODS["NearestNeighbour"].explain(again, strangers())
    assert_same_answers(answer, other, range(5), exact=False)


def test_a_training_table_that_the_model_refuses_is_refused_with_row_and_column() -> None:
    X, _ = workers(1500, seed=3)
    more = pd.concat([X, strangers()], ignore_index=True)
    more["job"] = pd.Categorical(more["job"])
    with pytest.raises(
        robx.InvalidInput, match="Column 'job' of .* has the category 'farm' in row 1501"
    ):
        Problem(fitted("xgboost"), more)


def test_of_ordered_text_an_unlisted_value_stays_where_it_is() -> None:
    order = pd.CategoricalDtype(["cook", "clerk", "judge"], ordered=True)
    X, y = workers()
    X = X.assign(job=X["job"].astype(order))
    model = MODELS["boosting"]().fit(X, y)
    case = Problem(model, X)
    assert case.schema["job"].kind == "ordinal"
    answer = METHODS["NearestNeighbour"].explain(case, strangers())
    assert answer.points["job"].tolist()[1:3] == ["farm", "pilot"]
    assert answer.ok.all()
    np.testing.assert_allclose(answer.score, model.predict_proba(answer.points)[:, 1], atol=1e-12)
    points = strangers().assign(job=pd.Categorical(["judge"] * 5))
    assert case.schema.cost(points, strangers())[1:3].tolist() == [1.0, 1.0]


# --- wherever rows are taken ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_explain_certify_check_and_files_go_on_too(name: str, tmp_path: Path) -> None:
    X, y = workers()
    table = with_cells(strangers(), "pay", {3: [1, 2]})
    answer = robx.explain(
        fitted(name), X, table, y_train=y, n_models=6, keep=None, schema=problem(name).schema
    )
    assert answer.status[3] == Status.INFEASIBLE
    assert answer.certificate is not None
    assert (answer.certificate.accepting[answer.ok] > 0).all()
    later = [MODELS[name]().fit(*workers(seed=seed)) for seed in (1, 2, 3)]
    certified = robx.certify(problem(name), answer, later).certificate
    assert certified is not None
    assert (certified.accepting[answer.ok] > 0).all()
    checked = robx.check(answer, later[0])
    assert checked.reason[0] == ""
    assert checked.kept[answer.ok].any()
    for ending in ("json", "parquet"):
        file = tmp_path / f"answers.{ending}"
        answer.save(file)
        assert (robx.check(file, later[0]).kept == checked.kept).all()
    loaded = robx.Counterfactuals.load(tmp_path / "answers.json")
    assert loaded.changes == answer.changes
    if name == "lightgbm":
        assert answer.ok[1:3].all()
        assert any(line.startswith("job: pilot → ") for line in answer.changes[2]) or (
            answer.points["job"].iloc[2] == "pilot"
        )


@pytest.mark.parametrize("name", ["lightgbm", "boosting", "xgboost", "catboost"])
def test_stability_measures_every_row_that_the_model_takes(name: str) -> None:
    X, _ = workers()
    model = problem(name).model if name == "catboost" else fitted(name)
    table = strangers()
    found = robx.stability(model, table, scale=X, n_draws=64)
    refused = [1, 2] if name in REFUSING else []
    assert np.flatnonzero(np.isnan(found.value)).tolist() == refused
    assert [bool(reason) for reason in found.reason or [""] * 5] == [i in refused for i in range(5)]
    alone = robx.stability(model, table.iloc[[0]], scale=X, n_draws=64)
    assert alone.value.tobytes() == found.value[:1].tobytes()
    passed = robx.is_stable(model, table, -1.0, scale=X, n_draws=64)
    assert passed.tolist() == [i not in refused for i in range(5)]


def test_a_comparison_of_methods_takes_such_applicants() -> None:
    X, _ = workers()
    for name in ("lightgbm", "xgboost"):
        table = robx.evaluate(
            Problem(fitted(name), X, problem(name).schema),
            {"nearest": METHODS["NearestNeighbour"]},
            {"later": MODELS[name]().fit(*workers(seed=1))},
            applicants=with_cells(strangers(), "years", {0: "many"}),
            seeds=1,
        )
        assert set(table["scenario"]) == {"later"}


# --- cells that cannot be read --------------------------------------------------------------------


@pytest.mark.parametrize("cell", CELLS)
def test_a_hostile_cell_is_kept_and_named_and_stops_nobody(cell: str) -> None:
    value, said = CELLS[cell]
    table = with_cells(strangers(), "pay", {2: value})
    answer = METHODS["NearestNeighbour"].explain(problem("boosting"), table)
    assert answer.status[2] == Status.INFEASIBLE
    assert said in answer.reason[2]
    assert answer.points["pay"].iloc[2] is value
    assert answer.changes[2] == ()
    assert answer.ok[[0, 1, 3, 4]].all()
    clean = METHODS["NearestNeighbour"].explain(problem("boosting"), strangers())
    rest = [0, 1, 3, 4]
    for name in ("cost", "score", "stability", "n_changes"):
        ours, theirs = getattr(answer, name)[rest], getattr(clean, name)[rest]
        assert ours.tobytes() == theirs.tobytes()
    assert [answer.changes[i] for i in rest] == [clean.changes[i] for i in rest]
    assert answer.points["pay"].iloc[rest].tolist() == clean.points["pay"].iloc[rest].tolist()


def test_lists_and_arrays_are_read_cell_by_cell_too() -> None:
    X, y = workers()
    array = X[["pay", "years"]].to_numpy(np.float64)
    model = HistGradientBoostingClassifier(max_iter=10).fit(array, y)
    case = Problem(model, array)
    rows: list[list[Any]] = [[0.1, 1], ["much", 1], [0.2, [1]], [None, 2], [0.3, 2**70], [True, 0]]
    answer = METHODS["NearestNeighbour"].explain(case, rows)
    assert [bool(reason) and "number" in reason for reason in answer.reason[:3]] == [
        *(False, True, True)
    ]
    alone = METHODS["NearestNeighbour"].explain(case, rows[:1])
    assert answer.cost[:1].tobytes() == alone.cost.tobytes()
    assert answer.points[1, 0] == "much"
    assert answer.points[2, 1] == [1]


HOSTILE = st.one_of(
    st.sampled_from([value for value, _ in CELLS.values()]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(min_value=-(2**80), max_value=2**80),
    st.text(max_size=5),
    st.none(),
    st.booleans(),
    st.decimals(),
    st.dates(),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
)
ROWS = st.lists(
    st.tuples(st.sampled_from(["pay", "years", "job"]), HOSTILE), min_size=1, max_size=6
)


@pytest.mark.parametrize("name", [*TREES, "catboost"])
@given(rows=ROWS, data=st.data())
@examples(60, few=8, deadline=None)
def test_good_rows_are_answered_as_if_alone_whatever_is_among_them(
    name: str, rows: list[tuple[str, Any]], data: st.DataObject
) -> None:
    good = strangers().iloc[[0, 3]]
    hostile = [dict(strangers().iloc[0]) | {column: value} for column, value in rows]
    places = sorted(data.draw(st.permutations(range(len(rows) + 2)))[:2])
    cells_of = [dict(row) for _, row in good.iterrows()]
    for place, row in zip(places, cells_of, strict=True):
        hostile.insert(place, row)
    columns = {}
    for column in ("pay", "years", "job"):
        values = np.empty(len(hostile), dtype=object)
        values[:] = [row[column] for row in hostile]
        columns[column] = pd.Series(values, dtype=object)
    table = pd.DataFrame(columns)
    method = METHODS["NearestNeighbour"]
    whole = method.explain(problem(name), table)
    for k, place in enumerate(places):
        alone = method.explain(problem(name), good.iloc[[k]])
        assert whole.status[place] == alone.status[0]
        assert whole.changes[place] == alone.changes[0]
        for number in ("cost", "score", "stability", "n_changes"):
            ours, theirs = getattr(whole, number)[[place]], getattr(alone, number)
            if name == "catboost":  # whose last bit may depend on the rows beside
                np.testing.assert_allclose(ours, theirs, rtol=1e-12)
            else:
                assert ours.tobytes() == theirs.tobytes()
    for i, status in enumerate(whole.status):
        assert (whole.reason[i] == "") == (status in {"ok", "already accepted"})
        if status not in {"ok", "unstable"}:
            for column in columns:
                assert repr(whole.points[column].iloc[i]) == repr(table[column].iloc[i]) or (
                    pd.isna(table[column].iloc[i])
                )


@pytest.mark.parametrize("value", [Decimal("sNaN"), Decimal("Infinity"), 2**63])
def test_of_text_what_arrow_cannot_hold_is_its_row_s_trouble(value: Any) -> None:
    table = strangers().iloc[[0, 3]].astype({"job": object})
    table.loc[table.index[0], "job"] = value
    answer = METHODS["NearestNeighbour"].explain(problem("lightgbm"), table)
    alone = METHODS["NearestNeighbour"].explain(problem("lightgbm"), strangers().iloc[[3]])
    assert answer.ok[1]
    assert answer.changes[1] == alone.changes[0]


# --- columns of nothing ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "empty"),
    [
        ("xgboost", np.full(240, np.nan)),
        ("lightgbm", np.full(240, np.nan)),
        ("boosting", pd.Categorical([None] * 240, categories=["x", "y"])),
        ("lenient pipeline", pd.Series([None] * 240, dtype="str")),
    ],
    ids=["XGBoost", "LightGBM", "category", "text"],
)
def test_a_column_that_is_missing_in_every_training_row_is_fixed(name: str, empty: Any) -> None:
    X, y = workers()
    X = X.assign(extra=empty)
    model = pipeline("extra", "ignore") if name == "lenient pipeline" else MODELS[name]()
    X = X.drop(columns="job") if name == "lenient pipeline" else X
    model.fit(X, y)
    case = Problem(model, X)
    assert case.schema["extra"].change == "none"
    people = X.iloc[np.flatnonzero(model.predict_proba(X)[:, 1] < 0.3)[:5]]
    answer = METHODS["NearestNeighbour"].explain(case, people)
    assert answer.ok.all()
    assert answer.points["extra"].isna().all()
    values: Any = [3.5] * 5 if name in {"xgboost", "lightgbm"} else pd.Categorical(["x"] * 5)
    values = ["x"] * 5 if name == "lenient pipeline" else values
    known = people.assign(extra=values)
    answer = METHODS["RobX"].explain(case, known)
    assert answer.answered.all()
    assert answer.points["extra"].tolist() == known["extra"].tolist()


def test_a_model_that_takes_no_missing_values_refuses_a_column_of_nothing_by_name() -> None:
    X, y = workers()
    numbers = X[["pay", "years"]]
    model = GradientBoostingClassifier(n_estimators=3).fit(numbers, y)
    with pytest.raises(
        robx.InvalidInput, match="Column 'years' of X has a missing value in row 0; the model does"
    ):
        Problem(model, numbers.assign(years=np.nan))


# --- a guessed schema, given back -----------------------------------------------------------------

COLUMNS: dict[str, Any] = {
    "missing": lambda n: np.full(n, np.nan),
    "constant": np.ones,
    "flags": lambda n: np.arange(n) % 3 == 0,
    "nullable": lambda n: pd.array([None if i % 7 == 0 else i % 5 for i in range(n)], "Int64"),
    "float32": lambda n: (np.arange(n) % 9 / 8).astype(np.float32),
    "unused": lambda n: pd.Categorical(np.array(["x", "y"])[np.arange(n) % 2], list("qxuy")),
    "ordered": lambda n: pd.Categorical(np.array(["x", "y"])[np.arange(n) % 2], list("qxuy"), True),
    "numbered": lambda n: pd.Categorical(np.arange(n) % 3, [5, 0, 1, 2]),
    "text": lambda n: np.array(["x", "y", "z"])[np.arange(n) % 3],
    "nothing": lambda n: pd.Categorical([None] * n, categories=["q"]),
}
FAMILIES: dict[str, Any] = {
    "xgboost": MODELS["xgboost"],
    "lightgbm": MODELS["lightgbm"],
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=10),
    "pipeline": lambda: pipeline("extra", "ignore"),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_guessed_schema_can_be_given_back(name: str, column: str, tmp_path: Path) -> None:
    X, y = workers(150)
    X = X[["pay", "years"]].assign(extra=COLUMNS[column](150))
    text = column == "text" and name in {"xgboost", "lightgbm", "boosting"}
    if (name, column) in {("lightgbm", "ordered"), ("boosting", "missing")}:
        pytest.skip("not imported by robx, or not trained by scikit-learn")
    X = X.astype({"extra": "category"}) if text else X
    model = FAMILIES[name]().fit(X, y)
    people = X.iloc[np.flatnonzero(~y)[:4]]
    wanted = METHODS["NearestNeighbour"].explain(Problem(model, X), people)
    guess = Schema.infer(X)
    guess.save(tmp_path / "schema.yaml")
    for schema in (guess, Schema.load(tmp_path / "schema.yaml")):
        answer = METHODS["NearestNeighbour"].explain(Problem(model, X, schema), people)
        assert_same_answers(wanted, answer, range(4), exact=name != "pipeline")


def test_a_schema_of_an_array_can_be_given_back_to_a_model_that_knows_names() -> None:
    X, y = workers(150)
    numbers = X[["pay", "years"]]
    model = HistGradientBoostingClassifier(max_iter=10).fit(numbers, y)
    array = numbers.to_numpy(np.float64)
    case = Problem(model, array, Schema.infer(array))
    assert case.names == ("pay", "years")
    wanted = METHODS["NearestNeighbour"].explain(Problem(model, array), array[:9])
    assert_same_answers(wanted, METHODS["NearestNeighbour"].explain(case, array[:9]), range(9))


def test_category_codes_that_look_like_numbers_can_be_given_back() -> None:
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.random(200), rng.integers(0, 4, 200)])
    y = codes[:, 0] + (codes[:, 1] == 2) > 0.7
    model = (
        HistGradientBoostingClassifier(max_iter=10)
        .set_params(categorical_features=[1])
        .fit(codes, y)
    )
    wanted = METHODS["NearestNeighbour"].explain(Problem(model, codes), codes[~y][:5])
    case = Problem(model, codes, Schema.infer(codes))
    assert case.schema.features[1].kind == "categorical"
    answer = METHODS["NearestNeighbour"].explain(case, codes[~y][:5])
    assert_same_answers(wanted, answer, range(5))
