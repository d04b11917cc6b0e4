"""Models in: one small parser per library, each ending in the same frozen arrays.

`door` chooses the parser, `build` checks and lays out what it read, `ensemble` scores it. What is
particular to a library ends in its parser.
"""

from __future__ import annotations

from robx.trees.blackbox import BlackBox
from robx.trees.ensemble import TreeEnsemble
from robx.trees.importer import import_model

__all__ = ["BlackBox", "TreeEnsemble", "import_model"]
