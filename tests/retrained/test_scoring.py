"""Several models asked at once, against each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import robx
from contracts import rows_of
from families import family
from retrained_cases import LIBRARIES, retrained
from robx.retrained import ModelScores, certified, import_models, scoring
from robx.trees import TreeEnsemble


@pytest.mark.parametrize("name", [*LIBRARIES, "xgboost-array", "xgboost-3", "hist"])
def test_all_at_once_give_the_bytes_of_each_by_itself(name: str) -> None:
    case = family(name)
    problem = case.problem()
    models = import_models(problem, retrained(name))
    asked = ModelScores(problem, models)
    assert len(asked.alike) == len(models)
    points = problem.read(case.applicants).matrix
    points = points[~np.isinf(points).any(axis=1)]
    numbers = problem.view.numbers(points)
    each = [model.trees.score_matrix(numbers) for model in models if model.trees is not None]
    assert asked.scores(points).tobytes() == np.array(each).tobytes()
    assert asked.scores(points[:1]).tobytes() == np.array(each)[:, :1].tobytes()


def test_readers_are_checked_once_for_a_list_of_models(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[int] = []
    check = scoring.check_readers

    def counted(problem: Any, models: Any) -> None:
        checked.append(len(models))
        check(problem, models)

    monkeypatch.setattr(scoring, "check_readers", counted)
    case = family("xgboost")
    problem = case.problem().renewed()
    models = import_models(problem, retrained("xgboost"))
    answer = robx.NearestNeighbour().explain(problem, rows_of(case.applicants, slice(6)))
    for _ in range(3):
        certified(problem, answer, models, 0.95, "drawn")
    assert checked == [len(models)]
    assert ModelScores.of(problem, models) is ModelScores.of(problem, models)
    for k in range(2 * scoring.MOST_LISTS):
        certified(problem, answer, models[k % 3 :], 0.95, "drawn")
    assert len(problem.memo.get("model scores", list)) <= scoring.MOST_LISTS


def test_a_certificate_reads_no_table_where_numbers_are_at_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = family("xgboost")
    problem = case.problem()
    models = import_models(problem, retrained("xgboost"))
    some = rows_of(case.applicants, slice(12))
    answer = robx.NearestNeighbour().explain(problem, some)
    asked = ModelScores.of(problem, models)
    read: list[Any] = []
    reader = TreeEnsemble.read

    def counted(self: TreeEnsemble, X: object, what: str = "X") -> Any:
        read.append(X)
        return reader(self, X, what)

    monkeypatch.setattr(TreeEnsemble, "read", counted)
    quick = certified(problem, answer, asked, 0.95, "drawn").certificate
    assert read == []
    assert "points" not in vars(answer)
    saved = robx.Counterfactuals.from_dict(answer.to_dict())
    slow = certified(problem, saved, asked, 0.95, "drawn").certificate
    assert quick is not None
    assert slow is not None
    assert quick.accepting.tolist() == slow.accepting.tolist()
    assert quick.accepting.sum() > 0
    table = answer.points
    rows = np.flatnonzero(answer.answered)
    theirs = np.array([m.predict_proba(table)[rows, 1] > 0.5 for m in retrained("xgboost")])
    assert quick.accepting[rows].tolist() == theirs.sum(axis=0).tolist()


def test_answers_in_a_list_of_cells_are_certified_as_in_a_frame() -> None:
    """A model cannot read text in an array; what it means is known all the same."""
    case = family("xgboost")
    problem = case.problem()
    models = import_models(problem, retrained("xgboost"))
    some = case.applicants.iloc[:10]
    cells = some[list(problem.names)].astype(object).to_numpy().tolist()
    of = [
        certified(problem, robx.NearestNeighbour().explain(problem, X), models, 0.95, "drawn")
        for X in (some, cells)
    ]
    counts = [answer.certificate.accepting.tolist() for answer in of if answer.certificate]
    assert counts[0] == counts[1]
    assert sum(counts[0]) > 0
