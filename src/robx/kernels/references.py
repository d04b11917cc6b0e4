"""Records that compiled functions hand on by reference.

numba passes a named tuple as all of its arrays, each as seven numbers. A function that takes four
records of thirty arrays has a thousand parameters then, which takes a minute to compile, and much
of the time of a call. A reference is one.
"""

from __future__ import annotations

from typing import Any, TypeVar

from numba.core import types
from numba.experimental import structref
from numba.extending import overload

Record = TypeVar("Record")


@structref.register
class Reference(types.StructRef):
    """The type of a reference: the fields of its record."""


def by_reference(record: Record) -> Record:
    """Give a named tuple by reference: read like the tuple; in Python it is the tuple itself."""
    return record


def _type_of(record: Any) -> Any:
    """The type of a reference to a record, whose own records are references too."""
    if not isinstance(record, types.NamedTuple):
        return types.unliteral(record)
    return Reference(tuple(zip(record.fields, map(_type_of, record.types), strict=True)))


@overload(by_reference, strict=False)
def _compile_by_reference(record: Any) -> Any:
    if not isinstance(record, types.NamedTuple):
        return lambda record: record
    lines = [f"    made.{name} = by_reference(record.{name})" for name in record.fields]
    source = "\n".join(
        ["def make(record):", "    made = new(made_type)", *lines, "    return made"]
    )
    scope: dict[str, Any] = {"new": structref.new, "made_type": _type_of(record)}
    scope["by_reference"] = by_reference
    exec(source, scope)  # noqa: S102 - names of fields alone
    return scope["make"]
