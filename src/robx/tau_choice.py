"""`choose_tau`: by a quantile of the support's stability, or by a sweep over retrained models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from robx.answers import Status
from robx.arrays import Floats
from robx.errors import InvalidInput
from robx.methods import Conservative, RobX
from robx.methods.point_tests import QUANTILE, sampled_stability
from robx.parameters import check_number, require
from robx.problem import Problem
from robx.retrained import acceptance, import_models
from robx.tables import count_rows, take

#: Quantiles of R that the table shows, and that a sweep tries.
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)


@dataclass(frozen=True, eq=False)
class TauChoice:
    """A value for tau, with the reason for it and the table behind it.

    Parameters
    ----------
    tau : float
    reason : str
    table : DataFrame
        A row for each candidate: `tau`, its `quantile` among the stabilities of the accepted
        support, and `passing`, the share of these that are at least tau. A sweep adds `validity`
        (the share of answers that the retrained models accept, on average over the models),
        `worst_validity` (by the strictest of them), `cost` (mean), `n_changes` and `coverage` (the
        share of applicants with a stable answer).
    """

    tau: float
    reason: str
    table: pd.DataFrame

    def __float__(self) -> float:
        return self.tau

    def __str__(self) -> str:
        shown = self.table.to_string(index=False, float_format=lambda number: f"{number:.3f}")
        return f"tau = {self.tau:.4g}: {self.reason}.\n{shown}"


def choose_tau(
    problem: Problem,
    applicants: Any = None,
    models: Sequence[Any] | None = None,
    *,
    method: RobX | Conservative | None = None,
    quantile: float = QUANTILE,
    taus: Sequence[float] | None = None,
    validity: float = 0.97,
) -> TauChoice:
    """Choose tau, in one of the paper's two ways.

    Without `models`: a quantile of the stability R over the accepted support; the paper chooses it
    from a histogram. With `models`: the lowest tau for which the models accept at least the share
    `validity` of the answers for `applicants`; the paper raises tau until validity stops improving.
    The models should be trained as a retraining would be, on data that the problem's model has not
    seen. They must not judge the answers later: the problem remembers them, and `robx.evaluate`
    refuses them.

    Parameters
    ----------
    problem : Problem
    applicants : table, optional
        Applicants to answer in the sweep. Required with `models`.
    models : sequence of models, optional
        Retrained models, anything that `robx.import_model` takes.
    method : RobX or Conservative, optional
        The method that tau is for; `RobX` unless given. Its own tau is ignored.
    quantile : float
        Quantile of R over the accepted support.
    taus : sequence of float, optional
        Candidates; quantiles of R unless given.
    validity : float
        Minimum share of the answers that the models must accept.

    Returns
    -------
    TauChoice
        With ``tau``, ``reason`` and ``table``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from robx import Problem
    >>> X = np.random.default_rng(0).random((400, 3))
    >>> y = X[:, 0] > 0.5
    >>> fit = lambda rows, seed: RandomForestClassifier(20, random_state=seed).fit(X[rows], y[rows])
    >>> problem = Problem(fit(slice(150), 0), X[:150])
    >>> choice = choose_tau(problem, X[300:], [fit(slice(150, 300), seed) for seed in range(3)])
    >>> bool(choice.table.validity.max() >= 0.97)
    True
    """
    chosen = RobX() if method is None else method
    sound = isinstance(chosen, RobX | Conservative)
    require(sound, method, "method", "choose_tau", "a RobX or Conservative")
    check_number(quantile, "quantile", "choose_tau", least=0, most=1)
    check_number(validity, "validity", "choose_tau", least=0, most=1)
    if (applicants is None) != (models is None):
        raise InvalidInput("choose_tau takes applicants and models together, or neither.")
    if len(problem.support) == 0:
        raise InvalidInput(
            f"No row of the support scores above {problem.threshold:g}, so no tau can be chosen."
        )
    values, rows = sampled_stability(problem, chosen.noise)
    candidates = _taus(taus, values, quantile)
    table = pd.DataFrame(
        {
            "tau": candidates,
            "quantile": [(values < tau).mean() for tau in candidates],
            "passing": [(values >= tau).mean() for tau in candidates],
        }
    )
    if models is None or applicants is None:
        tau = float(np.quantile(values, quantile))
        reason = f"the {quantile:.0%} quantile of R over {rows}"
        return TauChoice(tau, reason, table)
    later = import_models(problem, models)
    choice = _sweep(problem, applicants, later, chosen, table, validity)
    problem.used_models.add(later)
    return choice


def _sweep(
    problem: Problem,
    applicants: Any,
    models: list[Any],
    method: RobX | Conservative,
    table: pd.DataFrame,
    validity: float,
) -> TauChoice:
    if count_rows(applicants) == 0:
        raise InvalidInput("choose_tau needs at least one applicant for a sweep.")
    lines = []
    for tau in table["tau"]:
        answer = replace(method, tau=float(tau)).explain(problem, applicants)
        declined = answer.status != Status.ACCEPTED
        if not declined.any():
            raise InvalidInput("choose_tau needs applicants whom the model declines. Got none.")
        ok = answer.ok
        points = problem.codec.as_trained(take(answer.points, np.flatnonzero(ok)))
        kept = acceptance(models, points, problem.threshold)
        lines.append(
            {
                "validity": kept.mean() if kept.size else np.nan,
                "worst_validity": kept.mean(axis=1).min() if kept.size else np.nan,
                "cost": answer.cost[ok].mean() if ok.any() else np.nan,
                "n_changes": answer.n_changes[ok].mean() if ok.any() else np.nan,
                "coverage": ok[declined].mean(),
            }
        )
    table = pd.concat([table, pd.DataFrame(lines)], axis=1)
    enough = table[table["validity"] >= validity]
    if len(enough):
        best = enough.iloc[0]
        reason = (
            f"the lowest tau at which {len(models)} retrained models accept at least "
            f"{validity:.0%} of the answers ({best['validity']:.1%} at a mean cost of "
            f"{best['cost']:.3g})"
        )
    elif table["validity"].notna().any():
        best = table.iloc[int(np.nanargmax(table["validity"]))]
        reason = (
            f"no tau reaches {validity:.0%}; this one comes nearest ({best['validity']:.1%} at a "
            f"mean cost of {best['cost']:.3g})"
        )
    else:
        raise InvalidInput(
            "No tau gives any of these applicants a stable answer. Allow more in the schema."
        )
    return TauChoice(float(best["tau"]), reason, table)


def _taus(taus: Sequence[float] | None, values: Floats, quantile: float) -> Floats:
    if taus is None:
        return np.unique(np.quantile(values, sorted({*QUANTILES, quantile})))
    try:
        given = np.unique(np.asarray(taus, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        given = np.empty(0)
    sound = len(given) > 0 and bool(np.isfinite(given).all())
    require(sound, taus, "taus", "choose_tau", "a list of finite numbers")
    return given
