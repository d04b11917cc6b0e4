"""The first lines, for readers who read nothing else."""

from __future__ import annotations

from typing import Any

from robx.answers import Counterfactuals, Status
from robx.metrics import percent
from robx.reports.applicants import asked_of_people
from robx.reports.figures import counted, number
from robx.reports.outcomes import UNREADABLE, rest
from robx.reports.settings import about_schema, n_tests, tests_of

Plain = dict[str, Any]
#: All of fewer applicants may well be accepted.
MANY = 5


def headline(answers: Counterfactuals, counts: dict[str, int], validity: list[Plain]) -> Plain:
    """Put the outcome in a few sentences and a few large numbers.

    Of answers, of the number of people by status, and of `validity`.
    """
    asked, tests, assumed = asked_of_people(answers), n_tests(answers), _assumed(answers)
    certificate = answers.certificate
    n_models = None if certificate is None else certificate.n_models
    unread = counts.get(UNREADABLE, 0)
    everyone, accepted = sum(counts.values()) - unread, counts.get(Status.ACCEPTED, 0)
    declined, ok = everyone - accepted, counts.get(Status.OK, 0)
    if declined == 0:
        said = [*_turned(answers, everyone), *(_unread(unread) if everyone else [])]
        lead = _nobody(everyone, unread)
        return {"lead": lead, "sentences": [*assumed, *said], "numbers": []}
    if not tests and counts.get(Status.UNSTABLE):  # which did not pass a test, so there was one
        tests = 2
    passes = ["", " and passes the test of stability", " and passes every test"][min(tests, 2)]
    promise, basis = (answers.origin.get(name) for name in ("promise", "promise_basis"))
    first = [*([str(promise)] if promise else []), _declined(declined, everyone)]
    return {
        "lead": " ".join([*first, _found(ok, declined, passes)]),
        "sentences": [
            *([str(basis)] if basis else []),
            *assumed,
            *_sure(validity, n_models, ok),
            *rest(counts),
            *_unread(unread),
            *([tests_of(answers)] if ok and tests_of(answers) else []),
        ],
        "numbers": [
            _figure(f"{declined:,}", "declined", f"of {counted(everyone, 'applicant')}"),
            _figure(f"{ok:,}", "answered", f"{percent(ok / declined)} of the declined"),
            *_effort(asked),
            *_shares(validity, n_models),
        ],
    }


def _assumed(answers: Counterfactuals) -> list[str]:
    """Say what was taken for granted: which outcome is wanted, and a schema that was guessed."""
    wanted, guessed = answers.origin.get("wanted"), about_schema(answers)
    return [*([f"Applicants want: {wanted}."] if wanted else []), *([guessed] if guessed else [])]


def _turned(answers: Counterfactuals, everyone: int) -> list[str]:
    """Doubt that everybody is accepted, if they are many."""
    if everyone < MANY or "target" not in answers.origin:
        return []
    said = f"This is nearly always the wrong way round: class {answers.origin['target']!r} counts "
    return [f"{said}as accepted here. It may be the outcome that applicants want to avoid."]


def _nobody(everyone: int, unread: int) -> str:
    """Say why nobody needs an answer."""
    if everyone == 0 and unread:
        whom = "the only applicant" if unread == 1 else f"any of the {unread:,} applicants"
        return f"The model cannot read {whom}, so there is nothing to report."
    if everyone == 0:
        return "There are no applicants, so there is nothing to report."
    whom = _all(everyone) + " that it can read" * bool(unread)
    return f"The model accepts {whom}: nobody needs to change anything."


def _all(n: int) -> str:
    """Name all applicants.

    Examples
    --------
    >>> [_all(n) for n in (1, 2, 1200)]
    ['the only applicant', 'both applicants', 'all 1,200 applicants']
    """
    return ["the only applicant", "both applicants", f"all {n:,} applicants"][min(n, 3) - 1]


def _declined(declined: int, everyone: int) -> str:
    if declined == everyone:
        return f"The model declines {_all(everyone)}."
    return f"The model declines {declined:,} of {everyone:,} applicants."


def _found(ok: int, declined: int, passes: str) -> str:
    """Say for whom a change was found, and what it passes."""
    what = f"that gets them accepted{passes}"
    if declined == 1:
        return f"For them {'a' if ok else 'no'} change was found {what}."
    if ok == 0:
        return f"For none of them was a change found {what}."
    both = "both" if declined == 2 else "all"
    return f"For {both if ok == declined else f'{ok:,}'} of them a change was found {what}."


def _sure(validity: list[Plain], n_models: int | None, ok: int) -> list[str]:
    """Say how far the answers can be relied on."""
    found = []
    certified = [row for row in validity if row["source"] == "certificate"]
    if certified:
        share = certified[0]["said"]
        said = f"{'The' if ok == 1 else 'On average, an'} answer is accepted by {share} of "
        said += f"{n_models} retrained models"
        if n_models == 1:
            said = f"The retrained model accepts {share} of the answers"
        found.append(f"{said} (95% interval: {certified[0]['between']}).")
    elif n_models is None:
        found.append("No retrained model scored the answers, so there is no certificate.")
    return found + [row["words"] for row in validity if row["source"] == "check"]


def _unread(unread: int) -> list[str]:
    if not unread:
        return []
    people, counts = counted(unread, "applicant"), "counts" if unread == 1 else "count"
    return [f"The model cannot read {people}, who {counts} neither as accepted nor as declined."]


def _effort(asked: Plain) -> list[Plain]:
    changes, cost = asked["n_changes"]["mean"], asked["cost"]["mean"]
    if changes is None:
        return []
    shown = number(changes, 1).removesuffix(".0")
    label = "change" if shown == "1" else "changes"
    return [_figure(shown, label, f"on average; mean cost {number(cost)}")]


def _shares(validity: list[Plain], n_models: int | None) -> list[Plain]:
    """Show the share of the certificate, and that of the worst check."""
    one = "of answers accepted by the retrained model"
    models = one if n_models == 1 else "of retrained models accept"
    certified = [(row, models) for row in validity if row["source"] == "certificate"][:1]
    checks = [row for row in validity if row["source"] == "check" and row["said"]]
    worst = sorted(checks, key=lambda row: float(row["value"]))[:1]
    of_all = f" by the worst of {len(checks)} new models" if len(checks) > 1 else ""
    return [
        _figure(row["said"], name, f"{_named(row)}{_between(row)}", sure=True)
        for row, name in (*certified, *((row, f"of promises kept{of_all}") for row in worst))
    ]


def _between(row: Plain) -> str:
    return f"{100 * row['level']:g}% interval {row['between']}"


def _named(row: Plain) -> str:
    return f"{row['file']}; " if row["file"] else ""


def _figure(value: str, label: str, note: str, *, sure: bool = False) -> Plain:
    return {"value": value, "label": label, "note": note, "sure": sure}
