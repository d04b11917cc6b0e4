from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import qmc

from robx.robustness import sobol as module
from robx.robustness.sobol import BITS, MOST_COLUMNS, sobol
from speed import slow_but

CASES = [(0, 1, 0), (1, 1, 3), (10, 23, 0), (4, 300, 7), (12, 40, 2**62), (2, MOST_COLUMNS, 1)]


@pytest.mark.parametrize("case", slow_but(CASES[:4], CASES))
def test_points_are_those_of_scipy_to_the_last_bit(case: tuple[int, int, int]) -> None:
    n_power, n_columns, seed = case
    theirs = qmc.Sobol(n_columns, bits=BITS, rng=np.random.default_rng(seed))
    expected = np.ascontiguousarray(theirs.random_base2(n_power))
    ours = sobol(n_power, n_columns, seed)
    assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
    assert ours.tobytes() == expected.tobytes()


@pytest.mark.parametrize("there", ["nothing", "text", "other arrays"])
def test_where_scipy_has_no_such_file_its_own_class_makes_the_same_points(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = sobol(6, 5, 2)
    file = tmp_path / "numbers.npz"
    if there == "text":
        file.write_text("poly, vinit")
    elif there == "other arrays":
        np.savez(file, primitive=np.arange(3))
    monkeypatch.setattr(module, "_FILE", file)
    assert sobol(6, 5, 2).tobytes() == expected.tobytes()
