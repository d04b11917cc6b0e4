from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from report_cases import SCHEMA, certified, checked, made
from robx.reports.settings import about_model, chosen, extra, n_tests, provenance, tau_of
from robx.schema import Schema


def pairs(listed: list[dict[str, str]]) -> dict[str, str]:
    return {pair["name"]: pair["value"] for pair in listed}


def test_the_minimum_stability_and_its_reason_are_said() -> None:
    told = chosen(made())
    assert told["words"] == [
        "The answers were found by the method RobX.",
        "Accepted means a score for class 1 above 0.5.",
        "The minimum stability of an answer was tau = 0.8 (as low as it can be).",
    ]
    assert (told["tau"], told["threshold"], told["target"]) == (0.8, 0.5, 1)
    given = chosen(made(settings={"tau": 0.93, "tau_reason": "given"}))
    assert given["words"][-1] == "The minimum stability of an answer was tau = 0.93 (given)."


@pytest.mark.parametrize("method", ["Frugal", "Mine"])
def test_a_test_and_the_reason_for_it_are_told_apart_whatever_the_method(method: str) -> None:
    asked = {"tau": 0.675, "tau_reason": "R >= 0.675, margin >= 5.2", "why": "level 0.5 asks"}
    told = chosen(made(method=method, settings=asked))
    assert told["words"][-2:] == [
        "An answer had to pass this test: R >= 0.675, margin >= 5.2.",
        "The reason: level 0.5 asks.",
    ]
    assert (told["tau_reason"], told["why"]) == (asked["tau_reason"], "level 0.5 asks")
    assert list(pairs(told["parameters"])) == ["tau"]
    del asked["why"]
    old = chosen(made(method=method, settings=asked))
    assert old["words"][-1] == (
        "The minimum stability of an answer was tau = 0.675 (R >= 0.675, margin >= 5.2)."
    )
    assert old["why"] is None


def test_a_high_stability_promises_no_more_than_it_measures() -> None:
    text = pairs(chosen(made())["terms"])["R"]
    assert text.endswith("scores nearly all points near the answer well above the threshold.")


def test_tests_are_counted() -> None:
    measured = {"margin": np.zeros(8)}
    assert n_tests(made(settings={}, measured=measured)) == 0  # a figure is not a test
    assert n_tests(made()) == 1
    assert n_tests(made(measured=measured)) == 2


def test_checked_models_are_named_in_the_origin() -> None:
    model = {"kind": "tree ensemble", "digest": "f" * 64, "source": "XGBoost 3", "n_trees": 1}
    assert about_model(model) == f"XGBoost 3, 1 tree, digest {'f' * 12}"
    box = {"kind": "black box", "digest": None, "source": "a.Model", "n_trees": None}
    assert about_model(box) == "a.Model"
    checks = [replace(checked(made(), []), model=one) for one in (model, box)]
    first, second = provenance(made(), checks)["checks"]
    assert pairs(first) == {
        "kind": "tree ensemble",
        "trained with": "XGBoost 3",
        "trees": "1",
        "digest": "f" * 64,
    }
    assert pairs(second) == {"kind": "black box", "trained with": "a.Model"}


def test_weight_and_noise_are_shown_where_they_are_stated() -> None:
    assert extra(provenance(made())["schema"]) == []
    age, savings, amount = SCHEMA.features
    heavy = Schema((age, savings.replaced(weight=3), amount.replaced(noise=10)))
    told = provenance(made(heavy))["schema"]
    assert [(row["weight"], row["noise"]) for row in told] == [(1, None), (3, None), (1, 10)]
    assert extra(told) == ["weight", "noise"]


def test_what_is_not_recorded_is_not_said() -> None:
    old = made(origin={}, settings={"tau": "auto"})
    assert tau_of(old) is None
    assert chosen(old)["words"] == ["The answers were found by the method RobX."]
    assert chosen(old)["threshold"] is None
    from_old = provenance(old)
    assert (from_old["model"], from_old["versions"]) == ([], [])
    assert pairs(from_old["data"]) == {"applicants": "8"}


def test_a_method_defines_what_it_measures() -> None:
    settings = {"tau": 0.8, "terms": {"margin": "How far the scores lie above the threshold."}}
    told = chosen(made(settings=settings))
    assert list(pairs(told["terms"])) == ["R", "margin"]
    assert pairs(told["terms"])["margin"] == "How far the scores lie above the threshold."
    assert list(pairs(told["parameters"])) == ["tau"]
    assert list(pairs(chosen(made())["terms"])) == ["R"]
    assert chosen(made(settings={}))["terms"] == []


def test_settings_are_put_in_words() -> None:
    base = {"method": "NearestNeighbour", "norm": 1, "gamma": None}
    listed = {
        "base": base,
        "models": ["a" * 64] * 16,
        "staged": True,
        "sigma": 0.1,
        "few": [1, 2],
        "no": [],
    }
    assert pairs(chosen(made(settings=listed))["parameters"]) == {
        "base": "NearestNeighbour (norm 1, gamma none)",
        "models": "16 of them",
        "staged": "yes",
        "sigma": "0.1",
        "few": "1, 2",
        "no": "none",
    }


def test_the_origin_names_model_data_versions_and_seed() -> None:
    told = provenance(certified(1, 1, 1, 1))
    assert pairs(told["model"]) == {
        "kind": "trees",
        "trained with": "XGBoost 3",
        "trees": "60",
        "digest": "abc123",
    }
    assert pairs(told["data"]) == {
        "applicants": "8",
        "training rows": "1,234",
        "retrained models": "48",
        "seed for their training rows": "7",
        "models that certify": "10",
    }
    assert pairs(told["versions"]) == {"robx": "9.9", "numpy": "2.0"}


def test_the_schema_says_what_may_change() -> None:
    related = Schema(SCHEMA.features, ("amount <= 1000",))
    told = provenance(made(related))
    assert told["schema"][1] == {
        "feature": "savings",
        "kind": "ordinal",
        "may_change": "may only rise",
        "unit": 2.0,
        "weight": 1.0,
        "noise": None,
        "levels": ["none", "some", "much"],
    }
    assert told["schema"][0]["may_change"] == "fixed"
    assert told["relations"] == ["amount <= 1000"]


def test_dates_the_wanted_outcome_and_the_kind_of_schema_are_recorded() -> None:
    origin = {**made().origin, "wanted": "good = 1", "schema": "guessed", "date": "2026-01-31"}
    answers = made(origin=origin)
    known = pairs(provenance(answers)["data"])
    assert known["answers issued on"] == "2026-01-31"
    assert known["outcome that applicants want"] == "good = 1"
    assert known["schema"] == "guessed from the training rows"
    assert "Applicants want: good = 1." in chosen(answers)["words"]
    check = replace(checked(answers, []), model={"file": "march.ubj", "digest": "a1"})
    (new,) = provenance(answers, [replace(check, date="2026-03-01")])["checks"]
    assert pairs(new) == {"file": "march.ubj", "digest": "a1", "checked on": "2026-03-01"}
