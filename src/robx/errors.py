"""The errors and warnings of robx.

Every error that robx raises on purpose is a :class:`RobxError` and also the builtin that a caller
would expect (``ValueError``, ``TypeError``). Messages say what was expected, what came, and what
to do about it. Every warning is a :class:`RobxWarning`.
"""

from __future__ import annotations

import sys
import warnings

#: A longer message is cut in its middle: what came may be of any length.
LONGEST_MESSAGE = 1000


class RobxError(Exception):
    """Base of every error that robx raises on purpose."""

    def __str__(self) -> str:
        text = super().__str__()
        if len(text) <= LONGEST_MESSAGE:
            return text
        return f"{text[: LONGEST_MESSAGE - 300]} [...] {text[-280:]}"


class InvalidInput(RobxError, ValueError):
    """A table, parameter or label given by the caller does not fit."""


class InvalidModel(RobxError, ValueError):
    """A model or model file is damaged: its own parts contradict each other."""


class BudgetExceeded(InvalidInput):
    """Reading a file would take more bytes, memory or time than its `robx.Budget` allows."""


class UnsupportedModel(RobxError, TypeError):
    """A model is sound, but of a kind that cannot be turned into a `TreeEnsemble`."""


class ImportMismatch(RobxError, ValueError):
    """An imported model scored a row differently from the model that it was imported from."""


class RobxWarning(UserWarning):
    """Base of every warning that robx gives on purpose."""


class GuessedSchema(RobxWarning):
    """No schema was given, so what may change was guessed from the training table."""


class WrongWayRound(RobxWarning):
    """The target class may be the outcome that applicants want to avoid."""


class SlowModel(RobxWarning):
    """A pipeline was not folded into its trees, so it is scored as a black box."""


class LessPromised(RobxWarning):
    """Less can be promised than was asked for."""


def warn_caller(message: str, category: type[RobxWarning]) -> None:
    """Warn at the line outside of robx that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("robx."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
