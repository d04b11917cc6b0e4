"""What the options of a command name, read and checked when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import robx
from robx.cli.features import features_of
from robx.cli.labels import class_named, coded, read_column, refuse_turned
from robx.cli.options import METHODS, takes
from robx.cli.screen import remark
from robx.cli.words import either, listed
from robx.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from robx import BlackBox, Problem, Schema, TreeEnsemble
    from robx.methods import Method
    from robx.modelfiles import Recipe

#: Endings of files for tables and for pictures.
TABLES, PICTURES = (".csv", ".parquet"), (".png", ".svg", ".pdf")


@dataclass(frozen=True, eq=False)
class Inputs:
    """A model, the table that it was trained on, and what goes with them, by their options."""

    model_path: str
    data: str
    label: str | None
    schema_path: str | None
    id_column: str | None
    target: str | None
    threshold: float
    parameters_path: str | None
    unsafe_pickle: bool
    quiet: bool

    @cached_property
    def model(self) -> Any:
        """The model: the path of a native file, or a classifier of scikit-learn."""
        return load_models([self.model_path], unsafe_pickle=self.unsafe_pickle)[0]

    @cached_property
    def X(self) -> pd.DataFrame:
        """The training table, without labels, names of rows and what the model does not know."""
        return self._features(self._table, self.data)

    @cached_property
    def y(self) -> pd.Series[Any] | None:
        """The labels, as the model codes them; None where no column of labels is named."""
        y, _ = self._labels_and_wish
        if y is not None:
            refuse_turned(y, self.X, self._imported, str(self.label), self.data)
        return y

    @cached_property
    def wish(self) -> Any:
        """The class that is meant by --target."""
        return self._labels_and_wish[1]

    @cached_property
    def schema(self) -> Schema | None:
        """The schema, if a file of one is named."""
        return None if self.schema_path is None else robx.Schema.load(self.schema_path)

    @cached_property
    def problem(self) -> Problem:
        """All of it as a problem."""
        return robx.Problem(self.model, self.X, self.schema, self.wish, self.threshold)

    @cached_property
    def recipe(self) -> Recipe | None:
        """How to train a model like this one again, or None without labels."""
        if self.y is None:
            if self.parameters_path is not None:
                raise InvalidInput("--params is for training again, which needs --label as well.")
            return None
        from robx.modelfiles import estimator_of

        recipe = estimator_of(self.model, _read_parameters(self.parameters_path))
        remark(recipe.words, quiet=self.quiet)
        return recipe

    @property
    def estimator(self) -> Any:
        """What to train again, or None without labels."""
        return None if self.recipe is None else self.recipe.estimator

    def people(self, path: str) -> pd.DataFrame:
        """Read people, named by --id or by their row from 0."""
        from robx.files import read_table

        table = read_table(path)
        if self.id_column is None:
            return self._features(table, path, self._trained_on)
        if self.id_column not in table.columns:
            raise InvalidInput(
                f"'{path}' has no column '{self.id_column}' to name people by. It has "
                f"{listed(table.columns)}."
            )
        names = table[self.id_column]
        if names.isna().any() or names.duplicated().any():
            remark(f"Not everybody in '{path}' has a name of their own in '{self.id_column}'.")
        return self._features(table.set_index(self.id_column), path, self._trained_on)

    @cached_property
    def _table(self) -> pd.DataFrame:
        from robx.files import read_table

        return read_table(self.data)

    @cached_property
    def _labels_and_wish(self) -> tuple[pd.Series[Any] | None, Any]:
        if self.label is None:
            return None, class_named(self.target, self.model)
        y = read_column(self._table, self.label, self.data)
        return coded(y, self.label, self.target, self.model)

    @cached_property
    def _imported(self) -> TreeEnsemble | BlackBox:
        try:
            return robx.import_model(self.model, self.wish)
        except InvalidInput as error:
            if "target" not in str(error):
                raise
            choice = str(error).rpartition("one of ")[2]
            raise InvalidInput(f"--target must be one of {choice}") from error

    @property
    def _trained_on(self) -> list[str]:
        return [str(name) for name in self.X.columns]

    def _features(
        self, table: pd.DataFrame, path: str, trained_on: list[str] | None = None
    ) -> pd.DataFrame:
        others = [name for name in (self.label, self.id_column) if name in table.columns]
        features, said = features_of(table.drop(columns=others), path, self._imported, trained_on)
        if said:
            remark(said, quiet=self.quiet)
        return features


def with_inputs(command: Any) -> Any:
    """Hand the shared options to a command as one argument, `inputs`, and add the rarer of them.

    The command itself takes "model", "data", "schema" and a column of labels.
    """

    @wraps(command)
    def called(**given: Any) -> Any:
        inputs = Inputs(**{field.name: given.pop(field.name) for field in fields(Inputs)})
        return command(inputs=inputs, **given)

    return takes("id", "target", "threshold", "parameters", "unsafe_pickle", "quiet")(called)


def check_out(path: str | None, endings: tuple[str, ...], option: str = "--out") -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if path is None:
        return
    file = Path(path)
    if file.suffix not in endings:
        raise InvalidInput(f"{option} takes a file ending in {either(endings)}. Got '{path}'.")
    if file.is_dir() or not file.parent.is_dir():
        what = "is a folder" if file.is_dir() else "is in a folder that does not exist"
        raise InvalidInput(f"{option} '{path}' {what}. Make the folder, or name a file in another.")


def load_models(paths: Sequence[str], *, unsafe_pickle: bool) -> list[Any]:
    """Load model files; native ones stay paths."""
    from robx.modelfiles import load_model

    return [load_model(path, unsafe_pickle=unsafe_pickle) for path in paths]


def made_method(name: str, parameters: dict[str, Any]) -> Method:
    """Make the method of this name; parameters that were not given are None."""
    maker = getattr(robx, METHODS[name])
    given = {key: value for key, value in parameters.items() if value is not None}
    known = {field.name for field in fields(maker)}
    for key in given:
        if key not in known:
            raise InvalidInput(
                f"The method '{name}' takes no --{key.replace('_', '-')}. Leave it out, or choose "
                "another --method."
            )
    method: Method = maker(**given)
    return method


def _read_parameters(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    import yaml

    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"There is no file of hyperparameters at '{path}' (--params).")
    try:
        plain = yaml.safe_load(file.read_text(encoding="utf-8"))  # JSON is YAML too
    except (ValueError, yaml.YAMLError) as error:
        raise InvalidInput(f"'{path}' is neither YAML nor JSON: {error}.") from error
    if not isinstance(plain, dict) or not all(isinstance(name, str) for name in plain):
        raise InvalidInput(f"'{path}' must map names of hyperparameters to values.")
    return plain
