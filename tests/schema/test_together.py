"""Columns that say the same thing change together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robx
from robx import Feature, Schema
from speed import examples

GRADES = ("Preschool", "HS-grad", "Bachelors", "Masters")
YEARS = (1, 9, 13, 14)


def people(n: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    grade, town = rng.integers(0, 4, n), rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "education": np.array(GRADES)[grade],
            "years": np.array(YEARS)[grade],
            "has_degree": grade > 1,
            "income": rng.integers(10, 90, n),
            "town": np.array(["a", "b", "c"])[town],
        }
    )
    return table.join(pd.get_dummies(table["town"], prefix="town", dtype=int))


def test_what_is_determined_in_every_row_is_guessed_to_go_together() -> None:
    schema = Schema.infer(people())
    assert [one.names for one in schema.together] == [
        ("education", "years", "has_degree"),
        ("town", "town_a", "town_b", "town_c"),
    ]
    education, _ = schema.together
    assert {row[0]: row[1] for row in education.values} == dict(  # noqa: PD011
        zip(GRADES, YEARS, strict=True)
    )
    assert "goes with education" in str(schema)
    assert schema.override(together=()).together == ()


def test_a_one_hot_group_can_lead() -> None:
    table = people().drop(columns="town").assign(code=lambda t: 2 * t["town_b"] + 5 * t["town_c"])
    table = table.drop(columns=["education", "has_degree"])
    assert [one.names for one in Schema.infer(table).together] == [("code", "town")]
    schema = Schema.infer(table).override(together=[["town", "code"]]).fit(table)
    before, after = table[:1], table[:1].assign(town_a=0, town_b=0, town_c=0, code=9)
    after[f"town_{'bca'[table['code'][0] % 3]}"] = 1
    moved = schema.project(after, before)
    assert moved["code"][0] == 2 * moved["town_b"][0] + 5 * moved["town_c"][0]
    assert schema.words(before, moved)[0][0].count("code") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.assign(
            years=[9 if t["years"][0] != 9 else 1, *t["years"][1:]]
        ),  # one row differs
        lambda t: t[:15],  # few rows
        lambda t: t.assign(years=np.where(np.arange(len(t)) == 5, np.nan, t["years"])),
        lambda t: t.assign(years=7),  # constant
    ],
)
def test_it_is_not_guessed_where_a_row_differs_or_few_are_there(change: Any) -> None:
    table = change(people()[["education", "years", "income"]])
    assert Schema.infer(table).together == ()


def test_chance_is_not_taken_for_a_rule() -> None:
    """Among many small random tables, none has columns that go together."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(20, 60))
        table = pd.DataFrame(rng.integers(0, 2, (n, 12)), columns=[*"abcdefghijkl"])
        table["id"] = np.arange(n) % 45
        assert Schema.infer(table).together == ()


def test_nobody_comes_to_have_a_level_of_which_it_is_not_known_what_goes_with_it() -> None:
    table = people()[["education", "years"]]
    table["education"] = pd.Categorical(table["education"], [*GRADES, "Doctorate"])
    every = [Feature("education", "categorical", levels=(*GRADES, "Doctorate")), Feature("years")]
    schema = Schema(every, together=[["education", "years"]]).fit(table)
    own = table[:1]
    asked = own.assign(education=pd.Categorical(["Doctorate"], [*GRADES, "Doctorate"]))
    assert schema.violations(asked, own) == [["years (goes with education)"]]
    assert schema.project(asked, own).equals(own)


# --- points ---------------------------------------------------------------------------------------

SCHEMA = Schema.infer(people()).override(years={"unit": "years"})


def person(grade: int, **more: Any) -> pd.DataFrame:
    row = {
        "education": GRADES[grade],
        "years": YEARS[grade],
        "has_degree": grade > 1,
        "income": 50,
        "town": "a",
        "town_a": 1,
        "town_b": 0,
        "town_c": 0,
    }
    return pd.DataFrame([{**row, **more}])


def test_the_follower_is_set_costs_nothing_and_is_said_once() -> None:
    own = person(1)
    asked = own.assign(education="Masters", town="c")
    assert SCHEMA.violations(asked, own) == [
        ["years, has_degree (goes with education)", "town_a, town_b, town_c (goes with town)"]
    ]
    moved = SCHEMA.project(asked, own)
    assert moved.iloc[0].tolist() == ["Masters", 14, True, 50, "c", 0, 0, 1]
    assert SCHEMA.violations(moved, own) == [[]]
    assert SCHEMA.cost(moved, own).tolist() == [2.0]
    assert SCHEMA.words(own, moved) == [
        [
            "education: HS-grad → Masters (years 9 → 14 years, has_degree False → True)",
            "town: a → c",
        ]
    ]


def test_nobody_acts_on_a_follower() -> None:
    own = person(1)
    assert SCHEMA.project(own.assign(years=13), own).equals(own)
    assert SCHEMA.violations(own.assign(years=13), own)[0] == [
        "years, has_degree (goes with education)"
    ]


def test_values_that_do_not_belong_together_may_stay_until_the_leader_moves() -> None:
    own = person(1, years=12)
    assert SCHEMA.violations(own, own) == [[]]
    assert SCHEMA.project(own.assign(education="Bachelors"), own)["years"].tolist() == [13]


def test_what_is_said_of_a_follower_binds_the_leader() -> None:
    own = person(1)
    fixed = SCHEMA.override(has_degree={"change": "none"})
    for grade, allowed in zip(GRADES, (True, True, False, False), strict=True):
        moved = fixed.project(own.assign(education=grade), own)
        assert (moved["education"][0] == grade) is allowed
    rising = SCHEMA.override(years={"change": "increase", "max_increase": 4})
    reached = [rising.project(own.assign(education=grade), own)["education"][0] for grade in GRADES]
    assert reached == ["HS-grad", "HS-grad", "Bachelors", "HS-grad"]


def test_a_missing_value_stays_missing() -> None:
    own = person(1).astype({"years": float}).assign(years=np.nan)
    moved = SCHEMA.project(own.assign(education="Masters"), own)
    assert np.isnan(moved["years"][0])
    assert moved["has_degree"].tolist() == [True]


def test_a_number_that_leads_moves_to_the_next_value_that_is_known() -> None:
    table = people()[["years", "income"]].assign(code=lambda t: t["years"] * 3)
    schema = Schema.infer(table)
    assert [one.names for one in schema.together] == [("years", "code")]
    own = pd.DataFrame({"years": [1], "income": [50], "code": [3]})
    for wanted, given_ in ((8, 1), (9, 9), (11, 9), (13, 13), (20, 14)):
        moved = schema.project(own.assign(years=wanted), own)
        assert moved[["years", "code"]].iloc[0].tolist() == [given_, 3 * given_]


def test_relations_may_name_what_follows() -> None:
    tied = SCHEMA.override(relations=["years <= 13"])
    own = person(1)
    assert tied.violations(SCHEMA.project(own.assign(education="Masters"), own), own) == [
        ["years <= 13"]
    ]


def test_a_relation_that_binds_what_follows_leaves_people_where_they_are() -> None:
    tied = SCHEMA.override(relations=["years <= 13"])
    own = person(1)
    assert tied.project(own.assign(education="Masters"), own).equals(own)
    assert tied.project(own.assign(education="Bachelors"), own)["years"].tolist() == [13]


@examples(200)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=6),
    st.integers(-1, 4),
    st.integers(-1, 4),
    st.sampled_from(["any", "increase", "decrease", "none"]),
    st.sampled_from(["any", "increase", "decrease", "none"]),
    st.sampled_from([None, 0, 1, 3]),
)
def test_what_is_settled_is_the_nearest_that_goes_together(
    pairs: list[tuple[int, int]], x: int, wanted: int, leads: Any, follows: Any, most: Any
) -> None:
    """Against a look at all keys between the applicant and what is wanted."""
    known = dict(pairs)
    schema = Schema(
        [
            Feature("a", "integer", change=leads, scale=1),
            Feature("b", "integer", change=follows, max_increase=most, scale=1),
        ],
        together=[{"features": ["a", "b"], "values": [list(item) for item in known.items()]}],
    )
    y = known.get(x, 5)
    own = np.array([[x, y]], dtype=float)

    def allowed(a: int) -> bool:
        b = known[a]
        ways = {"any": True, "increase": a >= x, "decrease": a <= x, "none": a == x}
        lines = {"any": True, "increase": b >= y, "decrease": b <= y, "none": b == y}
        return ways[leads] and lines[follows] and (most is None or b - y <= most)

    between = range(min(x, wanted), max(x, wanted) + 1)
    options = [a for a in between if a != x and a in known and allowed(a)]
    best = min(options, key=lambda a: abs(a - wanted), default=x)
    settled = schema.project(np.array([[wanted, 99.0]]), own)
    assert settled.tolist() == [[best, known[best] if best != x else y]]
    assert schema.violations(settled, own) == [[]]
    assert schema.project(settled, own).tolist() == settled.tolist()


def test_a_fixed_follower_keeps_a_missing_leader_missing() -> None:
    table = people()[["years"]].assign(code=lambda t: t["years"] * 3).astype(float)
    features = [Feature("years", "integer", may_fill=True), Feature("code", "integer")]
    schema = Schema(features, together=[["years", "code"]]).fit(table)
    own = pd.DataFrame({"years": [np.nan, np.nan], "code": [3.0, 3.0]})
    asked = own.assign(years=[13.0, 1.0])
    assert schema.project(asked, own)["code"].tolist() == [39, 3]
    moved = schema.override(code={"change": "none"}).project(asked, own)
    assert moved["code"].tolist() == [3, 3]
    assert moved["years"].fillna(-1).tolist() == [-1, 1]


def test_effects_follow_from_where_the_leader_comes_to_be() -> None:
    table = people()[["years", "income"]].assign(code=lambda t: t["years"] * 3)
    schema = Schema.infer(table).override(effects={"income": "+1 * years"})
    own = pd.DataFrame({"years": [1], "income": [50], "code": [3]})
    moved = schema.project(own.assign(years=12), own)
    assert moved.iloc[0].tolist() == [9, 58, 27]
    assert schema.violations(moved, own) == [[]]


def test_what_goes_together_is_forgotten_with_the_levels_that_are() -> None:
    fewer = SCHEMA.override(education={"levels": GRADES[:2]})
    assert {row[0] for row in fewer.together[0].values} == {*GRADES[:2]}  # noqa: PD011
    assert fewer.together[1] == SCHEMA.together[1]


# --- files and errors -----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_it_is_kept_in_a_file(tmp_path: Path, ending: str) -> None:
    for schema in (SCHEMA, SCHEMA.override(together=[["education", "years"]])):
        schema.save(tmp_path / f"schema.{ending}")
        assert Schema.load(tmp_path / f"schema.{ending}") == schema


def test_values_are_learned_when_a_schema_is_fitted() -> None:
    declared = SCHEMA.override(together=[["education", "years"]])
    own = person(1)
    with pytest.raises(robx.InvalidInput, match="not known yet which values of .* go together"):
        declared.violations(own, own)
    assert declared.fit(people()).violations(own, own) == [[]]
    wrong = people()
    wrong.loc[0, "years"] = 77
    with pytest.raises(robx.InvalidInput, match="'education' must determine what goes together"):
        declared.fit(wrong)


@pytest.mark.parametrize(
    ("together", "message"),
    [
        ("education", "The together of a schema must be a list. Got 'education'."),
        ([["education"]], "a list of at least two names, such as"),
        (["education", "years"], "a list of at least two names, such as"),
        ([[1, 2]], "a list of at least two names, such as"),
        ([["years", "years"]], "A feature is named twice in ['years', 'years']"),
        ([{"features": ["education", "years"], "values": [["x"]]}], "lists of 2 values each."),
        ([{"features": ["education", "years"], "values": [[1, None]]}], "lists of 2 values each."),
        ([{"features": ["education", "years"]}], "a list of at least two names, such as"),
        ([["education", "shoes"]], "'shoes' is not a feature"),
        ([["education", "years"], ["has_degree", "years"]], "'years' goes together with others tw"),
        ([["education", "years"], ["years", "income"]], "'years' goes together with others twice"),
        ([["town_a", "years"]], "'town_a' is a member of a one-hot group; name the group instead"),
        ([["education", "town_a"]], "'town_a' goes with 'education', so its whole group must"),
        (
            [{"features": ["education", "years"], "values": [["PhD", 20]]}],
            "'PhD', of ['education', 'years'], is not a value of 'education'",
        ),
        (
            [{"features": ["education", "years"], "values": [["Masters", "many"]]}],
            "'many', of ['education', 'years'], is not a value of 'years'",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(together: Any, message: str) -> None:
    with pytest.raises(robx.InvalidInput) as caught:
        SCHEMA.override(together=together)
    assert message in str(caught.value)


def test_effects_and_what_goes_together_do_not_mix() -> None:
    for effects in ({"years": "+1 * income"}, {"income": "+1 * years"}):
        with pytest.raises(robx.InvalidInput, match="'years' goes together with others, so it can"):
            SCHEMA.override(effects=effects)


def test_decimals_in_single_precision_go_together_in_double_precision_as_well() -> None:
    k = np.arange(60) % 4
    single = pd.DataFrame({"rate": (k * 0.1).astype(np.float32), "word": np.array([*"abcd"])[k]})
    schema = Schema(
        [Feature("rate"), Feature("word", "categorical", levels=(*"abcd",))],
        together=[["rate", "word"]],
    ).fit(single)
    assert [row[0] for row in schema.together[0].values] == [0, 0.1, 0.2, 0.3]  # noqa: PD011
    double = single.assign(rate=np.array([0, 0.1, 0.2, 0.3])[k])
    for table in (single, double, single.astype({"rate": float})):
        moved = table[::-1].reset_index(drop=True)
        assert not any(schema.violations(moved, table))
        assert any(schema.violations(moved.assign(word="a"), table))
