"""Rehearsing a promise: how much of it is kept by models that nothing was chosen with.

`trials` plays the whole procedure on part of the training rows, and has it judged by models of
others; `outcome` counts what was kept, chooses and calibrates; `promise` puts it in words.
"""

from __future__ import annotations

from robx.rehearsal.calibration import Calibration
from robx.rehearsal.dials import dial_of, is_set, with_dial
from robx.rehearsal.outcome import Choice, Outcome
from robx.rehearsal.promise import Promise
from robx.rehearsal.trials import LEAST_ROWS, CannotRehearse, Play, n_trials, rehearse

__all__ = [
    "LEAST_ROWS",
    "Calibration",
    "CannotRehearse",
    "Choice",
    "Outcome",
    "Play",
    "Promise",
    "dial_of",
    "is_set",
    "n_trials",
    "rehearse",
    "with_dial",
]
