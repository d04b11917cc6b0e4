"""A made-up table of loan applications, of any size: 20 columns of numbers and 3 of categories.

Numbers come on the grids that such tables have (whole years, hundreds, hundredths, counts), hang
together through what an applicant earns and owes, and are missing here and there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import robx

__all__ = ["Applications", "make_applications"]

JOBS = ("clerk", "craft", "farm", "manager", "none", "sales", "service")
HOMES = ("mortgage", "other", "own", "rent")
PURPOSES = ("car", "education", "furniture", "medical", "moving", "renovation")
CATEGORIES = {"home": HOMES, "job": JOBS, "purpose": PURPOSES}
#: Share of the rows in which a column has no value.
MISSING = {"months_since_late": 0.12, "savings": 0.05, "job_years": 0.03, "card_use": 0.02}


class Applications(NamedTuple):
    """Rows, whether they were paid back, and what may change."""

    X: pd.DataFrame
    y: pd.Series[int]
    schema: robx.Schema

    def in_numbers(self) -> Applications:
        """The same with codes for categories, as forests take them."""
        codes = {name: self.X[name].cat.codes for name in CATEGORIES}
        levels: Any = {n: {"levels": tuple(range(len(CATEGORIES[n])))} for n in CATEGORIES}
        schema = self.schema.override(**levels)
        return Applications(self.X.assign(**codes).astype(float), self.y, schema)


def make_applications(n_rows: int, seed: int = 0) -> Applications:
    """Make a table; the first rows of a longer one are others."""
    rng = np.random.default_rng(seed)
    standing, thrift = rng.normal(size=(2, n_rows))
    X: dict[str, Any] = {}
    X["age"] = np.clip(rng.gamma(9, 4.5, n_rows), 18, 85).round()
    X["job_years"] = np.clip(rng.gamma(1.5, 4, n_rows), 0, X["age"] - 17).round()
    X["income"] = (np.exp(7.8 + 0.4 * standing + 0.1 * rng.normal(size=n_rows)) / 50).round() * 50
    X["other_income"] = rng.binomial(1, 0.2, n_rows) * (rng.gamma(2, 3, n_rows).round() * 100)
    X["amount"] = (np.exp(8.5 + 0.3 * standing + 0.7 * rng.normal(size=n_rows)) / 100).round() * 100
    X["duration"] = rng.choice([12, 18, 24, 36, 48, 60, 72], n_rows).astype(float)
    X["rate"] = (X["amount"] / X["duration"] / X["income"]).round(3)
    X["savings"] = (np.exp(6 + thrift + 0.5 * standing) / 10).round() * 10
    X["card_use"] = (1 / (1 + np.exp(thrift + 0.7 * rng.normal(size=n_rows)))).round(2)
    X["card_limit"] = (np.exp(7 + 0.5 * standing + 0.3 * rng.normal(size=n_rows)) / 250).round()
    X["card_limit"] *= 250
    X["cards"] = rng.poisson(1.5, n_rows).astype(float)
    X["loans"] = rng.poisson(1.0, n_rows).astype(float)
    X["late"] = rng.poisson(np.exp(-1 - thrift), n_rows).astype(float)
    X["months_since_late"] = rng.geometric(0.03, n_rows).astype(float)
    X["requests"] = rng.poisson(np.exp(0.2 - 0.5 * thrift), n_rows).astype(float)
    X["oldest_account"] = np.clip(X["age"] * 12 - 216 - rng.gamma(4, 30, n_rows), 0, None).round()
    X["debt_ratio"] = np.clip(0.35 - 0.1 * standing + 0.15 * rng.normal(size=n_rows), 0, 2).round(2)
    X["people"] = 1.0 + rng.poisson(1.1, n_rows)
    X["distance"] = rng.gamma(1.2, 12, n_rows).round(1)
    X["account_months"] = rng.gamma(2, 25, n_rows).round()
    X["home"] = pd.Categorical(rng.choice(HOMES, n_rows, p=(0.3, 0.05, 0.25, 0.4)), HOMES)
    X["job"] = pd.Categorical(rng.choice(JOBS, n_rows), JOBS)
    X["purpose"] = pd.Categorical(rng.choice(PURPOSES, n_rows), PURPOSES)
    odds = (
        0.8 * standing + 0.6 * thrift - 12 * (X["rate"] - 0.1) - 2 * (X["debt_ratio"] - 0.35)
        - 0.5 * X["late"] - 0.3 * X["requests"] + 0.03 * X["job_years"] + 0.4
        + 0.5 * (X["home"] == "own") - 0.8 * (X["job"] == "none") - 0.4 * (X["purpose"] == "moving")
    )  # fmt: skip
    y = rng.random(n_rows) < 1 / (1 + np.exp(-2 * odds))
    for name, share in MISSING.items():
        X[name][rng.random(n_rows) < share] = np.nan
    return Applications(pd.DataFrame(X), pd.Series(y.astype(int), name="repaid"), _schema())


def _schema() -> robx.Schema:
    """Say what may change."""

    def number(name: str, change: Any = "any", **more: Any) -> robx.Feature:
        return robx.Feature(name, change=change, **more)

    return robx.Schema([
        number("age", "none"), number("job_years", "increase", kind="integer"),
        number("income", "increase", resolution=50), number("other_income", resolution=100),
        number("amount", "decrease", resolution=100, low=500),
        robx.Feature("duration", "ordinal", levels=(12, 18, 24, 36, 48, 60, 72)),
        number("rate", resolution=0.001, low=0), number("savings", resolution=10, low=0),
        number("card_use", resolution=0.01, low=0, high=1), number("card_limit", resolution=250),
        number("cards", kind="integer", low=0), number("loans", kind="integer", low=0),
        number("late", "none"), number("months_since_late", "none"),
        number("requests", "decrease", kind="integer", low=0), number("oldest_account", "none"),
        number("debt_ratio", resolution=0.01, low=0), number("people", "none"),
        number("distance", "none"), number("account_months", "none"),
        robx.Feature("home", "categorical", levels=HOMES),
        robx.Feature("job", "categorical", levels=JOBS, change="none"),
        robx.Feature("purpose", "categorical", levels=PURPOSES),
    ])  # fmt: skip
