"""Sets of draws, one bit a draw, as vector instructions.

The number of 64-bit words in a set is a compile-time constant, the length of the tuple `width`, so
that a set is one vector register. Each operation is a plain function, which says what it does and
which runs when the JIT is off; compiled code calls the vector instructions below it in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from robx.arrays import AnyFloats, Words
from robx.kernels.compiling import njit

Width = tuple[int, ...]
#: A number as kernels have it.
Index = int | np.integer[Any]
#: The lower half of a word.
HALF = 0xFFFFFFFF


def cut_set(
    width: Width, sets: Words, at: Index, prefix: Words, row: Index, left: Index, right: Index
) -> int:
    """Cut ``sets[at]`` by ``prefix[row]`` into ``sets[left]`` and ``sets[right]``.

    Returns 1 if anything went left, plus 2 if anything went right.
    """
    n = len(width)
    all_of_it = sets[at * n : (at + 1) * n].copy()
    goes_left = all_of_it & prefix[row * n : (row + 1) * n]
    goes_right = all_of_it ^ goes_left
    sets[right * n : (right + 1) * n] = goes_right
    sets[left * n : (left + 1) * n] = goes_left
    return int(goes_left.any()) + 2 * int(goes_right.any())


def add_sets(width: Width, sets: Words, items: Words, total: AnyFloats) -> None:
    """Add a value to ``total[k]`` for each draw k in a set, for every item.

    An item is the bits of a float32 value, and in its upper half the place of its set.
    """
    n_words = len(width)
    for item in items:
        at = int(item) >> 32
        words = sets[at * n_words : (at + 1) * n_words].astype("<u8")
        member = np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)
        total[member] += np.array([int(item) & HALF], dtype=np.uint32).view(np.float32)[0]


def compare_set(
    width: Width, values: AnyFloats, first: int, threshold: float, prefix: Words, row: int
) -> None:
    """Write to ``prefix[row]`` which of the values from `first` on are at most a threshold."""
    n = len(width)
    left = values[first : first + 64 * n] <= threshold
    prefix[row * n : (row + 1) * n] = np.packbits(left, bitorder="little").view("<u8")


def compare_or_missing(
    width: Width, values: AnyFloats, first: int, threshold: float, prefix: Words, row: int
) -> None:
    """Do as `compare_set` does, with missing values in the set too."""
    n = len(width)
    left = ~(values[first : first + 64 * n] > threshold)
    prefix[row * n : (row + 1) * n] = np.packbits(left, bitorder="little").view("<u8")


def fetch_ahead(words: Words, at: Index) -> None:
    """Ask for the cache line of a word that will be read soon."""


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, value=array).data


@intrinsic
def _cut_set_vector(
    _typing: Any, width: Any, sets: Any, at: Any, prefix: Any, row: Any, left: Any, right: Any
) -> Any:
    index = types.intp
    signature = types.int64(width, sets, index, prefix, index, index, index)
    word = ir.IntType(64)
    vector = ir.VectorType(word, width.count)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, sets, at, prefix, row, left, right = args
        sets_data = _data(context, builder, sig.args[1], sets)
        prefix_data = _data(context, builder, sig.args[3], prefix)

        def place(data: Any, i: Any) -> Any:
            first = builder.gep(data, [builder.mul(i, ir.Constant(word, width.count))])
            return builder.bitcast(first, vector.as_pointer())

        def occupied(members: Any) -> Any:
            wide = ir.IntType(64 * width.count)
            some = builder.icmp_unsigned("!=", builder.bitcast(members, wide), ir.Constant(wide, 0))
            return builder.zext(some, word)

        members = builder.load(place(sets_data, at), align=8)
        goes_left = builder.and_(members, builder.load(place(prefix_data, row), align=8))
        goes_right = builder.xor(members, goes_left)
        builder.store(goes_right, place(sets_data, right), align=8)
        builder.store(goes_left, place(sets_data, left), align=8)
        return builder.or_(
            occupied(goes_left), builder.shl(occupied(goes_right), ir.Constant(word, 1))
        )

    return signature, codegen


@intrinsic
def _add_sets_vector(_typing: Any, width: Any, sets: Any, items: Any, total: Any) -> Any:
    signature = types.void(width, sets, items, total)
    lanes, n_masks = 16, 4 * width.count  # a set is n_masks groups of 16 draws
    at_once = min(n_masks, 16)  # running sums that fit into registers
    word, half, single = ir.IntType(64), ir.IntType(32), ir.FloatType()
    mask_bits, mask = ir.IntType(lanes), ir.VectorType(ir.IntType(1), lanes)
    vector = ir.VectorType(single, lanes)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, sets, items, total = args
        masks = builder.bitcast(_data(context, builder, sig.args[1], sets), mask_bits.as_pointer())
        items_data = _data(context, builder, sig.args[2], items)
        n = builder.extract_value(
            context.make_array(sig.args[2])(context, builder, value=items).shape, 0
        )
        totals = builder.bitcast(_data(context, builder, sig.args[3], total), vector.as_pointer())

        def spread(scalar: Any) -> Any:
            undefined = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(undefined, scalar, ir.Constant(half, 0))
            zeros = ir.Constant(ir.VectorType(half, lanes), [0] * lanes)
            return builder.shuffle_vector(first, undefined, zeros)

        for first in range(0, n_masks, at_once):
            places = [builder.gep(totals, [ir.Constant(word, first + q)]) for q in range(at_once)]
            sums = [cgutils.alloca_once(builder, vector) for _ in places]
            for place, running in zip(places, sums, strict=True):
                builder.store(builder.load(place, align=4), running)
            with cgutils.for_range(builder, n) as loop:
                item = builder.load(builder.gep(items_data, [loop.index]))
                addend = spread(builder.bitcast(builder.trunc(item, half), single))
                at = builder.lshr(item, ir.Constant(word, 32))
                row = builder.mul(at, ir.Constant(word, n_masks))
                for q, running in enumerate(sums):
                    where = builder.add(row, ir.Constant(word, first + q))
                    member = builder.load(builder.gep(masks, [where]), align=2)
                    before = builder.load(running)
                    after = builder.fadd(before, addend)
                    chosen = builder.select(builder.bitcast(member, mask), after, before)
                    builder.store(chosen, running)
            for place, running in zip(places, sums, strict=True):
                builder.store(builder.load(running), place, align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _fetch_ahead(_typing: Any, words: Any, at: Any) -> Any:
    signature = types.void(words, types.intp)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = builder.gep(_data(context, builder, sig.args[0], args[0]), [args[1]])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        reading = [ir.Constant(number, 0), ir.Constant(number, 3), ir.Constant(number, 1)]
        builder.call(prefetch, [builder.bitcast(place, byte), *reading])
        return context.get_dummy_value()

    return signature, codegen


def _compare_vector(how: str) -> Any:
    """Make the instructions of a comparison; `how` says whether a missing value counts as less."""

    @intrinsic
    def compare(
        _typing: Any, width: Any, values: Any, first: Any, threshold: Any, prefix: Any, row: Any
    ) -> Any:
        index = types.intp
        signature = types.void(width, values, index, types.float64, prefix, index)
        word, vector = ir.IntType(64), ir.VectorType(ir.DoubleType(), 64)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            _, values, first, threshold, prefix, row = args
            data = builder.gep(_data(context, builder, sig.args[1], values), [first])
            out = builder.gep(
                _data(context, builder, sig.args[4], prefix),
                [builder.mul(row, ir.Constant(word, width.count))],
            )
            undefined = ir.Constant(vector, ir.Undefined)
            one = builder.insert_element(undefined, threshold, ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
            limit = builder.shuffle_vector(one, undefined, zeros)
            for w in range(width.count):
                part = builder.gep(data, [ir.Constant(word, 64 * w)])
                some = builder.load(builder.bitcast(part, vector.as_pointer()), align=8)
                left = getattr(builder, how)("<=", some, limit)
                place = builder.gep(out, [ir.Constant(word, w)])
                builder.store(builder.bitcast(left, word), place)
            return context.get_dummy_value()

        return signature, codegen

    return compare


_compare_set_vector = _compare_vector("fcmp_ordered")
_compare_or_missing_vector = _compare_vector("fcmp_unordered")


@overload(cut_set, strict=False)
def _compile_cut_set(
    width: Any, sets: Any, at: Any, prefix: Any, row: Any, left: Any, right: Any
) -> Any:
    return lambda width, sets, at, prefix, row, left, right: _cut_set_vector(
        width, sets, at, prefix, row, left, right
    )


@overload(add_sets, strict=False)
def _compile_add_sets(width: Any, sets: Any, items: Any, total: Any) -> Any:
    return lambda width, sets, items, total: _add_sets_vector(width, sets, items, total)


@overload(fetch_ahead, strict=False)
def _compile_fetch_ahead(words: Any, at: Any) -> Any:
    return lambda words, at: _fetch_ahead(words, at)


@overload(compare_set, strict=False)
def _compile_compare_set(
    width: Any, values: Any, first: Any, threshold: Any, prefix: Any, row: Any
) -> Any:
    return lambda width, values, first, threshold, prefix, row: _compare_set_vector(
        width, values, first, threshold, prefix, row
    )


@overload(compare_or_missing, strict=False)
def _compile_compare_or_missing(
    width: Any, values: Any, first: Any, threshold: Any, prefix: Any, row: Any
) -> Any:
    return lambda width, values, first, threshold, prefix, row: _compare_or_missing_vector(
        width, values, first, threshold, prefix, row
    )


@njit(nogil=True, cache=True)
def aligned(n_words: int) -> Words:
    """Words that begin at a cache line: a set that lies across two lines takes twice as long."""
    words = np.empty(n_words + 8, dtype=np.uint64)
    skip = (-words.ctypes.data // 8) % 8
    return words[skip : skip + n_words]
