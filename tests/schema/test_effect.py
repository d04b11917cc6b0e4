from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robx
from robx.schema import Effect

FEATURES = [
    robx.Feature("age", "integer", change="none"),
    robx.Feature("years_employed", "integer"),
    robx.Feature("seniority", "continuous", resolution=0.5),
    robx.Feature("job", "categorical", levels=("a", "b")),
]


def schema(**effects: Any) -> robx.Schema:
    return robx.Schema(FEATURES, effects=effects)


def test_an_effect_is_a_sum_of_changes() -> None:
    effect = Effect.parse("age", "+1 * years_employed - 0.5*`time at address`")
    assert effect.terms == (("years_employed", 1.0), ("time at address", -0.5))


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ("years_employed + 3", "has the term 3 without a feature"),
        ("a*b", "is not linear"),
        ("", "is empty"),
        (3, "must be text such as '\\+1 \\* years_employed'"),
        ("1e999*a", "must be finite"),
        ("`a", "is not closed"),
        ({"words": "x"}, "a mapping with 'by' and 'words'"),
        ({"by": "a", "how": "x"}, "a mapping with 'by' and 'words'"),
        ({"by": "a", "words": 3}, "must be text"),
    ],
)
def test_what_is_not_a_sum_of_changes_is_refused(plain: Any, said: str) -> None:
    with pytest.raises(robx.InvalidInput, match=said):
        Effect.parse("age", plain)


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ({"age": "years_employed", "years_employed": "age"}, "must not go round in a circle"),
        ({"age": "age"}, "must not go round in a circle"),
        ({"age": "height"}, "names 'height', which is not a feature"),
        ({"height": "age"}, "names 'height', which is not a feature"),
        ({"age": "job"}, "needs numbers, and 'job' is not one"),
        ({"job": "age"}, "needs numbers, and 'job' is not one"),
    ],
)
def test_effects_that_make_no_sense_are_refused(effects: dict[str, str], said: str) -> None:
    with pytest.raises(robx.InvalidInput, match=said):
        schema(**effects)


def test_what_follows_cannot_be_filled_in() -> None:
    features = [robx.Feature("age", "integer", may_fill=True), *FEATURES[1:]]
    with pytest.raises(robx.InvalidInput, match="cannot be filled in"):
        robx.Schema(features, effects={"age": "years_employed"})
    with pytest.raises(robx.InvalidInput, match="must be a mapping such as"):
        robx.Schema(FEATURES, effects=["age: years_employed"])  # type: ignore[list-item]


def test_effects_are_kept_in_files(tmp_path: Path) -> None:
    made = schema(
        age="+1 * years_employed", seniority={"by": "0.5*years_employed", "words": "adds {by}"}
    )
    for name in ("schema.yaml", "schema.json"):
        made.save(tmp_path / name)
        assert robx.Schema.load(tmp_path / name) == made
    assert made.override(age={"scale": 10}).effects == made.effects
    assert made.override(effects={}).effects == ()
    assert "follows from +1 * years_employed" in str(made)


ROWS = np.array([[30.0, 4.0, 1.0, 0.0], [50.0, 10.0, np.nan, 1.0]])


def table(rows: np.ndarray[Any, Any]) -> Any:
    import pandas as pd

    frame = pd.DataFrame(rows, columns=["age", "years_employed", "seniority", "job"])
    return frame.assign(job=["a", "b"])


def test_projection_writes_what_follows_and_violations_name_what_did_not() -> None:
    made = schema(age="+1 * years_employed", seniority="0.3*age")
    wanted = table(ROWS).assign(years_employed=[6.0, 13.0])
    assert made.violations(wanted, table(ROWS)) == [
        ["age (follows from +1 * years_employed)", "seniority (follows from 0.3*age)"],
        ["age (follows from +1 * years_employed)"],
    ]
    done = made.project(wanted, table(ROWS))
    assert done["age"].tolist() == [32, 53]
    # What follows from what follows: 0.3 times two years, on a grid of halves; missing stays so.
    assert done["seniority"].iloc[0] == 1.5
    assert np.isnan(done["seniority"].iloc[1])
    assert made.violations(done, table(ROWS)) == [[], []]
    assert made.words(table(ROWS), done)[0] == [
        "years_employed: 4 → 6, which makes you 2 years older, which brings seniority from 1 to 1.5"
    ]


def test_a_stated_range_binds_what_follows() -> None:
    features = [robx.Feature("age", "integer", change="none", high=31), *FEATURES[1:]]
    made = robx.Schema(features, effects={"age": "years_employed"})
    wanted = table(ROWS).assign(age=[32.0, 50.0], years_employed=[6.0, 10.0])
    assert made.violations(wanted, table(ROWS)) == [["age (follows from years_employed)"], []]


def test_words_of_ones_own() -> None:
    effect = Effect.parse("debts", {"by": "-1*savings", "words": "takes {by} off your debts, {to}"})
    assert effect.say(-200.0, "500", "300") == "which takes 200 off your debts, 300"
    assert Effect.parse("age", "x").say(1.0, "3", "4") == "which makes you 1 year older"
    assert (
        Effect.parse("applicant_age", "x").say(-2.0, "3", "1") == "which makes you 2 years younger"
    )
    assert Effect.parse("mileage", "x").say(2.0, "1", "3") == "which brings mileage from 1 to 3"
