"""skops: scikit-learn's trees, forests and boosted trees from a `.skops` file, as data.

A `.skops` file is a zip of arrays with a tree of objects in JSON, each with the name of its type.
The way is parse, audit, construct: sizes first, then every type that the file names against a fixed
list, and only then is skops asked to build the model. The list has what these classifiers are made
of in scikit-learn 1.5 to 1.9 and nothing else; no type is trusted because a file asks for it.

Types alone do not make a model sound: scikit-learn walks trees without looking where it steps. So
the model is read by our own parser, which checks every node, before anybody may call it.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import sklearn as installed
from sklearn._loss.loss import HalfBinomialLoss
from sklearn.exceptions import InconsistentVersionWarning

from robx.errors import InvalidModel, RobxError, UnsupportedModel
from robx.tables import Category
from robx.trees import sklearn
from robx.trees.ensemble import TreeEnsemble
from robx.trees.targets import class_labels

#: A file that unpacks to more bytes, or has more parts, is refused.
MAX_BYTES = 2**30
MAX_PARTS = 2**18

#: What a file may hold: the models that are imported.
MODELS = {
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.ExtraTreeClassifier",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.ensemble._forest.ExtraTreesClassifier",
    "sklearn.ensemble._gb.GradientBoostingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
}
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
    "FunctionNode": {"sklearn.utils.validation.check_array"},
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
    },
}
#: An object that came before, which was looked at there.
AGAIN = "CachedNode"
GENERATORS = {f'"{name}"' for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")}


def file_probability(path: Path, target: Category, X: Any) -> Any:
    """Ask scikit-learn itself."""
    return sklearn.probability(load(path), target, X)


def load(path: Path) -> Any:
    """Load the classifier in a file, alive; every node of its trees has been checked."""
    model = parse_file(path)
    labels = class_labels(model) if hasattr(model, "classes_") else [None]
    from_parsed(model, path, labels[0])
    return model


def from_parsed(model: Any, path: Path, target: Category | None) -> TreeEnsemble:
    """Import the classifier that `parse_file` made of a file."""
    try:
        _check_binning(model)
        ensemble = sklearn.from_model(model, target)
    except RobxError:
        raise
    except Exception as error:  # anything may be amiss in a file
        raise _damaged(path, error) from error
    if ensemble is None:  # pragma: no cover - the list of models is the parser's own
        raise _damaged(path, TypeError(type(model).__name__))
    return ensemble


def _check_binning(model: Any) -> None:
    """Check what a boosted model looks up by feature without looking whether it is there."""
    mapper = getattr(model, "_bin_mapper", None)
    if mapper is None:
        return
    known = np.asarray(mapper.is_categorical_)
    front = int(np.sum(model.is_categorical_)) if model.is_categorical_ is not None else 0
    if known.shape != (model.n_features_in_,) or not np.array_equal(
        np.flatnonzero(known), np.arange(front)
    ):
        raise InvalidModel("The model's bins do not fit its columns.")
    for predictor in [one for each in model._predictors for one in each]:
        if np.shape(predictor.raw_left_cat_bitsets)[1:] != (8,):
            raise InvalidModel("The model's sets of categories have a width that they cannot have.")


# --- parse, audit, construct ----------------------------------------------------------------------


def parse_file(path: Path) -> Any:
    """Make the classifier in a file, of types on a fixed list; its trees are yet unchecked."""
    data = path.read_bytes()
    schema: Any = None
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            sizes = _sizes(path, archive)
            schema = json.loads(archive.read("schema.json"))
        _audit(path, schema, sizes)
        return _constructed(path, data)
    except RobxError:
        raise
    except Exception as error:  # anything may be amiss in a file
        raise _damaged(path, error, _saved_by(schema)) from error


def _sizes(path: Path, archive: ZipFile) -> dict[str, int]:
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if len(members) > MAX_PARTS or total > MAX_BYTES:
        raise UnsupportedModel(
            f"'{path.name}' unpacks to {len(members):,} parts and {total:,} bytes; at most "
            f"{MAX_PARTS:,} and {MAX_BYTES:,} are read."
        )
    return {member.filename: member.file_size for member in members}


def _audit(path: Path, schema: Any, sizes: dict[str, int]) -> None:
    """Refuse a file that names anything outside the list."""
    root = _type_name(schema)
    if root not in MODELS or schema.get("__loader__") != "ObjectNode":
        known = ", ".join(sorted(name.rpartition(".")[2] for name in MODELS))
        raise UnsupportedModel(
            f"'{path.name}' holds a {root}. From .skops files robx reads {known}. Load it with "
            "skops.io.load yourself and pass the model."
        )
    read, seen = 0, dict[Any, Any]()
    for node in _nodes(schema):
        loader, name = node["__loader__"], _type_name(node)
        named = PARTS.get(loader, set()) if loader != AGAIN else set().union(*PARTS.values())
        if name not in named:
            raise _not_a_part(path, f"{name} ({loader})", _saved_by(schema))
        # skops builds one object for all nodes of an id: they must say the same.
        said = loader, name, node.get("content") if loader == "JsonNode" else None
        if node.get("__id__") and loader != AGAIN and seen.setdefault(node["__id__"], said) != said:
            raise InvalidModel(f"'{path.name}' has two different objects of the same id.")
        if loader == "RandomGeneratorNode":
            state = node["content"]["bit_generator"]["content"]["bit_generator"]
            if state["content"] not in GENERATORS:
                raise UnsupportedModel(
                    f"'{path.name}' asks for numpy.random's {state['content']}, which is not a "
                    "generator of bits; it was not loaded."
                )
        read += sizes.get(str(node.get("file")), 0)
        if read > MAX_BYTES:
            raise UnsupportedModel(f"'{path.name}' reads its parts again and again; refused.")


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
    hidden = sorted(name for name in vars(model) if callable(getattr(type(model), name, None)))
    if hidden:
        raise InvalidModel(f"The model in '{path.name}' has an '{hidden[0]}' of its own.")
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
