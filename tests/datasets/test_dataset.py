"""What holds for every data set."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robx.datasets import Dataset, load_adult, load_german, load_heloc, make_gaussians

LOADERS: dict[str, Callable[[Path], Dataset]] = {
    "german": lambda _: load_german(),
    "german, all": lambda _: load_german("all"),
    "adult": lambda _: load_adult(),
    "adult, codes": lambda _: load_adult("codes"),
    "heloc": lambda heloc_csv: load_heloc(heloc_csv, check=False),
    "gaussians": lambda _: make_gaussians(),
}


@pytest.fixture(params=LOADERS)
def load(request: pytest.FixtureRequest, heloc_csv: Path) -> Callable[[], Dataset]:
    return lambda: LOADERS[request.param](heloc_csv)


@pytest.fixture
def data(load: Callable[[], Dataset]) -> Dataset:
    return load()


def test_it_comes_apart_into_a_table_labels_and_a_schema(data: Dataset) -> None:
    X, y, schema = data
    assert X is data.X
    assert y is data.y
    assert schema is data.schema


def test_labels_belong_to_the_rows_and_both_occur(data: Dataset) -> None:
    assert data.X.index.equals(data.y.index)
    assert data.X.index.tolist() == list(range(len(data.X)))
    assert data.y.dtype == np.int64
    assert set(data.y) == {0, 1}
    assert data.y.name == "good"
    assert not data.X.isna().to_numpy().any()


def test_the_schema_speaks_of_these_columns_and_all_rows_keep_it(data: Dataset) -> None:
    assert data.schema.names == tuple(data.X.columns)
    assert not any(data.schema.violations(data.X, data.X))


def test_the_schema_has_no_scales_until_it_sees_a_table(data: Dataset) -> None:
    """The scales are then the ranges, as in the paper, whatever outliers there are."""
    numbers = [f for f in data.schema if f.kind in {"continuous", "integer"}]
    assert {f.scale for f in numbers} <= {"range"}
    assert {f.scale for f in data.schema if f not in numbers} <= {None}
    fitted = data.schema.fit(data.X)
    assert all(fitted[f.name].scale == np.ptp(data.X[f.name]) for f in numbers)
    assert None not in {feature.scale for feature in data.schema.fit(data.X)}


def test_loading_twice_gives_the_same(data: Dataset, load: Callable[[], Dataset]) -> None:
    again = load()
    assert again.X.equals(data.X)
    assert again.y.equals(data.y)
    assert again.schema == data.schema
    assert again.X is not data.X


def test_importing_the_data_sets_loads_no_scikit_learn() -> None:
    script = "import sys, robx.datasets; print('sklearn' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
