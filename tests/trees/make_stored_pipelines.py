"""Write the folded pipelines in `stored_pipelines`, with the answers of the pipelines themselves.

Run by hand, with the Python of an environment that holds robx::

    python tests/trees/make_stored_pipelines.py

Each is an ensemble of this release (`.robx`), and a `.rows.json` with raw rows, among them such at
and beside thresholds, and what the pipeline's own `predict_proba` said of them.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

FOLDER = Path(__file__).parent / "stored_pipelines"
ROWS = ".rows.json"
#: Seeds of `pipeline_cases.make_case`, and the last step of each.
CASES = {2: "xgboost", 9: "lightgbm", 10: "catboost", 11: "forest", 15: "hist"}


def main() -> None:
    """Store a folded pipeline of each library."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from pipeline_cases import folded, hard_rows, make_case, taken

    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    for seed, last in CASES.items():
        case = make_case(seed, last)
        ensemble = folded(case.pipeline, case.X)
        ensemble.save(FOLDER / f"{last}.robx")
        rows = taken(ensemble, hard_rows(ensemble, case.X))
        rows = rows.iloc[:: max(len(rows) // 60, 1)]
        answers = {
            "rows": json.loads(rows.to_json(orient="split", index=False, double_precision=15)),
            "hex": {
                name: [float(value).hex() for value in rows[name]]
                for name in rows.columns
                if rows[name].dtype.kind == "f"
            },
            "probability": case.pipeline.predict_proba(rows)[:, 1].tolist(),
        }
        text = json.dumps(answers, separators=(",", ":"))
        (FOLDER / f"{last}{ROWS}").write_text(text + "\n")


if __name__ == "__main__":
    main()
