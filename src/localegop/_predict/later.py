"""Values that are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Later(Generic[T]):
    """A value that is made when it is first asked for, and kept from then on.

    Threads that ask at the same time may both make it, with the same result: nobody waits for anybody, so a
    process may fork or be interrupted at any time. To be pickled or copied, the value is made.

    Examples
    --------
    >>> from localegop._predict.later import Later
    >>> later = Later(lambda: print("now") or 7)
    >>> later() + later()
    now
    14
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._made: list[T] = []

    @classmethod
    def known(cls, value: T) -> Later[T]:
        """Return one whose value is there."""
        later = cls(lambda: value)
        later()
        return later

    def __call__(self) -> T:
        make = self._make
        if make is not None:
            self._made.append(make())
            self._make = None  # and all that it needed
        return self._made[0]

    def __reduce__(self) -> tuple[Callable[[T], Later[T]], tuple[T]]:
        return Later.known, (self(),)
