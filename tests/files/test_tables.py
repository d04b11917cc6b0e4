from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from robx.files import read_table, write_table


def left_over(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


TABLE = pd.DataFrame(
    {
        "id": [2**53 + 1, 2**62 + 1, 3],
        "x": [0.1, 1 / 3, 5e-324],
        "hole": [1.5, np.nan, -0.0],
        "text": ["a,b", 'say "hi"', "ü\nnew"],
        "flag": [True, False, True],
    },
    index=[5, 6, 7],
)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_table_comes_back_to_the_last_bit(tmp_path: Path, ending: str) -> None:
    write_table(TABLE, tmp_path / f"t{ending}")
    back = read_table(tmp_path / f"t{ending}")
    assert back.columns.tolist() == TABLE.columns.tolist()
    assert back["id"].tolist() == TABLE["id"].tolist()
    for name in ("x", "hole"):
        assert back[name].to_numpy().tobytes() == TABLE[name].to_numpy().tobytes()
    assert back["text"].tolist() == TABLE["text"].tolist()
    assert back["flag"].dtype == bool
    assert back.index.tolist() == [0, 1, 2]


def test_every_double_reads_back_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, 5000, dtype=np.int64).view(np.float64)
    x = np.concatenate([bits[np.isfinite(bits)], rng.random(5000)])
    write_table(pd.DataFrame({"x": x}), tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["x"].to_numpy().tobytes() == x.tobytes()
    text = (tmp_path / "t.csv").read_text().replace(".", ",").replace("x", "x;y", 1)
    lines = [text.split("\n")[0], *(f"{line};1" for line in text.split("\n")[1:-1])]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert read_table(tmp_path / "t.csv")["x"].to_numpy().tobytes() == x.tobytes()


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for ending in (".csv", ".csv.gz"):
        for name in ("one", "two"):
            write_table(TABLE, tmp_path / f"{name}{ending}")
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()
    assert (tmp_path / "one.csv.gz").read_bytes()[4:8] == bytes(4)  # where a time would stand


def read(tmp_path: Path, data: str | bytes, name: str = "t.csv", **how: Any) -> pd.DataFrame:
    (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return read_table(tmp_path / name, **how)


def test_semicolons_and_decimal_commas_are_read_as_in_europe(tmp_path: Path) -> None:
    table = read(tmp_path, 'Alter;"Ein;kommen"\n31;1,5\n47;-2,25e3\n')
    assert table.to_dict("list") == {"Alter": [31, 47], "Ein;kommen": [1.5, -2250.0]}
    table = read(tmp_path, "a;b\n1.5;x\n2.5;y\n")
    assert table["a"].tolist() == [1.5, 2.5]
    assert read(tmp_path, "a\tb\n1\t2\n").columns.tolist() == ["a", "b"]


def test_a_point_is_no_decimal_sign_where_the_comma_is_one(tmp_path: Path) -> None:
    table = read(tmp_path, "rate;loan\n1,5;1.234\n2,5;5.000\n")
    assert table["rate"].tolist() == [1.5, 2.5]
    assert table["loan"].tolist() == ["1.234", "5.000"]  # thousands, or not: the model's door asks


def test_commas_within_numbers_stay_text_and_the_model_says_so(tmp_path: Path) -> None:
    from sklearn.tree import DecisionTreeClassifier

    train = pd.DataFrame({"loan": [1.0, 2000.0]})
    model = robx.import_model(DecisionTreeClassifier().fit(train, [0, 1]))
    table = read(tmp_path, 'loan\n"1,000"\n"2,500"\n')
    with pytest.raises(robx.InvalidInput, match="Column 'loan' of X must hold numbers"):
        model.score(table)


def test_long_numbers_keep_their_digits_also_where_some_are_missing(tmp_path: Path) -> None:
    table = read(tmp_path, "id,x\n9007199254740993,1\n,2\n")
    assert int(table["id"][0]) == 2**53 + 1
    assert table["id"].isna().tolist() == [False, True]
    assert read(tmp_path, "x,y\n1e300,1\n,2\n")["x"][0] == 1e300


def test_whole_numbers_that_are_too_long_stay_text(tmp_path: Path) -> None:
    table = read(
        tmp_path, "a,b,c\n18446744073709551615,18446744073709551616,18446744073709551615\n"
    )
    assert table["a"].tolist() == [2**64 - 1]
    assert table["b"].tolist() == ["18446744073709551616"]
    mixed = read(tmp_path, "a,b\n18446744073709551615,18446744073709551615\n,-1\n")
    assert mixed["a"].tolist()[:1] == ["18446744073709551615"]
    assert mixed["b"].tolist() == ["18446744073709551615", "-1"]


@pytest.mark.parametrize(
    ("last", "wanted"), [("x", "1"), ("007", "1"), ("2.5", 1.0), ("", 1.0), ("+2", 1), ("NaN", 1.0)]
)
def test_the_last_of_many_rows_decides_too(tmp_path: Path, last: str, wanted: Any) -> None:
    first = read(tmp_path, "a,b\n" + "1,z\n" * 20_000 + f"{last},z\n")["a"].tolist()[0]
    assert (first, type(first)) == (wanted, type(wanted))


def test_flags_are_flags_and_hexadecimal_numbers_are_text(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b,c,d\nTrue,1,0x1F,1_000\nfalse,True,0x2,2_000\n")
    assert table["a"].tolist() == [True, False]
    assert table["a"].dtype == bool
    assert table["b"].tolist() == ["1", "True"]
    assert table["c"].tolist() == ["0x1F", "0x2"]
    assert table["d"].tolist() == ["1_000", "2_000"]


def test_what_is_missing_is_what_pandas_takes_for_it_unless_told(tmp_path: Path) -> None:
    data = "debtors,x\nNone,1\nNA,\n,3\n"
    assert read(tmp_path, data)["debtors"].isna().tolist() == [True, True, True]
    table = read(tmp_path, data, only_blanks_missing=True)
    assert table["debtors"].tolist()[:2] == ["None", "NA"]
    assert table["debtors"].isna()[2]
    assert table["x"].isna().tolist() == [False, True, False]


def test_codes_that_begin_with_a_zero_stay_text(tmp_path: Path) -> None:
    table = read(tmp_path, 'id,zip,x,year\n00123,"01067",0,2024\n45,,0.5,\n')
    assert table["id"].tolist() == ["00123", "45"]
    assert table["zip"][0] == "01067"
    assert table["zip"].isna().tolist() == [False, True]
    assert table["x"].tolist() == [0.0, 0.5]
    assert table["year"].tolist()[0] == 2024.0
    assert read(tmp_path, "a;b\n1,5;007\n")["b"].tolist() == ["007"]
    assert read(tmp_path, "a,b\r\n1,007\r\n")["b"].tolist() == ["007"]
    assert read(tmp_path, "a,b\n1, 007")["b"].tolist() == [" 007"]
    assert read(tmp_path, "a,b\n10,0.05\n20,-0\n")["b"].tolist() == [0.05, 0.0]


def test_columns_that_are_named_as_text_are_read_as_they_stand(tmp_path: Path) -> None:
    data = "id,x,note\n1e5,1,NA\n+7,NA,2\n,3,\n"
    table = read(tmp_path, data, text=("id", "note", "none"))
    assert table["id"].tolist()[:2] == ["1e5", "+7"]
    assert table["note"].tolist()[:2] == ["NA", "2"]
    assert table[["id", "note"]].isna().all(axis=1).tolist() == [False, False, True]
    assert table["x"].isna().tolist() == [False, True, False]
    assert table.columns.tolist() == ["id", "x", "note"]


def test_a_named_index_of_a_parquet_file_is_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index(["a", "b"], name="id"))
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.to_dict("list") == {"id": ["a", "b"], "x": [1.0, 2.0]}
    assert table.index.tolist() == [0, 1]
    frame.rename_axis(None).to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").columns.tolist() == ["x"]


def test_rows_in_a_file_may_be_blank(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,b\n\n1,"x\ny"\n  \n3,\n,\n\n')
    assert table["a"].tolist()[:2] == [1.0, 3.0]
    assert table["b"].tolist()[0] == "x\ny"
    assert len(table) == 3


def test_no_column_is_taken_for_an_index(tmp_path: Path) -> None:
    assert read(tmp_path, "id,x\n7,1\n8,2\n").columns.tolist() == ["id", "x"]


def test_a_mark_of_utf_8_and_other_line_ends_are_no_trouble(tmp_path: Path) -> None:
    for data in ("\ufeffa,b\r\n1,2\r\n", "\n\na;b\n1;2\n", "a,b\r1,2\r", "a,b\n1,2"):
        assert read(tmp_path, data).to_dict("list") == {"a": [1], "b": [2]}


ODD: list[tuple[str, str | bytes, str]] = [
    ("t.csv", "", "'t.csv' is empty: it has not a single byte. Write it again."),
    ("t.csv", "\n \n", "'t.csv' is empty: it has no columns. Write it again."),
    ("t.csv", "a,b\n", "'t.csv' has columns but no rows. Pass a file that has rows."),
    ("t.csv", "a,b,a\n1,2,3\n", "more than one column named 'a'. Rename or drop one."),
    (
        "t.csv",
        ",a\n0,1\n",
        "Column 1 of 't.csv' has no name.*write the file again with index=False",
    ),
    ("t.csv", "a,b\n1,2,3\n", "Line 2 of 't.csv' has too many values: 3, where the first line"),
    ("t.csv", "a,b\n1,2\n1,2,3\n", "Line 3 of 't.csv' has too many values: 3, where"),
    (
        "t.csv",
        'a,b,c\n1,"x\ny",3\n1,2\n',
        "Line 4 of 't.csv' has too few values: 2, where the first line names 3 columns. Write it",
    ),
    ("t.csv", "\n\na,b,c\n1,2,3\n,\n", "Line 5 of 't.csv' has too few values: 2"),
    ("t.csv", 'a;b\n""\n', "Line 2 of 't.csv' has too few values: 1"),
    ("t.csv", 'a,b\n"x,1\n', "not a CSV file that can be read: unexpected end of data in line 2"),
    ("t.csv", 'a,b\n1,"2\n3,4\n', "can be read: unexpected end of data in line 3. Write it again."),
    ("t.csv", b"PAR1\0\1", "'t.csv' is not a CSV file: it holds bytes that are not text."),
    (
        "t.csv",
        "a\nü\n".encode("latin-1"),
        "'t.csv' is not UTF-8 text: see line 2. Save it as UTF-8",
    ),
    ("t.csv", "a\n1\n".encode("utf-16"), "'t.csv' is UTF-16 text. Save it as UTF-8"),
    ("t.csv.gz", "a\n1\n", "'t.csv.gz' cannot be read: Not a gzipped file"),
    ("t.csv.gz", gzip.compress(b"a\n1\n", mtime=0)[:-9], "'t.csv.gz' cannot be read: "),
    (
        "t.parquet",
        "a\n1\n",
        "'t.parquet' is not a parquet file, or a damaged one: .*Write it again.",
    ),
    ("t.xlsx", "a", "A table is read from .csv, .csv.gz or .parquet. Got 't.xlsx'."),
]


@pytest.mark.parametrize(("name", "data", "message"), ODD)
def test_files_that_are_no_tables_are_refused_in_one_sentence(
    tmp_path: Path, name: str, data: str | bytes, message: str
) -> None:
    with pytest.raises(robx.InvalidInput, match=message) as caught:
        read(tmp_path, data, name)
    assert "\n" not in str(caught.value)


def test_a_file_must_be_there_and_be_a_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path / ("n" * 300 + ".csv")):
        with pytest.raises(robx.InvalidInput, match="There is no file at '.*'. Check the name."):
            read_table(path)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(robx.InvalidInput, match="folder.csv' is a folder. Name a file in it."):
        read_table(tmp_path / "folder.csv")


def test_a_parquet_file_with_a_name_twice_or_no_rows_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(robx.InvalidInput, match="more than one column named 'a'"):
        read_table(tmp_path / "t.parquet")
    write_table(TABLE[:0], tmp_path / "t.parquet")
    with pytest.raises(robx.InvalidInput, match="has columns but no rows"):
        read_table(tmp_path / "t.parquet")


def test_a_table_is_written_by_its_ending(tmp_path: Path) -> None:
    with pytest.raises(
        robx.InvalidInput, match="written as .csv, .csv.gz or .parquet. Got 't.txt'"
    ):
        write_table(TABLE, tmp_path / "t.txt")
    assert left_over(tmp_path) == []


def test_parquet_cells_that_hold_several_values_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for values, kind in (
        ([[1, 2]], pa.list_(pa.int64())),
        ([{"b": 1}], pa.struct({"b": pa.int64()})),
        ([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    ):
        pq.write_table(pa.table({"a": pa.array(values, kind)}), tmp_path / "t.parquet")
        with pytest.raises(robx.InvalidInput, match="^Column 'a' of 't.parquet' holds .*Leave it "):
            read_table(tmp_path / "t.parquet")


def test_parquet_values_of_one_length_count_as_long_as_they_are(tmp_path: Path) -> None:
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    number = decimal.Decimal("1.5")
    pq.write_table(pa.table({"a": pa.array([number] * 2000)}), tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet", budget=robx.Budget(max_memory=2**18))
    assert frame["a"].tolist() == [number] * 2000
    wide = pa.array([b"x" * 500] * 2000, pa.binary(500))
    pq.write_table(pa.table({"a": wide}), tmp_path / "t.parquet")
    with pytest.raises(robx.BudgetExceeded):
        read_table(tmp_path / "t.parquet", budget=robx.Budget(max_memory=2**18))
