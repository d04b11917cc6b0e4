"""How `Counterfactuals` show themselves in a notebook: a small table, declined applicants first."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from robx.answers.flat_table import applicant_ids
from robx.answers.status import ANSWERED, Status

if TYPE_CHECKING:
    from robx.answers.counterfactuals import Counterfactuals

#: Rows to show unless told otherwise.
MOST_ROWS = 10
#: Colours are the notebook's own, so that it reads in light and in dark.
STYLE = (
    ".robx table{border-collapse:collapse;color:inherit;font-size:inherit;"
    "font-variant-numeric:tabular-nums}"
    ".robx th,.robx td{text-align:left;vertical-align:top;padding:.3em .8em;background:none;"
    "border:0 solid rgba(128,128,128,.35);border-bottom-width:1px;white-space:normal}"
    ".robx .n{text-align:right;white-space:nowrap}"
    ".robx .q{opacity:.7}"
)


def as_html(answers: Counterfactuals, max_rows: int = MOST_ROWS) -> str:
    """Give answers as a piece of HTML: how the searches ended, and a table of what to change.

    Parameters
    ----------
    answers : Counterfactuals
    max_rows : int
        Rows to show; the rest is counted.

    Returns
    -------
    str
        Whatever stands in the data is escaped.
    """
    asked = [i for i, status in enumerate(answers.status) if status != Status.ACCEPTED]
    shown = asked[:max_rows]
    names = [str(name) for name in applicant_ids(answers)]
    rows = "".join(_row(answers, i, names[i]) for i in shown)
    table = f"<table><thead>{_head(answers)}</thead><tbody>{rows}</tbody></table>" if rows else ""
    more = len(asked) - len(shown)
    rest = f'<p class="q">and {more} more</p>' if more else ""
    return (
        f'<div class="robx"><style>{STYLE}</style><p>{escape(_outcome(answers))}</p>{table}{rest}'
        "</div>"
    )


def isolated(change: str) -> str:
    """Give a change as HTML in which a value that runs from right to left turns no other around.

    Examples
    --------
    >>> isolated("city: a → b")
    '<bdi>city</bdi>: <bdi>a</bdi> → <bdi>b</bdi>'
    """
    first, arrow, after = change.rpartition(" → ")
    name, colon, before = first.partition(": ")
    if not arrow or not colon:
        return f"<bdi>{escape(change)}</bdi>"
    return ": ".join(
        [f"<bdi>{escape(name)}</bdi>", f"<bdi>{escape(before)}</bdi> → <bdi>{escape(after)}</bdi>"]
    )


def _outcome(answers: Counterfactuals) -> str:
    counts = [(str(status), int((answers.status == status).sum())) for status in Status]
    said = ", ".join(f"{count} {name}" for name, count in counts if count)
    return f"Counterfactuals by {answers.method}: {said or 'no applicants'}"


def _head(answers: Counterfactuals) -> str:
    numbers = ["cost", "score", "stability"]
    if answers.certificate is not None:
        numbers.append(f"accepted by, of {answers.certificate.n_models}")
    words = _cells(["applicant", "status", "what to change"], "th")
    return f"<tr>{words}{_cells(numbers, 'th', 'n')}</tr>"


def _row(answers: Counterfactuals, i: int, name: str) -> str:
    status = answers.status[i]
    numbers = [_number(values[i]) for values in (answers.cost, answers.score, answers.stability)]
    if status not in ANSWERED:
        numbers = [""] * 3
    if answers.certificate is not None:
        covered = answers.certificate.covers[i]
        numbers.append(str(answers.certificate.accepting[i]) if covered else "")
    reason = escape(answers.reason[i])
    words = "<br>".join(map(isolated, answers.changes[i]))
    # Beside an answer, the reason why it is not stable would be the longer of the two.
    hint = f' title="{reason}"' if words and reason else ""
    words = words or f'<span class="q">{reason}</span>'
    told = f"<td><bdi>{escape(name)}</bdi></td><td{hint}>{status}</td><td>{words}</td>"
    return f"<tr>{told}{_cells(numbers, 'td', 'n')}</tr>"


def _cells(texts: Sequence[str], tag: str = "td", kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return "".join(f"<{tag}{mark}>{escape(text)}</{tag}>" for text in texts)


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}" if np.isfinite(value) else ""
