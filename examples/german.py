"""See which acceptances would survive a retraining of the model.

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
    """Train, import, measure stability, retrain, and compare."""
    X, y = robx.datasets.load_german()
    order = np.random.default_rng(0).permutation(len(X))
    today, later, applicants = order[:350], order[350:700], order[700:]

    print("German Credit: 1000 applicants, 10 columns")
    model = train(X.iloc[today], y.iloc[today], seed=0)
    ensemble = robx.import_model(model, X=X)
    print(f"  trained with XGBoost, imported, and checked against it:\n  {ensemble}\n")

    people = X.iloc[applicants]
    accepted = people[ensemble.score(people) > 0.5]
    print("(The very first call on a machine compiles for some seconds.)\n")
    result = robx.stability(ensemble, accepted, scale=X)
    print(
        f"{len(accepted)} of {len(people)} new applicants are accepted. Their stability R, the mean"
    )
    print("minus the standard deviation of the score over 1024 noisy copies of each:\n")
    counts, edges = np.histogram(result.value, bins=np.linspace(0, 1, 11))
    for count, low in zip(counts, edges, strict=False):
        print(f"  {low:.1f} to {low + 0.1:.1f}  {'#' * int(count)} {count}")

    print("\nNow the model is retrained 30 times, on 300 other people each time. Still accepted:\n")
    retrained = [
        robx.import_model(train(X.iloc[rows], y.iloc[rows], seed))
        for seed in range(1, 31)
        for rows in [np.random.default_rng(seed).choice(later, 300, replace=False)]
    ]
    kept = np.mean([new.score(accepted) > 0.5 for new in retrained], axis=0)
    cuts = np.quantile(result.value, [0.25, 0.5, 0.75])
    groups = np.digitize(result.value, cuts)
    for group, name in enumerate(
        ["least stable quarter", "second", "third", "most stable quarter"]
    ):
        inside = groups == group
        low, high = result.value[inside].min(), result.value[inside].max()
        print(f"  {name:20}  R {low:.2f} to {high:.2f}   {kept[inside].mean():6.1%}")
    tau = float(cuts[2])
    passed = robx.is_stable(ensemble, accepted, tau, scale=X)
    print(f"\nis_stable(..., tau={tau:.2f}) picks {passed.sum()} applicants; ", end="")
    print(f"{kept[passed].mean():.1%} of their acceptances survive a retraining,")
    print(f"against {kept[~passed].mean():.1%} of the others'.")


if __name__ == "__main__":
    main()
