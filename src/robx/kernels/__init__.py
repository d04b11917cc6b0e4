"""Compiled loops: arrays in, arrays out, no objects. The only room that knows numba.

- `sets`: operations on sets of draws, one bit a draw, written as vector instructions.
- `trees`: laying out trees and scoring rows.
- `neighbourhood`: scoring every noisy copy of a row at once, without making the copies.
- `boxes`: exact expectations under Gaussian noise.
- `grids`: bringing points onto the values that a schema allows.
- `nearest`: a search tree for the nearest rows, as they would look for an applicant.
- `placing`, `reach`, `tweaks`: where an applicant can go, the best leaves there, moves into them.
- `soft`: sums and gradients of trees whose splits are sigmoids.
- `paths`: shortest paths through a graph of rows.

Kernels trust their arguments; everything is checked by the rooms above. Each runs without the
GIL on one thread, so that callers may split rows over threads; a row's result never depends on
its neighbours in the batch. Compiled code is cached beside the file of the kernel that was called:
after a change in `sets`, touch `neighbourhood`; in `grids` or `placing`, touch `reach`, `tweaks`.
With ``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python.
"""
