"""`robx compile`: after it, answers compile nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_cases import Run
from powerless import copied, locked, run_powerless

#: Answers for models of every family, with all kinds of features; then what was compiled for them.
ANSWERS = """
import json, warnings
warnings.simplefilter("ignore")
import lightgbm, numpy as np, pandas as pd, xgboost
from catboost import CatBoostClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
import robx
from robx.kernels.compiling import census

rng = np.random.default_rng(1)
n = 400
wide = pd.DataFrame({f"x{j}": rng.normal(size=n).round(1 + j % 3) for j in range(5)})
wide["n"] = rng.integers(20, 70, n)
wide["flag"] = rng.random(n) < 0.4
wide["job"] = pd.Categorical(rng.choice(["clerk", "cook", "pilot"], n))
wide["rank"] = rng.integers(0, 4, n)
for j, name in enumerate(["own", "rent"]):
    wide[f"home_{name}"] = (np.arange(n) % 2 == j).astype(int)
gaps = wide.mask(rng.random(wide.shape) < 0.05)
gaps = gaps.assign(**{name: wide[name] for name in wide if name not in ("x1", "x2")})
plain = wide.drop(columns="job")
score = wide.x0 + 0.5 * wide.x1 + (wide.job == "pilot") + wide.home_own - 0.02 * wide.n
two = (score + 0.3 * rng.normal(size=n) > score.median()).astype(int)
three = pd.qcut(score, 3, labels=False)
one = {"n_jobs": 1, "random_state": 0}
few = {"n_estimators": 9, **one}
cases = [
    (xgboost.XGBClassifier(enable_categorical=True, max_depth=4, **few), gaps, two),
    (xgboost.XGBClassifier(max_depth=3, **few), plain.to_numpy(float), three),
    (xgboost.XGBRFClassifier(max_depth=3, **few), plain.astype("float32"), two),
    (lightgbm.LGBMClassifier(verbose=-1, **few), gaps, two),
    (CatBoostClassifier(iterations=9, verbose=0, allow_writing_files=False), plain, two),
    (HistGradientBoostingClassifier(max_iter=9, categorical_features="from_dtype"), gaps, three),
    (RandomForestClassifier(min_samples_leaf=5, **few), plain, two),
]
for model, X, y in cases:
    model.fit(X, y)
    schema = robx.Schema.infer(X)
    if "rank" in getattr(X, "columns", ()):
        schema = schema.override(n={"change": "increase"}, rank={"change": "none"})
    given = {"schema": schema, "target": int(y.max()), "y_train": y}
    answer = robx.explain(model, X, X[:24], n_models=6, keep=None, n_answers=2, **given)
    assert answer.ok.sum() > 3, (model, answer)
    robx.explain(model, X, X[:1], n_models=6, keep=None, max_changes=2, **given)
    robx.explain(model, X, X[:9], method=robx.RobX(), **given)
    robx.explain(model, X, X[:9], method=robx.Closest(), **given)
counted = census()
print(json.dumps([counted.n_compiled, counted.n_found, counted.folders]))
"""


@pytest.mark.skipif(
    "ROBX_TEST_COMPILE" not in os.environ, reason="takes minutes: see make test-compile"
)
def test_answers_compile_nothing_after_it_although_nothing_can_be_written(tmp_path: Path) -> None:
    place, temporary = copied(tmp_path / "installed"), tmp_path / "tmp"
    temporary.mkdir()
    env = {**os.environ, "PYTHONPATH": str(place), "HOME": os.devnull, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "robx", "compile", "--json"]
    ran = subprocess.run(
        command, env=env, cwd=temporary, capture_output=True, text=True, check=True
    )
    said = json.loads(ran.stdout)
    assert {Path(folder).is_relative_to(place) for folder in said["folders"]} == {True}
    assert said["compiled"] == len(list(place.rglob("*.nbc"))) > 50
    assert (said["found"], said["not_kept"]) == (0, 0)
    locked(place)
    temporary.chmod(0o555)
    answered = run_powerless(ANSWERS, env=env, cwd=temporary)
    assert answered.returncode == 0, answered.stderr
    n_compiled, n_found, folders = json.loads(answered.stdout.splitlines()[-1])
    assert n_compiled == 0
    assert n_found > 10
    assert {Path(folder).is_relative_to(place) for folder in folders} == {True}


@pytest.mark.slow
def test_it_says_where_the_code_is_and_how_long_it_took(call: Run) -> None:
    ran = call("compile")
    assert ran.code == 0
    assert ran.out.startswith("Compiled ")
    assert " were compiled before.\nThe code is in " in ran.out
    assert Path(ran.out.splitlines()[1].removeprefix("The code is in ")[:-1]).is_dir()
