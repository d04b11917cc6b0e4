"""Write the stored explainer of the present format, and the answers that it must give for ever.

Run by hand when the format's number is raised, and never for a format that was released:

    python tests/explainer/make_stored.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier

import robx
from families import labels, people
from robx.explainer.container import FORMAT

FOLDER = Path(__file__).parent.parent / "data" / "explainers"


def fitted() -> robx.Explainer:
    """A small explainer of every kind of column."""
    X = people(100, 2, missing=True, text="category")
    y = labels(X)
    model = HistGradientBoostingClassifier(
        max_iter=4,
        max_leaf_nodes=5,
        min_samples_leaf=4,
        learning_rate=0.3,
        random_state=0,
        categorical_features="from_dtype",
    ).fit(X, y)
    schema = robx.Schema.infer(X).override(
        {"age": {"change": "none"}, "debts": {"change": "decrease"}},
        relations=["savings <= age"],
        effects={"age": "+1 * savings"},
    )
    noise = robx.Noise(n_draws=64)
    settings: dict[str, Any] = {"keep": 0.6, "noise": noise, "n_models": 6, "progress": False}
    return robx.Explainer(model, X, y, schema=schema, **settings)


def rows() -> Any:
    """Applicants with categories, missing values and a place that nobody had."""
    table = people(12, 9, missing=True, text="object")
    table.loc[0, "place"] = "moon"
    return table


def facts(answer: robx.Counterfactuals) -> dict[str, Any]:
    """What must not change, in plain values."""
    assert answer.certificate is not None
    return {
        "points": json.loads(answer.frame.to_json(orient="split", double_precision=15))["data"],
        "status": [str(one) for one in answer.status],
        "cost": answer.cost.tolist(),
        "score": _without_nan(answer.score),
        "stability": _without_nan(answer.stability),
        "accepting": answer.certificate.accepting.tolist(),
    }


def _without_nan(numbers: Any) -> list[float | None]:
    return [None if math.isnan(one) else one for one in numbers.tolist()]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True, parents=True)
    explainer = fitted()
    explainer.save(FOLDER / f"format-{FORMAT}.robx")
    (FOLDER / f"format-{FORMAT}.robx").chmod(0o644)
    found = json.dumps(facts(explainer.explain(rows())), indent=1)
    (FOLDER / f"format-{FORMAT}.json").write_text(found + "\n", encoding="utf-8")
