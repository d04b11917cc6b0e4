"""One tool, asked about one applicant after the other; `benchmarks.peers` starts it as a process.

It runs in the tool's own environment, so it needs nothing of robx unless the tool is robx. It reads
``train.csv`` (last column: the label), ``people.csv``, ``model.json`` (XGBoost) and
``parameters.json`` (with which this model was trained) in a folder, and writes what it finds out
line by line into a file, so that nothing is lost if the tool hangs and the process is ended.

    python -m benchmarks.peer_worker TOOL FOLDER OUT [--start N] [--limit SECONDS] [--lock NAME ...]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost as xgb

#: A point in the data's units, and whether the model accepts it just as the tool returned it.
Answer = tuple["np.ndarray[Any, Any]", bool]
Ask = Callable[[pd.DataFrame], "Answer | None"]
#: What `robx.explain` searches with, of what it trains; the default method's name in the tables.
SEARCHING, N_MODELS, DEFAULT = 16, 48, "Frugal"


class Case:
    """What a tool is given."""

    def __init__(self, folder: Path, locked: list[str]) -> None:
        table = pd.read_csv(folder / "train.csv")
        self.folder, self.locked = folder, locked
        self.X, self.y = table.iloc[:, :-1], table.iloc[:, -1]
        self.people = pd.read_csv(folder / "people.csv")
        self.model = load(folder / "model.json")
        # XGBoost's file holds trees, not how they were trained: with what `load` gives, XGBoost
        # would train other models.
        parameters = json.loads((folder / "parameters.json").read_text(encoding="utf-8"))
        self.estimator = xgb.XGBClassifier(**parameters)
        self.low, self.range = self.X.min(), self.X.max() - self.X.min()

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return list(self.X.columns)

    def accepts(self, point: Any) -> bool:
        """Ask the model about a point in the data's units."""
        row = np.asarray(point, dtype=np.float64).reshape(1, -1)
        return bool(self.model.predict_proba(row)[0, 1] > 0.5)


def load(path: Path) -> Any:
    """Read a classifier; one thread."""
    model = xgb.XGBClassifier(n_jobs=1)
    model.load_model(path)
    return model


# --- robx -----------------------------------------------------------------------------------------


def trained_again(case: Case, n_models: int = N_MODELS) -> list[Any]:
    """Train the model again on random thirds of its rows, as `robx.explain` does."""
    again = import_module("robx.retrained").retrainings
    return list(again(case.estimator, case.X, case.y, n_models))


def robx_method(case: Case, name: str) -> Ask:
    """Ask a method of robx; the default as `robx.explain` does with labels, certificate too."""
    robx, retrained = import_module("robx"), import_module("robx.retrained")
    free = {feature: {"change": "any"} for feature in case.names}
    free.update({feature: {"change": "none"} for feature in case.locked})
    schema = robx.datasets.load_german().schema.override(**free)
    problem = robx.Problem(case.model, case.X, schema)
    certifying: list[Any] = []
    if name == DEFAULT:
        models = trained_again(case)
        method = robx.Frugal(models=tuple(models[:SEARCHING]))
        certifying = retrained.import_models(problem, models[SEARCHING:])
    else:
        method = getattr(robx, name)()

    def ask(person: pd.DataFrame) -> Answer | None:
        answer = method.explain(problem, person)
        if certifying:
            answer = retrained.certified(problem, answer, certifying, 0.95, "")
        point = np.asarray(answer.points, dtype=np.float64)[0]
        return (point, case.accepts(point)) if answer.ok[0] else None

    ask(case.X[case.model.predict(case.X) == 0][:1])  # what is done once for all is set-up
    return ask


# --- others ---------------------------------------------------------------------------------------


def dice(case: Case, method: str) -> Ask:
    """DiCE with its own settings, all columns numbers; three tries, as its searches are random."""
    made = import_module("benchmarks.dice")
    search = made.Dice(method, case.model, case.X, case.y)
    nothing = import_module("raiutils.exceptions").UserConfigValidationException
    vary = [name for name in case.names if name not in case.locked] if case.locked else "all"

    def ask(person: pd.DataFrame) -> Answer | None:
        for _ in range(made.DICE_TRIES):
            # The genetic search stops with ValueError when its population dies out.
            with contextlib.suppress(nothing, ValueError):
                found = search.explainer.generate_counterfactuals(
                    person, total_CFs=1, desired_class=1, features_to_vary=vary
                )
                frame = found.cf_examples_list[0].final_cfs_df_sparse
                if frame is not None and len(frame):
                    point = frame[case.names].iloc[0].to_numpy(dtype=np.float64)
                    return point, case.accepts(point)
        return None

    return ask


def nice(case: Case, reward: str) -> Ask:
    """NICE with its own settings, all columns numbers."""
    rows = case.X.to_numpy(dtype=np.float64)
    search = import_module("nice").NICE(
        case.model.predict_proba, rows, [], y_train=case.y.to_numpy(), optimization=reward
    )

    def ask(person: pd.DataFrame) -> Answer | None:
        point = search.explain(person.to_numpy(dtype=np.float64))[0]
        return point, case.accepts(point)

    return ask


def ocean(case: Case, limit: int) -> Ask:
    """OCEAN's constraint program, prepared as its documentation says: ranks are discrete columns.

    The amount is its one continuous column, which it wants scaled. So the model's thresholds are
    scaled in the same way; `accepts` then asks that model.
    """
    package = import_module("ocean")
    ranks = tuple(name for name in case.names if case.X[name].nunique() <= 10)
    scaled = [name for name in case.names if name not in ranks]
    _, mapper = import_module("ocean.feature").parse_features(case.X, discretes=ranks)

    def inward(row: pd.Series) -> pd.Series:
        row = row.astype(float)
        row[scaled] = (row[scaled] - case.low[scaled]) / case.range[scaled] - 0.5
        return row

    model = _with_scaled_thresholds(case, scaled)
    search = package.ConstraintProgrammingExplainer(model, mapper=mapper)

    def ask(person: pd.DataFrame) -> Answer | None:
        found = search.explain(
            inward(person.iloc[0]).to_numpy(), y=1, norm=1, max_time=limit, num_workers=1
        )
        if found is None:
            return None
        row = pd.Series(found.x, index=case.names)
        accepted = bool(model.predict_proba(row.to_frame().T)[0, 1] > 0.5)
        row[scaled] = (row[scaled] + 0.5) * case.range[scaled] + case.low[scaled]
        return row.to_numpy(), accepted

    return ask


def _with_scaled_thresholds(case: Case, columns: list[str]) -> Any:
    plain = json.loads((case.folder / "model.json").read_text(encoding="utf-8"))
    plain["learner"]["feature_types"] = ["float"] * len(case.names)
    for tree in plain["learner"]["gradient_booster"]["model"]["trees"]:
        splits = zip(tree["split_indices"], tree["left_children"], strict=True)
        for node, (column, left) in enumerate(splits):
            name = case.names[column]
            if left >= 0 and name in columns:
                threshold = tree["split_conditions"][node]
                moved = (threshold - case.low[name]) / case.range[name] - 0.5
                tree["split_conditions"][node] = float(np.float32(moved))
    path = case.folder / "scaled.json"
    path.write_text(json.dumps(plain), encoding="utf-8")
    return load(path)


class Unscaled:
    """A model as RobustX asks it, on columns scaled to [0, 1]."""

    def __init__(self, case: Case) -> None:
        self._case, self._model = case, case.model

    def _rows(self, X: Any) -> Any:
        rows = np.asarray(X, dtype=np.float64).reshape(-1, len(self._case.names))
        # Scaling and back is not exact: whole numbers are to come back whole.
        return np.round(rows * self._case.range.to_numpy() + self._case.low.to_numpy(), 3)

    def predict(self, X: Any) -> pd.DataFrame:
        """Decide about rows."""
        return pd.DataFrame(self._model.predict(self._rows(X)), columns=["prediction"])

    def predict_single(self, x: Any) -> int:
        """Decide about one row."""
        return int(self._model.predict(self._rows(x))[0])

    def predict_proba(self, X: Any) -> pd.DataFrame:
        """Score rows."""
        return pd.DataFrame(self._model.predict_proba(self._rows(X)))


def robustx(case: Case, method: str) -> Ask:
    """RobustX (RoCELib on PyPI) with its own settings, on columns scaled to [0, 1].

    It refuses XGBoost's own class, but takes any object that answers like this.
    """
    rows = (case.X - case.low) / case.range
    path = case.folder / "scaled.csv"
    rows.assign(target=case.y).to_csv(path, index=False)
    loader = import_module("rocelib.datasets.custom_datasets.CsvDatasetLoader")
    data = loader.CsvDatasetLoader(str(path), "target", 0)
    model = Unscaled(case)
    tasks = import_module("rocelib.tasks.ClassificationTask")
    task = tasks.ClassificationTask(model, data)
    search = task.methods[method](task)

    def ask(person: pd.DataFrame) -> Answer | None:
        own = ((person - case.low) / case.range).iloc[0]
        found = search.generate_for_instance(own, neg_value=0, column_name="target")
        scaled = np.asarray(found, dtype=np.float64)[0, : len(case.names)]
        point = scaled * case.range.to_numpy() + case.low.to_numpy()
        return point, model.predict_single(scaled) == 1

    return ask


#: For each tool how to set it up, and the package whose version counts.
TOOLS: dict[str, tuple[Callable[[Case, int], Ask], str]] = {
    DEFAULT: (lambda case, _: robx_method(case, DEFAULT), "robx"),
    "RobX": (lambda case, _: robx_method(case, "RobX"), "robx"),
    "Closest": (lambda case, _: robx_method(case, "Closest"), "robx"),
    "DiCE random": (lambda case, _: dice(case, "random"), "dice-ml"),
    "DiCE genetic": (lambda case, _: dice(case, "genetic"), "dice-ml"),
    "NICE": (lambda case, _: nice(case, "sparsity"), "NICEx"),
    "OCEAN": (ocean, "oceanpy"),
    "RobustX KDTreeNNCE": (lambda case, _: robustx(case, "KDTreeNNCE"), "RoCELib"),
    "RobustX BinaryLinearSearch": (lambda case, _: robustx(case, "BinaryLinearSearch"), "RoCELib"),
}


@contextlib.contextmanager
def limited(limit: int) -> Iterator[None]:
    """Raise TimeoutError after some seconds of the clock."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        yield
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what tools print, and their warnings, to themselves."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def seconds_of(call: Callable[[], Any]) -> tuple[Any, float]:
    """Give what a call returns, and the processor time it took, threads of its own included."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def asked(ask: Ask, person: pd.DataFrame, limit: int) -> dict[str, Any]:
    """Ask about one applicant: the line to write, whatever the tool does."""
    start = time.process_time()
    try:
        with limited(limit), quiet():
            answer, why = ask(person), "nothing found"
    except TimeoutError:
        answer, why = None, "time limit"
    except Exception as error:  # a tool that fails has not answered
        answer, why = None, f"{type(error).__name__}: {error}"[:200]
    line: dict[str, Any] = {"seconds": time.process_time() - start}
    if answer is None or not np.isfinite(answer[0]).all():
        return line | {"point": None, "accepted": False, "why": why}
    return line | {"point": [float(v) for v in answer[0]], "accepted": answer[1], "why": ""}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--lock", nargs="*", default=[])
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the state that the tools draw from
    case = Case(given.folder, given.lock)
    make, package = TOOLS[given.tool]
    with given.out.open("a", encoding="utf-8") as out:

        def write(line: dict[str, Any]) -> None:
            out.write(json.dumps(line) + "\n")
            out.flush()

        try:
            version = metadata.version(package)
            with quiet():
                make(case, given.limit)  # loads and compiles what is loaded once in a process
                ask, took = seconds_of(lambda: make(case, given.limit))
        except (ImportError, metadata.PackageNotFoundError) as error:
            write({"missing": str(error)})
            return
        scores = [float(v) for v in case.model.predict_proba(case.people)[:, 1]]
        versions = {package: version, "xgboost": xgb.__version__}
        write({"setup": took, "versions": versions, "scores": scores})
        for i in range(given.start, len(case.people)):
            write(asked(ask, case.people.iloc[[i]], given.limit))
        if package == "robx":  # made for batches: everybody at once, on a problem nobody has asked
            with quiet():
                fresh = make(case, given.limit)
                write({"batch": seconds_of(lambda: fresh(case.people))[1] / len(case.people)})


if __name__ == "__main__":
    main()
