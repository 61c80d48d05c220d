"""Constructor parameters as JSON, and back, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.archive import require, shown
from localegop._data.schema import (
    Number,
    Optional,
    Rule,
    check_names,
)
from localegop._predict.file_rules import MOST_STEPS, MOST_SUBSAMPLES, POSITIVE, SMALL
from localegop.kernels import KERNELS, Kernel
from localegop.schedules import EffectiveSampleSize, Geometric, PowerLaw

Array = NDArray[np.float64]

SCHEDULES = {kind.__name__: kind for kind in (PowerLaw, Geometric, EffectiveSampleSize)}
OF_THE_MACHINE = ("n_jobs", "verbose", "callback", "client")
BOUNDED_PARAMETERS: dict[str, Rule] = {
    "n_iter": Optional(Number(0, MOST_STEPS, whole=True)),
    "n_subsamples": Number(1, MOST_SUBSAMPLES, whole=True),
    "momentum": Number(SMALL, 1.0),
    "initial_scale": POSITIVE,
}


def encode_parameters(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Turn constructor parameters into JSON; user-defined callables are refused.

    How a machine is used is not part of a model: threads and progress bars are left out.
    """
    kept = {name: value for name, value in parameters.items() if name not in OF_THE_MACHINE}
    encoded = dict(kept, random_state=seed)
    for name, value in encoded.items():
        if name == "class_weight" and isinstance(value, Mapping):
            encoded[name] = _encode_class_weight(value)
        elif type(value).__name__ in SCHEDULES:
            encoded[name] = {"schedule": type(value).__name__, **asdict(value)}
        elif isinstance(value, Kernel) and KERNELS.get(value.name) == value:
            encoded[name] = value.name
        elif callable(value) or hasattr(value, "effective_size"):
            raise ValueError(
                f"{name}={value!r} is user-defined code, which a model file cannot hold: save such a model "
                "with pickle or joblib"
            )
        elif isinstance(value, np.ndarray | np.generic):
            encoded[name] = value.tolist()
    return encoded


def decode_parameters(encoded: Mapping[str, Any], constraints: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Turn JSON back into constructor parameters: all those that have constraints, and no others.

    What the machine has to say is not taken from a file.
    """
    check_names("parameter", encoded, [name for name in constraints if name not in OF_THE_MACHINE])
    decoded = dict(encoded)
    for name, value in decoded.items():
        _check_plain(f"parameter {name!r}", value, flag="boolean" in constraints[name])
        if name in BOUNDED_PARAMETERS:
            BOUNDED_PARAMETERS[name].check(f"parameter {name!r}", value)
        if isinstance(value, dict):
            require(name == "schedule", f"parameter {name!r} is {shown(value)}, but must not be an object")
            decoded[name] = _decode_schedule(value)
        elif isinstance(value, list) and name == "class_weight":
            decoded[name] = _decode_class_weight(value)
        elif isinstance(value, list):
            require(
                name == "initial_metric", f"parameter {name!r} is {shown(value)}, but must not be a list"
            )
            decoded[name] = _decode_metric(value)
    return decoded


def _encode_class_weight(value: Mapping[Any, Any]) -> list[list[Any]]:
    """Turn labels of classes with their factors into a list of pairs, as keys in JSON are text."""
    labels = [label.item() if isinstance(label, np.generic) else label for label in value]
    return [[label, float(factor)] for label, factor in zip(labels, value.values(), strict=True)]


def _decode_class_weight(value: list[Any]) -> dict[Any, float]:
    """Turn pairs of labels and positive factors into a mapping."""
    for pair in value:
        known = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int | float)
        require(known, f"parameter 'class_weight' has {shown(pair)}, which is no class with a number")
        POSITIVE.check("parameter 'class_weight'", pair[1])
    return {label: float(factor) for label, factor in value}


def _decode_metric(value: list[Any]) -> Array:
    """Turn a list of numbers, or of as long lists of numbers, into an array."""
    lengths = {len(row) if isinstance(row, list) else 0 for row in value}
    numbers = [entry for row in value for entry in (row if isinstance(row, list) else [row])]
    known = len(lengths) == 1 and all(isinstance(entry, int | float) for entry in numbers)
    require(known, f"parameter 'initial_metric' is {shown(value)}, neither a vector nor a matrix")
    return np.array(value, dtype=float)


def _decode_schedule(value: Mapping[str, Any]) -> Any:
    arguments = dict(value)
    kind = arguments.pop("schedule", None)
    known = isinstance(kind, str) and kind in SCHEDULES
    require(known, f"parameter 'schedule' is {shown(value)}, which is no schedule")
    check_names("entry of the schedule", arguments, [entry.name for entry in fields(SCHEDULES[kind])])
    for key, number in arguments.items():
        POSITIVE.check(f"entry {key!r} of the schedule", number)
    return SCHEDULES[kind](**arguments)


def _check_plain(name: str, value: Any, *, flag: bool) -> None:
    """Raise an error unless a value is a text, a finite number, nothing, or a list or object of those."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _check_plain(name, each, flag=False)
        return
    require(flag or not isinstance(value, bool), f"{name} is {value}, but must not be true or false")
    if isinstance(value, int | float):
        Number().check(name, value)
