"""A made-up table of HELOC's form, as the file itself may not be shipped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from robx.datasets.heloc import COLUMNS, FILE

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / FILE


@pytest.fixture
def real_heloc() -> Path:
    """The real file, where somebody has put it beside the project."""
    if not REAL.exists():
        pytest.skip(f"HELOC may not be shipped, and there is no ../shared/data/{FILE}")
    return REAL


@pytest.fixture
def raw() -> pd.DataFrame:
    """120 people; missing values in a few columns, and some people with nothing on record."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(2, 8, (120, len(COLUMNS))), columns=list(COLUMNS))
    table["NumInqLast6Mexcl7days"] = table["NumInqLast6M"] - rng.integers(0, 3, 120)
    for j, name in enumerate(("MSinceMostRecentDelq", "NetFractionInstallBurden", "MaxDelqEver")):
        table.loc[rng.permutation(120)[:30], name] = -7 - j
    table.iloc[rng.permutation(120)[:10]] = -9
    table.insert(0, "RiskPerformance", rng.permutation(["Good", "Bad"] * 60))
    return table


@pytest.fixture
def heloc_csv(raw: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "some.csv"
    raw.to_csv(path, index=False)
    return path
