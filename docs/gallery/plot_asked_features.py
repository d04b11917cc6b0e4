"""
What recourse asks of people
============================

Which features do the answers change, for how many people, and in which direction? Look at this plot
before you issue any answer: it shows at a glance what the model has learned, and what the schema
should forbid.
"""

from xgboost import XGBClassifier

import robx

X, y, schema = robx.datasets.load_german()
model = XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=0)
model.fit(X[:500], y[:500])
declined = X[700:][model.predict(X[700:]) == 0]

answer = robx.explain(model, X[:500], declined, y_train=y[:500], schema=schema, keep=None)
table = robx.plots.asked_table(answer)
print(table.round(2).to_string(index=False))

# %%
# The same table as a plot:

ax = robx.plots.asked_features(table)

# %%
# This model rewards closing the checking account most. A lender hardly wants to give that advice:
# ``schema.override(checking={"change": "increase"})`` forbids it.
