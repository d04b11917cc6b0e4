"""`load_model`: a model file in the form that robx works with best."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from robx.errors import InvalidModel, UnsupportedModel
from robx.trees.importer import PICKLES, check_file, file_parser


def load_model(path: str | os.PathLike[str], *, unsafe_pickle: bool = False) -> Any:
    """Open a model file.

    Parameters
    ----------
    path : path
        Of a file of XGBoost, LightGBM, CatBoost, scikit-learn (`.skops`) or robx; or a pickle.
    unsafe_pickle : bool
        Whether to load a pickle (`.pkl`, `.pickle`, `.joblib`). That runs whatever code is in it:
        only for files whose whole way you know.

    Returns
    -------
    Path or classifier
        The path itself for files that `robx.import_model` reads; the fitted classifier for a
        `.skops` file, of which every type is on a fixed list, and for a pickle.

    Examples
    --------
    >>> import tempfile
    >>> import skops.io
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> file = Path(tempfile.mkdtemp()) / "model.skops"
    >>> skops.io.dump(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), file)
    >>> load_model(file)
    DecisionTreeClassifier()
    """
    file = Path(path)
    if file.suffix in PICKLES:
        return _unpickled(file, unsafe_pickle=unsafe_pickle)
    check_file(file)
    if file_parser(file) == "robx.trees.skops":
        from robx.trees.skops import load  # noqa: PLC0415 - takes long to load

        return load(file)
    return file


def _unpickled(file: Path, *, unsafe_pickle: bool) -> Any:
    check_file(file, is_pickle=True)
    if not unsafe_pickle:
        raise UnsupportedModel(
            f"'{file.name}' is a pickle, which runs code when it is loaded. Save the model in its "
            "library's own format, or with skops.io.dump; or allow it with unsafe_pickle=True "
            "(--unsafe-pickle) if you know where the file comes from."
        )
    import joblib  # noqa: PLC0415 - takes long to load

    try:
        with warnings.catch_warnings():  # about the version that wrote it
            warnings.simplefilter("ignore", UserWarning)
            model = joblib.load(file)
    except Exception as error:  # a pickle may raise anything
        raise InvalidModel(
            f"'{file.name}' is no pickle that can be loaded: {type(error).__name__}: "
            f"{str(error)[:200]}"
        ) from error
    if not hasattr(model, "predict_proba"):
        raise UnsupportedModel(
            f"'{file.name}' holds a {type(model).__name__}; robx needs a classifier, with "
            "predict_proba."
        )
    return model
