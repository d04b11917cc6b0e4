from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import robx
from robx.trees import TreeEnsemble

#: Folded pipelines of an earlier release, and what the pipelines said; `make_stored_pipelines.py`
#: writes them.
FOLDER = Path(__file__).parent / "stored_pipelines"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.robx")), ids=lambda path: path.stem)
def test_a_stored_pipeline_scores_as_it_did(path: Path) -> None:
    answers = json.loads(path.with_suffix(".rows.json").read_bytes())
    rows = pd.DataFrame(answers["rows"]["data"], columns=answers["rows"]["columns"])
    for name, values in answers["hex"].items():  # to the last bit
        rows[name] = [float.fromhex(value) for value in values]
    ensemble = robx.import_model(path)
    assert isinstance(ensemble, TreeEnsemble)
    assert any(column.is_category for column in ensemble.columns)
    assert any(column.is_ignored for column in ensemble.columns)
    np.testing.assert_allclose(ensemble.score(rows), answers["probability"], atol=1e-6, rtol=0)
    assert len(rows) >= 30


def test_a_pipeline_of_each_library_is_stored() -> None:
    assert {path.stem for path in FOLDER.glob("*.robx")} == {
        *("xgboost", "lightgbm", "catboost", "forest", "hist")
    }
