"""What the options of a command name, read and checked when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import robx
from robx.cli.columns import class_named, coded, features_of, read_column, refuse_turned
from robx.cli.options import METHODS, takes
from robx.cli.outcome import Wanted, is_warning, stated, telling_column
from robx.cli.screen import listed, remark
from robx.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from robx import BlackBox, Problem, Schema, TreeEnsemble
    from robx.methods import Method
    from robx.modelfiles import ModelFile, Recipe
    from robx.trees import Model

#: Hyperparameters that stop a training when other rows say so.
EARLY_STOPPING = ("early_stopping_rounds", "early_stopping_round")
#: A name of an applicant that is the same as a number.
WHOLE = r"0|-?[1-9]\d{0,17}"


@dataclass(frozen=True, eq=False)
class Inputs:
    """A model, the table that it was trained on, and what goes with them, by their options.

    Every file is read once.
    """

    model_path: str
    data: str
    label: str | None
    schema_path: str | None
    id_column: str | None
    target_name: str | None
    threshold: float
    parameters_path: str | None
    unsafe_pickle: bool
    quiet: bool
    _tables: dict[str, pd.DataFrame] = field(default_factory=dict, init=False)

    @cached_property
    def file(self) -> ModelFile:
        """The model file; categories that it does not name are looked up in --data."""
        file = model_file(self.model_path, unsafe_pickle=self.unsafe_pickle)
        file.sources = lambda: (self._without_others(self._read(self.data)),)
        return file

    @property
    def model(self) -> Any:
        """The model, as functions of robx take it."""
        return self.file.model

    @cached_property
    def X(self) -> pd.DataFrame:
        """The training table: the columns that the model knows."""
        return self._features(self._read(self.data), self.data)

    @cached_property
    def y(self) -> pd.Series[Any] | None:
        """The labels, as the model codes them; None where no column of labels is named."""
        y, _ = self._labels_and_target
        if y is not None:
            refuse_turned(y, self.X, self.imported, str(self.label), self.data)
        return y

    @cached_property
    def target(self) -> Any:
        """The class that --target names; None for the model's own choice."""
        return self._labels_and_target[1]

    @cached_property
    def wanted(self) -> Wanted:
        """The outcome that counts as accepted, as the table of the user names it."""
        told, (_, target) = self.target_name is not None, self._labels_and_target
        if self.label is None:
            column = telling_column(self._read(self.data), list(self.X.columns))
            known = list(getattr(self.model, "classes_", (0, 1)))
        else:
            column, known = self.label, self._read(self.data)[self.label].unique().tolist()
        # A label that the model file numbers is named by --target alone.
        named = self.target_name if told and target is None else self.imported.target
        others = tuple(one for one in known if str(one) != str(named))
        return Wanted(column, named, others, told)

    def state_wanted(self, people: pd.DataFrame | None) -> None:
        """Say, before anything is trained, which outcome these applicants are taken to want.

        Where an explainer is fitted, there are none yet.
        """
        self.wanted.refuse_bad()
        line = stated(self.wanted, self.imported, self.X, people, self.threshold)
        remark(line, quiet=self.quiet and not is_warning(line))

    @cached_property
    def schema(self) -> Schema | None:
        """The schema, if a file of one is named."""
        return None if self.schema_path is None else robx.Schema.load(self.schema_path)

    @cached_property
    def problem(self) -> Problem:
        """All of it as a problem."""
        self.wanted.refuse_bad()
        return robx.Problem(self.model, self.X, self.schema, self.target, self.threshold)

    @cached_property
    def recipe(self) -> Recipe | None:
        """How to train a model like this one again, or None without labels."""
        if self.y is None:
            if self.parameters_path is not None:
                raise InvalidInput("--params is for training again, which needs --label as well.")
            return None
        parameters = _read_parameters(self.parameters_path) or {}
        recipe = self.file.recipe(parameters or None)
        stops = [name for name in EARLY_STOPPING if parameters.get(name) is not None]
        if stops and "CatBoost" not in type(recipe.estimator).__name__:  # which passes over it
            raise InvalidInput(
                f"{stops[0]} needs rows that are set aside, and no rows are when a model is "
                "trained again. Leave it out of --params, and give the number of rounds instead."
            )
        remark(recipe.words, quiet=self.quiet)
        return recipe

    def column(self, name: str) -> pd.Series[Any]:
        """Give a column of --data, whether the model knows it or not."""
        return read_column(self._read(self.data), name, self.data)

    @property
    def estimator(self) -> Any:
        """The classifier to train again, or None without labels."""
        return None if self.recipe is None else self.recipe.estimator

    def people(self, path: str, problem: Problem | None = None) -> pd.DataFrame:
        """Read people, identified by --id or by their row from 0.

        Their columns are those of a problem, if one is given, else those of --model and --data.
        """
        table = self._read(path)
        if self.id_column is not None:
            if self.id_column not in table.columns:
                raise InvalidInput(
                    f"'{path}' has no column '{self.id_column}' that names the applicants (--id). "
                    f"It has {listed(table)}."
                )
            names = table[self.id_column]
            if names.isna().any() or names.duplicated().any():
                said = f"Some applicants in '{path}' share a '{self.id_column}', or have none."
                remark(said, quiet=self.quiet)
            table = table.set_index(_whole_numbers(names) if _is_csv(path) else names)
            table = table.drop(columns=self.id_column)
        if problem is not None:
            return self._features(table, path, problem.codec.layout.names, problem.model)
        return self._features(table, path, [str(name) for name in self.X.columns])

    def _read(self, path: str) -> pd.DataFrame:
        from robx.files import read_table

        if path not in self._tables:
            exact = () if self.id_column is None else (self.id_column,)
            self._tables[path] = read_table(path, text=exact)
        return self._tables[path]

    @cached_property
    def _labels_and_target(self) -> tuple[pd.Series[Any] | None, Any]:
        if self.label is None:
            return None, class_named(self.target_name, self.file)
        y = read_column(self._read(self.data), self.label, self.data)
        return coded(y, self.label, self.target_name, self.file)

    @cached_property
    def imported(self) -> TreeEnsemble | BlackBox:
        """The model, imported for the outcome that applicants want."""
        from robx.trees.targets import UnknownTarget

        target = self.target
        try:
            return self.file.imported(target)
        except UnknownTarget as error:
            named = "" if self.target_name is None else f" Got '{self.target_name}'."
            raise InvalidInput(
                f"--target must be one of {listed(error.classes)}.{named}"
            ) from error

    def _features(
        self,
        table: pd.DataFrame,
        path: str,
        trained_on: Sequence[str] | None = None,
        model: Model | None = None,
    ) -> pd.DataFrame:
        known = self.imported if model is None else model
        features, said = features_of(self._without_others(table), path, known, trained_on)
        if said:
            remark(said, quiet=self.quiet)
        return features

    def _without_others(self, table: pd.DataFrame) -> pd.DataFrame:
        """Leave out the labels and the names of applicants."""
        others = [name for name in (self.label, self.id_column) if name in table.columns]
        return table.drop(columns=others)


def with_inputs(command: Any) -> Any:
    """Pass the shared options to a command as one argument, `inputs`, and add the rarer of them.

    The command itself takes "model", "data", "schema" and a column of labels.
    """

    @wraps(command)
    def called(**given: Any) -> Any:
        names = [one.name for one in fields(Inputs) if one.init]
        return command(inputs=Inputs(**{name: given.pop(name) for name in names}), **given)

    return takes("id", "target", "threshold", "params", "unsafe_pickle", "quiet")(called)


def model_file(path: str, *, unsafe_pickle: bool) -> ModelFile:
    """Name a model file, which is parsed when it is asked for."""
    from robx.modelfiles import ModelFile

    return ModelFile(path, unsafe_pickle=unsafe_pickle)


def load_models(paths: Sequence[str], *, unsafe_pickle: bool) -> list[Any]:
    """Load models, as functions of robx take them."""
    return [model_file(path, unsafe_pickle=unsafe_pickle).model for path in paths]


def made_method(name: str, parameters: dict[str, Any]) -> Method:
    """Make the method of this name; parameters that were not given are None."""
    maker = getattr(robx, METHODS[name])
    given = {key: value for key, value in parameters.items() if value is not None}
    known = {one.name for one in fields(maker)}
    for key in given:
        if key not in known:
            raise InvalidInput(
                f"The method '{name}' takes no --{key.replace('_', '-')}. Leave it out, or choose "
                "another --method."
            )
    method: Method = maker(**given)
    return method


def _is_csv(path: str) -> bool:
    return not path.lower().endswith(".parquet")


def _whole_numbers(names: pd.Series[Any]) -> pd.Series[Any]:
    """Names of applicants as numbers where all are, and would be written as they are."""
    is_whole = names.str.fullmatch(WHOLE, na=False).all()
    return names.astype("int64") if is_whole else names


def _read_parameters(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    from robx.budget import Budget
    from robx.files import read_plain

    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"There is no file of hyperparameters at '{path}' (--params).")
    plain = read_plain(file, Budget.default())
    if not isinstance(plain, dict) or not all(isinstance(name, str) for name in plain):
        raise InvalidInput(f"'{path}' must map names of hyperparameters to values.")
    return plain
