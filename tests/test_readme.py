from __future__ import annotations

import re
from pathlib import Path

import pytest
import xgboost

from test_docs import blocks_of, run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: Models of another version are other models.
PINNED = f"xgboost-cpu=={xgboost.__version__}; python_version < " in (
    ROOT / "constraints.txt"
).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_example_runs_and_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = README if PINNED else re.sub(r"```text\n.*?```", "", README, flags=re.DOTALL)
    blocks = blocks_of(text.replace("```bibtex", "```"), "README.md")
    assert [block.language for block in blocks] == ["python", "python"]
    assert len(blocks[0].code.splitlines()) <= 12
    run(blocks, tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        "recourse.json",
        "report.html",
        "credit.robx",
    }


def test_no_placeholder_is_left() -> None:
    assert not re.findall(r"\b[A-Z]+_[A-Z]+\b|@@", README)


def test_it_is_read_on_two_screens() -> None:
    text = re.sub(r"<!--.*?-->", "", README.split("## Read on")[0])
    assert len(text.splitlines()) < 150


def test_the_commands_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([\w-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_files_it_links_to_exist() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
