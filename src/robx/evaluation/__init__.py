"""How much of what methods hand out is still honoured after the model changes.

`study` makes base models and their successors, `run` has methods answer and new models judge,
`cells` holds what came of it, `log` keeps it, `table` makes the figures.
"""

from __future__ import annotations

from robx.evaluation.cells import Cell
from robx.evaluation.run import evaluate, judged_cells
from robx.evaluation.study import Rehearsal, Study

__all__ = ["Cell", "Rehearsal", "Study", "evaluate", "judged_cells"]
