from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

from robx.datasets import load_german
from robx.datasets.german import LEVELS


def test_the_file_is_the_one_its_licence_speaks_of() -> None:
    data = files("robx.datasets").joinpath("german.data").read_bytes()
    assert hashlib.sha256(data).hexdigest().startswith("b21f3d81")
    assert "CC BY 4.0" in files("robx.datasets").joinpath("german.LICENSE").read_text()


def test_ten_columns_of_whole_numbers() -> None:
    X, y = load_german()
    assert X.shape == (1000, 10)
    assert y.value_counts().to_dict() == {1: 700, 0: 300}
    assert not X.isna().any().any()
    assert all(dtype.kind == "i" for dtype in X.dtypes)


@pytest.mark.parametrize("name", LEVELS)
def test_every_level_occurs_and_better_standing_is_a_larger_number(name: str) -> None:
    X, _ = load_german()
    assert set(X[name]) <= set(range(len(LEVELS[name])))
    assert X[name].max() == len(LEVELS[name]) - 1


def test_the_paper_s_order_of_checking_accounts() -> None:
    assert list(LEVELS["checking"]) == ["A14", "A11", "A12", "A13"]
