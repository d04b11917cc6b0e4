from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys

import pytest

import robx

HEAVY = [
    *("catboost", "lightgbm", "matplotlib", "numba", "pandas", "polars", "pyarrow", "scipy"),
    *("sklearn", "torch", "treelite", "xgboost", "joblib", "scipy.stats", "scipy.optimize"),
]
REPORT = f"\nimport json, sys\nprint(json.dumps([name for name in {HEAVY} if name in sys.modules]))"


def loaded_by(script: str) -> list[str]:
    """Which of the heavy libraries a fresh process has loaded after a script."""
    done = subprocess.run(
        [sys.executable, "-c", script + REPORT], capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_probe_sees_what_is_loaded() -> None:
    assert "scipy" in loaded_by("import scipy")


def test_importing_robx_loads_no_heavy_library() -> None:
    assert loaded_by("import robx\ndir(robx)\nrobx.__version__\nrobx.InvalidInput") == []


def test_a_scikit_learn_model_loads_no_other_model_library() -> None:
    script = """
from sklearn.ensemble import RandomForestClassifier
import robx
X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
forest = RandomForestClassifier(3, random_state=0).fit(X, y)
ensemble = robx.import_model(forest, X=X)
assert type(ensemble).__name__ == "TreeEnsemble"
assert ensemble.score(X).tolist() == forest.predict_proba(X)[:, 1].tolist()
"""
    loaded = loaded_by(script)
    assert "sklearn" in loaded
    assert not {"xgboost", "lightgbm", "catboost", "treelite", "polars", "torch"} & set(loaded)


def test_a_model_file_is_read_without_its_library_or_scikit_learn(tmp_path: object) -> None:
    path = f"{tmp_path}/model.json"
    save = f"""
import xgboost
model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit([[0.0], [1.0]] * 9, [0, 1] * 9)
model.save_model({path!r})
"""
    assert "xgboost" in loaded_by(save)
    loaded = loaded_by(f"import robx\nassert len(robx.import_model({path!r}).score([[0.5]])) == 1")
    assert not {"xgboost", "lightgbm", "catboost", "sklearn", "pandas"} & set(loaded)


def test_a_process_that_only_answers_loads_neither_scikit_learn_nor_scipy_stats(
    tmp_path: object,
) -> None:
    save = f"""
import numpy as np
from xgboost import XGBClassifier
X = np.random.default_rng(0).random((200, 3)).round(2)
for k in range(7):
    model = XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1).fit(X[k:], X[k:, 0] > 0.5)
    model.save_model(f"{tmp_path}/{{k}}.json")
np.save("{tmp_path}/X.npy", X)
"""
    assert {"xgboost", "sklearn", "scipy.stats"} <= set(loaded_by(save))
    answer = f"""
import numpy as np
import robx
X = np.load("{tmp_path}/X.npy")
model, *retrained = [robx.import_model(f"{tmp_path}/{{k}}.json") for k in range(7)]
schema = robx.Schema([robx.Feature(str(j), scale=1.0) for j in range(3)])
problem = robx.Problem(model, X, schema)
found = robx.Frugal(models=retrained[:2]).explain(problem, X[X[:, 0] < 0.3][:2])
found = robx.certify(problem, found, retrained[2:])
assert found.ok.all() and found.certificate is not None
"""
    slow = {"joblib", "pandas", "scipy.optimize", "scipy.stats", "sklearn", "xgboost"}
    loaded = set(loaded_by(answer))
    assert "numba" in loaded
    assert not slow & loaded


@pytest.mark.parametrize("name", robx.__all__)
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(robx, name)
    assert found.__name__ in {name, f"robx.{name}"}
    assert found.__doc__


def test_public_names_are_listed_once_and_completely() -> None:
    assert len(set(robx.__all__)) == len(robx.__all__)
    assert dir(robx) == sorted(robx.__all__)
    assert {"import_model", "stability", "is_stable", "BlackBox", "TreeEnsemble"} <= set(dir(robx))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module 'robx' has no attribute 'explode'"):
        robx.explode  # noqa: B018
    assert not hasattr(robx, "np")


def test_every_error_is_of_the_family_and_of_the_builtin_that_a_caller_expects() -> None:
    assert issubclass(robx.InvalidInput, robx.RobxError)
    assert issubclass(robx.InvalidInput, ValueError)
    assert issubclass(robx.InvalidModel, robx.RobxError)
    assert issubclass(robx.InvalidModel, ValueError)
    assert issubclass(robx.ImportMismatch, robx.RobxError)
    assert issubclass(robx.ImportMismatch, ValueError)
    assert issubclass(robx.UnsupportedModel, robx.RobxError)
    assert issubclass(robx.UnsupportedModel, TypeError)
    assert not issubclass(robx.RobxError, ValueError)


def test_the_version_is_the_one_that_is_installed() -> None:
    assert robx.__version__ == importlib.metadata.version("robx")
