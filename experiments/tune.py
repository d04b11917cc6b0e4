"""Search the hyperparameters of the models behind the tables.

    python -m experiments.tune --data german

The paper tuned with hyperopt and gives no values. Here: optuna's TPE, accuracy in five-fold cross
validation on the training rows of the first split, for models of the whole training part and of
half of it. The search looks at accuracy alone, never at counterfactuals. Writes
``tuned/<data>.yaml``.
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sklearn
import xgboost
import yaml
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score

import robx
from experiments.settings import PAPER_ACCURACY, SEEDS, TEST, TUNED
from experiments.study import Data, Train, estimator, load

TRIALS, FOLDS, SEED = 100, 5, 0
#: Lowest and highest value of each parameter, and how it is searched between them.
SPACE: dict[str, tuple[Any, Any, str]] = {
    "max_depth": (2, 8, "integer"),
    "n_estimators": (20, 300, "integer"),
    "learning_rate": (0.01, 0.3, "log"),
    "min_child_weight": (1.0, 20.0, "log"),
    "gamma": (0.0, 5.0, "linear"),
    "reg_lambda": (0.1, 10.0, "log"),
}


def suggest(trial: optuna.Trial) -> dict[str, Any]:
    """Take the next values to try."""
    return {
        name: trial.suggest_int(name, low, high)
        if way == "integer"
        else trial.suggest_float(name, low, high, log=way == "log")
        for name, (low, high, way) in SPACE.items()
    }


def training_rows(data: Data, train: Train, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows that a base model is trained on, and rows set aside, as in the tables."""
    study = robx.Study(estimator({}), data.X, data.y, test=TEST)
    rows, aside = study.split(seed)
    if train == "half":
        rows = study.base_rows(robx.scenarios.OtherHalf(), seed)
    return rows, aside


def accuracy_in_folds(data: Data, train: Train, parameters: dict[str, Any]) -> float:
    """Accuracy in cross validation on the training rows of the first split."""
    rows, _ = training_rows(data, train, SEED)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    X, y = data.X.iloc[rows], data.y[rows]
    scores = cross_val_score(estimator(parameters), X, y, cv=folds, scoring="accuracy")
    return float(scores.mean())


def search(data: Data, train: Train) -> tuple[dict[str, Any], float]:
    """Find the hyperparameters of the best accuracy."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    trials = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=SEED)
    )
    trials.optimize(
        lambda trial: accuracy_in_folds(data, train, suggest(trial)),
        n_trials=TRIALS,
        show_progress_bar=sys.stderr.isatty(),
    )
    return trials.best_params, trials.best_value


def accuracy_aside(data: Data, train: Train, parameters: dict[str, Any]) -> list[float]:
    """Accuracy on the rows set aside, for the split of each base model."""
    model, found = estimator(parameters), []
    for seed in range(SEEDS):
        rows, aside = training_rows(data, train, seed)
        fitted = clone(model).fit(data.X.iloc[rows], data.y[rows])
        found.append(float((fitted.predict(data.X.iloc[aside]) == data.y[aside]).mean()))
    return found


def main() -> None:
    """Search for one data set and write what was found."""
    parser = argparse.ArgumentParser(
        description="Search the hyperparameters of the tables' models."
    )
    parser.add_argument("--data", choices=("german", "heloc"), required=True)
    parser.add_argument("--heloc", type=Path, help="HELOC's file")
    arguments = parser.parse_args()
    data = load(arguments.data, arguments.heloc)
    stored: dict[str, Any] = {
        "command": f"python -m experiments.tune --data {data.name}",
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "xgboost": xgboost.__version__,
            "optuna": optuna.__version__,
        },
        "search": {
            "sampler": "TPE",
            "trials": TRIALS,
            "seed": SEED,
            "score": f"accuracy, {FOLDS} folds of the training rows of split {SEED}",
            "space": {name: list(bounds) for name, bounds in SPACE.items()},
        },
    }
    trains: tuple[Train, ...] = ("whole", "half")
    for train in trains:
        parameters, score = search(data, train)
        tested = accuracy_aside(data, train, parameters)
        stored[train] = {
            "parameters": parameters,
            "accuracy": round(score, 4),
            "test_accuracy": [round(share, 4) for share in tested],
            "mean_test_accuracy": round(float(np.mean(tested)), 4),
            "paper_accuracy": PAPER_ACCURACY[data.name][train],
        }
        print(train, stored[train])
    TUNED.mkdir(exist_ok=True)
    text = yaml.safe_dump(stored, sort_keys=False, default_flow_style=None)
    (TUNED / f"{data.name}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
