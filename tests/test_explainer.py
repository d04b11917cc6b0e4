from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import robx
from contracts import assert_same_answers
from robx.retrained import retrainings, training

X, Y, _ = robx.datasets.load_german()
MODEL = XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1).fit(X[:600], Y[:600])


def test_one_line_is_the_same_as_the_long_way() -> None:
    schema = robx.Schema.infer(X[:600]).override(job={"change": "none"})
    short = robx.explain(MODEL, X[:600], X[600:650], schema=schema, level=0.6, norm=2)
    problem = robx.Problem(MODEL, X[:600], schema)
    long = robx.Frugal(level=0.6, norm=2).explain(problem, X[600:650])
    assert_same_answers(long, short, range(50))
    assert short.ok.any()
    assert (short.method, short.settings["models"]) == ("Frugal", [])
    assert short.certificate is None
    assert short.alternatives == ()


def test_the_papers_algorithm_is_a_method_away() -> None:
    method = robx.RobX(tau=0.8, norm=2)
    short = robx.explain(MODEL, X[:600], X[600:650], method=method)
    problem = robx.Problem(MODEL, X[:600])
    assert_same_answers(method.explain(problem, X[600:650]), short, range(50))
    assert short.ok.any()
    assert short.method == "RobX"


def test_threshold_target_and_method_are_passed_on() -> None:
    answer = robx.explain(
        MODEL, X[:600], X[600:620], target=0, threshold=0.3, method=robx.NearestNeighbour()
    )
    assert answer.method == "NearestNeighbour"
    assert answer.ok.any()
    assert (MODEL.predict_proba(answer.frame)[answer.ok, 0] > 0.3).all()


def test_a_saved_model_will_do(tmp_path: Any) -> None:
    MODEL.save_model(tmp_path / "model.ubj")
    answer = robx.explain(tmp_path / "model.ubj", X[:600], X[600:610])
    live = robx.explain(MODEL, X[:600], X[600:610])
    assert_same_answers(live, answer, range(10))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "n", "progress", "shown"),
    [
        (Terminal(), 250, None, True),
        (Terminal(), 20, None, False),
        (io.StringIO(), 250, None, False),
        (io.StringIO(), 20, True, True),
        (Terminal(), 250, False, False),
    ],
)
def test_a_bar_is_shown_for_long_batches_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, n: int, progress: Any, shown: bool
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    robx.explain(MODEL, X[:600], X[600 : 600 + n], method=robx.RobX(tau=0.5), progress=progress)
    assert ("applicants" in stream.getvalue()) == shown
    if shown:
        assert f"{n}/{n}" in stream.getvalue()


# --- with retrained models ------------------------------------------------------------------------

NOISE = robx.Noise(n_draws=32)
QUICK: dict[str, Any] = {"noise": NOISE, "halvings": 2, "n_models": 9, "keep": None}
PEOPLE = X[600:616]
SMALL = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X[:600], Y[:600])


@pytest.fixture(scope="module")
def trained() -> robx.Counterfactuals:
    return robx.explain(SMALL, X[:600], PEOPLE, y_train=Y[:600], n_answers=2, **QUICK)


def test_a_third_of_the_retrained_models_searches_and_the_others_certify(
    trained: robx.Counterfactuals,
) -> None:
    models = list(retrainings(SMALL, X[:600], Y[:600], 9, seed=0))
    long = robx.Frugal(noise=NOISE, halvings=2, models=tuple(models[:3]))
    problem = robx.Problem(SMALL, X[:600])
    by_hand = robx.alternatives(long, problem, PEOPLE, 2)
    assert trained.ok.any()
    assert len(trained.settings["models"]) == 3
    assert len(trained.alternatives) == 1
    for ours, theirs in ((trained, by_hand), (trained.alternatives[0], by_hand.alternatives[0])):
        assert_same_answers(theirs, ours, range(len(PEOPLE)))
        certificate = ours.certificate
        assert certificate is not None
        assert (certificate.n_models, certificate.confidence) == (6, 0.95)
        assert certificate.drawn == "trained on random thirds of the training rows"
        scores = np.array([model.predict_proba(ours.frame)[:, 1] for model in models[3:]])
        counts = np.where(ours.answered, (scores > 0.5).sum(axis=0), 0)
        np.testing.assert_array_equal(certificate.accepting, counts)


def test_of_a_large_table_a_bounded_number_of_rows_is_trained_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "MOST_ROWS", 150)
    answers = robx.explain(SMALL, X[:600], PEOPLE, y_train=Y[:600], **QUICK)
    assert answers.certificate is not None
    assert answers.certificate.drawn == "trained on 150 random training rows each"
    tree = DecisionTreeClassifier()
    (model,) = retrainings(tree, X[:600], Y[:600], 1)
    assert model.tree_.n_node_samples[0] == 150


def test_the_same_again_for_the_same_seed_only(trained: robx.Counterfactuals) -> None:
    def again(seed: int) -> robx.Counterfactuals:
        return robx.explain(
            SMALL, X[:600], PEOPLE, y_train=Y[:600], seed=seed, n_answers=2, **QUICK
        )

    assert again(0).to_json() == trained.to_json()
    assert again(1).to_json() != trained.to_json()


def test_an_estimator_of_its_own_is_trained_again(
    trained: robx.Counterfactuals, tmp_path: Any
) -> None:
    SMALL.save_model(tmp_path / "model.ubj")
    unfitted = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1)
    answer = robx.explain(
        tmp_path / "model.ubj",
        X[:600],
        PEOPLE,
        y_train=Y[:600],
        estimator=unfitted,
        n_answers=2,
        **QUICK,
    )
    assert_same_answers(trained, answer, range(len(PEOPLE)))
    assert trained.certificate is not None
    assert answer.certificate is not None
    assert answer.certificate.to_dict() == trained.certificate.to_dict()
    assert not hasattr(unfitted, "_Booster")


def test_models_of_ones_own_search_and_certify(trained: robx.Counterfactuals) -> None:
    models = list(retrainings(SMALL, X[:600], Y[:600], 9, seed=0))
    parameters = {name: of for name, of in QUICK.items() if name != "n_models"}
    answer = robx.explain(SMALL, X[:600], PEOPLE, models=models, **parameters)
    assert_same_answers(trained, answer, range(len(PEOPLE)))
    assert answer.certificate is not None
    assert answer.certificate.n_models == 6
    assert answer.certificate.drawn == "drawn like these"
    twice = [*models[:3], *models[:3]]
    with pytest.raises(robx.InvalidInput, match="searches with the first 2 of 'models'"):
        robx.explain(SMALL, X[:600], PEOPLE[:2], models=twice, **parameters)


def test_models_that_a_method_holds_do_not_certify_it() -> None:
    same = tuple(retrainings(SMALL, X[:600], Y[:600], 6, seed=0))
    for method in (robx.Frugal(models=same), robx.RobX(base=robx.Frugal(models=same))):
        with pytest.raises(robx.InvalidInput, match="was used to choose tau or answers"):
            robx.explain(
                SMALL, X[:600], PEOPLE[:3], y_train=Y[:600], n_models=6, keep=None, method=method
            )


def test_what_was_searched_with_is_known_to_the_answers(trained: robx.Counterfactuals) -> None:
    models = list(retrainings(SMALL, X[:600], Y[:600], 9, seed=0))
    new = robx.Problem(SMALL, X[:600])
    assert robx.certify(new, trained, models[3:]).certificate is not None
    with pytest.raises(robx.InvalidInput, match="Model 1 of 2 was used to choose"):
        robx.certify(new, trained, [models[5], models[2]])


def test_labels_in_another_coding_are_refused() -> None:
    with pytest.raises(robx.InvalidInput, match=r"y_train must have the classes .* \[0, 1\]. Got"):
        robx.explain(SMALL, X[:600], PEOPLE, y_train=Y[:600] + 1)
    turned = DecisionTreeClassifier(max_depth=2).fit(X[:600], Y[:600] + 1)
    with pytest.raises(robx.InvalidInput, match=r"models must have the classes .* Got \[1, 2\]"):
        robx.explain(SMALL, X[:600], PEOPLE, models=[turned] * 6)
    with pytest.raises(robx.InvalidInput, match="index of X_train in another order"):
        robx.explain(SMALL, X[:600], PEOPLE, y_train=Y[:600].sort_values())
    answer = robx.explain(
        SMALL, X[:600], PEOPLE[:2], y_train=Y[:600].astype(bool), n_models=6, keep=None
    )
    assert answer.certificate is not None


def test_a_rare_class_is_in_every_third() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((300, 2)).round(2)
    labels = np.zeros(300, dtype=int)
    labels[table[:, 0].argsort()[-5:]] = 1
    tree = DecisionTreeClassifier(random_state=0).fit(table, labels)
    answer = robx.explain(
        tree, table, table[labels == 0][:3], y_train=labels, n_models=24, keep=None
    )
    assert answer.certificate is not None
    assert answer.certificate.n_models == 16


def test_a_retrained_model_declines_what_it_cannot_read() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.random(120).round(2), "town": ["big"] * 117 + ["rare"] * 3})
    labels = (table["a"] > 0.5).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(encode, DecisionTreeClassifier(random_state=0)).fit(table, labels)
    schema = robx.Schema.infer(table).override(town={"change": "none"})
    people = pd.DataFrame({"a": [0.2, 0.2], "town": ["big", "rare"]})
    answer = robx.explain(
        model, table, people, y_train=labels, schema=schema, **{**QUICK, "n_models": 12}
    )
    assert answer.certificate is not None
    accepting = answer.certificate.accepting
    assert accepting[0] == 8 > accepting[1]


def test_with_a_method_of_ones_own_all_retrained_models_certify() -> None:
    answer = robx.explain(
        SMALL,
        X[:600],
        PEOPLE,
        y_train=Y[:600],
        method=robx.NearestNeighbour(),
        n_models=6,
        keep=None,
    )
    assert answer.method == "NearestNeighbour"
    assert answer.certificate is not None
    assert answer.certificate.n_models == 6


def test_retrained_models_that_come_out_alike_may_still_judge() -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 2, 200), rng.random(200)])
    tree = DecisionTreeClassifier(random_state=0).fit(table, table[:, 0])
    answer = robx.explain(tree, table, table[:8], y_train=table[:, 0], n_models=6, keep=None)
    assert answer.ok.any()
    assert answer.certificate is not None
    assert answer.certificate.accepting[answer.ok].tolist() == [4] * int(answer.ok.sum())


def test_applicants_whom_the_model_refuses_stop_nobody() -> None:
    people = PEOPLE.copy()
    people["amount"] = people["amount"].astype(float)
    people.loc[people.index[1], "amount"] = np.inf
    answer = robx.explain(SMALL, X[:600], people, y_train=Y[:600], **QUICK)
    assert answer.status[1] == robx.Status.INFEASIBLE
    assert answer.ok.any()
    assert answer.certificate is not None
    assert not answer.certificate.covers[1]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"taw": 0.5},
            "Frugal has no parameter 'taw'. It has norm, base, level, min_retrained_score,",
        ),
        ({"tau": 0.5}, "Frugal has no parameter 'tau'"),
        ({"method": "RobX"}, "explain must be a method, or a function of .* Got 'RobX'"),
        ({"method": robx.NearestNeighbour(), "level": 0.5}, "Got a method and 'level'"),
        ({"method": robx.RobX(tau="high")}, "'tau' parameter of RobX must be a finite number or"),  # type: ignore[arg-type]
        ({"method": robx.RobX(step=0)}, "'step' parameter of RobX must be a number above 0 and at"),
        (
            {"method": robx.RobX(step=1e-6)},
            "'step' parameter of RobX must be at least 0.001: a walk of smaller steps",
        ),
        ({"n_targets": 0}, "'n_targets' parameter of .* must be an integer from 1"),
        ({"level": "high"}, "'level' parameter of Frugal must be a number from 0 to 1, or 'auto'"),
        ({"norm": 3}, "'norm' parameter of Frugal must be 1 or 2"),
        ({"noise": robx.Noise(-1)}, "'sigma' parameter must be finite and not negative"),
        ({"noise": robx.Noise(draws="even")}, "'draws' parameter must be one of"),  # type: ignore[arg-type]
        ({"noise": 0.1}, r"'noise' parameter of RobX must be a robx.Noise, such as Noise\(sigma"),
        ({"sigma": 0.1}, "Frugal has no parameter 'sigma'. It has norm, base, "),
        ({"threshold": 1}, "'threshold' parameter of Problem must be a number from 0 to below 1"),
        ({"schema": {"age": "fixed"}}, "'schema' parameter of Problem must be a robx.Schema"),
        ({"n_answers": 0}, "'n_answers' parameter of explain must be an integer from 1"),
        ({"n_models": 5}, "'n_models' parameter of explain must be an integer from 6. Got 5"),
        ({"models": [MODEL] * 5}, "must be a list of at least 6 retrained models. Got 5 instead"),
        ({"models": MODEL}, "at least 6 retrained models. Got XGBClassifier instead"),
        ({"models": "all"}, "at least 6 retrained models. Got str instead"),
        ({"models": [MODEL] * 6, "y_train": Y[:600]}, "or y_train to train them with, not both"),
        ({"models": [MODEL] * 6, "estimator": MODEL}, "or y_train to train them with, not both"),
        ({"estimator": MODEL}, "explain needs y_train, the labels of X_train, to train again"),
        ({"y_train": Y[:599]}, "must have the same number of rows. Got 600 and 599"),
        ({"y_train": [0] * 600}, "at least two classes"),
        ({"y_train": Y[:600], "estimator": "xgboost"}, "Got str. Pass it as 'estimator'"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.explain(MODEL, X[:600], X[600:603], **arguments)


def test_a_saved_model_cannot_be_trained_again_alone(tmp_path: Any) -> None:
    MODEL.save_model(tmp_path / "model.ubj")
    message = "needs a classifier in scikit-learn's form. Got PosixPath. Pass it as 'estimator'"
    with pytest.raises(robx.InvalidInput, match=message):
        robx.explain(tmp_path / "model.ubj", X[:600], X[600:603], y_train=Y[:600])


# --- which outcome applicants want ----------------------------------------------------------------


def small(name: str, turned: bool = False) -> tuple[Any, pd.DataFrame, Any]:
    X = pd.DataFrame({"debt": np.arange(200.0) % 100})
    y = ((X["debt"] > 50) ^ turned).astype(int).rename(name)
    return DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), X, y


def test_labels_that_name_a_bad_outcome_are_warned_of() -> None:
    model, X, y = small("default")
    noise = robx.NearestNeighbour()
    message = "By its name, 'default = 1' is an outcome .* Pass target=0 if they do, or target=1 if"
    with pytest.warns(robx.WrongWayRound, match=message):
        robx.explain(model, X, X[:3], y_train=y, n_models=6, keep=None, method=noise)
    for target in (0, 1):  # told, which is no reason for a warning
        robx.explain(
            model, X, X[49:53], y_train=y, n_models=6, keep=None, method=noise, target=target
        )


def test_everybody_accepted_is_warned_of_unless_they_are_few() -> None:
    model, X, _ = small("good")
    rich = X[X["debt"] > 80]
    with pytest.warns(robx.WrongWayRound, match="accepts all 5 applicants.*class 1 counts as acc"):
        robx.explain(model, X, rich[:5], method=robx.NearestNeighbour())
    robx.explain(model, X, rich[:4], method=robx.NearestNeighbour())
    robx.explain(model, X, X[45:55], method=robx.NearestNeighbour())
    assert issubclass(robx.WrongWayRound, robx.RobxWarning)
    assert issubclass(robx.RobxWarning, UserWarning)


def test_answers_say_which_outcome_they_are_for() -> None:
    model, X, y = small("good")
    method = robx.NearestNeighbour()
    named = robx.explain(model, X, X[:2], y_train=y, n_models=6, keep=None, method=method)
    assert (named.origin["wanted"], named.origin["schema"]) == ("good = 1", "guessed")
    assert "date" not in named.origin
    schema = robx.Schema.infer(X)
    told = robx.explain(model, X, X[90:92], method=method, schema=schema, target=0)
    assert (told.origin["wanted"], told.origin["schema"]) == ("class 0", "given")
