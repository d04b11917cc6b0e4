"""Reading files as a stranger's: each in a process of its own, its memory and time measured."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

#: Reads each file in a fork, so that what one takes or breaks does not count for the next.
SERVER = """
import json, os, resource, signal, sys
import numpy as np, pyarrow.parquet, sklearn.ensemble, skops.io, yaml
import robx, robx.trees.skops, robx.trees.xgboost, robx.trees.lightgbm, robx.trees.catboost
import robx.trees.store, robx.files, robx.answers, robx.schema
from robx.budget import Budget
from robx.files.delimited import read_delimited
from robx.files.parquet import read_parquet
from pathlib import Path

def model(path):
    ensemble = robx.import_model(path)
    d = len(ensemble.columns)
    if d < 1000 and not any(column.is_category for column in ensemble.columns):
        score = ensemble.score(np.zeros((3, d)))
        assert ((score >= 0) & (score <= 1)).all(), score

def explainer(path):
    # What it holds must not lead a kernel astray either.
    loaded = robx.Explainer.load(path)
    rows = loaded.problem.support.rows[:2]
    loaded.explain(np.concatenate([rows, np.zeros((2, len(loaded.problem.names)))]))
    loaded.describe()

def warm_up():
    # Compiled kernels are loaded once: every fork would load them again.
    X = np.random.default_rng(0).random((60, 3))
    forest = sklearn.ensemble.RandomForestClassifier(3, max_depth=3).fit(X, X[:, 0] > 0.5)
    schema = robx.Schema.infer(X)
    once = robx.Explainer(forest, X, X[:, 0] > 0.5, n_models=6, keep=None, schema=schema)
    once.explain(X)

READERS = {
    "model": model,
    "explainer": explainer,
    "table": robx.files.read_table,
    "schema": robx.Schema.load,
    "answers": robx.Counterfactuals.load,
    "params": lambda path: robx.files.read_plain(Path(path), Budget.default()),
}
seconds, memory = map(int, sys.argv[1:3])
is_warm = False
for line in sys.stdin:
    kind, path = json.loads(line)
    if kind == "explainer" and not is_warm:
        warm_up()
        is_warm = True
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        signal.alarm(20 * seconds)  # also where it only waits
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            READERS[kind](path)
            outcome = ["read", ""]
        except robx.RobxError as error:
            outcome = ["refused", f"{type(error).__name__}: {error}"]
        except BaseException as error:
            outcome = ["escaped", f"{type(error).__name__}: {error}"[:300]]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start
        os.write(write, json.dumps([*outcome, grown * 1024]).encode()[:60000])
        os._exit(0)
    os.close(write)
    said = b""
    while part := os.read(read, 65536):
        said += part
    os.close(read)
    _, status, usage = os.wait4(pid, 0)
    died = f"stopped by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended"
    outcome = json.loads(said) if said else ["died", died, 0]
    print(json.dumps([*outcome, usage.ru_utime + usage.ru_stime]), flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """How reading a file ended: "read", "refused", "escaped" (another error) or "died"."""

    how: str
    said: str
    grown: int
    seconds: float


def read_all(
    files: list[tuple[str, Path]], *, seconds: int = 20, memory: int = 2**31
) -> list[Outcome]:
    """Read files, each as a kind of `READERS`, within a deadline and addresses for memory."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SERVER, str(seconds), str(memory)],
        input="".join(json.dumps([kind, str(path)]) + "\n" for kind, path in files),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(outcomes) == len(files)
    return outcomes
