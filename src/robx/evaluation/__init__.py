"""How many of the answers that methods issue a changed model still accepts.

`study` makes base models and their successors, `run` has methods answer and new models judge,
`cells` holds the outcome, `log` keeps it, `table` computes the figures.
"""

from __future__ import annotations

from robx.evaluation.cells import Cell
from robx.evaluation.run import evaluate, judged_cells
from robx.evaluation.study import Rehearsal, Study

__all__ = ["Cell", "Rehearsal", "Study", "evaluate", "judged_cells"]
