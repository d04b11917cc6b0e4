"""The first lines: what a reader takes away who reads nothing else."""

from __future__ import annotations

from typing import Any

from robx.reporting.figures import counted, number, percent

__all__ = ["headline"]

Plain = dict[str, Any]

#: How a cost is reckoned, by norm.
UNITS = {
    1: "the sum of all changes, each as a share of its feature's range",
    2: "the length of the change, with each feature as a share of its range",
}


def headline(
    counts: dict[str, int], asked: Plain, validity: list[Plain], n_models: int | None, tested: bool
) -> Plain:
    """Put the outcome in a few sentences and a few large numbers.

    Parameters
    ----------
    counts : mapping from status to people
    asked : mapping
        As `robx.reporting.people.asked_of_people` gives it.
    validity : list of mappings
        As `robx.reporting.validity.validity` gives it.
    n_models : int or None
        Retrained models behind the certificate, if there is one.
    tested : bool
        Whether the method asked its answers to be stable.
    """
    everyone, accepted = sum(counts.values()), counts["already accepted"]
    declined, ok = everyone - accepted, counts["ok"]
    if declined == 0:
        return {"lead": _nobody(everyone), "sentences": [], "numbers": []}
    whom = "all of them" if ok == declined else f"{ok:,} of them" if ok else "none of them"
    stable = " and passes the test of stability" * tested
    lead = (
        f"The model declines {declined:,} of {counted(everyone, 'applicant')}. For {whom} a change "
        f"was found that gets them accepted{stable}."
    )
    return {
        "lead": lead,
        "sentences": [*_sure(validity, n_models), *_rest(counts)],
        "numbers": [
            _figure(f"{declined:,}", "declined", f"of {counted(everyone, 'applicant')}"),
            _figure(f"{ok:,}", "answered", f"{percent(ok / declined)} of the declined"),
            *_effort(asked),
            *_shares(validity),
        ],
    }


def _nobody(everyone: int) -> str:
    if everyone == 0:
        return "There are no applicants, so there is nothing to report."
    return f"The model accepts all of {counted(everyone, 'applicant')}: nobody needs to change."


def _sure(validity: list[Plain], n_models: int | None) -> list[str]:
    """Say how far the answers can be relied on."""
    found = []
    certified = [row for row in validity if row["source"] == "certificate"]
    if certified:
        share = certified[0]
        found.append(
            f"Of {counted(n_models or 0, 'retrained model')}, {share['said']} accept an answer, on "
            f"average over the answers (95% interval: {share['between']})."
        )
    elif n_models is None:
        found.append("No retrained models were asked about the answers: there is no certificate.")
    return found + [row["words"] for row in validity if row["source"] == "check"]


def _rest(counts: dict[str, int]) -> list[str]:
    """Say what became of the others."""
    unstable, none = counts["unstable"], counts["infeasible"]
    found = []
    if unstable:
        found.append(
            f"For {unstable:,} the best change that was found is accepted today but did not pass "
            "the test of stability: do not promise it."
        )
    if none:
        found.append(f"For {none:,} no change within the rules was found.")
    if counts["budget used up"]:
        found.append(f"For {counts['budget used up']:,} the search gave up.")
    return found


def _effort(asked: Plain) -> list[Plain]:
    changes, cost = asked["n_changes"]["mean"], asked["cost"]["mean"]
    if changes is None:
        return []
    return [
        _figure(number(changes, 1), "changes", f"on average; mean cost {number(cost)}"),
    ]


def _shares(validity: list[Plain]) -> list[Plain]:
    """Show what the certificate says, and the last check."""
    certified = [row for row in validity if row["source"] == "certificate"][:1]
    checked = [row for row in validity if row["source"] == "check" and row["said"]][-1:]
    names = ["of retrained models accept"] * len(certified) + ["of promises kept"] * len(checked)
    return [
        {
            **_figure(row["said"], name, f"{100 * row['level']:g}% interval {row['between']}"),
            "sure": True,
        }
        for row, name in zip(certified + checked, names, strict=True)
    ]


def _figure(value: str, label: str, note: str) -> Plain:
    return {"value": value, "label": label, "note": note, "sure": False}
