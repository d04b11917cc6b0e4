"""`robx fit`, `robx show`, and `robx explain` of what they keep."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import robx
from cli_cases import Run
from robx.cli import run


def fitting(folder: Path, out: Path, *more: object) -> list[object]:
    words: list[object] = ["fit", "--model", folder / "model.ubj", "--data", folder / "train.csv"]
    words += ["--schema", folder / "schema.yaml", "--out", out]
    return [*words, *more]


def with_labels(folder: Path) -> list[object]:
    return ["--label", "good", "--params", folder / "params.yaml", "--models", 6, "--keep", "none"]


@pytest.fixture(scope="module")
def kept(folder: Path) -> Path:
    file = folder / "credit.robx"
    if not file.exists():
        assert run([str(one) for one in fitting(folder, file, *with_labels(folder))]) == 0
    return file


def test_fitting_says_what_it_made(folder: Path, call: Run, tmp_path: Path) -> None:
    ran = call(*fitting(folder, tmp_path / "a.robx", "--method", "robx", "--tau", 0.6))
    assert ran.code == 0, ran.err
    assert ran.out.startswith("<Explainer by RobX of XGBoost")
    assert "Which outcome" not in ran.err
    assert f"Wrote {tmp_path / 'a.robx'}." in ran.err
    assert (tmp_path / "a.robx").stat().st_mode & 0o777 == 0o600
    loaded = robx.Explainer.load(tmp_path / "a.robx")
    assert loaded.method == robx.RobX(tau=0.6)
    assert loaded.describe()["made"] is not None


def test_a_file_without_single_people(folder: Path, call: Run, tmp_path: Path) -> None:
    file, people = tmp_path / "a.robx", folder / "people.csv"
    ran = call(*fitting(folder, file, "--method", "nearest", "--k-anonymous", 12))
    assert ran.code == 0, ran.err
    assert "for at least 12 people each" in ran.out
    assert robx.Explainer.load(file).problem.k_anonymous == 12
    shown = call("show", file)
    assert "holds no training row" in shown.out
    late = call("explain", file, people, "--id", "who", "--k-anonymous", 12)
    assert late.code != 0
    assert "--k-anonymous is for fitting" in late.err


def test_both_forms_give_the_same_file(
    folder: Path, kept: Path, recourse: Path, call: Run, tmp_path: Path
) -> None:
    out = tmp_path / "recourse.json"
    ran = call("explain", kept, folder / "people.csv", "--id", "who", "--out", out)
    assert ran.code == 0, ran.err
    assert "Applicants want good = 1: the model accepts" in ran.err
    assert out.read_bytes() == recourse.read_bytes()


def test_the_other_options_of_explain_go_with_a_file(folder: Path, kept: Path, call: Run) -> None:
    people = folder / "people.csv"
    ran = call("explain", kept, "--applicants", people, "--id", "who", "--answers", 2, "--json")
    assert any(one.get("alternatives") for one in ran.json["applicants"])
    table = call("explain", kept, people, "--id", "who", "--quiet")
    assert table.err == ""
    assert {row["status"] for row in table.rows} >= {"ok", "already accepted"}


def test_no_model_and_no_training_table_is_read(folder: Path, kept: Path, tmp_path: Path) -> None:
    """Nor is the library that trained the model loaded."""
    (tmp_path / "credit.robx").write_bytes(kept.read_bytes())
    (tmp_path / "people.csv").write_bytes((folder / "people.csv").read_bytes())
    script = (
        "import sys; from robx.cli import run\n"
        "code = run(['explain', 'credit.robx', 'people.csv', '--id', 'who', '--quiet'])\n"
        "sys.exit(code or int('xgboost' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "applicant\tstatus" in done.stdout


def test_show_for_programs(kept: Path, call: Run) -> None:
    rows = {row["what"]: row["value"] for row in call("show", kept).rows}
    assert rows["method"] == "Frugal"
    assert rows["training rows"] == "300"
    assert rows["privacy"] == f"holds {rows['accepted rows']} training rows: personal data"
    assert rows["bytes"] == f"{kept.stat().st_size:,}"
    about = call("show", kept, "--json").json
    assert about["bytes"] == kept.stat().st_size
    assert (about["searching_models"], about["certifying_models"]) == (2, 4)
    assert about["wanted"] == "good = 1"


def test_show_on_a_terminal_is_aligned(kept: Path) -> None:
    parent, child = pty.openpty()
    command = [sys.executable, "-m", "robx", "show", str(kept)]
    done = subprocess.run(command, stdout=child, stderr=subprocess.PIPE, check=False)
    os.close(child)
    said = os.read(parent, 100_000).decode()
    os.close(parent)
    assert done.returncode == 0, done.stderr
    lines = said.splitlines()
    assert "\t" not in said
    assert lines[0].split() == ["what", "value"]
    assert lines[1].startswith("---")
    column = lines[0].index("value")
    assert all(line[column - 2 : column] == "  " for line in lines[2:])


def test_files_are_looked_at_before_any_work(folder: Path, kept: Path, call: Run) -> None:
    ran = call(*fitting(folder, kept))
    assert ran.code == 2
    assert f"'{kept}' exists already. --force overwrites it." in ran.err
    assert call(*fitting(folder, folder / "a.json")).code == 2
    assert ".robx" in call(*fitting(folder, folder / "a.json")).err
    ran = call("explain", kept, folder / "people.csv", "--out", folder / "train.csv")
    assert ran.code == 2
    assert "exists already" in ran.err
    ran = call("explain", kept, folder / "people.csv", "--out", folder / "people.csv", "--force")
    assert "are the same file" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "{kept}"], "Name a table of applicants behind the explainer"),
        (["explain", "{kept}", "p.csv", "--data", "t.csv"], "--data is for fitting"),
        (["explain", "{kept}", "p.csv", "--level", "0.5"], "--level is for fitting"),
        (["explain", "{kept}", "p.csv", "--target", "1"], "--target is for fitting"),
        (["explain", "{kept}", "none.csv"], "none.csv"),
        (["explain", "{kept}", "p.csv", "--applicants", "q.csv"], "Name the applicants once"),
        (["explain", "none.robx", "p.csv"], "There is no file at 'none.robx'"),
        (["explain"], "Missing option '--model'"),
        (["explain", "--model", "m.ubj"], "Missing option '--data'"),
        (["explain", "--model", "m.ubj", "--data", "t.csv"], "Missing option '--applicants'"),
        (["show", "none.robx"], "There is no file at 'none.robx'"),
        (["show", "{folder}/train.csv"], "is not an explainer. Pass a file that"),
        (["fit", "--model", "m.ubj", "--data", "t.csv"], "Missing option '--out'"),
        (["fit", "--out", "a.txt"], "--out takes a file ending in .robx. Got 'a.txt'."),
        (["check", "{folder}/recourse.json", "--model", "{kept}"], "an explainer is read by"),
    ],
)
def test_bad_input_is_told(
    words: list[str], said: str, folder: Path, kept: Path, recourse: Path, call: Run
) -> None:
    assert recourse.exists()
    ran = call(*(word.format(kept=kept, folder=folder) for word in words))
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.split())


def test_what_cannot_be_kept_is_told_before_training(
    folder: Path, call: Run, tmp_path: Path
) -> None:
    ran = call(*fitting(folder, tmp_path / "a.robx", *with_labels(folder), "--method", "face"))
    assert ran.code == 2
    assert "method Face cannot be saved" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_labels_that_do_not_tell_are_asked_about(folder: Path, call: Run, tmp_path: Path) -> None:
    data = pd.read_csv(folder / "train.csv").rename(columns={"good": "flag"})
    data.to_csv(tmp_path / "train.csv", index=False)
    words = ["fit", "--model", folder / "model.ubj", "--data", tmp_path / "train.csv"]
    words += [
        "--label",
        "flag",
        "--params",
        folder / "params.yaml",
        "--models",
        6,
        "--keep",
        "none",
    ]
    ran = call(*words, "--out", tmp_path / "a.robx")
    assert ran.code == 2
    assert "Which outcome do applicants want?" in ran.err
    assert "of the training rows." in ran.err


def test_a_damaged_file_is_one_sentence(kept: Path, call: Run, tmp_path: Path) -> None:
    (tmp_path / "cut.robx").write_bytes(kept.read_bytes()[:-100])
    ran = call("show", tmp_path / "cut.robx")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: 'cut.robx' is damaged: ")
    assert len(ran.err.splitlines()) == 1


def test_fit_prints_json(folder: Path, call: Run, tmp_path: Path) -> None:
    ran = call(*fitting(folder, tmp_path / "a.robx", "--json", "--quiet"))
    assert json.loads(ran.out)["certifying_models"] == 0
