"""Recourse for declined applicants that survives a retraining of the model.

make demo
"""

from __future__ import annotations

import numpy as np
import xgboost as xgb

import robx


def train(X: object, y: object, seed: int) -> xgb.XGBClassifier:
    """Train a small credit model."""
    model = xgb.XGBClassifier(
        n_estimators=60, max_depth=3, learning_rate=0.15, subsample=0.8, random_state=seed, n_jobs=1
    )
    return model.fit(X, y)


def main() -> None:
    """Train, find recourse, retrain, and see what still holds."""
    X, y, schema = robx.datasets.load_german()
    order = np.random.default_rng(0).permutation(len(X))
    today, later, new = order[:350], order[350:700], order[700:]
    model = train(X.iloc[today], y.iloc[today], seed=0)
    print("German Credit: a model trained on 350 people, and 300 new applicants. The schema:\n")
    print(schema.fit(X.iloc[today]))
    print("\n(The very first call on a machine compiles for some seconds.)\n")

    problem = robx.Problem(model, X.iloc[today], schema)
    applicants = X.iloc[new]
    methods = {
        "nearest neighbour": robx.NearestNeighbour(),
        "  + RobX": robx.RobX(),
        "feature tweaking": robx.FeatureTweaking(),
        "  + RobX ": robx.RobX(base=robx.FeatureTweaking()),
    }
    answers = {name: method.explain(problem, applicants) for name, method in methods.items()}

    robust = answers["  + RobX"]
    print(f"{robust}")
    print(f"tau = {robust.settings['tau']:.2f}: {robust.settings['tau_reason']}.\n")
    for i in np.flatnonzero(robust.ok)[:3]:
        print(f"Applicant {applicants.index[i]}: {robust.words(int(i))}\n")

    print("Now the model is retrained 20 times, on 300 other people each time:\n")
    retrained = [
        robx.import_model(train(X.iloc[rows], y.iloc[rows], seed))
        for seed in range(1, 21)
        for rows in [np.random.default_rng(seed).choice(later, 300, replace=False)]
    ]
    answered_by_all = np.all([answer.ok for answer in answers.values()], axis=0)
    print(f"  {'':18}  answered    cost  changes  still accepted")
    for name, answer in answers.items():
        asked = (answer.status != robx.Status.ACCEPTED).sum()
        kept = np.mean([new.score(answer.points)[answered_by_all] > 0.5 for new in retrained])
        cost = answer.cost[answered_by_all].mean()
        changes = answer.n_changes[answered_by_all].mean()
        count = f"{answer.ok.sum()} of {asked}"
        print(f"  {name:18}  {count:8}  {cost:6.2f}  {changes:7.1f}  {kept:14.1%}")
    print(f"\n(Cost and the rest over the {answered_by_all.sum()} people whom all four answer.)")


if __name__ == "__main__":
    main()
