"""robx beside DiCE, NICE, OCEAN and RobustX: the same applicants, models and judges, in one run.

German Credit, XGBoost with 100 trees of depth 4 on half of it, 40 declined applicants of the other
half. Every tool runs in a process of its own, on one core, with a time limit for each applicant
(`benchmarks.peer_worker`). What it returns is rounded to whole numbers, as the data are; then the
model itself, 20 models on 90 % of the same half and 20 on 90 % of the other half look at it. Tools
that pin other versions are asked in an environment of their own:

    python -m benchmarks.peers --nice-python PATH --ocean-python PATH --robustx-python PATH

Without a path, or where the package is missing, the table says "not installed".

    python -m benchmarks.peers --tools Frugal RobX Closest --splits 5 --out benchmarks/results

asks these tools only, on five splits of the data, and keeps the lines of the others that the folder
holds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.dice import German
from benchmarks.peer_tables import FREE, Line, markdown, read_lines, row, write_lines
from numpy.typing import NDArray

from robx.metrics import Outliers, n_changes
from robx.problem.embedding import coordinates

__all__ = ["Judge", "Run", "run", "write_case"]

ROOT = Path(__file__).resolve().parents[1]
#: Not tracked: `--out benchmarks/results` updates the committed results.
BUILD = ROOT / "build" / "peers"
LIMIT, HANGS, SETTING_UP = 20, 60, 300  # seconds of the clock
LOCKED = ("history", "job")
OURS = ("Frugal", "RobX", "Closest")
DICE = ("DiCE random", "DiCE genetic")
ROBUSTX = ("RobustX KDTreeNNCE", "RobustX BinaryLinearSearch")
OTHERS = ("nice", "ocean", "robustx")
#: What is asked with everything free, and with two columns locked: only who can be told so.
BLOCKS: dict[str, tuple[str, ...]] = {
    FREE: (*OURS, *DICE, "NICE", "OCEAN", *ROBUSTX),
    "history and job locked": (*OURS, *DICE),
}
#: Judged a second time with every change rounded away from the applicant.
ONWARDS = "OCEAN"
RESAMPLES = 2000

Floats = NDArray[np.float64]


# --- running the tools ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What a tool's process wrote: a head, a line for each applicant, and seconds in a batch."""

    head: dict[str, Any]
    lines: list[dict[str, Any]]
    batch: float = np.nan


def _written(out: Path) -> list[dict[str, Any]]:
    """Whole lines only: the last may be half written."""
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _watched(command: list[str], out: Path) -> bool:
    """Run a process, and end it if it writes nothing for long; whether it came to its end."""
    with (
        out.with_suffix(".log").open("w", encoding="utf-8") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log) as process,
    ):
        n, since = len(_written(out)), time.monotonic()
        start = n
        while process.poll() is None:
            time.sleep(0.2)
            now = len(_written(out))
            if now > n:
                n, since = now, time.monotonic()
            elif time.monotonic() - since > (HANGS if n > start else SETTING_UP):
                process.kill()
                return False
    if process.returncode:
        said = out.with_suffix(".log").read_text(encoding="utf-8")
        raise RuntimeError(f"{command} ended with {process.returncode}.\n{said[-2000:]}")
    return True


def run(tool: str, python: str, folder: Path, n: int, locked: tuple[str, ...]) -> Run:
    """Ask a tool about everyone; who makes it hang is passed over."""
    head: dict[str, Any] = {}
    lines: list[dict[str, Any]] = []
    batch = np.nan
    while len(lines) < n:
        out = folder / "answers.jsonl"
        out.unlink(missing_ok=True)
        command = [python, "-m", "benchmarks.peer_worker", tool, str(folder), str(out)]
        command += ["--start", str(len(lines)), "--limit", str(LIMIT), "--lock", *locked]
        finished = _watched(command, out)
        first, *rest = _written(out) or [{"missing": "set-up did not end"}]
        if "missing" in first:
            return Run(first, [])
        head = head or first
        lines += [line for line in rest if "seconds" in line]
        batch = next((line["batch"] for line in rest if "batch" in line), np.nan)
        if not finished and len(lines) < n:  # else it hung in the batch at the end
            lines.append({"point": None, "seconds": HANGS, "accepted": False, "why": "time limit"})
    return Run(head, lines, batch)


# --- judging what they return ---------------------------------------------------------------------


class Judge:
    """The model, the models that came after, and what counts as far and as an outlier."""

    def __init__(self, german: German, split: int = 0) -> None:
        self.german, self.problem, self.split = german, german.problem, split
        rows = coordinates(self.problem, self.problem.training)
        self.outliers = Outliers().fit(rows)
        self.people: Floats = german.people.to_numpy(dtype=np.float64)

    def _accepts(self, model: Any, points: Floats) -> NDArray[np.bool_]:
        return np.asarray(model.predict_proba(points)[:, 1] > 0.5)

    def _kept(self, models: list[Any], points: Floats) -> Floats:
        """Share of models that accept each point."""
        return np.asarray(np.mean([self._accepts(model, points) for model in models], axis=0))

    def rounded(self, points: Floats, *, onwards: bool) -> Floats:
        """Round to whole numbers: to the nearest, or away from the applicant."""
        if not onwards:
            return np.round(points)
        same = np.abs(points - self.people) < 1e-6
        # Scaled thresholds come back a hair off: 3243.9998 for "at least 3244" is 3244, while
        # 12578.9992 for "below 12579" is not 12579.
        moved = np.where(points > self.people, np.ceil(np.round(points, 2)), np.floor(points))
        return np.where(same, self.people, moved)

    def line(self, block: str, tool: str, ran: Run, *, onwards: bool = False) -> Line:
        """Look at what a tool returned."""
        if "missing" in ran.head:
            return Line(block, tool, installed=False, split=self.split)
        own = self.german.model.predict_proba(self.german.people)[:, 1]
        if np.abs(own - np.array(ran.head["scores"])).max() > 1e-5:
            raise RuntimeError(f"{tool} was given another model than the others.")
        empty = [np.nan] * self.people.shape[1]
        raw = np.array([line["point"] or empty for line in ran.lines], dtype=np.float64)
        returned = np.asarray(~np.isnan(raw).any(axis=1))
        points = self.rounded(raw, onwards=onwards)
        accepted = returned.copy()
        accepted[returned] = self._accepts(self.german.model, points[returned])
        names = list(self.german.people.columns)
        locked = [names.index(name) for name in LOCKED]
        touched = (points != self.people)[:, locked].any(axis=1)
        seconds = np.array([line["seconds"] for line in ran.lines])
        common: dict[str, Any] = {
            "n": len(points),
            "returned": returned.mean(),
            "accepted_raw": np.mean([line["accepted"] for line in ran.lines]),
            "accepted": accepted.mean(),
            "locked_changed": touched[returned].mean() if returned.any() else np.nan,
            "median_seconds": np.median(seconds),
            "mean_seconds": seconds.mean(),
            "batch_seconds": ran.batch,
            "setup_seconds": ran.head["setup"],
            "hung": sum(line["why"] == "time limit" for line in ran.lines),
            "versions": " ".join(f"{k} {v}" for k, v in ran.head["versions"].items()),
        }
        if accepted.any():
            common |= self._worth(points[accepted], self.people[accepted])
            common["end_to_end"] = common["accepted"] * common["kept_other"]
        return Line(block, tool, installed=True, split=self.split, **common)

    def _worth(self, points: Floats, people: Floats) -> dict[str, float]:
        other = self._kept(self.german.elsewhere, points)
        draws = np.random.default_rng(0).integers(len(other), size=(RESAMPLES, len(other)))
        low, high = np.quantile(other[draws].mean(axis=1), [0.025, 0.975])
        factor = self.outliers.factor(coordinates(self.problem, points))
        there, here = (pd.DataFrame(p, columns=self.problem.names) for p in (points, people))
        return {
            "kept_same": float(self._kept(self.german.retrained, points).mean()),
            "kept_other": float(other.mean()),
            "kept_low": float(low),
            "kept_high": float(high),
            "cost": float(self.problem.schema.cost(there, here).mean()),
            "changes": float(n_changes(points, people).mean()),
            "lof": float(self.outliers.label_of(factor).mean()),
            "lof_raw": float(np.minimum(factor, 10).mean()),
        }


# --- the whole comparison -------------------------------------------------------------------------


def write_case(german: German, folder: Path) -> None:
    """Write what every tool is given."""
    german.X.assign(good=german.y).to_csv(folder / "train.csv", index=False)
    german.people.to_csv(folder / "people.csv", index=False)
    german.model.save_model(folder / "model.json")
    parameters = json.dumps(german.model.get_params())
    (folder / "parameters.json").write_text(parameters, encoding="utf-8")


def compared(split: int, tools: set[str], pythons: dict[str, str]) -> Iterator[Line]:
    """Ask tools about the applicants of one split, and judge what they return."""
    german = German(split)
    judge = Judge(german, split)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_case(german, folder)
        for block, asked in BLOCKS.items():
            locked = () if block == FREE else LOCKED
            for tool in [tool for tool in asked if tool in tools]:
                python = pythons.get(tool.split()[0].lower(), sys.executable)
                ran = run(tool, python, folder, len(german.people), locked)
                line = judge.line(block, tool, ran)
                yield line
                if tool == ONWARDS and line.installed:
                    yield judge.line(block, f"{tool}, rounded onwards", ran, onwards=True)


def merged(old: list[Line], new: list[Line]) -> list[Line]:
    """Put new lines in the places of old ones, in the order of the tables."""
    tools = dict.fromkeys(tool for tools in BLOCKS.values() for tool in tools)
    order = {tool: i for i, tool in enumerate(tools)}

    def place(line: Line) -> tuple[int, int, int, str]:
        tool = order[line.tool.split(",")[0]]
        return line.split, list(BLOCKS).index(line.block), tool, line.tool

    by_place = {place(line): line for line in [*old, *new]}
    return [by_place[one] for one in sorted(by_place)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name in OTHERS:
        parser.add_argument(f"--{name}-python", default=sys.executable)
    every = list(dict.fromkeys(tool for tools in BLOCKS.values() for tool in tools))
    parser.add_argument("--tools", nargs="+", choices=every, default=every, metavar="TOOL")
    parser.add_argument("--splits", type=int, default=1, help="splits of the data")
    parser.add_argument("--out", type=Path, default=BUILD, help="folder for peers.md, peers.csv")
    given = parser.parse_args()
    pythons = {name: getattr(given, f"{name}_python") for name in OTHERS}
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "peers.csv"
    print(f"Results go to {file} and {file.with_suffix('.md').name} beside it.", flush=True)
    lines = read_lines(file) if file.exists() and given.tools != every else []
    for split in range(given.splits):
        for line in compared(split, set(given.tools), pythons):
            print(f"split {split}, {line.block}: {' | '.join(row(line))}", flush=True)
            lines = merged(lines, [line])
            write_lines(lines, file)
    text = markdown(lines)
    file.with_suffix(".md").write_text(text, encoding="utf-8")
    print(f"\n{text}")


if __name__ == "__main__":
    main()
