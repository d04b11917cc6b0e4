"""What was asked of the answers and why, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robx.answers import Counterfactuals
from robx.parameters import is_number
from robx.promises import Check
from robx.reports.figures import counted

Plain = dict[str, Any]
#: What is recorded of models that were trained again, and what a report calls it.
RETRAINED = {
    "n_models": "retrained models",
    "trained_again": "how they were trained",
    "seed": "seed of their training rows",
}
Pair = dict[str, str]

#: What the tests measure, by what shows that a method used them.
TERMS = {
    "R": "Stability of an answer: mean minus standard deviation of the model's score over many "
    "copies of it with small random changes. High means that the model scores nearly all points "
    "near it well above the threshold.",
    "steadiness": "How far the mean score of an answer over retrained models lies above the "
    "threshold, counted in standard deviations of these scores.",
    "oddity": "How unusual an answer is among the people whom the model accepts; about 1 is usual, "
    "higher is odder.",
}
#: What is said of the model, by its name in `Counterfactuals.origin`.
MODEL = {
    "kind": "kind",
    "source": "trained with",
    "n_trees": "trees",
    "n_features": "features",
    "digest": "digest",
}
#: Characters that tell one digest from another.
DIGEST = 12
#: Lists longer than this are counted, not shown.
MOST_SHOWN = 4


def tau_of(answers: Counterfactuals) -> float | None:
    """Give the bar that the stability of answers had to reach, if there was one."""
    tau = answers.settings.get("tau")
    return float(tau) if tau is not None and is_number(tau) else None


def asked_for(answers: Counterfactuals) -> list[str]:
    """Name what answers were tested for: R, and what else the method measured."""
    return ["R"] * (tau_of(answers) is not None) + list(answers.measured)


def chosen(answers: Counterfactuals) -> Plain:
    """Say how the answers were found: the method, the bar, the reason for it, every setting."""
    settings, origin = dict(answers.settings), answers.origin
    reason, why, tau = settings.pop("tau_reason", None), settings.pop("why", None), tau_of(answers)
    says = [f"Answers were searched by the method {answers.method}."]
    if "threshold" in origin:
        class_ = f" for class {origin['target']!r}" if origin.get("target") is not None else ""
        says.append(f"Accepted means a score{class_} above {origin['threshold']:g}.")
    if reason and tau is not None:
        says += _asked(answers.method, tau, reason, why)
    used = asked_for(answers)
    return {
        "method": answers.method,
        "tau": tau,
        "tau_reason": reason,
        "why": why,
        "target": origin.get("target"),
        "threshold": origin.get("threshold"),
        "words": says,
        "terms": [_pair(name, text) for name, text in TERMS.items() if name in used],
        "parameters": [_pair(name, _said(value)) for name, value in settings.items()],
    }


def _asked(method: str, tau: float, reason: str, why: str | None) -> list[str]:
    """Say what was asked of an answer, and why so much."""
    if why or method == "Frugal":  # whose reason is the list of what it asks
        return [f"What was asked of an answer: {reason}.", *([f"Why: {why}."] if why else [])]
    bar = f"An answer had to reach a stability of {tau:.4g}"
    return [f"{bar}, as the caller asked." if reason == "given" else f"{bar}. Why: {reason}."]


def provenance(answers: Counterfactuals, checks: Sequence[Check] = ()) -> Plain:
    """Say which model, data, software and rules the answers come from, as far as it is recorded."""
    origin, schema = answers.origin, answers.schema
    support = origin.get("n_support")
    data = [_pair("applicants", f"{len(answers):,}")]
    if support is not None:
        data.append(_pair("training rows", f"{support:,}"))
    for name, words in RETRAINED.items():
        if origin.get(name) is not None:
            data.append(_pair(words, str(origin[name])))
    if answers.certificate is not None:
        asked = counted(answers.certificate.n_models, "model")
        data.append(_pair("of which certify", asked))
    return {
        "model": _model(origin.get("model", {})),
        "data": data,
        "checks": [_model(check.model) for check in checks],
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
    """Name what is stated of features but usually is not: their weight, and their unit of noise."""
    stated = {
        "weight": any(row["weight"] != 1 for row in schema),
        "noise": any(row["noise"] is not None for row in schema),
    }
    return [name for name, is_stated in stated.items() if is_stated]


def about_model(model: Mapping[str, Any]) -> str:
    """Say in one line which model it is.

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


def _model(model: Mapping[str, Any]) -> list[Pair]:
    return [_pair(name, str(model[key])) for key, name in MODEL.items() if model.get(key)]


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
