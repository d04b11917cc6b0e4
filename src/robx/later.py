"""`Later`: a value that is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar


class Later:
    """A value that is worked out when it is first asked for, and then kept.

    It takes no lock: two threads that ask at once may both work it out, to the same end.

    Examples
    --------
    >>> answer = Later(lambda: 42)
    >>> answer.get()
    42
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._value: Any = None

    def get(self) -> Any:
        """Give the value."""
        make = self._make
        if make is not None:
            self._value = make()
            self._make = None  # and what it was made of may go
        return self._value


class Lazy:
    """A dataclass of which some fields may be given as `Later`; whoever reads them sees values.

    Such fields must have no default, or one that is made (`default_factory`): the class itself must
    not have an attribute of that name. Pickles and copies hold values.
    """

    #: Fields that may be given as `Later`.
    lazy_fields: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        mine = self.__dict__
        later = {name: mine[name] for name in self.lazy_fields if isinstance(mine[name], Later)}
        for name in later:
            del mine[name]
        mine["_later"] = later

    if not TYPE_CHECKING:  # to which the fields are what they are declared to be

        def __getattr__(self, name: str) -> Any:
            later = self.__dict__.get("_later", {}).get(name)
            if later is None:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            value = self.__dict__[name] = later.get()
            return value

    def held(self, name: str) -> Any:
        """Give a field as it is: its value, or a `Later` that nobody has asked yet."""
        return self.__dict__[name] if name in self.__dict__ else self.__dict__["_later"][name]

    def __getstate__(self) -> dict[str, Any]:
        for name in self.__dict__["_later"]:
            getattr(self, name)
        return {**self.__dict__, "_later": {}}
