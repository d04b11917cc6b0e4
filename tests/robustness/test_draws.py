from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import robx
from robx.robustness.draws import draw, make_draws


def test_sobol_draws_put_one_into_every_slice_of_every_column() -> None:
    noise = draw("sobol", 256, 7, 0).noise
    for column in noise.T:
        slices = np.floor(norm.cdf(column) * 256).astype(int)
        assert sorted(slices.tolist()) == list(range(256))


@pytest.mark.parametrize("kind", ["sobol", "gaussian"])
def test_a_shorter_sequence_begins_a_longer_one(kind: str) -> None:
    long = make_draws(kind, 1024, 5, 3)  # type: ignore[arg-type]
    assert (long.first(100).noise == long.noise[:100]).all()
    assert np.isfinite(long.noise).all()


def test_draws_are_standard_gaussian() -> None:
    for kind, slack in (("sobol", 0.01), ("gaussian", 0.1)):
        noise = make_draws(kind, 4096, 3, 0).noise  # type: ignore[arg-type]
        assert noise.mean(axis=0) == pytest.approx(0, abs=slack)
        assert noise.std(axis=0) == pytest.approx(1, abs=slack)
        assert np.asarray(np.corrcoef(noise.T))[~np.eye(3, dtype=bool)] == pytest.approx(
            0, abs=slack * 2
        )


def test_more_columns_than_sobol_has_are_refused() -> None:
    with pytest.raises(robx.InvalidInput, match="Use draws='gaussian'"):
        make_draws("sobol", 16, 30_000, 0)
