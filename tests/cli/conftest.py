"""A folder of real files, and the command in this process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robx
from cli_cases import Ran, Run, train
from robx.cli import run
from robx.trees import child

#: What model libraries said about files, by all that they were asked.
SAID: dict[tuple[object, ...], Any] = {}


@pytest.fixture(autouse=True)
def libraries_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask a library only once about the same file and rows: to start it takes seconds."""

    def once(ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(script: str, library: str, source: Path, *rows: object, **given: object) -> Any:
            key = (script, source.read_bytes(), pickle.dumps((rows, given)))
            if key not in SAID:
                SAID[key] = ask(script, library, source, *rows, **given)
            return SAID[key]

        return asked

    for name in ("score", "convert"):
        monkeypatch.setattr(child, name, once(getattr(child, name)))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `robx` with these arguments."""

    def called(*arguments: object) -> Ran:
        capsys.readouterr()
        code = run([str(one) for one in arguments])
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return called


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """German Credit: a model, a later one, its table, people who apply, and what may change."""
    place = tmp_path_factory.mktemp("files")
    X, y, schema = robx.datasets.load_german()
    order = np.random.default_rng(0).permutation(len(X))
    today, later, new = order[:300], order[300:600], order[600:720]
    model = train(X.iloc[today], y.iloc[today])
    model.save_model(place / "model.ubj")
    train(X.iloc[later], y.iloc[later], 1).save_model(place / "new.ubj")
    X.iloc[today].assign(good=y.iloc[today]).to_csv(place / "train.csv", index=False)
    people = X.iloc[new].rename_axis("who").reset_index()
    people["who"] = "P" + people["who"].astype(str)
    people.to_csv(place / "people.csv", index=False)
    schema.save(place / "schema.yaml")
    (place / "params.yaml").write_text("n_estimators: 25\nmax_depth: 3\n", encoding="utf-8")
    return place


@pytest.fixture(scope="session")
def recourse(folder: Path) -> Path:
    """Answers of the paper's method for these people, as `robx explain` writes them."""
    file = folder / "recourse.json"
    people, data = folder / "people.csv", folder / "train.csv"
    arguments = ["explain", "--model", folder / "model.ubj", "--data", data, "--label", "good"]
    arguments += ["--applicants", people, "--id", "who", "--schema", folder / "schema.yaml"]
    arguments += [
        "--params",
        folder / "params.yaml",
        "--models",
        6,
        "--keep",
        "none",
        "--out",
        file,
        "--quiet",
    ]
    assert run([str(one) for one in arguments]) == 0
    return file
