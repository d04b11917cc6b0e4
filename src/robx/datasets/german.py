"""German Credit: 1000 loan applicants, shipped with the package (CC BY 4.0, see german.LICENSE)."""

from __future__ import annotations

from importlib.resources import files
from io import StringIO

import numpy as np
import pandas as pd

__all__ = ["LEVELS", "load_german"]

#: Columns of the file that the paper uses, by their place in it.
PLACES = {
    "checking": 0,
    "history": 2,
    "amount": 4,
    "savings": 5,
    "employment": 6,
    "debtors": 9,
    "property": 11,
    "housing": 14,
    "credits": 15,
    "job": 16,
}
CLASS_PLACE = 20

#: For each ordinal column its levels, from the worst standing to the best, with the file's codes.
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
}


def load_german() -> tuple[pd.DataFrame, pd.Series]:
    """Load German Credit with the paper's ten columns.

    Ordinal columns hold whole numbers that rise with the applicant's standing; `LEVELS` has their
    words. The paper gives the order of ``checking`` (no account lowest) and leaves the others to
    the reader.

    Returns
    -------
    X : DataFrame of shape (1000, 10)
        Integers in their own units, not scaled.
    y : Series of shape (1000,)
        1 for a good credit, 0 for a bad one.

    Examples
    --------
    >>> X, y = load_german()
    >>> X.shape, int(y.sum())
    ((1000, 10), 700)
    >>> X.loc[0, ["checking", "amount", "savings"]].tolist()
    [1, 1169, 0]
    """
    text = files("robx.datasets").joinpath("german.data").read_text(encoding="ascii")
    raw = pd.read_csv(StringIO(text), sep=" ", header=None)
    columns = {}
    for name, place in PLACES.items():
        column = raw[place]
        if name in LEVELS:
            column = column.map({code: rank for rank, code in enumerate(LEVELS[name])})
        columns[name] = column.astype(np.int64)
    y = (raw[CLASS_PLACE] == 1).astype(np.int64).rename("good")
    return pd.DataFrame(columns), y
