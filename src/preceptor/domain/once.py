"""Worked out once: what follows from a value that never changes is kept beside it."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Holder = TypeVar("Holder")
Made = TypeVar("Made")


class once(Generic[Holder, Made]):  # noqa: N801 - it is used as `property` is
    """As `cached_property`, without the lock it takes before Python 3.12. What is there is found without a call."""

    def __init__(self, make: Callable[[Holder], Made]) -> None:
        self._make, self._name = make, ""
        self.__doc__ = make.__doc__

    def __set_name__(self, _: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, holder: None, _: type[Any]) -> Self: ...

    @overload
    def __get__(self, holder: Holder, _: type[Any]) -> Made: ...

    def __get__(self, holder: Holder | None, _: type[Any]) -> Self | Made:
        if holder is None:
            return self
        made = holder.__dict__[self._name] = self._make(holder)
        return made
