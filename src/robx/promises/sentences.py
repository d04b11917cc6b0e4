"""What a check found, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robx.arrays import Bools
from robx.metrics import percent

if TYPE_CHECKING:
    from robx.promises.result import Check

#: Characters that tell one digest from another.
DIGEST = 12
#: What a model is called unless told otherwise.
NEW = "the new model"
#: Columns to name.
MOST_COLUMNS = 8


def say(check: Check, name: str) -> str:
    """Say how many promises a model of this name keeps."""
    n, _ = _counts(check, check.promised)
    if n == 0:
        said = f"There is no promise for {name} to keep: no answer is ok."
    elif not check.is_evidence:
        said = _same(check, name)
    else:
        said = _kept(check, name)
    return said + _best_found(check) + _unread(check) + _left_out(check)


def _kept(check: Check, name: str) -> str:
    n, kept = _counts(check, check.counted)
    keeps = f"keeps {kept} of {n} promises"
    if n == 1:
        keeps = "keeps the only promise" if kept else "does not keep the only promise"
    files = len({part.file for part in check.issued})
    where = f" in {files} files" if files > 1 else ""
    said = (
        f"{_upper(name)} {keeps}{where} ({percent(check.share)}). For applicants like these, the "
        f"{100 * check.confidence:g}% interval is {percent(check.low)} to {percent(check.high)}."
    )
    same = int((check.promised & check.same_model).sum())
    if same:
        said += f" Not counted: {same} more that were issued under this very model."
    twice = _repeated(check)
    if twice:
        said += f" The files repeat {twice} of the promises, and each counts."
    return said


def _repeated(check: Check) -> int:
    """Count promises that are in several files: the same words and score for the same name."""
    if len(check.issued) < 2:
        return 0
    rows = np.flatnonzero(check.counted)
    seen = {(str(check.applicants[i]), check.changes[i], check.score_before[i]) for i in rows}
    return len(rows) - len(seen)


def _same(check: Check, name: str) -> str:
    n, kept = _counts(check, check.promised)
    digest = str(check.model.get("digest"))[:DIGEST]
    promises = "the only promise" if n == 1 else f"{kept} of {n} promises"
    keeps = "keeps" if n > 1 or kept else "does not keep"
    which = "This" if name == NEW else _upper(name).replace("The new model (", "The model (")
    return (
        f"{which} is the model that the answers were issued under (digest {digest}), not a new "
        f"one. It {keeps} {promises}, which says nothing about a retraining."
    )


def _best_found(check: Check) -> str:
    n, accepted = _counts(check, check.answered & ~check.promised)
    if n == 0:
        return ""
    if n == 1:
        does = "accepts" if accepted else "does not accept"
        return f" It {does} the one answer that was the best found but not promised."
    return f" It accepts {accepted} of the {n} answers that were the best found but not promised."


def _unread(check: Check) -> str:
    unread = sum(bool(check.reason[i]) for i in np.flatnonzero(check.answered))
    return f" It cannot read {unread} of the answers, which counts as not accepted." * bool(unread)


def _left_out(check: Check) -> str:
    if not check.left_out:
        return ""
    shown = ", ".join(check.left_out[:MOST_COLUMNS])
    more = len(check.left_out) - MOST_COLUMNS
    rest = f" and {more} more" if more > 0 else ""
    return f" It does not have the column{'s' * (len(check.left_out) > 1)} {shown}{rest}."


def _counts(check: Check, rows: Bools) -> tuple[int, int]:
    return int(rows.sum()), int(check.kept[rows].sum())


def _upper(name: str) -> str:
    return name[:1].upper() + name[1:]
