"""Answers in files: whole as `.json` or `.parquet`, the flat table as `.csv`.

A parquet file holds the flat table for whoever reads it, and everything as JSON in its metadata. In
any other form than robx wrote it, a file is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robx.answers.certificate import Certificate
from robx.answers.crowds import Crowds
from robx.answers.origin import checked_origin
from robx.answers.status import Status
from robx.budget import UNLIMITED, Budget
from robx.errors import InvalidInput
from robx.files import atomically, check_target, existing_file, parse_json, write_table
from robx.schema import Schema, check_norm
from robx.tables import count_rows, pack, unpack

if TYPE_CHECKING:
    import pandas as pd

    from robx.answers.counterfactuals import Counterfactuals

#: Raised whenever a file of an earlier version can no longer be read.
FORMAT = 2
#: So many bases of bases, or alternatives, may be inside each other.
DEEPEST = 32
#: Names of the arrays with one number a row.
NUMBERS = ("cost", "score", "stability", "n_changes")
ENDINGS = (".json", ".parquet", ".csv", ".csv.gz")
#: Where a parquet file keeps everything.
KEY = b"robx"
#: Memory for a table, however small.
TABLE_BYTES = 2**13


def to_plain(answers: Counterfactuals) -> dict[str, Any]:
    """Give everything as plain values, ready for JSON."""
    return {
        "robx_counterfactuals": FORMAT,
        "method": answers.method,
        "settings": dict(answers.settings),
        "schema": answers.schema.to_dict(),
        "norm": answers.norm,
        "applicants": pack(answers.applicants),
        "points": pack(answers.points),
        "status": [str(status) for status in answers.status],
        "reason": list(answers.reason),
        "obstacles": [list(names) for names in answers.obstacles],
        **{name: _without_nan(getattr(answers, name)) for name in NUMBERS},
        "changes": [list(change) for change in answers.changes],
        "base": None if answers.base is None else to_plain(answers.base),
        "paths": None if answers.paths is None else [pack(path) for path in answers.paths],
        "measured": {name: _without_nan(values) for name, values in answers.measured.items()},
        "certificate": None if answers.certificate is None else answers.certificate.to_dict(),
        "crowds": None if answers.crowds is None else answers.crowds.to_dict(),
        "alternatives": [to_plain(other) for other in answers.alternatives],
        "origin": dict(answers.origin),
    }


def from_plain(
    cls: type[Counterfactuals], plain: Any, depth: int = 0, budget: Budget = UNLIMITED
) -> Counterfactuals:
    """Make answers from plain values, as `to_plain` gives them."""
    if depth > DEEPEST:
        raise InvalidInput(f"The counterfactuals are damaged: nested more than {DEEPEST} deep.")
    written = plain.get("robx_counterfactuals") if isinstance(plain, Mapping) else None
    if written in range(1, FORMAT):
        raise InvalidInput(
            f"The counterfactuals are in format {written}, of an earlier version of robx; this "
            f"version reads format {FORMAT}. Compute them again, or load them with that version."
        )
    if written != FORMAT:
        raise InvalidInput("These are not counterfactuals that this version of robx wrote.")
    try:
        base, paths, certificate = plain["base"], plain["paths"], plain.get("certificate")
        crowds = plain.get("crowds")
        made = cls(
            method=str(plain["method"]),
            settings=dict(plain["settings"]),
            schema=Schema.from_dict(plain["schema"]),
            applicants=unpack(plain["applicants"], budget),
            points=unpack(plain["points"], budget),
            status=np.array([Status(status) for status in plain["status"]], dtype=object),
            reason=tuple(map(str, plain["reason"])),
            cost=np.array(plain["cost"], dtype=np.float64),
            score=np.array(plain["score"], dtype=np.float64),
            stability=np.array(plain["stability"], dtype=np.float64),
            n_changes=np.array(plain["n_changes"], dtype=np.int64),
            norm=plain["norm"],
            base=None if base is None else from_plain(cls, base, depth + 1, budget),
            paths=None if paths is None else tuple(unpack(path, budget) for path in paths),
            measured={
                str(name): np.array(values, dtype=np.float64)
                for name, values in plain.get("measured", {}).items()
            },
            certificate=Certificate.from_dict(certificate) if certificate else None,
            crowds=Crowds.from_dict(crowds) if crowds else None,
            alternatives=tuple(
                from_plain(cls, one, depth + 1, budget) for one in plain.get("alternatives", ())
            ),
            origin=checked_origin(plain.get("origin", {})),
            obstacles=tuple(tuple(map(str, names)) for names in plain.get("obstacles", ())),
        )
        check_norm(made.norm, "Counterfactuals")
        lengths = [len(made.reason), *map(count_rows, (made.applicants, made.points))]
        lengths += [len(other) for other in made.alternatives]
        lengths += [len(made.obstacles)] if made.obstacles else []
        lengths += [len(made.certificate.covers)] if made.certificate else []
        lengths += [len(made.crowds.covers)] if made.crowds else []
        numbers = [*(getattr(made, name) for name in NUMBERS), *made.measured.values()]
        shapes = [values.shape for values in numbers]
    except InvalidInput:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InvalidInput(f"The counterfactuals are damaged: {error!r}.") from error
    n = len(made.status)
    if any(length != n for length in lengths) or any(shape != (n,) for shape in shapes):
        raise InvalidInput("The counterfactuals are damaged: columns differ in length.")
    return made


# --- files ----------------------------------------------------------------------------------------


def save(answers: Counterfactuals, path: str | os.PathLike[str]) -> None:
    """Write answers in the form that the file's ending names."""
    file = check_path(path)
    if file.suffix.lower() == ".json":
        with atomically(file) as temporary:
            temporary.write_text(answers.to_json(), encoding="utf-8")
    elif file.suffix.lower() == ".parquet":
        _write_parquet(answers, file)
    else:
        write_table(answers.table, file)


def check_path(path: str | os.PathLike[str], names: Iterable[str] = ()) -> Path:
    """Refuse, before any work is done, a file that answers cannot be saved to.

    The flat table in all but a `.json` file must be able to hold features of these names.
    """
    file = Path(path)
    if not file.name.lower().endswith(ENDINGS):
        raise InvalidInput(
            "Counterfactuals are saved as .json or .parquet, which can be loaded again, or as .csv "
            f"for their table alone. Got '{file.name}'."
        )
    if file.suffix.lower() != ".json":
        from robx.answers.flat_table import check_names  # noqa: PLC0415 - pandas takes long to load

        check_names(names)
    check_target(file)
    return file


def load(
    cls: type[Counterfactuals], path: str | os.PathLike[str], budget: Budget
) -> Counterfactuals:
    """Read what `save` wrote to a `.json` or `.parquet` file."""
    file = existing_file(path)
    with budget.reading(f"'{file.name}'"):
        if file.suffix.lower() == ".parquet":
            text = _metadata(file, budget)
        elif file.suffix.lower() == ".json":
            text = budget.read(file)
        else:
            raise InvalidInput(
                f"Counterfactuals are loaded from .json or .parquet. Got '{file.name}'; a .csv "
                "file holds only their table."
            )
        try:
            plain = parse_json(text, f"'{file.name}'", budget)
        except InvalidInput:
            raise
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"'{file.name}' is not JSON: {error}.") from error
        # Every table in it takes more than its text: an empty frame is some thousand bytes.
        budget.check_memory(TABLE_BYTES * _count_tables(plain), f"'{file.name}'")
        return from_plain(cls, plain, budget=budget)


def _count_tables(plain: Any, depth: int = 0) -> int:
    """Count the tables that `from_plain` would make of plain values, whatever else they hold."""
    if depth > DEEPEST or not isinstance(plain, Mapping):
        return 0
    paths, others = plain.get("paths"), plain.get("alternatives")
    inner = [plain.get("base"), *(others if isinstance(others, list) else ())]
    n_paths = len(paths) if isinstance(paths, Sized) else 0
    return 2 + n_paths + sum(_count_tables(one, depth + 1) for one in inner)


def _write_parquet(answers: Counterfactuals, file: Path) -> None:
    import pyarrow as pa  # type: ignore[import-untyped] # noqa: PLC0415 - takes long to load
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # noqa: PLC0415

    frame = answers.table
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException:  # a column of values of several kinds
        table = pa.Table.from_pandas(_as_text(frame), preserve_index=False)
    metadata = {**(table.schema.metadata or {}), KEY: answers.to_json().encode()}
    with atomically(file) as temporary:
        pq.write_table(table.replace_schema_metadata(metadata), temporary)


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Make text of what is not of one kind; the metadata has it as it was."""
    mixed = [name for name in frame.columns if frame[name].dtype == object]
    return frame.astype(dict.fromkeys(mixed, str))


def _metadata(file: Path, budget: Budget) -> bytes:
    """Read everything from a parquet file's metadata; the table itself is not read."""
    budget.check_bytes(file.stat().st_size, f"'{file.name}'")
    import pyarrow as pa  # noqa: PLC0415 - takes long to load
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(file, thrift_string_size_limit=2**31 - 1) as opened:
            metadata = opened.schema_arrow.metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(
            f"'{file.name}' is not a parquet file, or a damaged one: {error}."
        ) from error
    if KEY not in metadata:
        raise InvalidInput(
            f"'{file.name}' is a parquet file that robx did not write, or of which only the table "
            "was kept."
        )
    return bytes(metadata[KEY])


# --- plain values ---------------------------------------------------------------------------------


def _without_nan(values: NDArray[Any]) -> list[Any]:
    """Numbers as JSON has them: None for what is none."""
    return [value if np.isfinite(value) else None for value in values.tolist()]
