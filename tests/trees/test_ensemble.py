from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import robx
from oracles import toy_data, with_missing
from robx.tables import Column
from robx.trees import TreeEnsemble
from speed import examples

X, Y = toy_data(160, 4)
HOLES = with_missing(X)
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
CLASSES = np.digitize(X[:, 0], [-0.5, 0.5])
CODED = np.column_stack([np.arange(160) % 5, X[:, 1:]])


def imported(model: Any, target: Any = None) -> TreeEnsemble:
    ensemble = robx.import_model(model, target)
    assert isinstance(ensemble, TreeEnsemble)
    return ensemble


def boosted(table: Any = FRAME, y: Any = Y, target: Any = None) -> TreeEnsemble:
    model = xgb.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1)
    return imported(model.fit(table, y), target)


PLAIN = boosted()
SOFTMAX = boosted(X, CLASSES, 2)
FOREST = imported(RandomForestClassifier(7, random_state=0).fit(HOLES, Y), 0)
LIGHT = imported(lgb.LGBMClassifier(n_estimators=5, verbose=-1).fit(X, CLASSES), 1)
CATEGORIES = imported(
    HistGradientBoostingClassifier(max_iter=5, categorical_features=[0], min_samples_leaf=5).fit(
        CODED, Y
    )
)
ENSEMBLES = {
    "xgboost": PLAIN,
    "softmax in float32": SOFTMAX,
    "softmax in float64": LIGHT,
    "forest": FOREST,
    "categories": CATEGORIES,
}
every_ensemble = pytest.mark.parametrize("ensemble", ENSEMBLES.values(), ids=ENSEMBLES.keys())


def table_of(ensemble: TreeEnsemble) -> Any:
    return CODED if ensemble is CATEGORIES else X


# --- frozen ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [field.name for field in fields(TreeEnsemble)])
def test_no_field_can_be_assigned(name: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(PLAIN, name, getattr(PLAIN, name))
    with pytest.raises(FrozenInstanceError):
        delattr(PLAIN, name)


@every_ensemble
def test_no_array_can_be_written_to(ensemble: TreeEnsemble) -> None:
    assert len(ensemble.arrays()) == 10
    for array in ensemble.arrays().values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize("name", ["node_right", "first_split"])
def test_what_is_worked_out_from_the_arrays_cannot_be_written_to_either(name: str) -> None:
    assert not getattr(PLAIN, name).flags.writeable


# --- identity -------------------------------------------------------------------------------------


@every_ensemble
def test_a_copy_is_equal_and_scores_alike(ensemble: TreeEnsemble) -> None:
    table = table_of(ensemble)
    scores = ensemble.score(table).tolist()
    robx.stability(ensemble, table[:2], scale=np.ones(4))  # what is cached is not part of a copy
    for twin in (
        pickle.loads(pickle.dumps(ensemble)),
        copy.copy(ensemble),
        copy.deepcopy(ensemble),
    ):
        assert twin == ensemble
        assert hash(twin) == hash(ensemble)
        assert repr(twin) == repr(ensemble)
        assert twin.columns == ensemble.columns
        assert twin.score(table).tolist() == scores
        assert not any(array.flags.writeable for array in twin.arrays().values())


def test_a_pickle_holds_no_more_than_the_fields() -> None:
    before = len(pickle.dumps(boosted()))
    robx.stability(PLAIN, FRAME[:2], scale=np.ones(4))
    assert len(pickle.dumps(PLAIN)) == before


def test_a_damaged_pickle_is_refused() -> None:
    state = PLAIN.__getstate__()
    with pytest.raises(robx.InvalidModel, match="contradict each other"):
        TreeEnsemble.__new__(TreeEnsemble).__setstate__({**state, "target_index": 3})


def test_the_same_model_trained_again_is_equal() -> None:
    again = boosted()
    assert again == PLAIN
    assert again is not PLAIN
    assert {again, PLAIN} == {PLAIN}
    assert len(set(ENSEMBLES.values())) == len(ENSEMBLES)
    assert PLAIN != SOFTMAX
    assert PLAIN != "a string"


def nudged(array: Any) -> Any:
    """A copy whose last value is the next one that there is."""
    out = array.copy()
    if out.dtype.kind == "b":
        out[-1] = not out[-1]
    else:
        out[-1] = np.nextafter(out[-1], out.dtype.type(np.inf))
    return out


CHANGES: dict[str, Any] = {
    "leaf value": lambda e: {"leaf_value": nudged(e.leaf_value)},
    "base": lambda e: {"base": nudged(e.base)},
    "threshold": lambda e: {"split_threshold": nudged(e.split_threshold)},
    "side of missing": lambda e: {"split_missing_left": nudged(e.split_missing_left)},
    "target": lambda e: {"target": 0},
    "type of target": lambda e: {"target": True},
    "link": lambda e: {"link": "one_minus_sigmoid"},
    "slope": lambda e: {"slope": 1.5},
    "divisor": lambda e: {"divisor": 2.0},
    "names that count": lambda e: {"named": not e.named},
    "column name": lambda e: {"columns": (replace(e.columns[0], name="z"), *e.columns[1:])},
    "column limit": lambda e: {"columns": (replace(e.columns[0], largest=1.0), *e.columns[1:])},
    "column order": lambda e: {"columns": e.columns[::-1]},
    "precision": lambda e: {"leaf_value": e.leaf_value.astype("f8"), "base": e.base.astype("f8")},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_digest_changes_with_everything_that_counts(change: Any) -> None:
    other = replace(PLAIN, **change(PLAIN))
    assert other.digest != PLAIN.digest
    assert other != PLAIN
    assert replace(PLAIN) == PLAIN


def test_where_a_model_came_from_is_no_part_of_the_digest() -> None:
    assert replace(PLAIN, source="elsewhere") == PLAIN


def test_a_category_is_part_of_the_digest() -> None:
    first, *others = CATEGORIES.columns
    assert first.categories is not None
    renamed = replace(first, categories=(9.0, *first.categories[1:]))
    assert replace(CATEGORIES, columns=(renamed, *others)).digest != CATEGORIES.digest
    bits = CATEGORIES.category_bits.copy()
    bits[0, 0] ^= 1
    assert replace(CATEGORIES, category_bits=bits).digest != CATEGORIES.digest


def test_the_representation_says_what_it_is() -> None:
    assert repr(PLAIN) == (
        f"<TreeEnsemble XGBoost {xgb.__version__} XGBClassifier: 5 trees, {PLAIN.n_leaves} leaves, "
        f"4 columns, score = P(1), {PLAIN.digest[:12]}>"
    )


def test_trees_leaves_and_names_are_counted() -> None:
    model = RandomForestClassifier(7, random_state=0).fit(HOLES, Y)
    assert FOREST.n_trees == 7
    assert FOREST.n_leaves == sum(tree.get_n_leaves() for tree in model.estimators_)
    assert SOFTMAX.n_trees == 15
    assert PLAIN.names == ("a", "b", "c", "d")
    assert PLAIN.stack_size == 3 * 3 + 1


# --- scoring --------------------------------------------------------------------------------------


@every_ensemble
def test_a_matrix_that_was_read_scores_as_the_table(ensemble: TreeEnsemble) -> None:
    table = table_of(ensemble)
    matrix = ensemble.read(table)
    assert matrix.shape == (160, 4)
    scores = ensemble.score_matrix(matrix)
    assert scores.dtype == np.float64
    assert scores.tolist() == ensemble.score(table).tolist()
    assert len(set(scores.tolist())) > 2


@every_ensemble
@examples(20)
@given(cuts=st.lists(st.integers(0, 160), max_size=12), seed=st.integers(0, 99))
def test_scores_do_not_depend_on_the_batch(
    ensemble: TreeEnsemble, cuts: list[int], seed: int
) -> None:
    table = table_of(ensemble)[np.random.default_rng(seed).permutation(160)]
    whole = ensemble.score(table)
    split = [ensemble.score(part) for part in np.split(table, sorted(cuts))]
    assert np.concatenate(split).tobytes() == whole.tobytes()
    assert ensemble.score(table[:1]).tobytes() == whole[:1].tobytes()


@every_ensemble
def test_scores_are_probabilities_even_far_out(ensemble: TreeEnsemble) -> None:
    far = np.where(np.arange(4) % 2, 1e30, -1e30) * np.ones((3, 1))
    far[:, 0] = 0
    scores = ensemble.score(far)
    assert ((scores >= 0) & (scores <= 1)).all()
    assert ensemble.score(far[:0]).shape == (0,)


@pytest.mark.parametrize("link", ["sigmoid", "one_minus_sigmoid", "softmax"])
@pytest.mark.parametrize("size", [1e4, -1e4, 1e30])
def test_large_margins_end_at_zero_and_one_without_a_warning(link: Any, size: float) -> None:
    source = SOFTMAX if link == "softmax" else PLAIN
    values = np.full_like(source.leaf_value, size)
    ensemble = replace(source, leaf_value=values, link=link)
    scores = ensemble.score(X)
    if link == "softmax":
        assert ((scores > 0) & (scores < 1)).all()
    else:
        assert scores.tolist() == [float((size > 0) == (link == "sigmoid"))] * 160


# --- soundness ------------------------------------------------------------------------------------


def put(name: str, place: Any, value: Any) -> Any:
    """The ensemble with one value of an array changed."""

    def change(e: TreeEnsemble) -> dict[str, Any]:
        array = getattr(e, name).copy()
        array[place] = value
        return {name: array}

    return change


def retyped(name: str, dtype: Any) -> Any:
    return lambda e: {name: getattr(e, name).astype(dtype)}


def no_trees(e: TreeEnsemble) -> dict[str, Any]:
    return {
        "tree_start": np.zeros(1, dtype=np.int64),
        **{name: getattr(e, name)[:0] for name in ("tree_class", "node_split", "leaf_value")},
    }


def coded(**traits: Any) -> Any:
    return lambda e: {"columns": (replace(e.columns[0], **traits), *e.columns[1:])}


BROKEN: dict[str, tuple[Any, str]] = {
    "base of another type": (retyped("base", "f8"), r"base and leaf_value differ in type"),
    "features as int64": (retyped("split_feature", "i8"), r"split_feature is int64\(\d+,\), not"),
    "narrow thresholds": (retyped("split_threshold", "f4"), r"split_threshold is float32"),
    "sides as numbers": (retyped("split_missing_left", "i1"), r"split_missing_left is int8"),
    "category rows as int64": (retyped("split_category", "i8"), r"split_category is int64"),
    "signed bits": (retyped("category_bits", "i8"), r"category_bits is int64"),
    "starts as int32": (retyped("tree_start", "i4"), r"tree_start is int32"),
    "classes as int64": (retyped("tree_class", "i8"), r"tree_class is int64"),
    "nodes as int64": (retyped("node_split", "i8"), r"node_split is int64"),
    "leaves as table": (
        lambda e: {"leaf_value": e.leaf_value[:, None]},
        r"leaf_value is float32\(",
    ),
    "one threshold less": (
        lambda e: {"split_threshold": e.split_threshold[:-1]},
        r"split_threshold is float64\(\d+,\), not float64\(\d+,\)",
    ),
    "one start less": (
        lambda e: {"tree_start": e.tree_start[:-1]},
        r"tree_start has 5 entries for 5",
    ),
    "whole numbers as leaves": (
        lambda e: {"leaf_value": e.leaf_value.astype("i4"), "base": e.base.astype("i4")},
        r"base is int32\(1,\), not float32\(1,\)",
    ),
    "flat bits": (
        lambda e: {"category_bits": e.category_bits[0]},
        r"or category_bits is not a matrix",
    ),
    "unknown link": (lambda e: {"link": "probit"}, r"the link, slope or divisor is unknown"),
    "no slope": (lambda e: {"slope": np.nan}, r"the link, slope or divisor is unknown"),
    "infinite divisor": (lambda e: {"divisor": np.inf}, r"the link, slope or divisor is unknown"),
    "no divisor": (lambda e: {"divisor": 0.0}, r"the link, slope or divisor is unknown"),
    "two margins": (
        lambda e: {"base": np.zeros(2, dtype=np.float32)},
        r"a sigmoid link with 2 margins",
    ),
    "no margin": (
        lambda e: {"base": np.zeros(0, dtype=np.float32), "link": "softmax"},
        r"a softmax link with 0 margins",
    ),
    "target past the end": (lambda e: {"target_index": 1}, r"target index 1 of 1"),
    "target before the start": (lambda e: {"target_index": -1}, r"target index -1 of 1"),
    "infinite leaf": (put("leaf_value", 0, np.inf), r"a leaf value is not finite"),
    "leaf that is no number": (put("leaf_value", -1, np.nan), r"a leaf value is not finite"),
    "base that is no number": (put("base", 0, np.nan), r"a leaf value is not finite"),
    "column past the end": (put("split_feature", -1, 4), r"a split names a column out of range"),
    "column before the start": (put("split_feature", 0, -1), r"a split names a column out of"),
    "no columns": (lambda e: {"columns": ()}, r"a split names a column out of range"),
    "threshold": (put("split_threshold", 0, np.nan), r"a threshold is not a number"),
    "set past the end": (put("split_category", 0, 1), r"a set of categories out of range"),
    "set before the start": (put("split_category", 0, -2), r"a set of categories out of range"),
    "too many codes": (coded(n_codes=64), r"a set of categories is too short for its column"),
    "negative codes": (coded(n_codes=-1), r"a set of categories is too short for its column"),
    "bits without words": (
        lambda e: {"category_bits": np.zeros((1, 0), dtype=np.uint64)},
        r"a set of categories is too short for its column",
    ),
    "number by categories": (put("split_category", 0, 0), r"a number is split by categories, or"),
    "category by threshold": (coded(n_codes=3), r"or a category by a threshold"),
    "splits out of order": (
        lambda e: {"split_feature": e.split_feature[::-1].copy()},
        r"the splits are not sorted by column",
    ),
    "split past the end": (put("node_split", 0, 10**6), r"a node names a split or a leaf out of"),
    "leaf past the end": (put("node_split", 0, -(10**6)), r"a node names a split or a leaf out of"),
    "class past the end": (put("tree_class", 0, 1), r"a tree adds to a class out of range"),
    "class before the start": (put("tree_class", 0, -1), r"a tree adds to a class out of range"),
    "late start": (put("tree_start", 0, 1), r"the trees do not follow one another"),
    "early end": (put("tree_start", -1, 1), r"the trees do not follow one another"),
    "empty tree": (
        lambda e: {"tree_start": e.tree_start[[0, 1, 1, 3, 4, 5]]},
        r"the trees do not follow one another",
    ),
    "leaf for a root": (put("node_split", 0, -1), r"a tree is not closed"),
    "split for the last leaf": (put("node_split", -1, 0), r"a tree is not closed"),
    "shifted start": (put("tree_start", 1, 2), r"a tree is not closed"),
    "no trees": (no_trees, r"there are no trees"),
    "a name twice": (coded(name="b"), r"two columns have the same name"),
    "categories of a number": (coded(categories=("x",)), r"a column of numbers has categories"),
    "values of a number": (coded(by_value=True), r"a column of numbers has categories"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_arrays_that_contradict_each_other_are_refused(change: Any, message: str) -> None:
    with pytest.raises(
        robx.InvalidModel, match=r"^The model's arrays contradict each other: .*" + message
    ):
        replace(PLAIN, **change(PLAIN))


def test_columns_know_whether_they_are_categories() -> None:
    assert [column.is_category for column in CATEGORIES.columns] == [True, False, False, False]
    assert not Column("a").is_category
