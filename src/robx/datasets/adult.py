"""Adult: incomes of 48842 people, shipped with the package (CC BY 4.0, see adult.LICENSE)."""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

import numpy as np
import pandas as pd

from robx.datasets.dataset import Dataset
from robx.parameters import require
from robx.schema import Feature, Schema
from robx.schema.feature import Change

#: Names for the columns of the file, in its order.
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
    *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
    *("native_country", "income"),
)

#: Columns that are left out: how many people a row stands for, and the number of the education.
DROPPED = ("fnlwgt", "education_num")

#: Columns of text whose levels have an order.
ORDERED = ("education",)

#: How columns may change; all others are free.
CHANGE: dict[str, Change] = {
    "age": "increase",
    "education": "increase",
    "marital_status": "none",
    "relationship": "none",
    "race": "none",
    "sex": "none",
    "native_country": "none",
}

#: Minimum and maximum of numbers, in addition to those that a training table has.
LIMITS: dict[str, tuple[float | None, float | None]] = {
    "capital_gain": (0, None),
    "capital_loss": (0, None),
    "hours_per_week": (1, 99),
}

#: What the file has where a value is not known. It is a category, but no level of a schema: people
#: may keep it, and no advice leads to it.
UNKNOWN = "?"

#: Countries that the file spells in a way of its own.
SPELLED = {
    "?": "unknown",
    "Columbia": "Colombia",
    "Holand-Netherlands": "Netherlands",
    "Hong": "Hong Kong",
    "Outlying-US(Guam-USVI-etc)": "US outlying areas",
    "Trinadad&Tobago": "Trinidad and Tobago",
}
COUNTRIES = (
    *("?", "Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador"),
    *("El-Salvador", "England", "France", "Germany", "Greece", "Guatemala", "Haiti"),
    *("Holand-Netherlands", "Honduras", "Hong", "Hungary", "India", "Iran", "Ireland", "Italy"),
    *("Jamaica", "Japan", "Laos", "Mexico", "Nicaragua", "Outlying-US(Guam-USVI-etc)", "Peru"),
    *("Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan"),
    *("Thailand", "Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia"),
)

#: Levels of each column of text, in words; those of education from the lowest to the highest, as
#: the file numbers them from 1 to 16.
LEVELS: dict[str, dict[str, str]] = {
    "workclass": {
        "?": "unknown",
        "Private": "private",
        "Self-emp-not-inc": "self-employed unincorporated",
        "Self-emp-inc": "self-employed incorporated",
        "Federal-gov": "federal government",
        "State-gov": "state government",
        "Local-gov": "local government",
        "Without-pay": "without pay",
        "Never-worked": "never worked",
    },
    "education": {
        "Preschool": "preschool",
        "1st-4th": "1st to 4th grade",
        "5th-6th": "5th to 6th grade",
        "7th-8th": "7th to 8th grade",
        "9th": "9th grade",
        "10th": "10th grade",
        "11th": "11th grade",
        "12th": "12th grade",
        "HS-grad": "high school graduate",
        "Some-college": "some college",
        "Assoc-voc": "vocational associate",
        "Assoc-acdm": "academic associate",
        "Bachelors": "bachelor",
        "Masters": "master",
        "Prof-school": "professional school",
        "Doctorate": "doctorate",
    },
    "marital_status": {
        "Never-married": "never married",
        "Married-civ-spouse": "married to a civilian",
        "Married-AF-spouse": "married to a service member",
        "Married-spouse-absent": "married with spouse absent",
        "Separated": "separated",
        "Divorced": "divorced",
        "Widowed": "widowed",
    },
    "occupation": {
        "?": "unknown",
        "Adm-clerical": "clerical",
        "Armed-Forces": "armed forces",
        "Craft-repair": "craft or repair",
        "Exec-managerial": "executive or managerial",
        "Farming-fishing": "farming or fishing",
        "Handlers-cleaners": "handling or cleaning",
        "Machine-op-inspct": "machine operation or inspection",
        "Other-service": "other service",
        "Priv-house-serv": "private household service",
        "Prof-specialty": "professional specialty",
        "Protective-serv": "protective service",
        "Sales": "sales",
        "Tech-support": "technical support",
        "Transport-moving": "transport or moving",
    },
    "relationship": {
        "Husband": "husband",
        "Wife": "wife",
        "Own-child": "child",
        "Other-relative": "other relative",
        "Unmarried": "unmarried",
        "Not-in-family": "not in a family",
    },
    "race": {
        "White": "White",
        "Black": "Black",
        "Asian-Pac-Islander": "Asian or Pacific Islander",
        "Amer-Indian-Eskimo": "American Indian or Eskimo",
        "Other": "other",
    },
    "sex": {"Female": "female", "Male": "male"},
    "native_country": {name: SPELLED.get(name, name.replace("-", " ")) for name in COUNTRIES},
}


def load_adult(categories: Literal["words", "codes"] = "words") -> Dataset:
    """Load Adult, also known as Census Income: who earns more than 50,000 dollars a year.

    Of the file's columns, ``fnlwgt`` is left out, which says how many people a row stands for.
    ``education`` holds the file's own numbers, 1 to 16, and the schema has their words. What the
    file does not know of ``workclass``, ``occupation`` and ``native_country`` is the category
    "unknown", so no value is missing.

    Parameters
    ----------
    categories : {"words", "codes"}
        How ``workclass``, ``marital_status``, ``occupation``, ``relationship``, ``race``, ``sex``
        and ``native_country`` are held. In words, as pandas categories: for XGBoost with
        ``enable_categorical=True``, LightGBM, scikit-learn's `HistGradientBoostingClassifier`, and
        CatBoost with ``cat_features`` and ``max_ctr_complexity=1``. As codes, integers that count
        the schema's levels from 1, with 0 for unknown: for `RandomForestClassifier` and whatever
        else takes only numbers.

    Returns
    -------
    Dataset
        `X` of shape (48842, 12), in its original units: the 32561 rows of UCI's ``adult.data``, on
        which models are usually trained, then the 16281 rows of ``adult.test``. `y` is 1 for an
        income above 50,000 dollars. The `schema` has the levels in words, and how each column may
        change: age and education may only rise; sex, race, native country, marital status and
        relationship are fixed. "unknown" is none of its levels: who has it may keep it, and no
        change leads to it.

    Notes
    -----
    A few categories are rare: one person is from the Netherlands, and ten never worked. In words,
    scikit-learn's boosting knows only the categories of its training rows, and `robx.Problem` warns
    of the levels that a model does not know.

    Examples
    --------
    >>> X, y, schema = load_adult()
    >>> X.shape, int(y.sum())
    ((48842, 12), 11687)
    >>> X["workclass"][:3].tolist()
    ['state government', 'self-employed unincorporated', 'private']
    >>> X["education"][:3].tolist(), schema["education"].say(13)
    ([13, 13, 9], 'bachelor')
    >>> X, y, schema = load_adult("codes")
    >>> X["workclass"][:3].tolist(), schema["workclass"].say(5)
    ([5, 2, 1], 'state government')
    """
    sound = isinstance(categories, str) and categories in {"words", "codes"}
    require(sound, categories, "categories", "load_adult", "'words' or 'codes'")
    with files("robx.datasets").joinpath("adult.data.xz").open("rb") as file:
        raw = pd.read_csv(
            file,
            compression="xz",
            header=None,
            names=list(COLUMNS),
            comment="|",  # the first line of adult.test
            skipinitialspace=True,
        )
    names = [name for name in COLUMNS if name not in {*DROPPED, "income"}]
    in_words = categories == "words"
    X = pd.DataFrame({name: _column(raw[name], in_words) for name in names})
    # adult.test has a full stop after its labels.
    y = raw["income"].str.startswith(">50K").astype(np.int64).rename("good")
    return Dataset(X, y, Schema(_feature(name, in_words) for name in names))


def _column(values: pd.Series, in_words: bool) -> pd.Series:
    """Turn the file's text into words, codes or ranks; numbers stay."""
    name = str(values.name)
    levels = LEVELS.get(name)
    if levels is None:
        return values.astype(np.int64)
    if in_words and name not in ORDERED:
        return values.map(levels).astype(pd.CategoricalDtype(list(levels.values())))
    first = 0 if UNKNOWN in levels else 1
    return values.map({text: code for code, text in enumerate(levels, first)}).astype(np.int64)


def _feature(name: str, in_words: bool) -> Feature:
    change = CHANGE.get(name, "any")
    if name not in LEVELS:
        low, high = LIMITS.get(name, (None, None))
        return Feature(name, "integer", change, low=low, high=high, scale="range")
    words = tuple(word for text, word in LEVELS[name].items() if text != UNKNOWN)
    codes = tuple(range(1, len(words) + 1))
    if name in ORDERED:
        return Feature(name, "ordinal", change, levels=codes, labels=words)
    if in_words:
        return Feature(name, "categorical", change, levels=words)
    return Feature(name, "categorical", change, levels=codes, labels=words)
