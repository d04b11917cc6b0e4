"""
Score, mean and stability
=========================

The paper uses three histograms to choose tau: the scores M of the training rows, their means over
noisy copies, and the stabilities R, which are the means minus the standard deviations. The rows to
the right of tau can be conservative counterfactuals; without any, no applicant gets an answer.
"""

from xgboost import XGBClassifier

import robx

X, y, schema = robx.datasets.load_german()
model = XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=0)
model.fit(X[:500], y[:500])

problem = robx.Problem(model, X[:500], schema)
table = robx.plots.stability_table(problem)
print(table.describe().loc[["mean", "min", "max"]].round(3).to_string())

# %%
# Tau is the 75 % quantile of R over the accepted rows, as with ``tau="auto"``.

axes = robx.plots.histograms(table, tau=robx.choose_tau(problem).tau)
