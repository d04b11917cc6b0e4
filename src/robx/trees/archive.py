"""The zip of arrays that a `.skops` file is, read as if a stranger had made it.

Every size in it is a claim: how many bytes a part has, how long an array is. Parts are counted
while they are inflated, and the header of every array must say what its bytes are. What comes out
is a plain archive of our own, in which every claim is true, so that others may read it.
"""

from __future__ import annotations

import io
import math
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy

from robx.budget import MOST_INFLATION, SMALL, Budget
from robx.errors import BudgetExceeded, InvalidModel, UnsupportedModel

#: The part that names the types of everything.
SCHEMA = "schema.json"
MAX_PARTS = 2**18
#: Bytes of memory for an entry of the zip's directory, whose mark is this.
ENTRY, ENTRY_BYTES = b"PK\1\2", 1024
#: So often the parts are in memory until their model is imported.
COPIES = 4
AT_ONCE = 2**20
#: How the header of an array is read, by the version of its format.
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def unzip(data: bytes, where: str, budget: Budget) -> dict[str, bytes]:
    """Read all parts of a zip; together they must be what it says, and within the budget."""
    budget.check_memory(ENTRY_BYTES * data.count(ENTRY), where)
    with ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > MAX_PARTS:
            raise UnsupportedModel(
                f"{where} has {len(members):,} parts; at most {MAX_PARTS:,} are read."
            )
        if len({member.filename for member in members}) < len(members):
            raise InvalidModel(f"{where} has two parts of one name.")
        if any(member.compress_type not in {ZIP_STORED, ZIP_DEFLATED} for member in members):
            raise UnsupportedModel(
                f"{where} is compressed in a way that robx does not read. Save it again with "
                "skops.io.dump and its default compression, or with zipfile.ZIP_DEFLATED."
            )
        total = sum(member.file_size for member in members)
        budget.check_memory(COPIES * total, where)
        if total > max(MOST_INFLATION * len(data), SMALL):
            raise BudgetExceeded(
                f"{where} has {len(data):,} bytes and says that it unfolds to {total:,}, more than "
                f"{MOST_INFLATION} times as many. If you trust it, save it again without "
                "compression."
            )
        return {member.filename: _inflated(archive, member) for member in members}


def _inflated(archive: ZipFile, member: ZipInfo) -> bytes:
    """Read a part bit by bit: at one go Python inflates all there is, whatever was claimed."""
    parts = []
    with archive.open(member) as stream:
        while part := stream.read(AT_ONCE):
            parts.append(part)
    data = b"".join(parts)
    if len(data) != member.file_size:
        raise BadZipFile(f"{member.filename} has {len(data)} bytes, not {member.file_size}")
    return data


def rezip(parts: dict[str, bytes]) -> bytes:
    """Make an archive in which nothing is compressed and every size is true."""
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(ZipInfo(name), data)
    return out.getvalue()


def array_shape(data: bytes, name: str) -> tuple[int, ...]:
    """Give the shape of an array in numpy's format, whose header must say what its bytes are."""
    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    if version not in HEADERS:
        raise InvalidModel(f"The array {name[:40]} is of version {version}, which is not known.")
    shape, _, dtype = HEADERS[version](stream)
    held = len(data) - stream.tell()
    plain = not dtype.hasobject and dtype.itemsize > 0 and all(n >= 0 for n in shape)
    if not plain or math.prod(shape) * dtype.itemsize != held or max(shape, default=0) > len(data):
        raise InvalidModel(
            f"The array {name[:40]} says that it is {np.dtype(dtype).str} of shape {shape}, and "
            f"has {held} bytes."
        )
    return shape
