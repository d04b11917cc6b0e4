"""What every imported model offers, whether its trees are known or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from robx.arrays import Floats
from robx.tables import Category

if TYPE_CHECKING:
    from robx.trees.ensemble import TreeEnsemble


class Model(ABC):
    """An imported model: a `TreeEnsemble`, or a `BlackBox`.

    Code that works with either takes a `Model`, and asks for `trees` where it needs more than
    scores.

    Attributes
    ----------
    target : label or None
        The class whose probability is the score; None for a function that does not name it.
    source : str
        The library and kind of model that this was imported from; of a black box, its type.
    """

    target: Category | None
    source: str
    #: Why it is not a `TreeEnsemble`, in a sentence; empty for one, and where nobody asked for it.
    why: str = ""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...] | None:
        """Names of the input columns, in the model's order; None where they are not known."""

    @property
    def known_names(self) -> tuple[str, ...] | None:
        """Names that come from the training table; None if it did not have any."""
        return self.names

    @property
    def digest(self) -> str | None:
        """Content digest: equal for models that score alike; None for a black box."""
        return None

    @property
    def trees(self) -> TreeEnsemble | None:
        """The model itself if its trees are known, None for a black box."""
        return None

    def about(self) -> dict[str, Any]:
        """Describe the model in plain values: its kind, digest, source and number of trees."""
        trees = self.trees
        told = {"why": self.why} if self.why else {}
        return {
            "kind": "black box" if trees is None else "tree ensemble",
            "digest": self.digest,
            "source": self.source,
            "n_trees": None if trees is None else trees.n_trees,
            **told,
        }

    @abstractmethod
    def score(self, X: object) -> Floats:
        """Probability of the target class for each row of a table: (n,) float64."""

    @abstractmethod
    def check_columns(self, X: object, what: str = "X") -> None:
        """Raise `InvalidInput` unless a table has the columns that the model takes.

        Names, number and types of the columns are checked, not their values.

        Parameters
        ----------
        X : table of shape (n, d)
        what : str
            What to call the table in an error.
        """
