from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from robx.cli.screen import aligned, show_json, show_table


def test_a_piped_table_is_separated_by_tabs_with_numbers_as_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cells = {"who": ["Ann", "Bo"], "cost": [1 / 3, float("nan")], "why": ["a\tb", None]}
    frame = pd.DataFrame({**cells, "share": [0.9737500000000001, 1.0], "n": [1234567, 2]})
    show_table(frame, {"cost": ".1f"})
    assert capsys.readouterr().out == (
        "who\tcost\twhy\tshare\tn\nAnn\t0.3\ta b\t0.974\t1234567\nBo\t\t\t1\t2\n"
    )


def test_json_has_null_for_what_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"a": float("nan"), "b": pd.Series([1.5, float("inf")]).to_numpy()})
    assert "".join(capsys.readouterr().out.split()) == '{"a":null,"b":[1.5,null]}'


def test_a_long_last_column_is_cut_where_the_terminal_ends() -> None:
    lines = aligned(["who", "changes"], [["Ann", "x" * 200]], [False, False], 60)
    assert max(map(len, lines)) == 60
    assert lines[-1].endswith("…")


@pytest.mark.slow
def test_a_terminal_gets_an_aligned_table(folder: Path) -> None:
    ours, theirs = pty.openpty()
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "robx",
        "tau",
        "--data",
        folder / "train.csv",
    ]
    command += ["--model", folder / "model.ubj", "--label", "good", "--quiet"]
    subprocess.run(command, stdout=theirs, check=True)
    os.close(theirs)
    lines = os.read(ours, 100_000).decode().splitlines()
    os.close(ours)
    assert lines[0].split() == ["tau", "quantile", "passing"]
    assert set(lines[1].replace(" ", "")) == {"-"}
    assert {len(line) for line in lines[:5]} == {len(lines[0])}
    assert "%" in lines[2]
    assert "\t" not in "".join(lines)


def test_json_takes_dates_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_json([pd.Timestamp("2026-01-02"), None, True])
    assert "".join(capsys.readouterr().out.split()) == '["2026-01-0200:00:00",null,true]'
