"""Fitted models as files: what of a model goes into an archive, and back.

Every entry of the header and every array has a rule, which is checked when a model is saved and before
anything of a file is used: a well-formed but hostile file does not reach the compiled core.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.archive import FORMAT, require, shown
from localegop._data.schema import (
    LARGEST,
    Entries,
    Fields,
    Flag,
    Number,
    Optional,
    Rule,
    Sequence,
    Some,
    Text,
    check_names,
    side,
)
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

# Bounds that keep the squares of all that follows from a file finite, and the time of a query in seconds.
FAR = 1e75  # coordinates, labels and slopes in the units of the recursion; queries are held within it too
SMALL, LARGE = 1e-100, 1e100  # of what distances and ridges are multiplied with
MOST_STEPS, MOST_SUBSAMPLES, MOST_LOCAL_FITS = 10_000, 100_000, 10_000_000
MOST_ROWS = 2**48

COUNT = Number(1, MOST_ROWS, whole=True)
POSITIVE, SHARE = Number(SMALL, LARGE), Optional(Number(0.0))
FILE = Fields(
    {
        "format": COUNT,
        "localegop": Text(),
        "parameters": Some(),
        "n_samples": COUNT,
        "n_features": COUNT,
        "flat_output": Flag(),
        "output_names": Sequence(Text()),
        "feature_names": Optional(Sequence(Text())),
        "models": Sequence(Some()),
    }
)
BOUNDED_PARAMETERS: dict[str, Rule] = {
    "n_iter": Optional(Number(0, MOST_STEPS, whole=True)),
    "n_subsamples": Number(1, MOST_SUBSAMPLES, whole=True),
    "momentum": Number(SMALL, 1.0),
    "initial_scale": POSITIVE,
}
FINAL_RULES: dict[str, dict[str, Rule]] = {
    "polynomial": {
        "kind": Text(),
        "degree": Number(0, 2, whole=True),
        "n_quadratic_directions": Number(0, MOST_ROWS, whole=True),
        "ridge": Number(0.0, LARGE),
    },
    "kriging": {
        "kind": Text(),
        "length": Number(1e-6, 1e6),
        "ridge": Number(1e-15, LARGE),
        "trend": Flag(),
        "rough": Flag(),
    },
}
CHOICE = Fields(
    {
        "step": Number(0, MOST_STEPS, whole=True),
        "size": Optional(Number(1e-3, MOST_ROWS)),
        "error": SHARE,
        "final": Some(),
    }
)
MODEL: dict[str, Rule] = {
    "choice": CHOICE,
    "isotropic_error": SHARE,
    "initial_metric": Optional(Text(("identity", "variance"))),
    "covariance_cap": Optional(POSITIVE),
    "max_neighbors": Optional(Number(2, MOST_ROWS, whole=True)),
    "radius": Optional(POSITIVE),
    "cutoff": Number(1e-300, 0.01),
}


def check_file(header: Mapping[str, Any], arrays: Collection[str]) -> None:
    """Raise a ValueError unless all is well with what concerns all models of a file.

    ``arrays`` are the names of its arrays, each of which must belong to one of its models.
    """
    FILE.check("header", header)
    names, outputs = header["feature_names"], len(header["output_names"])
    fit = names is None or len(names) == header["n_features"]
    require(fit, "header.feature_names has another number than header.n_features")
    require(not header["flat_output"] or outputs == 1, "header.flat_output is true for several outputs")
    models = len(header["models"])
    require(models in (1, outputs), f"header.models are {models}, neither one nor as many as outputs")
    known = tuple(f"{k}_" for k in range(models))
    check_names("array", arrays, [name for name in arrays if name.startswith(known)])


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
        elif isinstance(value, list):
            require(
                name == "initial_metric", f"parameter {name!r} is {shown(value)}, but must not be a list"
            )
            decoded[name] = _decode_metric(value)
    return decoded


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


def check_model(
    header: Any, arrays: Mapping[str, Array], prefix: str, settings: Settings, n_given: int
) -> None:
    """Raise a ValueError unless the header and the arrays of one model are as they should be.

    Parameters
    ----------
    header : object
        What the file says.
    arrays : mapping of str to ndarray
        All arrays of the file.
    prefix : str
        Beginning of the names of this model's arrays.
    settings : Settings
    n_given : int
        Rows that the model was fitted to.
    """
    steps = Optional(Number(0, MOST_STEPS, whole=True))
    Fields(MODEL | {"steps": steps}).check("model", header)
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    rules = check_decisions(header, own, settings)
    found, n = header["steps"], side(own, "rows", 0)
    field = settings.strategy == "field"
    require((found is None) != field, f"model.steps is {found} with strategy={settings.strategy!r}")
    require(not field or header["choice"]["step"] <= found, "model.choice.step is more than model.steps")
    outputs, r = rules["label_scale"].shape[0], rules["transform"].shape[1]
    rules |= row_rules(n, outputs, r, found) | {
        "position": Entries((n_given,), -1, n - 1, whole=True),
        "part": Entries((n_given,), 0.0, 1.0 + 1e-9),
    }
    if field or "scores" in own:
        m = side(own, "scores", 0)
        rules["scores"] = Entries((m, outputs), 0.0, rising=True)
        rules["weight_below"] = Entries((m, outputs), 1.0 / LARGEST, rising=True)
    check_arrays(own, rules)
    check_products(own)


def check_decisions(
    header: Mapping[str, Any], arrays: Mapping[str, Array], settings: Settings
) -> dict[str, Entries]:
    """Check what a header says of a fit's decisions; return the rules of the arrays that go with it."""
    choice, named = header["choice"], header["initial_metric"]
    features, r, outputs = (
        side(arrays, *of) for of in (("center", 0), ("transform", 1), ("label_scale", 0))
    )
    require(r <= features, f"array 'transform' has {r} columns, but there are {features} features")
    _check_final(choice, r, settings)
    _check_lengths(header, settings)
    _check_work(choice["step"], settings)
    rules = {
        "center": Entries((features,)),
        "transform": Entries((features, r), -LARGE, LARGE),
        "label_mean": Entries((outputs,)),
        "label_scale": Entries((outputs,), 1.0 / LARGEST),
        "feature_scale": Entries((features,), 0.0),
    }
    if named is None:
        vector = "initial_metric" in arrays and arrays["initial_metric"].ndim == 1
        rules["initial_metric"] = Entries((features,) if vector else (features, features), -1e200, 1e200)
    given = settings.initial_metric
    if not isinstance(given, str):
        shape = np.shape(given)
        fits = shape in ((features,), (features, features))
        require(fits, f"parameter 'initial_metric' has shape {shape}, but there are {features} features")
    return rules


def _check_final(choice: Mapping[str, Any], dimension: int, settings: Settings) -> None:
    """Check the final fit that a header names."""
    final = choice["final"]
    kind, by_field = final.get("kind"), settings.strategy == "field"
    Text(tuple(FINAL_RULES) if by_field else ("polynomial",)).check("model.choice.final.kind", kind)
    Fields(FINAL_RULES[kind]).check("model.choice.final", final)
    if kind == "kriging":
        require(choice["size"] is not None, "model.choice.size is missing, which kriging needs")
        return
    directions = final["n_quadratic_directions"]
    fit = (directions > 0) == (final["degree"] == 2) and directions <= dimension
    require(
        fit,
        f"model.choice.final has n_quadratic_directions={directions} with degree={final['degree']} in "
        f"{dimension} dimensions",
    )


def _check_lengths(header: Mapping[str, Any], settings: Settings) -> None:
    """Check that a header has the limits which the parameters ask for, and no others."""
    for name, given in (
        ("covariance_cap", settings.covariance_cap),
        ("radius", settings.exclusion_radius),
    ):
        agree = (header[name] is None) == (given is None)
        require(agree, f"model.{name} is {header[name]}, which does not fit to the parameters")
    limit, most = header["max_neighbors"], settings.max_neighbors
    agree = limit is None or (most is not None and limit <= most)
    require(agree, f"model.max_neighbors is {limit}, which does not fit to parameter max_neighbors={most}")


def _check_work(step: int, settings: Settings) -> None:
    """Check that a number of steps can be taken: in bounded time, and within what the schedule says."""
    require(
        step <= settings.n_steps, f"model.choice.step is {step}, but there are {settings.n_steps} steps"
    )
    if settings.strategy == "query":
        work = max(step, 1) * settings.n_subsamples
        require(
            work <= MOST_LOCAL_FITS, f"a query would take {work} local fits, more than {MOST_LOCAL_FITS}"
        )
    if settings.schedule == "effective_size":
        return
    widths = settings.schedule.effective_size if settings.by_size else settings.schedule
    for t in range(step + 1):
        POSITIVE.check(f"what the schedule gives at step {t}", float(widths(t)))


def row_rules(m: int, outputs: int, dimension: int, steps: int | None) -> dict[str, Entries]:
    """Rules of what there is for each of m rows; ``steps`` is None with the query strategy."""
    values, slopes = (m, outputs), (m, outputs, dimension)
    rules = {
        "rows": Entries((m, dimension), -FAR, FAR),
        "labels": Entries(values, -FAR, FAR),
        "sample_weight": Entries((m,), SMALL, LARGE),
    }
    if steps is None:
        return rules
    rules |= {f"gradients_{t}": Entries(slopes, -FAR, FAR) for t in range(steps)}
    rules |= {f"errors_{t}": Entries((m, 1), 0.0) for t in range(steps)}
    return rules | {
        "loo_residuals": Entries(values, -FAR, FAR),
        "loo_noise": Entries(values, 0.0),
        "loo_gradients": Entries(slopes, -FAR, FAR),
    }


def check_arrays(arrays: Mapping[str, Array], rules: Mapping[str, Entries]) -> None:
    """Raise a ValueError unless there are just the arrays that have rules, and all keep them."""
    check_names("array", arrays, rules)
    for name, rule in rules.items():
        rule.check(name, arrays[name])


def check_products(arrays: Mapping[str, Array]) -> None:
    """Raise a ValueError if numbers that are fine alone give slopes whose squares are not finite."""
    slopes = arrays.get("loo_gradients")
    if slopes is not None:
        per_unit = np.abs(arrays["transform"] * arrays["feature_scale"][:, None]).max()
        largest = float(per_unit) * float(np.abs(slopes).max())
        require(
            largest <= LARGEST / len(slopes), "array 'loo_gradients' has slopes too large to be squared"
        )


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
    )
    model = Model(decisions, data, own["position"].astype(np.intp), own["part"])
    if header["steps"] is not None:
        model = _with_field(model, header["steps"], own)
    if "scores" in own:
        model = replace(model, calibration=Calibration(own["scores"], own["weight_below"]))
    return model


def _with_field(model: Model, steps: int, arrays: Mapping[str, Array]) -> Model:
    """Add what the field strategy learned."""
    gradients = tuple(arrays[f"gradients_{t}"] for t in range(steps))
    errors = tuple(arrays[f"errors_{t}"] for t in range(steps))
    loo = LooDiagnostics(*(arrays[f"loo_{entry.name}"] for entry in fields(LooDiagnostics)))
    field = GradientField(model.data, model.decisions.update, gradients, errors)
    return replace(model, field=field, loo=loo)


def unpack_decisions(
    header: Mapping[str, Any], arrays: Mapping[str, Array], settings: Settings
) -> Decisions:
    """Build what a fit has decided, from what was checked."""
    units = Units(*(arrays[entry.name] for entry in fields(Units)))
    named = header["initial_metric"]
    return Decisions(
        settings,
        units,
        replace(settings.update(units), covariance_cap=header["covariance_cap"]),
        _unpack_choice(header["choice"]),
        arrays["initial_metric"] if named is None else named,
        arrays["feature_scale"],
        _or_nan(header["isotropic_error"]),
    )


def _unpack_choice(header: Mapping[str, Any]) -> Choice:
    constants = dict(header["final"])
    final = FINAL_FITS[constants.pop("kind")](**constants)
    return Choice(header["step"], header["size"], final, _or_nan(header["error"]))


def _or_nan(number: float | None) -> float:
    return np.nan if number is None else number


def _or_none(number: float) -> float | None:
    return None if np.isnan(number) else number
