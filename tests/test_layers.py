"""Where libraries may be imported, and who may touch the pieces that the gate is made of."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "robx"
FILES = sorted(SOURCE.rglob("*.py"))

#: Libraries that only some packages know, by the beginning of the module's name.
ONLY_IN = {
    "numba": ("kernels.", "methods.baselines.kernels."),
    "llvmlite": ("kernels.", "methods.baselines.kernels."),
    "matplotlib": ("plots.",),
    "jinja2": ("reports.",),
    "click": ("cli.",),
    "skops": ("trees.skops", "cli.demo"),
    "ortools": ("methods.exact.",),
    "polars": (),
}


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts)


@cache
def imported(file: Path) -> frozenset[str]:
    """The top-level libraries that a module imports, at any depth of its code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return frozenset(found)


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_imported_only_where_it_belongs(library: str) -> None:
    users = [name_of(file) for file in FILES if library in imported(file)]
    assert [name for name in users if not name.startswith(ONLY_IN[library])] == []


def test_the_scan_sees_imports_within_functions() -> None:
    assert "ortools" in imported(SOURCE / "methods" / "exact" / "program.py")
