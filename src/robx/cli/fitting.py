"""What `robx fit` and `robx explain` share: options of fitting, and an explainer made of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

import robx
from robx.cli.inputs import Inputs, load_models, made_method
from robx.cli.options import FILE, POSITIVE, MethodName, number_of_models, takes
from robx.cli.screen import remark, shows_progress
from robx.errors import InvalidInput

if TYPE_CHECKING:
    from robx import Explainer

MIN_MODELS = 6
#: Parameters of methods that have options.
PARAMETERS = ("tau", "level", "max_changes", "price_per_change", "norm")


def method_options(command: Any) -> Any:
    """Give a command the options that choose a method and its parameters."""
    for option in reversed(
        (
            click.option(
                "--method",
                type=MethodName(),
                default="frugal",
                help="Method that finds the answers; RobX is the paper's algorithm.",
            ),
            click.option("--tau", type=float, help="Minimum stability, for RobX and conservative."),
            click.option(
                "--level",
                type=click.FloatRange(0, 1),
                help="How robust answers must be, 0 to 1, for Frugal.",
            ),
            click.option(
                "--max-changes",
                type=POSITIVE,
                help="Maximum number of features to change, for Frugal.",
            ),
            click.option(
                "--price-per-change",
                type=click.FloatRange(0),
                help="What each changed feature costs on top of how far it moves, for Frugal.",
            ),
            click.option(
                "--norm",
                type=click.Choice(["1", "2"]),
                help="Norm of the cost: L1 (default) or L2.",
            ),
        )
    ):
        command = option(command)
    return command


class Keep(click.ParamType):  # type: ignore[type-arg] # generic in new versions of click only
    """A share, or "none"."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """See `click.ParamType`."""
        if str(value).lower() == "none":
            return "none"
        return click.FloatRange(0, 1, min_open=True, max_open=True).convert(value, param, ctx)


def promise_options(command: Any) -> Any:
    """Give a command the options of a promise."""
    for option in reversed(
        (
            click.option(
                "--keep",
                type=Keep(),
                help="Share of the answers that the next model is to keep, such as 0.95, which is "
                "rehearsed on parts of the rows; 'none' for answers without a promise. Default: "
                "0.95 for Frugal with --label.",
            ),
            click.option(
                "--change",
                metavar="HOW",
                help="What the next model is: new-rows (default), bootstrap, drop:N rows, or "
                "later:COLUMN, trained on rows of the time after by a column of --data.",
            ),
            click.option(
                "--challenger",
                "challengers",
                type=FILE,
                multiple=True,
                help="Model file of a candidate that must accept every answer. Repeat the option "
                "for each.",
            ),
            click.option(
                "--strict", is_flag=True, help="Refuse --keep if so much cannot be promised."
            ),
        )
    ):
        command = option(command)
    return command


def model_options(command: Any) -> Any:
    """Give a command the options that say which models there are, and which rows are searched."""
    for option in (
        takes("retrained", "seed"),
        number_of_models(80, MIN_MODELS, "Number of models to train with --label."),
        click.option(
            "--k-anonymous",
            type=click.IntRange(min=2),
            help="Search among rows that stand for at least so many training people each.",
        ),
    ):
        command = option(command)
    return command


def check_retrained(inputs: Inputs, retrained: tuple[str, ...]) -> None:
    """Refuse retrained models beside labels, or too few of them."""
    if retrained and (inputs.label is not None or len(retrained) < MIN_MODELS):
        raise InvalidInput(
            f"--retrained is used instead of --label, and at least {MIN_MODELS} times. Got "
            f"{len(retrained)}{' and --label' if inputs.label else ''}."
        )


def fitted(
    inputs: Inputs,
    people: Any,
    *,
    method: str,
    n_models: int,
    retrained: tuple[str, ...],
    seed: int,
    k_anonymous: int | None,
    keep: float | str | None,
    change: str | None,
    challengers: tuple[str, ...],
    strict: bool,
    **parameters: Any,
) -> Explainer:
    """Fit an explainer, and say before that which outcome applicants are taken to want.

    `people` are the applicants; where there are none yet, the explainer is to be kept in a file.
    """
    from robx.explainer.contents import check_kept

    parameters["norm"] = None if parameters["norm"] is None else int(parameters["norm"])
    chosen = made_method(method, parameters)
    given = {name: value for name, value in parameters.items() if value is not None}
    later = load_models(retrained, unsafe_pickle=inputs.unsafe_pickle)
    candidates = load_models(challengers, unsafe_pickle=inputs.unsafe_pickle)
    promised: Any = "auto" if keep is None else None if keep == "none" else keep
    if people is None:
        check_kept(inputs.imported, chosen)
    labels = inputs.y
    inputs.state_wanted(people)
    with warnings.catch_warnings():  # about the target and the promise, which are said as remarks
        warnings.simplefilter("ignore", robx.WrongWayRound)
        warnings.simplefilter("ignore", robx.LessPromised)
        explainer = robx.Explainer(
            inputs.model,
            inputs.X,
            labels,
            estimator=inputs.estimator,
            models=later or None,
            schema=inputs.schema,
            target=inputs.target,
            threshold=inputs.threshold,
            n_models=n_models,
            seed=seed,
            k_anonymous=k_anonymous,
            keep=promised,
            change=None if change is None else _scenario(change, inputs),
            challengers=candidates,
            strict=strict,
            progress=shows_progress(inputs.quiet),
            **(given if method == "frugal" else {"method": chosen}),
        )
    if explainer.promise is not None:
        remark(str(explainer.promise), quiet=inputs.quiet)
    notes = {"wanted": inputs.wanted.said}
    if inputs.recipe is not None:
        notes["trained_again"] = inputs.recipe.words
    return explainer.noted(**notes)


def _scenario(change: str, inputs: Inputs) -> Any:
    """Make the scenario that --change names."""
    from robx import scenarios

    kind, _, rest = change.partition(":")
    if kind == "new-rows" and not rest:
        return scenarios.OtherHalf()
    if kind == "bootstrap" and not rest:
        return scenarios.Bootstrap()
    if kind == "drop" and rest.isdigit() and int(rest) > 0:
        return scenarios.DropRows(int(rest))
    if kind == "later" and rest:
        return scenarios.LaterVintage(inputs.column(rest).to_numpy())
    raise InvalidInput(
        f"--change must be new-rows, bootstrap, drop:N or later:COLUMN. Got '{change}'."
    )
