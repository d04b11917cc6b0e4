"""German Credit: 1000 loan applicants, shipped with the package (CC BY 4.0, see german.LICENSE)."""

from __future__ import annotations

from importlib.resources import files
from io import StringIO
from typing import Literal

import numpy as np
import pandas as pd

from robx.datasets.dataset import Dataset
from robx.parameters import require
from robx.schema import Feature, Schema
from robx.schema.feature import Change

#: Names for the columns of the file, in its order.
COLUMNS = (
    *("checking", "duration", "history", "purpose", "amount", "savings", "employment"),
    *("rate", "personal", "debtors", "residence", "property", "age", "plans", "housing"),
    *("credits", "job", "dependants", "telephone", "foreign"),
)

#: Columns that the paper uses.
PAPER = (
    *("checking", "history", "amount", "savings", "employment"),
    *("debtors", "property", "housing", "credits", "job"),
)

#: Columns whose levels have no order.
CATEGORIES = ("purpose", "personal", "plans", "telephone", "foreign")

#: How columns may change; all others are free.
CHANGE: dict[str, Change] = {
    "history": "none",
    "purpose": "none",
    "savings": "increase",
    "employment": "increase",
    "personal": "none",
    "residence": "increase",
    "property": "increase",
    "age": "none",
    "job": "none",
    "dependants": "none",
    "foreign": "none",
}

#: Levels of each coded column, in words; those of ordinal columns from the worst to the best.
LEVELS: dict[str, dict[str, str]] = {
    "checking": {"A14": "no account", "A11": "under 0", "A12": "0 to 200", "A13": "200 or more"},
    "history": {
        "A34": "critical account",
        "A33": "delays in the past",
        "A32": "paid back duly till now",
        "A31": "all at this bank paid back duly",
        "A30": "none taken or all paid back duly",
    },
    "savings": {
        "A65": "none or unknown",
        "A61": "under 100",
        "A62": "100 to 500",
        "A63": "500 to 1000",
        "A64": "1000 or more",
    },
    "employment": {
        "A71": "unemployed",
        "A72": "under 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": "7 years or more",
    },
    "debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "property": {
        "A124": "none or unknown",
        "A123": "car or other",
        "A122": "savings agreement or life insurance",
        "A121": "real estate",
    },
    "housing": {"A151": "rent", "A153": "for free", "A152": "own"},
    "job": {
        "A171": "unemployed or unskilled non-resident",
        "A172": "unskilled resident",
        "A173": "skilled",
        "A174": "management or highly qualified",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture",
        "A43": "radio or television",
        "A44": "appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "other",
    },
    "personal": {
        "A91": "divorced or separated man",
        "A92": "woman who is or was married",
        "A93": "single man",
        "A94": "married or widowed man",
    },
    "plans": {"A143": "none", "A141": "at a bank", "A142": "at a store"},
    "telephone": {"A191": "none", "A192": "registered"},
    "foreign": {"A202": "no", "A201": "yes"},
}


def load_german(columns: Literal["paper", "all"] = "paper") -> Dataset:
    """Load German Credit, with the paper's ten columns or all twenty.

    Ordinal columns hold integers that rise with the applicant's standing. The paper gives the order
    of ``checking`` (no account is lowest) and leaves the others open. Of the other ten columns,
    ``purpose``, ``personal`` (status and sex), ``plans`` (instalment plans elsewhere),
    ``telephone`` and ``foreign`` (worker) are categories, in words; ``duration`` is in months and
    ``age`` in years; ``rate`` (of instalments to income) and ``residence`` (duration) are classes
    from 1 to 4, as in the file.

    Parameters
    ----------
    columns : {"paper", "all"}

    Returns
    -------
    Dataset
        `X` of shape (1000, 10) or (1000, 20), in its original units. `y` is 1 for a good credit.
        The `schema` has the levels in words, and how each column may change: savings, property,
        and time in a job and at an address may only rise; credit history, job, age and whatever
        else applicants cannot change are fixed.

    Examples
    --------
    >>> X, y, schema = load_german()
    >>> X.shape, int(y.sum())
    ((1000, 10), 700)
    >>> X.loc[0, ["checking", "amount", "savings"]].tolist()
    [1, 1169, 0]
    >>> schema["checking"].say(1)
    'under 0'
    >>> load_german("all").X["purpose"][:3].tolist()
    ['radio or television', 'radio or television', 'education']
    """
    sound = isinstance(columns, str) and columns in {"paper", "all"}
    require(sound, columns, "columns", "load_german", "'paper' or 'all'")
    names = PAPER if columns == "paper" else COLUMNS
    text = files("robx.datasets").joinpath("german.data").read_text(encoding="ascii")
    raw = pd.read_csv(StringIO(text), sep=" ", header=None, names=[*COLUMNS, "class"])
    X = pd.DataFrame({name: _column(raw[name]) for name in names})
    y = (raw["class"] == 1).astype(np.int64).rename("good")
    return Dataset(X, y, Schema(_feature(name) for name in names))


def _column(codes: pd.Series) -> pd.Series:
    """Turn codes into words or ranks; numbers stay."""
    name = str(codes.name)
    levels = LEVELS.get(name)
    if levels is None:
        return codes.astype(np.int64)
    if name in CATEGORIES:
        return codes.map(levels).astype(pd.CategoricalDtype(list(levels.values())))
    return codes.map({code: rank for rank, code in enumerate(levels)}).astype(np.int64)


def _feature(name: str) -> Feature:
    change = CHANGE.get(name, "any")
    if name not in LEVELS:
        return Feature(name, "integer", change, scale="range")
    words = tuple(LEVELS[name].values())
    if name in CATEGORIES:
        return Feature(name, "categorical", change, levels=words)
    return Feature(name, "ordinal", change, levels=tuple(range(len(words))), labels=words)
