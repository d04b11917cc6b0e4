"""Pipelines of scikit-learn, folded into the trees of their last step.

`tracing` says which raw column each column of the model is made of, `asking` sends raw values
through the fitted transformers, `numbers` and `categories` find which of them go left at each
split, and `robx.trees.rewriting` writes the trees anew. `folding` puts these together; `probing`
tries transformers that are not known, on rows of a table (`samples`). `calibration` gives trees the
sigmoid that they were calibrated with. What cannot be folded is a `CannotFold`, with the reason in
words.
"""

from __future__ import annotations

from robx.trees.pipelines.calibration import calibrated
from robx.trees.pipelines.folding import fold
from robx.trees.reasons import CannotFold

__all__ = ["CannotFold", "calibrated", "fold"]
