"""A small study, and methods and estimators to look at an evaluation with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

import robx
from robx.answers import Status
from robx.methods import Method
from robx.problem import Applicants, Problem, SearchResult

X, Y, SCHEMA = robx.datasets.make_gaussians(400, d=3, separation=1.0, seed=1)


def boosted(**parameters: Any) -> XGBClassifier:
    return XGBClassifier(**{"n_estimators": 30, "max_depth": 3, "n_jobs": 1, **parameters})


STUDY = robx.Study(boosted(), X, Y, schema=SCHEMA)
NN, ROBUST = robx.NearestNeighbour(), robx.RobX()


def value(table: pd.DataFrame, metric: str, method: str = "NN", seed: Any = "all") -> float:
    row = table[(table.metric == metric) & (table.method == method) & (table.seed == seed)]
    assert len(row) == 1
    return float(row.value.iloc[0])


def without_time(table: pd.DataFrame) -> pd.DataFrame:
    return table[table.metric != "seconds"].reset_index(drop=True)


@dataclass(frozen=True, kw_only=True)
class Fallible(Method):
    """Answers every other applicant by the nearest neighbour, and counts how often it is asked."""

    asked: ClassVar[list[int]] = []

    def search(self, problem: Problem, people: Applicants, rows: NDArray[np.intp]) -> SearchResult:
        self.asked.append(len(people))
        found = robx.NearestNeighbour().search(problem, people, rows)
        for i, row in enumerate(rows):
            if row % 2:
                found.refuse(i, Status.BUDGET, "tired")
        return found


class Recorder(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Notes which rows it is fitted on, by their last column."""

    fitted: ClassVar[list[set[int]]] = []

    def fit(self, X: pd.DataFrame, y: Any) -> Recorder:
        self.fitted.append(set(X["id"].astype(int)))
        self.inner_ = LogisticRegression().fit(X.drop(columns="id"), y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.inner_.predict_proba(X.drop(columns="id"))
