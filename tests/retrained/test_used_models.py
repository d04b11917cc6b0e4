"""Which models count as the same when a model that helped to choose is refused as a judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robx
from oracles import toy_data

X, _ = toy_data(60, 3)


def model(shift: float = 0.0) -> robx.BlackBox:
    """Scores that rise with the first feature, moved up by a shift."""

    def both(rows: Any) -> Any:
        first = np.clip(np.asarray(rows, dtype=float)[:, 0] / 20 + 0.5, 0.1, 0.9) + shift
        return np.column_stack([1 - first, first])

    return robx.BlackBox(both)


@pytest.fixture(scope="module")
def problem() -> robx.Problem:
    """A problem for which a tau was chosen by looking at one model."""
    made = robx.Problem(model(), X)
    sweep: dict[str, Any] = {
        "method": robx.Conservative(noise=robx.Noise(n_draws=8)),
        "taus": [0.5],
    }
    robx.choose_tau(made, X, [model()], **sweep)
    return made


@pytest.mark.parametrize("shift", [1e-3, -1e-3, 1e-5])
def test_models_whose_scores_differ_a_little_are_two_models(
    problem: robx.Problem, shift: float
) -> None:
    answers = robx.NearestNeighbour().explain(problem, X)
    certificate = robx.certify(problem, answers, [model(shift)]).certificate
    assert certificate is not None
    assert certificate.n_models == 1


@pytest.mark.parametrize("shift", [0.0, 1e-9])
def test_models_that_differ_by_rounding_are_one_model(problem: robx.Problem, shift: float) -> None:
    answers = robx.NearestNeighbour().explain(problem, X)
    with pytest.raises(robx.InvalidInput, match="Model 0 of 1 was used to choose"):
        robx.certify(problem, answers, [model(shift)])
