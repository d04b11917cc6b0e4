"""Compiled loops: arrays in, arrays out, no objects. The only room that knows numba.

- `sets`: operations on sets of draws, one bit a draw, written as vector instructions.
- `trees`: laying out trees and scoring rows.
- `neighbourhood`: scoring every noisy copy of a row at once, without making the copies.
- `boxes`: exact expectations under Gaussian noise.

Kernels trust their arguments; everything is checked by the rooms above. Each runs without the
GIL on one thread, so that callers may split rows over threads; a row's result never depends on
its neighbours in the batch. Compiled code is cached beside the file of the kernel that was called:
after a change in `sets`, touch `neighbourhood`. With ``NUMBA_DISABLE_JIT=1`` the same functions run
as plain Python.
"""
