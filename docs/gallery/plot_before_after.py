"""
Before and after, for one applicant
===================================

What one person is to change, by how much in units of each feature's scale, and in words. Faint
bars show the room that the schema leaves.
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
# The same as a picture. ``robx.plots.save(ax, "applicant.png")`` writes it to a file.

ax = robx.plots.before_after(robx.plots.change_table(answer, most))
