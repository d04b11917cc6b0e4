"""One unit of cost: the range of a column, unless outliers stretch it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import robx
from robx import Feature, Schema
from robx.schema.units import unit_of

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "values",
    [
        RNG.random(1000),
        RNG.normal(size=5000),
        RNG.gamma(3.0, 12.0, 400),
        RNG.integers(0, 100, 500).astype(float),
        np.minimum(RNG.poisson(0.4, 5000), 6).astype(float),  # few values: no outliers among them
        np.append(RNG.random(40), 1e6),  # few rows: nobody knows
        np.where(RNG.random(1000) < 0.9, 0.0, RNG.random(1000)),
        np.append(np.full(99, 3.0), np.arange(20.0)),
    ],
)
def test_without_outliers_it_is_the_range_exactly(values: np.ndarray[Any, Any]) -> None:
    assert unit_of(values) == np.ptp(values)


def test_outliers_do_not_stretch_it() -> None:
    incomes = RNG.lognormal(10, 0.5, 2000)
    with_rich = np.append(incomes, [1e7, 1e8, 1e9])
    low, high = np.quantile(with_rich, [0.05, 0.95])
    assert unit_of(with_rich) == pytest.approx(2.5 * (high - low))
    assert unit_of(with_rich) == pytest.approx(unit_of(np.append(incomes, 1e12)), rel=0.02)
    assert unit_of(-with_rich) == pytest.approx(unit_of(with_rich))


def test_it_does_not_jump_when_an_outlier_moves_away() -> None:
    """A value that moves from the others makes the unit grow, and then stay; never shrink."""
    rest = RNG.random(500)
    units = [unit_of(np.append(rest, far)) for far in np.linspace(1.0, 10.0, 200)]
    assert (np.diff(units) >= -1e-12).all()
    assert np.diff(units).max() < 0.06
    assert units[-1] == pytest.approx(2.5 * 0.9, rel=0.05)


def test_where_most_are_zero_the_others_decide() -> None:
    gains = np.where(RNG.random(5000) < 0.92, 0.0, RNG.lognormal(8.0, 0.4, 5000).round(2))
    gains[:3] = 99999.0
    unit = unit_of(gains)
    assert 0.2 * 99999 > unit > np.quantile(gains[gains > 0], 0.95)


def test_numbers_that_cannot_be_divided_by_are_no_unit() -> None:
    tiny = np.append(np.arange(100) * 5e-324, 1.0)
    assert unit_of(tiny) == 1.0
    huge = np.append(np.arange(100.0), [1.7e308, -1.7e308])
    assert np.isfinite(unit_of(huge))
    assert unit_of(np.zeros(0)) == unit_of(np.zeros(100)) == 1.0


def table(n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    income = np.append(rng.integers(10_000, 60_000, n - 2), [5_000_000, 9_000_000])
    return pd.DataFrame({"income": income, "score": rng.integers(0, 100, n)})


def test_a_schema_takes_it_and_range_says_otherwise(tmp_path: Path) -> None:
    X = table()
    guessed = Schema.infer(X)
    assert guessed["score"].scale == np.ptp(X["score"])
    assert guessed["income"].scale == pytest.approx(2.5 * 45_000, rel=0.05)
    assert Schema.infer(X, scale="range")["income"].scale == np.ptp(X["income"])
    stated = Schema([Feature("income", "integer", scale="range"), Feature("score", "integer")])
    assert "range" in str(stated)
    stated.save(tmp_path / "schema.yaml")
    assert Schema.load(tmp_path / "schema.yaml") == stated
    assert stated.fit(X)["income"].scale == np.ptp(X["income"])
    assert stated.override(income={"scale": None}).fit(X) == guessed
    for unfitted in (lambda: stated.cost(X, X), lambda: stated.noise_units):
        with pytest.raises(robx.InvalidInput, match="'income' has no scale"):
            unfitted()
    with pytest.raises(robx.InvalidInput, match="scale must be a finite number. Got 'wide'"):
        Feature("a", scale="wide")  # type: ignore[arg-type]


def test_money_is_not_cheap_because_somebody_is_rich() -> None:
    X = table()
    y = (X["income"] / 2000 + X["score"] > 70).to_numpy()
    forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X, y)
    declined = X[forest.predict(X) == 0][:20]
    by_range = robx.Problem(forest, X, Schema.infer(X, scale="range"))
    ours = robx.Problem(forest, X, Schema.infer(X))
    raise_by = [
        (robx.Closest().explain(p, declined).points["income"] - declined["income"]).mean()
        for p in (by_range, ours)
    ]
    # Where earning 10,000 more costs next to nothing, it is asked for instead of a better score.
    assert raise_by[0] > 1.5 * raise_by[1] > 0


def test_noise_has_a_smaller_unit_where_most_values_lie_close() -> None:
    even, gains = RNG.random(1000), np.where(RNG.random(1000) < 0.9, 0.0, 1e5 * RNG.random(1000))
    rare = np.where(np.arange(1000) < 20, 1.0 + np.arange(1000), 0.0)
    fitted = Schema.infer(pd.DataFrame({"even": even, "gains": gains, "rare": rare})).fit(
        pd.DataFrame({"even": even, "gains": gains, "rare": rare})
    )
    assert fitted["even"].noise_unit == fitted["even"].scale
    low, high = np.quantile(gains, [0.05, 0.95])
    assert fitted["gains"].noise == pytest.approx(1.25 * (high - low), rel=1e-3)
    assert fitted["gains"].noise_unit < fitted["gains"].scale  # type: ignore[operator]
    assert fitted["rare"].noise == pytest.approx(np.sqrt(12) * rare.std(), rel=1e-3)
    stated = Schema((Feature("gains", scale=10.0),)).fit(pd.DataFrame({"gains": gains}))
    assert stated["gains"].noise_unit == 10.0
