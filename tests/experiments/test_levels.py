from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from experiments.frontier.spec import load_frontier
from experiments.settings import RESULTS, SEEDS
from experiments.study import load

from experiments import levels
from robx.methods.frugal import LEVELS
from speed import deep


def table(**validity: dict[float, float]) -> pd.DataFrame:
    """Levels and validity under moderate change, for each test."""
    lines = [
        {"scenario": "moderate", "test": test, "level": level, "validity": share}
        for test, of in validity.items()
        for level, share in of.items()
    ]
    return pd.DataFrame(lines)


def test_the_least_level_that_holds_everywhere_is_chosen() -> None:
    german = table(models={0.5: 0.97, 0.6: 0.99, 0.7: 1.0}, noise={0.5: 0.9, 0.7: 0.99})
    heloc = table(models={0.5: 1.0, 0.6: 0.98, 0.7: 1.0}, noise={0.5: 1.0, 0.7: 1.0})
    assert levels.chosen([german]) == {"models": 0.6, "noise": 0.7}
    assert levels.chosen([german, heloc]) == {"models": 0.7, "noise": 0.7}
    assert levels.chosen([table(models={0.9: 0.5})]) == {}


def test_they_are_measured_on_splits_of_their_own() -> None:
    assert not set(levels.SEEDS) & set(range(SEEDS))


@pytest.mark.parametrize("data", ["german", "heloc"])
@pytest.mark.parametrize("test", ["models", "noise"])
def test_the_levels_of_the_default_keep_what_is_wanted(data: str, test: str) -> None:
    seen = pd.read_csv(RESULTS / data / "levels.csv")
    line = seen[(seen["test"] == test) & (seen["level"] == LEVELS[test])].set_index("scenario")
    for scenario, least in levels.WANTED.items():
        assert line["validity"][scenario] >= least
    assert (line["coverage"] >= 0.95).all()


@pytest.mark.slow
@deep
def test_a_small_measurement_has_a_line_for_each_level() -> None:
    spec = load_frontier()
    few = replace(spec, scenarios={"moderate": spec.scenarios["moderate"]}, applicants=3)
    seen = levels.measured(load("german"), few, seeds=[100], n_models=2)
    assert list(seen["test"].unique()) == ["RobX", "models", "noise"]
    assert seen[seen["test"] == "models"]["level"].tolist() == list(levels.LEVELS)
    cost = seen.set_index(["test", "level"])["cost_l1"]
    assert cost["noise", levels.LEVELS[0]] < cost["noise", levels.LEVELS[-1]]
