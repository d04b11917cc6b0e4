"""How the answers were found and tested, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robx.answers import Counterfactuals
from robx.parameters import is_number
from robx.promises import Check
from robx.reports.figures import counted, spoken

Plain = dict[str, Any]
Pair = dict[str, str]
#: What is recorded of the data and of retrained models, and what a report calls it.
DATA = {
    "date": "answers issued on",
    "wanted": "outcome that applicants want",
    "schema": "schema",
    "n_applicants": "applicants",
    "n_support": "training rows",
    "k_anonymous": "people that a row of the search stands for, at least",
    "n_models": "retrained models",
    "trained_again": "how they were trained",
    "seed": "seed for their training rows",
    "n_certifying": "models that certify",
}
#: Shown with commas.
COUNTS = ("applicants", "training rows")
#: How the schema came about, by the word for it in `Counterfactuals.origin`.
SCHEMAS = {"guessed": "guessed from the training rows", "given": "given"}
STABILITY = (
    "Stability of an answer: the mean minus the standard deviation of the model's score over many "
    "copies of the answer with small random changes. A high value means that the model scores "
    "nearly all points near the answer well above the threshold."
)
#: What is recorded of the model in `Counterfactuals.origin`, and what a report calls it.
MODEL = {
    "kind": "kind",
    "source": "trained with",
    "n_trees": "trees",
    "n_features": "features",
    "why": "why its trees are not known",
    "digest": "digest",
}
#: The same of a new model that was checked.
NEW_MODEL = {"file": "file", **MODEL, "date": "checked on"}
#: Characters that tell one digest from another.
DIGEST = 12
#: Longer lists are counted, not shown.
MOST_SHOWN = 4


def tau_of(answers: Counterfactuals) -> float | None:
    """Give the minimum stability of answers, if there was one."""
    tau = answers.settings.get("tau")
    return float(tau) if tau is not None and is_number(tau) else None


def n_tests(answers: Counterfactuals) -> int:
    """Count what answers were tested for: stability, and what else was measured with it."""
    return 0 if tau_of(answers) is None else 1 + len(answers.measured)


def tests_of(answers: Counterfactuals) -> str:
    """Say in one sentence what answers were tested for, if it was more than stability."""
    reason = answers.settings.get("tau_reason")
    if n_tests(answers) < 2 or not reason:
        return ""
    return f"The tests of an answer: stability {reason}."


def about_stability(answers: Counterfactuals) -> str:
    """Explain the column of stabilities where it stands: what it is, and what was asked for."""
    said = (
        " Stability is the mean minus the standard deviation of the model's score over many copies "
        "of the answer with small random changes. It is not a probability of acceptance"
    )
    tau, why = tau_of(answers), answers.settings.get("why")
    if tau is None:
        return f"{said}, and no minimum was asked for."
    said += f": an answer of low stability can be a good one. Here it had to reach {tau:.3g}"
    if n_tests(answers) > 1:
        return f"{said}, as one of several tests{f': {why}' if why else ''}."
    return f"{said}."


def about_schema(answers: Counterfactuals) -> str:
    """Say that nobody has stated what may change, where that is so."""
    if answers.origin.get("schema") != "guessed":
        return ""
    return (
        "The schema was guessed from the training rows: nobody has stated which features "
        "applicants can change, and in which direction. Do not issue these answers before somebody "
        "has."
    )


def chosen(answers: Counterfactuals) -> Plain:
    """Say how the answers were found: the method, its test, the reason for it, every setting.

    A method explains itself in the settings: by "tau_reason" and "why", and by "terms", definitions
    of what it measured.
    """
    settings, origin, tau = dict(answers.settings), answers.origin, tau_of(answers)
    reason, why, terms = (settings.pop(name, None) for name in ("tau_reason", "why", "terms"))
    says = [f"The answers were found by the method {answers.method}."]
    if "wanted" in origin:
        says.append(f"Applicants want: {origin['wanted']}.")
    if "threshold" in origin:
        class_ = f" for class {origin['target']!r}" if origin.get("target") is not None else ""
        says.append(f"Accepted means a score{class_} above {origin['threshold']:g}.")
    if why:
        says += [f"An answer had to pass this test: {reason}.", f"The reason: {why}."]
    elif reason and tau is not None:
        says.append(f"The minimum stability of an answer was tau = {tau:.4g} ({reason}).")
    defined = {"R": STABILITY} if tau is not None else {}
    defined |= terms if isinstance(terms, Mapping) else {}
    return {
        "method": answers.method,
        "tau": tau,
        "tau_reason": reason,
        "why": why,
        "target": origin.get("target"),
        "threshold": origin.get("threshold"),
        "words": says,
        "terms": [_pair(spoken(name), str(text)) for name, text in defined.items()],
        "parameters": [_pair(name, _said(value)) for name, value in settings.items()],
    }


def provenance(answers: Counterfactuals, checks: Sequence[Check] = ()) -> Plain:
    """Say which model, data, software and rules the answers come from, as far as recorded."""
    origin, schema = answers.origin, answers.schema
    known = {**origin, "n_applicants": len(answers)}
    known["schema"] = SCHEMAS.get(str(origin.get("schema")))
    if answers.certificate is not None:
        known["n_certifying"] = answers.certificate.n_models
    return {
        "model": _pairs(origin.get("model", {}), MODEL),
        "data": _pairs(known, DATA),
        "checks": [_pairs({**check.model, "date": check.date}, NEW_MODEL) for check in checks],
        "versions": [_pair(name, str(value)) for name, value in origin.get("versions", {}).items()],
        "schema": [
            {
                "feature": feature.name,
                "kind": feature.kind if feature.group is None else f"one of {feature.group}",
                "may_change": feature.constraint(),
                "unit": feature.scale,
                "weight": feature.weight,
                "noise": feature.noise,
                "levels": [feature.say(number) for number in feature.level_numbers],
            }
            for feature in schema
        ],
        "relations": [relation.text for relation in schema.relations],
    }


def extra(schema: list[Plain]) -> list[str]:
    """Name the columns that only some schemas need: weight, and unit of noise."""
    usual = {"weight": 1, "noise": None}
    return [name for name, value in usual.items() if any(row[name] != value for row in schema)]


def about_model(model: Mapping[str, Any]) -> str:
    """Name a model in one line.

    Examples
    --------
    >>> about_model({"source": "XGBoost 3", "n_trees": 60, "digest": "0123456789abcdef"})
    'XGBoost 3, 60 trees, digest 0123456789ab'
    """
    trees = model.get("n_trees")
    parts = [
        model.get("source"),
        counted(trees, "tree") if trees else None,
        f"digest {str(model['digest'])[:DIGEST]}" if model.get("digest") else None,
    ]
    return ", ".join(str(part) for part in parts if part)


def _pairs(known: Mapping[str, Any], names: Mapping[str, str]) -> list[Pair]:
    """Give what is known, in the order and under the names that a report uses."""
    found = {name: known[key] for key, name in names.items() if known.get(key) is not None}
    return [
        _pair(name, f"{value:,}" if type(value) is int and name in COUNTS else str(value))
        for name, value in found.items()
    ]


def _pair(name: str, value: str) -> Pair:
    return {"name": name, "value": value}


def _said(value: Any) -> str:
    """Put a setting in words."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        parts = [f"{name} {_said(one)}" for name, one in value.items() if name != "method"]
        return f"{value.get('method', '')} ({', '.join(parts)})".strip()
    if isinstance(value, list | tuple):
        many = len(value) > MOST_SHOWN or any(len(str(one)) > 40 for one in value)
        return f"{len(value)} of them" if many else ", ".join(map(_said, value)) or "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
