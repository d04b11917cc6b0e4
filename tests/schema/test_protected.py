"""Columns about sex, race, age and the like are not asked for, unless the user says so."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

import robx
from robx import Schema
from robx.schema import protected
from robx.schema.protected import protected_by

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protected.md"


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        *((name, "age") for name in ("age", "AGE", "Alter", "âge", "Idade", "customerAge", "Età")),
        *((name, "age") for name in ("num__age", "age_in_years", "age_group_25_34", "AgeBand")),
        *((name, "age") for name in ("age_of_account_holder", "SeniorCitizen", "возраст", "年龄")),
        *((name, "sex and gender") for name in ("sex", "CODE_GENDER", "Geschlecht", "is_female")),
        *((name, "sex and gender") for name in ("personal_status_sex", "sexo", "cat__sex_Male")),
        *((name, "race and ethnicity") for name in ("applicantRace1", "race_Black", "Raça")),
        *((name, "race and ethnicity") for name in ("derived_ethnicity", "etnia", "Rasse")),
        *((name, "colour") for name in ("colour", "skin_color", "Hautfarbe")),
        *((name, "birth") for name in ("DAYS_BIRTH", "DaysBirth", "birth_year", "dateofbirth")),
        *((name, "birth") for name in ("Geburtsdatum", "fecha_nacimiento", "country_of_birth")),
        *(
            (name, "nationality and origin")
            for name in ("foreign_worker", "foreign", "native-country")
        ),
        *((name, "nationality and origin") for name in ("Staatsangehoerigkeit", "nationalité")),
        *((name, "marital status") for name in ("personal_status", "MARRIAGE", "EstadoCivil")),
        *((name, "marital status") for name in ("NAME_FAMILY_STATUS", "marital-status")),
        *((name, "marital status") for name in ("état_civil", "burgerlijke_staat")),
        ("maritalstatus", "marital status"),
        ("NumberOfDependents", "children and dependants"),
        ("is_pregnant", "pregnancy"),
        ("religione", "religion and belief"),
        ("disability", "disability"),
        ("medical_history", "health"),
        ("genetic_risk", "genetic data"),
        ("sexual_orientation", "sexual orientation"),
        ("mother_tongue", "language"),
    ],
)
def test_the_words_of_a_name_say_what_a_column_is_about(name: str, feature: str) -> None:
    assert protected_by(name) == feature


@pytest.mark.parametrize(
    "name",
    [
        *("wage", "mortgage", "usage", "percentage", "page", "mileage", "stage", "Manager"),
        *("average_age_of_accounts", "age_of_oldest_account", "AverageMInFile", "account_age"),
        *("OWN_CAR_AGE", "AgeOfOldestTrade", "tract_median_age_of_housing_units", "loanAge"),
        *("sextile", "essex", "MaxDelqEver", "trace", "embrace", "grace_period", "lepton_eta"),
        *(
            "car_color",
            "page_language",
            "health_insurance_cost",
            "account_disabled",
            "financial_health",
        ),
        *("foreign_currency_account", "personal_loan_status", "loan_status", "trade_lines"),
        *("income", "savings", "employment", "housing", "purpose", "job", "telephone", "residence"),
        *("good_faith_estimate", "origination_date", "credit_history", "hours-per-week", "0", ""),
    ],
)
def test_letters_within_words_and_the_age_of_things_say_nothing(name: str) -> None:
    assert protected_by(name) is None


@pytest.mark.parametrize(
    ("levels", "feature"),
    [
        (["Male", "Female"], "sex and gender"),
        (["M", "F", "unknown"], "sex and gender"),
        (["männlich", "weiblich", "divers"], "sex and gender"),
        (["male single", "female div/dep/mar", "male mar/wid"], "sex and gender"),
        (["Husband", "Not-in-family", "Own-child", "Unmarried", "Wife"], "marital status"),
        (["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "White"], "race and ethnicity"),
        (["catholic", "muslim", "none"], "religion and belief"),
        (["black", "white", "red"], None),
        (["S", "M", "L"], None),
        (["m", "km"], None),
        (["single", "joint"], None),
        (["own", "rent"], None),
        (["M"], None),
        ([0, 1], None),
        ([], None),
    ],
)
def test_levels_can_say_it_too(levels: list[Any], feature: str | None) -> None:
    assert protected_by("x7", levels) == feature


# --- a guess --------------------------------------------------------------------------------------


def people(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    race = np.array(["Asian-Pac", "Black", "White"])[rng.integers(0, 3, n)]
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "age_25_34": rng.integers(0, 2, n),
            "birth_year": rng.integers(1950, 2000, n),
            "wage": 100 * rng.integers(10, 60, n),
            "sex": rng.choice(["Female", "Male"], n),
            "x7": rng.choice(["woman", "man"], n),
            "is_married": rng.random(n) < 0.5,
        }
    )
    return table.join(pd.get_dummies(pd.Series(race, name="race"), prefix="race", dtype=int))


FIXED = ["age_25_34", "birth_year", "sex", "x7", "is_married"]
RACE = ["race_Asian-Pac", "race_Black", "race_White"]


def test_a_guess_fixes_them_and_lets_an_age_rise() -> None:
    schema = Schema.infer(people())
    assert {f.name: f.change for f in schema} == {
        "age": "increase",
        "wage": "any",
        **dict.fromkeys(FIXED + RACE, "none"),
    }
    assert [schema[name].group for name in RACE] == ["race"] * 3
    assert "fixed" in str(schema)


def test_levels_that_are_one_hot_columns_say_it_too() -> None:
    table = pd.DataFrame({"x0_Male": [1, 0, 0], "x0_Female": [0, 1, 1]})
    assert [f.change for f in Schema.infer(table)] == ["none", "none"]


def test_the_user_says_what_is_protected() -> None:
    table = people()
    assert {f.change for f in Schema.infer(table, protected=())} == {"any"}
    some = Schema.infer(table, protected=["wage", "race_Black"])
    assert [f.name for f in some if f.change == "none"] == ["wage", *RACE]
    whole = Schema.infer(table, protected=["race"])
    assert [f.name for f in whole if f.change == "none"] == RACE
    freed = Schema.infer(table).override(sex={"change": "any"})
    assert freed["sex"].change == "any"
    with pytest.raises(robx.InvalidInput, match="names 'raze', which is not a column of the tab"):
        Schema.infer(table, protected=["raze"])
    for wrong in ("race", 3):
        with pytest.raises(robx.InvalidInput, match="must be a list of names of columns, or \\("):
            Schema.infer(table, protected=wrong)  # type: ignore[arg-type]


# --- answers --------------------------------------------------------------------------------------


def biased(n: int = 300) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """Make a model that looks at race and sex more than at money."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["Female", "Male"], n)),
            "race": pd.Categorical(rng.choice(["Black", "White"], n)),
            "age": rng.integers(20, 70, n),
            "income": rng.integers(10, 90, n),
        }
    )
    worth = 30 * (table["race"] == "White") + 30 * (table["sex"] == "Male") + table["income"]
    model = XGBClassifier(n_estimators=30, max_depth=3, enable_categorical=True, n_jobs=1)
    model.fit(table, (worth > 80).astype(int))
    return model, table, table[model.predict(table) == 0][:30]


def test_nobody_is_told_to_change_their_race() -> None:
    model, table, declined = biased()
    with pytest.warns(robx.GuessedSchema):
        answer = robx.explain(model, table, declined, level=0.2)
    assert answer.ok.any()
    for name in ("race", "sex"):
        assert (answer.points[name].astype(str) == declined[name].astype(str)).all()
    assert (answer.points["age"] >= declined["age"]).all()
    schema = Schema.infer(table, protected=()).override(income={"change": "none"})
    free = robx.explain(model, table, declined, level=0.2, schema=schema)
    assert (free.points["race"].astype(str) != declined["race"].astype(str)).any()


def test_a_guess_is_said_once_at_the_line_that_leaves_the_schema_out() -> None:
    model, table, declined = biased()
    for ask in (
        lambda: robx.Problem(model, table),
        lambda: robx.explain(model, table, declined, level=0.2),
    ):
        with pytest.warns(robx.RobxWarning) as caught:
            ask()
        assert len(caught) == 1
        assert caught[0].filename == __file__
        said = str(caught[0].message)
        assert said.startswith(
            "No schema was given, so it was guessed from the training table: protected features "
            "are sex, race (fixed), age (may only rise); all others may change."
        )
        assert "Schema.infer(X).override(...)" in said


def test_a_guess_that_the_user_takes_is_not_warned_of() -> None:
    model, table, _ = biased()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = robx.Problem(model, table, Schema.infer(table))
    assert problem.schema["race"].change == "none"


def test_the_names_of_a_model_count_where_the_table_is_an_array() -> None:
    _, table, _ = biased()
    numbers = table.assign(sex=table["sex"].cat.codes, race=table["race"].cat.codes)
    model = RandomForestClassifier(5, random_state=0).fit(numbers, numbers["income"] > 50)
    with pytest.warns(robx.GuessedSchema, match="are sex, race \\(fixed\\), age"):
        problem = robx.Problem(model, numbers.to_numpy(float))
    assert [f.change for f in problem.schema] == ["none", "none", "increase", "any"]


def test_a_study_says_that_it_guesses_also_for_a_black_box() -> None:
    class Pipeline(RandomForestClassifier):  # type: ignore[misc]
        """Of a type that cannot be looked into."""

    _, table, _ = biased()
    numbers = table.assign(sex=table["sex"].cat.codes, race=table["race"].cat.codes)
    study = robx.Study(Pipeline(5), numbers, numbers["income"] > 50)
    with pytest.warns(robx.GuessedSchema, match="are sex, race"):
        study.base(np.arange(100), 0)


# --- the page -------------------------------------------------------------------------------------


def listed() -> str:
    """Give the table of the page."""
    lines = ["| protected feature | English | other languages |", "| --- | --- | --- |"]
    for feature, by_language in protected.TERMS.items():
        others = [f"*{one}* {terms}" for one, terms in by_language.items() if one != "English"]
        lines.append(f"| {feature} | {by_language['English']} | {'; '.join(others)} |")
    return "\n".join(lines)


def test_the_page_lists_what_the_code_knows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert listed() in text, f"write this table into {PAGE.name}:\n{listed()}"
    assert f"*{protected.WHOLE.replace(' ', ', ')}*" in text
    assert " ".join(protected.THINGS.split()) in " ".join(text.split())
