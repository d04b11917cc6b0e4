from __future__ import annotations

import numpy as np
import pytest
import yaml
from experiments.settings import PAPER_ACCURACY, TUNED
from experiments.study import Train, load, make_study, scenario, tuned_parameters, varied
from hypothesis import given
from hypothesis import strategies as st

import robx

TRAINS: list[Train] = ["whole", "half"]


@given(st.integers(2, 8), st.integers(20, 300))
def test_there_are_twenty_different_changes_of_one_hyperparameter(depth: int, trees: int) -> None:
    found = varied({"max_depth": depth, "n_estimators": trees})
    pairs = [(name, value) for name, values in found.items() for value in values]
    assert len(set(pairs)) == len(pairs) == 20
    assert depth not in found["max_depth"]
    assert trees not in found["n_estimators"]
    assert all(value >= 1 and abs(value - depth) <= 2 for value in found["max_depth"])
    assert all(trees / 2 - 1 <= value <= 1.5 * trees + 1 for value in found["n_estimators"])
    assert any(value < trees for value in found["n_estimators"])
    assert any(value > trees for value in found["n_estimators"])


def test_costs_are_those_of_columns_scaled_to_0_1() -> None:
    data = load("german")
    by_range, by_deviation = data.schema("range"), data.schema("deviation")
    assert [feature.scale for feature in by_range.features] == (
        data.X.max() - data.X.min()
    ).tolist()
    assert [feature.scale for feature in by_deviation.features] == pytest.approx(
        np.std(data.X.to_numpy(), axis=0).tolist()
    )
    assert {feature.kind for feature in by_range.features} == {"continuous"}
    assert {feature.change for feature in by_range.features} == {"any"}
    assert (data.X.dtypes == np.float64).all()


def test_the_same_rows_give_the_same_model() -> None:
    data = load("german")
    study = make_study(data, "half", "range")
    change = scenario("other-half", "german", "half")
    first, again = (study.base(study.base_rows(change, 0), 0) for _ in range(2))
    assert isinstance(first.problem.model, robx.TreeEnsemble)
    assert isinstance(again.problem.model, robx.TreeEnsemble)
    assert first.problem.model.digest == again.problem.model.digest


@pytest.mark.slow
@pytest.mark.parametrize("which", ["other-half", "hyperparameter"])
def test_new_models_differ_from_each_other(which: str) -> None:
    data = load("german")
    train: Train = "half" if which == "other-half" else "whole"
    study = make_study(data, train, "range")
    change = scenario(which, "german", train)
    base = study.base(study.base_rows(change, 0), 0)
    models = study.changed(change, base, 20, None)
    digests = {model.digest for model in models if isinstance(model, robx.TreeEnsemble)}
    assert len(digests) > 10  # where trees stop to grow, more of them change nothing


def test_an_unknown_change_is_refused() -> None:
    with pytest.raises(ValueError, match="drop-rows, hyperparameter or other-half. Got 'flip'"):
        scenario("flip", "german", "half")


@pytest.mark.parametrize("train", TRAINS)
@pytest.mark.parametrize("name", ["german", "heloc"])
def test_stored_hyperparameters_are_within_the_search(name: str, train: Train) -> None:
    tune = pytest.importorskip("experiments.tune", reason="needs optuna", exc_type=ImportError)
    stored = yaml.safe_load((TUNED / f"{name}.yaml").read_text(encoding="utf-8"))
    assert stored["search"]["trials"] == tune.TRIALS
    assert stored["search"]["space"] == {key: list(value) for key, value in tune.SPACE.items()}
    found = tuned_parameters(name, train)
    assert found.keys() == tune.SPACE.keys()
    assert all(low <= found[key] <= high for key, (low, high, _) in tune.SPACE.items())
    # Models of about the paper's accuracy are what the figures are compared on.
    assert stored[train]["mean_test_accuracy"] == pytest.approx(
        PAPER_ACCURACY[name][train], abs=0.02
    )


@pytest.mark.slow
@pytest.mark.parametrize("train", TRAINS)
def test_the_stored_accuracy_is_that_of_the_stored_hyperparameters(train: Train) -> None:
    tune = pytest.importorskip("experiments.tune", reason="needs optuna", exc_type=ImportError)
    stored = yaml.safe_load((TUNED / "german.yaml").read_text(encoding="utf-8"))[train]
    data = load("german")
    assert tune.accuracy_in_folds(data, train, stored["parameters"]) == pytest.approx(
        stored["accuracy"], abs=0.01
    )
    found = tune.accuracy_aside(data, train, stored["parameters"])
    assert found == pytest.approx(stored["test_accuracy"], abs=0.02)


def test_the_search_sees_no_row_that_is_set_aside() -> None:
    tune = pytest.importorskip("experiments.tune", reason="needs optuna", exc_type=ImportError)
    data = load("german")
    whole, aside = tune.training_rows(data, "whole", 0)
    half, same = tune.training_rows(data, "half", 0)
    assert sorted([*whole, *aside]) == list(range(1000))
    assert len(aside) == 300
    assert len(half) == 350
    assert set(half) < set(whole)
    assert (aside == same).all()
