"""Every cell of our results that is not as wanted is explained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from experiments.checks import Check, run_checks
from experiments.reasons import REASONS, reason
from experiments.run import read_table
from experiments.settings import RESULTS
from experiments.spec import load_specs

PAGE = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8")


def misses(data: str) -> list[Check]:
    found: list[Check] = []
    for spec in load_specs().values():
        file = RESULTS / data / f"{spec.name}.csv"
        if spec.is_table and spec.is_published and data in spec.methods:
            table = read_table(file)
            found += [check for check in run_checks(spec, data, table) if not check.holds]
    return found


@pytest.mark.parametrize("data", ["german", "heloc"])
def test_every_miss_has_a_reason(data: str) -> None:
    unexplained = [check for check in misses(data) if reason(check, data) is None]
    assert unexplained == []


def test_every_reason_is_told_and_needed() -> None:
    needed = {reason(check, data) for data in ("german", "heloc") for check in misses(data)}
    assert needed == set(REASONS)
    for name, heading in REASONS.items():
        assert re.search(rf'<a id="{name}"></a>\n\n### {re.escape(heading)}\n', PAGE), name


def test_what_was_not_looked_into_has_no_reason() -> None:
    for check in (
        Check(
            "on RobX, answers stay valid",
            "moderate",
            1,
            "auto",
            "NN +RobX",
            "",
            "",
            False,
            "",
            None,
            (80.0,),
        ),
        Check(
            "RobX raises the LOF of FT and FOCUS",
            "moderate",
            1,
            "auto",
            "FT +RobX",
            "",
            "",
            False,
            "",
            None,
            (0.1, 0.2),
        ),
        Check(
            "FT and FOCUS alone break under moderate change",
            "moderate",
            1,
            "none",
            "FT",
            "",
            "",
            False,
            "",
            None,
            (85.0,),
        ),
    ):
        assert reason(check, "heloc") is None
