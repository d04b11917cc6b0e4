"""How much the answers tell of single people among the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from robx.answers import Counterfactuals, Crowds
from robx.metrics import percent
from robx.reports.figures import counted

Plain = dict[str, Any]

MEANING = (
    "The crowd of an answer: the accepted training rows that have all the values to which it "
    "changes features. A crowd of one row points at one person."
)
#: Sizes of crowds to count: a name, the smallest and the largest.
SIZES: tuple[tuple[str, int, float], ...] = (
    ("no training row", 0, 0),
    ("1 row", 1, 1),
    ("2 to 4 rows", 2, 4),
    ("5 to 19 rows", 5, 19),
    ("20 rows or more", 20, np.inf),
)


def privacy(answers: Counterfactuals) -> Plain:
    """Say how many training people share the answers, of all alternatives, too."""
    every = [answers, *answers.alternatives]
    known = [one.crowds for one in every if one.crowds is not None]
    k = answers.origin.get("k_anonymous")
    about = _about(k)
    sizes = np.concatenate([np.zeros(0, dtype=np.int64), *(one.size[one.covers] for one in known)])
    if not len(sizes):
        words = [] if known else ["It was not measured how many training people share the answers."]
        return {"words": [*about, *words], "k_anonymous": k, "answers": 0, "crowds": []}
    alone, whole = (sum(getattr(one, name) for one in known) for name in ("n_alone", "n_whole"))
    return {
        "words": [*about, *_words(known[0], len(sizes), alone, whole), MEANING],
        "k_anonymous": k,
        "answers": len(sizes),
        "training_rows": known[0].n_rows,
        "alone": alone,
        "alone_share": alone / len(sizes),
        "whole": whole,
        "whole_share": whole / len(sizes),
        "median": float(np.median(sizes)),
        "crowds": [
            {"crowd": name, "answers": count, "share": count / len(sizes)}
            for name, least, most in SIZES
            for count in [int(((sizes >= least) & (sizes <= most)).sum())]
        ],
    }


def _about(k: Any) -> list[str]:
    if k is None:
        return ["The search used training rows as they are."]
    said = f"The search used rows that stand for at least {k} training people each (k-anonymous, "
    return [f"{said}k = {k}). The model and the retrained models were trained on the true rows."]


def _words(crowds: Crowds, n: int, alone: int, whole: int) -> list[str]:
    """Say the two figures that matter."""
    have, equal = "has" if alone == 1 else "have", "equals" if whole == 1 else "equal"
    rows = counted(crowds.n_rows, "accepted training row")
    one = f"{alone:,} ({percent(alone / n)}) {have} a crowd of one among {rows}"
    every = f"{whole:,} ({percent(whole / n)}) {equal} a training row in every column"
    return [f"Of {counted(n, 'answer')}, {one}, and {every}."]
