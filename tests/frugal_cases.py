"""A model on columns scaled to [0, 1], whom it declines, and a search that is quick."""

from __future__ import annotations

from typing import Any

import numpy as np
from xgboost import XGBClassifier

import robx
from oracles import toy_data

QUICK: dict[str, Any] = {"noise": robx.Noise(n_draws=32), "n_targets": 3, "halvings": 2}

X, Y = toy_data(300, 4, seed=3)
LOW, HIGH = X.min(axis=0), X.max(axis=0)
X = (X - LOW) / (HIGH - LOW)
UNITS = robx.Schema(tuple(robx.Feature(str(j), scale=1.0) for j in range(4)))
MODEL = XGBClassifier(n_estimators=30, max_depth=4, n_jobs=1).fit(X, Y)
PEOPLE = np.random.default_rng(5).random((80, 4))
PEOPLE = PEOPLE[MODEL.predict_proba(PEOPLE)[:, 1] <= 0.5][:25]
