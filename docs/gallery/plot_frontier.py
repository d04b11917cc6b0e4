"""
Cost against validity
=====================

Single figures mislead, because any method can be made more robust at a higher cost. So compare
curves. This is a small evaluation on one half of the data, judged by models trained on the other
half; ``make tables TABLE=frontier`` makes the large one.
"""

from xgboost import XGBClassifier

import robx

X, y, schema = robx.datasets.load_german()
estimator = XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=0)
study = robx.Study(estimator, X, y, schema=schema)

taus = (0.5, 0.6, 0.7, 0.8)
methods = {"nearest neighbour": robx.NearestNeighbour()}
methods |= {f"RobX {tau}": robx.RobX(tau=tau) for tau in taus}
result = robx.evaluate(
    study, methods, {"other half": robx.scenarios.OtherHalf()}, seeds=2, n_models=5
)

# %%
# The four settings of RobX are one curve, with tau as its parameter.

knobs = {f"RobX {tau}": ("RobX", tau) for tau in taus}
table = robx.plots.frontier_table(result, knobs=knobs)
print(table[["method", "knob", "coverage", "validity", "cost_l1"]].round(2).to_string(index=False))

# %%

ax = robx.plots.frontier(table)
