"""What an explainer is, in plain values, in a line, and for a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

from robx.explainer.contents import Fitted
from robx.methods import Conservative, Frugal, RobX

#: Digests are shown by their first letters.
SHORT = 12


def described(fitted: Fitted) -> dict[str, Any]:
    """Give what an explainer is as plain values, ready for JSON."""
    problem, model = fitted.problem, fitted.problem.origin["model"]
    about: dict[str, Any] = {
        "model": model["source"],
        "model_digest": model["digest"],
        "trees": model["n_trees"],
        "training_rows": problem.n_training,
        "accepted_rows": len(problem.support),
        "k_anonymous": problem.k_anonymous,
        "features": len(problem.schema),
        "wanted": fitted.notes.get("wanted"),
        "target": problem.origin["target"],
        "threshold": problem.threshold,
        "schema": fitted.notes.get("schema"),
        "promise": None if fitted.promise is None else fitted.promise.sentence,
        "rehearsed": None if fitted.promise is None else fitted.promise.rehearsed,
        "method": fitted.method.title,
        **_asked(fitted),
        "searching_models": len(getattr(fitted.method, "models", ())),
        "certifying_models": len(fitted.certifying),
        "challengers": len(getattr(fitted.method, "challengers", ())) or None,
        "drawn": fitted.drawn or None,
        "trained_again": fitted.notes.get("trained_again"),
        "seed": fitted.notes.get("seed"),
        "made": fitted.date,
        "versions": dict(problem.origin["versions"]),
        "digests": dict(fitted.digests),
        "privacy": privacy(fitted),
    }
    return about


def privacy(fitted: Fitted) -> str:
    """Say whose data an explainer holds."""
    problem = fitted.problem
    if problem.k_anonymous is None:
        return f"holds {len(problem.support)} training rows: personal data"
    each = f"at least {problem.k_anonymous} training rows each"
    return f"holds no training row, but {len(problem.support)} that stand for {each}"


def lines(about: dict[str, Any]) -> list[tuple[str, str]]:
    """Put what `described` gave into words, a line each; what is not known is left out."""
    said = {name: value for name, value in about.items() if value is not None}
    said["versions"] = ", ".join(f"{name} {number}" for name, number in said["versions"].items())
    digests = [(name, one) for name, one in said["digests"].items() if one is not None]
    shown = [f"{name.replace('_', ' ')} {one[:SHORT]}" for name, one in digests]
    said["digests"] = ", ".join(shown)
    if "model_digest" in said:
        said["model_digest"] = said["model_digest"][:SHORT]
    return [(name.replace("_", " "), _shown(value)) for name, value in said.items()]


def line(fitted: Fitted) -> str:
    """Say what an explainer is in one line."""
    problem = fitted.problem
    models = f"{len(getattr(fitted.method, 'models', ()))} searching and {len(fitted.certifying)}"
    return (
        f"<Explainer by {fitted.method.title} of {problem.model.source}: {problem.in_words}, "
        f"{models} certifying models>"
    )


def as_html(fitted: Fitted) -> str:
    """Give what an explainer is as a piece of HTML; whatever stands in the data is escaped."""
    from robx.answers.notebook import STYLE  # noqa: PLC0415 - loads pandas

    rows = "".join(
        f"<tr><td>{escape(name)}</td><td><bdi>{escape(value)}</bdi></td></tr>"
        for name, value in lines(described(fitted))
    )
    return f'<div class="robx"><style>{STYLE}</style><table><tbody>{rows}</tbody></table></div>'


def _asked(fitted: Fitted) -> dict[str, Any]:
    """What answers must pass, in numbers, as far as the method asks for it."""
    method = fitted.method
    if not isinstance(method, Frugal):
        return {"tau": method.tau} if isinstance(method, RobX | Conservative) else {}
    made = method.test(fitted.problem)
    asked: dict[str, Any] = {"tau": made.stable.tau}
    if made.panel is not None:
        asked["retrained_score"] = made.min_retrained_score
    if method.min_retrained_score is None:
        asked = {"level": method.level_asked(), **asked}
    if made.outliers is not None:
        asked["outlier_score"] = made.max_outlier_score
    return asked


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
