from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
import xgboost
from experiments.frontier.curves import cheapest

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


def test_the_table_of_others_is_the_measured_one() -> None:
    table = pd.read_csv(ROOT / "benchmarks" / "results" / "peers.csv")
    measured = table[(table["block"] == "all free") & (table["split"] == 0)].set_index("tool")
    names = ("accepted", "kept_same", "kept_other", "cost", "changes", "lof", "median_seconds")
    formats = ("{:.0%}", "{:.0%}", "{:.0%}", "{:.2f}", "{:.1f}", "{:.2f}", "{:.3f}")
    shown = re.findall(r"^\| \**([\w., ]+?)\** \| (\d+ % \|.*) \|$", README, re.MULTILINE)
    assert len(shown) == 8
    for tool, cells in shown:
        values = [
            how.format(measured.loc[tool, name]) for name, how in zip(names, formats, strict=True)
        ]
        assert [cell.replace(" ", "") for cell in cells.split("|")] == values


def at_equal_validity(data: str, method: str, figure: str) -> list[int]:
    """Give a method's share of RobX's figure in percent, at 95 and 99 % under moderate change."""
    table = pd.read_csv(ROOT / "experiments" / "results" / data / "frontier.csv")
    moderate = table[table["scenario"] == "moderate"]

    def read(name: str, validity: float) -> float:
        curve = moderate[moderate["method"] == name].sort_values("knob")
        columns = {c: curve[[c]].to_numpy() for c in ("validity", "cost_l1", "n_changes")}
        place = cheapest(columns["validity"], columns["cost_l1"], validity)
        return float(place.read(columns[figure])[0])

    return [round(100 * read(method, v) / read("NN +RobX", v)) for v in (0.95, 0.99)]


@pytest.mark.parametrize(
    ("method", "figure", "german", "heloc"),
    [
        ("NN +Frugal", "cost_l1", "56 to 64 %", "53 to 56 %"),
        ("NN +Frugal", "n_changes", "53 to 70 %", "30 to 34 %"),
        ("NN +Frugal, noise alone", "cost_l1", "86 %", "56 to 62 %"),
    ],
)
def test_what_it_says_of_frugal_and_robx_is_in_the_committed_results(
    method: str, figure: str, german: str, heloc: str
) -> None:
    """With labels and without: RobX gets none."""
    for data, said in (("german", german), ("heloc", heloc)):
        shares = sorted(set(at_equal_validity(data, method, figure)))
        assert " to ".join(str(share) for share in shares) + " %" == said
    together = {"cost_l1": f"{german} .{{0,30}}German Credit and {heloc} on HELOC"}
    words = together.get(figure, f"{german} and {heloc} of the changes")
    assert re.search(words, " ".join(README.split()))


def test_no_placeholder_is_left() -> None:
    assert not re.findall(r"\b[A-Z]+_[A-Z]+\b|<!--", README)


def test_the_commands_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([\w-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_files_it_links_to_exist() -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
