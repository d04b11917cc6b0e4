"""
Validity and cost over tau
==========================

With models that were retrained on people whom today's model has not seen, tau can be varied: how
many of the answers do these models still accept, and what do the answers cost?
"""

import numpy as np
from xgboost import XGBClassifier

import robx

X, y, schema = robx.datasets.load_german()


def train(rows, seed=0):
    """Train a small credit model."""
    model = XGBClassifier(
        n_estimators=60, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=seed
    )
    return model.fit(X.iloc[rows], y.iloc[rows])


problem = robx.Problem(train(range(350)), X[:350], schema)
drawn = [
    np.random.default_rng(seed).choice(range(350, 700), 300, replace=False) for seed in range(1, 9)
]
later = [train(rows, seed) for seed, rows in enumerate(drawn, 1)]

choice = robx.choose_tau(problem, X[700:], later)
print(choice)

# %%
# Validity rises and levels off, the cost keeps rising, and in the end no applicant gets an answer.

axes = robx.plots.tau_sweep(choice.table, tau=choice.tau)
