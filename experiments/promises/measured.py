"""One explainer, its promises, and what new models make of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from xgboost import XGBClassifier

import robx
from robx.explainer import fitting
from robx.explainer.explainer import CONFIDENCE, judged
from robx.rehearsal import Outcome, Promise, n_trials, rehearse
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

    The rehearsal with the most trials is played once; a smaller promise takes its first trials,
    which are those that it would play by itself.
    """
    began = time.perf_counter()
    model = clone(estimator(library)).fit(X, y)
    problem = robx.Problem(model, X, schema)
    declined = people[model.predict_proba(people)[:, 1] <= problem.threshold]
    given = fitting.Given(
        y_train=y,
        estimator=None,
        models=None,
        method=method,
        n_models=80,
        seed=seed,
        keep=max(keeps),
        change=change,
        challengers=(),
        parameters={},
    )
    play = fitting.play_of(given, model, X, problem, max(keeps))
    outcome: Outcome = rehearse(play, n_trials(max(keeps)))
    promises = [_promise(outcome, keep, play.change, seed) for keep in keeps]
    later, drawn = fitting.retrained(given, model, X, problem, shown=False)
    base = fitting.with_models(method, given, later, problem, promises[0])
    judges = list(fitting.certifying(later, problem))
    fitted = time.perf_counter() - began
    oracle = frontier(problem, base, declined, new_models)
    lines = []
    for keep, rehearsed in zip(keeps, promises, strict=True):
        promise = rehearsed.carried_over(base, problem)
        answers = fitting.with_promise(base, promise).explain(problem, declined)
        answers = judged(certified(problem, answers, judges, CONFIDENCE, drawn), promise)
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
                **_at_least_cost(oracle, promise.keep, keep),
                "fit_seconds": fitted,
            }
        )
    level = replace(base, level=0.7) if isinstance(base, robx.Frugal) else base
    before = certified(problem, level.explain(problem, declined), judges, CONFIDENCE, drawn)
    lines.append({"asked": np.nan, **_came(before, new_models), "fit_seconds": fitted})
    return lines


def _promise(outcome: Outcome, keep: float, change: Scenario, seed: int) -> Promise:
    some = outcome.first(min(n_trials(keep), outcome.n_trials))
    return Promise.of(some, keep, change.next_model, seed)


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


def frontier(
    problem: robx.Problem, method: Any, people: Any, new_models: Sequence[Any]
) -> tuple[np.ndarray, ...]:
    """What a validity costs at least, if the new models were known.

    Returns validity, rising, and what it takes at least: cost and number of changes.
    """
    found = []
    for value in rungs(problem.threshold):
        turned = robx.rehearsal.with_dial(method, float(value))
        answers = turned.explain(problem, people)
        if answers.ok.mean() < 0.8:
            continue
        points = answers.points[answers.ok]
        came = np.mean([model.predict_proba(points)[:, 1] > 0.5 for model in new_models])
        cost, changes = answers.cost[answers.ok].mean(), answers.n_changes[answers.ok].mean()
        found.append((float(came), float(cost), float(changes)))
    if not found:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    came, cost, changes = np.array(sorted(found)).T
    return came, np.maximum.accumulate(cost), np.maximum.accumulate(changes)


def _at_least_cost(
    oracle: tuple[np.ndarray, ...], promised: float, asked: float
) -> dict[str, float]:
    """Give the least cost of what was promised, and least cost and changes of what was asked for.

    NaN where no setting keeps so much.
    """
    came, cost, changes = oracle

    def at(share: float, what: np.ndarray) -> float:
        return float(np.interp(share, came, what)) if len(came) and share <= came[-1] else np.nan

    return {
        "cheapest": at(promised, cost),
        "cost_at_asked": at(asked, cost),
        "changes_at_asked": at(asked, changes),
    }
