"""Explainers whose rows stand for several people each: nobody's row is in the file."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import robx
from contracts import assert_same_answers
from explainer_cases import applicants, edited, saved, small, unzipped
from families import labels, people
from robx.later import Later

K = 5


@cache
def numbers() -> tuple[Any, Any, Any]:
    """A forest, and rows in which no value occurs twice."""
    X = np.random.default_rng(0).normal(size=(400, 4))
    y = X[:, 0] + X[:, 1] > 0
    return RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y), X, y


@cache
def explainer(k: int | None = K) -> robx.Explainer:
    model, X, y = numbers()
    given: dict[str, Any] = {"n_models": 6, "keep": None, "progress": False}
    return robx.Explainer(model, X, y, k_anonymous=k, **given)


def asked() -> Any:
    return np.random.default_rng(1).normal(size=(40, 4))


def test_a_loaded_one_gives_the_same_answers(tmp_path: Path) -> None:
    live = explainer()
    loaded = robx.Explainer.load(saved(live, tmp_path))
    first, second = live.explain(asked()), loaded.explain(asked())
    assert first.ok.any()
    assert_same_answers(first, second, range(40))
    assert first.certificate is not None
    assert second.certificate is not None
    np.testing.assert_array_equal(first.certificate.accepting, second.certificate.accepting)
    assert first.origin == second.origin
    assert second.origin["k_anonymous"] == K
    assert second.origin["n_support"] == 400
    # Who shares an answer is known where the people are, and nowhere else.
    assert first.crowds is not None
    assert first.crowds.k_anonymous == K
    assert second.crowds is None
    assert loaded.problem.people is None
    assert loaded.problem.n_training == 400
    assert repr(loaded) == repr(live)


def test_its_file_holds_nobodys_row(tmp_path: Path) -> None:
    model, X, _ = numbers()
    accepted = X[model.predict_proba(X)[:, 1] > 0.5]
    assert len(accepted) > 100
    plain = unzipped(saved(explainer(None), tmp_path, "a.robx").read_bytes())["support/rows.npy"]
    parts = unzipped(saved(explainer(), tmp_path, "b.robx").read_bytes())
    assert all(row.tobytes() in plain for row in accepted)
    pairs = [row[j : j + 2].tobytes() for row in X for j in range(3)]
    for name, data in parts.items():
        assert not any(row.tobytes() in data for row in X), name
        assert not any(pair in data for pair in pairs), name
    # Nor does any array hold a single value of theirs, such as a minimum or a neighbour.
    values = {one.tobytes() for one in X.ravel()}
    held = {n: d for n, d in parts.items() if n.endswith((".npy", ".json"))}
    assert {"support/rows.npy", "training/seen.npy", "warmth/distances.npy"} <= set(held)
    for name, data in held.items():
        assert not any(value in data for value in values), name
        assert not any(repr(float(one)).encode() in data for one in X.ravel()), name


def test_neither_does_a_pickle() -> None:
    _, X, _ = numbers()
    data = pickle.dumps(explainer())
    assert not any(row.tobytes() in data for row in X)
    assert pickle.loads(data).problem.people is None


def test_categories_missing_values_and_relations_will_do(tmp_path: Path) -> None:
    X = people(300, 2, missing=True, text="category")
    model = HistGradientBoostingClassifier(
        max_iter=5, max_leaf_nodes=6, random_state=0, categorical_features="from_dtype"
    ).fit(X, labels(X))
    schema = robx.Schema.infer(X).override(relations=["savings <= age"])
    live = robx.Explainer(model, X, schema=schema, k_anonymous=K, progress=False)
    loaded = robx.Explainer.load(saved(live, tmp_path))
    rows = people(30, 9, missing=True, text="category")
    answer = live.explain(rows)
    assert answer.ok.any()
    assert_same_answers(answer, loaded.explain(rows), range(30))
    people_, data = live.problem.people, saved(loaded, tmp_path, "again.robx").read_bytes()
    assert people_ is not None
    assert not any(row.tobytes() in data for row in people_)


def test_without_it_the_file_knows_who_shares_an_answer(tmp_path: Path) -> None:
    live = small()
    loaded = robx.Explainer.load(saved(live, tmp_path))
    assert loaded.problem.people is loaded.problem.support.rows
    first, second = (one.explain(applicants()).crowds for one in (live, loaded))
    assert first is not None
    assert second is not None
    assert first.covers.any()
    assert first.to_dict() == second.to_dict()


def test_nobody_is_counted_before_somebody_looks() -> None:
    model, X, _ = numbers()
    problem = robx.Problem(model, X)
    answer = robx.Explainer(model, X, progress=False).explain(asked()[:1])
    again = answer.noted(by="us")
    for one in (answer, again, robx.NearestNeighbour().explain(problem, asked()[:1])):
        assert isinstance(one.held("crowds"), Later)
    assert again.crowds is not None
    assert again.crowds.n_rows == len(problem.support)
    read = robx.Counterfactuals.from_dict(again.to_dict()).crowds
    assert read is not None
    assert read.to_dict() == again.crowds.to_dict()


def test_it_says_what_it_holds() -> None:
    about = explainer().describe()
    n = about["accepted_rows"]
    assert about["k_anonymous"] == K
    assert about["training_rows"] == 400
    assert about["privacy"] == (
        f"holds no training row, but {n} that stand for at least {K} training rows each"
    )
    assert f"accepted (score > 0.5, for at least {K} people each)" in repr(explainer())
    assert explainer(None).describe()["k_anonymous"] is None


def test_what_needs_all_rows_is_told_which_there_are(tmp_path: Path) -> None:
    problem = robx.Explainer.load(saved(explainer(), tmp_path)).problem
    with pytest.raises(robx.InvalidInput, match="which holds aggregated rows and no others"):
        _ = problem.training


@pytest.mark.parametrize("k", [1, 0, -5, 2.5, "5", True, [5], 10**6])
def test_a_number_of_people_that_cannot_be_is_refused(k: Any, tmp_path: Path) -> None:
    data = saved(explainer(), tmp_path).read_bytes()
    file = tmp_path / "edited.robx"
    file.write_bytes(edited(data, "explainer.json", lambda plain: plain.update(k_anonymous=k)))
    with pytest.raises(robx.InvalidInput, match=r"k_anonymous|number of training rows") as error:
        robx.Explainer.load(file)
    assert "'edited.robx'" in str(error.value)
