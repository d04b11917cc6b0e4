from __future__ import annotations

from typing import Any

import pytest

from robx.label_names import sense_of, sense_of_class

BAD = """
default defaulted loan_default is_bad SeriousDlqin2yrs default.payment.next.month not.fully.paid
Churn Exited Attrition fraud credit_risk unpaid NotApproved ineligible days_overdue charge_off_loss
Ausfall Kündigung impayé incumplimiento moroso inadimplente insoluto wanbetaler
是否违约 违约 不良 否決 дефолт high_risk
""".split()  # noqa: SIM905
GOOD = """
good Good approved paid_back fully_paid repaid accepted granted creditworthy non_default NoDefault
zurückgezahlt bezahlt remboursé pagado aprobado approvato goedgekeurd одобрено
""".split()  # noqa: SIM905
SILENT = "y label target TARGET class outcome income loan_status male bonus moral x1".split()  # noqa: SIM905


@pytest.mark.parametrize("name", BAD)
def test_names_of_bad_outcomes_are_known(name: str) -> None:
    assert sense_of(name) == "bad"


@pytest.mark.parametrize("name", GOOD)
def test_names_of_good_outcomes_are_known(name: str) -> None:
    assert sense_of(name) == "good"


UNCLEAR = """
不违约 未违约 没有违约 没有拒绝 不通过 不好 非不良 延滞なし no_of_defaults NoOfDefaults
low_risk LowRisk low_credit_risk risk_free default_free riskless fraudfree
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", [*SILENT, *UNCLEAR, "good_or_bad", "paid_late", ""])
def test_other_names_say_nothing(name: str) -> None:
    assert sense_of(name) is None


@pytest.mark.parametrize(
    ("label", "target", "other", "sense"),
    [
        ("class", "low risk", "high risk", "good"),
        ("class", "high risk", "low risk", "bad"),
        ("class", "good risk", "bad risk", "good"),
        ("class", "approved", "accepted", None),
        ("class", "defaulted", "rejected", None),
        ("RiskPerformance", "Good", "Bad", "good"),  # classes say more than the column
        ("RiskPerformance", "Bad", "Good", "bad"),
        ("class", "a", "bad", "good"),
        ("class", "a", "approved", "bad"),
        ("class", "a", "b", None),
        ("default", 1, 0, "bad"),
        ("default", 0, 1, "good"),
        ("default", True, False, "bad"),
        ("default", "no", "yes", "good"),
        ("default", "Y", "N", "bad"),
        ("good", 1.0, 0.0, "good"),
        ("good", 0, 1, "bad"),
        ("y", 1, 0, None),
        (None, 1, 0, None),
        (None, "late", "on time", "bad"),
    ],
)
def test_a_class_is_judged_by_its_name_or_by_that_of_the_column(
    label: str | None, target: Any, other: Any, sense: str | None
) -> None:
    assert sense_of_class(label, target, [other]) == sense
