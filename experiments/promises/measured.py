"""One explainer, its promises, and what new models make of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from xgboost import XGBClassifier

import robx
from experiments.frontier.curves import cheapest
from robx.explainer import fitting
from robx.explainer.explainer import CONFIDENCE, judged
from robx.rehearsal import Promise, n_trials, rehearse
from robx.rehearsal.dials import rungs
from robx.retrained import certified
from robx.scenarios import Scenario

LIBRARIES = ("xgboost", "lightgbm", "forest", "histogram")


def estimator(library: str) -> Any:
    """Make a classifier with usual settings."""
    if library == "xgboost":
        return XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, n_jobs=1)
    if library == "lightgbm":
        return LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)
    if library == "forest":
        return RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    return HistGradientBoostingClassifier(random_state=0)


def measure(
    library: str,
    X: Any,
    y: Any,
    people: Any,
    new_models: Sequence[Any],
    *,
    keeps: Sequence[float],
    method: robx.Method | None = None,
    change: Scenario | None = None,
    schema: robx.Schema | None = None,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Promise, answer people whom the model declines, and ask new models; a line for each promise.

    The last line is of the method as it comes, without a promise.
    """
    model = clone(estimator(library)).fit(X, y)
    problem = robx.Problem(model, X, schema)
    declined = people[model.predict_proba(people)[:, 1] <= problem.threshold]
    lines = []
    for keep in keeps:
        began = time.perf_counter()
        given = fitting.Given(
            y_train=y,
            estimator=None,
            models=None,
            method=method,
            n_models=80,
            seed=seed,
            keep=keep,
            change=change,
            challengers=(),
            parameters={},
        )
        play = fitting.play_of(given, model, X, problem, keep)
        outcome = rehearse(play, n_trials(keep))
        rehearsed = Promise.of(outcome, keep, play.change.next_model, seed)
        later, drawn = fitting.retrained(given, model, X, problem, shown=False)
        base = fitting.with_models(method, given, later, problem, rehearsed)
        judges = list(fitting.certifying(later, problem))
        promise = rehearsed.carried_over(base, problem)
        chosen = fitting.with_promise(base, promise)
        fitted = time.perf_counter() - began
        answers = chosen.explain(problem, declined)
        answers = judged(certified(problem, answers, judges, CONFIDENCE, drawn), promise)
        curve = frontier(problem, chosen, declined, new_models)
        lines.append(
            {
                "asked": keep,
                "promised": promise.keep,
                "value": promise.value,
                "rehearsed_value": rehearsed.value,
                "rehearsed": promise.rehearsed,
                "extended": promise.extended,
                "places": promise.places,
                **_came(answers, new_models),
                "cheapest": least(curve, promise.keep)["cost"],
                "fit_seconds": fitted,
            }
        )
    level = replace(base, level=0.7) if isinstance(base, robx.Frugal) else base
    before = certified(problem, level.explain(problem, declined), judges, CONFIDENCE, drawn)
    lines.append({"asked": np.nan, **_came(before, new_models)})
    return lines


def _came(answers: robx.Counterfactuals, new_models: Sequence[Any]) -> dict[str, Any]:
    ok, certificate = answers.ok, answers.certificate
    told = answers.answered
    found: dict[str, Any] = {"people": len(answers), "ok": float(ok.mean())}
    if not told.any() or certificate is None:
        return found
    points = answers.points[told]
    accepted = np.array([model.predict_proba(points)[:, 1] > 0.5 for model in new_models])
    share, is_ok = accepted.mean(axis=0), ok[told]
    found |= {
        "came_of_all": float(share.mean()),
        "came": float(share[is_ok].mean()) if is_ok.any() else np.nan,
        "cost": float(answers.cost[ok].mean()) if is_ok.any() else np.nan,
        "n_changes": float(answers.n_changes[ok].mean()) if is_ok.any() else np.nan,
        "judges": float((certificate.accepting / certificate.n_models)[told].mean()),
        "bounds_hold": float((certificate.bound[told] <= share).mean()),
    }
    if certificate.expected is not None and certificate.expected_low is not None:
        found["expected"] = float(certificate.expected[told].mean())
        found["expected_low"] = float(certificate.expected_low[told].mean())
        found["low_holds"] = float((certificate.expected_low[told] <= share + 1e-9).mean())
    return found


#: Scores near 1, beyond the settings that are rehearsed: single models may need them.
BEYOND = (0.97, 0.98, 0.99, 0.998)
#: A setting at which fewer are answered does not count.
LEAST_ANSWERED = 0.8


def frontier(
    problem: robx.Problem, method: Any, people: Any, new_models: Sequence[Any]
) -> pd.DataFrame:
    """Answer at every setting of a method: what new models keep of it, and what it costs.

    The first line, without a value, is of the method as it is.
    """
    threshold, lines = problem.threshold, []
    ladder = [*rungs(threshold), *(threshold + (1 - threshold) * np.array(BEYOND))]
    turned = [robx.rehearsal.with_dial(method, float(value)) for value in ladder]
    for value, one in zip([np.nan, *ladder], [method, *turned], strict=True):
        answers = one.explain(problem, people)
        points, ok = answers.points[answers.ok], answers.ok
        line = {"value": float(value), "ok": float(ok.mean())}
        if len(points):
            came = [model.predict_proba(points)[:, 1] > threshold for model in new_models]
            line |= {
                "came": float(np.mean(came)),
                "cost": float(answers.cost[ok].mean()),
                "changes": float(answers.n_changes[ok].mean()),
            }
        lines.append(line)
    return pd.DataFrame(lines, columns=["value", "ok", "came", "cost", "changes"])


def least(curve: pd.DataFrame, share: float) -> dict[str, float]:
    """Give cost and changes where a share is kept at the least cost; NaN where it is not kept.

    On the line through the settings that answer enough people, in their order.
    """
    some = curve.dropna(subset=["value", "came"])
    some = some[some["ok"] >= LEAST_ANSWERED]
    if not len(some):
        return {"cost": np.nan, "changes": np.nan}
    columns = {name: some[[name]].to_numpy(dtype=float) for name in ("came", "cost", "changes")}
    place = cheapest(columns["came"], columns["cost"], share)
    return {name: float(place.read(columns[name])[0]) for name in ("cost", "changes")}
