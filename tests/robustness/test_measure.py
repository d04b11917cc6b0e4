from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import naive
import robx
from oracles import toy_data, with_missing
from robx.robustness.draws import draw
from speed import examples

Floats = NDArray[np.float64]


def unit_data(n: int = 300, d: int = 4, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    X, y = toy_data(n, d, seed)
    return (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)), y


X, Y = unit_data()
MODELS: dict[str, Any] = {
    "boosted": xgb.XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1).fit(X, Y),
    "stumps": xgb.XGBClassifier(n_estimators=20, max_depth=1, n_jobs=1).fit(X, Y),
    "single leaves": xgb.XGBClassifier(n_estimators=2, min_child_weight=1e6, n_jobs=1).fit(X, Y),
    "forest": RandomForestClassifier(15, random_state=0).fit(X, Y),
    "extra trees": ExtraTreesClassifier(10, max_depth=4, random_state=0).fit(X, Y),
    "gradient boosting": GradientBoostingClassifier(n_estimators=15).fit(X, Y),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=10).fit(X, Y),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_draws", [2, 63, 64, 65, 200, 256, 300, 512, 513, 1000, 1025])
@pytest.mark.parametrize("kind", ["sobol", "gaussian"])
def test_equals_the_definition_draw_for_draw(name: str, n_draws: int, kind: Any) -> None:
    model = robx.import_model(MODELS[name])
    result = robx.stability(model, X[:5], n_draws=n_draws, draws=kind, rng=7)
    noise = draw(kind, n_draws, X.shape[1], 7).noise
    for i in range(5):
        mean, std = naive.stability(
            lambda rows: MODELS[name].predict_proba(rows)[:, 1], X[i], np.full(4, 0.1), noise
        )
        assert result.mean[i] == pytest.approx(mean, abs=2e-6)
        assert result.std[i] == pytest.approx(std, abs=2e-6)
        assert result.value[i] == pytest.approx(mean - std, abs=4e-6)


@pytest.mark.parametrize("target", [0, 1, 2])
def test_several_classes_equal_the_definition(target: int) -> None:
    y = np.digitize(X[:, 0], [0.4, 0.6])
    model = xgb.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X, y)
    result = robx.stability(robx.import_model(model, target), X[:5], n_draws=100)
    noise = draw("sobol", 100, 4, 0).noise
    for i in range(5):
        mean, std = naive.stability(
            lambda rows: model.predict_proba(rows)[:, target], X[i], np.full(4, 0.1), noise
        )
        assert (result.mean[i], result.std[i]) == pytest.approx((mean, std), abs=2e-6)


def test_the_less_wanted_class_of_two_equals_the_definition() -> None:
    model = MODELS["boosted"]
    wanted = robx.stability(robx.import_model(model, 1), X[:20])
    other = robx.stability(robx.import_model(model, 0), X[:20])
    np.testing.assert_allclose(other.mean, 1 - wanted.mean, atol=1e-6)
    np.testing.assert_allclose(other.std, wanted.std, atol=1e-6)


@pytest.mark.parametrize("name", ["boosted", "forest", "histogram boosting"])
def test_a_black_box_gives_the_same_as_the_imported_model(name: str) -> None:
    fast = robx.stability(robx.import_model(MODELS[name]), X[:30], n_draws=256)
    slow = robx.stability(robx.BlackBox(MODELS[name]), X[:30], n_draws=256)
    np.testing.assert_allclose(fast.mean, slow.mean, atol=2e-6)
    np.testing.assert_allclose(fast.std, slow.std, atol=2e-6)
    np.testing.assert_allclose(fast.error, slow.error, atol=2e-6)


def test_missing_values_stay_missing() -> None:
    table = with_missing(X, 0.3)
    model = xgb.XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1).fit(table, Y)
    fast = robx.stability(robx.import_model(model), table[:40], n_draws=128)
    slow = robx.stability(robx.BlackBox(model), table[:40], n_draws=128)
    np.testing.assert_allclose(fast.value, slow.value, atol=4e-6)
    nothing_known = robx.stability(robx.import_model(model), np.full((1, 4), np.nan))
    assert nothing_known.std[0] == 0
    assert nothing_known.mean[0] == pytest.approx(
        model.predict_proba(np.full((1, 4), np.nan))[0, 1]
    )


def test_infinite_values_stay_infinite() -> None:
    model = MODELS["histogram boosting"]
    rows = X[:10].copy()
    rows[::2, 0], rows[1::2, 1] = np.inf, -np.inf
    fast = robx.stability(robx.import_model(model), rows, n_draws=64)
    noise = draw("sobol", 64, 4, 0).noise
    for i, row in enumerate(rows):
        mean, std = naive.stability(
            lambda copies: model.predict_proba(copies)[:, 1], row, np.full(4, 0.1), noise
        )
        assert (fast.mean[i], fast.std[i]) == pytest.approx((mean, std), abs=2e-6)


def test_categories_are_not_perturbed() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"kind": pd.Categorical(rng.choice(list("abc"), 300)), "x": rng.random(300)}
    )
    y = (frame["kind"] == "b") ^ (frame["x"] > 0.5)
    model = xgb.XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1, enable_categorical=True)
    model.fit(frame, y)
    ensemble = robx.import_model(model)
    result = robx.stability(ensemble, frame[:20], n_draws=256)
    noise = draw("sobol", 256, 2, 0).noise
    for i in range(20):
        copies = frame.iloc[[i] * 256].reset_index(drop=True)
        scores = model.predict_proba(copies.assign(x=copies["x"] + 0.1 * noise[:, 1]))[:, 1]
        assert result.mean[i] == pytest.approx(scores.mean(), abs=2e-6)
        assert result.std[i] == pytest.approx(scores.std(), abs=2e-6)
    box = robx.stability(robx.BlackBox(model), frame[:20], n_draws=256)
    np.testing.assert_allclose(box.value, result.value, atol=4e-6)


def test_sigma_by_column_and_scale_by_table_array_or_name() -> None:
    raw = X * [10.0, 200.0, 3.0, 1.0] + [5.0, -7.0, 0.0, 2.0]
    frame = pd.DataFrame(raw, columns=list("abcd"))
    model = robx.import_model(
        xgb.XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1).fit(frame, Y)
    )
    sigma = np.array([0.1, 0.05, 0.0, 0.2])
    expected = robx.stability(model, frame[:9], sigma=sigma, scale=frame).value
    span = raw.max(axis=0) - raw.min(axis=0)
    variants: list[Any] = [span, dict(zip("abcd", span, strict=True)), pl.from_pandas(frame)]
    for scale in variants:
        assert robx.stability(model, frame[:9], sigma=sigma, scale=scale).value == pytest.approx(
            expected
        )
    named = dict(zip("abcd", sigma, strict=True))
    assert robx.stability(model, frame[:9], sigma=named, scale=frame).value == pytest.approx(
        expected
    )
    noise = draw("sobol", 1024, 4, 0).noise
    mean, std = naive.stability(model.score, raw[3], sigma * span, noise)
    assert expected[3] == pytest.approx(mean - std, abs=4e-6)


def test_no_noise_is_the_score_itself() -> None:
    result = robx.stability(MODELS["boosted"], X[:50], sigma=0)
    np.testing.assert_allclose(
        result.mean, MODELS["boosted"].predict_proba(X[:50])[:, 1], atol=2e-6
    )
    assert (result.std == 0).all()
    assert (result.error == 0).all()


def test_same_bytes_for_any_batch_and_thread_count() -> None:
    rows = np.tile(X, (9, 1))
    model = robx.import_model(MODELS["boosted"])
    whole = robx.stability(model, rows, n_threads=1)
    for threads in (2, 3):
        again = robx.stability(model, rows, n_threads=threads)
        assert again.value.tobytes() == whole.value.tobytes()
        assert again.error.tobytes() == whole.error.tobytes()
    parts = [robx.stability(model, part).value for part in np.array_split(rows, 7)]
    assert np.concatenate(parts).tobytes() == whole.value.tobytes()
    one = robx.stability(model, rows[5:6]).value
    assert one.tobytes() == whole.value[5:6].tobytes()
    tested = robx.is_stable(model, rows, 0.6, n_threads=1)
    assert np.array_equal(tested, robx.is_stable(model, rows, 0.6, n_threads=2))


def test_a_seed_decides_the_draws() -> None:
    model = robx.import_model(MODELS["boosted"])
    for kind in ("sobol", "gaussian"):
        first = robx.stability(model, X, draws=kind, rng=1).value
        again = robx.stability(model, X, draws=kind, rng=1).value
        other = robx.stability(model, X, draws=kind, rng=2).value
        assert first.tobytes() == again.tobytes()
        assert first.tobytes() != other.tobytes()
    generator = np.random.default_rng(5)
    one, two = (robx.stability(model, X, rng=generator).value for _ in range(2))
    assert one.tobytes() != two.tobytes()


@pytest.mark.parametrize("kind", ["sobol", "gaussian"])
def test_the_standard_error_tells_how_far_other_draws_are(kind: Any) -> None:
    model = robx.import_model(MODELS["boosted"])
    runs = [robx.stability(model, X, n_draws=256, draws=kind, rng=seed) for seed in range(40)]
    seen = np.std([run.value for run in runs], axis=0, ddof=1)
    stated = np.sqrt(np.mean([run.error**2 for run in runs], axis=0))
    spread_out = seen > 1e-4
    ratio = np.sqrt((stated[spread_out] ** 2).mean() / (seen[spread_out] ** 2).mean())
    low, high = (0.9, 1.1) if kind == "gaussian" else (0.9, 2.5)
    assert low < ratio < high


def test_sobol_draws_are_better_than_independent_ones() -> None:
    model = robx.import_model(MODELS["boosted"])
    truth = np.mean(
        [robx.stability(model, X, n_draws=8192, rng=s).value for s in range(99, 107)], 0
    )

    def rmse(kind: Any, n_draws: int) -> float:
        runs = [
            robx.stability(model, X, n_draws=n_draws, draws=kind, rng=s).value for s in range(9)
        ]
        return float(np.sqrt(((np.array(runs) - truth) ** 2).mean()))

    assert rmse("sobol", 256) < rmse("gaussian", 1000)
    assert rmse("sobol", 1024) < rmse("gaussian", 1000) / 2


@pytest.mark.parametrize("name", ["boosted", "stumps", "forest", "single tree"])
@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.97])
def test_the_test_agrees_with_the_full_measurement(name: str, quantile: float) -> None:
    rows, _ = unit_data(3000, 4, seed=9)
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    model = robx.import_model(MODELS[name] if name in MODELS else tree.fit(X, Y))
    value = robx.stability(model, rows).value
    tau = float(np.quantile(value[model.score(rows) > 0.5], quantile))
    assert (robx.is_stable(model, rows, tau) != (value >= tau)).mean() <= 0.002


def test_the_test_takes_fewer_draws_than_a_stage() -> None:
    value = robx.stability(MODELS["boosted"], X, n_draws=50).value
    assert np.array_equal(robx.is_stable(MODELS["boosted"], X, 0.5, n_draws=50), value >= 0.5)


def test_a_pipeline_of_unscaled_columns_with_a_table_as_scale() -> None:
    raw = pd.DataFrame(X * 1000, columns=list("abcd")).astype({"b": "int64"})
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(raw, Y)
    result = robx.stability(pipeline, raw[:8], scale=raw, n_draws=256)
    span = (raw.max() - raw.min()).to_numpy(dtype=float)
    noise = draw("sobol", 256, 4, 0).noise
    for i in range(8):
        copies = raw.iloc[i].to_numpy(dtype=float) + 0.1 * span * noise
        scores = pipeline.predict_proba(pd.DataFrame(copies, columns=list("abcd")))[:, 1]
        assert result.value[i] == pytest.approx(scores.mean() - scores.std(), abs=1e-9)


def test_an_empty_batch_is_an_empty_answer() -> None:
    for model in (robx.import_model(MODELS["boosted"]), robx.BlackBox(MODELS["boosted"])):
        assert len(robx.stability(model, X[:0])) == 0
        assert robx.is_stable(model, X[:0], 0.5).shape == (0,)


def test_the_caller_s_table_is_left_alone() -> None:
    rows = with_missing(X)
    before = rows.tobytes()
    robx.stability(MODELS["boosted"], rows)
    robx.stability(robx.BlackBox(MODELS["boosted"]), rows, n_draws=16)
    assert rows.tobytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sigma": -1.0}, "'sigma' parameter must be finite and not negative"),
        ({"sigma": [0.1, 0.2]}, "'sigma' parameter must be a number, 4 numbers"),
        ({"sigma": {"f0": 1.0}}, "'sigma' parameter must name each column once"),
        ({"n_draws": 1}, "'n_draws' parameter must be an integer from 2"),
        ({"n_draws": 2.5}, "'n_draws' parameter must be an integer from 2"),
        ({"n_draws": 10**9}, "'n_draws' parameter is too large"),
        ({"draws": "uniform"}, "'draws' parameter must be one of 'sobol', 'gaussian'"),
        ({"rng": -3}, "'rng' parameter must be a seed"),
        ({"n_threads": 0}, "'n_threads' parameter must be an integer from 1"),
        ({"scale": "wide"}, "'scale' parameter must be a number"),
        ({"scale": np.full((3, 4), np.nan)}, "'scale' table has no value in column 'f0'"),
    ],
)
def test_a_bad_parameter_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.stability(MODELS["boosted"], X[:3], **arguments)


@pytest.mark.parametrize("tau", [float("nan"), float("inf"), "high", None])
def test_a_bad_tau_is_named(tau: Any) -> None:
    with pytest.raises(robx.InvalidInput, match="'tau' parameter of is_stable must be a finite"):
        robx.is_stable(MODELS["boosted"], X[:3], tau)


def test_raw_units_without_a_scale_are_refused() -> None:
    model = xgb.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(X * 1000, Y)
    with pytest.raises(robx.InvalidInput, match="not trained on columns scaled to .0, 1."):
        robx.stability(model, X[:3] * 1000)
    with pytest.raises(robx.InvalidInput, match="is not scaled to .0, 1."):
        robx.stability(robx.BlackBox(model), X[:3] * 1000)


@examples(30)
@given(
    seed=st.integers(0, 2**16),
    depth=st.integers(1, 8),
    rounds=st.integers(1, 15),
    n_draws=st.integers(2, 600),
    sigma=st.floats(0, 2),
    holes=st.booleans(),
)
def test_any_model_equals_the_definition(
    seed: int, depth: int, rounds: int, n_draws: int, sigma: float, holes: bool
) -> None:
    table, y = unit_data(80, 3, seed)
    rows = with_missing(table, 0.2, seed) if holes else table
    model = xgb.XGBClassifier(n_estimators=rounds, max_depth=depth, n_jobs=1).fit(rows, y)
    result = robx.stability(model, rows[:3], sigma=sigma, n_draws=n_draws, rng=seed)
    noise = draw("sobol", n_draws, 3, seed).noise
    for i in range(3):
        mean, std = naive.stability(
            lambda copies: model.predict_proba(copies)[:, 1], rows[i], np.full(3, sigma), noise
        )
        assert (result.mean[i], result.std[i]) == pytest.approx((mean, std), abs=3e-6)


def test_a_series_of_units_is_taken_by_name() -> None:
    frame = pd.DataFrame(X * [1, 9, 3, 5], columns=list("abcd"))
    model = robx.import_model(
        xgb.XGBClassifier(n_estimators=9, max_depth=3, n_jobs=1).fit(frame, Y)
    )
    expected = robx.stability(model, frame[:9], scale=frame).value
    units = (frame.max() - frame.min())[["d", "b", "a", "c"]]
    assert robx.stability(model, frame[:9], scale=units).value == pytest.approx(expected)


def test_a_model_that_is_not_imported_yet_is_checked_on_the_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = xgb.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, Y)
    monkeypatch.setattr(model, "predict_proba", lambda rows: np.full((len(rows), 2), 0.5))
    with pytest.raises(robx.ImportMismatch, match="row 0 of X"):
        robx.stability(model, X[:5])


def test_a_black_box_takes_frames_whose_columns_are_numbered() -> None:
    frame = pd.DataFrame(X)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, Y)
    by_frame = robx.stability(pipeline, frame[:5], n_draws=64)
    function = robx.BlackBox(lambda rows: pipeline.predict_proba(pd.DataFrame(rows)))
    by_array = robx.stability(function, X[:5], n_draws=64)
    assert by_frame.value.tolist() == by_array.value.tolist()


def test_a_black_box_is_asked_from_one_thread_unless_told_otherwise() -> None:
    seen = set()

    def model(rows: Floats) -> Floats:
        seen.add(threading.get_ident())
        return np.clip(rows[:, :1], 0, 1)  # one column, as neural nets give it

    robx.stability(model, np.tile(X, (3, 1)), n_draws=8)
    assert seen == {threading.get_ident()}


def test_few_draws_admit_their_error() -> None:
    for n_draws in (2, 3, 5):
        error = robx.stability(MODELS["boosted"], X, n_draws=n_draws).error
        assert np.median(error) > 0.01


@pytest.mark.parametrize(("sigma", "scale"), [(1e200, 1e200), (1e308, 1e10)])
def test_noise_without_bound_is_refused(sigma: float, scale: float) -> None:
    with pytest.raises(robx.InvalidInput, match="sigma times scale must be finite"):
        robx.stability(MODELS["boosted"], X[:2], sigma=sigma, scale=np.full(4, scale))


def test_noise_too_small_to_count_moves_nothing() -> None:
    result = robx.stability(MODELS["boosted"], X[:9], sigma=1e-310)
    assert (result.std == 0).all()


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "black box"])
def test_a_long_table_is_measured_part_by_part_with_the_same_bytes(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    source = xgb.XGBClassifier(n_estimators=9, max_depth=3, n_jobs=1).fit(frame, Y)
    model = robx.BlackBox(source) if kind == "black box" else robx.import_model(source)
    table = {"array": X, "polars": pl.from_pandas(frame)}.get(kind, frame)
    whole = robx.stability(model, table, n_draws=64)
    tested = robx.is_stable(model, table, 0.5, n_draws=64)
    monkeypatch.setattr("robx.robustness.measure.PART", 77)
    apart = robx.stability(model, table, n_draws=64)
    assert apart.value.tobytes() == whole.value.tobytes()
    assert apart.error.tobytes() == whole.error.tobytes()
    assert np.array_equal(robx.is_stable(model, table, 0.5, n_draws=64), tested)


def test_a_bad_row_far_down_has_a_reason_and_the_others_their_stability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = robx.import_model(MODELS["boosted"])
    whole = robx.stability(model, X, n_draws=64)
    monkeypatch.setattr("robx.robustness.measure.PART", 50)
    rows = X.copy()
    rows[-1, 2] = 1e300
    found = robx.stability(model, rows, n_draws=64)
    assert found.value[:-1].tobytes() == whole.value[:-1].tobytes()
    assert np.isnan([found.mean[-1], found.std[-1], found.error[-1]]).all()
    assert found.reason == ("",) * (len(X) - 1) + ("f2 is larger than the model takes",)
    assert whole.reason == ()
    passed = robx.is_stable(model, rows, -1.0, n_draws=64)
    assert passed.tolist() == [True] * (len(X) - 1) + [False]
