"""What the files of XGBoost, LightGBM and CatBoost say about how their models were trained.

Settings are taken by name from a list: a file cannot ask for another one, such as the name of a
file to read or write.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from robx.errors import InvalidInput
from robx.kernels import trees as kernels
from robx.trees.importer import ParsedFile
from robx.trees.records import Record

#: A classifier's class, its settings, and where these are known from.
Told = tuple[Any, dict[str, Any], str]
STORED = "The model is trained again with the settings that '{name}' stores"

#: What scikit-learn's form of LightGBM calls some of its settings.
RENAMED = {
    "boosting": "boosting_type",
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "learning_rate": "learning_rate",
    "bin_construct_sample_cnt": "subsample_for_bin",
    "objective": "objective",
    "min_gain_to_split": "min_split_gain",
    "min_sum_hessian_in_leaf": "min_child_weight",
    "min_data_in_leaf": "min_child_samples",
    "bagging_fraction": "subsample",
    "bagging_freq": "subsample_freq",
    "feature_fraction": "colsample_bytree",
    "lambda_l1": "reg_alpha",
    "lambda_l2": "reg_lambda",
}
#: Settings that go by their own names.
KEPT = (
    *("cat_l2", "cat_smooth", "data_sample_strategy"),
    *("drop_rate", "feature_fraction_bynode", "max_bin"),
    *("max_cat_threshold", "max_cat_to_onehot", "max_delta_step"),
    *("max_drop", "min_data_in_bin", "min_data_per_group"),
    *("monotone_constraints", "monotone_constraints_method", "monotone_penalty"),
    *("neg_bagging_fraction", "num_grad_quant_bins", "other_rate"),
    *("path_smooth", "pos_bagging_fraction", "scale_pos_weight"),
    *("sigmoid", "skip_drop", "top_rate"),
)
#: Settings that are true or false, which files write as 1 and 0.
FLAGS = (
    *("boost_from_average", "deterministic", "enable_bundle"),
    *("extra_trees", "feature_pre_filter", "force_col_wise"),
    *("force_row_wise", "is_unbalance", "quant_train_renew_leaf"),
    *("stochastic_rounding", "uniform_drop", "use_missing"),
    *("use_quantized_grad", "xgboost_dart_mode", "zero_as_missing"),
)
#: What LightGBM starts from unless it is given a seed, from which it then makes these.
NO_SEED = {
    "seed": "0",
    "data_random_seed": "1",
    "feature_fraction_seed": "2",
    "bagging_seed": "3",
    "drop_seed": "4",
    "objective_seed": "5",
    "extra_seed": "6",
}
#: Of LightGBM, which takes more than its classifier lists.
ALSO_KNOWN = frozenset([*KEPT, *FLAGS])

#: Settings of CatBoost that decide how a model comes out.
CATBOOST = (
    *("approx_on_full_history", "auto_class_weights", "bagging_temperature"),
    *("boost_from_average", "boosting_type", "bootstrap_type"),
    *("border_count", "class_names", "class_weights"),
    *("combinations_ctr", "counter_calc_method", "ctr_leaf_count_limit"),
    *("ctr_target_border_count", "max_ctr_complexity", "one_hot_max_size"),
    *("per_feature_ctr", "simple_ctr", "store_all_simple_ctr"),
    *("depth", "diffusion_temperature", "feature_border_type"),
    *("feature_weights", "fold_len_multiplier", "grow_policy"),
    *("has_time", "l2_leaf_reg", "langevin"),
    *("leaf_estimation_backtracking", "leaf_estimation_iterations", "leaf_estimation_method"),
    *("learning_rate", "loss_function", "max_leaves"),
    *("min_data_in_leaf", "model_shrink_mode", "model_shrink_rate"),
    *("model_size_reg", "monotone_constraints", "mvs_reg"),
    *("nan_mode", "penalties_coefficient", "posterior_sampling"),
    *("random_seed", "random_strength", "rsm"),
    *("sampling_frequency", "scale_pos_weight", "score_function"),
    *("subsample",),
)


def lightgbm_recipe(file: ParsedFile) -> Told:
    """Read the block of parameters that LightGBM writes into its files."""
    maker = _class_of("lightgbm", "LGBMClassifier")
    header, trees, rest = file.contents
    block = dict(re.findall(r"^\[(\w+): (.*)\]$", rest, flags=re.MULTILINE))
    if "learning_rate" not in block:
        raise InvalidInput(
            f"'{file.path.name}' does not say how the model was trained. Pass the classifier as "
            "estimator."
        )
    settings = {name: _plain(block[old]) for old, name in RENAMED.items() if block.get(old)}
    settings |= {name: _plain(block[name]) for name in KEPT if block.get(name)}
    settings |= {name: block[name] == "1" for name in FLAGS if block.get(name)}
    settings["n_estimators"] = len(trees) // header.integer("num_tree_per_iteration", low=1)
    if any(block.get(name, value) != value for name, value in NO_SEED.items()):
        settings["random_state"] = _plain(block["seed"])
    return maker, {**settings, "verbosity": -1}, STORED.format(name=file.path.name)


def catboost_recipe(file: ParsedFile) -> Told:
    """Read the parameters that CatBoost keeps in its files, as they were set."""
    maker = _class_of("catboost", "CatBoostClassifier")
    root: Record = file.contents
    params = root.record("model_info").record("params")
    flat = params.record("flat_params").fields
    settings = {name: flat[name] for name in CATBOOST if name in flat}
    boosting = params.record("boosting_options")
    n_trees = len(root.sequence("oblivious_trees" if "oblivious_trees" in root else "trees"))
    if n_trees != boosting.integer("iterations"):  # it was stopped: the rate went with all of them
        settings["learning_rate"] = boosting.number("learning_rate")
    settings["iterations"] = n_trees
    settings |= {"verbose": False, "allow_writing_files": False}
    features = root.record("features_info")
    if features.fields.get("categorical_features"):
        categories = features.records("categorical_features")
        settings["cat_features"] = [one.integer("flat_feature_index") for one in categories]
    return maker, settings, STORED.format(name=file.path.name)


def xgboost_recipe(file: ParsedFile) -> Told:
    """Read from the trees what XGBoost does not write down."""
    maker = _class_of("xgboost", "XGBClassifier")
    learner: Record = file.contents.record("learner")
    ensemble = file.any_ensemble()
    booster, objective = learner.record("gradient_booster"), learner.record("objective")
    model = (booster if "model" in booster else booster.record("gbtree")).record("model")
    parallel = model.record("gbtree_model_param").integer("num_parallel_tree", low=0) or 1
    rounds = max(ensemble.n_trees // (len(ensemble.base) * parallel), 1)
    depth = max(int(kernels.depths(ensemble.node_split >= 0).max()), 1)
    settings: dict[str, Any] = {
        "n_estimators": rounds,
        "max_depth": depth,
        "objective": objective.text("name"),
    }
    if parallel > 1:
        settings["num_parallel_tree"] = parallel
    if any(column.is_category for column in ensemble.columns):
        settings["enable_categorical"] = True
    loss = objective.record("reg_loss_param") if "reg_loss_param" in objective else None
    if loss is not None and "scale_pos_weight" in loss and loss.number("scale_pos_weight") != 1:
        settings["scale_pos_weight"] = loss.number("scale_pos_weight")
    words = (
        f"XGBoost's files do not say how a model was trained: {rounds} rounds, depth {depth} and "
        f"the objective {settings['objective']} are taken from the trees in '{file.path.name}'. "
        "Everything else, such as the learning rate, is XGBoost's default unless you give it"
    )
    return maker, settings, words


def _class_of(library: str, name: str) -> Any:
    try:
        return getattr(import_module(library), name)
    except ImportError as error:
        raise InvalidInput(
            f"Training the model again needs {library}. Run `pip install {library}`."
        ) from error


def _plain(text: str) -> Any:
    """Turn a setting into the number, the list of numbers or the word that it is."""
    if "," in text:
        return [_plain(part) for part in text.split(",")]
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            continue
    return text
