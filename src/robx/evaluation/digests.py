"""What makes two cells the same: a digest of everything that goes into one.

Too fine a digest costs a run; too coarse a one gives a wrong figure. So in doubt two things differ:
the order of a mapping counts, and so does any change in the files of the user's own code that an
object comes from, and in robx. Installed code counts by its version.
"""

from __future__ import annotations

import dataclasses
import dis
import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import joblib
import narwhals as nw
import numpy as np
import pandas as pd

from robx import errors
from robx.errors import InvalidInput
from robx.methods import Method
from robx.problem import Problem
from robx.tables import as_pandas
from robx.trees import BlackBox, TreeEnsemble

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def digest(*values: Any) -> str:
    """Give a text that stands for values, the same in every process.

    An estimator counts by its parameters, fitted or not. What a function holds, and what is in a
    `BlackBox`, counts by what it has learned.

    Raises
    ------
    InvalidInput
        For what cannot be told apart from others of its kind.
    """
    return _joined([_own_code(), _Digests().of(list(values), learned=False)])


def _joined(parts: Iterable[str]) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part.encode())
        sha.update(b"\0")
    return sha.hexdigest()


class _Digests:
    """Digests of objects, each made once."""

    def __init__(self) -> None:
        #: With the objects themselves, so that no other object can take their places.
        self._known: dict[tuple[int, bool], tuple[Any, str]] = {}

    def of(self, value: Any, *, learned: bool) -> str:
        """Give the digest of anything."""
        kind = type(value).__qualname__
        if isinstance(value, PLAIN):
            return _joined([kind, repr(value)])
        key = (id(value), learned)
        if key not in self._known:
            self._known[key] = value, "within itself"
            parts = self._parts(value, learned)
            self._known[key] = value, _joined([kind, *parts])
        return self._known[key][1]

    def _each(self, values: Iterable[Any], learned: bool) -> list[str]:
        return [self.of(value, learned=learned) for value in values]

    def _parts(self, value: Any, learned: bool) -> list[str]:  # noqa: PLR0911 - a list of kinds
        if isinstance(value, Mapping):
            return self._each([item for pair in value.items() for item in pair], learned)
        if isinstance(value, np.ndarray | np.generic):
            return self._array(np.asarray(value), learned)
        if isinstance(value, list | tuple):
            return self._each(value, learned)
        if isinstance(value, set | frozenset):
            return sorted(self._each(value, learned))
        if isinstance(value, TreeEnsemble):
            return [value.digest]
        if isinstance(value, BlackBox):
            return self._each([value.model, value.target], learned=True)
        if isinstance(value, Problem):
            known = [value.model, value.training, value.schema, value.threshold]
            return self._each(known, learned)
        if isinstance(value, type):
            return self._class(value)
        if callable(value) or isinstance(value, ModuleType):
            return self._code(value)
        table = nw.from_native(value, eager_only=True, allow_series=True, pass_through=True)
        if isinstance(table, nw.Series):
            table = table.to_frame()
        if isinstance(table, nw.DataFrame):
            return [type(value).__module__, *_columns(table.to_native())]
        return [self.of(type(value), learned=learned), *self._state(value, learned)]

    def _array(self, array: np.ndarray[Any, Any], learned: bool) -> list[str]:
        if array.dtype != object:
            return [array.dtype.str, str(array.shape), str(joblib.hash(array))]
        return [str(array.shape), *self._each(array.ravel().tolist(), learned)]

    def _state(self, value: Any, learned: bool) -> list[str]:
        """Give what an object holds: its parameters, its attributes, or all that is pickled."""
        learned = learned or isinstance(value, Method)  # which may hold models
        if hasattr(value, "get_params") and not learned:
            return [self.of(value.get_params(deep=False), learned=learned)]
        if dataclasses.is_dataclass(value):
            kind = type(value)
            made = [name for name in vars(value) if _is_made(kind, name)]
            held = {name: of for name, of in vars(value).items() if name not in made}
            return [self.of(held, learned=learned)]
        return [_pickled(value)]

    # --- code -------------------------------------------------------------------------------------

    def _code(self, value: Any) -> list[str]:
        """Give what a function, or something else that can be called, does and holds."""
        if isinstance(value, partial):
            return self._each([value.func, value.args, value.keywords], learned=True)
        if isinstance(value, MethodType):
            return self._each([value.__self__, value.__func__], learned=True)
        if not isinstance(value, FunctionType) and hasattr(value, "__wrapped__"):
            return [self.of(value.__wrapped__, learned=True)]
        if isinstance(value, ModuleType):
            return _origin(value.__name__, "")
        if isinstance(value, BuiltinFunctionType):
            return _origin(str(value.__module__), value.__qualname__)
        if not isinstance(value, FunctionType):
            return [self.of(type(value), learned=True), *self._state(value, learned=True)]
        origin = _origin(value.__module__, value.__qualname__)
        return origin if _is_installed(value.__module__) else [*origin, *self._held(value)]

    def _held(self, function: FunctionType) -> list[str]:
        """Give a function's body, and what it reads from around it."""
        around = function.__globals__
        read = {name: around[name] for name in _globals_of(function.__code__) if name in around}
        closure = []
        for cell in function.__closure__ or ():
            try:
                closure.append(cell.cell_contents)
            except ValueError:  # not filled yet
                closure.append(None)
        held = [_body(function.__code__), function.__defaults__, function.__kwdefaults__]
        return self._each([*held, closure, read], learned=True)

    def _class(self, kind: type) -> list[str]:
        """Give where a class comes from, and what is in it if it is in no file."""
        parts = _origin(kind.__module__, kind.__qualname__)
        own = [base for base in kind.__mro__ if not _is_installed(base.__module__)]
        for base in own:
            parts += _origin(base.__module__, base.__qualname__)
            if _file_of(base.__module__) is None:  # typed into an interpreter
                for name, item in sorted(vars(base).items()):
                    inner = getattr(item, "__func__", getattr(item, "fget", item))
                    if isinstance(inner, (FunctionType, list, tuple, dict, set, *PLAIN)):
                        parts += [name, self.of(inner, learned=True)]
        return parts


def _is_made(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), cached_property)


def _pickled(value: Any) -> str:
    try:
        return str(joblib.hash(value))
    except Exception as error:
        raise InvalidInput(
            f"A log needs to tell {type(value).__name__} objects apart, and cannot: {error}. "
            "Leave the log out, or use what can be pickled."
        ) from error


def _columns(frame: Any) -> list[str]:
    """Give a table's names, dtypes, categories in order, and values."""
    pandas = as_pandas(frame)
    dtypes = [str(dtype) for dtype in getattr(frame, "dtypes", getattr(frame, "schema", []))]
    parts = [str(name) for name in pandas.columns] + dtypes
    for name in pandas.columns:
        if isinstance(pandas[name].dtype, pd.CategoricalDtype):
            parts += [str(pandas[name].dtype.ordered), *map(str, pandas[name].cat.categories)]
    rows: Any
    try:
        rows = pd.util.hash_pandas_object(pandas, index=False).to_numpy()
    except TypeError:  # cells that hold lists
        rows = [[repr(cell) for cell in pandas[name]] for name in pandas.columns]
    return [*parts, str(joblib.hash(rows))]


def _body(code: CodeType) -> list[Any]:
    constants = [_body(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return [code.co_code, code.co_names, constants]


def _globals_of(code: CodeType) -> list[str]:
    """Name the globals that a piece of code reads."""
    loads = {"LOAD_GLOBAL", "LOAD_NAME"}
    own = [str(step.argval) for step in dis.get_instructions(code) if step.opname in loads]
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _globals_of(c)]
    return sorted({*own, *inner})


# --- where code comes from ------------------------------------------------------------------------


def _origin(module: str, name: str) -> list[str]:
    """Name a piece of code, with its version, or its files if it is the user's own."""
    if _is_installed(module):
        top = sys.modules.get(module.split(".", maxsplit=1)[0])
        return [f"{module}.{name}", str(getattr(top, "__version__", ""))]
    return [f"{module}.{name}", *_files(module)]


def _files(module: str) -> list[str]:
    """Digest the user's own files that a module is made of, and those that it imports."""
    found: dict[str, None] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name in found or _is_installed(name):
            continue
        found[name] = None
        for value in list(vars(sys.modules[name]).values()) if name in sys.modules else ():
            other = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
            if other is not None:
                todo.append(other)
    paths = sorted(str(path) for path in map(_file_of, found) if path is not None)
    return [_of_file(path, Path(path).stat().st_mtime_ns) for path in paths]


def _module_of(value: Any) -> str | None:
    module = getattr(value, "__module__", None)
    return module if isinstance(module, str) else None


def _file_of(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file is not None and Path(file).is_file() else None


@cache
def _is_installed(module: str) -> bool:
    """Whether a module is part of Python, of an installed package, or of robx."""
    if module.split(".", maxsplit=1)[0] == "robx" or module in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module != "__main__"
    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return any(Path(file).is_relative_to(place) for place in places)


@cache
def _of_file(path: str, _: int) -> str:
    """Digest a file as it was at a time."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@cache
def _own_code() -> str:
    """Digest the code of robx itself."""
    sha = hashlib.sha256()
    for file in sorted(Path(errors.__file__).parent.rglob("*.py")):
        sha.update(file.read_bytes())
    return sha.hexdigest()
