from __future__ import annotations

import math

import pandas as pd
import pytest
from experiments.compare import markdown, side_by_side
from experiments.methods import asked
from experiments.settings import SPECS
from experiments.spec import load_spec

SPEC = load_spec(SPECS / "moderate.yaml")


def ours(**figures: float) -> pd.DataFrame:
    """Figures that are the same for every method: what `robx.evaluate` would give."""
    usual = {"cost_l1": 1.0, "cost_l2": 0.5, "validity": 0.9, "lof_accepted": 0.7, "coverage": 1.0}
    lines = [
        {
            "norm": one.norm,
            "method": one.method,
            "tau_rule": one.tau_rule,
            "metric": metric,
            "value": value,
            "low": value - 0.1,
            "high": value + 0.1,
            "by_seed": [value] * 3,
        }
        for one in asked(SPEC, "german")
        for metric, value in {**usual, **figures}.items()
    ]
    return pd.DataFrame(lines)


def figure(table: pd.DataFrame, norm: int, method: str, rule: str, metric: str) -> dict[str, float]:
    here = (table["norm"] == norm) & (table["method"] == method)
    lines = table[here & (table["tau_rule"] == rule) & (table["metric"] == metric)]
    (line,) = lines[["paper", "ours", "low", "high", "difference"]].to_dict("records")
    return {str(name): value for name, value in line.items()}


def test_the_difference_is_ours_less_the_papers() -> None:
    table = side_by_side(SPEC, "german", ours())
    cost = figure(table, 1, "FT +RobX", "auto", "cost")
    assert (cost["paper"], cost["ours"]) == (2.17, 1.0)
    assert cost["difference"] == pytest.approx(-1.17)
    valid = figure(table, 2, "FT", "none", "validity")
    assert (valid["paper"], valid["ours"], valid["low"]) == (59.2, 90.0, 80.0)
    assert valid["difference"] == pytest.approx(30.8)
    assert figure(table, 2, "NN", "none", "lof")["difference"] == pytest.approx(-0.3)


def test_the_cost_is_the_one_in_the_tables_norm() -> None:
    table = side_by_side(SPEC, "german", ours())
    costs = table[table["metric"] == "cost"]
    assert costs.groupby("norm")["ours"].unique().map(list).to_dict() == {1: [1.0], 2: [0.5]}


def test_both_rules_for_tau_stand_beside_the_same_figure() -> None:
    table = side_by_side(SPEC, "german", ours())
    lines = table.query("norm == 1 and method == 'CCF' and metric == 'cost'")
    assert lines["tau_rule"].tolist() == ["paper", "auto"]
    assert lines["paper"].tolist() == [2.92, 2.92]


def test_methods_come_in_the_papers_order() -> None:
    table = side_by_side(SPEC, "german", ours().sample(frac=1, random_state=0))
    assert tuple(dict.fromkeys(table["method"])) == SPEC.rows("german")


def test_what_the_paper_does_not_report_is_kept_without_a_difference() -> None:
    table = side_by_side(SPEC, "german", ours(lof_support=1.0))
    extra = table[table["metric"] == "lof_support"]
    assert len(extra) == len(asked(SPEC, "german"))
    assert extra["paper"].isna().all()
    assert extra["difference"].isna().all()


def test_a_method_without_figures_of_ours_is_an_error() -> None:
    some = ours()
    with pytest.raises(ValueError, match="no figures of ours for L1 FACE, L2 FACE in 'moderate'"):
        side_by_side(SPEC, "german", some[some["method"] != "FACE"])


def test_the_page_has_a_line_for_each_method_and_rule() -> None:
    shown = markdown(side_by_side(SPEC, "german", ours()))
    lines = [line for line in shown.splitlines() if line.startswith("| FT")]
    assert lines[0] == (
        "| FT |  | 0.13 | 1.00 [0.90, 1.10] | +0.87 | 55.7 | 90.0 [80.0, 100.0] | +34.3 "
        "| 0.93 | 0.70 [0.60, 0.80] | -0.23 | 100 |"
    )
    assert [line.split(" | ")[1] for line in lines] == ["", "paper", "auto"] * 2


def test_no_answer_is_said_and_not_left_out() -> None:
    nobody = dict.fromkeys(("cost_l1", "cost_l2", "validity", "lof_accepted"), math.nan)
    shown = markdown(side_by_side(SPEC, "german", ours(**nobody, coverage=0.0)))
    assert "| CCF | paper | 2.92 | no answer |  | 100.0 | no answer |  |" in shown


def test_notes_are_shown() -> None:
    figures = pd.concat([ours()])
    shown = markdown(side_by_side(SPEC, "heloc", figures))
    assert "- L2 FOCUS +RobX: the table of FOCUS with a higher gamma has 0.55" in shown
