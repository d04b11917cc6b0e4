"""Records that compiled functions hand on by reference.

numba passes a named tuple as all of its arrays, each as seven numbers. A function that takes four
records of thirty arrays has a thousand parameters then, which takes a minute to compile, and much
of the time of a call. A reference is one.

Whenever compiled code takes an array from a reference, it counts one more owner of the array, and
one less when it is done; this takes longer than most of what is done with it. `borrowed` gives a
reference whose arrays have no owners to count. Whoever uses it holds the record as long.
"""

from __future__ import annotations

from typing import Any, TypeVar

from numba.core import cgutils, types
from numba.experimental import structref
from numba.extending import intrinsic, overload

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


def borrowed(record: Record) -> Record:
    """Do as `by_reference` does, with arrays that only the record itself keeps alive."""
    return record


@intrinsic
def _without_owner(_typing: Any, array: Any) -> Any:
    """The same array, of which nobody counts the owners."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        made = context.make_array(sig.args[0])(context, builder, value=args[0])
        made.meminfo = cgutils.get_null_value(made.meminfo.type)
        made.parent = cgutils.get_null_value(made.parent.type)
        return made._getvalue()

    return array(array), codegen


def _maker(name: str, record: Any) -> Any:
    """Compile what makes a reference of a record, field by field."""
    lines = [f"    made.{field} = {name}(record.{field})" for field in record.fields]
    source = "\n".join(
        ["def make(record):", "    made = new(made_type)", *lines, "    return made"]
    )
    scope: dict[str, Any] = {"new": structref.new, "made_type": _type_of(record)}
    scope |= {"by_reference": by_reference, "borrowed": borrowed}
    exec(source, scope)  # noqa: S102 - names of fields alone
    return scope["make"]


@overload(by_reference, strict=False)
def _compile_by_reference(record: Any) -> Any:
    if not isinstance(record, types.NamedTuple):
        return lambda record: record
    return _maker("by_reference", record)


@overload(borrowed, strict=False)
def _compile_borrowed(record: Any) -> Any:
    if isinstance(record, types.Array):
        return lambda record: _without_owner(record)
    if not isinstance(record, types.NamedTuple):
        return lambda record: record
    return _maker("borrowed", record)
