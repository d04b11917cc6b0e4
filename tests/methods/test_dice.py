"""RobX over counterfactuals that DiCE made, as DiCE hands them out."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBClassifier

import robx

dice_ml = pytest.importorskip(
    "dice_ml", reason="DiCE is installed by `make test`, without its dependencies"
)

X, Y, _ = robx.datasets.load_german()
ORDER = np.random.default_rng(0).permutation(len(X))
TRAIN, OTHERS = X.iloc[ORDER[:500]], X.iloc[ORDER[500:]]
NAMES = list(X.columns)
MODEL = XGBClassifier(n_estimators=60, max_depth=4, learning_rate=0.1, n_jobs=1, random_state=0)
MODEL.fit(TRAIN, Y.iloc[ORDER[:500]])
PEOPLE = OTHERS[MODEL.predict_proba(OTHERS)[:, 1] <= 0.5][:10]
SCHEMA = robx.Schema.infer(TRAIN).override(
    housing={"change": "none"}, savings={"change": "increase"}
)
# Every test in full, so that stability >= tau holds to the last bit.
FULL: dict[str, Any] = {"tau": 0.75, "noise": robx.Noise(staged=False)}


def problem() -> robx.Problem:
    return robx.Problem(MODEL, TRAIN, SCHEMA)


@cache
def dice(method: str, total: int = 1, vary: tuple[str, ...] = ()) -> list[pd.DataFrame | None]:
    """What DiCE shows for each of the people: a frame with the outcome as its last column."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the state that DiCE draws from
    seed = {"random_seed": 0} if method == "random" else {}
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")  # pandas 3 warns DiCE of pandas 4
        data = dice_ml.Data(
            dataframe=TRAIN.assign(good=Y.iloc[ORDER[:500]]),
            continuous_features=NAMES,
            outcome_name="good",
        )
        explainer = dice_ml.Dice(data, dice_ml.Model(model=MODEL, backend="sklearn"), method=method)
        found = explainer.generate_counterfactuals(
            PEOPLE,
            total_CFs=total,
            desired_class=1,
            features_to_vary=list(vary) or "all",
            **seed,
        )
    return [example.final_cfs_df_sparse for example in found.cf_examples_list]


def joined(method: str, **options: Any) -> pd.DataFrame:
    return pd.concat([frame for frame in dice(method, **options) if frame is not None])[NAMES]


METHODS = pytest.mark.parametrize("method", ["random", "genetic"])


@METHODS
def test_answers_over_dice_keep_every_promise(method: str) -> None:
    theirs = joined(method)
    answer = robx.RobX(base=theirs, **FULL).explain(problem(), PEOPLE)
    assert answer.ok.all()
    assert (MODEL.predict_proba(answer.points)[:, 1] > 0.5).all()
    assert (answer.points.dtypes == PEOPLE.dtypes).all()
    assert answer.points.index.equals(PEOPLE.index)
    assert (answer.points["housing"] == PEOPLE["housing"]).all()
    assert (answer.points["savings"] >= PEOPLE["savings"]).all()
    assert not any(problem().schema.violations(answer.points, PEOPLE))
    assert (answer.stability >= FULL["tau"]).all()


def test_dice_knows_neither_the_schema_nor_stability() -> None:
    # Without this the promises above would cost nothing.
    broken = []
    for method in ("random", "genetic"):
        theirs = joined(method).set_axis(PEOPLE.index)
        assert (MODEL.predict_proba(theirs)[:, 1] > 0.5).all()
        assert (robx.stability(MODEL, theirs, scale=TRAIN).value < FULL["tau"]).any()
        broken += problem().schema.violations(theirs, PEOPLE)
    assert any(broken)


@METHODS
def test_the_base_is_what_dice_gave_brought_onto_the_schema(method: str) -> None:
    theirs = joined(method).set_axis(PEOPLE.index)
    answer = robx.RobX(base=theirs, **FULL).explain(problem(), PEOPLE)
    assert answer.base is not None
    assert answer.base.method == "Given"
    allowed = theirs.assign(
        housing=PEOPLE["housing"], savings=np.maximum(theirs["savings"], PEOPLE["savings"])
    )
    accepted = MODEL.predict_proba(allowed)[:, 1] > 0.5
    assert accepted.any()
    np.testing.assert_array_equal(answer.base.ok, accepted)
    pd.testing.assert_frame_equal(answer.base.points[accepted], allowed[accepted])
    pd.testing.assert_frame_equal(answer.base.points[~accepted], PEOPLE[~accepted])
    said = "the counterfactual that was given is not accepted"
    ways = {said, f"{said} once it keeps the schema"}
    assert set(np.array(answer.base.reason)[~accepted]) <= ways
    # A base that is stable is the answer.
    stable = accepted & (answer.base.stability >= FULL["tau"])
    pd.testing.assert_frame_equal(answer.points[stable], allowed[stable])


def test_columns_may_stand_in_another_order_and_hold_floats() -> None:
    theirs = joined("genetic")
    answer = robx.RobX(base=theirs, **FULL).explain(problem(), PEOPLE)
    for other in (theirs[NAMES[::-1]], theirs.astype(float), theirs.to_numpy()):
        again = robx.RobX(base=other, **FULL).explain(problem(), PEOPLE)
        pd.testing.assert_frame_equal(again.points, answer.points)


def test_people_for_whom_dice_found_nothing_are_answered_from_where_they_are() -> None:
    found = dice("random", vary=("employment",))
    nothing = np.array([frame is None for frame in found])
    assert nothing.any()
    assert not nothing.all()
    rows = [[None] * len(NAMES) if f is None else f[NAMES].iloc[0].tolist() for f in found]
    theirs = pd.DataFrame(rows, columns=NAMES, index=PEOPLE.index)
    answer = robx.RobX(base=theirs, **FULL).explain(problem(), PEOPLE)
    assert answer.ok.all()
    assert answer.base is not None
    assert [reason == "no counterfactual was given" for reason in answer.base.reason] == [*nothing]
    assert set(answer.base.status[nothing]) == {robx.Status.NOT_FOUND}
    alone = robx.RobX(base=None, **FULL).explain(problem(), PEOPLE[nothing])
    pd.testing.assert_frame_equal(answer.points[nothing], alone.points)


def test_several_counterfactuals_a_person_are_refused() -> None:
    theirs = joined("random", total=2)
    with pytest.raises(robx.InvalidInput, match="a row for each applicant, 10. Got 20 rows"):
        robx.RobX(base=theirs, **FULL).explain(problem(), PEOPLE)


def test_the_outcome_that_dice_appends_is_left_out() -> None:
    theirs = pd.concat([frame for frame in dice("random") if frame is not None])
    assert "good" in theirs
    whole = robx.RobX(base=theirs, **FULL).explain(problem(), PEOPLE)
    cut = robx.RobX(base=theirs[NAMES], **FULL).explain(problem(), PEOPLE)
    assert whole.points.equals(cut.points)
