"""Fitted models as files: what of a model goes into an archive, and back.

What a well-formed but hostile file says is checked before it reaches the compiled core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.archive import require, taker
from localegop._data.units import Units
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.settings import Settings
from localegop._predict.decisions import Decisions, LooDiagnostics
from localegop._predict.model import Model
from localegop._predict.uncertainty import Calibration
from localegop.kernels import KERNELS, Kernel, as_kernel
from localegop.schedules import EffectiveSampleSize, Geometric, PowerLaw

Array = NDArray[np.float64]

SCHEDULES = {kind.__name__: kind for kind in (PowerLaw, Geometric, EffectiveSampleSize)}
OF_THE_MACHINE = ("n_jobs", "verbose", "client")
FINAL_FITS: dict[str, Any] = {one.kind: one for one in (Polynomial, Kriging)}


def encode_parameters(parameters: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Turn constructor parameters into JSON; user-defined callables are refused.

    How a machine is used is not part of a model: threads and progress bars are left out.
    """
    kept = {name: value for name, value in parameters.items() if name not in OF_THE_MACHINE}
    encoded = dict(kept, random_state=seed)
    for name, value in encoded.items():
        if type(value).__name__ in SCHEDULES:
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


def decode_parameters(encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Turn JSON back into constructor parameters."""
    decoded = {name: value for name, value in encoded.items() if name not in OF_THE_MACHINE}
    for name, value in decoded.items():
        if isinstance(value, dict):
            arguments = dict(value)
            decoded[name] = SCHEDULES[arguments.pop("schedule")](**arguments)
        elif isinstance(value, list):
            decoded[name] = np.array(value, dtype=float)
    return decoded


def pack_model(model: Model, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of one model; the names of arrays begin with ``prefix``."""
    header, arrays = pack_decisions(model.decisions)
    data, field = model.data, model.field
    arrays |= {"rows": data.rows, "labels": data.labels, "sample_weight": data.sample_weight}
    arrays |= {"position": model.position, "part": model.part}
    if field is not None:
        for t, (gradients, errors) in enumerate(zip(field.gradients, field.loo_errors, strict=True)):
            arrays |= {f"gradients_{t}": gradients, f"errors_{t}": errors}
    if model.loo is not None:
        arrays |= {f"loo_{entry.name}": getattr(model.loo, entry.name) for entry in fields(LooDiagnostics)}
    calibration = model.calibration or vars(model).get("query_calibration")
    if calibration is not None:
        arrays |= {"scores": calibration.scores, "weight_below": calibration.weight_below}
    header |= {
        "max_neighbors": data.limit,
        "radius": data.radius,
        "cutoff": data.cutoff,
        "steps": None if field is None else len(field.gradients),
    }
    return header, {prefix + name: array for name, array in arrays.items()}


def pack_decisions(decisions: Decisions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of what a fit has decided."""
    units, choice, metric = decisions.units, decisions.choice, decisions.initial_metric
    arrays: dict[str, Any] = {entry.name: getattr(units, entry.name) for entry in fields(Units)}
    arrays["feature_scale"] = decisions.feature_scale
    if not isinstance(metric, str):
        arrays["initial_metric"] = np.asarray(metric, dtype=float)
    header = {
        "choice": {
            "step": choice.step,
            "size": choice.size,
            "error": _or_none(choice.error),
            "final": {"kind": choice.final.kind, **asdict(choice.final)},
        },
        "isotropic_error": _or_none(decisions.isotropic_error),
        "initial_metric": metric if isinstance(metric, str) else None,
        "covariance_cap": decisions.update.covariance_cap,
    }
    return header, arrays


def unpack_model(
    header: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str, settings: Settings
) -> Model:
    """Build a model from what :func:`pack_model` gave, checking that all of it fits together."""
    take = taker(arrays, prefix)
    decisions = unpack_decisions(header, take, settings)
    (n, r), outputs = take("rows", ndim=2).shape, len(decisions.units.label_scale)
    require(r == decisions.units.transform.shape[1], "rows of another width than the units")
    data = LocalData(
        take("rows", (n, r)),
        take("labels", (n, outputs)),
        take("sample_weight", (n,)),
        kernel=as_kernel(settings.kernel),
        max_neighbors=header["max_neighbors"],
        radius=header["radius"],
        threads=settings.threads,
        cutoff=float(header["cutoff"]),
    )
    position = take("position", ndim=1).astype(np.intp)
    require(bool((position >= -1).all() and (position < n).all()), "row numbers out of range")
    model = Model(decisions, data, position, take("part", (len(position),)))
    if header["steps"] is not None:
        model = _with_field(model, int(header["steps"]), take)
    if prefix + "scores" in arrays:
        scores = take("scores", ndim=2)
        require(len(scores) > 0 and scores.shape[1] == outputs, "calibration of another size")
        model = replace(model, calibration=Calibration(scores, take("weight_below", scores.shape)))
    return model


def _with_field(model: Model, steps: int, take: Callable[..., Array]) -> Model:
    """Add what the field strategy learned."""
    data, decisions = model.data, model.decisions
    shape = (data.n, data.outputs, data.dimension)
    gradients = tuple(take(f"gradients_{t}", shape) for t in range(steps))
    errors = tuple(take(f"errors_{t}", (data.n, 1)) for t in range(steps))
    require(decisions.choice.step <= steps, "fewer steps than chosen")
    loo = LooDiagnostics(
        take("loo_residuals", shape[:2]), take("loo_noise", shape[:2]), take("loo_gradients", shape)
    )
    return replace(model, field=GradientField(data, decisions.update, gradients, errors), loo=loo)


def unpack_decisions(
    header: Mapping[str, Any], take: Callable[..., Array], settings: Settings
) -> Decisions:
    """Build what a fit has decided, checking that all of it fits together."""
    features, r = take("transform", ndim=2).shape
    outputs = len(take("label_scale", ndim=1))
    units = Units(
        take("center", (features,)),
        take("transform", (features, r)),
        take("label_mean", (outputs,)),
        take("label_scale", (outputs,)),
    )
    named, error = header["initial_metric"], header["isotropic_error"]
    return Decisions(
        settings,
        units,
        replace(settings.update(units), covariance_cap=header["covariance_cap"]),
        _unpack_choice(header["choice"], r),
        take("initial_metric") if named is None else str(named),
        take("feature_scale", (features,)),
        np.nan if error is None else float(error),
    )


def _unpack_choice(header: Mapping[str, Any], dimension: int) -> Choice:
    constants = dict(header["final"])
    final = FINAL_FITS[constants.pop("kind")](**constants)
    if isinstance(final, Polynomial):
        quadratic = 0 <= final.n_quadratic_directions <= dimension
        require(final.degree in (0, 1, 2) and quadratic, "an impossible polynomial")
    else:
        require(final.length > 0.0 and header["size"] is not None, "kriging without a length or size")
    require(header["step"] >= 0, "an impossible choice")
    error = header["error"]
    return Choice(header["step"], header["size"], final, np.nan if error is None else error)


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else number
