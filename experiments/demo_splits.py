"""How the demo comes out on seven splits of the data: `python -m experiments.demo_splits`.

`robx demo` shows one split, and the means and ranges over these.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

import robx
from robx.cli import demo_case
from robx.files import write_table

N_SPLITS = 7
#: Shown by the demo, so it is in the package.
RESULTS = Path(demo_case.__file__).with_name("demo_splits.csv")


def split(seed: int) -> pd.DataFrame:
    """Run the demo's comparison on one split."""
    case = demo_case.german(seed)
    model = demo_case.trained(case.today, demo_case.N_TODAY)
    problem = robx.Problem(model, case.today.X, case.schema)
    judges = demo_case.new_models(case.later)
    table = demo_case.figures(demo_case.evaluated(problem, model, case, judges))
    return table.reset_index().assign(split=seed).round(4)


def main() -> None:
    """Compute all splits and write them down."""
    splits = []
    for seed in range(N_SPLITS):
        splits.append(split(seed))
        print(splits[-1].to_string(), file=sys.stderr, flush=True)
    names = ["split", "method", "declined", "answered", "cost", "changes", "still accepted", "lof"]
    write_table(pd.concat(splits)[names], RESULTS)


if __name__ == "__main__":
    main()
