"""What the parts of an explainer's file are: made of an explainer, and checked one by one.

A file may be damaged, or made by somebody who wants to do harm and knows how to make its digests
right. So every number that a kernel follows is checked here or where it is used: shapes, dtypes,
indices, codes, trees. What is left is an `InvalidInput`, an `InvalidModel` or a `BudgetExceeded`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robx.answers.origin import checked_date, checked_origin
from robx.budget import Budget
from robx.errors import BudgetExceeded, InvalidInput, InvalidModel, UnsupportedModel
from robx.explainer import container, warmth
from robx.explainer.container import Part
from robx.explainer.stored_methods import method_from_plain, method_to_plain
from robx.files import parse_json
from robx.methods import Method
from robx.methods.leaf_space import trees_of
from robx.parameters import is_number, is_whole
from robx.problem import Parts, Problem
from robx.problem.model_view import Codes, EnsembleView, levels_in_order, model_order
from robx.rehearsal import Promise
from robx.retrained import Panel, import_models
from robx.schema import Codec, Schema
from robx.tables import pack_layout, unpack_layout
from robx.trees import Model, TreeEnsemble, store
from robx.trees.archive import array_shape

ABOUT, SCHEMA, LAYOUT, MODEL = "explainer.json", "schema.json", "layout.json", "model.robx"
SEARCHING, CERTIFYING, CHALLENGING = "searching/", "certifying/", "challenging/"
WARMTH = "warmth/"
#: Arrays that every file has: their dtypes and numbers of dimensions, and what they are.
ARRAYS: dict[str, tuple[str, int, str]] = {
    "support/rows.npy": ("<f8", 2, "the accepted training rows: personal data"),
    "support/scores.npy": ("<f8", 1, "their scores"),
    "training/seen.npy": ("<f8", 2, "minimum and maximum of each column in training"),
    "training/middles.npy": ("<f8", 1, "median of each column in training"),
    "training/lacking.npy": ("|b1", 1, "whether values are missing in each column in training"),
    "codes.npy": ("<f8", 2, "column, level and the model's code for it, of categories"),
}
#: What the rows are instead where they stand for several people each.
AGGREGATED = {"support/rows.npy": "rows that stand for accepted training rows"}
#: What `explainer.json` holds.
FIELDS = frozenset(
    (
        *("threshold", "n_training", "k_anonymous", "method", "drawn", "notes", "versions"),
        *("digests", "promise", "date"),
    )
)


@dataclass(frozen=True, eq=False)
class Fitted:
    """An explainer, as it was fitted or as its file has it.

    Parameters
    ----------
    problem : Problem
    method : Method
        With the retrained models that help to search.
    certifying : tuple of Model
        The retrained models that judge.
    drawn : str
        How these came about, in words.
    notes : dict
        Plain values for the `origin` of answers.
    digests : dict
        Of all that went in, by name; None for what was not given.
    promise : Promise, optional
        What was rehearsed.
    date : str, optional
        When it was made, if that was noted.
    """

    problem: Problem
    method: Method
    certifying: tuple[Model, ...]
    drawn: str
    notes: dict[str, Any]
    digests: dict[str, str | None]
    promise: Promise | None = None
    date: str | None = None

    @property
    def searching(self) -> Sequence[Model]:
        """The retrained models that help to search."""
        models = getattr(self.method, "models", ())
        return Panel.of(self.problem, models).models if len(models) else ()

    @property
    def challenging(self) -> Sequence[Model]:
        """The models that must accept every answer."""
        models = getattr(self.method, "challengers", ())
        return import_models(self.problem, models) if len(models) else ()


# --- to a file ------------------------------------------------------------------------------------


def check_kept(model: Model, method: Method) -> None:
    """Refuse a model or a method that a file cannot hold."""
    if model.trees is None:
        raise _black_box("model")
    method_to_plain(method)
    if getattr(method, "realism", None) == "forest":
        raise InvalidInput(
            "An explainer with realism='forest' cannot be saved: the isolation forest is "
            "scikit-learn's own. Use realism='lof', or keep this explainer in the process that "
            "made it."
        )


def to_bytes(fitted: Fitted) -> bytes:
    """Give the bytes of an explainer's file."""
    check_kept(fitted.problem.model, fitted.method)
    method, problem = method_to_plain(fitted.method), fitted.problem
    about = {
        "threshold": problem.threshold,
        "n_training": problem.n_training,
        "k_anonymous": problem.k_anonymous,
        "method": method,
        "drawn": fitted.drawn,
        "notes": fitted.notes,
        "versions": dict(problem.origin["versions"]),
        "digests": fitted.digests,
        "promise": None if fitted.promise is None else fitted.promise.to_dict(),
        "date": fitted.date,
    }
    middles, lacking = problem.middles
    arrays = {
        "support/rows.npy": problem.support.rows,
        "support/scores.npy": problem.support.score,
        "training/seen.npy": problem.rules.seen,
        "training/middles.npy": middles,
        "training/lacking.npy": lacking,
        "codes.npy": _coded(trees_of(problem).codes),
    }
    parts = {
        ABOUT: Part(_json(about), "settings, and what went in"),
        SCHEMA: Part(_json(problem.schema.to_dict()), "what may change"),
        LAYOUT: Part(_json(pack_layout(problem.codec.layout)), "how tables are stored"),
        MODEL: Part(_ensemble(problem.model, "model"), "the model"),
    }
    for name, array in arrays.items():
        dtype, _, what = ARRAYS[name]
        if problem.k_anonymous is not None:
            what = AGGREGATED.get(name, what)
        parts[name] = Part(_npy(array, dtype), what)
    for name, array in warmth.collected(problem, fitted.method).items():
        parts[f"{WARMTH}{name}.npy"] = Part(_npy(array, array.dtype.str), warmth.WHAT[name])
    for folder, models, what in (
        (SEARCHING, fitted.searching, "a retrained model that helps to search"),
        (CERTIFYING, fitted.certifying, "a retrained model that certifies"),
        (CHALLENGING, fitted.challenging, "a model that must accept every answer"),
    ):
        for k, model in enumerate(models):
            parts[f"{folder}{k:04}.robx"] = Part(_ensemble(model, "retrained model"), what)
    return container.to_bytes(parts)


def _ensemble(model: Model, what: str) -> bytes:
    if model.trees is None:
        raise _black_box(what)
    return store.to_bytes(model.trees)


def _black_box(what: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"An explainer whose {what} is a BlackBox cannot be saved: robx knows it by its scores "
        "alone, and a file holds data and no code. Pass the tree model itself, without what is "
        "wrapped around it, or keep this explainer in the process that made it."
    )


def _coded(codes: Codes) -> NDArray[np.float64]:
    columns = [np.full(len(levels), j, dtype=np.float64) for j, (levels, _) in codes.items()]
    levels, numbers = ([pair[k] for pair in codes.values()] for k in (0, 1))
    none = [np.zeros(0)]
    return np.array([np.concatenate(part + none) for part in (columns, levels, numbers)])


def _json(plain: Any) -> bytes:
    return json.dumps(plain, indent=1, ensure_ascii=False).encode()


def _npy(array: NDArray[Any], dtype: str) -> bytes:
    out = io.BytesIO()
    little = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    np.lib.format.write_array(out, little, version=(1, 0), allow_pickle=False)
    return out.getvalue()


# --- from a file ----------------------------------------------------------------------------------


def from_bytes(data: bytes, where: str, budget: Budget) -> Fitted:
    """Read what `to_bytes` gave, as if a stranger had written it."""
    parts = container.from_bytes(data, where, budget)
    with budget.reading(where):
        try:
            return _fitted(parts, budget)
        except BudgetExceeded:
            raise
        except (InvalidInput, InvalidModel) as error:
            kind = InvalidModel if isinstance(error, InvalidModel) else InvalidInput
            raise kind(_said(where, str(error))) from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            said = f"it is damaged ({' '.join(str(error).split())[:120]})"
            raise InvalidInput(_said(where, f"{said}.")) from error


def _said(where: str, said: str) -> str:
    return f"{where} cannot be used: {said}"


def _fitted(parts: Mapping[str, bytes], budget: Budget) -> Fitted:
    lacking = [name for name in (ABOUT, SCHEMA, LAYOUT, MODEL, *ARRAYS) if name not in parts]
    if lacking:
        raise _damaged(f"it lacks the part {lacking[0]!r}")
    about = parse_json(parts[ABOUT], ABOUT, budget)
    if not isinstance(about, Mapping) or set(about) != FIELDS:
        raise _damaged(f"{ABOUT} does not have the fields of format {container.FORMAT}")
    model = store.from_bytes(parts[MODEL], MODEL, budget)
    schema = Schema.from_dict(parse_json(parts[SCHEMA], SCHEMA, budget))
    layout = unpack_layout(parse_json(parts[LAYOUT], LAYOUT, budget))
    if len(schema) != len(model.columns) or model_order(model, layout) != schema.names:
        raise _damaged("the columns of its model, schema and tables differ")
    arrays = {name: _array(parts, name, *ARRAYS[name][:2]) for name in ARRAYS}
    codec = Codec(schema.features, layout)
    view = EnsembleView(model, codec, dict(_codes(arrays["codes.npy"], model, schema)))
    models = {
        folder: tuple(_retrained(parts, folder, model, budget))
        for folder in (SEARCHING, CERTIFYING, CHALLENGING)
    }
    method = method_from_plain(about["method"], models[SEARCHING], models[CHALLENGING])
    warm = {name: _warm(parts, name) for name in warmth.WHAT if f"{WARMTH}{name}.npy" in parts}
    if len(parts) != 4 + len(ARRAYS) + len(warm) + sum(map(len, models.values())):
        raise _damaged("it has a part that explainers do not have")
    view.stored_draws = (_draws(warm, method, view),)
    problem = Problem.restored(_parts(view, schema, about, arrays))
    _check_support(problem)
    method.check(problem, 1)
    warmth.restore(problem, method, warm)
    problem.used_models.add((*models[SEARCHING], *models[CHALLENGING]))
    return Fitted(
        problem,
        method,
        models[CERTIFYING],
        _text(about, "drawn"),
        _plain_notes(about["notes"]),
        _texts(about, "digests"),
        None if about["promise"] is None else Promise.from_dict(about["promise"]),
        None if about["date"] is None else checked_date(about["date"], "Explainer"),
    )


def _parts(
    view: EnsembleView, schema: Schema, about: Mapping[str, Any], arrays: dict[str, NDArray[Any]]
) -> Parts:
    d, threshold, n = len(schema), about["threshold"], about["n_training"]
    k = about["k_anonymous"]
    rows, score = arrays["support/rows.npy"], arrays["support/scores.npy"]
    seen, middles = arrays["training/seen.npy"], arrays["training/middles.npy"]
    lacking = arrays["training/lacking.npy"]
    if not is_number(threshold) or not 0 <= threshold < 1:
        raise _damaged("its threshold is not a number from 0 to below 1")
    if k is not None and (not is_whole(k) or k < 2):
        raise _damaged("its k_anonymous is not a whole number of at least 2")
    if not is_whole(n) or n < max(len(rows), 1) * (k or 1):
        raise _damaged("its number of training rows is not possible")
    shapes = rows.shape[1:], score.shape, seen.shape, middles.shape, lacking.shape
    if shapes != ((d,), (len(rows),), (2, d), (d,), (d,)):
        raise _damaged("its arrays are not of one table")
    sound = not np.isinf(rows).any() and (score > threshold).all() and (score <= 1).all()
    if not sound or not (seen[0] <= seen[1]).all() or not np.isfinite(middles).all():
        raise _damaged("its arrays hold numbers that cannot be")
    if not all(isinstance(f.scale, float) and np.isfinite(f.scale) for f in schema.features):
        raise _damaged("a feature of its schema has no scale")
    known, versions = (middles, lacking), _texts(about, "versions")
    return Parts(view, schema, float(threshold), seen, rows, score, int(n), known, versions, k)


def _check_support(problem: Problem) -> None:
    rows = problem.support.rows
    sound = problem.gate.keeps(rows) & ~problem.view.unknown(rows).any(axis=1)
    if not sound.all():
        raise _damaged("an accepted row breaks the rules of its schema")


def _codes(table: NDArray[Any], model: TreeEnsemble, schema: Schema) -> Iterator[Any]:
    """Check and give the codes of each column that the model splits by category."""
    if len(table) != 3:
        raise _damaged("its codes are not columns, levels and codes")
    known = 0
    for j, column in enumerate(model.columns):
        if not column.is_category:
            continue
        levels, codes = table[1:, table[0] == j]
        whole = np.isnan(codes) | (codes == np.rint(codes))
        within = np.isnan(codes) | ((codes >= 0) & (codes <= column.n_codes))
        if not np.array_equal(levels, levels_in_order(schema.features[j])):
            raise _damaged(f"the codes of column {column.name!r} are not those of its levels")
        if not (whole & within).all():
            raise _damaged(f"column {column.name!r} has a code that its model does not have")
        known += len(levels)
        yield j, (np.ascontiguousarray(levels), np.ascontiguousarray(codes))
    if known != table.shape[1]:
        raise _damaged("it has codes of a column that is not of categories")


def _retrained(
    parts: Mapping[str, bytes], folder: str, model: TreeEnsemble, budget: Budget
) -> Iterator[TreeEnsemble]:
    k = 0
    while (name := f"{folder}{k:04}.robx") in parts:
        one = store.from_bytes(parts[name], name, budget)
        if one.target != model.target or len(one.columns) != len(model.columns):
            raise _damaged(f"{name} is of another model")
        yield one
        k += 1


def _draws(warm: Mapping[str, NDArray[Any]], method: Method, view: EnsembleView) -> Any:
    noise = warm.get("draws")
    sound = noise is not None and noise.ndim == 2 and noise.shape[1] == len(view.names)
    if noise is None or not sound or len(noise) < 2 or not np.isfinite(noise).all():
        raise _damaged("its draws are missing, or not of its columns")
    return warmth.stored_draws(method, noise)


def _warm(parts: Mapping[str, bytes], name: str) -> NDArray[Any]:
    n_dimensions = {
        "mean_scores": 1,
        "rejecting": 1,
        "outlier_scores": 1,
        "sampled_stability": 1,
    }.get(name, 2)
    dtype = "<i4" if name == "neighbours" else "<f8"
    return _array(parts, f"{WARMTH}{name}.npy", dtype, n_dimensions)


def _array(parts: Mapping[str, bytes], name: str, dtype: str, n_dimensions: int) -> NDArray[Any]:
    """Read an array whose header says what its bytes are."""
    shape = array_shape(parts[name], name)
    array: NDArray[Any] = np.load(io.BytesIO(parts[name]), allow_pickle=False)
    if array.dtype.str != dtype or len(shape) != n_dimensions:
        raise _damaged(f"{name} is {array.dtype.str} of {len(shape)} dimensions, not {dtype}")
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False))


def _text(about: Mapping[str, Any], name: str) -> str:
    if not isinstance(about[name], str):
        raise _damaged(f"'{name}' is not text")
    return str(about[name])


def _plain_notes(notes: Any) -> dict[str, Any]:
    is_plain = isinstance(notes, Mapping) and all(
        value is None or isinstance(value, str | bool | int) or is_number(value)
        for value in notes.values()
    )
    if not is_plain:
        raise _damaged("its notes are not plain values")
    checked_origin(notes)
    return dict(notes)


def _texts(about: Mapping[str, Any], name: str) -> dict[str, Any]:
    plain = about[name]
    is_plain = isinstance(plain, Mapping) and all(
        one is None or isinstance(one, str) for one in plain.values()
    )
    if not is_plain:
        raise _damaged(f"its {name} are not text")
    return dict(plain)


def _damaged(said: str) -> InvalidInput:
    return InvalidInput(f"{said}.")
