"""One-row tables, dicts and arrays: how a layout is read is worked out once, and for it alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import islice, permutations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from xgboost import XGBClassifier

import robx
from robx.problem import model_view
from robx.recent import Recent
from robx.schema.codec import MOST_LAYOUTS
from robx.tables import check_columns, plan, reader

SIZES, HUES = ["s", "m", "l"], ["red", "green", "blue"]


@cache
def training() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "pay": rng.integers(10, 90, 300) * 100.0,
            "years": rng.integers(0, 30, 300),
            "rate": rng.random(300).astype(np.float32).round(2),
            "owner": rng.random(300) < 0.5,
            "size": pd.Categorical(rng.choice(SIZES, 300), categories=SIZES),
            "hue": pd.Categorical(rng.choice(HUES, 300), categories=HUES),
        }
    )


@cache
def problem() -> robx.Problem:
    X = training()
    y = X["pay"] / 3000 + X["years"] / 10 + X["size"].cat.codes > 4
    model = XGBClassifier(
        n_estimators=15, max_depth=3, enable_categorical=True, n_jobs=1, random_state=0
    )
    return robx.Problem(model.fit(X, y), X)


def fresh() -> robx.Problem:
    """The same problem, to which no table was shown yet."""
    copy: robx.Problem = pickle.loads(pickle.dumps(problem()))
    return copy


def declined(n: int = 3) -> pd.DataFrame:
    X = training()
    return X[problem().read(X).score <= 0.5].iloc[:n].reset_index(drop=True)


def rows_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    names = [str(name) for name in frame]
    columns = [frame[name].tolist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "reversed": lambda frame: frame[frame.columns[::-1]],
    "other dtypes": lambda frame: frame.astype({"pay": np.float32, "years": np.int16}),
    "nullable": lambda frame: frame.astype({"years": "Int64", "owner": "boolean"}),
    "text": lambda frame: frame.astype({"size": object, "hue": "string"}),
    "more categories": lambda frame: frame.assign(
        size=frame["size"].cat.set_categories(["xl", "l", "m", "s"])
    ),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "objects": lambda frame: frame.astype(object).to_numpy(),
    "lists": lambda frame: frame.astype(object).to_numpy().tolist(),
    "dicts": rows_of,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3, 12])
def test_few_rows_of_every_kind_are_read_as_many_are(kind: str, n: int) -> None:
    some, frame = declined(n), declined(12)
    read = problem().read(KINDS[kind](some))
    many = problem().read(pd.concat([frame] * 3))  # more than are read cell by cell
    assert read.matrix.tobytes() == many.matrix[:n].tobytes()
    assert read.score.tobytes() == many.score[:n].tobytes()
    assert read.low.tobytes() == many.low[:n].tobytes()
    assert not any(read.trouble)


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_and_an_unlisted_value_are_read_alike_in_every_kind(kind: str) -> None:
    odd = declined(2)
    odd["hue"] = odd["hue"].cat.add_categories(["mauve"])
    odd.loc[0, "hue"], odd.loc[1, "pay"] = "mauve", np.nan
    read, whole = problem().read(KINDS[kind](odd)), problem().read(pd.concat([odd] * 6))
    assert read.matrix.tobytes() == whole.matrix[:2].tobytes()
    assert read.trouble == whole.trouble[:2]
    assert [word.value for word in read.words.values()] == ["mauve"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3])
def test_every_kind_gets_the_same_answers(kind: str, n: int) -> None:
    some, method = declined(n), robx.NearestNeighbour()
    ours, theirs = (method.explain(problem(), X) for X in (KINDS[kind](some), some))
    assert ours.status.tolist() == theirs.status.tolist() == ["ok"] * n
    assert ours.score.tobytes() == theirs.score.tobytes()
    assert ours.cost.tobytes() == theirs.cost.tobytes()
    assert ours.changes == theirs.changes
    assert [ours.words(i) for i in range(n)] == [theirs.words(i) for i in range(n)]
    read = problem().read(ours.points)
    assert read.score.tobytes() == ours.score.tobytes()  # as returned


# --- plans ----------------------------------------------------------------------------------------


def test_a_layout_is_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def counted(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return plan.make_plan(*given, **more)

    monkeypatch.setattr(reader, "make_plan", counted)
    one = fresh()
    for _ in range(3):
        for i in range(3):
            one.read(declined().iloc[[i]])
    assert len(calls) == 1
    one.read(declined()[training().columns[::-1]])
    one.read(declined().astype({"years": np.int16}))
    assert len(calls) == 3


def test_the_form_of_a_layout_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    check = check_columns

    def counted(*given: Any, **more: Any) -> Any:
        calls.append(given)
        return check(*given, **more)

    monkeypatch.setattr(model_view, "check_columns", counted)
    one = fresh()
    for _ in range(4):
        one.read(declined())
    assert len(calls) == 1


def test_the_same_names_in_another_order_or_of_other_dtypes_have_their_own_plan() -> None:
    one, some = fresh(), declined()
    tables = [make(some) for make in KINDS.values()]
    first = [one.read(X).matrix.tobytes() for X in tables]
    again = [one.read(X).matrix.tobytes() for X in reversed(tables)]
    assert {*first, *again} == {problem().read(some).matrix.tobytes()}
    # Numbers where the last table had text, in a column of the same name.
    with pytest.raises(robx.InvalidInput, match="'hue' of X must hold text or categories"):
        one.read(some.assign(hue=1.0))
    with pytest.raises(robx.InvalidInput, match="'pay' of X must hold numbers"):
        one.read(some.assign(pay="much"))


def test_a_layout_that_lacks_a_column_is_refused_every_time() -> None:
    one, some = fresh(), declined()
    for _ in range(2):
        with pytest.raises(robx.InvalidInput, match="X lacks 1 of the model's columns: 'pay'"):
            one.read(some.drop(columns="pay"))
        with pytest.raises(robx.InvalidInput, match="not trained on: 'age'"):
            one.read(some.assign(age=3))


def test_plans_hold_no_categories_of_applicants() -> None:
    one, some = fresh(), declined(1)
    one.read(some.assign(hue=some["hue"].cat.add_categories(["secret"])))
    assert "secret" not in repr(vars(one.codec)["_plans"]._results)


def test_threads_that_read_different_layouts_at_once_read_each_right() -> None:
    one, some = fresh(), declined()
    tables = [make(some) for make in KINDS.values()] * 6
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda X: one.read(X).matrix.tobytes(), tables))
    assert set(read) == {problem().read(some).matrix.tobytes()}


def test_what_is_remembered_of_layouts_is_bounded() -> None:
    recent = Recent(3)
    made = [recent.get(k, partial(pow, k, 2)) for k in [1, 2, 3, 3, 2, 4, 1]]
    assert made == [1, 4, 9, 9, 4, 16, 1]
    assert len(recent) <= 3
    assert len(pickle.loads(pickle.dumps(recent))) == 0
    one, row = fresh(), declined(1)
    expected = problem().read(row).matrix.tobytes()
    for order in islice(permutations(row.columns), 2 * MOST_LAYOUTS):
        assert one.read(row[list(order)]).matrix.tobytes() == expected
        assert len(vars(one.codec)["_plans"]) <= MOST_LAYOUTS


# --- dicts ----------------------------------------------------------------------------------------


def test_a_dict_is_a_row_and_a_list_of_dicts_is_rows() -> None:
    some = declined()
    rows = rows_of(some)
    one = robx.NearestNeighbour().explain(problem(), rows[0])
    all_of_them = robx.NearestNeighbour().explain(problem(), rows)
    frame = robx.NearestNeighbour().explain(problem(), some)
    assert (len(one), len(all_of_them)) == (1, 3)
    assert one.words(0) == all_of_them.words(0) == frame.words(0)
    assert isinstance(all_of_them.points, pd.DataFrame)
    pd.testing.assert_frame_equal(
        all_of_them.points, frame.points, check_dtype=False, check_categorical=False
    )
    assert all_of_them.points["size"].dtype == training()["size"].dtype
    assert all_of_them.records == frame.records


def test_answers_as_dicts_are_plain_and_complete() -> None:
    some = declined()
    answer = robx.NearestNeighbour().explain(problem(), some)
    records = answer.records
    assert [list(row) for row in records] == [list(training().columns)] * 3
    assert {type(value) for row in records for value in row.values()} <= {float, int, bool, str}
    read = [problem().read(X).matrix.tobytes() for X in (records, answer.points)]
    assert read[0] == read[1]
    saved = robx.Counterfactuals.from_dict(answer.to_dict())
    assert saved.records == records
    assert [type(value) for value in saved.records[0].values()] == [
        type(value)
        for value in records[0].values()  # True is 1, but is written otherwise in JSON
    ]
    assert bool in {type(value) for value in records[0].values()}
    again = robx.NearestNeighbour().explain(problem(), records)
    assert again.status.tolist() == ["already accepted"] * 3


def test_dicts_with_other_columns_are_refused_in_words() -> None:
    row, other = rows_of(declined(2))
    lacking = {name: value for name, value in row.items() if name != "pay"}
    cases: list[tuple[Any, str]] = [
        (lacking, r"X lacks 1 of the model's columns: 'pay'\."),
        ({**row, "age": 3}, r"not trained on: 'age'"),
        ([row, lacking], r"same columns in every row\. Row 1 differs from row 0 in 'pay'"),
        ([row, 3], r"must be a list of dicts, as its first row is one\. Got int in row 1\."),
        ({name: [value] for name, value in row.items()}, r"X is a dict, which is one row"),
        ({**row, "pay": "much"}, r"'pay' of X must hold numbers"),
        ({**row, "hue": 3}, r"'hue' of X must hold text or categories"),
        ({}, r"X lacks 6 of the model's columns"),
    ]
    for X, message in cases:
        with pytest.raises(robx.InvalidInput, match=message):
            problem().read(X)
    assert not any(problem().read([row, other]).trouble)


def test_none_in_a_dict_is_a_missing_value() -> None:
    row = rows_of(declined(1))[0]
    read = problem().read([{**row, "pay": None, "hue": None}])
    assert np.isnan(read.matrix[0]).tolist() == [True, False, False, False, False, True]


# --- written later --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "numpy", "lists", "dicts"])
def test_what_the_caller_does_to_the_table_afterwards_does_not_reach_the_answers(kind: str) -> None:
    if kind == "numpy":
        table: Any = np.random.default_rng(0).random((200, 3)).round(2)
        model = XGBClassifier(n_estimators=5, max_depth=2).fit(table, table[:, 0] > 0.5)
        one, X = robx.Problem(model, table), table[table[:, 0] < 0.4][:2].copy()
    else:
        one, X = problem(), KINDS[kind](declined(2).copy())
    expected = robx.NearestNeighbour().explain(one, X)
    known = expected.points.copy(), expected.words(0)
    answer = robx.NearestNeighbour().explain(one, X)
    if kind == "pandas":
        X.loc[:, "pay"] = -1.0
    elif kind == "numpy":
        X[:] = -1.0
    else:
        X[0] = X[1]
    assert np.array_equal(np.asarray(answer.points, dtype=object), np.asarray(known[0], object))
    assert answer.words(0) == known[1]


def test_tables_and_the_base_are_made_when_they_are_looked_at() -> None:
    method = robx.Frugal(noise=robx.Noise(n_draws=32))
    answer = method.explain(problem(), declined(1)).noted(seed=3)
    later = ("settings", "points", "base")
    assert [name for name in later if name in vars(answer)] == []
    assert answer.base is not None
    assert answer.base.method == "NearestNeighbour"
    assert answer.base.points is answer.replaced(method="other").base.points  # type: ignore[union-attr]
    assert answer.settings["noise"]["n_draws"] == 32
    with pytest.raises(AttributeError, match="no attribute 'pints'"):
        answer.pints  # type: ignore[attr-defined] # noqa: B018
    copy = pickle.loads(pickle.dumps(method.explain(problem(), declined(1))))
    assert vars(copy)["points"].equals(answer.points)
    assert vars(copy)["numbers"] is None
    assert copy.to_dict() == method.explain(problem(), declined(1)).to_dict()


def test_a_long_batch_gives_the_same_as_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    some = declined(20)
    method = robx.NearestNeighbour()
    few = method.explain(problem(), some)
    monkeypatch.setattr("robx.methods.finish.FEW", 3)
    monkeypatch.setattr("robx.methods.finish.ROWS_AT_ONCE", 7)
    monkeypatch.setattr("robx.schema.codec.ROWS_AT_ONCE", 7)
    monkeypatch.setattr("robx.schema.bounds.ROWS_AT_ONCE", 7)
    monkeypatch.setattr("robx.problem.model_view.ROWS_AT_ONCE", 7)
    monkeypatch.setattr("robx.retrained.certification.ROWS_AT_ONCE", 7)
    monkeypatch.setattr(robx.NearestNeighbour, "chunk", 4)
    many = method.explain(problem(), some)
    assert "points" in vars(many)
    assert many.to_dict() == few.to_dict()
