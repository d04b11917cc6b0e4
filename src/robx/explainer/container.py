"""The container of an explainer's file: a zip of parts, and a manifest that lists them.

Nothing in it is compressed, so that the same parts give the same bytes whatever library packs them,
and so that no part can be larger than the file. `manifest.json` is the first part: the number of
the format, the version of robx that wrote it, and of each other part its size, its SHA-256 and what
it is. A reader takes nothing for granted: what it returns are parts that the manifest lists, each
with the digest that is listed, all within the budget.

The number of the format is raised whenever a version of robx could not read, or would read
differently, what the next one writes. How that is done is written down in
docs/reference/explainer-file.md.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo, is_zipfile

from robx.answers.origin import version_of
from robx.budget import Budget
from robx.errors import InvalidInput
from robx.files import parse_json
from robx.trees.store import ZIP

FORMAT = 1
MANIFEST = "manifest.json"
#: More parts than any explainer has: two for each of thousands of models.
MAX_PARTS = 2**14
#: Bytes of memory for an entry of the zip's directory, whose mark is this.
ENTRY, ENTRY_BYTES = b"PK\1\2", 1024
#: So often the parts are in memory while they are read.
COPIES = 3
#: As every file in the zip was written at this moment, by its owner, on the same system.
MOMENT, OWNER_ONLY, UNIX = (1980, 1, 1, 0, 0, 0), 0o600 << 16, 3
#: What is raised for bytes that are not such a zip.
BROKEN = (
    ArithmeticError,
    BadZipFile,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
    zlib.error,
)


class Part(NamedTuple):
    """The bytes of a part, and what it is in words."""

    data: bytes
    what: str


def to_bytes(parts: Mapping[str, Part]) -> bytes:
    """Put parts into a container; the same parts give the same bytes."""
    listed = {
        name: {"what": part.what, "bytes": len(part.data), "sha256": _sha256(part.data)}
        for name, part in parts.items()
    }
    manifest = {"robx_explainer": FORMAT, "robx": version_of("robx"), "parts": listed}
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_STORED) as archive:
        _add(archive, MANIFEST, json.dumps(manifest, indent=1).encode())
        for name, part in parts.items():
            _add(archive, name, part.data)
    return out.getvalue()


def from_bytes(data: bytes, where: str, budget: Budget) -> dict[str, bytes]:
    """Take parts out of a container; each is what the manifest says."""
    if data.startswith(b"robx ensemble "):
        raise InvalidInput(
            f"{where} is not an explainer: it holds a model, which robx.import_model reads. "
            "robx.Explainer fits an explainer with it."
        )
    if not data.startswith(ZIP):
        raise _something_else(where)
    budget.check_memory(ENTRY_BYTES * data.count(ENTRY) + COPIES * len(data), where)
    with budget.reading(where):
        try:
            held = _unzipped(data, where)
            manifest = parse_json(held.pop(MANIFEST), where, budget)
        except InvalidInput:
            raise
        except BROKEN as error:
            said = " ".join(str(error).split())[:120].rstrip(".") or type(error).__name__
            raise _damaged(where, said) from error
    _compare(held, _listed(manifest, where), where)
    return held


def _unzipped(data: bytes, where: str) -> dict[str, bytes]:
    """Read all parts; together they are no larger than the file."""
    if not is_zipfile(io.BytesIO(data)):
        raise BadZipFile("its end is missing")
    with ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        if MANIFEST not in names:  # models of skops, arrays of numpy and spreadsheets are zips, too
            raise _something_else(where)
        if len(members) > MAX_PARTS or len(set(names)) < len(names):
            raise BadZipFile("it has too many parts, or two of one name")
        if any(member.compress_type != ZIP_STORED for member in members):
            raise BadZipFile("a part is compressed")
        if sum(member.file_size for member in members) > len(data):
            raise BadZipFile("its parts are larger than the file")
        return {member.filename: archive.read(member) for member in members}


def _listed(manifest: Any, where: str) -> Mapping[str, Any]:
    """Check the manifest, and give what it lists."""
    written = manifest.get("robx_explainer") if isinstance(manifest, Mapping) else None
    if type(written) is not int or written < 1:
        raise _something_else(where)
    if written > FORMAT:
        by = str(manifest.get("robx", ""))[:20]
        raise InvalidInput(
            f"{where} is in format {written} of a newer robx{f' ({by})' if by else ''}; this "
            f"version reads formats up to {FORMAT}. Upgrade robx, or fit the explainer again."
        )
    parts = manifest.get("parts")
    if not isinstance(parts, Mapping) or set(manifest) != {"robx_explainer", "robx", "parts"}:
        raise _damaged(where, "its manifest does not list its parts")
    return parts


def _compare(held: Mapping[str, bytes], listed: Mapping[str, Any], where: str) -> None:
    """Refuse parts that are not what the manifest says."""
    if set(held) != set(listed):
        other = sorted(set(held) ^ set(listed))[0]
        raise _damaged(where, f"the part {other[:60]!r} is missing, or not listed in the manifest")
    for name, data in held.items():
        said = listed[name]
        if not isinstance(said, Mapping) or set(said) != {"what", "bytes", "sha256"}:
            raise _damaged(where, f"the manifest does not describe {name[:60]!r}")
        if said["bytes"] != len(data) or said["sha256"] != _sha256(data):
            raise _damaged(where, f"the part {name[:60]!r} was changed after it was written")


def _add(archive: ZipFile, name: str, data: bytes) -> None:
    info = ZipInfo(name, MOMENT)
    info.external_attr, info.create_system = OWNER_ONLY, UNIX
    archive.writestr(info, data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _something_else(where: str) -> InvalidInput:
    return InvalidInput(
        f"{where} is not an explainer. Pass a file that Explainer.save or `robx fit` wrote."
    )


def _damaged(where: str, said: str) -> InvalidInput:
    return InvalidInput(
        f"{where} is damaged: {said}. Fit the explainer again, or get the file again from where it "
        "came from."
    )
