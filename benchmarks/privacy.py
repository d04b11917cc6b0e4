"""What `k_anonymous` costs, and what it hides.

Every split trains a model on two fifths of the rows and ten models on another two fifths, which
the search never sees, and asks for 40 declined applicants of the last fifth. The method is Frugal
with 16 models trained on random thirds. *L1* is the mean cost of the answers, in units of the whole
table. *Kept* is the share of the ten other models that accept an answer. *Crowd of one* is the
share of answers whose changed values exactly one accepted training row has, *no crowd* of those
that none has, and *whole row* of those that equal a training row in every column. *Rows* is the
size of the support, and *seconds* the time of the processor that the problem takes to build.

    python -m benchmarks.privacy --adult <adult.data> --heloc <file>

writes benchmarks/results/privacy.csv, one line per data set, split and k, and privacy.md: the means
over the splits with their range. The short table goes into docs/how-to/privacy.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.changes import Data, data_sets
from benchmarks.common import cpu_seconds

import robx
from robx.retrained import acceptance, import_models, retrainings

SPLITS, APPLICANTS, SEARCHING, JUDGES = 5, 40, 16, 10
KS = (None, 5, 10, 20)
DATA = ("German Credit", "HELOC", "Adult")
RESULTS = Path(__file__).parent / "results"
#: The short table stands between these on the page.


def measure(data: Data, seed: int) -> pd.DataFrame:
    """Ask on one split with every k."""
    order = np.random.default_rng(seed).permutation(len(data.X))
    ours, theirs, rest = np.split(order, [int(0.4 * len(order)), int(0.8 * len(order))])
    labels = np.asarray(data.y)
    X, y = data.X.iloc[ours], labels[ours]
    model = data.estimator(0).fit(X, y)
    schema = data.schema.fit(data.X)  # one unit of cost for every k
    searching = tuple(retrainings(data.estimator(0), X, y, SEARCHING, seed))
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(theirs, len(theirs)) for _ in range(JUDGES)]
    judges = [
        data.estimator(k + 1).fit(data.X.iloc[rows], labels[rows]) for k, rows in enumerate(drawn)
    ]
    people = data.X.iloc[rest]
    people = people[model.predict_proba(people)[:, 1] <= 0.5][:APPLICANTS]
    lines = [
        {
            "split": seed,
            "k": "none" if k is None else k,
            **figures(model, X, schema, people, k, searching, judges),
        }
        for k in KS
    ]
    return pd.DataFrame(lines)


def figures(
    model: Any,
    X: pd.DataFrame,
    schema: robx.Schema,
    people: pd.DataFrame,
    k: int | None,
    searching: tuple[Any, ...],
    judges: list[Any],
) -> dict[str, float]:
    """Ask Frugal, and measure its answers."""
    made: list[robx.Problem] = []
    took = cpu_seconds(lambda: made.append(robx.Problem(model, X, schema, k_anonymous=k)))
    problem = made[0]
    answer = robx.Frugal(models=searching).explain(problem, people)
    ok, crowds = answer.ok, answer.crowds
    assert crowds is not None  # noqa: S101 - the problem has not left this process
    kept = acceptance(import_models(problem, judges), answer.points, 0.5)
    size = crowds.size[ok]
    return {
        "rows": len(problem.support),
        "seconds": took,
        "answered": float(ok.mean()),
        "L1": float(answer.cost[ok].mean()),
        "changes": float(answer.n_changes[ok].mean()),
        "kept": float(kept[:, ok].mean()),
        "crowd of one": float((size == 1).mean()),
        "no crowd": float((size == 0).mean()),
        "median crowd": float(np.median(size)),
        "whole row": float(crowds.whole[ok].mean()),
    }


def committed() -> pd.DataFrame:
    """Read the results, from which both pages are written."""
    return pd.read_csv(RESULTS / "privacy.csv", dtype={"k": str})


def page(lines: pd.DataFrame) -> str:
    """Write the means over the splits, with their ranges, as a page."""
    names = [str(name) for name in lines if name not in {"data", "split", "k"}]
    parts = ["# What k_anonymous costs, and what it hides", "", str(__doc__).split("\n\n")[1]]
    for data, some in lines.groupby("data", sort=False):
        parts += ["", f"## {data}", "", f"| k | {' | '.join(names)} |"]
        parts.append("| --- " * (len(names) + 1) + "|")
        for k, cell in some.groupby("k", sort=False):
            parts.append(f"| {k} | {' | '.join(_said(cell[name]) for name in names)} |")
    return "\n".join(parts) + "\n"


def short_table(lines: pd.DataFrame) -> str:
    """Write the figures that matter to a reader: the table of the page about privacy."""
    head = "| data | k | answered | cost (L1) | kept | crowd of one | whole row |"
    parts = [head, "| --- " * 7 + "|"]
    for (data, k), cell in lines.groupby(["data", "k"], sort=False):
        shares = [
            _percent(cell[name]) for name in ("answered", "kept", "crowd of one", "whole row")
        ]
        cost = cell["L1"]
        said = f"{cost.mean():.2f} ({cost.min():.2f} to {cost.max():.2f})"
        parts.append(f"| {data} | {k} | {shares[0]} | {said} | {' | '.join(shares[1:])} |")
    return "\n".join(parts)


def _percent(shares: Any) -> str:
    mean, low, high = (100 * share for share in (shares.mean(), shares.min(), shares.max()))
    return f"{mean:.1f}% ({low:.1f} to {high:.1f})"


def _said(values: Any) -> str:
    known = values.dropna()
    return f"{known.mean():.3g} [{known.min():.3g}, {known.max():.3g}]" if len(known) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description="What k_anonymous costs, and what it hides.")
    parser.add_argument("--adult", type=Path, help="adult.data of the UCI repository")
    parser.add_argument("--heloc", type=Path, help="HELOC's file")
    asked = parser.parse_args()
    found = data_sets({"adult": asked.adult, "heloc": asked.heloc})
    parts = []
    for name in [name for name in DATA if name in found]:
        for seed in range(SPLITS):
            new = measure(found[name], seed)
            new.insert(0, "data", name)
            parts.append(new)
    lines = pd.concat(parts)
    lines.to_csv(RESULTS / "privacy.csv", index=False, float_format="%.5g")
    lines = committed()
    (RESULTS / "privacy.md").write_text(page(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
