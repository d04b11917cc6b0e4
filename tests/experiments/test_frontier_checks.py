"""The checks of the frontier can fail."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from experiments.frontier import report
from experiments.frontier.checks import Against, at_equal_validity, not_below
from experiments.frontier.curves import Curve
from experiments.frontier.expected import Operating, operating_points
from experiments.frontier.methods import NOISE, Point, make, points
from experiments.frontier.spec import Goal, load_frontier
from experiments.peers import DiceGenetic, Nice
from experiments.settings import RESULTS

import robx

SPEC = load_frontier()
VALIDITY = np.array([0.8, 0.9, 0.96, 1.0])
COST = np.array([1.0, 1.5, 2.0, 3.0])


def curve(
    name: str, times: float = 1.0, changes: float = 1.0, lof: float = 0.9, top: int = 4
) -> Curve:
    """RobX's curve at so many times its cost, with resamples that all cost the same."""
    figures = {
        "validity": VALIDITY,
        "cost_l1": times * COST,
        "n_changes": changes * 2 * COST,
        "lof": np.full(4, lof),
        "lof_raw": np.full(4, 1.1),
    }
    return Curve(
        name, (0.1, 0.2, 0.3, 0.4)[:top], {k: np.tile(v[:top, None], 6) for k, v in figures.items()}
    )


def compared(frugal: Curve, goal: Goal, robx_: Curve | None = None) -> Against:
    found = {"NN +RobX": robx_ or curve("NN +RobX"), "NN +Frugal": frugal}
    return at_equal_validity("moderate", found, "NN", goal, n_seeds=5)


def test_a_method_that_is_cheap_enough_meets_every_goal() -> None:
    frugal = curve("NN +Frugal", times=0.7, changes=0.6)
    assert [compared(frugal, goal).met for goal in SPEC.goals] == ["met"] * 8
    one = compared(frugal, SPEC.goals[0])
    assert (one.seen, one.low, one.high) == pytest.approx((0.7, 0.7, 0.7))
    assert one.robx == pytest.approx(1.5 + 0.5 * 5 / 6)
    assert one.robx_at == "between 0.2 and 0.3"
    assert one.reached == 1


def test_a_stand_in_that_is_worse_than_robx_misses_them() -> None:
    frugal = curve("NN +Frugal", times=1.1, changes=1.1, lof=0.8)
    met = {(goal.figure, goal.at): compared(frugal, goal).met for goal in SPEC.goals}
    assert {key for key, of in met.items() if of == "met"} == {("lof_raw", 0.95), ("lof_raw", 0.99)}
    # RobX itself is not cheap enough either, but no worse an outlier.
    same = [compared(curve("NN +Frugal"), goal).met for goal in SPEC.goals]
    assert same == ["missed"] * 4 + ["met"] * 4


def test_a_validity_that_frugal_does_not_reach_is_missed() -> None:
    one = compared(curve("NN +Frugal", times=0.1, top=3), SPEC.goals[1])
    assert (one.met, one.frugal_at) == ("missed", "not reached")
    assert np.isnan(one.frugal)
    assert one.robx > 0


def test_without_a_figure_of_robx_there_is_nothing_to_compare() -> None:
    one = compared(curve("NN +Frugal"), SPEC.goals[1], curve("NN +RobX", top=3))
    assert (one.met, one.robx_at) == ("not compared", "not reached")


def test_curves_that_are_missing_are_an_error() -> None:
    with pytest.raises(ValueError, match="no curves of RobX and Frugal from FT"):
        at_equal_validity("moderate", {"NN +Frugal": curve("NN +Frugal")}, "FT", SPEC.goals[0], 5)


def test_other_points_that_frugal_lies_below_and_those_that_it_does_not() -> None:
    others = {"NN +RobX": curve("NN +RobX"), "NICE": curve("NICE", times=0.9, changes=0.5)}
    frugal = {"NN +Frugal": curve("NN +Frugal", times=0.95)}
    default = {"NN +Frugal, default": curve("NN +Frugal, default", times=0.1)}
    asked = not_below("moderate", {**others, **frugal, **default})
    assert {one.other for one in asked} == {"NN +RobX", "NICE"}
    assert len(asked) == 2 * 2 * 4
    held = {(one.other, one.figure): one.holds for one in asked}
    assert held == {
        ("NN +RobX", "cost_l1"): True,
        ("NN +RobX", "n_changes"): True,  # the same
        ("NICE", "cost_l1"): False,
        ("NICE", "n_changes"): False,
    }
    worst = max(asked, key=lambda one: one.excess)
    assert worst.excess == pytest.approx(3.0)
    assert "NICE" in report._below(asked)
    assert "NN +RobX" not in report._below(asked)


def test_a_point_beyond_what_frugal_reaches_is_not_held() -> None:
    asked = not_below(
        "m", {"NICE": curve("NICE"), "NN +Frugal": curve("NN +Frugal", 0.1, 0.1, top=3)}
    )
    assert [one.holds for one in asked] == [True, True, True, False] * 2
    assert "not reached" in report._below(asked)


def test_points_below_80_percent_are_not_asked_about() -> None:
    low = curve("NICE", times=0.01)
    low = Curve("NICE", low.knobs, {**low.figures, "validity": low.figures["validity"] - 0.15})
    asked = not_below("m", {"NICE": low, "NN +Frugal": curve("NN +Frugal")}, ["cost_l1"])
    assert [one.knob for one in asked] == [0.3, 0.4]


def default_table(validity: float) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "scenario": scenario,
                "method": f"{base} +Frugal, default",
                "validity": validity,
                "low": validity - 0.01,
                "high": 1.0,
                "coverage": 1.0,
                "cost_l1": 1.5,
                "n_changes": 3.0,
            }
            for scenario in SPEC.scenarios
            for base in SPEC.bases
        ]
    )


@pytest.mark.parametrize(
    ("validity", "moderate", "dropped"),
    [(0.96, "missed", "missed"), (0.98, "met", "missed"), (0.995, "met", "met")],
)
def test_the_default_must_reach_its_validity(validity: float, moderate: str, dropped: str) -> None:
    expected = {name: {"NN": 0.999, "FT": 0.998} for name in SPEC.scenarios}
    found: list[Operating] = operating_points(default_table(validity), SPEC, expected)
    met = {(one.scenario, one.base): one.met for one in found}
    assert {met["moderate", base] for base in SPEC.bases} == {moderate}
    assert {met["drop-rows", base] for base in SPEC.bases} == {dropped}
    assert {met["bootstrap", base] for base in SPEC.bases} == {"no goal"}
    assert [one.expected for one in found] == [0.999, 0.998] * 3


def test_the_goals_are_those_that_were_set() -> None:
    said = {(goal.figure, goal.at): (goal.compare, goal.most, goal.least) for goal in SPEC.goals}
    assert said == {
        ("cost_l1", 0.95): ("ratio", 0.75, None),
        ("cost_l1", 0.99): ("ratio", 0.85, None),
        ("n_changes", 0.95): ("ratio", 0.65, None),
        ("n_changes", 0.99): ("ratio", 0.65, None),
        ("lof", 0.95): ("difference", None, 0.0),
        ("lof", 0.99): ("difference", None, 0.0),
        ("lof_raw", 0.95): ("ratio", 1.08, None),
        ("lof_raw", 0.99): ("ratio", 1.08, None),
    }
    assert [change.least for change in SPEC.scenarios.values()] == [0.97, None, 0.99]
    with pytest.raises(ValueError, match="a 'most' or a 'least'"):
        Goal("lof", 0.95, "ratio")


def test_every_point_has_a_method_with_its_knob() -> None:
    wanted = points(SPEC, "german")
    assert len({str(point) for point in wanted}) == len(wanted)
    for point in wanted:
        made = make(point, SPEC)
        if point.curve.endswith(NOISE):
            assert isinstance(made, robx.Frugal)
            assert (made.level, made.models) == (point.knob, ())
        elif point.is_frugal:
            assert not isinstance(made, robx.methods.Method)
        elif isinstance(made, robx.RobX):
            base = {"NN": robx.NearestNeighbour, "FT": robx.FeatureTweaking}[point.curve[:2]]
            assert made == robx.RobX.paper(tau=point.knob or 0.0, base=base(), step=0.1)
        elif isinstance(made, robx.Conservative):
            assert (made.tau, made.noise.n_draws, made.noise.draws) == (
                point.knob,
                1000,
                "gaussian",
            )
        elif not isinstance(made, DiceGenetic):
            assert isinstance(made, robx.NearestNeighbour | robx.FeatureTweaking | Nice)
            assert made.gamma == point.knob
    with pytest.raises(ValueError, match="needs a value of its knob"):
        make(Point("NN"), SPEC)


@pytest.mark.parametrize("data", ["german", "heloc"])
def test_the_committed_results_call_every_method_by_its_name(data: str) -> None:
    folder = RESULTS / data
    methods = pd.read_csv(folder / "frontier.csv")["method"]
    assert set(methods) == {point.curve for point in points(SPEC, data)}
    assert {name for name in methods if "Frugal" in name} == {
        *("NN +Frugal", "FT +Frugal", "NN +Frugal, default", "FT +Frugal, default"),
        *("NN +Frugal, noise alone", "NN +Frugal, typical or not"),
    }
    equal = pd.read_csv(folder / "frontier-equal-validity.csv")
    assert {"robx", "frugal", "frugal_validity", "frugal_at"} <= set(equal)
    page = (folder / "frontier.md").read_text(encoding="utf-8")
    assert report._equal([]).splitlines()[0] in page
    for text in (page, *(file.read_text("utf-8") for file in folder.glob("frontier*.csv"))):
        assert not re.search(r"\bours\b", text, re.IGNORECASE)
