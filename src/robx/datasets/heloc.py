"""HELOC: 10459 applicants for a home equity credit line, from FICO's explainability challenge.

Its licence is unclear, so it is not shipped: it comes from a file, or from OpenML.
"""

from __future__ import annotations

import hashlib
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pandas as pd

from robx.datasets.dataset import Dataset
from robx.errors import InvalidInput
from robx.files import atomically
from robx.parameters import require
from robx.schema import Feature, Schema
from robx.schema.feature import Change

FILE = "heloc_dataset_v1.csv"
N_ROWS = 10459
SHA256 = "e5a914f742ad7f8472c5417902ec06b321ebc5de1d68ec13f136d62c87a7fbf3"
OPENML_ID = 46932
SHUFFLE_SEED = 42  # with which OpenML's copy was shuffled
TIMEOUT = 20.0  # seconds without a byte

LABEL = "RiskPerformance"
LABELS = {"Good": "Good", "Bad": "Bad", "1": "Good", "0": "Bad", "1.0": "Good", "0.0": "Bad"}

#: Columns of the file, in its order.
COLUMNS = (
    *("ExternalRiskEstimate", "MSinceOldestTradeOpen", "MSinceMostRecentTradeOpen"),
    *("AverageMInFile", "NumSatisfactoryTrades", "NumTrades60Ever2DerogPubRec"),
    *("NumTrades90Ever2DerogPubRec", "PercentTradesNeverDelq", "MSinceMostRecentDelq"),
    *("MaxDelq2PublicRecLast12M", "MaxDelqEver", "NumTotalTrades", "NumTradesOpeninLast12M"),
    *("PercentInstallTrades", "MSinceMostRecentInqexcl7days", "NumInqLast6M"),
    *("NumInqLast6Mexcl7days", "NetFractionRevolvingBurden", "NetFractionInstallBurden"),
    *("NumRevolvingTradesWBalance", "NumInstallTradesWBalance"),
    *("NumBank2NatlTradesWHighUtilization", "PercentTradesWBalance"),
)

#: Columns that the paper drops, before it drops rows.
DROPPED = ("MSinceMostRecentDelq", "MSinceMostRecentInqexcl7days", "NetFractionInstallBurden")

#: Numbers that stand for a missing value: condition not met, nothing usable, no record.
CODES = (-7, -8, -9)

#: How columns may change; all others are free.
CHANGE: dict[str, Change] = {
    "MSinceOldestTradeOpen": "increase",
    "NumSatisfactoryTrades": "increase",
    "NumTrades60Ever2DerogPubRec": "none",
    "NumTrades90Ever2DerogPubRec": "none",
    "PercentTradesNeverDelq": "increase",
    "MaxDelq2PublicRecLast12M": "increase",
    "MaxDelqEver": "none",
    "NumTotalTrades": "increase",
}

#: Codes for the worst delay, from worst to best. Never advised, because not listed: 5 (as 6), 8 and
#: 9 (other) of the last 12 months; 1 and 9 of ever.
DELAYS: dict[str, dict[int, str]] = {
    "MaxDelq2PublicRecLast12M": {
        0: "derogatory comment",
        1: "120 days late or more",
        2: "90 days late",
        3: "60 days late",
        4: "30 days late",
        6: "late for an unknown time",
        7: "never late",
    },
    "MaxDelqEver": {
        2: "derogatory comment",
        3: "120 days late or more",
        4: "90 days late",
        5: "60 days late",
        6: "30 days late",
        7: "late for an unknown time",
        8: "never late",
    },
}


def load_heloc(path: str | os.PathLike[str] | None = None, *, check: bool = True) -> Dataset:
    """Load HELOC as the paper uses it: 8291 applicants, 20 columns.

    Three columns are dropped, then all rows that still have a -7, -8 or -9 (no value).

    Parameters
    ----------
    path : path, optional
        The raw file, ``heloc_dataset_v1.csv``. Unless given, the file of that name in the directory
        of the environment variable ``ROBX_DATA``, or in ``~/.cache/robx``; if it does not exist,
        OpenML's copy (data set 46932) is downloaded and stored there.
    check : bool
        Whether the contents must be those of the known raw file (sha256 e5a914f7...), row by row,
        which gives the paper's counts. Line ends, the order of columns, further columns, and 1 and
        0 for Good and Bad make no difference. Without the check, any table with these columns is
        accepted.

    Returns
    -------
    Dataset
        `X` of integers in their original units. `y` is 1 for Good: paid as agreed for two years.
        The `schema` fixes past delays; recent delays may only be forgotten, and accounts may only
        grow older and more numerous.

    Raises
    ------
    InvalidInput
        If there is neither a file nor a network, or the contents are not as expected.

    Examples
    --------
    ``X, y, schema = load_heloc("heloc_dataset_v1.csv")`` gives 8291 rows, of which 4040 are Good.
    An invented table of the same form:

    >>> import tempfile
    >>> rows = pd.DataFrame({LABEL: ["Good", "Bad", "Bad"], **dict.fromkeys(COLUMNS, [5, 6, -9])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows.to_csv(f"{folder}/invented.csv", index=False)
    ...     X, y, schema = load_heloc(f"{folder}/invented.csv", check=False)
    >>> X.shape, y.tolist()
    ((2, 20), [1, 0])
    """
    is_path = isinstance(path, str | os.PathLike | None)
    require(is_path, path, "path", "load_heloc", "the path of a file, or None")
    file = cached_file() if path is None else Path(path)
    is_missing = path is None and not file.is_file()
    table = _fetched(file) if is_missing else _read(file)
    if check:
        _check(table, f"OpenML's data set {OPENML_ID}" if is_missing else f"'{file}'")
    if is_missing:
        _keep(table, file)
    return _as_in_the_paper(table)


def cached_file() -> Path:
    """Where the raw file is looked for, and stored after a download."""
    given = os.environ.get("ROBX_DATA")
    return (Path(given) if given else Path.home() / ".cache" / "robx") / FILE


# --- the raw table --------------------------------------------------------------------------------


def _read(file: Path) -> pd.DataFrame:
    if not file.is_file():
        raise InvalidInput(f"There is no file at '{file}'. load_heloc takes the raw {FILE}.")
    try:
        raw = pd.read_csv(file)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"'{file}' cannot be read as csv: {error}.") from error
    return _in_form(raw, f"'{file}'")


def _in_form(raw: pd.DataFrame, source: str) -> pd.DataFrame:
    """Bring a table into the form of the file: its columns in order, its labels, integers."""
    missing = [name for name in (LABEL, *COLUMNS) if name not in raw.columns]
    if missing:
        raise InvalidInput(
            f"{source} must have the columns of {FILE}. Missing: {', '.join(missing[:8])}."
        )
    labels = raw[LABEL].astype(str).map(LABELS)
    if labels.isna().any():
        other = raw[LABEL][labels.isna()].iloc[0]
        raise InvalidInput(f"{LABEL} of {source} must be Good or Bad, or 1 or 0. Got {other!r}.")
    table: dict[str, pd.Series] = {LABEL: labels}
    for name in COLUMNS:
        # An empty cell means "no record", which has a code.
        numbers = pd.to_numeric(raw[name], errors="coerce").where(raw[name].notna(), CODES[-1])
        whole = (numbers % 1 == 0) & (numbers.abs() < 2**53)
        if not whole.all():
            other = raw[name][~whole].iloc[0]
            raise InvalidInput(f"{name} of {source} must hold integers. Got {other!r}.")
        table[name] = numbers.astype(np.int64)
    return pd.DataFrame(table).reset_index(drop=True)


def _text(table: pd.DataFrame) -> bytes:
    """Write a table byte for byte as in the original file."""
    text: str = table.to_csv(index=False, lineterminator="\r\n")
    return text.removesuffix("\r\n").encode()


def _sha256(table: pd.DataFrame) -> str:
    return hashlib.sha256(_text(table)).hexdigest()


def _check(table: pd.DataFrame, source: str) -> None:
    found = _sha256(table)
    if found != SHA256:
        raise InvalidInput(
            f"{source} must hold the {N_ROWS} rows of {FILE}, in their order (sha256 {SHA256}). "
            f"Got {len(table)} rows (sha256 of the contents {found}): some are missing, changed or "
            "in another order. Get the raw file, or load this one with check=False."
        )


def _as_in_the_paper(table: pd.DataFrame) -> Dataset:
    X = table.drop(columns=[LABEL, *DROPPED])
    complete = ~X.isin(CODES).any(axis=1)
    y = (table[LABEL] == "Good").astype(np.int64).rename("good")
    schema = Schema(
        [_feature(str(name)) for name in X.columns],
        relations=["NumInqLast6Mexcl7days <= NumInqLast6M"],
    )
    return Dataset(X[complete].reset_index(drop=True), y[complete].reset_index(drop=True), schema)


def _feature(name: str) -> Feature:
    change = CHANGE.get(name, "any")
    if name in DELAYS:
        codes, words = tuple(DELAYS[name]), tuple(DELAYS[name].values())
        return Feature(name, "ordinal", change, levels=codes, labels=words)
    if name.startswith("Percent"):
        return Feature(name, "integer", change, low=0, high=100, scale="range")
    return Feature(name, "integer", change, scale="range")


# --- from OpenML ----------------------------------------------------------------------------------


def _fetched(file: Path) -> pd.DataFrame:
    """Download OpenML's copy, with its rows in the order of the file if that can be restored."""
    try:
        raw = _fetch_openml()
    except (OSError, ValueError, HTTPException) as error:
        raise InvalidInput(
            f"load_heloc found no '{file}', and could not get it from OpenML ({error}). Get {FILE} "
            "from FICO (community.fico.com/s/explainable-machine-learning-challenge) and put it "
            "there, or pass its path."
        ) from error
    table = _in_form(raw, f"OpenML's data set {OPENML_ID}")
    # Its rows were shuffled once or twice; the checksum tells when their order is restored.
    once = _unshuffled(table)
    orders = (table, once, _unshuffled(once))
    return next((order for order in orders if _sha256(order) == SHA256), table)


def _unshuffled(table: pd.DataFrame) -> pd.DataFrame:
    """Undo ``table.sample(frac=1, random_state=SHUFFLE_SEED)``."""
    places = pd.Series(range(len(table))).sample(frac=1, random_state=SHUFFLE_SEED)
    return table.set_index(places.to_numpy()).sort_index()


def _fetch_openml() -> pd.DataFrame:
    from sklearn.datasets import fetch_openml  # noqa: PLC0415 - slow to load, seldom needed

    with _impatient(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one for each retry
        # fetch_openml tries four times and waits in between: first find out whether it is online.
        urlopen(f"https://api.openml.org/api/v1/json/data/{OPENML_ID}").close()
        raw: pd.DataFrame = fetch_openml(data_id=OPENML_ID, as_frame=True, cache=False).frame
    return raw


@contextmanager
def _impatient() -> Iterator[None]:
    """Set a timeout for connections that are opened here: fetch_openml has no parameter for it."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _keep(table: pd.DataFrame, file: Path) -> None:
    """Store the file; if that is not allowed, it is downloaded again next time."""
    with suppress(OSError, InvalidInput):
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomically(file, private=False) as temporary:
            temporary.write_bytes(_text(table))
