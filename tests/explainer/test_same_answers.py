"""The same bytes from a saved and loaded explainer as from the live one, and from `explain`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

import robx
from explainer_cases import explainer_of, saved, small, small_labels, small_table
from families import MORE, TREES, family, labels, people
from speed import slow_but

OTHERS = ["together", "xgboost-zero", "lightgbm-zero"]
#: Methods that are kept by their parameters.
METHODS = {
    "frugal": robx.Frugal(level=0.6, norm=2, max_changes=2),
    "robx": robx.RobX(),
    "robx over another base": robx.RobX(tau=0.6, base=robx.Conservative(tau=0.55)),
    "conservative": robx.Conservative(),
    "nearest": robx.NearestNeighbour(norm=2),
    "noise by name": robx.RobX(
        noise=robx.Noise(
            sigma={"income": 0.05, "age": 0.1, "rate": 0.2}, n_draws=100, draws="gaussian", rng=3
        )
    ),
    "live": robx.LiveRegion(),
    "tweaking": robx.FeatureTweaking(),
    "closest": robx.Closest(),
}


def in_bytes(answer: robx.Counterfactuals) -> str:
    assert answer.answered.any()
    return answer.to_json()


@pytest.mark.parametrize("name", slow_but(["xgboost", "lightgbm-zero"], [*TREES, *OTHERS], MORE))
def test_of_every_family(name: str, tmp_path: Path) -> None:
    live, people_ = explainer_of(name), family(name).applicants
    loaded = robx.Explainer.load(saved(live, tmp_path))
    assert in_bytes(loaded.explain(people_)) == in_bytes(live.explain(people_))


def test_one_line_is_the_same_as_the_long_way() -> None:
    case = family("xgboost")
    once = robx.explain(
        case.model,
        case.X,
        case.applicants,
        y_train=labels(case.X),
        n_models=6,
        keep=None,
        n_answers=2,
    )
    kept = explainer_of("xgboost").explain(case.applicants, n_answers=2)
    assert in_bytes(once) == in_bytes(kept)
    assert once.certificate is not None
    assert once.alternatives[0].certificate is not None


@pytest.mark.parametrize("name", METHODS)
def test_by_every_method_that_is_kept(name: str, tmp_path: Path) -> None:
    X = small_table()
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, small_labels(X))
    live = robx.Explainer(forest, X, schema=robx.Schema.infer(X), method=METHODS[name])
    loaded = robx.Explainer.load(saved(live, tmp_path))
    assert loaded.method == METHODS[name]
    people_ = small_table(80)
    assert in_bytes(loaded.explain(people_)) == in_bytes(live.explain(people_))


@pytest.mark.parametrize("n", [1, 3])
def test_by_the_closest_that_a_panel_accepts(n: int, tmp_path: Path) -> None:
    X = small_table()
    y, forest = small_labels(X), RandomForestClassifier(4, max_depth=3, random_state=0)
    panel = list(robx.retrainings(forest, X, y, n, seed=9))
    method = robx.Closest(panel=panel, at_least=max(n - 1, 1))
    live = robx.Explainer(
        clone(forest).fit(X, y), X, y, method=method, n_models=6, keep=None, progress=False
    )
    loaded = robx.Explainer.load(saved(live, tmp_path))
    assert f"{n} searching and 6 certifying models" in repr(loaded)
    assert loaded.method == method
    assert isinstance(loaded.method, robx.Closest)
    assert len(loaded.method.panel) == n
    answer = live.explain(small_table(80))
    assert answer.certificate is not None
    assert in_bytes(loaded.explain(small_table(80))) == in_bytes(answer)
    with pytest.raises(robx.InvalidInput, match="was used to choose"):
        robx.Explainer(
            forest.fit(X, y), X, y, method=method, n_models=6, keep=None, seed=9, progress=False
        )


def arrow(frame: pd.DataFrame) -> Any:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    at = table.column_names.index("place")
    return table.set_column(at, "place", table["place"].cast(pa.string()).dictionary_encode())


KINDS: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "pandas text": lambda frame: frame.astype({"place": "str"}),
    "pandas objects": lambda frame: frame.astype({"place": object}),
    "pandas arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda frame: pl.from_pandas(frame.astype({"place": "str"})),
    "polars categories": pl.from_pandas,
    "polars enum": lambda frame: pl.from_pandas(frame.astype({"place": "str"})).with_columns(
        pl.col("place").cast(pl.Enum(["abroad", "city", "town", "village"]))
    ),
    "arrow": arrow,
}


@pytest.mark.parametrize("name", slow_but(["pandas text", "polars enum", "arrow"], KINDS))
def test_of_every_kind_of_table(name: str, tmp_path: Path) -> None:
    case, make = family("xgboost"), KINDS[name]
    live = robx.Explainer(case.model, make(case.X), threshold=0.4)
    loaded = robx.Explainer.load(saved(live, tmp_path))
    assert loaded.problem.codec.layout == live.problem.codec.layout
    for kind in ("pandas", name):
        people_ = KINDS[kind](case.applicants)
        assert in_bytes(loaded.explain(people_)) == in_bytes(live.explain(people_))


def test_of_a_category_that_nobody_had_in_training(tmp_path: Path) -> None:
    live = explainer_of("xgboost")
    loaded = robx.Explainer.load(saved(live, tmp_path))
    people_ = family("xgboost").applicants.astype({"place": object})
    people_.loc[people_.index[:5], "place"] = ["moon", "mars", None, "moon", "city"]
    assert in_bytes(loaded.explain(people_)) == in_bytes(live.explain(people_))


def test_of_relations_effects_and_steps(tmp_path: Path) -> None:
    X = people(400, 3).astype({"owner": int})
    schema = robx.Schema.infer(X).override(
        {"age": {"change": "none"}, "debts": {"change": "decrease"}, "savings": {"within": 2}},
        relations=["debts <= savings + 3"],
        effects={"age": "+1 * savings"},
    )
    y = labels(X)
    forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(X, y)
    live = robx.Explainer(forest, X, y, schema=schema, n_models=6, keep=None, progress=False)
    loaded = robx.Explainer.load(saved(live, tmp_path))
    assert loaded.problem.schema == live.problem.schema
    people_ = people(50, 8).astype({"owner": int})
    assert in_bytes(loaded.explain(people_)) == in_bytes(live.explain(people_))


def test_of_models_that_the_caller_retrained(tmp_path: Path) -> None:
    X = small_table()
    y = small_labels(X)

    def fit(seed: int) -> Any:
        half = np.random.default_rng(seed).random(len(X)) < 0.7
        return RandomForestClassifier(4, max_depth=3, random_state=seed).fit(X[half], y[half])

    live = robx.Explainer(fit(0), X, models=[fit(k) for k in range(1, 10)])
    loaded = robx.Explainer.load(saved(live, tmp_path))
    assert len(loaded.method.models) == 3  # type: ignore[attr-defined]
    assert len(loaded.certifying) == 6
    people_ = small_table(80)
    assert in_bytes(loaded.explain(people_)) == in_bytes(live.explain(people_))


def test_the_same_explainer_gives_the_same_file(tmp_path: Path) -> None:
    first = saved(small(), tmp_path, "a.robx").read_bytes()
    again = saved(robx.Explainer.load(tmp_path / "a.robx"), tmp_path, "b.robx").read_bytes()
    assert first == again


def test_draws_in_a_file_are_its_own(tmp_path: Path) -> None:
    """Another version of scipy may draw otherwise; a file never changes what others draw."""
    from explainer_cases import edited
    from robx.robustness.draws import draw

    data = saved(small(), tmp_path).read_bytes()
    before = draw("sobol", 256, 3, 0).noise.copy()
    turned = edited(data, "warmth/draws.npy", lambda noise: -noise)
    (tmp_path / "turned.robx").write_bytes(turned)
    loaded = robx.Explainer.load(tmp_path / "turned.robx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = loaded.explain(small_table(80))
    assert (other.stability != small().explain(small_table(80)).stability).any()
    assert (draw("sobol", 256, 3, 0).noise == before).all()
    assert loaded.problem.view.draws(loaded.method.noise).noise.tobytes() == (-before).tobytes()


def test_names_are_not_taken_for_the_columns_of_an_array() -> None:
    X = np.random.default_rng(0).random((200, 2)).round(2)
    y = X[:, 0] > 0.5
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    explainer = robx.Explainer(forest, X, y, n_models=6, keep=None)
    by_order = explainer.explain([[0.2, 0.9]])
    by_name = explainer.explain({"0": 0.2, "1": 0.9})
    assert by_name.words(0) == by_order.words(0)
    for keys in ({"1": 0.9, "0": 0.2}, {"x": 0.2, "y": 0.9}):
        with pytest.raises(robx.InvalidInput, match=r"the keys '0', '1', in this order\. Got '"):
            explainer.explain(keys)
        with pytest.raises(robx.InvalidInput, match=r"the keys '0', '1', in this order\. Got '"):
            explainer.explain([keys] * 600)


def test_a_class_is_not_a_model_and_counts_have_an_end() -> None:
    X = np.random.default_rng(0).random((200, 2)).round(2)
    y = X[:, 0] > 0.5
    with pytest.raises(robx.InvalidInput, match="Got the class RandomForestClassifier itself"):
        robx.Explainer(RandomForestClassifier, X, y)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    for name in ("max_tests", "max_tries", "n_targets", "halvings", "max_changes"):
        counts: dict[str, Any] = {name: 10**20}
        with pytest.raises(robx.InvalidInput, match=f"'{name}' parameter .* to 2147483647"):
            robx.Explainer(forest, X, y, n_models=6, keep=None, **counts)
    whole = robx.Explainer(forest, X, y, n_models=6, keep=None, price_per_change=1).explain(X[:40])
    assert whole.to_json() == (
        robx.Explainer(forest, X, y, n_models=6, keep=None, price_per_change=1.0)
        .explain(X[:40])
        .to_json()
    ).replace('"price_per_change": 1.0', '"price_per_change": 1')


def test_lightgbm_takes_a_polars_frame_with_categories() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.random(300).round(2), "job": pd.Categorical(rng.choice(["x", "y", "z"], 300))}
    )
    y = np.where(frame["a"] + (frame["job"] == "x") > 0.8, "yes", "no")
    model = LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1).fit(frame, y)
    found = [
        robx.Explainer(model, table, y, target="yes", n_models=6, keep=None).explain(frame[:30])
        for table in (frame, pl.from_pandas(frame))
    ]
    assert found[0].ok.any()
    assert found[0].changes == found[1].changes
