"""skops: scikit-learn's trees, forests, boosted trees and pipelines from a `.skops` file, as data.

A `.skops` file is a zip of arrays with a tree of objects in JSON, each with the name of its type.
The way is parse, audit, construct: sizes first (`robx.trees.archive`), then every type that the
file names against a fixed list, and only then is skops asked to build the model. The list has what
these classifiers are made of in scikit-learn 1.5 to 1.9 and nothing else; no type is trusted
because a file asks for it.

Types alone do not make a model sound: scikit-learn walks trees without looking where it steps. So
the model is read by our own parser, which checks every node, before anybody may call it; of a
pipeline, every part is checked (`skops_parts`), and only then is it asked what becomes of values.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from operator import index
from pathlib import Path
from typing import Any

import sklearn as installed
from sklearn._loss.loss import HalfBinomialLoss
from sklearn.exceptions import InconsistentVersionWarning

from robx.budget import Budget
from robx.errors import InvalidModel, RobxError, UnsupportedModel
from robx.files import parse_json
from robx.parameters import is_whole
from robx.tables import Category
from robx.trees import sklearn
from robx.trees.archive import COPIES, SCHEMA, array_shape, rezip, unzip
from robx.trees.category_names import Source
from robx.trees.ensemble import TreeEnsemble
from robx.trees.skops_parts import (
    FUNCTIONS,
    OBJECTS,
    ROOTS,
    SCORES,
    WRAPPINGS,
    check_binning,
    check_parts,
    refuse_methods,
)
from robx.trees.targets import class_labels

#: Bytes of memory for each object that skops builds.
OBJECT_BYTES = 2048
#: Numbers that a random generator is seeded with; it mixes each with each.
MAX_POOL = 64

#: What a file may hold: the models that are imported.
MODELS = {
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.ExtraTreeClassifier",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.ensemble._forest.ExtraTreesClassifier",
    "sklearn.ensemble._gb.GradientBoostingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
}
#: Libraries whose models are read from their own files.
BOOSTERS = frozenset({"xgboost", "lightgbm", "catboost"})
NUMBERS = ("int32", "int64", "uint32", "uint64", "float32", "float64")
SCALARS = {f"numpy.{name}" for name in ("bool", "bool_", "str_", *NUMBERS)}
LOSSES = ("HalfBinomialLoss", "HalfMultinomialLoss", "ExponentialLoss")
LINKS = ("HalfLogitLink", "Interval", "LogitLink", "MultinomialLogit")
#: What models are made of: types by the loader that builds them.
PARTS: dict[str, set[str]] = {
    "JsonNode": {"builtins.str"},
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "NdArrayNode": {"numpy.ndarray"} | SCALARS,
    "TypeNode": SCALARS | {f"builtins.{name}" for name in ("str", "int", "float", "bool")},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "TreeNode": {"sklearn.tree._tree.Tree"},
    # Their module is named as the installed scikit-learn names it: "_loss" before 1.6.
    "LossNode": {f"{type(HalfBinomialLoss().closs).__module__}.Cy{name}" for name in LOSSES},
    # How a HistGradientBoostingClassifier reads its numeric columns, where others are categories.
    "PartialNode": {"functools.partial"},
    "FunctionNode": {"sklearn.utils.validation.check_array", *FUNCTIONS, *SCORES},
    "DTypeNode": {"numpy.dtype"},
    "ObjectNode": {
        *MODELS,
        *(f"sklearn._loss.loss.{name}" for name in LOSSES),
        *(f"sklearn._loss.link.{name}" for name in LINKS),
        "sklearn.compose._column_transformer.ColumnTransformer",
        "sklearn.compose._column_transformer._RemainderColsList",  # before 1.7
        "sklearn.dummy.DummyClassifier",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.preprocessing._encoders.OrdinalEncoder",
        "sklearn.preprocessing._function_transformer.FunctionTransformer",
        "sklearn.preprocessing._label.LabelEncoder",
        "sklearn.tree._classes.DecisionTreeRegressor",
        *OBJECTS,
    },
}
GENERATORS = {f'"{name}"' for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")}


def file_probability(path: Path, target: Category, X: Any, budget: Budget) -> Any:
    """Ask scikit-learn itself."""
    return sklearn.probability(load(path, budget), target, X)


def load(path: Path, budget: Budget) -> Any:
    """Load the classifier in a file, alive; every node of its trees has been checked."""
    with budget.reading(f"'{path.name}'"):
        model = parse_file(path, budget)
        if isinstance(model, WRAPPINGS):
            _check_all(model, path, budget)
            return model
        labels = class_labels(model) if hasattr(model, "classes_") else [None]
        from_parsed(model, path, labels[0], budget)
    return model


def from_parsed(
    model: Any,
    path: Path,
    target: Category | None,
    budget: Budget,
    sources: Sequence[Source] = (),
) -> TreeEnsemble:
    """Import the classifier that `parse_file` made of a file.

    Of a pipeline, a table in `sources` tells in which types its columns are stored.
    """
    try:
        budget.check_columns(index(getattr(model, "n_features_in_", 0)), f"'{path.name}'")
        if isinstance(model, WRAPPINGS):
            return _folded(model, path, target, budget, sources)
        check_binning(model)
        ensemble = sklearn.from_model(model, target, budget)
    except (RobxError, MemoryError):
        raise
    except Exception as error:  # anything may be amiss in a file
        raise _damaged(path, error) from error
    if ensemble is None:  # pragma: no cover - the list of models is the parser's own
        raise _damaged(path, TypeError(type(model).__name__))
    return ensemble


def _check_all(model: Any, path: Path, budget: Budget) -> None:
    """Check every part of a pipeline."""
    try:
        check_parts(model, f"'{path.name}'", budget)
    except (RobxError, MemoryError):
        raise
    except Exception as error:  # anything may be amiss in a file
        raise _damaged(path, error) from error


def _folded(
    model: Any, path: Path, target: Category | None, budget: Budget, sources: Sequence[Source]
) -> TreeEnsemble:
    from robx.trees.importer import import_live  # noqa: PLC0415 - which reads files by this module

    _check_all(model, path, budget)
    table = next((one for one in sources if not isinstance(one, tuple)), None)
    imported = import_live(model, target, table)
    if imported.trees is None:
        reason = imported.why.partition(": ")[2].rstrip(".")
        raise UnsupportedModel(
            f"'{path.name}' holds a {type(model).__name__} that cannot be folded into its trees: "
            f"{reason}. In Python, load it with skops.io.load yourself and pass the model, which "
            "robx then asks for its scores."
        )
    return imported.trees


# --- parse, audit, construct ----------------------------------------------------------------------


def parse_file(path: Path, budget: Budget) -> Any:
    """Make the classifier in a file, of types on a fixed list; its trees are yet unchecked."""
    schema: Any = None
    where = f"'{path.name}'"
    try:
        parts = unzip(budget.read(path), where, budget)
        text = parts[SCHEMA]
        budget.check_memory(OBJECT_BYTES * text.count(b'"__loader__"'), where)
        schema = parse_json(text, where, budget)
        _audit(path, schema, parts, budget)
        parts[SCHEMA] = json.dumps(schema).encode()
        return _constructed(path, rezip(parts))
    except (RobxError, MemoryError):
        raise
    except Exception as error:  # anything may be amiss in a file
        raise _damaged(path, error, _saved_by(schema)) from error


def _audit(path: Path, schema: Any, parts: dict[str, bytes], budget: Budget) -> None:
    """Refuse a file that names anything outside the list, or has sizes that are not so."""
    root = _type_name(schema)
    if root not in MODELS | ROOTS or schema.get("__loader__") != "ObjectNode":
        known = ", ".join(sorted(name.rpartition(".")[2] for name in MODELS))
        raise UnsupportedModel(
            f"'{path.name}' holds a {root}. From .skops files robx reads {known}, alone or in a "
            "Pipeline or a CalibratedClassifierCV. In Python, load it with skops.io.load yourself "
            "and pass the model."
        )
    _refuse_boosters(path, schema)
    shapes = {name: array_shape(data, name) for name, data in parts.items() if name != SCHEMA}
    read = 0
    for node in _nodes(schema):
        loader, name = node["__loader__"], _type_name(node)
        if name not in PARTS.get(loader, ()):
            raise _not_a_part(path, f"{name} ({loader})", _saved_by(schema))
        # skops builds one object for all nodes of an id, whatever they say, and looks at a shared
        # one as often as it is reached. Without ids every object is what stands in its place.
        node.pop("__id__", None)
        if loader == "RandomGeneratorNode":
            _check_generator(path, node["content"])
        if loader == "TreeNode":
            _check_tree(path, node, shapes)
        if "file" in node:
            read += len(parts[node["file"]])
            budget.check_memory(COPIES * read, f"'{path.name}'")  # one may be read again and again


def _refuse_boosters(path: Path, schema: Any) -> None:
    """Refuse models of other libraries, whose bytes these would read unchecked."""
    for node in _nodes(schema):
        if _type_name(node).split(".")[0] in BOOSTERS:
            raise UnsupportedModel(
                f"'{path.name}' holds a {_type_name(node)}. From .skops files robx reads models of "
                "scikit-learn alone, because others hold bytes that their library takes unchecked. "
                "Save the booster in its library's own format; or, in Python, load the pipeline "
                "with skops.io.load yourself and pass it."
            )


def _check_generator(path: Path, content: Any) -> None:
    """Check which generator of bits is made, and how it is seeded."""
    state, seed = content["bit_generator"]["content"], content["seed_seq"]["content"]
    if (name := state["bit_generator"]["content"]) not in GENERATORS:
        raise UnsupportedModel(
            f"'{path.name}' asks for numpy.random's {name}, which is not a generator of bits; it "
            "was not loaded."
        )
    if not 0 < _whole(seed["pool_size"]) <= MAX_POOL:
        raise InvalidModel(f"'{path.name}' has a random generator with a seed that is too large.")


def _check_tree(path: Path, node: Any, shapes: dict[str, tuple[int, ...]]) -> None:
    """Check what scikit-learn takes memory by, or believes, when it makes a tree."""
    _, classes, n_outputs = node["__reduce__"]["args"]["content"]
    state = node["content"]["content"]
    n_nodes = shapes[state["nodes"]["file"]]
    if shapes[classes["file"]] != (_whole(n_outputs),) or n_nodes != (_whole(state["node_count"]),):
        raise InvalidModel(f"'{path.name}' has a tree whose sizes do not fit each other.")


def _whole(node: Any) -> int:
    value = json.loads(node["content"])
    return value if is_whole(value) else -1


def _nodes(plain: Any) -> Iterator[dict[str, Any]]:
    """Find everything that skops would build, wherever it stands."""
    waiting = [plain]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "__loader__" in value or "__class__" in value:
                yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def _type_name(node: Any) -> str:
    return f"{node['__module__']}.{node['__class__']}"


def _constructed(path: Path, data: bytes) -> Any:
    import skops.io  # noqa: PLC0415 - takes long to load

    asked = set(skops.io.get_untrusted_types(data=data))
    trusted = {name for names in PARTS.values() for name in names}
    if asked - trusted:
        raise _not_a_part(path, sorted(asked - trusted)[0])
    with warnings.catch_warnings():
        # A layout of another version that the parser does not know is refused there.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = skops.io.loads(data, trusted=sorted(asked))
    refuse_methods(model, f"'{path.name}'")
    return model


def _not_a_part(path: Path, name: str, hint: str = "") -> UnsupportedModel:
    return UnsupportedModel(
        f"'{path.name}' holds a {name}, which is not a part of any model that robx reads from "
        f".skops files; it was not loaded.{hint}"
    )


def _saved_by(schema: Any) -> str:
    """Say so if another version of scikit-learn wrote the file: that may be the reason."""
    try:
        version = str(json.loads(schema["content"]["content"]["_sklearn_version"]["content"]))
    except (LookupError, TypeError, ValueError):
        return ""
    if version == installed.__version__:
        return ""
    return (
        f" It was saved by scikit-learn {version[:20]}; this is {installed.__version__}. Use that "
        "version, or train and save it again."
    )


def _damaged(path: Path, error: Exception, hint: str = "") -> InvalidModel:
    said = f"{type(error).__name__}: {str(error).strip()}".split("\n")[0][:200].rstrip(":. ")
    return InvalidModel(f"'{path.name}' is not a .skops file that can be read: {said}.{hint}")
