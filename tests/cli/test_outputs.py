"""Files that commands write: looked at before any work, and never an input or an old file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pandas as pd
import pytest

import robx
from cli_cases import Run
from robx.cli import COMMANDS, robx_command
from robx.cli.outputs import NewFile, NewFolder, WritingCommand


def words_of(folder: Path, recourse: Path, place: Path) -> dict[str, tuple[list[object], Path]]:
    """Every command that writes files, and one of its inputs, whose ending an output may have."""
    data: list[object] = ["--model", folder / "model.ubj", "--data", folder / "train.csv"]
    label: list[object] = ["--label", "good"]
    people: list[object] = ["--applicants", folder / "people.csv"]
    out: list[object] = ["--out", place]
    return {
        "explain": (["explain", *data, *people, *out], folder / "people.csv"),
        "schema": (["schema", folder / "rows.json.csv", *out], folder / "schema.yaml"),
        "report": (["report", recourse, *out], recourse),
        "check": (["check", "--model", folder / "new.ubj", recourse, *out], folder / "people.csv"),
        "stability": (["stability", *data, *label, *out], folder / "train.csv"),
        "tau": (["tau", *data, *label, *people, *out], folder / "people.csv"),
        "evaluate": (["evaluate", *data, *label, *out], folder / "train.csv"),
    }


READ = ("explain", "report", "stability", "tau", "evaluate")
WRITING = (*READ, "check", "schema")


def test_every_command_with_an_output_looks_at_it_first() -> None:
    for name in COMMANDS:
        command = robx_command.get_command(click.Context(robx_command), name)
        assert command is not None
        outputs = [param for param in command.params if isinstance(param.type, NewFile | NewFolder)]
        named = [param for param in command.params if {"--out", "--plot"} & set(param.opts)]
        assert outputs == named, name
        assert isinstance(command, WritingCommand) == bool(outputs), name


LINKS: dict[str, Callable[[Path, Path], object]] = {
    "itself": lambda old, new: None,
    "symbolic": lambda old, new: new.symlink_to(old),
    "hard": lambda old, new: new.hardlink_to(old),
    "folder": lambda old, new: (new.parent.rmdir(), new.parent.symlink_to(old.parent)),  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("name", READ)
def test_an_output_that_is_an_input_is_refused_whatever_its_name(
    folder: Path, recourse: Path, call: Run, tmp_path: Path, name: str, link: str
) -> None:
    (tmp_path / "links").mkdir()
    _, old = words_of(folder, recourse, tmp_path)[name]
    new = tmp_path / "links" / old.name
    LINKS[link](old, new)
    out = Path(os.path.relpath(old)) if link == "itself" else new
    words, _ = words_of(folder, recourse, out)[name]
    before = old.read_bytes()
    for force in ([], ["--force"]):
        ran = call(*words, *force)
        assert ran.code == 2
        assert f"--out '{out}' and " in ran.err
        assert f"'{old}' are the same file. Name another file to write to." in ran.err
    assert old.read_bytes() == before


def test_two_outputs_that_are_one_file_are_refused(
    folder: Path, recourse: Path, call: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.png").symlink_to(tmp_path / "a.csv")
    words, _ = words_of(folder, recourse, tmp_path / "a.csv")["tau"]
    ran = call(*words, "--plot", tmp_path / "a.png")
    assert ran.code == 2
    assert "are the same file" in ran.err


@pytest.mark.parametrize("name", WRITING)
def test_an_old_file_stays_without_force(
    folder: Path, recourse: Path, call: Run, tmp_path: Path, name: str
) -> None:
    ending = {"schema": ".yaml", "report": ".md"}.get(name, ".csv")
    old = tmp_path / f"old{ending}"
    old.write_text("mine")
    words, _ = words_of(folder, recourse, old)[name]
    ran = call(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"Error: '{old}' exists already. --force overwrites it.\n"
    assert old.read_text() == "mine"


@pytest.mark.parametrize("name", ["check", "schema", "report"])
def test_force_overwrites_an_old_file_and_keeps_its_permissions(
    folder: Path, recourse: Path, call: Run, tmp_path: Path, name: str
) -> None:
    ending = {"schema": ".yaml", "report": ".md"}.get(name, ".csv")
    old = tmp_path / f"old{ending}"
    old.write_text("mine")
    old.chmod(0o640)
    (folder / "rows.json.csv").write_bytes((folder / "train.csv").read_bytes())
    words, _ = words_of(folder, recourse, old)[name]
    assert call(*words, "--force").code == 0
    assert old.read_text() != "mine"
    assert old.stat().st_mode & 0o777 == 0o640


def test_the_demo_does_not_overwrite_what_somebody_edited(call: Run, tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text("mine")
    ran = call("demo", "--out", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert f"'{tmp_path / 'schema.yaml'}' exists already. --force overwrites it." in ran.err
    assert [file.name for file in tmp_path.iterdir()] == ["schema.yaml"]


@pytest.mark.parametrize("name", WRITING)
def test_a_place_that_cannot_be_written_is_refused_before_any_input_is_read(
    tmp_path: Path, call: Run, name: str
) -> None:
    ending = {"schema": ".yaml", "report": ".md"}.get(name, ".csv")
    (tmp_path / f"loop{ending}").symlink_to(f"loop{ending}")
    (tmp_path / f"full{ending}").symlink_to("/dev/full")
    nowhere = tmp_path / "nowhere"
    for place, message in [
        (tmp_path / f"loop{ending}", "cannot be written: Too many levels of symbolic links. Name"),
        (tmp_path / f"full{ending}", "is not an ordinary file. Name another to write to."),
        (Path(f"/proc/a{ending}"), "cannot be written: No such file or directory. Name another"),
    ]:
        words, _ = words_of(nowhere, nowhere / "recourse.json", place)[name]
        ran = call(*words, "--force")
        assert ran.code == 2
        assert ran.err.startswith(f"Error: '{place}' {message}"), ran.err
        assert ran.err.count("\n") == 1


FULL = """
import resource, sys
import robx
answers = robx.Counterfactuals.load(sys.argv[1])
page, record = robx.report(answers), answers.table
page.markdown
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
for save, name in [
    (answers.save, "a.json"),
    (answers.save, "a.csv"),
    (answers.save, "a.parquet"),
    (page.save, "a.md"),
    (answers.schema.save, "a.yaml"),
]:
    try:
        save(f"{sys.argv[2]}/{name}")
    except robx.InvalidInput as error:
        print(name, error)
"""


def test_a_disk_that_fills_up_is_one_sentence_and_leaves_nothing(
    recourse: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", FULL, str(recourse), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = ran.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["a.json", "a.csv", "a.parquet", "a.md", "a.yaml"]
    for line in lines:
        assert "' cannot be written: " in line
        assert "File too large" in line
        assert line.endswith("Free some space, or name a file on another disk.")
    assert list(tmp_path.iterdir()) == []


# --- standard output ------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["-", "/dev/stdout"])
def test_an_output_to_the_screen_is_refused_with_what_to_do(
    folder: Path, recourse: Path, call: Run, where: str
) -> None:
    words, _ = words_of(folder, recourse, Path(where))["tau"]
    ran = call(*words)
    assert ran.code == 2
    assert f"Got '{where}'. To print the result, leave --out out." in ran.err


def shell(command: str) -> subprocess.CompletedProcess[str]:
    whole = command.replace("robx", f"{sys.executable} -m robx", 1)
    return subprocess.run(
        ["/bin/bash", "-c", whole],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_full_disk_behind_standard_output_is_one_sentence() -> None:
    ran = shell("robx --help > /dev/full")
    assert ran.returncode == 2
    what = "No space left on device. Redirect it elsewhere."
    assert ran.stderr == f"Error: Standard output cannot be written: {what}\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_command_works_with_closed_outputs(closed: str, folder: Path, tmp_path: Path) -> None:
    ran = shell(f"robx schema {folder}/train.csv --out {tmp_path}/s.yaml {closed}")
    assert ran.returncode == 0
    assert [file.name for file in tmp_path.iterdir()] == ["s.yaml"]
    assert robx.Schema.load(tmp_path / "s.yaml").names[0] == "checking"


def test_a_reader_of_remarks_that_stops_does_not_stop_the_work(
    folder: Path, tmp_path: Path
) -> None:
    ran = shell(f"robx schema {folder}/train.csv --out {tmp_path}/s.yaml 2>&1 >&- | true")
    assert ran.returncode == 0
    code = (
        "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 2)\n"
        "from robx.cli import main; main(sys.argv[1:])"
    )
    words = ["schema", folder / "train.csv", "--out", tmp_path / "t.yaml"]
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], check=False)
    assert done.returncode == 0
    assert (tmp_path / "t.yaml").exists()


# --- what is said ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_escaped_names_are_remarked_on_and_checked_as_they_are(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    people = pd.read_csv(folder / "people.csv").head(12)
    people["who"] = [f"=HYPERLINK({i})" for i in range(len(people))]
    people.to_csv(tmp_path / "people.csv", index=False)
    words: list[object] = ["explain", "--model", folder / "model.ubj", "--id", "who"]
    words += ["--data", folder / "train.csv", "--label", "good", "--params", folder / "params.yaml"]
    words += ["--applicants", tmp_path / "people.csv", "--models", 6, "--keep", "none"]
    said = call(*words, "--out", tmp_path / "answers.csv")
    assert said.code == 0, said.err
    assert "\n12 texts in 'answers.csv' begin as a formula does. An apostrophe" in f"\n{said.err}"
    assert "'=HYPERLINK(3)" in (tmp_path / "answers.csv").read_text()
    check = ["check", "--model", folder / "new.ubj", tmp_path / "answers.csv", "--all"]
    kept = call(*check, "--out", tmp_path / "kept.csv")
    assert {row["applicant"] for row in kept.rows} <= set(people["who"])
    assert "texts in 'kept.csv' begin as a formula does" in kept.err
    assert "formula" not in call(*words, "--out", tmp_path / "answers.parquet").err


def test_standard_output_is_pure_json_whatever_libraries_print(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    import skops.io
    from sklearn.ensemble import GradientBoostingClassifier

    table = pd.read_csv(folder / "train.csv")
    X, y = table.drop(columns="good"), table["good"]
    loud = GradientBoostingClassifier(n_estimators=10, verbose=1, random_state=0)
    skops.io.dump(loud.fit(X, y), tmp_path / "loud.skops")
    words: list[object] = ["explain", "--model", tmp_path / "loud.skops", "--label", "good"]
    words += ["--data", folder / "train.csv", "--applicants", folder / "people.csv"]
    ran = call(*words, "--id", "who", "--models", 6, "--keep", "none", "--json")
    assert len(ran.json["applicants"]) == 120
    assert "Train Loss" in ran.err


@pytest.mark.parametrize("link", ["itself", "symbolic", "hard"])
def test_a_file_in_a_folder_that_is_read_is_not_overwritten(
    folder: Path, recourse: Path, call: Run, tmp_path: Path, link: str
) -> None:
    issued = tmp_path / "issued" / "january.json"
    issued.parent.mkdir()
    issued.write_bytes(recourse.read_bytes())
    LINKS[link](issued, tmp_path / "new.json")
    out = issued if link == "itself" else tmp_path / "new.json"
    ran = call("check", folder / "new.ubj", issued.parent, "--out", out, "--force")
    assert ran.code == 2
    assert f"--out '{out}' and RECOURSE... '{issued}' are the same file." in ran.err
    assert issued.read_bytes() == recourse.read_bytes()


def test_endings_in_capitals_work_as_small_ones(
    folder: Path, recourse: Path, call: Run, tmp_path: Path
) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "LARGE").mkdir()
    (folder / "rows.json.csv").write_bytes((folder / "train.csv").read_bytes())
    endings = {"schema": (".yaml", ".json"), "report": (".md",), "check": (".csv", ".json")}
    endings["explain"] = (".json", ".csv", ".parquet")
    for name, ends in endings.items():
        for ending in ends:
            for out in (f"small/{name}{ending}", f"LARGE/{name}{ending.upper()}"):
                words, _ = words_of(folder, recourse, tmp_path / out)[name]
                assert call(*words).code == 0, out
            small, large = (tmp_path / "small" / name, tmp_path / "LARGE" / name)
            if ending != ".parquet":
                written = large.with_suffix(ending.upper()).read_text(encoding="utf-8")
                assert written == small.with_suffix(ending).read_text(encoding="utf-8")
    for ending in (".JSON", ".CSV", ".PARQUET"):
        answers = tmp_path / "LARGE" / f"explain{ending}"
        assert call("check", folder / "new.ubj", answers).code == 0
