from __future__ import annotations

import errno
import gzip
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import robx
from robx.files import atomically, read_table, write_table


def left_over(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


# --- written whole or not at all ------------------------------------------------------------------


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    with atomically(target) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".json"
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert left_over(tmp_path) == ["a.json"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def stopped() -> None:
        with atomically(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        stopped()
    assert target.read_text() == "old"
    assert left_over(tmp_path) == ["a.txt"]


WRITER = """
import sys, time
from robx.files import atomically
with atomically(sys.argv[1]) as temporary:
    with temporary.open("w") as file:
        file.write("half")
        file.flush()
        print("writing", flush=True)
        time.sleep(60)
"""


def test_ctrl_c_in_a_process_leaves_no_half_written_file(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "writing\n"
        assert len(left_over(tmp_path)) == 1  # the temporary one
        child.send_signal(signal.SIGINT)
        child.wait(timeout=20)
        assert child.stderr is not None
        assert "KeyboardInterrupt" in child.stderr.read()
    assert left_over(tmp_path) == []


def test_permissions_are_as_if_the_file_had_been_opened(tmp_path: Path) -> None:
    plain, ours = tmp_path / "plain", tmp_path / "ours"
    plain.write_text("")
    with atomically(ours) as temporary:
        temporary.write_text("")
    assert ours.stat().st_mode == plain.stat().st_mode
    ours.chmod(0o600)
    with atomically(ours) as temporary:
        temporary.write_text("again")
    assert ours.stat().st_mode & 0o777 == 0o600


def test_a_link_is_kept_and_its_target_written(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    with atomically(tmp_path / "link.txt") as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_long_name_is_no_trouble(tmp_path: Path) -> None:
    with atomically(tmp_path / ("n" * 250 + ".csv")) as temporary:
        temporary.write_text("x")
    assert len(left_over(tmp_path)) == 1


def test_places_that_cannot_be_written_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in [
        (tmp_path / "none" / "a.csv", r"There is no folder '.*none' to write 'a.csv' to. Make it"),
        (tmp_path, r"is a folder. Name a file to write in it."),
        (tmp_path / "pipe", r"is no ordinary file. Name another to write to."),
        (tmp_path / ("n" * 300), r"cannot be written: .*. Name another file, or one in"),
    ]:
        with pytest.raises(robx.InvalidInput, match=message), atomically(path):
            raise AssertionError("never reached")
    assert left_over(tmp_path) == ["pipe"]


def test_writers_side_by_side_do_not_meet(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"

    def write(text: str) -> None:
        for _ in range(20):
            with atomically(target) as temporary:
                temporary.write_text(text * 1000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(target.read_text())) == 1
    assert left_over(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["s.yaml", "s.json"])
def test_a_schema_that_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = robx.Schema.infer(np.array([[1.0], [2.0]]))
    schema.save(tmp_path / name)
    old = (tmp_path / name).read_bytes()
    monkeypatch.setattr(Path, "write_text", broken)
    with pytest.raises(robx.InvalidInput, match="the disk is full. Name another file"):
        schema.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == old
    assert left_over(tmp_path) == [name]


def broken(self: Path, *given: Any, **named: Any) -> int:
    with self.open("wb") as file:
        file.write(b"half")
    raise OSError("the disk is full")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "No space left"), "No space left. Make room, or name a file on an"),
        (OSError(errno.EIO, "Bad disk"), "Bad disk. Name another file, or one in another folder."),
    ],
)
def test_what_the_system_says_while_writing_is_one_sentence(
    tmp_path: Path, error: OSError, said: str
) -> None:
    def full() -> None:
        with atomically(tmp_path / "a.csv"):
            raise error

    with pytest.raises(robx.InvalidInput, match=f"a.csv' cannot be written: {said}") as caught:
        full()
    assert caught.value.__cause__ is error
    assert left_over(tmp_path) == []


def test_an_ensemble_that_cannot_be_written_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sklearn.tree import DecisionTreeClassifier

    ensemble = robx.import_model(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]))
    assert isinstance(ensemble, robx.TreeEnsemble)
    ensemble.save(tmp_path / "m.robx")
    monkeypatch.setattr(Path, "write_bytes", broken)
    with pytest.raises(robx.InvalidInput, match="the disk is full. Name another file"):
        ensemble.save(tmp_path / "m.robx")
    assert left_over(tmp_path) == ["m.robx"]
    loaded = robx.import_model(tmp_path / "m.robx")
    assert isinstance(loaded, robx.TreeEnsemble)
    assert loaded.digest == ensemble.digest


# --- tables ---------------------------------------------------------------------------------------


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
    ("t.csv", "a,b\n1,2,3\n", "have more columns than its first line names. Name them all."),
    ("t.csv", "a,b\n1,2\n1,2,3\n", "no CSV file that can be read: .*Expected 2 fields in line 3"),
    (
        "t.csv",
        'a,b,c\n1,"x\ny",3\n1,2\n',
        "Line 4 of 't.csv' has too few values: 2, where the first line names 3 columns. Write it",
    ),
    ("t.csv", "\n\na,b,c\n1,2,3\n,\n", "Line 5 of 't.csv' has too few values: 2"),
    ("t.csv", 'a;b\n""\n', "Line 2 of 't.csv' has too few values: 1"),
    ("t.csv", 'a,b\n"x,1\n', "no CSV file that can be read: .*Write it again."),
    ("t.csv", b"PAR1\0\1", "'t.csv' is no CSV file: it holds bytes that are no text."),
    (
        "t.csv",
        "a\nü\n".encode("latin-1"),
        "'t.csv' is not UTF-8 text: see line 2. Save it as UTF-8",
    ),
    ("t.csv", "a\n1\n".encode("utf-16"), "'t.csv' is UTF-16 text. Save it as UTF-8"),
    ("t.csv.gz", "a\n1\n", "'t.csv.gz' cannot be read: Not a gzipped file"),
    ("t.csv.gz", gzip.compress(b"a\n1\n")[:-9], "'t.csv.gz' cannot be read: "),
    ("t.parquet", "a\n1\n", "'t.parquet' is no parquet file, or a damaged one: .*Write it again."),
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


def test_without_pyarrow_parquet_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(TABLE, tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for work in (
        lambda: read_table(tmp_path / "t.parquet"),
        lambda: write_table(TABLE, "u.parquet"),
    ):
        with pytest.raises(robx.InvalidInput, match="Run `pip install pyarrow`, or use a .csv"):
            work()


def test_a_table_is_written_by_its_ending(tmp_path: Path) -> None:
    with pytest.raises(
        robx.InvalidInput, match="written as .csv, .csv.gz or .parquet. Got 't.txt'"
    ):
        write_table(TABLE, tmp_path / "t.txt")
    assert left_over(tmp_path) == []
