"""Models in: one small parser per library, each ending in the same frozen arrays.

`importer` chooses the parser, `build` checks and lays out what it read, `ensemble` scores it, and
`model` says what every imported model offers. What is particular to a library ends in its parser.
"""

from __future__ import annotations

from robx.trees.blackbox import BlackBox
from robx.trees.ensemble import TreeEnsemble
from robx.trees.importer import import_model
from robx.trees.model import Model

__all__ = ["BlackBox", "Model", "TreeEnsemble", "import_model"]
