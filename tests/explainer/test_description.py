"""What an explainer says of itself, and the sentences of its parameters."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from xgboost import XGBClassifier

import robx
from explainer_cases import small, small_labels, small_table
from robx.explainer.description import lines

X = small_table()
Y = small_labels(X)
SCHEMA = robx.Schema.infer(X)
MODEL = XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1).fit(X, Y)


def test_one_line_says_what_it_is() -> None:
    said = repr(small())
    assert said.startswith("<Explainer by Frugal of scikit-learn ")
    n = len(small().problem.support)
    assert f"60 rows, {n} accepted (score > 0.5), 3 features, 2 searching and 4 certifying" in said


def test_it_is_described_in_plain_values() -> None:
    about = small().describe()
    asked = {name: about[name] for name in ("training_rows", "features", "wanted", "threshold")}
    assert asked == {"training_rows": 60, "features": 3, "wanted": "good = 1", "threshold": 0.5}
    assert (about["method"], about["level"], about["schema"]) == ("Frugal", 0.7, "given")
    answer = small().explain(X)
    assert about["tau"] == answer.settings["tau"]
    assert about["model_digest"] == answer.origin["model"]["digest"]
    assert (about["searching_models"], about["certifying_models"], about["seed"]) == (2, 4, 0)
    assert about["privacy"] == f"holds {about['accepted_rows']} training rows: personal data"
    assert set(about["digests"]) == {"model", "training_table", "labels", "schema"}
    assert all(len(one) == 64 for one in about["digests"].values())
    assert {"robx", "python", "numpy"} <= set(about["versions"])
    assert ("training rows", "60") in lines(about)
    assert about["trained_again"] is None
    assumed = small().noted(trained_again="with a learning rate that was assumed")
    said = ("trained again", "with a learning rate that was assumed")
    assert said in lines(assumed.describe())
    assert "trained again" not in dict(lines(about))


def test_digests_tell_what_went_in() -> None:
    def digests(**given: Any) -> dict[str, Any]:
        table, y = given.get("X", X), given.get("y")
        live = robx.Explainer(
            MODEL, table, y, schema=given.get("schema", SCHEMA), n_models=6, keep=None
        )
        found: dict[str, Any] = live.describe()["digests"]
        return found

    first = digests()
    assert first == digests()
    assert first["labels"] is None
    assert digests(schema=SCHEMA.override(age={"change": "none"}))["schema"] != first["schema"]
    assert digests(X=X[:59])["training_table"] != first["training_table"]
    assert digests(y=Y)["labels"] != digests(y=Y.replace({0: 1, 1: 0}))["labels"]


def test_a_notebook_escapes_what_stands_in_the_data() -> None:
    evil = small().noted(wanted="<script>alert(1)</script>")
    html = evil._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "personal data" in html


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"n_models": 5}, "'n_models' parameter of Explainer must be an integer from 6. Got 5"),
        ({"estimator": MODEL}, "Explainer needs y_train, the labels of X_train, to train again"),
        ({"method": 3}, "'method' parameter of Explainer must be a method"),
        ({"levels": 0.5}, "Frugal has no parameter 'levels'"),
        ({"models": [MODEL]}, "'models' parameter of Explainer must be a list of at least 6"),
        ({"method": robx.RobX(), "level": 1}, "takes a method or parameters of Frugal, not both"),
    ],
)
def test_parameters_are_refused_before_any_work(given: Any, sentence: str) -> None:
    with pytest.raises(robx.InvalidInput, match=sentence):
        robx.Explainer(MODEL, "not even a table", **given)


class Untrainable(XGBClassifier):
    """What is trained only if somebody trains before checking."""

    def fit(self, *_: Any) -> Any:
        raise AssertionError("trained")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"level": 2}, "'level' parameter of Frugal must be a number from 0 to 1"),
        ({"realism": "forest", "level": 2}, "'level' parameter of Frugal must be a number"),
        ({"max_changes": 0}, "'max_changes' parameter of Frugal"),
        ({"method": robx.RobX(step=7)}, "'step' parameter of RobX"),
    ],
)
def test_parameters_of_methods_are_refused_before_models_are_trained(
    given: Any, sentence: str
) -> None:
    with pytest.raises(robx.InvalidInput, match=sentence):
        robx.Explainer(MODEL, X, Y, estimator=Untrainable(), schema=SCHEMA, **given)


def test_the_number_of_answers_is_checked() -> None:
    with pytest.raises(robx.InvalidInput, match=r"'n_answers' parameter of Explainer.explain"):
        small().explain(X, n_answers=0)


def test_training_shows_a_progress_bar_if_told(capsys: pytest.CaptureFixture[str]) -> None:
    robx.Explainer(MODEL, X, Y, schema=SCHEMA, n_models=6, keep=None, progress=True)
    assert "train again" in capsys.readouterr().err
    robx.Explainer(MODEL, X, Y, schema=SCHEMA, n_models=6, keep=None)
    assert not sys.stderr.isatty()
    assert capsys.readouterr().err == ""


def test_what_the_first_answer_needs_is_made_when_it_is_fitted() -> None:
    """The first answer adds nothing to what is kept for all applicants."""
    live = robx.Explainer(MODEL, X, Y, schema=SCHEMA, n_models=6, keep=None)
    before: dict[Any, Any] = dict(live.problem.memo._results)
    assert {key[0] for key in before} >= {
        *("stability", "mean scores", "rejecting", "panel", "outlier score", "model scores")
    }
    live.explain(X)
    after: dict[Any, Any] = dict(live.problem.memo._results)
    added = {key[0] for key in after if key not in before}
    # What is known of a row of the support, and what is asked for those who cannot be helped.
    assert added <= {"tested rows", "leaf space"}
    assert live.problem.support._trees


def test_all_accepted_applicants_are_worth_a_warning() -> None:
    accepted = X[MODEL.predict(X) == 1][:6]
    with pytest.warns(robx.WrongWayRound, match="accepts all 6 applicants"):
        small_live().explain(accepted)


def small_live() -> robx.Explainer:
    return robx.Explainer(MODEL, X, schema=SCHEMA)
