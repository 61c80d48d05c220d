"""Fitted models as files: what of a model goes into an archive, and back.

Every entry of the header and every array has a rule, which is checked when a model is saved and before
anything of a file is used: a well-formed but hostile file does not reach the compiled core.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.archive import FORMAT, require
from localegop._data.curves import Curves
from localegop._data.slopes import GivenSlopes
from localegop._data.units import MOST_SPREAD, Units
from localegop._engine.blend import can_blend
from localegop._engine.choice import Choice
from localegop._engine.few_functions import FunctionKriging
from localegop._engine.final_fits import Kriging, Logistic, Polynomial, SlopePolynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField, spread_points
from localegop._engine.gradient_kriging import GradientKriging
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._engine.link import Link
from localegop._engine.local_data import LocalData
from localegop._engine.logistic_process import LogisticProcess
from localegop._engine.mixture import Mixture, Part
from localegop._engine.settings import Settings
from localegop._predict.blending import Blending
from localegop._predict.classes import ClassCalibration
from localegop._predict.decisions import Decisions, LooDiagnostics
from localegop._predict.file_rules import FAR, check_file, check_model
from localegop._predict.later import Later
from localegop._predict.model import Model
from localegop._predict.parameters import decode_parameters
from localegop._predict.rivals import Rival, Rivals
from localegop._predict.uncertainty import Calibration, Diagnostics
from localegop.kernels import as_kernel

Array = NDArray[np.float64]

UNITS = tuple(entry.name for entry in fields(Units) if entry.name != "curves")
CLASSES = ("doubts", "weight_below")  # arrays of ClassCalibration
CURVES = tuple(entry.name for entry in fields(Curves))
SAME_ROWS = 1e-6  # rounding of features on their way to rows, relative to these
FINAL_FITS: dict[str, Any] = {
    one.kind: one
    for one in (
        *(Polynomial, Logistic, SlopePolynomial, Kriging),
        *(GlobalKriging, FunctionKriging, GradientKriging, JaggedKriging, LogisticProcess, Mixture),
    )
}


def pack_model(model: Model, prefix: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of one model; the names of arrays begin with ``prefix``."""
    header, arrays = pack_decisions(model.decisions)
    data, field = model.data, model.field
    arrays |= {"rows": data.rows, "labels": data.labels, "sample_weight": data.sample_weight}
    arrays |= {"position": model.position, "part": model.part}
    if model.robustness is not None:
        arrays["robustness"] = model.robustness
    if data.slopes is not None:
        known = ~np.isnan(data.slopes.values)
        arrays["given_gradients"] = np.where(known, data.slopes.values, 0.0)
        arrays["given_known"] = known.astype(float)
        if data.slopes.directions is not None:
            arrays["given_directions"] = data.slopes.directions
    if model.features is not None:
        arrays["features"] = model.features
    if field is not None and model.loo is not None:
        arrays |= pack_field(field, model.loo)
    calibration = model.calibration or vars(model).get("query_calibration")
    if calibration is not None:
        arrays |= asdict(calibration)
    header |= {
        "max_neighbors": data.limit,
        "radius": data.radius,
        "cutoff": data.cutoff,
        "steps": None if field is None else len(field.gradients),
        "blend_near": None if model.blending is None else model.blending.near,
    }
    return header, {prefix + name: array for name, array in arrays.items()}


def pack_field(field: GradientField, loo: LooDiagnostics) -> dict[str, Array]:
    """Arrays of what was learned at the anchors, which are known by their number."""
    arrays = {f"loo_{entry.name}": getattr(loo, entry.name) for entry in fields(LooDiagnostics)}
    for t, (gradients, errors) in enumerate(zip(field.gradients, field.loo_errors, strict=True)):
        arrays |= {f"gradients_{t}": gradients, f"errors_{t}": errors}
    return arrays


def pack_decisions(decisions: Decisions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and arrays of what a fit has decided."""
    units, choice, metric = decisions.units, decisions.choice, decisions.initial_metric
    arrays: dict[str, Any] = {name: getattr(units, name) for name in UNITS}
    if units.curves is not None:
        arrays |= {f"curve_{name}": getattr(units.curves, name) for name in CURVES}
    arrays["feature_scale"] = decisions.feature_scale
    if not isinstance(metric, str):
        arrays["initial_metric"] = np.asarray(metric, dtype=float)
    if decisions.rivals is not None:
        arrays["initial_transform"] = decisions.rivals.transform
    header = {
        "choice": _pack_choice(choice),
        "rivals": None if decisions.rivals is None else _pack_rivals(decisions.rivals),
        "isotropic_error": _or_none(decisions.isotropic_error),
        "reach": decisions.reach if np.isfinite(decisions.reach) else None,
        "initial_metric": metric if isinstance(metric, str) else None,
        "covariance_cap": decisions.update.covariance_cap,
    }
    if decisions.classes is not None:
        header["link"] = asdict(decisions.classes.link)
        arrays |= {f"class_{name}": getattr(decisions.classes, name) for name in CLASSES}
    return header, arrays


def _pack_choice(choice: Choice) -> dict[str, Any]:
    return {
        "step": choice.step,
        "size": choice.size,
        "error": _or_none(choice.error),
        "gradient_size": choice.gradient_size,
        "final": _pack_final(choice.final),
    }


def _pack_final(final: Any) -> dict[str, Any]:
    packed = {"kind": final.kind, **asdict(final)}
    if isinstance(final, Mixture):
        packed["parts"] = [
            {"share": part.share, "process": _pack_final(part.process), "axes": part.axes}
            for part in final.parts
        ]
    return packed


def _pack_rivals(rivals: Rivals) -> dict[str, Any]:
    every = [{"origin": rival.origin, "choice": _pack_choice(rival.choice)} for rival in rivals.every]
    return {"every": every, "picks": list(rivals.picks)}


def check_saved(
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    decisions: list[Decisions],
    constraints: Mapping[str, list[Any]],
) -> None:
    """Raise a ValueError if what is to be saved could not be loaded."""
    read = json.loads(json.dumps({"format": FORMAT, **header}))
    with storable():
        check_file(read, arrays)
        decode_parameters(read["parameters"], constraints)
        for k, (about, each) in enumerate(zip(read["models"], decisions, strict=True)):
            check_model(about, arrays, f"{k}_", each.settings, read["n_samples"])


@contextmanager
def storable() -> Iterator[None]:
    """Explain errors of checks of what is to be saved."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"this model is beyond what a model file can hold ({error}): fit it in other units, or save it "
            "with pickle or joblib"
        ) from error


def unpack_model(
    header: Mapping[str, Any], arrays: Mapping[str, Array], prefix: str, settings: Settings, n_given: int
) -> Model:
    """Build a model from what :func:`pack_model` gave, after :func:`check_model`."""
    check_model(header, arrays, prefix, settings, n_given)
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    decisions = unpack_decisions(header, own, settings)
    data = LocalData(
        own["rows"],
        own["labels"],
        own["sample_weight"],
        kernel=as_kernel(settings.kernel),
        max_neighbors=header["max_neighbors"],
        radius=header["radius"],
        threads=settings.threads,
        cutoff=float(header["cutoff"]),
        slopes=_unpack_slopes(own),
    )
    position, robustness = own["position"].astype(np.intp), own.get("robustness")
    model = Model(
        decisions, data, position, own["part"], robustness=robustness, features=own.get("features")
    )
    check_features(model.features, decisions, data.rows)
    loo, calibration = None, unpack_calibration(own) if "scores" in own else None
    if header["steps"] is not None:
        near = data.seeing(settings.nearest)  # with which gradients were learned
        anchors = near.subset(spread_points(data.n, len(own["loo_noise"])))
        field, loo = unpack_field(own, header["steps"], anchors, data.n, near.largest_size, decisions)
        model = replace(model, field=field)
    if loo is not None or calibration is not None:
        model = replace(model, diagnostics=Later.known(Diagnostics(loo, calibration)))
    if header["blend_near"] is not None:
        able = model.field is not None and can_blend(data, decisions.choice)
        require(able, "model.blend_near is given for a model that cannot blend")
        model = replace(model, blending=Blending(float(header["blend_near"])))
    return model


def _unpack_slopes(arrays: Mapping[str, Array]) -> GivenSlopes | None:
    """Build the gradients that were given with the rows, if any."""
    if "given_gradients" not in arrays:
        return None
    values = np.where(arrays["given_known"] > 0.5, arrays["given_gradients"], np.nan)
    return GivenSlopes(values, arrays["transform"], arrays.get("given_directions"))


def check_features(features: Array | None, decisions: Decisions, rows: Array) -> None:
    """Raise a ValueError unless features as given are those that the rows (n, r) were made of."""
    if features is None or decisions.rivals is None:
        return
    there = decisions.units.features(features)
    tolerance = SAME_ROWS * (1.0 + np.abs(rows).max(axis=0))
    alike = bool((np.abs(there - rows) <= tolerance).all())
    require(alike, "array 'features' does not fit to array 'rows'")
    initial = replace(decisions.units, transform=decisions.rivals.transform).features(features)
    require(bool((np.abs(initial) <= FAR).all()), "array 'features' is too large in its initial units")
    spread = np.ptp(initial, axis=0)
    seen = (spread == 0.0) | (spread >= 1.0 / MOST_SPREAD)  # less would not be seen beside rounding
    require(bool(seen.all()), "array 'features' varies too little in its initial units")


def unpack_field(
    arrays: Mapping[str, Array],
    steps: int,
    anchors: LocalData,
    n: int,
    largest_size: float,
    decisions: Decisions,
) -> tuple[GradientField, LooDiagnostics]:
    """Build what was learned at the anchors, from what :func:`pack_field` gave."""
    gradients = tuple(arrays[f"gradients_{t}"] for t in range(steps))
    errors = tuple(arrays[f"errors_{t}"] for t in range(steps))
    loo = LooDiagnostics(*(arrays[f"loo_{entry.name}"] for entry in fields(LooDiagnostics)))
    largest = decisions.choice.largest_size(largest_size)
    return GradientField(anchors, n, largest, decisions.update, gradients, errors), loo


def unpack_calibration(arrays: Mapping[str, Array]) -> Calibration:
    """Build what intervals are calibrated with."""
    return Calibration(*(arrays[entry.name] for entry in fields(Calibration)))


def unpack_decisions(
    header: Mapping[str, Any], arrays: Mapping[str, Array], settings: Settings
) -> Decisions:
    """Build what a fit has decided, from what was checked."""
    curves = None
    if "curve_spread" in arrays:
        curves = Curves(*(arrays[f"curve_{name}"] for name in CURVES))
    units = Units(**{name: arrays[name] for name in UNITS}, curves=curves)
    choice = _unpack_choice(header["choice"])
    update = settings.update(units, choice.gradient_size)
    named = header["initial_metric"]
    return Decisions(
        settings,
        units,
        replace(update, covariance_cap=header["covariance_cap"]),
        choice,
        arrays["initial_metric"] if named is None else named,
        arrays["feature_scale"],
        _or_nan(header["isotropic_error"]),
        np.inf if header["reach"] is None else float(header["reach"]),  # may be a very large whole number
        _unpack_rivals(header["rivals"], arrays),
        _unpack_classes(header.get("link"), arrays),
    )


def _unpack_rivals(header: Mapping[str, Any] | None, arrays: Mapping[str, Array]) -> Rivals | None:
    if header is None:
        return None
    every = tuple(Rival(_unpack_choice(one["choice"]), one["origin"]) for one in header["every"])
    return Rivals(arrays["initial_transform"], every, tuple(header["picks"]))


def _unpack_classes(link: Mapping[str, Any] | None, arrays: Mapping[str, Array]) -> ClassCalibration | None:
    if link is None:
        return None
    numbers = {name: float(number) for name, number in link.items()}
    return ClassCalibration(Link(**numbers), *(arrays[f"class_{name}"] for name in CLASSES))


def _unpack_choice(header: Mapping[str, Any]) -> Choice:
    error, gradient_size = _or_nan(header["error"]), header.get("gradient_size")
    return Choice(header["step"], header["size"], _unpack_final(header["final"]), error, gradient_size)


def _unpack_final(header: Mapping[str, Any]) -> Any:
    constants = dict(header)
    if "parts" in constants:
        constants["parts"] = tuple(_unpack_part(part) for part in constants["parts"])
    if "inverse_lengths" in constants:
        constants["inverse_lengths"] = tuple(constants["inverse_lengths"])
    return FINAL_FITS[constants.pop("kind")](**constants)


def _unpack_part(header: Mapping[str, Any]) -> Part:
    process = _unpack_final(header["process"])
    if header["axes"] is None:
        return Part(header["share"], process)
    return Part.in_axes(header["share"], process, np.array(header["axes"]))


def _or_nan(number: float | None) -> float:
    return np.nan if number is None else number


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else number
