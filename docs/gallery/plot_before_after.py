"""
Before and after, for one applicant
===================================

What one applicant should change, in words and in units of each feature's scale. Faint bars show the
range that the schema allows.
"""

from xgboost import XGBClassifier

import robx

X, y, schema = robx.datasets.load_german()
model = XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=0)
model.fit(X[:500], y[:500])
declined = X[700:][model.predict(X[700:]) == 0][:10]

answer = robx.explain(model, X[:500], declined, schema=schema)
most = int(answer.n_changes.argmax())
print(answer.words(most))

# %%
# The same as a plot. ``robx.plots.save(ax, "applicant.png")`` writes it to a file.

ax = robx.plots.before_after(robx.plots.change_table(answer, most))
