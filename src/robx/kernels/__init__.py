"""Compiled loops: arrays in, arrays out, no objects. The only room that knows numba.

- `sets`: operations on sets of draws, one bit a draw, written as vector instructions.
- `trees`: laying out trees and scoring rows.
- `neighbourhood`: scoring every noisy copy of a row at once, without making the copies.
- `boxes`: exact expectations under Gaussian noise.
- `grids`: bringing points onto the values that a schema allows.
- `nearest`: a search tree for the nearest rows, as they would look for an applicant.
- `placing`, `reach`, `tweaks`: where an applicant can go, the best leaves there, moves into them.
- `regions`: where a model's output is constant, and the cells between its thresholds.
- `crowds`: local outlier factors of new points.
- `soft`: sums and gradients of trees whose splits are sigmoids.
- `paths`: shortest paths through a graph of rows.

Kernels trust their arguments; everything is checked by the rooms above. Each runs without the
GIL on one thread, so that callers may split rows over threads; a row's result never depends on
its neighbours in the batch. Compiled code is cached under the text of the file that a kernel stands
in, not of those that it calls: `neighbourhood` has code of `sets` in it, `regions` and `placing`
of `grids`, `reach` of `placing`, `tweaks` of both. After a change in what others call, delete
``__pycache__`` here; touching files is not enough.
With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python.
"""
