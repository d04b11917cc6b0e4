"""
The walk of RobX
================

RobX walks from a counterfactual of any method towards a stable accepted row, and stops at the first
point that is stable. On the way, the score M, its mean under noise and the stability R change in
jumps, because trees are not smooth.
"""

from xgboost import XGBClassifier

import robx

X, y, schema = robx.datasets.load_german()
model = XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=0)
model.fit(X[:500], y[:500])
declined = X[700:][model.predict(X[700:]) == 0][:10]

problem = robx.Problem(model, X[:500], schema)
answer = robx.RobX().explain(problem, declined)
tau = answer.settings["tau"]
print(answer.settings["tau_reason"])

# %%
# The walk for one applicant, from the nearest accepted row to the nearest conservative
# counterfactual.

i = int(answer.base.stability.argmin())
ax = robx.plots.along_walk(robx.plots.robx_walk_table(problem, answer, i), tau=tau)
