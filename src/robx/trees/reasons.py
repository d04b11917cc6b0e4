"""`CannotFold`: why a pipeline stays a black box."""

from __future__ import annotations


class CannotFold(Exception):
    """A part of a pipeline does not become splits on the raw columns.

    Parameters
    ----------
    reason : str
        A clause that names the step and says why: "step 'pca' (PCA) mixes columns".
    unknown : str
        The step, where nothing is known of it and trying may tell.
    """

    def __init__(self, reason: str, unknown: str = "") -> None:
        super().__init__(reason)
        self.reason, self.unknown = reason, unknown


def named(step: object, where: str) -> str:
    """Name a step in a sentence.

    >>> named(object(), "prepare > scale")
    "step 'prepare > scale' (object)"
    """
    return f"step '{where}' ({type(step).__name__})" if where else f"the {type(step).__name__}"
