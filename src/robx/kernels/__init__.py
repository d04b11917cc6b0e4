"""Compiled loops: arrays in, arrays out, no objects. Only packages called `kernels` know numba.

- `sets`: operations on sets of draws, one bit a draw, written as vector instructions.
- `trees`: laying out trees and scoring rows.
- `neighbourhood`: scoring every noisy copy of a row at once, without making the copies.
- `row_sets`: scoring many rows at once, roughly, to rule out what is far from a cutoff.
- `boxes`: exact expectations under Gaussian noise.
- `grids`: bringing points onto the values that a schema allows.
- `nearest`: a search tree for the nearest rows, as they would look for an applicant.
- `leaf_boxes`, `reachable_leaves`: where an applicant can go, and the best leaves there.
- `regions`: where a model's output is constant, and the cells between its thresholds.
- `lof`: local outlier factors of new points.
- `compiling`, `code_files`, `code_places`: how kernels are compiled, and where the code is kept.

Kernels trust their arguments; everything is checked by the layers above. Each runs without the
GIL on one thread, so that callers may split rows over threads; a row's result never depends on
its neighbours in the batch. With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python.
"""
