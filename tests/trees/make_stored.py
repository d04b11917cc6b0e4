"""Write the models in `stored`, with the answers of the library that made them.

Run by hand, with the Python of an environment that holds the versions to add; it does not need
robx::

    some-environment/bin/python tests/trees/make_stored.py

For each library that can be imported there, each kind of model gives a file
``library-version-kind.ending`` (or two, with different endings), and one ending in `ROWS` with rows
and the library's own probabilities for them. Some of the rows stand at, or one step beside, a
threshold of the model, and some have missing values.
"""

from __future__ import annotations

import importlib
import json
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Split = tuple[int, float]

FOLDER = Path(__file__).parent / "stored"
ROWS = ".rows.json"
NAMES = ("income", "rooms", "debt", "region")
REGION = NAMES.index("region")
REGIONS = ("east", "north", "south", "west")


@dataclass(frozen=True)
class Recipe:
    """How one kind of model is made; the table has more in it only where that is said."""

    parameters: dict[str, Any]
    n_classes: int = 2
    holes: bool = False
    by_name: bool = False
    labels: tuple[str, ...] = ()


def main() -> None:
    """Store all kinds of models of all libraries that are installed."""
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore")
    for library, (recipes, fit, save) in LIBRARIES.items():
        try:
            module = importlib.import_module(library)
        except ImportError:
            continue
        for kind, recipe in recipes.items():
            stem = f"{library}-{module.__version__}-{kind}"
            table, y = data(recipe)
            model = fit(module, recipe, table, y)
            splits = save(model, stem)
            write_answers(model, recipe, hard_rows(table, splits, recipe), FOLDER / (stem + ROWS))


# --- rows ----------------------------------------------------------------------------------------


def data(recipe: Recipe, n: int = 160) -> tuple[Floats, NDArray[Any]]:
    """Few columns with short numbers, some of them zero; regions by number."""
    rng = np.random.default_rng(0)
    income, debt = np.round(rng.normal(size=(2, n)), 2)
    rooms, region = rng.integers(0, 5, n), rng.integers(0, len(REGIONS), n)
    debt[rng.random(n) < 0.2] = 0
    taste = income * (rooms - 2) + np.sin(3 * debt) + (region % 3 == 1) + rng.normal(size=n) / 2
    if recipe.by_name:  # worth a split of their own
        taste += np.where(region % 2 == 1, 2, -2)
    table = np.column_stack([income, rooms, debt, region]).astype(float)
    if recipe.holes:
        table[rng.random(table.shape) < 0.15] = np.nan
    y = np.digitize(taste, [-0.4, 0.8] if recipe.n_classes == 3 else [0.2])
    return table, np.array(recipe.labels)[y] if recipe.labels else y


def hard_rows(table: Floats, splits: list[Split], recipe: Recipe) -> Floats:
    """Plain rows, then rows with a value at or next to a threshold, zeros and missing values."""
    rows = list(table[:8])
    for k, (j, threshold) in enumerate([*dict.fromkeys(splits)][:7]):
        if recipe.by_name and j == REGION:
            continue
        narrow = np.float32(threshold)
        for value in (
            threshold,
            np.nextafter(threshold, (-np.inf, np.inf)[k % 2]),
            np.nextafter(narrow, np.float32(-np.inf)),
            np.nextafter(narrow, np.float32(np.inf)),
        ):
            rows.append(table[k].copy())
            rows[-1][j] = value
    for k, value in enumerate([0.0, -1e-36, 1e-30, np.nan, np.nan]):
        rows.append(table[k].copy())
        rows[-1][:REGION] = value
    if recipe.holes:
        rows.append(np.full(len(NAMES), np.nan))
    return np.array(rows)


def as_trained(table: Floats, recipe: Recipe) -> Any:
    """The table itself, or a frame in which the regions have their names."""
    if not recipe.by_name:
        return table
    frame = pd.DataFrame(table, columns=list(NAMES))
    codes = frame["region"].fillna(-1).astype(int)
    frame["region"] = pd.Categorical.from_codes(codes, categories=pd.Index(REGIONS))
    return frame


def write_answers(model: Any, recipe: Recipe, rows: Floats, path: Path) -> None:
    probability = model.predict_proba(as_trained(rows, recipe))
    answers = {
        "columns": NAMES if recipe.by_name else None,
        "regions": REGIONS if recipe.by_name else None,
        "classes": recipe.labels or list(range(recipe.n_classes)),
        "rows": [[None if np.isnan(value) else float(value) for value in row] for row in rows],
        # As few digits as tell a float32 from its neighbours, where it is one.
        "probability": [[float(str(p)) for p in row] for row in probability],
    }
    path.write_text(json.dumps(answers, separators=(",", ":")) + "\n")


# --- XGBoost -------------------------------------------------------------------------------------

XGBOOST = {
    "missing": Recipe({"tree_method": "hist"}, holes=True),
    "dart": Recipe(
        {"booster": "dart", "rate_drop": 0.5, "one_drop": True, "colsample_bytree": 0.5}
    ),
    "multi": Recipe({"n_estimators": 2}, n_classes=3),
    "stopped": Recipe({"n_estimators": 6, "learning_rate": 1.5, "early_stopping_rounds": 2}),
    "categories": Recipe(
        {"tree_method": "hist", "enable_categorical": True, "max_cat_to_onehot": 2},
        holes=True,
        by_name=True,
    ),
}


def fit_xgboost(xgboost: ModuleType, recipe: Recipe, table: Floats, y: Any) -> Any:
    settings: dict[str, Any] = {
        "n_estimators": 3,
        "max_depth": 2,
        "learning_rate": 0.6,
        "n_jobs": 1,
    }
    model = xgboost.XGBClassifier(**{**settings, **recipe.parameters})
    if "early_stopping_rounds" not in recipe.parameters:
        return model.fit(as_trained(table, recipe), y)
    model.fit(table[:80], y[:80], eval_set=[(table[80:], y[80:])], verbose=False)
    if model.best_iteration + 1 == model.get_booster().num_boosted_rounds():
        raise RuntimeError("XGBoost did not stop early: change the data.")
    return model


def save_xgboost(model: Any, stem: str) -> list[Split]:
    if stem.endswith(("dart", "categories")):
        model.save_model(FOLDER / f"{stem}.ubj")
    model.save_model(FOLDER / f"{stem}.json")
    booster = json.loads((FOLDER / f"{stem}.json").read_bytes())["learner"]["gradient_booster"]
    trees = booster.get("gbtree", booster)["model"]["trees"]
    return [
        (j, condition)
        for tree in trees
        for child, j, condition in zip(
            tree["left_children"], tree["split_indices"], tree["split_conditions"], strict=True
        )
        if child >= 0
    ]


# --- LightGBM ------------------------------------------------------------------------------------

LIGHTGBM = {
    "categories": Recipe(
        {"min_data_per_group": 2, "cat_smooth": 1, "max_cat_to_onehot": 2},
        holes=True,
        by_name=True,
    ),
    "dart": Recipe({"boosting_type": "dart", "drop_rate": 0.5, "skip_drop": 0.0}),
    "forest": Recipe({"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}),
    "multi": Recipe({"n_estimators": 2}, n_classes=3, holes=True),
    "zero": Recipe({"zero_as_missing": True}, holes=True),
}


def fit_lightgbm(lightgbm: ModuleType, recipe: Recipe, table: Floats, y: Any) -> Any:
    settings: dict[str, Any] = {
        "n_estimators": 3,
        "num_leaves": 5,
        "max_depth": 3,
        "min_child_samples": 5,
        "learning_rate": 0.4,
        "n_jobs": 1,
        "verbose": -1,
    }
    return lightgbm.LGBMClassifier(**{**settings, **recipe.parameters}).fit(
        as_trained(table, recipe), y
    )


def save_lightgbm(model: Any, stem: str) -> list[Split]:
    model.booster_.save_model(str(FOLDER / f"{stem}.txt"))
    text = (FOLDER / f"{stem}.txt").read_text()
    features = " ".join(re.findall("(?m)^split_feature=(.*)", text)).split()
    thresholds = " ".join(re.findall("(?m)^threshold=(.*)", text)).split()
    return [(int(j), float(t)) for j, t in zip(features, thresholds, strict=True)]


# --- CatBoost ------------------------------------------------------------------------------------

CATBOOST = {
    "symmetric": Recipe({}, holes=True),
    "lossguide": Recipe({"grow_policy": "Lossguide", "nan_mode": "Max"}, holes=True),
    "multi": Recipe(
        {"loss_function": "MultiClass", "iterations": 2},
        n_classes=3,
        labels=("a low one", "b middle", "c high"),
    ),
}


def fit_catboost(catboost: ModuleType, recipe: Recipe, table: Floats, y: Any) -> Any:
    settings: dict[str, Any] = {
        "iterations": 3,
        "depth": 2,
        "learning_rate": 0.4,
        "border_count": 8,
        "allow_writing_files": False,
        "verbose": False,
        "thread_count": 1,
    }
    model = catboost.CatBoostClassifier(**{**settings, **recipe.parameters}).fit(table, y)
    # Its version says enough: not who built CatBoost and where, nor which run this was.
    about = model.get_metadata()
    about["model_guid"] = about["train_finish_time"] = ""
    build = about["catboost_version_info"].splitlines()
    about["catboost_version_info"] = "\n".join(
        line for line in build if line.strip().startswith(("Branch:", "Summary:"))
    )
    return model


def save_catboost(model: Any, stem: str) -> list[Split]:
    if stem.endswith("lossguide"):
        model.save_model(str(FOLDER / f"{stem}.cbm"))
    path = FOLDER / f"{stem}.json"
    model.save_model(str(path), format="json")
    stored = json.loads(path.read_bytes())
    path.write_text(json.dumps(stored, separators=(",", ":")) + "\n")
    columns = stored["features_info"]["float_features"]
    return [(column["feature_index"], t) for column in columns for t in column["borders"]]


Fit = Callable[[ModuleType, Recipe, Floats, Any], Any]
LIBRARIES: dict[str, tuple[dict[str, Recipe], Fit, Callable[[Any, str], list[Split]]]] = {
    "xgboost": (XGBOOST, fit_xgboost, save_xgboost),
    "lightgbm": (LIGHTGBM, fit_lightgbm, save_lightgbm),
    "catboost": (CATBOOST, fit_catboost, save_catboost),
}

if __name__ == "__main__":
    main()
