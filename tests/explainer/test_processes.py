"""One explainer in many threads and processes, with or without the libraries that made it."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier

import robx
from explainer_cases import explainer_of, saved, small, small_table
from families import family


def answer(explainer: robx.Explainer) -> str:
    found = explainer.explain(small_table(80))
    assert found.certificate is not None
    return found.to_json()


def loaded_answer(path: str) -> str:
    return answer(robx.Explainer.load(path))


def test_eight_threads_at_once() -> None:
    live, people = explainer_of("xgboost"), family("xgboost").applicants
    loaded = pickle.loads(pickle.dumps(live))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: loaded.explain(people).to_json(), range(8)))
    assert set(found) == {live.explain(people).to_json()}


@pytest.mark.slow
def test_models_may_be_trained_in_other_processes() -> None:
    X = np.random.default_rng(0).random((200, 3)).round(2)
    y, forest = X[:, 0] > 0.5, RandomForestClassifier(5, random_state=0)
    one = robx.Explainer(forest.fit(X, y), X, y, n_models=6, keep=None)
    with parallel_config(backend="multiprocessing", n_jobs=2):
        other = robx.Explainer(forest, X, y, n_models=6, keep=None)
    assert one.explain(X[:20]).to_json() == other.explain(X[:20]).to_json()


def test_a_pickle_holds_what_the_file_holds(tmp_path: Path) -> None:
    data = pickle.dumps(small())
    assert saved(small(), tmp_path).read_bytes() in data
    assert answer(pickle.loads(data)) == answer(small())


@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_another_process(how: str, tmp_path: Path) -> None:
    """Which gets the explainer as a pickle, or loads it by itself."""
    path, expected = saved(small(), tmp_path), answer(small())
    context = multiprocessing.get_context(how)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        pickled = pool.submit(answer, small())
        loaded = pool.submit(loaded_answer, str(path))
        assert pickled.result(timeout=120) == loaded.result(timeout=120) == expected


def test_after_a_fork_while_other_threads_answer() -> None:
    """A child has one thread of its parent's, and nobody who would release a lock."""
    expected = answer(small())
    with ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(answer, small()) for _ in range(4)]
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            same = b"no"
            try:
                same = b"yes" if answer(small()) == expected else b"no"
            finally:
                os.write(write, same)
                os._exit(0)
        os.close(write)
        assert os.read(read, 10) == b"yes"
        os.waitpid(child, 0)
        assert {one.result() for one in busy} == {expected}


ALONE = """
import json, os, sys
threads = int(sys.argv[2])
os.sched_setaffinity(0, set(list(os.sched_getaffinity(0))[:threads]))
import numpy as np
import robx
from robx.explainer import Explainer
explainer = Explainer.load(sys.argv[1])
heavy = ["xgboost", "lightgbm", "catboost", "sklearn", "pandas", "matplotlib", "polars"]
at_load = [name for name in heavy if name in sys.modules]
answer = explainer.explain(np.array(json.loads(sys.argv[3])))
at_last = [name for name in heavy if name in sys.modules]
json.dump([at_load, at_last, answer.points.tolist(), answer.certificate.accepting.tolist(),
           answer.stability.tolist()], sys.stdout)
"""


def run_alone(path: Path, rows: Any, threads: int) -> Any:
    given = [sys.executable, "-c", ALONE, str(path), str(threads), json.dumps(rows.tolist())]
    done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_model_library_is_loaded(threads: int, tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < threads:
        pytest.skip("this machine has too few cores")
    live, rows = explainer_of("xgboost-array"), family("xgboost-array").applicants
    expected = live.explain(rows)
    assert expected.certificate is not None
    at_load, at_last, points, accepting, stability = run_alone(saved(live, tmp_path), rows, threads)
    assert at_load == at_last == []
    assert points == np.asarray(expected.points).tolist()
    assert accepting == expected.certificate.accepting.tolist()
    assert stability == expected.stability.tolist()


@pytest.mark.parametrize("name", ["forest", pytest.param("xgboost", marks=pytest.mark.slow)])
def test_an_explainer_that_was_fitted_on_a_frame_loads_without_pandas(
    name: str, tmp_path: Path
) -> None:
    """Also where a column has a category dtype, which pandas makes once such a frame comes."""
    d = family(name).X.shape[1]
    at_load = run_alone(saved(explainer_of(name), tmp_path), np.zeros((1, d)), 1)[0]
    assert at_load == []
