"""Retrained models.

`training` makes them and `scoring` imports them; a `panel` of them helps to choose, and
`certification` judges answers by others.
"""

from __future__ import annotations

from robx.retrained.certification import certified, certify
from robx.retrained.panel import Panel
from robx.retrained.scoring import (
    ModelScores,
    acceptance,
    check_readers,
    import_models,
    import_retrained,
    importer_for,
    scores,
)
from robx.retrained.training import drawn_from, retrainings

__all__ = [
    "ModelScores",
    "Panel",
    "acceptance",
    "certified",
    "certify",
    "check_readers",
    "drawn_from",
    "import_models",
    "import_retrained",
    "importer_for",
    "retrainings",
    "scores",
]
