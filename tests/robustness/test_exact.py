from __future__ import annotations

import numpy as np
import pytest
import xgboost as xgb
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import robx
from oracles import toy_data, with_missing

RAW, Y = toy_data(300, 4)
X = (RAW - RAW.min(axis=0)) / (RAW.max(axis=0) - RAW.min(axis=0))


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(12, max_depth=6, random_state=0),
        ExtraTreesClassifier(8, max_depth=5, random_state=0),
    ],
    ids=["tree", "forest", "extra trees"],
)
@pytest.mark.parametrize("holes", [False, True], ids=["full", "with holes"])
def test_draws_come_close_to_the_exact_answer(model: object, holes: bool) -> None:
    table = with_missing(X, 0.1) if holes else X
    model.fit(table, Y)  # type: ignore[attr-defined]
    exact = robx.stability(model, table[:25], draws="exact")
    drawn = robx.stability(model, table[:25], n_draws=2**15)
    np.testing.assert_allclose(drawn.mean, exact.mean, atol=1.5e-3)
    np.testing.assert_allclose(drawn.std, exact.std, atol=1.5e-3)
    np.testing.assert_allclose(robx.mean_margin(model, table[:25]), exact.mean, atol=1e-12)


def test_draws_come_close_to_the_exact_margin_of_a_boosted_model() -> None:
    model = xgb.XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1).fit(X, Y)
    noise = np.random.default_rng(0).standard_normal((200_000, 4))
    for target, sign in ((1, 1), (0, -1)):
        exact = robx.mean_margin(robx.import_model(model, target), X[:3], sigma=0.2)
        for i in range(3):
            margin = model.predict(X[i] + 0.2 * noise, output_margin=True)
            assert exact[i] * sign == pytest.approx(
                margin.mean(), abs=6 * float(margin.std()) / 447
            )


def test_no_noise_gives_the_score_itself() -> None:
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    exact = robx.stability(forest, X[:20], draws="exact", sigma=0)
    np.testing.assert_allclose(exact.mean, forest.predict_proba(X[:20])[:, 1])
    assert (exact.std == 0).all()


def test_a_sum_behind_a_sigmoid_has_no_closed_form() -> None:
    model = xgb.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, Y)
    with pytest.raises(robx.UnsupportedModel, match="no closed form"):
        robx.stability(model, X[:2], draws="exact")
    with pytest.raises(robx.UnsupportedModel, match="no closed form"):
        robx.mean_margin(lambda rows: rows[:, 0], X[:2])


def test_more_pairs_of_leaves_than_can_be_done_are_refused() -> None:
    forest = RandomForestClassifier(100, random_state=0).fit(X, Y)
    with pytest.raises(robx.InvalidInput, match="pairs of leaves"):
        robx.stability(forest, np.tile(X, (100, 1)), draws="exact")
    with pytest.raises(robx.InvalidInput, match="no meaning with draws='exact'"):
        robx.stability(forest, X[:1], draws="exact", n_draws=10)
