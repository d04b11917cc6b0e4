"""Data sets, tuned models and model changes, as the paper has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from xgboost import XGBClassifier

import robx
from experiments.settings import DROPPED, MAX_APPLICANTS, TEST, TUNED

__all__ = [
    "Data",
    "estimator",
    "load",
    "make_study",
    "scenario",
    "tuned_parameters",
    "varied",
]

Train = Literal["whole", "half"]
Scaling = Literal["range", "deviation"]


@dataclass(frozen=True, eq=False)
class Data:
    """A data set as in the paper: every column a number, 1 the good outcome."""

    name: str
    X: pd.DataFrame
    y: np.ndarray[Any, Any]

    def schema(self, scaling: Scaling) -> robx.Schema:
        """Every column continuous and free, in units of its range or standard deviation.

        Costs and noise are then those of columns scaled to [0, 1], or to a deviation of one.
        """
        units = self.X.max() - self.X.min() if scaling == "range" else self.X.std(ddof=0)
        return robx.Schema([robx.Feature(str(name), scale=unit) for name, unit in units.items()])


def load(name: str, heloc: Path | None = None) -> Data:
    """Load German Credit or HELOC.

    Parameters
    ----------
    name : {"german", "heloc"}
    heloc : path, optional
        HELOC's file; looked for where `robx.datasets.load_heloc` does unless given.
    """
    loaded = robx.datasets.load_german() if name == "german" else robx.datasets.load_heloc(heloc)
    return Data(name, pd.DataFrame(loaded.X).astype(np.float64), np.asarray(loaded.y))


def estimator(parameters: dict[str, Any]) -> XGBClassifier:
    """Make a model to train: no subsampling, so the same rows give the same model.

    Splits lie midway between values ("exact"), as in the XGBoost of the paper's time; newer
    versions put them on values unless told otherwise.
    """
    return XGBClassifier(**parameters, tree_method="exact", random_state=0, n_jobs=1)


def tuned_parameters(name: str, train: Train) -> dict[str, Any]:
    """Read the hyperparameters that `experiments.tune` found."""
    stored = yaml.safe_load((TUNED / f"{name}.yaml").read_text(encoding="utf-8"))
    return dict(stored[train]["parameters"])


def make_study(
    data: Data, train: Train, scaling: Scaling, max_applicants: int | None = None
) -> robx.Study:
    """Make what base models and new models come from."""
    most = MAX_APPLICANTS[data.name]
    if max_applicants is not None:
        most = min(max_applicants, most or max_applicants)
    return robx.Study(
        estimator(tuned_parameters(data.name, train)),
        data.X,
        data.y,
        schema=data.schema(scaling),
        test=TEST,
        max_applicants=most,
    )


def varied(parameters: dict[str, Any], n: int = 20) -> dict[str, list[int]]:
    """List n changes of one hyperparameter: up to two levels of depth, up to half of the trees.

    Training is deterministic, so twenty new models need twenty different values.

    Examples
    --------
    >>> varied({"max_depth": 2, "n_estimators": 100}, n=7)
    {'max_depth': [1, 3, 4], 'n_estimators': [50, 75, 125, 150]}
    """
    depth, trees = parameters["max_depth"], parameters["n_estimators"]
    depths = [depth + step for step in (-2, -1, 1, 2) if depth + step >= 1]
    left = n - len(depths)
    fewer = np.linspace(0.5, 1, left // 2, endpoint=False)
    more = np.linspace(1.5, 1, left - left // 2, endpoint=False)[::-1]
    sizes = [round(factor * trees) for factor in (*fewer, *more)]
    return {"max_depth": depths, "n_estimators": sizes}


def scenario(which: str, name: str, train: Train) -> robx.scenarios.Scenario:
    """Make a model change by its name in a spec."""
    if which == "drop-rows":
        return robx.scenarios.DropRows(DROPPED[name])
    vary = varied(tuned_parameters(name, train))
    if which == "hyperparameter":
        return robx.scenarios.Hyperparameter(vary)
    if which == "other-half":
        return robx.scenarios.OtherHalf(vary)
    raise ValueError(f"A scenario is drop-rows, hyperparameter or other-half. Got {which!r}.")
