"""Where `load_heloc` gets the file from when it is given none."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
import urllib.request
from email.message import Message
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.response import addinfourl

import pandas as pd
import pytest

from robx import InvalidInput
from robx.datasets import Dataset, heloc, load_heloc
from robx.datasets.heloc import cached_file


def assert_same(one: Dataset, other: Dataset) -> None:
    pd.testing.assert_frame_equal(one.X, other.X)
    pd.testing.assert_series_equal(one.y, other.y)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache directory that is not there yet."""
    directory = tmp_path / "of" / "robx"
    monkeypatch.setenv("ROBX_DATA", str(directory))
    return directory


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, on any machine: the way out is a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    go_through(port, monkeypatch)


def go_through(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(urllib.request, "_opener", None)  # made anew, with this way out


class OpenML(urllib.request.HTTPSHandler):
    """Answers as OpenML does, for scikit-learn's own client to read."""

    def __init__(self, raw: pd.DataFrame) -> None:
        super().__init__()
        nominal = {"RiskPerformance"}
        kind = {name: "{Bad,Good}" if name in nominal else "INTEGER" for name in raw.columns}
        head = [f"@ATTRIBUTE {name} {kind[name]}" for name in raw.columns]
        body = raw.to_csv(index=False, header=False).splitlines()
        arff = "\n".join(["@RELATION heloc", *head, "@DATA", *body]).encode()
        feature = [
            {
                "index": str(j),
                "name": name,
                "data_type": "nominal" if name in nominal else "numeric",
                "is_target": str(name in nominal).lower(),
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for j, name in enumerate(raw.columns)
        ]
        description = {
            "id": "46932",
            "name": "heloc",
            "version": "1",
            "description": "",
            "format": "ARFF",
            "status": "active",
            "file_id": "7",
            "url": "https://api.openml.org/data/v1/download/7/heloc.arff",
            "md5_checksum": hashlib.md5(arff, usedforsecurity=False).hexdigest(),
        }
        quality = [{"name": "NumberOfInstances", "value": str(len(raw))}]
        self.asked: list[str] = []
        self.pages = {
            "data/46932": json.dumps({"data_set_description": description}).encode(),
            "features/46932": json.dumps({"data_features": {"feature": feature}}).encode(),
            "qualities/46932": json.dumps({"data_qualities": {"quality": quality}}).encode(),
            "7/heloc.arff": arff,
            "download/7": arff,
        }

    def https_open(self, req: urllib.request.Request) -> Any:
        self.asked.append(req.full_url)
        page = self.pages["/".join(req.full_url.split("/")[-2:])]
        answer = addinfourl(BytesIO(page), Message(), req.full_url, 200)
        answer.msg = "OK"  # type: ignore[attr-defined]
        return answer


@pytest.fixture
def openml(raw: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> OpenML:
    """OpenML with a made-up table, shuffled as the real one is."""
    shuffled = raw
    for _ in range(2):
        shuffled = shuffled.sample(frac=1, random_state=42).reset_index(drop=True)
    assert not shuffled.equals(raw)
    served = OpenML(shuffled)
    monkeypatch.setattr(urllib.request, "_opener", urllib.request.build_opener(served))
    return served


def test_the_cache_is_where_caches_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("ROBX_DATA", raising=False)
    assert cached_file() == tmp_path / ".cache" / "robx" / "heloc_dataset_v1.csv"
    monkeypatch.setenv("ROBX_DATA", "")
    assert cached_file() == tmp_path / ".cache" / "robx" / "heloc_dataset_v1.csv"
    monkeypatch.setenv("ROBX_DATA", "here")
    assert cached_file() == Path("here", "heloc_dataset_v1.csv")


@pytest.mark.usefixtures("offline")
def test_a_file_in_the_cache_is_taken_and_checked(heloc_csv: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    heloc_csv.rename(cache / heloc.FILE)
    assert load_heloc(check=False).X.shape[1] == 20
    with pytest.raises(InvalidInput, match="Got 120 rows"):
        load_heloc()


@pytest.mark.usefixtures("offline")
def test_without_file_and_network_it_says_at_once_where_to_put_the_file(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(_: float) -> None:
        raise AssertionError("it waits for another try")

    monkeypatch.setattr(time, "sleep", wait)
    with pytest.raises(InvalidInput) as caught:
        load_heloc()
    for part in (str(cache / heloc.FILE), "OpenML", "refused", "fico.com", "pass its path"):
        assert part in str(caught.value)
    assert isinstance(caught.value.__cause__, URLError)
    assert not cache.exists()


def test_a_network_that_never_answers_is_given_up(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heloc, "TIMEOUT", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        go_through(silent.getsockname()[1], monkeypatch)
        end = threading.Timer(10, silent.close)  # so that a test that hangs fails
        end.start()
        with pytest.raises(InvalidInput, match="timed out"):
            load_heloc()
        end.cancel()
    assert socket.getdefaulttimeout() is None


def test_what_openml_holds_is_fetched_once(openml: OpenML, heloc_csv: Path, cache: Path) -> None:
    fetched = load_heloc(check=False)
    assert any("46932" in url for url in openml.asked)
    assert sorted(map(tuple, fetched.X.to_numpy())) == sorted(
        map(tuple, load_heloc(heloc_csv, check=False).X.to_numpy())
    )
    assert [file.name for file in cache.iterdir()] == [heloc.FILE]
    openml.asked.clear()
    assert_same(load_heloc(check=False), fetched)
    assert openml.asked == []


@pytest.mark.usefixtures("openml")
def test_rows_from_openml_come_back_in_the_order_of_the_file(
    raw: pd.DataFrame, heloc_csv: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = raw.to_csv(index=False, lineterminator="\r\n").removesuffix("\r\n").encode()
    monkeypatch.setattr(heloc, "SHA256", hashlib.sha256(original).hexdigest())
    assert_same(load_heloc(), load_heloc(heloc_csv))
    assert (cache / heloc.FILE).read_bytes() == original


def test_openml_s_shuffled_copy_becomes_the_file_again(
    real_heloc: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shuffled = pd.read_csv(real_heloc)
    for _ in range(2):
        shuffled = shuffled.sample(frac=1, random_state=42).reset_index(drop=True)
    monkeypatch.setattr(heloc, "_fetch_openml", lambda: shuffled)
    assert_same(load_heloc(), load_heloc(real_heloc))
    assert (cache / heloc.FILE).read_bytes() == real_heloc.read_bytes()


@pytest.mark.usefixtures("openml")
def test_other_rows_from_openml_are_reported_and_not_kept(cache: Path) -> None:
    with pytest.raises(InvalidInput, match="OpenML's data set 46932 must hold the 10459 rows"):
        load_heloc()
    assert not cache.exists()


def test_an_answer_that_is_damaged_on_the_way_is_reported(openml: OpenML, cache: Path) -> None:
    openml.pages["7/heloc.arff"] = openml.pages["download/7"] = b"@DATA\n"
    with pytest.raises(InvalidInput, match="could not get it from OpenML"):
        load_heloc(check=False)
    assert not cache.exists()


@pytest.mark.usefixtures("openml")
def test_a_directory_that_cannot_be_written_does_no_harm(
    heloc_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBX_DATA", str(heloc_csv))  # a file, in which no file can be
    assert len(load_heloc(check=False).X) == len(load_heloc(heloc_csv, check=False).X)
