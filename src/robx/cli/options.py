"""Options that several commands take, each written once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from robx.cli.outputs import NewFile

#: Completed by shells as a file; its reader says whether there is one.
FILE = click.Path()

#: Names of methods on the command line, and their classes.
METHODS = {
    "frugal": "Frugal",
    "robx": "RobX",
    "nearest": "NearestNeighbour",
    "conservative": "Conservative",
    "tweaking": "FeatureTweaking",
    "focus": "Focus",
    "face": "Face",
    "closest": "Closest",
    "live": "LiveRegion",
}


class MethodName(click.Choice):  # type: ignore[type-arg] # generic in new versions of click only
    """The name of a method, in any case; "default" is frugal."""

    def __init__(self) -> None:
        super().__init__(list(METHODS), case_sensitive=False)

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """See `click.ParamType`."""
        return super().convert("frugal" if value == "default" else value, param, ctx)


POSITIVE = click.IntRange(min=1)
HELP = {
    "model": "Model file: .ubj or .json (XGBoost), .txt (LightGBM), .cbm (CatBoost), .skops "
    "(scikit-learn) or .robx.",
    "data": "Table of the rows that the model was trained on: .csv or .parquet.",
    "label": "Column of --data with the outcomes. With it, the model is trained again on random "
    "thirds of the rows, to find answers that hold and to certify them.",
    "ignored_label": "Column of --data with the outcomes, which is left out.",
    "needed_label": "Column of --data with the outcomes.",
    "applicants": "Table of applicants: .csv or .parquet, with the columns of the model.",
    "id": "Column that identifies the applicants.",
    "schema": "File that says what may change, as `robx schema` writes it. Without it, the schema "
    "is guessed from --data.",
    "target": "Outcome that applicants want, which counts as accepted. Default: 1, or the second "
    "of two classes, unless its name is that of a bad outcome.",
    "threshold": "A score above this is accepted.",
    "params": "File with the model's hyperparameters, .yaml or .json, to train it again. Files of "
    "XGBoost do not contain them.",
    "retrained": "Model file of a retrained model, to use instead of --label. Repeat the option "
    "for each model.",
    "out_table": "File for the table: .csv or .parquet.",
    "plot": "File for the plot: .png, .svg or .pdf.",
    "seed": "Seed for the choice of the rows that models are trained on.",
    "unsafe_pickle": "Load models from pickles. This runs any code in them: only for files that "
    "you trust.",
    "json": "Print JSON.",
    "quiet": "Print no progress and no remarks.",
}
#: What the options are called, and how they are read, by the keys of `HELP`.
OPTIONS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "model": (("--model", "model_path"), {"type": FILE, "required": True}),
    "data": (("--data",), {"type": FILE, "required": True}),
    "label": (("--label",), {"metavar": "COLUMN"}),
    "ignored_label": (("--label",), {"metavar": "COLUMN"}),
    "needed_label": (("--label",), {"metavar": "COLUMN", "required": True}),
    "applicants": (("--applicants",), {"type": FILE, "required": True}),
    "id": (("--id", "id_column"), {"metavar": "COLUMN"}),
    "schema": (("--schema", "schema_path"), {"type": FILE}),
    "target": (("--target", "target_name"), {"metavar": "LABEL"}),
    "threshold": (
        ("--threshold",),
        {"type": click.FloatRange(0, 1, max_open=True), "default": 0.5},
    ),
    "params": (("--params", "parameters_path"), {"type": FILE}),
    "retrained": (("--retrained",), {"type": FILE, "multiple": True}),
    "out_table": (("--out",), {"type": NewFile(".csv", ".parquet")}),
    "plot": (("--plot",), {"type": NewFile(".png", ".svg", ".pdf")}),
    "seed": (("--seed",), {"type": click.IntRange(min=0), "default": 0}),
    "unsafe_pickle": (("--unsafe-pickle",), {"is_flag": True}),
    "json": (("--json", "as_json"), {"is_flag": True}),
    "quiet": (("--quiet",), {"is_flag": True}),
}


def takes(*names: str, optional: bool = False) -> Callable[[Any], Any]:
    """Give a command some of the shared options, in this order.

    If they are `optional`, the command itself asks for those that it cannot do without.
    """

    def decorate(command: Any) -> Any:
        for name in reversed(names):
            words, how = OPTIONS[name]
            how = {**how, "required": False} if optional else how
            command = click.option(*words, **how, help=HELP[name])(command)
        return command

    return decorate


def number_of_models(default: int, least: int, text: str) -> Callable[[Any], Any]:
    """Give a command the option that says how many models to train."""
    kind = click.IntRange(min=least)
    return click.option("--models", "n_models", type=kind, default=default, help=text)
