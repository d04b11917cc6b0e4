"""What the base models behind the tables are: their accuracy, and where R lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

import robx
from experiments.settings import GAUSSIAN, N_DRAWS, SIGMA

__all__ = ["base_models", "histograms"]

BINS = np.linspace(0, 1, 41)


def base_models(
    study: robx.Study,
    scenarios: Mapping[str, robx.scenarios.Scenario],
    paper_tau: float,
    seeds: Sequence[int],
    n_models: int,
) -> pd.DataFrame:
    """Describe the base model of each seed; the scenarios start from the same ones.

    Returns
    -------
    DataFrame
        ``seed``, ``accuracy`` on the rows set aside, ``applicants``, ``accepted`` training rows;
        ``paper_quantile``, the share of these whose R is below the paper's tau, and ``passing``,
        how many pass it; ``auto_tau``, and ``highest``, the highest R. For each scenario, under its
        own name, the share of applicants whom the new models accept as they are, unchanged: what an
        answer's validity starts from.
    """
    method = robx.Conservative(noise=GAUSSIAN)
    first = next(iter(scenarios.values()))
    lines: list[dict[str, float]] = []
    for seed in seeds:
        base = study.base(study.base_rows(first, seed), seed)
        _, aside = study.split(seed)
        accepted = base.problem.model.score(study.X.iloc[aside]) > study.threshold
        auto = robx.choose_tau(base.problem, method=method, taus=[paper_tau])
        n_accepted = len(base.problem.support)
        lines.append(
            {
                "seed": seed,
                "accuracy": float((accepted == study.y[aside]).mean()),
                "applicants": len(base.applicants),
                "accepted": n_accepted,
                "paper_quantile": float(auto.table["quantile"].iloc[0]),
                "passing": round(n_accepted * float(auto.table["passing"].iloc[0])),
                "auto_tau": auto.tau,
                "highest": robx.choose_tau(base.problem, method=method, quantile=1.0).tau,
            }
        )
        for name, scenario in scenarios.items():
            models = study.changed(scenario, base, n_models, None)
            scores = np.array([model.score(base.applicants) for model in models])
            lines[-1][name] = float((scores > study.threshold).mean())
    return pd.DataFrame(lines)


def histograms(study: robx.Study, seed: int = 0) -> pd.DataFrame:
    """Count the training rows of a base model by score, by its neighbourhood's mean, and by R.

    Returns
    -------
    DataFrame
        ``low`` and ``high`` of each bin, ``score``, ``mean``, ``stability``: numbers of rows.
    """
    train, _ = study.split(seed)
    base = study.base(train, seed)
    rows = study.X.iloc[train]
    units = {feature.name: feature.scale for feature in base.problem.schema.features}
    around = robx.stability(
        base.problem.model, rows, sigma=SIGMA, n_draws=N_DRAWS, draws="gaussian", scale=units
    )
    values = {
        "score": base.problem.model.score(rows),
        "mean": around.mean,
        "stability": around.value.clip(0, 1),  # R may fall a little below 0
    }
    counts = {name: np.histogram(of, BINS)[0] for name, of in values.items()}
    return pd.DataFrame({"low": BINS[:-1].round(3), "high": BINS[1:].round(3), **counts})
