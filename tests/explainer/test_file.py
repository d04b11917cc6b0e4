"""The file of an explainer: what it holds, who may read it, and what is refused in a sentence."""

from __future__ import annotations

import io
import json
import os
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import robx
from explainer_cases import (
    edited,
    explainer_with_categories,
    saved,
    signed,
    small,
    small_labels,
    small_table,
    unzipped,
)


def refused(data: bytes, folder: Path, **given: Any) -> str:
    """Load bytes from a file, and give the one sentence with which they are refused."""
    file = folder / "x.robx"
    file.write_bytes(data)
    with pytest.raises((robx.InvalidInput, robx.InvalidModel)) as error:
        robx.Explainer.load(file, **given)
    said = str(error.value)
    assert "\n" not in said
    assert "x.robx" in said
    return said


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return saved(small(), tmp_path_factory.mktemp("explainer")).read_bytes()


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return saved(explainer_with_categories(), tmp_path_factory.mktemp("rich")).read_bytes()


# --- what it holds --------------------------------------------------------------------------------


def test_it_holds_accepted_rows_and_neither_others_nor_labels(data: bytes) -> None:
    problem = small().problem
    accepted = {row.tobytes() for row in problem.support.rows}
    others = [row for row in problem.training if row.tobytes() not in accepted]
    assert all(row in data for row in accepted)
    assert others
    assert not any(row.tobytes() in data for row in others)
    labels = small_labels(small_table()).to_numpy()
    for width in ("i1", "i4", "i8", "f8", "?"):
        assert labels.astype(width).tobytes() not in data


def test_the_manifest_lists_every_part(data: bytes) -> None:
    parts = unzipped(data)
    manifest = json.loads(parts.pop("manifest.json"))
    assert manifest["robx_explainer"] == 1
    assert set(manifest["parts"]) == set(parts)
    assert all(one["what"] for one in manifest["parts"].values())


def test_nothing_in_the_zip_tells_when_or_by_whom_it_was_packed(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        assert {one.date_time for one in members} == {(1980, 1, 1, 0, 0, 0)}
        assert {one.compress_type for one in members} == {zipfile.ZIP_STORED}
        assert members[0].filename == "manifest.json"


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        file = saved(small(), tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["credit.robx"]


def test_what_cannot_be_saved_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    file = saved(small(), tmp_path)
    before = file.read_bytes()
    X = small_table()
    box = robx.BlackBox(lambda rows: np.asarray(rows)[:, 0] / 100)
    live = robx.Explainer(box, X, schema=robx.Schema.infer(X))
    with pytest.raises(robx.UnsupportedModel):
        live.save(file)
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["credit.robx"]


def test_a_date_is_kept_if_it_is_given(tmp_path: Path) -> None:
    small().save(tmp_path / "a.robx", date="2026-11-16")
    loaded = robx.Explainer.load(tmp_path / "a.robx")
    assert loaded.describe()["made"] == "2026-11-16"
    assert small().describe()["made"] is None
    with pytest.raises(robx.InvalidInput, match="ISO 8601"):
        small().save(tmp_path / "b.robx", date="yesterday")


# --- what cannot be saved -------------------------------------------------------------------------

BOX = "BlackBox cannot be saved.*Pass the tree model itself.*keep this explainer in the process"
X = small_table()
SCHEMA = robx.Schema.infer(X)
FOREST = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, small_labels(X))


def own_function(problem: robx.Problem, X: Any) -> Any:
    return np.asarray(X) + 1


LINE = LogisticRegression().fit(X, small_labels(X))
UNSAVABLE: dict[str, tuple[Callable[[], robx.Explainer], str]] = {
    "black box": (lambda: robx.Explainer(LINE, X, schema=SCHEMA), f"model is a {BOX}"),
    "retrained black box": (
        lambda: robx.Explainer(
            FOREST,
            X,
            small_labels(X),
            estimator=LINE,
            schema=SCHEMA,
            n_models=6,
            keep=None,
            progress=False,
        ),
        f"retrained model is a {BOX}",
    ),
    "function": (
        lambda: robx.Explainer(FOREST, X, schema=SCHEMA, method=own_function),
        "method own_function cannot be saved.*no code",
    ),
    "face": (
        lambda: robx.Explainer(FOREST, X, schema=SCHEMA, method=robx.Face()),
        "method Face cannot be saved",
    ),
    "table of points": (
        lambda: robx.Explainer(FOREST, X, schema=SCHEMA, method=robx.RobX(base=X)),
        "method Given cannot be saved",
    ),
    "isolation forest": (
        lambda: robx.Explainer(FOREST, X, schema=SCHEMA, realism="forest"),
        "realism='forest' cannot be saved",
    ),
}


@pytest.mark.parametrize("name", UNSAVABLE)
def test_what_cannot_be_saved_is_told_and_still_answers(name: str, tmp_path: Path) -> None:
    make, sentence = UNSAVABLE[name]
    live = make()
    with pytest.raises(robx.RobxError, match=sentence):
        live.save(tmp_path / "a.robx")
    assert list(tmp_path.iterdir()) == []
    assert len(live.explain(X)) == len(X)


def test_the_ending_is_robx(tmp_path: Path) -> None:
    with pytest.raises(robx.InvalidInput, match=r"saved as .robx. Got 'a.zip'"):
        small().save(tmp_path / "a.zip")


# --- what is refused ------------------------------------------------------------------------------


def test_files_that_are_not_there_or_something_else(tmp_path: Path) -> None:
    with pytest.raises(robx.InvalidInput, match="There is no file at"):
        robx.Explainer.load(tmp_path / "none.robx")
    with pytest.raises(robx.InvalidInput, match="is a folder"):
        robx.Explainer.load(tmp_path)
    assert "not an explainer" in refused(b"hello", tmp_path)
    assert "not an explainer" in refused(b"\x80\x04K\x01.", tmp_path)
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("a.txt", "hello")
    assert "not an explainer" in refused(other.getvalue(), tmp_path)
    np.savez_compressed(tmp_path / "arrays.npz", a=np.zeros(100))
    assert "not an explainer" in refused((tmp_path / "arrays.npz").read_bytes(), tmp_path)


def test_a_model_and_an_explainer_are_told_apart(tmp_path: Path, data: bytes) -> None:
    model = robx.import_model(FOREST)
    assert isinstance(model, robx.TreeEnsemble)
    model.save(tmp_path / "model.robx")
    with pytest.raises(robx.InvalidInput, match=r"holds a model, which robx.import_model reads"):
        robx.Explainer.load(tmp_path / "model.robx")
    (tmp_path / "explainer.robx").write_bytes(data)
    with pytest.raises(robx.InvalidModel, match=r"an explainer is read by robx.Explainer.load"):
        robx.import_model(tmp_path / "explainer.robx")


def test_a_newer_format_is_named(data: bytes, tmp_path: Path) -> None:
    parts = unzipped(data)
    manifest = json.loads(parts["manifest.json"]) | {"robx_explainer": 2, "robx": "9.0"}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, part in {**parts, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, part)
    said = refused(out.getvalue(), tmp_path)
    assert "format 2 of a newer robx (9.0)" in said
    assert "Upgrade robx" in said


def test_a_file_that_is_cut_off_anywhere(data: bytes, tmp_path: Path) -> None:
    for end in np.linspace(0, len(data) - 1, 60).astype(int)[1:].tolist():
        assert "is damaged: its end is missing." in refused(data[:end], tmp_path)


def test_a_changed_byte_anywhere_is_noticed_or_means_nothing(data: bytes, tmp_path: Path) -> None:
    file, rng, n_refused = tmp_path / "y.robx", np.random.default_rng(0), 0
    for at in rng.integers(0, len(data), 80).tolist():
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        try:
            loaded = robx.Explainer.load(file)
        except (robx.InvalidInput, robx.InvalidModel):
            n_refused += 1
            continue
        loaded.save(tmp_path / "z.robx")  # a byte of the zip that tells nothing
        assert (tmp_path / "z.robx").read_bytes() == data
    assert n_refused > 60


def test_parts_that_are_compressed_doubled_or_not_listed(data: bytes, tmp_path: Path) -> None:
    parts = unzipped(data)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    assert "a part is compressed" in refused(out.getvalue(), tmp_path)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, part in [*parts.items(), ("codes.npy", b"")]:
            archive.writestr(name, part)
    assert "two of one name" in refused(out.getvalue(), tmp_path)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, part in {**parts, "../../evil.sh": b"rm"}.items():
            archive.writestr(name, part)
    assert "not listed in the manifest" in refused(out.getvalue(), tmp_path)
    assert "explainers do not have" in refused(signed({**parts, "more.npy": b""}), tmp_path)
    assert "lacks the part" in refused(
        signed({name: part for name, part in parts.items() if name != "schema.json"}), tmp_path
    )


def test_a_budget_is_kept(data: bytes, tmp_path: Path) -> None:
    said = refused(data, tmp_path, budget=robx.Budget(max_bytes=1000))
    assert "max_bytes" in said
    said = refused(data, tmp_path, budget=robx.Budget(max_memory=10_000))
    assert "max_memory" in said


def put(place: Any, value: Any) -> Callable[[Any], None]:
    def change(array: Any) -> None:
        array[place] = value

    return change


#: What a file may say with all its digests right: a part, a change of it, and what is said.
LIES: list[tuple[str, str, Callable[[Any], object], str]] = [
    ("small", "support/rows.npy", put((0, 0), np.inf), "numbers that cannot be"),
    ("small", "support/rows.npy", lambda rows: rows[:, :2], "not of one table"),
    ("small", "support/rows.npy", lambda rows: rows.astype("f4"), "not <f8"),
    ("small", "support/rows.npy", lambda rows: rows.ravel(), "1 dimensions"),
    ("small", "support/scores.npy", put(0, 0.1), "numbers that cannot be"),
    ("small", "support/scores.npy", put(0, np.nan), "numbers that cannot be"),
    ("small", "training/seen.npy", put((0, 0), 1e9), "numbers that cannot be"),
    ("small", "training/middles.npy", put(0, np.nan), "numbers that cannot be"),
    ("small", "warmth/draws.npy", put((0, 0), np.nan), "its draws"),
    ("small", "warmth/draws.npy", lambda noise: noise[:, :2], "its draws"),
    ("small", "warmth/stability.npy", lambda found: found[:, :-1], "'stability'"),
    ("small", "warmth/mean_scores.npy", put(0, np.inf), "'mean_scores'"),
    ("small", "warmth/neighbours.npy", put((0, 0), 10**6), "neighbours"),
    ("small", "warmth/neighbours.npy", put((0, 0), -1), "neighbours"),
    ("small", "warmth/distances.npy", put((0, 0), -1.0), "neighbours"),
    ("small", "warmth/outlier_scores.npy", put(0, np.nan), "outlier_scores"),
    ("small", "explainer.json", put("threshold", 1.5), "threshold"),
    ("small", "explainer.json", put("n_training", 3), "number of training rows"),
    ("small", "explainer.json", put("n_training", "many"), "number of training rows"),
    ("small", "explainer.json", put("drawn", 7), "'drawn'"),
    ("small", "explainer.json", put("date", "soon"), "ISO 8601"),
    ("small", "explainer.json", put("notes", {"wanted": []}), "notes"),
    ("small", "explainer.json", put("versions", [1]), "versions"),
    ("small", "explainer.json", put("more", 1), "fields of format 1"),
    ("small", "explainer.json", lambda about: about["method"].update(method="eval"), "'eval'"),
    (
        "small",
        "explainer.json",
        lambda about: about["method"]["parameters"].update(level=3),
        "'level' parameter of Frugal",
    ),
    (
        "small",
        "explainer.json",
        lambda about: about["method"]["parameters"]["noise"]["noise"].update(n_draws=10**12),
        "n_draws",
    ),
    (
        "small",
        "explainer.json",
        lambda about: about["method"]["parameters"].update(surprise=1),
        "parameters of Frugal",
    ),
    ("small", "schema.json", lambda schema: schema["features"].reverse(), "differ"),
    ("small", "schema.json", lambda schema: schema["features"].pop(), "differ"),
    ("small", "schema.json", lambda schema: schema["features"][0].pop("scale"), "no scale"),
    ("small", "layout.json", put("kind", "csv"), "kind 'csv'"),
    ("small", "layout.json", lambda layout: layout["columns"].pop(), "differ in number"),
    (
        "small",
        "layout.json",
        lambda layout: layout["columns"][0].update(dtype={"numpy": "<M8"}),
        "dtype",
    ),
    (
        "small",
        "layout.json",
        lambda layout: layout["columns"][0].update(family="text"),
        "does not hold what it says",
    ),
    ("rich", "codes.npy", put((2, 0), 10**9), "a code that its model does not have"),
    ("rich", "codes.npy", put((2, 0), 0.5), "a code that its model does not have"),
    ("rich", "codes.npy", put((1, 0), 77.0), "not those of its levels"),
    ("rich", "codes.npy", put((0, 0), 0.0), "not those of its levels"),
    ("rich", "codes.npy", lambda codes: codes[:2], "columns, levels and codes"),
    ("rich", "support/rows.npy", put((0, -1), 99.0), "breaks the rules"),
]


@pytest.mark.parametrize("place", range(len(LIES)))
def test_a_file_that_lies_with_right_digests(
    place: int, data: bytes, rich: bytes, tmp_path: Path
) -> None:
    which, part, change, said = LIES[place]
    held = data if which == "small" else rich
    assert said in refused(edited(held, part, change), tmp_path)


def test_models_of_another_target_are_refused(data: bytes, tmp_path: Path) -> None:
    from robx.trees import store

    parts = unzipped(data)
    other = robx.import_model(FOREST, target=0)
    assert isinstance(other, robx.TreeEnsemble)
    parts["certifying/0002.robx"] = store.to_bytes(other)
    assert "of another model" in refused(signed(parts), tmp_path)


# --- a restored problem ---------------------------------------------------------------------------


def test_what_needs_all_training_rows_says_so(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.robx").write_bytes(data)
    problem = robx.Explainer.load(tmp_path / "a.robx").problem
    sentence = "loaded from a file, which holds the accepted training rows and no others"
    with pytest.raises(robx.InvalidInput, match=sentence):
        robx.Face().explain(problem, X)
    with pytest.raises(robx.InvalidInput, match=sentence):
        robx.plots.stability_table(problem)
    assert problem.is_restored
    assert repr(problem) == repr(small().problem)


def test_other_methods_take_a_restored_problem(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.robx").write_bytes(data)
    loaded, live = robx.Explainer.load(tmp_path / "a.robx").problem, small().problem
    for method in (robx.RobX(), robx.Conservative(), robx.Closest()):
        assert method.explain(loaded, X).to_json() == method.explain(live, X).to_json()


def test_models_that_searched_do_not_certify_after_loading(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.robx").write_bytes(data)
    loaded = robx.Explainer.load(tmp_path / "a.robx")
    answer = loaded.explain(X)
    with pytest.raises(robx.InvalidInput, match="was used to choose"):
        robx.certify(loaded.problem, answer, list(loaded.method.models))  # type: ignore[attr-defined]
    assert robx.certify(loaded.problem, answer, list(loaded.certifying)).certificate is not None
