"""After a retraining: which of the issued answers does the new model still accept.

`folders` finds files of answers, `issued` reads them, `checker` scores them, `result` is what comes
out, of which `joined` makes one for several files; `groups` counts it and `sentences` says it.
"""

from __future__ import annotations

from robx.promises.checker import check
from robx.promises.result import Check, Issued

__all__ = ["Check", "Issued", "check"]
