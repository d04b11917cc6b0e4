"""`robx demo`: everything on German Credit, with files to try the other commands on."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import robx
from robx.cli.options import takes
from robx.cli.outputs import NewFolder, WritingCommand
from robx.cli.screen import aligned, remark

if TYPE_CHECKING:
    import pandas as pd

    from robx.cli.demo_case import Case

LABEL, ID = "good", "applicant"
FORMATS = {"cost": ".2f", "changes": ".1f", "still accepted": ".1%", "inliers (LOF)": ".2f"}
FILES = (
    *("model.skops", "new-model.skops", "pipeline.skops", "train.csv", "applicants.csv"),
    *("schema.yaml", "recourse.json", "report.html"),
)
NEXT = """
Wrote {folder}: model.skops, new-model.skops, pipeline.skops (with a scaler and an encoder),
train.csv, applicants.csv, schema.yaml, recourse.json and report.html, which opens in any browser.
Try the other commands on these files:

  cd {folder}
  {robx} explain --model model.skops --data train.csv --label {label} --applicants applicants.csv \\
      --id {id} --schema schema.yaml --level 0.5 --max-changes 2 --out mine.json
  {robx} report mine.json --new-model new-model.skops --out mine.html
  {robx} check new-model.skops mine.json
  {robx} explain --model pipeline.skops --data train.csv --label {label} \\
      --applicants applicants.csv --id {id} --schema schema.yaml --level 0.5 \\
      --out from-pipeline.json"""


@click.command(
    cls=WritingCommand, short_help="See robx at work on German Credit, and get files to try."
)
@click.option(
    "--out",
    "folder",
    type=NewFolder(*FILES),
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
    from robx.cli import demo_case

    case = demo_case.german()
    today, new = case.today, case.new
    remark("(The first run on a machine compiles code, which takes some seconds.)\n", quiet=quiet)
    click.echo(
        f"A model of German Credit is trained on {len(today.X)} people. {len(new.X)} others apply. "
        "This may change:\n"
    )
    click.echo(f"{case.schema.fit(today.X)}\n")
    model = demo_case.trained(today, demo_case.N_TODAY)
    answer = robx.explain(
        model, today.X, new.X, y_train=today.y, schema=case.schema, level=demo_case.LEVEL
    )
    click.echo(f"{_answered(answer)}\n")
    for i in answer.ok.nonzero()[0][:3]:
        click.echo(f"Applicant {new.X.index[i]}: {answer.words(int(i))}\n")

    judges = demo_case.new_models(case.later)
    click.echo(
        f"Now the model is trained again {len(judges)} times, each time on "
        f"{demo_case.N_SEEN_LATER} of {len(case.later.X)} other people:\n"
    )
    problem = robx.Problem(model, today.X, case.schema)
    table = demo_case.evaluated(problem, model, case, judges)
    _show(demo_case.figures(table))
    _show_splits()
    _write(Path(folder), model, judges[0], case, answer, quiet=quiet)
    robx.report(
        answer,
        checks=[robx.check(answer, judges[0])],
        evaluation=table,
        stability=robx.plots.stability_table(problem, today.X),
        title="Recourse for German Credit",
    ).save(Path(folder) / "report.html")
    told = {"folder": folder, "label": LABEL, "id": ID, "robx": started_by(Path(folder))}
    remark(NEXT.format(**told), quiet=quiet)


def _answered(answer: robx.Counterfactuals) -> str:
    """Say how many are answered, and what that means for the others."""
    n_declined = len(answer) - int((answer.status == robx.Status.ACCEPTED).sum())
    return (
        f"The model declines {n_declined} of them. {int(answer.ok.sum())} get an answer that "
        f"passes this test: {answer.settings['tau_reason']}. The others are shown the best change "
        "that was found, without a promise, or why there is none."
    )


def _show(lines: pd.DataFrame) -> None:
    """Print the figures of three methods; they are for people, also in a pipe."""
    lines = lines.rename(columns={"lof": "inliers (LOF)"})
    cells = [
        [
            str(method),
            f"{row['answered']:.0f} of {row['declined']:.0f}",
            *(format(row[name], how) for name, how in FORMATS.items()),
        ]
        for method, row in lines.iterrows()
    ]
    _print(["method", "answered", *FORMATS], cells)
    click.echo(
        "\n(Figures after the second column are means over those whom the method answers.)\n"
    )


def _show_splits() -> None:
    """Print how it came out on other splits of the data, from a file in the package."""
    import pandas as pd

    from robx.metrics import percent

    splits = pd.read_csv(Path(__file__).with_name("demo_splits.csv"))
    splits["answered"] = splits["answered"] / splits["declined"]
    n = splits["split"].nunique()
    click.echo(f"This is one split of the data. On {n} splits, the mean and the range are:\n")
    shown = {"answered": percent, "cost": "{:.2f}".format, "still accepted": percent}
    cells = []
    for method, rows in splits.groupby("method", sort=False):
        cells.append([str(method), *(_range(rows[name], say) for name, say in shown.items())])
    _print(["method", *shown], cells)


def _range(values: Any, say: Callable[[float], str]) -> str:
    return f"{say(values.mean())} ({say(values.min())} to {say(values.max())})"


def _print(names: list[str], cells: list[list[str]]) -> None:
    for line in aligned(names, cells, [False] + [True] * (len(names) - 1), 100):
        click.echo(f"  {line}")


def started_by(folder: Path) -> str:
    """Give the words that start robx as it was started, from within a folder."""
    own, found = Path(sys.argv[0]), shutil.which("robx")
    is_module = own.name == "__main__.py"
    bin_folder = Path(sys.executable).parent if is_module else own.resolve().parent
    if found is not None and Path(found).resolve().parent == bin_folder.resolve():
        return "robx"
    start = Path(sys.executable) if is_module else own
    there = str(start.absolute())
    words = min(os.path.relpath(there, folder.absolute()), there, key=len)
    return f"{words} -m robx" if is_module else words


def _write(
    folder: Path,
    model: Any,
    new_model: Any,
    case: Case,
    answer: robx.Counterfactuals,
    *,
    quiet: bool,
) -> None:
    """Write files that the other commands take."""
    import skops.io

    from robx.cli import demo_case
    from robx.files import atomically, write_table

    if any((folder / name).exists() for name in FILES):
        remark(f"\nThe files of an earlier demo in {folder} are replaced.", quiet=quiet)
    folder.mkdir(parents=True, exist_ok=True)
    models = {"model": model, "new-model": new_model, "pipeline": demo_case.pipeline(case.today)}
    for name, one in models.items():
        with atomically(folder / f"{name}.skops", private=False) as file:
            skops.io.dump(one, file)
    write_table(case.today.X.assign(**{LABEL: case.today.y}), folder / "train.csv")
    write_table(case.new.X.rename_axis(ID).reset_index(), folder / "applicants.csv")
    case.schema.save(folder / "schema.yaml")
    answer.save(folder / "recourse.json")
