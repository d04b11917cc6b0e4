from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robx
from robx import Feature, Schema
from robx.schema.feature import CHANGE_WORDS, CHANGES, KINDS
from robx.schema.schema import OPTIONAL
from schema_cases import Case, cases
from speed import examples


def home(**fields: Any) -> tuple[Feature, ...]:
    names = ("home_own", "home_rent", "home_free")
    return tuple(Feature(name, "onehot", group="home", scale=1.0, **fields) for name in names)


PEOPLE = pd.DataFrame(
    {
        "income": [10.0, 20.5, np.nan],
        "age": [30, 40, 50],
        "savings": [0, 1, 2],
        "job": ["clerk", "cook", "clerk"],
        "home_own": [0, 1, 0],
        "home_rent": [1, 0, 0],
        "home_free": [0, 0, 1],
    }
)
SCHEMA = Schema(
    (
        Feature("income", resolution=0.5, low=0, scale=10.0),
        Feature("age", "integer", change="increase", scale=20.0),
        Feature(
            "savings",
            "ordinal",
            levels={0: "under 100", 1: "100 to 500", 2: "500 or more"},  # type: ignore[arg-type]
            scale=2.0,
            weight=3.0,
        ),
        Feature("job", "categorical", levels=("clerk", "cook"), scale=1.0, weight=2.0),
        *home(),
    ),
    ("income <= 4*age",),
)


# --- files ----------------------------------------------------------------------------------------


@given(cases(relations=True), st.sampled_from(["yaml", "yml", "json"]))
@examples(60, derandomize=True)
def test_what_is_saved_is_loaded_again(
    tmp_path_factory: pytest.TempPathFactory, case: Case, ending: str
) -> None:
    file = tmp_path_factory.getbasetemp() / f"schema.{ending}"
    case.schema.save(file)
    assert Schema.load(file) == case.schema


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_words_that_yaml_knows_stay_words(tmp_path: Path, ending: str) -> None:
    odd = ("no", "yes", "null", "1", "1e3", "é → ü", "a: b", "", " ", "- x", "2020-01-01")
    schema = Schema(
        (
            Feature("on", "categorical", levels=odd, labels=tuple(f"'{w}'" for w in odd)),
            Feature("123", "ordinal", levels=(False, True)),
            *home(),
        ),
        (),
        ("home",),
    )
    schema.save(tmp_path / f"s.{ending}")
    assert Schema.load(tmp_path / f"s.{ending}") == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_file_may_be_written_by_hand(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        """
        features:
          - {name: 1, kind: integer}
          - name: savings
            kind: ordinal
            levels: {0: under 100, 1: 100 to 500}
        relations: [savings <= 2*`1`]
        """
    )
    schema = Schema.load(tmp_path / "s.yaml")
    assert schema["savings"].say(1.0) == "100 to 500"
    assert schema.names == ("1", "savings")
    assert schema.relations[0].bound == 0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.json", "{", "'s.json' is not JSON: "),
        ("s.json", "[" * 100_000, "'s.json' is not JSON: "),
        ("s.json", b"\xff\xfe", "'s.json' is not JSON: "),
        ("s.yaml", "a: [", "'s.yaml' is not YAML: "),
        ("s.yaml", "a: 2020-13-45", "'s.yaml' is not YAML: "),
        ("s.yaml", "a: !!python/object:os.system x", "'s.yaml' is not YAML: "),
        ("s.yaml", "", "A schema file holds a mapping with a list of 'features'."),
        ("s.yaml", "features: 5", "A schema file holds a mapping with a list of 'features'."),
        ("s.yaml", "features: [a]", "Each feature of a schema file has a 'name'. Got 'a'."),
        ("s.yaml", "features: [{kind: integer}]", "Each feature of a schema file has a 'name'."),
        ("s.yaml", "features: [{name: no}]", "reads as true or false: put it in quotes"),
        ("s.yaml", "features: []", "A schema needs a list of at least one robx.Feature."),
        ("s.yaml", "{features: [{name: a}], more: 1}", "A schema file has no field 'more'."),
        ("s.yaml", "{features: [{name: a}], robx_schema: 2}", "has format 2; this robx reads 1."),
        ("s.yaml", "features: [{name: a, step: 1}]", "A feature has no 'step'. It has kind, "),
        ("s.yaml", "features: [{name: a, kind: []}]", "Feature 'a': kind must be one of "),
        ("s.yaml", "{features: [{name: a}], relations: a <= 1}", "relations of a schema must be a"),
        ("s.yaml", "{features: [{name: a}], relations: 5}", "relations of a schema must be a list"),
        (
            "s.yaml",
            "{features: [{name: a}], optional_groups: 5}",
            "optional_groups of a schema mus",
        ),
    ],
)
def test_a_damaged_file_says_what_is_wrong(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(robx.InvalidInput) as caught:
        Schema.load(tmp_path / name)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_of_no_kind(tmp_path: Path) -> None:
    with pytest.raises(
        robx.InvalidInput, match=r"There is no schema file at .*'\. Check the path\."
    ):
        Schema.load(tmp_path / "none.yaml")
    with pytest.raises(robx.InvalidInput, match=r"saved as .yaml or .json. Got 's.txt'"):
        SCHEMA.save(tmp_path / "s.txt")


# --- made by hand ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Schema(()), "A schema needs a list of at least one robx.Feature."),
        (lambda: Schema("abc"), "The features of a schema must be a list. Got 'abc'."),  # type: ignore[arg-type]
        (lambda: Schema(None), "The features of a schema must be a list. Got None."),  # type: ignore[arg-type]
        (lambda: Schema(({"name": "a"},)), "A schema needs a list of at least one robx.Feature"),  # type: ignore[arg-type]
        (lambda: Schema((Feature("a"), Feature("a"))), "more than one feature is named 'a'"),
        (
            lambda: Schema((Feature("a"),), ("a <= b",)),
            "'a <= b' names 'b', which is not a feature",
        ),
        (lambda: Schema(home(), ("home_own <= 0",)), "needs numbers, and 'home_own' is not one"),
        (lambda: Schema(home()[:1]), "one-hot group 'home' has one member, so it can never change"),
        (lambda: Schema(home(may_fill=True)), "one-hot group 'home' cannot be filled in"),
        (
            lambda: Schema((*home()[:2], home(change="none")[2])),
            "members of one-hot group 'home' differ in change, scale, weight or may_fill",
        ),
        (
            lambda: Schema((Feature("a"),), (), ("g",)),
            "there is no one-hot group 'g' to be optional",
        ),
    ],
)
def test_a_schema_that_contradicts_itself_says_how(make: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        make()
    assert message in str(caught.value)


def test_overriding_changes_a_copy() -> None:
    changed = SCHEMA.override({"age": {"change": "none"}}, income={"high": 50.0})
    assert changed["age"].change == "none"
    assert changed["income"].high == 50
    assert changed.relations == SCHEMA.relations
    assert SCHEMA["age"].change == "increase"
    assert SCHEMA.override(relations=[]).relations == ()
    assert SCHEMA.override(age=Feature("age")).names == SCHEMA.names


def test_a_new_kind_drops_what_only_the_old_one_had() -> None:
    changed = SCHEMA.override(savings={"kind": "integer"}, income={"kind": "integer"})
    assert changed["savings"].levels is None
    assert changed["savings"].labels is None
    assert changed["income"].resolution is None
    kept = SCHEMA.override(savings={"kind": "categorical"})
    assert kept["savings"].labels == SCHEMA["savings"].labels


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"wage": {}}, "The schema has no feature 'wage'. It has income, age, savings, job"),
        ({"age": 5}, "Feature 'age' is overridden by a mapping of fields or a Feature. Got 5."),
        ({"age": {"step": 5}}, "A feature has no 'step'. It has kind"),
        ([1], "Schema.override takes a mapping from names to fields, such as"),
        ({"home_own": {"change": "none"}}, "members of one-hot group 'home' differ"),
    ],
)
def test_an_override_that_makes_no_sense_says_why(changes: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        SCHEMA.override(changes)
    assert message in str(caught.value)


def test_fitting_fills_in_ranges_and_leaves_what_is_stated() -> None:
    table = pd.DataFrame({"a": [1.0, 5.0, np.nan, np.inf], "b": [0.0, 3.0, 1.0, 1.0], "c": 7.0})
    schema = Schema((Feature("a"), Feature("b", scale=10.0), Feature("c")))
    assert [f.scale for f in schema.fit(table)] == [4.0, 10.0, 1.0]


@pytest.mark.parametrize(
    ("column", "scale"),
    [([5e-324, 0.0], 1.0), ([1e308, -1e308], np.finfo(float).max), ([1e-300, 0.0], 1e-300)],
)
def test_scales_can_be_divided_by(column: list[float], scale: float) -> None:
    fitted = Schema((Feature("a"),)).fit(pd.DataFrame({"a": column}))
    assert fitted["a"].scale == scale
    cost = fitted.cost(np.array([column[:1]]), np.array([column[1:]]))
    assert np.isfinite(cost).all()
    assert cost[0] > 0


# --- asked ----------------------------------------------------------------------------------------


def changed(**cells: Any) -> pd.DataFrame:
    """Give the first applicant with some cells changed."""
    return PEOPLE.iloc[:1].assign(**cells)


@pytest.mark.parametrize(
    ("cells", "broken"),
    [
        ({}, []),
        ({"income": 12.5, "age": 31, "savings": 2, "job": "cook"}, []),
        ({"income": 12.3}, ["income (at least 0, in steps of 0.5)"]),
        ({"income": -1.0}, ["income (at least 0, in steps of 0.5)"]),
        ({"income": np.nan}, ["income (a known value cannot become missing)"]),
        ({"income": np.inf}, ["income (infinite)"]),
        ({"income": 120.5}, ["income <= 4*age"]),
        ({"age": 29}, ["age (may only rise)"]),
        ({"savings": 7}, ["savings (not one of its levels)"]),
        ({"home_own": 1}, ["home (one member must be set)"]),
        ({"home_rent": 0}, ["home (one member must be set)"]),
        ({"home_rent": 0, "home_own": 1}, []),
        ({"age": 29, "savings": 3}, ["age (may only rise)", "savings (not one of its levels)"]),
    ],
)
def test_what_is_broken_is_named(cells: dict[str, Any], broken: list[str]) -> None:
    assert SCHEMA.violations(changed(**cells), PEOPLE[:1]) == [broken]


def test_a_missing_value_stays_missing_unless_it_may_be_filled() -> None:
    filled = PEOPLE.fillna(10.0)
    assert SCHEMA.violations(filled, PEOPLE)[2] == ["income (missing stays missing)"]
    may = SCHEMA.override(income={"may_fill": True})
    assert may.violations(filled, PEOPLE) == [[], [], []]
    assert may.violations(PEOPLE.fillna(10.2), PEOPLE)[2] == [
        "income (at least 0, in steps of 0.5)"
    ]
    np.testing.assert_allclose(may.cost(filled, PEOPLE), [0, 0, 1])


def test_without_applicants_ranges_levels_groups_and_relations_are_looked_at() -> None:
    assert SCHEMA.violations(PEOPLE) == [[], [], []]
    bad = PEOPLE.assign(
        income=[-1.0, 1.3, np.nan], savings=[0, 7, 0], home_own=[1, 1, 1], age=[30.5, 40, 50]
    )
    assert SCHEMA.violations(bad) == [
        [
            "income (at least 0, in steps of 0.5)",
            "age (whole numbers only)",
            "home (one member must be set)",
        ],
        ["income (at least 0, in steps of 0.5)", "savings (not one of its levels)"],
        ["home (one member must be set)"],
    ]
    assert SCHEMA.override(age={"change": "none"}).violations(PEOPLE) == [[], [], []]


def test_changes_are_put_in_words() -> None:
    after = changed(income=12.5, age=31, savings=1, job="cook", home_rent=0, home_free=1)
    assert SCHEMA.words(PEOPLE[:1], after) == [
        [
            "income: 10 → 12.5",
            "age: 30 → 31",
            "savings: under 100 → 100 to 500",
            "job: clerk → cook",
            "home: rent → free",
        ]
    ]
    assert SCHEMA.words(PEOPLE, PEOPLE) == [[], [], []]
    assert SCHEMA.words(PEOPLE[2:], PEOPLE[2:].fillna(3.5))[0] == ["income: missing → 3.5"]
    none = PEOPLE.assign(home_own=0, home_rent=0, home_free=0)
    assert SCHEMA.words(PEOPLE[:1], none[:1]) == [["home: rent → none"]]


def test_costs_are_in_units_of_scale_and_weight() -> None:
    after = changed(income=15.0, savings=1, job="cook", home_rent=0, home_free=1)
    parts = np.array([0.5, 1.5, 2.0, 1.0])
    assert SCHEMA.cost(after, PEOPLE[:1])[0] == pytest.approx(parts.sum())
    assert SCHEMA.cost(after, PEOPLE[:1], norm=2)[0] == pytest.approx(math.sqrt((parts**2).sum()))


@given(cases(relations=False, missing=False), st.sampled_from([1, 2]))
@examples(100, derandomize=True)
def test_the_cost_is_a_distance(case: Case, norm: Any) -> None:
    a, b, c = case.wanted[None], case.applicant[None], np.roll(case.wanted, 1)[None]

    def cost(one: Any, other: Any) -> float:
        return float(case.schema.cost(one, other, norm)[0])

    assert cost(a, a) == 0
    assert (cost(a, b) == 0) == bool((a == b).all())
    assert cost(a, b) == cost(b, a) >= 0
    assert cost(a, c) <= cost(a, b) + cost(b, c) + 1e-9
    heavier = case.schema.override({f.name: {"weight": 2 * f.weight} for f in case.schema})
    assert heavier.cost(a, b, norm)[0] == pytest.approx(2 * cost(a, b))
    if not any(f.group for f in case.schema):  # halves of a group's change weigh more in L2
        assert cost(a, b) >= float(case.schema.cost(a, b, 2)[0]) - 1e-9


def test_costs_of_tiny_and_huge_changes_are_numbers() -> None:
    schema = Schema((Feature("a", scale=1.0), Feature("b", scale=1e300)))
    tiny = schema.cost(np.array([[1e-200, 0.0]]), np.array([[0.0, 0.0]]), norm=2)
    huge = schema.cost(np.array([[0.0, 1e308]]), np.array([[0.0, -1e308]]), norm=1)
    large = schema.cost(np.array([[1e200, 0.0]]), np.array([[0.0, 0.0]]), norm=2)
    np.testing.assert_allclose([tiny[0], huge[0], large[0]], [1e-200, 2e8, 1e200])


def test_every_kind_of_table_is_answered_alike() -> None:
    before, after = PEOPLE.drop(columns="job"), PEOPLE.drop(columns="job").assign(age=[31, 39, 50])
    schema = Schema(tuple(f for f in SCHEMA if f.name != "job"), SCHEMA.relations)
    expected = [[], ["age (may only rise)"], []]
    for make in (lambda t: t, pl.from_pandas, pa.Table.from_pandas, lambda t: t.to_numpy()):
        assert schema.violations(make(after), make(before)) == expected
        assert schema.words(make(before), make(after))[0] == ["age: 30 → 31"]
        np.testing.assert_allclose(schema.cost(make(after), make(before)), [0.05, 0.05, 0])
    turned = before[before.columns[::-1]]
    assert schema.violations(after, turned) == expected
    assert schema.violations(after.to_numpy(), before) == expected


def test_projecting_keeps_the_table_as_it_came() -> None:
    table = PEOPLE.set_index(pd.Index(list("xyz")))[PEOPLE.columns[::-1]]
    found = SCHEMA.project(table.assign(income=[12.3, 20.5, np.nan]), table)
    assert found["income"].tolist()[:2] == [12.5, 20.5]
    assert found.index.tolist() == ["x", "y", "z"]
    assert found.columns.tolist() == table.columns.tolist()
    assert (found.dtypes == table.dtypes).all()


def test_a_schema_of_an_array_takes_frames_by_position() -> None:
    schema = Schema.infer(np.array([[0.0, 1.0], [2.0, 5.0]]))
    assert schema.names == ("0", "1")
    frame = pd.DataFrame({"b": [0.0], "a": [1.5]})
    assert schema.violations(frame) == [["1 (whole numbers only)"]]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: SCHEMA.cost(PEOPLE, PEOPLE[:2]), "must have a row for each other. Got 3 and 2."),
        (lambda: SCHEMA.cost(PEOPLE, PEOPLE, norm=3), "must be 1 or 2. Got 3 instead"),  # type: ignore[arg-type]
        (lambda: SCHEMA.cost(PEOPLE, PEOPLE, norm=[1]), r"must be 1 or 2. Got [1] instead"),  # type: ignore[arg-type]
        (lambda: SCHEMA.cost(PEOPLE, PEOPLE, norm=True), "must be 1 or 2. Got True instead"),  # type: ignore[arg-type]
        (lambda: SCHEMA.violations(PEOPLE.assign(job=1)), "its feature"),
        (lambda: SCHEMA.violations(PEOPLE.assign(age="old")), "Column 'age' holds text or categor"),
        (
            lambda: SCHEMA.violations(PEOPLE.drop(columns="age")),
            "The schema and the table must have the same columns. Only in the schema: ['age']",
        ),
        (
            lambda: SCHEMA.violations(PEOPLE.to_numpy()[:, :3]),
            "The schema and the table must have the same columns.",
        ),
        (
            lambda: SCHEMA.override(age={"scale": None}).cost(PEOPLE, PEOPLE),
            "Feature 'age' has no scale, so a cost cannot be given. Call schema.fit(X_train)",
        ),
    ],
)
def test_questions_that_make_no_sense_are_refused(ask: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        ask()
    assert message in str(caught.value)


def test_a_schema_is_looked_at_as_a_table() -> None:
    said = str(SCHEMA)
    assert len(said.splitlines()) == len(SCHEMA) + 2
    assert "under 100 < 100 to 500 < 500 or more" in said
    assert "one of home" in said
    assert said.endswith("with income <= 4*age")
    assert SCHEMA["age"].kind == "integer"
    assert [f.name for f in SCHEMA] == list(SCHEMA.names)
    with pytest.raises(KeyError):
        SCHEMA["wage"]


def test_a_yaml_file_says_at_its_top_what_can_be_written_into_it(tmp_path: Path) -> None:
    schema = Schema([Feature("a", "integer", change="none"), Feature("b", within=2)])
    file, again = tmp_path / "schema.yaml", tmp_path / "again.yaml"
    schema.save(file)
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert lines[: len(comments)] == comments
    words = {line[1:].split()[0] for line in comments if line.strip("# ")}
    words |= {word for line in comments for word in line[1:].replace(",", " ").split()[:2]}
    fields = {f.name for f in dataclasses.fields(Feature)} - {"name"}
    assert fields | {"within"} | set(KINDS) | set(CHANGES) | set(OPTIONAL) <= words
    assert all(word in text for word in CHANGE_WORDS)
    Schema.load(file).save(again)
    assert again.read_bytes() == file.read_bytes()
    assert Schema.load(again) == schema


def test_the_words_of_a_table_can_be_written_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "schema.yaml"
    file.write_text(
        "features:\n- {name: a, change: fixed}\n- {name: b, change: may only rise}\n"
        "- {name: c, change: free}\n- {name: d, change: may only fall}\n",
        encoding="utf-8",
    )
    assert [f.change for f in Schema.load(file)] == ["none", "increase", "any", "decrease"]
