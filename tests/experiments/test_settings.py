"""The paper's settings are the paper's."""

from __future__ import annotations

from pathlib import Path

import pytest
from experiments.methods import Asked, make
from experiments.run import OUTLIERS

import robx
from experiments import settings


def test_what_the_paper_states() -> None:
    assert (settings.TEST, settings.N_DRAWS, settings.SIGMA) == (0.3, 1000, 0.1)
    assert settings.N_MODELS == 20
    assert settings.PAPER_TAU == {"german": 0.93, "heloc": 0.65}
    assert settings.DROPPED == {"german": 1, "heloc": 10}


def test_what_we_state() -> None:
    assert (settings.STEP, settings.N_TARGETS, settings.SEEDS) == (0.1, 5, 5)
    assert OUTLIERS["accepted"] == robx.metrics.Outliers(contamination=0.1, fitted_on="accepted")
    assert OUTLIERS["support"] == robx.metrics.Outliers()


def test_methods_get_them() -> None:
    stable = make(Asked(2, "NN +RobX", "paper"), 0.93)
    assert stable == robx.RobX.paper(
        tau=0.93, base=robx.NearestNeighbour(norm=2), norm=2, step=0.1, n_targets=5
    )
    conservative = make(Asked(1, "CCF", "auto"), 0.93)
    assert conservative == robx.Conservative(
        tau="auto", norm=1, noise=robx.Noise(sigma=0.1, n_draws=1000, draws="gaussian")
    )


def test_changed_code_has_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "HERE", tmp_path)
    keys = [settings.code_key()]
    for source in ("N = 1", "N = 2", "N = 1"):
        (tmp_path / "methods.py").write_text(source)
        keys.append(settings.code_key())
    assert keys[1] == keys[3]
    assert len(set(keys)) == 3
