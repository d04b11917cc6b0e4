from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import pytest
from experiments.checklist import markdown
from experiments.checks import Check, run_checks
from experiments.compare import NO_TAU, uses_tau
from experiments.settings import SPECS
from experiments.spec import FIGURES, Spec, load_spec, published

MODERATE = load_spec(SPECS / "moderate.yaml")
MINOR = load_spec(SPECS / "minor-rows.yaml")

VALID = "on RobX, answers stay valid"
AS_BASE = "RobX does not lower validity"
CCF = "on RobX, answers cost about what CCF costs at most"
FACE = "RobX lowers the cost of FACE"
LOF = "RobX raises the LOF of FT and FOCUS"
BREAKS = "FT and FOCUS alone break under moderate change"
ORDER = "costs are in the paper's order"


def as_published(spec: Spec, data: str) -> pd.DataFrame:
    """A table in which our figures are the paper's."""
    paper = published(spec.name)
    paper = paper[paper["data"] == data]
    long = paper.melt(["norm", "method"], list(FIGURES), var_name="metric", value_name="paper")
    long["tau_rule"] = ["paper" if uses_tau(method) else NO_TAU for method in long["method"]]
    return with_each(long.assign(ours=long["paper"]))


def with_each(table: pd.DataFrame) -> pd.DataFrame:
    """Our figures again, as those of one base model."""
    return table.assign(by_seed=[repr(float(value)) for value in table["ours"]])


def with_figure(
    table: pd.DataFrame, norm: int, method: str, metric: str, value: float
) -> pd.DataFrame:
    here = (table["norm"] == norm) & (table["method"] == method) & (table["metric"] == metric)
    assert here.sum() == 1
    return with_each(table.assign(ours=table["ours"].mask(here, value)))


def failing(checks: list[Check]) -> set[tuple[str, int, str]]:
    return {(check.check, check.norm, check.cell) for check in checks if not check.holds}


def test_the_papers_own_figures_fail_where_it_says_so() -> None:
    checks = run_checks(MODERATE, "heloc", as_published(MODERATE, "heloc"))
    assert failing(checks) == set()
    german = run_checks(MODERATE, "german", as_published(MODERATE, "german"))
    assert failing(german) == {
        (VALID, 2, "FT +RobX"),  # 91.1 %
        (VALID, 2, "NN +RobX"),  # 91.7 %
        (LOF, 2, "FT +RobX"),  # 0.94 both
    }
    assert all(check.holds == check.paper_holds for check in german)


@pytest.mark.parametrize(
    ("spec", "method", "metric", "value", "failed"),
    [
        (MODERATE, "NN +RobX", "validity", 91.9, (VALID, "NN +RobX")),
        (MINOR, "NN +RobX", "validity", 96.9, (VALID, "NN +RobX")),
        (MODERATE, "FACE", "validity", 100.1, (AS_BASE, "FACE +RobX")),
        (MODERATE, "CCF", "cost", 1.61 / 1.051, (CCF, "NN +RobX")),
        (MODERATE, "FACE", "cost", 2.30, (FACE, "FACE +RobX")),
        (MODERATE, "FT", "lof", 0.92, (LOF, "FT +RobX")),
        (MODERATE, "FOCUS", "validity", 80.0, (BREAKS, "FOCUS")),
        (MODERATE, "FOCUS", "cost", 0.18, (ORDER, "FT < FOCUS")),
        (MODERATE, "FT +RobX", "validity", math.nan, (VALID, "FT +RobX")),
    ],
)
def test_each_check_can_fail(
    spec: Spec, method: str, metric: str, value: float, failed: tuple[str, str]
) -> None:
    table = as_published(spec, "heloc")
    assert (failed[0], 1, failed[1]) not in failing(run_checks(spec, "heloc", table))
    changed = with_figure(table, 1, method, metric, value)
    found = failing(run_checks(spec, "heloc", changed))
    assert (failed[0], 1, failed[1]) in found
    assert {norm for _, norm, _ in found} == {1}


def test_what_is_just_enough_holds() -> None:
    table = as_published(MODERATE, "heloc")
    for method, metric, value in (
        ("NN +RobX", "validity", 92.0),
        ("FT", "validity", 79.9),
        ("CCF", "cost", 1.61 / 1.05),
    ):
        table = with_figure(table, 1, method, metric, value)
    names = {check for check, _, _ in failing(run_checks(MODERATE, "heloc", table))}
    assert names <= {ORDER}


def test_minor_change_asks_nothing_of_bases_alone() -> None:
    checks = run_checks(MINOR, "german", as_published(MINOR, "german"))
    assert not any(check.check == BREAKS for check in checks)
    assert (FACE, 1, "FACE +RobX") in failing(checks)  # 2.70 against 2.67 in the paper


def test_the_order_of_costs_is_complete() -> None:
    """Reversed costs break every step, and equal costs in the paper ask for nothing."""
    table = as_published(MODERATE, "german")
    costs = table["metric"] == "cost"
    table = with_each(table.assign(ours=table["ours"].mask(costs, -table["ours"])))
    order = [check for check in run_checks(MODERATE, "german", table) if check.check == ORDER]
    assert not any(check.holds for check in order)
    of_l2 = [check.cell for check in order if check.norm == 2]
    assert "FOCUS +RobX < FACE +RobX" not in of_l2  # both 1.05
    assert {"FOCUS +RobX < CCF", "FACE +RobX < CCF"} <= set(of_l2)
    assert {cell for name in of_l2 for cell in name.split(" < ")} == set(MODERATE.rows("german"))


def test_each_rule_for_tau_is_checked_against_the_same_base() -> None:
    table = as_published(MODERATE, "heloc")
    stable = table[table["tau_rule"] == "paper"]
    auto = stable.assign(tau_rule="auto", ours=stable["ours"].mask(stable.metric == "validity", 50))
    checks = run_checks(MODERATE, "heloc", with_each(pd.concat([table, auto])))
    by_rule: Callable[[str], set[bool]] = lambda rule: {  # noqa: E731
        check.holds for check in checks if check.check == VALID and check.tau_rule == rule
    }
    assert by_rule("paper") == {True}
    assert by_rule("auto") == {False}


def test_a_table_without_robx_has_nothing_to_check() -> None:
    spec = load_spec(SPECS / "introduction.yaml")
    assert run_checks(spec, "german", as_published(spec, "german")) == []


def test_the_list_counts_and_shows_every_cell() -> None:
    checks = run_checks(MODERATE, "german", as_published(MODERATE, "german"))
    shown = markdown(checks, "german")
    assert f"| {VALID} | paper | 6 | 0 | 2 | 0 |" in shown
    assert (
        "| moderate | L2 | paper | FT +RobX | at least 92 % | 91.1 % "
        "| 91.1 %, which does not hold | not known |" in shown
    )
    assert shown.index("## What does not hold") < shown.index("## What holds")
    assert sum(line.startswith("| moderate") for line in shown.splitlines()) == len(checks)


def of_seeds(**figures: str) -> pd.DataFrame:
    """The paper's figures, but for some, which are given for each base model."""
    table = as_published(MODERATE, "heloc")
    some = {name.replace("_", " ").replace(" robx", " +RobX"): of for name, of in figures.items()}
    rows = table["method"].isin(some) & (table["metric"] == "cost") & (table["norm"] == 1)
    each = (table["by_seed"] + " ").mul(3).mask(rows, table["method"].map(some))
    coverage = table[table["metric"] == "cost"].assign(
        metric="coverage",
        by_seed=lambda made: [
            " ".join("0" if v == "nan" else "1" for v in some.get(name, "1 1 1").split())
            for name in made["method"]
        ],
    )
    return pd.concat([table.assign(by_seed=each), coverage])


def test_two_methods_are_compared_over_base_models_that_both_have_answers_for() -> None:
    # Over all of its base models RobX is cheaper; where FACE has an answer too, it is dearer.
    table = of_seeds(FACE="nan nan 2.0", FACE_robx="1.0 1.0 2.1")
    (check,) = [
        check
        for check in run_checks(MODERATE, "heloc", table)
        if (check.check, check.norm) == (FACE, 1)
    ]
    assert not check.holds
    assert check.figures == (2.0, 2.1)
    assert not check.whole


def test_without_a_base_there_is_no_robx_on_it() -> None:
    table = of_seeds(FACE="nan nan nan", FACE_robx="1.0 1.0 1.0")
    for check in run_checks(MODERATE, "heloc", table):
        if check.cell == "FACE +RobX" and check.norm == 1 and check.check != VALID:
            assert not check.holds
            assert check.seen == "no figure"
