"""Where libraries may be imported, and who may touch the pieces that the gate is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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


def test_one_module_decides_where_compiled_code_is_kept() -> None:
    users = [name_of(file) for file in FILES if "from numba import njit" in file.read_text()]
    users += [name_of(file) for file in FILES if "numba.njit(" in file.read_text()]
    assert set(users) == {"kernels.compiling"}


def test_the_scan_sees_imports_within_functions() -> None:
    assert "ortools" in imported(SOURCE / "methods" / "exact" / "program.py")


#: What the gate is made of, by the object that has it; and who may ask for it.
PIECES = {
    "rules": {"settle", "keeps", "broken", "stated_bounds"},
    "view": {"readable", "without_markers", "score", "may_exceed", "probe"},
}
OWNERS = ("schema.", "problem.gate", "problem.model_view")


def pieces_used(file: Path) -> Iterator[str]:
    """Attributes such as ``problem.rules.settle`` that a module reads."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if node.attr in PIECES.get(name, ()):
                yield f"{name}.{node.attr}"


def test_only_the_gate_makes_points_legal_and_scores_them() -> None:
    users = {name_of(file): sorted(pieces_used(file)) for file in FILES}
    assert {n: used for n, used in users.items() if used and not n.startswith(OWNERS)} == {}
    assert "rules.settle" in users["problem.gate"]
    assert "view.score" in users["problem.gate"]


#: Who may ask which kind of model there is, and why.
BRANCHES = {
    "problem.model_view": "makes the view of either kind",
    "methods.leaf_space": "tells the type checker what `Method.needs` saw to",
    "robustness.probe": "opens either kind on points",
    "retrained.scoring": "takes a function out of its box, to give it a class",
}


def test_a_model_is_asked_through_one_interface() -> None:
    kinds = ("TreeEnsemble", "BlackBox", "EnsembleView")
    branching = {
        name_of(file)
        for file in FILES
        for line in file.read_text().splitlines()
        if "isinstance(" in line and any(kind in line for kind in kinds)
    }
    assert {name for name in branching if not name.startswith("trees.")} == set(BRANCHES)
