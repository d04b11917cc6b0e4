"""The installed command on files, as somebody with a model and two tables would use it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx

pytestmark = pytest.mark.slow

Save = Callable[[Any, Path], object]


def _xgboost() -> tuple[Any, str, Save]:
    from xgboost import XGBClassifier

    model = XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1)
    return model, "ubj", lambda fitted, file: fitted.save_model(file)


def _lightgbm() -> tuple[Any, str, Save]:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=30, num_leaves=7, n_jobs=1, verbose=-1)
    return model, "txt", lambda fitted, file: fitted.booster_.save_model(file)


def _catboost() -> tuple[Any, str, Save]:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=30, depth=3, thread_count=1, allow_writing_files=False, verbose=False
    )
    return model, "cbm", lambda fitted, file: fitted.save_model(str(file))


def _sklearn() -> tuple[Any, str, Save]:
    import skops.io
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(30, max_depth=6, random_state=0)
    return model, "skops", skops.io.dump


LIBRARIES = {
    "XGBoost": _xgboost,
    "LightGBM": _lightgbm,
    "CatBoost": _catboost,
    "scikit-learn": _sklearn,
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_from_a_model_and_two_tables_to_a_report_and_after_a_retraining(
    library: str, tmp_path: Path
) -> None:
    model, ending, save = LIBRARIES[library]()
    X, y, _ = robx.datasets.load_german()
    order = np.random.default_rng(1).permutation(len(X))
    today, later, new = order[:400], order[400:800], order[800:]
    fitted = model.fit(X.iloc[today], y.iloc[today])
    score = fitted.predict_proba(X.iloc[new])[:, 1]
    declined = X.iloc[new][score <= 0.5][:25].rename_axis("customer").reset_index()
    save(fitted, tmp_path / f"model.{ending}")
    X.iloc[today].assign(good=y.iloc[today]).to_csv(tmp_path / "train.csv", index=False)
    declined.to_csv(tmp_path / "declined.csv", index=False)

    def call(words: str, code: int = 0) -> str:
        program = shutil.which("robx", path=str(Path(sys.executable).parent))
        assert program is not None, "the robx command is not installed: pip install -e ."
        ran = subprocess.run(
            [program, *words.split()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "error"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, (words, ran.stderr)
        assert "Traceback" not in ran.stderr
        return ran.stdout

    call("schema train.csv --label good --out schema.yaml")
    text = (tmp_path / "schema.yaml").read_text(encoding="utf-8")
    plain = robx.Schema.load(tmp_path / "schema.yaml").override(history={"change": "none"})
    plain.save(tmp_path / "schema.yaml")
    assert "history" in text

    call(
        f"explain --model model.{ending} --data train.csv --label good --models 9 --seed 1 "
        "--keep none "
        "--applicants declined.csv --id customer --schema schema.yaml --out recourse.parquet"
    )
    answer = robx.Counterfactuals.load(tmp_path / "recourse.parquet")
    table = pd.read_parquet(tmp_path / "recourse.parquet")
    assert table["applicant"].tolist() == declined["customer"].tolist()
    assert answer.ok.sum() >= 5
    points = table[answer.ok][list(X.columns)]
    assert (fitted.predict_proba(points)[:, 1] > 0.5).all()
    assert (table["history"] == declined["history"]).all()

    call("report recourse.parquet --out report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(str(name) in page for name in declined["customer"])

    fitted = model.fit(X.iloc[later], y.iloc[later])
    save(fitted, tmp_path / f"new.{ending}")
    kept = json.loads(call(f"check --model new.{ending} recourse.parquet --json"))
    assert kept["share"] == pytest.approx((fitted.predict_proba(points)[:, 1] > 0.5).mean())
    assert kept["share"] > 0.7
    same = json.loads(call(f"check --model model.{ending} recourse.parquet --json"))
    assert (same["share"], same["is_evidence"]) == (1, False)
