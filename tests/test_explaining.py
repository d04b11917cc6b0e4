from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from xgboost import XGBClassifier

import robx
from contracts import assert_same_answers

X, Y, _ = robx.datasets.load_german()
MODEL = XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1).fit(X[:600], Y[:600])


def test_one_line_is_the_same_as_the_long_way() -> None:
    schema = robx.Schema.infer(X[:600]).override(job={"change": "none"})
    short = robx.explain(MODEL, X[:600], X[600:650], schema=schema, tau=0.8, norm=2)
    problem = robx.Problem(MODEL, X[:600], schema)
    assert_same_answers(robx.RobX(tau=0.8, norm=2).explain(problem, X[600:650]), short, range(50))
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
    robx.explain(MODEL, X[:600], X[600 : 600 + n], tau=0.5, progress=progress)
    assert ("applicants" in stream.getvalue()) == shown
    if shown:
        assert f"{n}/{n}" in stream.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"taw": 0.5}, "RobX has no parameter 'taw'. It has norm, base, tau, step, n_targets,"),
        ({"method": "RobX"}, "'method' parameter of explain must be a method. Got 'RobX'"),
        ({"method": robx.NearestNeighbour(), "tau": 0.5}, "Got a method and 'tau'"),
        ({"tau": "high"}, "'tau' parameter of RobX must be a finite number or 'auto'"),
        ({"step": 0}, "'step' parameter of RobX must be a number above 0 and at most 1"),
        (
            {"step": 1e-6},
            "'step' parameter of RobX must be at least 0.001: a walk of smaller steps",
        ),
        ({"n_targets": 0}, "'n_targets' parameter of RobX must be an integer from 1"),
        ({"norm": 3}, "'norm' parameter of RobX must be 1 or 2"),
        ({"sigma": -1}, "'sigma' parameter must be finite and not negative"),
        ({"draws": "even"}, "'draws' parameter must be one of"),
        ({"threshold": 1}, "'threshold' parameter of Problem must be a number from 0 to below 1"),
        ({"schema": {"age": "fixed"}}, "'schema' parameter of Problem must be a robx.Schema"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(robx.InvalidInput, match=message):
        robx.explain(MODEL, X[:600], X[600:603], **arguments)
