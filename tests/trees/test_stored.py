from __future__ import annotations

import json
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import robx
from robx.trees import TreeEnsemble
from speed import slow_but

#: Models of several versions of each library, and the answers of the version that made them.
#: `make_stored.py` writes them.
FOLDER = Path(__file__).parent / "stored"
ROWS = ".rows.json"
MODELS = sorted(path for path in FOLDER.iterdir() if not path.name.endswith(ROWS))


def oldest(library: str) -> Path:
    return min(
        (path for path in MODELS if path.name.startswith(f"{library}-")),
        key=lambda path: [int(part) for part in path.stem.split("-")[1].split(".")],
    )


def answers_to(path: Path) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads(path.with_name(path.stem + ROWS).read_bytes())
    return answers


def rows_of(answers: dict[str, Any]) -> NDArray[np.float64]:
    return np.array(answers["rows"], dtype=np.float64)


def frame_of(answers: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(rows_of(answers), columns=answers["columns"])
    codes = frame["region"].fillna(-1).astype(int)
    frame["region"] = pd.Categorical.from_codes(codes, categories=pd.Index(answers["regions"]))
    return frame


#: CatBoost's own files are read in another process, which takes a second each.
FAST = [path for path in MODELS if path.suffix != ".cbm" or path == oldest("catboost")]


@pytest.mark.parametrize("path", slow_but(FAST, MODELS), ids=lambda path: path.name)
def test_a_stored_model_scores_as_the_version_that_wrote_it(path: Path) -> None:
    if path.suffix == ".cbm":
        pytest.importorskip("catboost")
    answers = answers_to(path)
    rows, theirs = rows_of(answers), np.array(answers["probability"])
    assert np.isnan(rows).any()
    assert len(np.unique(theirs[:, 0])) > 5
    for place, label in enumerate(answers["classes"]):
        ensemble = robx.import_model(path, label)
        assert isinstance(ensemble, TreeEnsemble)
        assert_alike(ensemble.score(rows), theirs[:, place])
        if answers["columns"] and ensemble.columns[-1].categories:
            assert_alike(ensemble.score(frame_of(answers)), theirs[:, place])


def assert_alike(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(ours, theirs, atol=1e-6, rtol=0)
    assert ((ours > 0.5) == (theirs > 0.5)).all()


@pytest.mark.parametrize("library", slow_but(["lightgbm"], ["xgboost", "lightgbm", "catboost"]))
def test_the_installed_version_agrees_on_the_oldest_file(library: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    path = oldest(library)
    answers = answers_to(path)
    table = frame_of(answers) if library == "lightgbm" else rows_of(answers)
    robx.import_model(path, answers["classes"][-1], X=table)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_at_least_three_versions_of_each_library_are_stored(library: str) -> None:
    kinds = defaultdict(set)
    for path in MODELS:
        of, version, kind = path.stem.split("-")
        if of == library:
            kinds[version].add(kind + path.suffix)
    assert len(kinds) >= 3
    assert len({frozenset(each) for each in kinds.values()}) == 1, "each version has every kind"


def test_categories_are_known_by_name_where_the_file_names_them() -> None:
    named = {}
    for path in MODELS:
        if path.stem.endswith("categories"):
            ensemble = robx.import_model(path)
            assert isinstance(ensemble, TreeEnsemble)
            assert (ensemble.split_category >= 0).any()
            named[path.name] = ensemble.columns[-1].categories
    regions = ("east", "north", "south", "west")
    assert {name for name, known in named.items() if known == regions} >= {
        "lightgbm-3.3.5-categories.txt",
        "lightgbm-4.7.0-categories.txt",
        "xgboost-3.1.3-categories.json",
        "xgboost-3.4.1-categories.ubj",
    }
    assert set(named.values()) == {regions, None}
