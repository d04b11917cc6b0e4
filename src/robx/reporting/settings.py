"""What was asked of the answers and why, and where they come from."""

from __future__ import annotations

from typing import Any

from robx.parameters import is_number
from robx.problem import Counterfactuals
from robx.reporting.figures import counted

__all__ = ["chosen", "provenance", "tau_of"]

Plain = dict[str, Any]
Pair = dict[str, str]

#: What the tests measure, by what shows that a method used them.
TERMS = {
    "R": "Stability of an answer: mean minus standard deviation of the model's score over many "
    "copies of it with small random changes. High means that nothing near it is declined.",
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
#: Lists longer than this are counted, not shown.
MOST_SHOWN = 4


def tau_of(answers: Counterfactuals) -> float | None:
    """Give the bar that the stability of answers had to reach, if there was one."""
    tau = answers.settings.get("tau")
    return float(tau) if tau is not None and is_number(tau) else None


def chosen(answers: Counterfactuals) -> Plain:
    """Say how the answers were found: the method, the bar, the reason for it, every setting."""
    settings, origin = dict(answers.settings), answers.origin
    reason, tau = settings.pop("tau_reason", None), tau_of(answers)
    says = [f"Answers were searched by the method {answers.method}."]
    if "threshold" in origin:
        class_ = f" for class {origin['target']!r}" if origin.get("target") is not None else ""
        says.append(f"Accepted means a score{class_} above {origin['threshold']:g}.")
    if reason and tau is not None:
        if reason == "given":
            says.append(f"An answer had to reach a stability of {tau:.4g}, as the caller asked.")
        else:
            says.append(f"An answer had to reach a stability of {tau:.4g}. Why: {reason}.")
    used = {"R": tau is not None, **dict.fromkeys(answers.measured, True)}
    return {
        "method": answers.method,
        "tau": tau,
        "tau_reason": reason,
        "target": origin.get("target"),
        "threshold": origin.get("threshold"),
        "words": says,
        "terms": [_pair(name, text) for name, text in TERMS.items() if used.get(name)],
        "parameters": [_pair(name, _said(value)) for name, value in settings.items()],
    }


def provenance(answers: Counterfactuals) -> Plain:
    """Say which model, data, software and rules the answers come from, as far as it is recorded."""
    origin, schema = answers.origin, answers.schema
    model = origin.get("model", {})
    support = origin.get("n_support")
    data = [_pair("applicants", f"{len(answers):,}")]
    if support is not None:
        data.append(_pair("training rows", f"{support:,}"))
    for name, words in (("n_models", "retrained models"), ("seed", "seed of their training rows")):
        if origin.get(name) is not None:
            data.append(_pair(words, str(origin[name])))
    if answers.certificate is not None:
        asked = counted(answers.certificate.n_models, "model")
        data.append(_pair("of which certify", asked))
    return {
        "model": [_pair(name, str(model[key])) for key, name in MODEL.items() if model.get(key)],
        "data": data,
        "versions": [_pair(name, str(value)) for name, value in origin.get("versions", {}).items()],
        "schema": [
            {
                "feature": feature.name,
                "kind": feature.kind if feature.group is None else f"one of {feature.group}",
                "may_change": feature.constraint(),
                "unit": feature.scale,
                "levels": [feature.say(number) for number in feature.level_numbers],
            }
            for feature in schema
        ],
        "relations": [relation.text for relation in schema.relations],
    }


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
