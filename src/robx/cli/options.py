"""Options that several commands take, each written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

#: Completed by shells as a file; whether there is one is for its reader to say.
FILE = click.Path()

#: Names of methods on the command line, and their classes.
METHODS = {
    "default": "Frugal",
    "robx": "RobX",
    "nearest": "NearestNeighbour",
    "conservative": "Conservative",
    "tweaking": "FeatureTweaking",
    "focus": "Focus",
    "face": "Face",
    "closest": "Closest",
    "live": "LiveRegion",
}

MODEL_HELP = (
    "The model: .ubj or .json of XGBoost, .txt of LightGBM, .cbm of CatBoost, .skops of "
    "scikit-learn, .robx."
)
LABEL_HELP = (
    "Column of --data with the outcomes. With it the model is trained again on random thirds of "
    "the rows, to find answers that hold and to certify them."
)
OPTIONS: dict[str, Callable[[Any], Any]] = {
    "model": click.option("--model", "model_path", type=FILE, required=True, help=MODEL_HELP),
    "data": click.option(
        "--data",
        type=FILE,
        required=True,
        help="The rows that the model was trained on: .csv or .parquet.",
    ),
    "label": click.option("--label", metavar="COLUMN", help=LABEL_HELP),
    "ignored_label": click.option(
        "--label", metavar="COLUMN", help="Column with the outcomes, which is left out."
    ),
    "needed_label": click.option(
        "--label", metavar="COLUMN", required=True, help="Column of --data with the outcomes."
    ),
    "applicants": click.option(
        "--applicants",
        type=FILE,
        required=True,
        help="Who asks: .csv or .parquet with the columns of the model.",
    ),
    "id": click.option(
        "--id", "id_column", metavar="COLUMN", help="Column that names the applicants."
    ),
    "schema": click.option(
        "--schema",
        "schema_path",
        type=FILE,
        help="What may change, as `robx schema` writes it; guessed from --data unless given.",
    ),
    "target": click.option(
        "--target", metavar="LABEL", help="The outcome that applicants wish for; else the last."
    ),
    "threshold": click.option(
        "--threshold",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.5,
        show_default=True,
        help="Accepted are scores above this.",
    ),
    "parameters": click.option(
        "--params",
        "parameters_path",
        type=FILE,
        help="How the model was trained: a .yaml or .json file of its hyperparameters, to "
        "train it again. XGBoost's files do not keep them.",
    ),
    "seed": click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Of the rows that models see.",
    ),
    "unsafe_pickle": click.option(
        "--unsafe-pickle",
        is_flag=True,
        help="Load a model from a pickle. That runs whatever code is in it: only for your own.",
    ),
    "json": click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    "quiet": click.option("--quiet", is_flag=True, help="No progress and no remarks."),
}


def takes(*names: str) -> Callable[[Any], Any]:
    """Give a command some of the shared options, in this order."""

    def decorate(command: Any) -> Any:
        for name in reversed(names):
            command = OPTIONS[name](command)
        return command

    return decorate
