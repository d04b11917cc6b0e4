"""`Column`: what a model wants of one column of a table."""

from __future__ import annotations

from dataclasses import dataclass

Category = str | int | float | bool


@dataclass(frozen=True)
class Column:
    """What a model wants of one column.

    Parameters
    ----------
    name : str
        The column's name in a frame.
    n_codes : int
        How many categories it has; 0 for a number. Codes run from 0 to ``n_codes - 1``.
    categories : tuple, optional
        The categories behind the codes, in order, where the model knows them.
    by_value : bool
        An array holds the categories themselves, not their codes.
    unseen_is_missing : bool
        A category that the model was not trained on counts as missing. Otherwise it becomes the
        code ``n_codes``, for which every split of the model has an answer too.
    takes_unseen : bool
        Whether the model scores a value that is none of `categories`. Otherwise it refuses it.
    as_text : bool
        Categories are compared as text: 3 and "3" are the same, and True is "1". A number that is
        not whole is no category.
    partly_known : bool
        The model was trained on more categories than `categories` lists, by names that it does not
        tell. A value that is not listed is refused: it may be one of them.
    missing_range : (float, float), optional
        Values in this closed range mean "missing", besides NaN.
    takes_missing : bool
        Whether a missing value has a meaning to the model.
    largest : float
        The largest absolute value that the model takes.
    largest_integer : float
        The same in an array of integers, which LightGBM rounds to float32.
    limits : (float, float), optional
        The smallest and the largest number that the model takes, where these are not alike.
    is_ignored : bool
        Whether the model takes no notice of the column, whatever it holds. Where that is not
        numbers, it is read as zeros.
    blank : str
        What the model's library writes for a blank in a column's name.
    """

    name: str
    n_codes: int = 0
    categories: tuple[Category, ...] | None = None
    by_value: bool = False
    unseen_is_missing: bool = False
    takes_unseen: bool = True
    as_text: bool = False
    partly_known: bool = False
    missing_range: tuple[float, float] | None = None
    takes_missing: bool = True
    largest: float = float("inf")
    largest_integer: float = float("inf")
    limits: tuple[float, float] | None = None
    is_ignored: bool = False
    blank: str = " "

    @property
    def is_category(self) -> bool:
        """Whether the column holds categories."""
        return self.n_codes > 0

    @property
    def needs_settling(self) -> bool:
        """Whether some of its values stand for others."""
        return self.is_category or self.missing_range is not None
