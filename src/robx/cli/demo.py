"""`robx demo`: everything on German Credit, with files to try the other commands on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import robx
from robx.cli.options import takes
from robx.cli.outputs import NewFolder, WritingCommand
from robx.cli.screen import remark, show_table

if TYPE_CHECKING:
    import pandas as pd

N_TODAY, N_LATER, N_SEEN_LATER, N_MODELS = 350, 350, 300, 20
LABEL, ID = "good", "applicant"
FORMATS = {"cost": ".2f", "changes": ".1f", "still accepted": ".1%", "inliers (LOF)": ".2f"}
ADVICE = """\
(The model has learned from this data that no account is better than a poor one. To rule out such
advice, let checking only increase in the schema.)
"""
WRITTEN = (
    "model.skops",
    "new-model.skops",
    "train.csv",
    "applicants.csv",
    "schema.yaml",
    "recourse.json",
    "report.html",
)
NEXT = """
Wrote {folder}: model.skops, new-model.skops, train.csv, applicants.csv, schema.yaml, recourse.json
and report.html, which opens in any browser. Try the other commands on these files:

  cd {folder}
  robx explain --model model.skops --data train.csv --label {label} --applicants applicants.csv \\
      --id {id} --schema schema.yaml --max-changes 2 --out mine.json
  robx report mine.json --out mine.html
  robx check --model new-model.skops mine.json"""


class Rows(NamedTuple):
    """A table and its labels."""

    X: pd.DataFrame
    y: pd.Series[Any]


@click.command(
    cls=WritingCommand, short_help="See robx at work on German Credit, and get files to try."
)
@click.option(
    "--out",
    "folder",
    type=NewFolder(*WRITTEN),
    default="robx-demo",
    help="Folder for the report and the other files.",
)
@takes("quiet")
def demo(folder: str, quiet: bool) -> None:
    """See recourse that survives a retraining, on German Credit, in less than a minute.

    The demo trains a model, tells the applicants whom it declines what to change, trains the model
    again 20 times on other people, and counts how many answers are still accepted.

    \b
    Examples
      robx demo
      robx demo --out somewhere
    """
    today, later, new, schema = _german()
    remark("(The first run on a machine compiles code, which takes some seconds.)\n", quiet=quiet)
    click.echo(
        f"A model of German Credit is trained on {len(today.X)} people. {len(new.X)} others apply. "
        "This may change:\n"
    )
    click.echo(f"{schema.fit(today.X)}\n")
    model = _trained(today, N_TODAY)
    answer = robx.explain(model, today.X, new.X, y_train=today.y, schema=schema)
    click.echo(f"{answer}\nEach answer must pass this test: {answer.settings['tau_reason']}.\n")
    for i in answer.ok.nonzero()[0][:3]:
        click.echo(f"Applicant {new.X.index[i]}: {answer.words(int(i))}\n")
    click.echo(ADVICE)

    judges = [_trained(later, N_SEEN_LATER, seed) for seed in range(1, N_MODELS + 1)]
    click.echo(
        f"Now the model is trained again {len(judges)} times, each time on {N_SEEN_LATER} of "
        f"{len(later.X)} other people:\n"
    )
    problem = robx.Problem(model, today.X, schema)
    table = _evaluation(problem, model, today, new, judges)
    show_table(_shown(table), FORMATS, indent="  ")
    click.echo(
        "\n(Cost and the figures after it are means over those whom all three methods answer.)"
    )
    _write(Path(folder), model, judges[0], today, new, schema, answer)
    robx.report(
        answer,
        checks=[robx.check(answer, judges[0])],
        evaluation=table,
        stability=robx.plots.stability_table(problem, today.X),
        title="Recourse for German Credit",
    ).save(Path(folder) / "report.html")
    remark(NEXT.format(folder=folder, label=LABEL, id=ID), quiet=quiet)


def _german() -> tuple[Rows, Rows, Rows, robx.Schema]:
    """Split the data: who trains the model today, who trains it later, and who applies."""
    import numpy as np

    X, y, schema = robx.datasets.load_german()
    order = np.random.default_rng(0).permutation(len(X))
    ends = (N_TODAY, N_TODAY + N_LATER)
    parts = [Rows(X.iloc[rows], y.iloc[rows]) for rows in np.split(order, ends)]
    return parts[0], parts[1], parts[2], schema


def _trained(data: Rows, n_rows: int, seed: int = 0) -> Any:
    """Train a model, on a random choice of the rows where there are more."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier as Trees

    rows = np.arange(n_rows)
    if n_rows < len(data.X):
        rows = np.random.default_rng(seed).choice(len(data.X), n_rows, replace=False)
    model = Trees(max_iter=60, max_depth=3, learning_rate=0.15, random_state=seed)
    return model.fit(data.X.iloc[rows], data.y.iloc[rows])


def _evaluation(
    problem: robx.Problem, model: Any, today: Rows, new: Rows, judges: list[Any]
) -> pd.DataFrame:
    """Have the new models judge the answers of three methods."""
    # As `robx.explain` does: of the models that it trains, the first 16 help to search.
    searching = list(robx.retrainings(model, *today, n_models=16))
    methods = {
        "Nearest neighbour": robx.NearestNeighbour(),
        "RobX": robx.RobX(),
        "Frugal": robx.Frugal(models=searching),
    }
    table = robx.evaluate(problem, methods, judges, applicants=new.X, common=True, progress=False)
    return table.assign(scenario=f"{len(judges)} new models")


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Give the figures that the demo shows, under plain names."""
    lines = table[table["seed"] == "all"].pivot_table("value", "method", "metric", sort=False)
    asked = lines["n_applicants"].astype(int)
    answered = (lines["coverage"] * asked).round().astype(int)
    named = {"cost_l1": "cost", "n_changes": "changes", "validity": "still accepted"}
    shown = lines.rename(columns={**named, "lof": "inliers (LOF)"})[list(FORMATS)]
    shown.insert(0, "answered", [f"{n} of {m}" for n, m in zip(answered, asked, strict=True)])
    return shown.rename_axis(index="method", columns="").reset_index()


def _write(
    folder: Path,
    model: Any,
    new_model: Any,
    today: Rows,
    new: Rows,
    schema: robx.Schema,
    answer: robx.Counterfactuals,
) -> None:
    """Write files that the other commands take."""
    import skops.io

    from robx.files import atomically, write_table

    folder.mkdir(parents=True, exist_ok=True)
    for name, one in (("model", model), ("new-model", new_model)):
        with atomically(folder / f"{name}.skops", private=False) as file:
            skops.io.dump(one, file)
    write_table(today.X.assign(**{LABEL: today.y}), folder / "train.csv")
    write_table(new.X.rename_axis(ID).reset_index(), folder / "applicants.csv")
    schema.save(folder / "schema.yaml")
    answer.save(folder / "recourse.json")
