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
    X_train, y_train, applicants = X.iloc[today], y.iloc[today], X.iloc[new]
    model = train(X_train, y_train, seed=0)
    print("German Credit: a model trained on 350 people, and 300 new applicants. The schema:\n")
    print(schema.fit(X_train))
    print("\n(The very first call on a machine compiles for some seconds.)\n")

    robust = robx.explain(model, X_train, applicants, y_train=y_train, schema=schema)
    print(f"{robust}")
    print(f"Asked of each answer: {robust.settings['tau_reason']}.\n")
    for i in np.flatnonzero(robust.ok)[:3]:
        print(f"Applicant {applicants.index[i]}: {robust.words(int(i))}\n")

    problem = robx.Problem(model, X_train, schema)
    answers = {
        "nearest neighbour": robx.NearestNeighbour().explain(problem, applicants),
        "RobX, the paper's": robx.RobX().explain(problem, applicants),
        "robx.explain": robust,
    }
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
    print(f"\n(Cost and the rest over the {answered_by_all.sum()} people whom all three answer.)")


if __name__ == "__main__":
    main()
