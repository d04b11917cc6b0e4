"""Fitted models whose parameters are not those they were trained with, and those whose are."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import robx
from robx.cli.wording import in_options
from robx.modelfiles import ModelFile, estimator_of, refuse_lost_parameters
from robx.retrained import retrainings
from speed import slow_but

XGB = xgboost.XGBClassifier
LGBM = lightgbm.LGBMClassifier
CAT = catboost.CatBoostClassifier
QUIET: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
TRUE: dict[str, Any] = {"n_estimators": 30, "max_depth": 2, "learning_rate": 0.03}


@cache
def data(n_classes: int = 2, n: int = 300) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 4)).round(2)
    worth = X[:, 0] + 0.4 * X[:, 1] + 0.3 * rng.random(n)
    cuts = np.quantile(worth, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.digitize(worth, cuts)


def loaded_xgboost(folder: Path, *, into: Any = None, **settings: Any) -> Any:
    XGB(n_jobs=1, **settings).fit(*data()).save_model(folder / "m.ubj")
    model = XGB() if into is None else into
    model.load_model(folder / "m.ubj")
    return model


def loaded_lightgbm(folder: Path, *, into: Any = None, **settings: Any) -> Any:
    """Put a booster from a file into a classifier, as people do."""
    source = LGBM(verbosity=-1, n_jobs=1, **settings).fit(*data())
    source.booster_.save_model(folder / "m.txt")
    model = LGBM() if into is None else into
    for name in ("_n_features", "_n_features_in", "_classes", "_n_classes", "_le"):
        setattr(model, name, getattr(source, name))
    model._Booster = lightgbm.Booster(model_file=folder / "m.txt")
    model.fitted_ = True
    return model


def loaded_catboost(folder: Path, **settings: Any) -> Any:
    CAT(**QUIET, **settings).fit(*data()).save_model(str(folder / "m.cbm"))
    return CAT().load_model(str(folder / "m.cbm"))


def added_catboost(folder: Path) -> Any:
    """Two models as one, which does not say how either was trained."""
    one = CAT(iterations=3, **QUIET).fit(*data())
    catboost.sum_models([one, one]).save_model(str(folder / "m.cbm"))
    return CAT().load_model(str(folder / "m.cbm"))


# --- what is refused ------------------------------------------------------------------------------


def test_a_loaded_xgboost_would_be_trained_as_another_model_and_is_refused(tmp_path: Path) -> None:
    model, (X, y) = loaded_xgboost(tmp_path, **TRUE), data()
    (wrong,) = retrainings(model, X, y, n_models=1)
    assert wrong.get_booster().num_boosted_rounds() == 100  # where the model has 30
    message = (
        "The XGBClassifier cannot be trained again as it was: it shows 30 rounds of trees "
        "of up to depth 2, loaded from a file, but its parameters say nothing of n_estimators, "
        "max_depth and learning_rate. Pass the classifier with its true parameters as 'estimator'."
    )
    with pytest.raises(robx.InvalidInput) as refused:
        robx.explain(model, X, X[:3], y_train=y, n_models=6, keep=None)
    assert str(refused.value) == message
    with pytest.raises(robx.InvalidInput) as refused:
        robx.Explainer(model, X, y, n_models=6, keep=None)
    assert str(refused.value) == message
    explainer = robx.Explainer(model, X, y, estimator=XGB(**TRUE), n_models=6, keep=None)
    assert len(explainer.certifying) == 4
    answer = robx.explain(model, X, X[:3], y_train=y, estimator=XGB(**TRUE), n_models=6, keep=None)
    assert answer.certificate is not None
    assert robx.explain(model, X, X[:3]).certificate is None  # trains nothing


def test_the_command_asks_for_the_parameters(tmp_path: Path) -> None:
    """A pickle of a classifier that was loaded; what --params gives is not compared."""
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps(loaded_xgboost(tmp_path, **TRUE)))
    file = ModelFile(path, unsafe_pickle=True)
    with pytest.raises(robx.InvalidInput) as refused:
        file.recipe()
    assert in_options(str(refused.value)).endswith("Give the true parameters with --params.")
    recipe = file.recipe({"n_estimators": 30, "max_depth": 2, "eta": 0.03})
    assert recipe.estimator.get_params()["learning_rate"] == 0.03


def set_after_fit(make: Callable[[], Any], **changes: Any) -> Callable[[Path], Any]:
    return lambda _: make().fit(*data()).set_params(**changes)


WRONG: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    # What XGBoost's defaults would train looks the same but for one thing.
    "xgboost, only the depth lost": (
        lambda folder: loaded_xgboost(folder, n_estimators=100, max_depth=2),
        "trees of up to depth 2, loaded",
        "nothing of n_estimators",
    ),
    "xgboost, only the learning rate": (
        lambda folder: loaded_xgboost(folder, **TRUE, into=XGB(n_estimators=30, max_depth=2)),
        "a learning rate of 0.03",
        "learning_rate=0.3",
    ),
    "xgboost, too deep": (
        lambda folder: loaded_xgboost(folder, into=XGB(max_depth=2, n_estimators=100)),
        "trees of depth 6",
        "max_depth=2",
    ),
    "xgboost, depth set": (
        set_after_fit(lambda: XGB(n_estimators=5, max_depth=3), max_depth=2),
        "trees of depth 3",
        "max_depth=2",
    ),
    "xgboost, continued": (
        lambda _: XGB(n_estimators=5).fit(
            *data(), xgb_model=XGB(n_estimators=7).fit(*data()).get_booster()
        ),
        "12 rounds",
        "n_estimators=5",
    ),
    "xgboost, trained by itself": (
        lambda _: _around(xgboost.train({"eta": 0.1}, xgboost.DMatrix(*data()), 7)),
        "learning rate of 0.1",
        "learning_rate=0.3",
    ),
    "xgboost, set": (
        set_after_fit(lambda: XGB(n_estimators=5), learning_rate=0.1),
        "learning rate of 0.3",
        "learning_rate=0.1",
    ),
    "lightgbm": (
        lambda folder: loaded_lightgbm(folder, n_estimators=30, num_leaves=4, learning_rate=0.03),
        "num_leaves=4",
        "num_leaves=31",
    ),
    "lightgbm, set": (
        set_after_fit(lambda: LGBM(n_estimators=5, verbosity=-1, n_jobs=1), n_estimators=9),
        "n_estimators=5",
        "n_estimators=9",
    ),
    "lightgbm, continued": (
        lambda _: LGBM(n_estimators=5, verbosity=-1, n_jobs=1).fit(
            *data(), init_model=LGBM(n_estimators=7, verbosity=-1, n_jobs=1).fit(*data())
        ),
        "12 rounds",
        "n_estimators=5",
    ),
    "catboost, added": (added_catboost, "6 trees that do not say how", "nothing of iterations"),
    "catboost, continued": (
        lambda _: CAT(iterations=5, **QUIET).fit(
            *data(), init_model=CAT(iterations=7, **QUIET).fit(*data())
        ),
        "12 trees",
        "iterations=5",
    ),
    "catboost, shrunk": (lambda _: _shrunk(), "4 trees", "iterations=9"),
    "forest": (
        set_after_fit(lambda: RandomForestClassifier(5, max_depth=3), max_depth=None),
        "max_depth=3",
        "max_depth=None",
    ),
    "forest, more trees": (
        set_after_fit(lambda: ExtraTreesClassifier(5), n_estimators=50),
        "5 trees",
        "n_estimators=50",
    ),
    "gradient boosting": (
        set_after_fit(lambda: GradientBoostingClassifier(n_estimators=5), min_samples_leaf=9),
        "min_samples_leaf=1",
        "min_samples_leaf=9",
    ),
    "gradient boosting, rounds": (
        set_after_fit(lambda: GradientBoostingClassifier(n_estimators=5), n_estimators=3),
        "5 trees",
        "n_estimators=3",
    ),
    "histogram boosting": (
        set_after_fit(lambda: HistGradientBoostingClassifier(max_iter=5), max_iter=100),
        "5 rounds",
        "max_iter=100",
    ),
    "histogram boosting, leaves": (
        set_after_fit(lambda: HistGradientBoostingClassifier(max_iter=5), max_leaf_nodes=3),
        "leaves",
        "max_leaf_nodes=3",
    ),
    "tree": (
        set_after_fit(DecisionTreeClassifier, max_depth=1),
        "trees of depth",
        "max_depth=1",
    ),
    "bagging": (
        set_after_fit(
            lambda: BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3),
            estimator__max_depth=4,
        ),
        "max_depth=2",
        "max_depth=4",
    ),
    "pipeline": (
        set_after_fit(
            lambda: make_pipeline(StandardScaler(), RandomForestClassifier(5)),
            randomforestclassifier__n_estimators=7,
        ),
        "5 trees",
        "n_estimators=7",
    ),
}


def _around(booster: Any) -> Any:
    model = XGB(n_estimators=7)
    model._Booster = booster
    return model


def _shrunk() -> Any:
    model = CAT(iterations=9, **QUIET).fit(*data())
    model.shrink(4)
    return model


@pytest.mark.parametrize("name", WRONG)
def test_what_the_model_shows_and_what_its_parameters_say_is_named(
    name: str, tmp_path: Path
) -> None:
    make, shown, said = WRONG[name]
    model = make(tmp_path)
    with pytest.raises(robx.InvalidInput) as refused:
        refuse_lost_parameters(model)
    first, _, second = str(refused.value).partition("but its parameters say")
    assert shown in first
    assert said in second
    with pytest.raises(robx.InvalidInput, match="cannot be trained again as it was"):
        estimator_of(model)


# --- what is not ----------------------------------------------------------------------------------


def falling(k: int) -> float:
    return float(0.3 * 0.9**k)


EARLY: Any = {"eval_set": [(data()[0][200:], data()[1][200:])]}
HONEST: dict[str, list[Any]] = {
    "xgboost": [
        *({}, {"max_depth": 0, "max_leaves": 5, "grow_policy": "lossguide"}, {"max_depth": 1}),
        *({"booster": "gbtree"}, {"base_score": 0.5, "booster": "gbtree"}, {"eta": 0.1}),
        *({"booster": "dart", "rate_drop": 0.3, "learning_rate": 0.07}, {"num_parallel_tree": 3}),
        *({"tree_method": "exact"}, {"tree_method": "approx", "max_depth": 2}, {"max_leaves": 4}),
        *({"subsample": 0.5, "colsample_bytree": 0.5, "min_child_weight": 3}, {"gamma": 2}),
        *({"reg_lambda": 20, "reg_alpha": 1, "scale_pos_weight": 5}, {"max_delta_step": 1}),
        *({"objective": "binary:logitraw"}, {"monotone_constraints": (1, 0, 0, 0)}),
        *({"n_estimators": 7, "learning_rate": 1e-3}, {"min_child_weight": 1e6}, {"gamma": 1e9}),
        {"callbacks": [xgboost.callback.LearningRateScheduler(falling)]},
        *({"n_estimators": 1, "max_depth": 1}, {"n_estimators": 1, "max_depth": 1, "eta": 0.05}),
    ],
    "lightgbm": [
        *({}, {"max_depth": -1, "num_leaves": 4}, {"max_depth": 2}, {"num_iterations": 7}),
        *({"boosting_type": "dart"}, {"boosting": "gbrt"}, {"class_weight": "balanced"}),
        {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
        *({"min_child_samples": 500}, {"min_data_in_leaf": 3}, {"eta": 0.2}, {"reg_alpha": 1}),
        *({"data_sample_strategy": "goss"}, {"scale_pos_weight": 3.0}, {"n_estimators": 500}),
    ],
    "catboost": [
        *({}, {"depth": 2}, {"n_estimators": 7, "max_depth": 3, "eta": 0.1}, {"l2_leaf_reg": 1}),
        *({"grow_policy": "Lossguide", "max_leaves": 5}, {"grow_policy": "Depthwise"}),
        *({"auto_class_weights": "Balanced"}, {"loss_function": "CrossEntropy"}),
        {"boosting_type": "Ordered", "subsample": 0.5, "bootstrap_type": "Bernoulli"},
    ],
}
MAKERS: dict[str, Callable[..., Any]] = {
    "xgboost": lambda **k: XGB(**{"n_estimators": 5, "n_jobs": 1, **k}),
    "lightgbm": lambda **k: LGBM(
        **({} if "num_iterations" in k else {"n_estimators": 5})
        | {"verbosity": -1, "n_jobs": 1, **k}
    ),
    "catboost": lambda **k: CAT(**({} if "n_estimators" in k else {"iterations": 5}) | QUIET | k),
}
LOADERS = {"xgboost": loaded_xgboost, "lightgbm": loaded_lightgbm, "catboost": loaded_catboost}


def through_pickle(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", HONEST)
def test_boosted_models_of_all_usual_settings_pass(library: str) -> None:
    for settings in HONEST[library]:
        model = MAKERS[library](**settings).fit(*data())
        refuse_lost_parameters(model)
        refuse_lost_parameters(through_pickle(model))
        if "scale_pos_weight" not in settings and "objective" not in settings:
            several = {**settings, "loss_function": "MultiClass"}
            wanted = several if "loss_function" in settings else settings
            if "monotone_constraints" not in settings:
                refuse_lost_parameters(MAKERS[library](**wanted).fit(*data(3)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_loaded_models_pass_with_their_true_parameters(library: str, tmp_path: Path) -> None:
    for settings in HONEST[library]:
        if "callbacks" not in settings:
            true = MAKERS[library](**settings)
            known = {n: v for n, v in true.get_params().items() if v is not None}
            into = type(true)(**known)
            refuse_lost_parameters(LOADERS[library](tmp_path, into=into, **_without_jobs(known)))


def _without_jobs(known: dict[str, Any]) -> dict[str, Any]:
    return {n: v for n, v in known.items() if n not in {"n_jobs", "verbosity"}}


def test_catboost_brings_its_parameters_back(tmp_path: Path) -> None:
    model = loaded_catboost(tmp_path, iterations=7, depth=3, learning_rate=0.2)
    refuse_lost_parameters(model)
    again = estimator_of(model).estimator.fit(*data())
    assert np.array_equal(again.predict_proba(data()[0]), model.predict_proba(data()[0]))


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_models_that_stopped_early_pass(tmp_path: Path) -> None:
    X, y = data()[0][:200], data()[1][:200]
    stopped = XGB(n_estimators=300, learning_rate=1.0, early_stopping_rounds=3)
    stopped.fit(X, y, **EARLY, verbose=False)
    assert stopped.get_booster().num_boosted_rounds() < 300
    by_call = XGB(
        n_estimators=300,
        learning_rate=1.0,
        callbacks=[xgboost.callback.EarlyStopping(rounds=3, save_best=True)],
    ).fit(X, y, **EARLY, verbose=False)
    light = LGBM(n_estimators=300, learning_rate=0.9, verbosity=-1).fit(
        X, y, **EARLY, callbacks=[lightgbm.early_stopping(3, verbose=False)]
    )
    assert light.booster_.current_iteration() < 300
    cat = CAT(iterations=300, learning_rate=0.9, early_stopping_rounds=3, **QUIET)
    cat.fit(X, y, eval_set=EARLY["eval_set"][0])
    best = CAT(iterations=60, learning_rate=0.9, use_best_model=True, **QUIET)
    best.fit(X, y, eval_set=EARLY["eval_set"][0])
    assert max(cat.tree_count_, best.tree_count_) < 60
    boosting = GradientBoostingClassifier(n_estimators=300, n_iter_no_change=2).fit(X, y)
    histograms = HistGradientBoostingClassifier(
        max_iter=300, early_stopping=True, n_iter_no_change=2
    ).fit(X, y)
    for model in (stopped, by_call, light, cat, best, boosting, histograms):
        refuse_lost_parameters(model)
        refuse_lost_parameters(through_pickle(model))
    stopped.save_model(tmp_path / "m.json")
    again = XGB(n_estimators=300, learning_rate=1.0)
    again.load_model(tmp_path / "m.json")
    refuse_lost_parameters(again)


def warm(model: Any, name: str) -> Any:
    """A model that was grown in two steps."""
    model.set_params(warm_start=True, **{name: 3}).fit(*data())
    return model.set_params(**{name: 6}).fit(*data())


SKLEARN: dict[str, Any] = {
    "forests": [
        RandomForestClassifier(5),
        RandomForestClassifier(5, max_depth=2, class_weight="balanced", max_features=None),
        ExtraTreesClassifier(5, max_leaf_nodes=4, bootstrap=True, max_samples=0.5),
        RandomForestClassifier(5, min_samples_leaf=0.1, criterion="entropy", ccp_alpha=0.01),
        DecisionTreeClassifier(max_depth=2, min_samples_leaf=5),
        DecisionTreeClassifier(max_leaf_nodes=4, splitter="random"),
    ],
    "boosting": [
        GradientBoostingClassifier(n_estimators=5),
        GradientBoostingClassifier(n_estimators=5, max_depth=None, max_leaf_nodes=4, subsample=0.5),
        GradientBoostingClassifier(n_estimators=5, loss="exponential", max_features="sqrt"),
        HistGradientBoostingClassifier(max_iter=5),
        HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=None, max_depth=3),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=500),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=30),
    ],
    "around others": [
        BaggingClassifier(n_estimators=3),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=0.5),
        make_pipeline(StandardScaler(), XGB(n_estimators=4, max_depth=2)),
        CalibratedClassifierCV(XGB(n_estimators=4, max_depth=2), cv=2),
        CalibratedClassifierCV(RandomForestClassifier(4, max_depth=2), ensemble=False, cv=2),
        VotingClassifier([("a", RandomForestClassifier(3)), ("b", "drop"), ("c", XGB())]),
        StackingClassifier([("a", RandomForestClassifier(3)), ("b", DecisionTreeClassifier())]),
        GridSearchCV(RandomForestClassifier(3), {"max_depth": [1, 2]}, cv=2),
        GridSearchCV(XGB(n_estimators=4), {"max_depth": [1, 2]}, cv=2),
        LogisticRegression(),
    ],
}


@pytest.mark.parametrize("kind", slow_but(["forests"], list(SKLEARN)))
def test_models_of_scikit_learn_pass(kind: str) -> None:
    for estimator in SKLEARN[kind]:
        model = clone(estimator).fit(*data())
        for one in (model, getattr(model, "best_estimator_", model), through_pickle(model)):
            refuse_lost_parameters(one)
        if getattr(estimator, "loss", "") != "exponential":
            refuse_lost_parameters(clone(estimator).fit(*data(3)))


def test_models_that_were_grown_in_steps_pass() -> None:
    for model, name in (
        (RandomForestClassifier(), "n_estimators"),
        (GradientBoostingClassifier(), "n_estimators"),
        (HistGradientBoostingClassifier(), "max_iter"),
    ):
        refuse_lost_parameters(warm(model, name))


def test_what_is_not_fitted_or_not_known_passes() -> None:
    for model in (XGB(), LGBM(), CAT(), RandomForestClassifier(), LogisticRegression(), "model"):
        refuse_lost_parameters(model)


def test_weights_of_rows_pass() -> None:
    X, y = data()
    weights = np.random.default_rng(1).random(len(y))
    for model in (
        XGB(n_estimators=5),
        LGBM(n_estimators=5, verbosity=-1, n_jobs=1),
        CAT(iterations=5, **QUIET),
    ):
        refuse_lost_parameters(model.fit(X, y, sample_weight=weights))
