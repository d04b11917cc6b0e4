"""What makes two cells the same: a digest of everything that goes into one.

Too many digests cost a run; too few give a wrong figure. So in doubt two things differ: the order
of a mapping counts, and any change in a file of one's own code, or of robx, starts anew. Code that
is installed counts by its version.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import joblib
import numpy as np
import pandas as pd

import robx.errors as of_robx
from robx.errors import InvalidInput
from robx.tables import as_pandas
from robx.trees import BlackBox, TreeEnsemble

__all__ = ["digest"]

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def digest(*values: Any) -> str:
    """Give a text that stands for values, the same in every process.

    Estimators count by their parameters, fitted or not; models in a `BlackBox` by what they have
    learned.

    Raises
    ------
    InvalidInput
        For what cannot be told apart from others of its kind.
    """
    sha = hashlib.sha256(_own_code().encode())
    for part in _parts(list(values), set()):
        sha.update(part.encode())
        sha.update(b"\0")
    return sha.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    yield type(value).__qualname__
    if isinstance(value, PLAIN):
        yield repr(value)
    elif isinstance(value, type):
        yield from _code_of(value)
    elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        yield f"{value.dtype.str} {value.shape} {joblib.hash(np.asarray(value))}"
    elif isinstance(value, set | frozenset):
        yield from sorted(digest(item) for item in value)
    elif id(value) in seen:
        yield "again"
    else:
        seen.add(id(value))  # on the way down only: what is shared is not a circle
        yield from _parts_of_object(value, seen)
        seen.discard(id(value))


def _parts_of_object(value: Any, seen: set[int]) -> Iterator[str]:
    inner: Any
    if isinstance(value, Mapping):
        inner = [list(item) for item in value.items()]
    elif isinstance(value, list | tuple | np.ndarray):
        yield str(len(value))
        for item in value:
            yield from _parts(item, seen)
        return
    elif isinstance(value, TreeEnsemble):
        inner = value.digest
    elif isinstance(value, BlackBox):
        inner = [_learned(value.model, seen), value.target]
    elif isinstance(value, partial):
        inner = [value.func, value.args, value.keywords]
    elif isinstance(value, MethodType):
        inner = [value.__self__, value.__func__]
    elif isinstance(value, FunctionType | BuiltinFunctionType | ModuleType):
        yield from _code_of(value)
        inner = _held(value) if isinstance(value, FunctionType) else None
    elif hasattr(value, "__dataframe__") or hasattr(value, "__arrow_c_stream__"):
        inner = _columns(value)
    else:
        yield from _code_of(type(value))
        inner = _state(value)
    yield from _parts(inner, seen)


def _state(value: Any) -> Any:
    """Give what an object holds: the parameters of an estimator, the fields of a dataclass."""
    if hasattr(value, "get_params"):
        return value.get_params(deep=False)
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    try:
        return joblib.hash(value)
    except Exception as error:
        raise InvalidInput(
            f"A log needs to tell {type(value).__name__} objects apart, and cannot: {error}. "
            "Leave the log out, or use what can be pickled."
        ) from error


def _learned(model: Any, seen: set[int]) -> Any:
    """Give what a model that is only known by its scores has learned."""
    if isinstance(model, FunctionType | MethodType | partial):
        return list(_parts(model, seen))
    try:
        return joblib.hash(model)
    except Exception as error:
        raise InvalidInput(
            f"A log needs to tell models apart, and cannot for {type(model).__name__}: {error}. "
            "Leave the log out."
        ) from error


def _held(function: FunctionType) -> Any:
    """Give what a function does, and what it reads from around it, if it is the user's own."""
    if _is_installed(function.__module__):
        return None
    around = function.__globals__
    read = {name: around[name] for name in _names(function.__code__) if name in around}
    modules = {name: value for name, value in read.items() if isinstance(value, ModuleType)}
    closure = []
    for cell in function.__closure__ or ():
        try:
            closure.append(cell.cell_contents)
        except ValueError:  # not filled yet
            closure.append(None)
    others = {name: value for name, value in read.items() if name not in modules}
    rest = [function.__defaults__, function.__kwdefaults__, closure, sorted(modules), others]
    return [_body(function.__code__), *rest]


def _body(code: CodeType) -> list[Any]:
    constants = [_body(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return [code.co_code, code.co_names, constants]


def _names(code: CodeType) -> list[str]:
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _names(c)]
    return sorted({*code.co_names, *inner})


def _columns(frame: Any) -> list[Any]:
    """Give a table's kind, names, dtypes, categories in order, and values."""
    pandas = as_pandas(frame)
    dtypes = [str(dtype) for dtype in getattr(frame, "dtypes", getattr(frame, "schema", []))]
    categories = [
        [bool(pandas[name].dtype.ordered), *(str(level) for level in pandas[name].cat.categories)]
        for name in pandas.columns
        if isinstance(pandas[name].dtype, pd.CategoricalDtype)
    ]
    rows = pd.util.hash_pandas_object(pandas, index=False).to_numpy()
    names = [str(name) for name in pandas.columns]
    return [type(frame).__module__, names, dtypes, categories, joblib.hash(rows)]


# --- code -----------------------------------------------------------------------------------------


def _code_of(value: Any) -> Iterator[str]:
    """Name a class, function or module; code of the user's own counts by its file."""
    module = value.__name__ if isinstance(value, ModuleType) else value.__module__
    yield f"{module}.{getattr(value, '__qualname__', '')}"
    if _is_installed(module):
        top = sys.modules.get(str(module).split(".")[0])
        yield str(getattr(top, "__version__", ""))
        return
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is not None and Path(file).is_file():
        yield _of_file(file)
    elif isinstance(value, type):  # typed into an interpreter
        bodies = [m.__code__ for m in vars(value).values() if isinstance(m, FunctionType)]
        yield from (repr(list(_parts(_body(code), set()))) for code in bodies)


@cache
def _is_installed(module: str | None) -> bool:
    """Whether a module is part of Python, of an installed package, or of robx."""
    if module is None or module.split(".")[0] == "robx" or module in sys.builtin_module_names:
        return True
    found = sys.modules.get(module)
    file = getattr(found, "__file__", None)
    if file is None:
        return found is not None and module != "__main__"
    places = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return any(Path(file).is_relative_to(place) for place in places)


@cache
def _of_file(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


@cache
def _own_code() -> str:
    """Digest the code of robx itself."""
    sha = hashlib.sha256()
    for file in sorted(Path(of_robx.__file__).parent.rglob("*.py")):
        sha.update(file.read_bytes())
    return sha.hexdigest()
