"""Rules for what a file may hold: values of its JSON header, and arrays.

A rule has a method ``check(name, value)`` that raises a ValueError of one line unless the value keeps it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localegop._data.archive import require, shown

LARGEST = 1e150  # squares of numbers up to this are finite


class Rule(Protocol):
    """What a value of a header must be."""

    def check(self, name: str, value: Any) -> None:
        """Raise a ValueError unless the value keeps the rule."""


@dataclass(frozen=True)
class Number:
    """A finite number from ``least`` to ``most``; never a boolean."""

    least: float = -LARGEST
    most: float = LARGEST
    whole: bool = False

    def check(self, name: str, value: Any) -> None:
        """See :class:`Rule`."""
        kinds: tuple[type, ...] = (int,) if self.whole else (int, float)
        inside = type(value) in kinds and self.least <= value <= self.most
        kind = "a whole number" if self.whole else "a number"
        allowed = f"{kind} from {self.least:.6g} to {self.most:.6g}"
        require(inside, f"{name} is {shown(value)}, but must be {allowed}")


@dataclass(frozen=True)
class Text:
    """A text, one of the choices if there are any."""

    choices: tuple[str, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """See :class:`Rule`."""
        known = type(value) is str and (not self.choices or value in self.choices)
        allowed = f"one of {', '.join(map(repr, self.choices))}" if self.choices else "a text"
        require(known, f"{name} is {shown(value)}, but must be {allowed}")


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, name: str, value: Any) -> None:
        """See :class:`Rule`."""
        require(type(value) is bool, f"{name} is {shown(value)}, but must be true or false")


@dataclass(frozen=True)
class Optional:
    """Nothing, or what another rule says."""

    rule: Rule

    def check(self, name: str, value: Any) -> None:
        """See :class:`Rule`."""
        if value is not None:
            self.rule.check(name, value)


@dataclass(frozen=True)
class Sequence:
    """A list, not empty, of values that keep a rule."""

    rule: Rule

    def check(self, name: str, value: Any) -> None:
        """See :class:`Rule`."""
        filled = type(value) is list and len(value) > 0
        require(filled, f"{name} is {shown(value)}, but must be a list that is not empty")
        for k, each in enumerate(value):
            self.rule.check(f"{name}[{k}]", each)


@dataclass(frozen=True)
class Some:
    """An object of any entries."""

    def check(self, name: str, value: Any) -> None:
        """See :class:`Rule`."""
        require(type(value) is dict, f"{name} is {shown(value)}, but must be an object")


@dataclass(frozen=True)
class Fields:
    """An object of exactly these entries."""

    rules: Mapping[str, Rule]

    def check(self, name: str, value: Any) -> None:
        """See :class:`Rule`."""
        Some().check(name, value)
        check_names(f"entry of {name}", value, self.rules)
        for key, rule in self.rules.items():
            rule.check(f"{name}.{key}", value[key])


@dataclass(frozen=True)
class Entries:
    """An array of a shape, with finite entries from ``least`` to ``most``.

    With ``rising``, no entry is less than the one before it along the first axis.
    """

    shape: tuple[int, ...]
    least: float = -LARGEST
    most: float = LARGEST
    whole: bool = False
    rising: bool = False

    def check(self, name: str, value: NDArray[Any]) -> None:
        """See :class:`Rule`."""
        name = f"array {name!r}"
        kind, found = "i" if self.whole else "f", value.dtype.kind
        require(
            found == kind,
            f"{name} has type {value.dtype}, but must be {'int64' if self.whole else 'float64'}",
        )
        require(value.shape == self.shape, f"{name} has shape {value.shape}, but must have {self.shape}")
        require(bool(np.isfinite(value).all()), f"{name} has entries that are not finite")
        if value.size:
            low, high = value.min(), value.max()
            outside = low if low < self.least else high
            inside = self.least <= low and high <= self.most
            allowed = f"from {self.least:.6g} to {self.most:.6g}"
            require(bool(inside), f"{name} has an entry {outside}, but all must be {allowed}")
        sorted_up = not self.rising or bool((value[1:] >= value[:-1]).all())
        require(sorted_up, f"{name} is not sorted")


def check_names(what: str, found: Collection[str], expected: Collection[str]) -> None:
    """Raise an error unless just the expected names were found."""
    for name in expected:
        require(name in found, f"{what} {name!r} is missing")
    for name in found:
        require(name in expected, f"{what} {shown(name)} is unknown")


def side(arrays: Mapping[str, NDArray[Any]], name: str, axis: int) -> int:
    """Length of an array along an axis, at least 1."""
    array = arrays.get(name)
    require(array is not None, f"array {name!r} is missing")
    assert array is not None
    long = array.ndim > axis and array.shape[axis] > 0
    require(long, f"array {name!r} has shape {array.shape}, but must not be empty")
    return int(array.shape[axis])
