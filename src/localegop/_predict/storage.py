"""Models as files: arrays in an npz archive, everything else in a JSON header, no pickle.

Reading a file runs no code from it. The archive ends with a checksum of all bytes before it (as its zip
comment), so damage is noticed wherever it is; what a well-formed but hostile file says is checked before it
reaches the compiled core.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.units import Units
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import Rules
from localegop._fit.setup import Settings
from localegop._predict.model import Aftermath, Model
from localegop._predict.uncertainty import Calibration
from localegop._selection.search_grid import Choice
from localegop.kernels import KERNELS, Kernel, as_kernel
from localegop.schedules import EffectiveSampleSize, Geometric, PowerLaw

Array = NDArray[np.float64]

FORMAT = 2
HEADER = "localegop_header"
CHECKSUM = 64  # hexadecimal digits of SHA-256
SCHEDULES = {kind.__name__: kind for kind in (PowerLaw, Geometric, EffectiveSampleSize)}


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a header and arrays; the file appears when it is complete."""
    text = json.dumps({"format": FORMAT, **header})
    content = io.BytesIO()
    members: dict[str, Any] = {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    np.savez(content, **members)
    with zipfile.ZipFile(content, "a") as archive:
        archive.comment = b"0" * CHECKSUM
    body = content.getvalue()[:-CHECKSUM]
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file, or a ValueError that says in one line what is wrong with it."""
    content = Path(path).read_bytes()
    if not content.startswith(b"PK\x03\x04") or HEADER.encode() not in content[:100]:
        raise ValueError(f"{os.fspath(path)!r} is not a localegop model")
    body, checksum = content[:-CHECKSUM], content[-CHECKSUM:]
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError(
            f"{os.fspath(path)!r} is damaged or cut short: its checksum does not fit its content; fetch or "
            "fit the model again"
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop(HEADER).tobytes())
        found = header["format"]
    except Exception as error:
        raise ValueError(f"{os.fspath(path)!r} is not a valid localegop model: {error}") from error
    if found != FORMAT:
        raise ValueError(
            f"{os.fspath(path)!r} has format {found!r}, but this version of localegop reads format "
            f"{FORMAT}: install the version that wrote it"
        )
    return header, arrays


def encoded_parameters(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Turn constructor parameters into JSON; callables of one's own are refused."""
    encoded = dict(parameters, random_state=seed)
    for name, value in encoded.items():
        if type(value).__name__ in SCHEDULES:
            encoded[name] = {"schedule": type(value).__name__, **asdict(value)}
        elif isinstance(value, Kernel) and KERNELS.get(value.name) == value:
            encoded[name] = value.name
        elif callable(value) or hasattr(value, "effective_size"):
            raise ValueError(
                f"{name}={value!r} is code of one's own, which a model file cannot hold: save such a model "
                "with pickle or joblib"
            )
        elif isinstance(value, np.ndarray | np.generic):
            encoded[name] = value.tolist()
    return encoded


def decoded_parameters(encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Turn JSON back into constructor parameters."""
    decoded = dict(encoded)
    for name, value in decoded.items():
        if isinstance(value, dict):
            arguments = dict(value)
            decoded[name] = SCHEDULES[arguments.pop("schedule")](**arguments)
        elif isinstance(value, list):
            decoded[name] = np.array(value, dtype=float)
    return decoded


def pack(model: Model, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of one model; the names of arrays begin with ``prefix``."""
    arrays: dict[str, Any] = {entry.name: getattr(model.units, entry.name) for entry in fields(Units)}
    arrays |= {"rows": model.data.rows, "labels": model.data.labels, "share": model.data.share}
    arrays |= {"feature_scale": model.feature_scale, "position": model.position, "part": model.part}
    named = isinstance(model.initial_metric, str)
    if not named:
        arrays["initial_metric"] = np.asarray(model.initial_metric, dtype=float)
    steps = 0
    if model.field is not None:
        steps = len(model.field.gradients)
        for t in range(steps):
            arrays |= {f"gradients_{t}": model.field.gradients[t], f"errors_{t}": model.field.loo_errors[t]}
    if model.after is not None:
        arrays |= {f"after_{entry.name}": getattr(model.after, entry.name) for entry in fields(Aftermath)}
    if model.calibration is not None:
        arrays |= {"scores": model.calibration.scores, "score_share": model.calibration.share}
    error = model.choice.error
    header = {
        "choice": asdict(model.choice) | {"error": None if np.isnan(error) else error},
        "isotropic_error": None if np.isnan(model.isotropic_error) else model.isotropic_error,
        "initial_metric": model.initial_metric if named else None,
        "max_neighbors": model.data.limit,
        "radius": model.data.radius,
        "cutoff": model.data.cutoff,
        "covariance_cap": model.rules.covariance_cap,
        "field": model.field is not None,
        "steps": steps,
    }
    return header, {prefix + name: array for name, array in arrays.items()}


def unpack(
    header: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str, settings: Settings
) -> Model:
    """Build a model from what :func:`pack` gave, checking that all of it fits together."""
    take = taker(arrays, prefix)
    n, r = take("rows", ndim=2).shape
    outputs = take("labels", ndim=2).shape[1]
    transform = take("transform", ndim=2)
    features = len(transform)
    units = Units(
        take("center", (features,)),
        take("transform", (features, r)),
        take("label_mean", (outputs,)),
        take("label_scale", (outputs,)),
    )
    data = LocalData(
        take("rows", (n, r)),
        take("labels", (n, outputs)),
        take("share", (n,)),
        kernel=as_kernel(settings.kernel),
        max_neighbors=header["max_neighbors"],
        radius=header["radius"],
        threads=settings.threads,
        cutoff=float(header["cutoff"]),
    )
    schedule, _ = settings.schedule_for(r)
    rules = Rules(schedule, settings.momentum, settings.initial_scale, header["covariance_cap"])
    error = header["choice"].get("error")
    choice = Choice(**{**header["choice"], "error": np.nan if error is None else error})
    named = header["initial_metric"]
    position = take("position", ndim=1).astype(np.intp)
    model = Model(
        settings,
        units,
        data,
        rules,
        choice,
        take("initial_metric") if named is None else str(named),
        take("feature_scale", (features,)),
        position,
        take("part", (len(position),)),
    )
    if header["isotropic_error"] is not None:
        model.isotropic_error = float(header["isotropic_error"])
    require(bool((position >= -1).all() and (position < n).all()), "row numbers out of range")
    require(choice.degree in (0, 1) and 0 <= choice.bends <= r and choice.step >= 0, "an impossible choice")
    if choice.length is not None:
        require(choice.length > 0.0 and choice.size is not None, "kriging without a length or size")
    if header["field"]:
        model.field = GradientField(data, rules, settings.ridges)
        for t in range(int(header["steps"])):
            model.field.gradients.append(take(f"gradients_{t}", (n, outputs, r)))
            model.field.loo_errors.append(take(f"errors_{t}", (n, 1)))
        require(choice.step <= len(model.field.gradients), "fewer steps than chosen")
        shapes = {"residuals": (n, outputs), "noise": (n, outputs), "gradients": (n, outputs, r)}
        model.after = Aftermath(**{name: take(f"after_{name}", shape) for name, shape in shapes.items()})
    if prefix + "scores" in arrays:
        scores = take("scores", ndim=2)
        model.calibration = Calibration(scores, take("score_share", scores.shape))
        require(len(scores) > 0 and scores.shape[1] == outputs, "calibration of another size")
    return model


def taker(arrays: Mapping[str, Array], prefix: str) -> Callable[..., Array]:
    """Return a function that takes arrays by name and checks their shape and content."""

    def take(name: str, shape: tuple[int, ...] | None = None, ndim: int | None = None) -> Array:
        array = arrays.get(prefix + name)
        require(array is not None, f"array {name!r} is missing")
        assert array is not None
        require(shape is None or array.shape == shape, f"array {name!r} has shape {array.shape}")
        require(ndim is None or array.ndim == ndim, f"array {name!r} has {array.ndim} axes")
        require(array.dtype.kind in "fi", f"array {name!r} holds no numbers")
        kind = np.int64 if array.dtype.kind == "i" else np.float64
        array = np.ascontiguousarray(array, dtype=kind)
        require(bool(np.isfinite(array).all()), f"array {name!r} has entries that are not finite")
        return array

    return take


def require(condition: bool, problem: str) -> None:
    """Raise an error about a file unless a condition holds."""
    if not condition:
        raise ValueError(problem)
