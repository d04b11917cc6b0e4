"""The tables of the latency benchmark, from its committed figures.

    python -m benchmarks.latency_tables

writes them into ``results/latency.md``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "TABLES", "markdown", "write_tables"]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "latency.json"
TABLES = RESULTS.with_suffix(".md")


ANSWERS = """\
`predict_proba` of XGBoost {n_trees}x4 takes {score:.1f} ms for one row of a pandas frame. Ratios to
this call:

| model | one, ms | median | 99 % | processor | in a batch, ms | median | {cores} cores |
| --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

First {n_applicants} applicants one at a time, median and 99th percentile; then {n_batch:,} in one
call on one core, and how many times as fast that is on {cores} cores.
"""
STARTS = """
| model | fit, s | ratio | MB | file | load, s | pandas | load | first | second | all | CPU | MB |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
{rows}

Fitting includes the training of {n_models} models, and the ratio is to training them alone; MB is
the most memory that it took above what there was. Then the size of the file in MB, and loading it
again in the same process. The columns from "pandas" on are a new process, in
seconds: it loads pandas, then robx and the explainer, and answers twice; all of it until the first
answer, the processor time of that, and the most memory that the process took.

{machine}; {versions}.
"""


def markdown(found: dict[str, Any]) -> str:
    """Write results as two tables and a line about the machine."""
    sizes, machine, lines = found["sizes"], found["machine"], found["lines"]
    score = lines[0]["score_ms"]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    answers = [
        f"| {line['model']} | {line['one_ms']:.1f} | **{line['one_ratio']:.1f}x** | "
        f"{line['one_p99_ratio']:.1f}x | {line['one_cpu_ratio']:.1f}x | {line['batch_ms']:.2f} | "
        f"**{line['batch_ratio']:.2f}x** | {line['batch_speedup']:.2f}x |"
        for line in lines
    ]
    starts = [
        f"| {line['model']} | {line['fit_s']:.0f} | {line['fit_ratio']:.2f}x | "
        f"{line['fit_mb']:.0f} | {line['file_mb']:.1f} | {line['load_s']:.2f} | "
        f"{line['new_pandas_s']:.2f} | "
        f"{line['new_load_s']:.2f} | {line['new_first_s']:.2f} | {line['new_second_s']:.3f} | "
        f"**{line['new_process_s']:.2f}** | {line['new_process_cpu_s']:.2f} | "
        f"{line['new_peak_mb']:.0f} |"
        for line in lines
    ]
    return ANSWERS.format(
        score=score,
        rows="\n".join(answers),
        cores=machine["cores"],
        **sizes,
    ) + STARTS.format(
        rows="\n".join(starts),
        n_models=sizes["n_searching"] + sizes["n_certifying"],
        machine=f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}",
        versions=versions,
    )


def write_tables() -> None:
    """Write the tables of the committed figures; `experiments.pages` takes them from there."""
    tables = markdown(json.loads(RESULTS.read_text(encoding="utf-8")))
    TABLES.write_text(tables, encoding="utf-8")


if __name__ == "__main__":
    write_tables()
