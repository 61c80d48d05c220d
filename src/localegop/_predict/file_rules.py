"""Rules of what a model file may say: every entry of its header, and every array."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._data.archive import require, shown
from localegop._data.curves import MOST_SKEWED
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
from localegop._data.table_columns import check_columns
from localegop._engine.few_functions import MOST_ROWS as MOST_FUNCTION_ROWS
from localegop._engine.few_functions import MOST_WORK
from localegop._engine.global_kriging import MOST_ROWS as MOST_GLOBAL_ROWS
from localegop._engine.gradient_kriging import MOST_EQUATIONS
from localegop._engine.logistic_process import MOST_ROWS as MOST_LOGISTIC_ROWS
from localegop._engine.settings import Settings
from localegop._predict.decisions import FORGOTTEN
from localegop._predict.gaps import MOST_SURPRISING
from localegop._predict.rivals import ORIGINS, PAIRS

Array = NDArray[np.float64]

# Bounds that keep the squares of all that follows from a file finite, and the time of a query in seconds.
FAR = 1e75  # coordinates, labels and slopes in the units of the recursion; queries are held within it too
SMALL, LARGE = 1e-100, 1e100  # of what distances and ridges are multiplied with
MOST_STEPS, MOST_SUBSAMPLES, MOST_LOCAL_FITS = 10_000, 100_000, 10_000_000
MOST_ROWS = 2**48
LOGARITHM = 1e6  # coefficients of the law of gaps, and the logarithm of the largest error that it tells

COUNT = Number(1, MOST_ROWS, whole=True)
POSITIVE, SHARE = Number(SMALL, LARGE), Optional(Number(0.0))


@dataclass(frozen=True)
class Scalar:
    """A text, a number or a truth value."""

    def check(self, name: str, value: Any) -> None:
        """See :class:`localegop._data.schema.Rule`."""
        known = type(value) in (str, int, float, bool)
        require(known, f"{name} is {shown(value)}, but must be a text, a number, true or false")


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
        "columns": Optional(Some()),
        "classes": Optional(
            Fields({"kind": Text(tuple("biufUO")), "labels": Sequence(Scalar()), "target": Text()})
        ),
    }
)
POLYNOMIAL: dict[str, Rule] = {
    "kind": Text(),
    "degree": Number(0, 2, whole=True),
    "n_quadratic_directions": Number(0, MOST_ROWS, whole=True),
    "ridge": Number(0.0, LARGE),
}
FINAL_RULES: dict[str, dict[str, Rule]] = {
    "polynomial": POLYNOMIAL,
    "logistic": POLYNOMIAL,
    "slopes": POLYNOMIAL | {"slope_weight": Number(1e-6, 1e6)},
    "kriging": {
        "kind": Text(),
        "length": Number(1e-6, 1e6),
        "ridge": Number(1e-15, LARGE),
        "trend": Flag(),
        "rough": Flag(),
    },
    "global": {
        "kind": Text(),
        "length": Number(1e-6, 1e6),
        "ridge": Number(1e-15, LARGE),
        "rough": Flag(),
    },
}
FINAL_RULES["gradients"] = FINAL_RULES["global"] | {
    "n_slopes": Number(1, MOST_GLOBAL_ROWS, whole=True),
    "slope_ridge": Number(1e-15, LARGE),
    "n_places": Number(0, MOST_GLOBAL_ROWS, whole=True),
}
FINAL_RULES["jagged"] = FINAL_RULES["global"] | {
    "jagged": Number(0.0, LARGE),
    "inverse_lengths": Sequence(Number(0.0, LARGE)),
}
FINAL_RULES["functions"] = FINAL_RULES["global"] | {"n_places": Number(1, MOST_FUNCTION_ROWS, whole=True)}
FINAL_RULES["logistic process"] = FINAL_RULES["global"]
FINAL_RULES["mixture"] = FINAL_RULES["global"] | {"parts": Sequence(Some())}
MOST_PARTS, MOST_STRETCHED = 8, 1e12  # processes of a mean, and entries of their axes
AXES = Sequence(Sequence(Number(-MOST_STRETCHED, MOST_STRETCHED)))
PART = Fields({"share": Number(0.0, 1.0), "process": Some(), "axes": Optional(AXES)})
PARTS = ("global", "jagged", "logistic process")
GLOBAL = ("global", "functions", "gradients", "jagged", "logistic process", "mixture")
INFORMED = ("slopes", "gradients")  # kinds that know given gradients
CHOICE = Fields(
    {
        "step": Number(0, MOST_STEPS, whole=True),
        "size": Optional(Number(1e-3, MOST_ROWS)),
        "error": SHARE,
        "final": Some(),
        "gradient_size": Optional(Number(1e-3, MOST_ROWS)),
    }
)
MOST_RIVALS = 100
RIVALS = Fields(
    {
        "every": Sequence(Fields({"origin": Text(ORIGINS), "choice": CHOICE})),
        "picks": Sequence(Number(0, MOST_RIVALS, whole=True)),
    }
)
LINK = Fields({"slope": Number(0.0, 1e6), "power": Number(0.0, 1e6), "floor": Number(1e-6, 1e6)})
MODEL: dict[str, Rule] = {
    "choice": CHOICE,
    "rivals": Optional(RIVALS),
    "isotropic_error": SHARE,
    "reach": Optional(Number(1.0 / LARGEST)),
    "initial_metric": Optional(Text(("identity", "variance", "power"))),
    "covariance_cap": Optional(POSITIVE),
    "max_neighbors": Optional(Number(2, MOST_ROWS, whole=True)),
    "radius": Optional(POSITIVE),
    "cutoff": Number(1e-300, 0.01),
}


def check_file(header: Mapping[str, Any], arrays: Collection[str]) -> None:
    """Raise a ValueError unless all is well with what concerns all models of a file.

    ``arrays`` are the names of its arrays, each of which must belong to one of its models.
    """
    FILE.check(
        "header", {"columns": None, "classes": None, **header}
    )  # earlier versions say nothing of these
    if header.get("columns") is not None:
        check_columns(header["columns"], header["feature_names"])
    names, outputs = header["feature_names"], len(header["output_names"])
    fit = names is None or len(names) == header["n_features"]
    require(fit, "header.feature_names has another number than header.n_features")
    require(not header["flat_output"] or outputs == 1, "header.flat_output is true for several outputs")
    models = len(header["models"])
    require(models in (1, outputs), f"header.models are {models}, neither one nor as many as outputs")
    known = tuple(f"{k}_" for k in range(models))
    check_names("array", arrays, [name for name in arrays if name.startswith(known)])


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
    rules: dict[str, Rule] = {"steps": steps, "blend_near": Optional(POSITIVE)}
    Fields(MODEL | rules | link_rule(settings)).check("model", header)
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    entries = check_decisions(header, own, settings)
    found, n = header["steps"], side(own, "rows", 0)
    field = settings.strategy == "field"
    require((found is None) != field, f"model.steps is {found} with strategy={settings.strategy!r}")
    require(not field or header["choice"]["step"] <= found, "model.choice.step is more than model.steps")
    outputs, r = entries["label_scale"].shape[0], entries["transform"].shape[1]
    entries |= row_rules(n, outputs, r) | {
        "position": Entries((n_given,), -1, n - 1, whole=True),
        "part": Entries((n_given,), 0.0, 1.0 + 1e-9),
    }
    entries |= robustness_rules(n, settings)
    check_functions(header, n)
    entries |= slope_rules(own, header, n, outputs, entries["center"].shape[0])
    if "features" in own:
        entries["features"] = Entries((n, entries["center"].shape[0]))
    if field:
        entries |= field_rules(own, n, outputs, r, found)
        check_anchors(header["choice"], n, side(own, "loo_noise", 0))
    elif "scores" in own:
        entries |= score_rules(side(own, "scores", 0), _count_blocks(own), outputs)
    check_arrays(own, entries)
    check_products(own)


def link_rule(settings: Settings) -> dict[str, Rule]:
    """Rule of the link, which classifiers have."""
    return {"link": LINK} if settings.classifies else {}


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
    if header["rivals"] is not None:
        _check_rivals(header["rivals"], header["choice"], features, settings)
        rules["initial_transform"] = Entries((features, features), -LARGE, LARGE)
    if "curve_spread" in arrays:
        rules |= {
            "curve_middle": Entries((features,)),
            "curve_spread": Entries((features,), 0.0, LARGE),
            "curve_skew": Entries((features,), -MOST_SKEWED, MOST_SKEWED),
            "curve_drawn_in": Entries((features,), 0.0, 1.0),
        }
        spread = arrays["curve_spread"]
        require(
            not bool(((spread > 0.0) & (spread < SMALL)).any()),
            f"array 'curve_spread' has entries below {SMALL:g} that are not 0",
        )
    if settings.classifies:
        m = side(arrays, "class_doubts", 0)
        rules["class_doubts"] = Entries((m,), 0.0, 1.0, rising=True)
        rules["class_weight_below"] = Entries((m,), SMALL, rising=True)
    if named is None:
        vector = "initial_metric" in arrays and arrays["initial_metric"].ndim == 1
        rules["initial_metric"] = Entries((features,) if vector else (features, features), -1e200, 1e200)
    given = settings.initial_metric
    if not isinstance(given, str):
        shape = np.shape(given)
        fits = shape in ((features,), (features, features))
        require(fits, f"parameter 'initial_metric' has shape {shape}, but there are {features} features")
    return rules


def _check_rivals(
    rivals: Mapping[str, Any], choice: Mapping[str, Any], dimension: int, settings: Settings
) -> None:
    """Check the choices that a header says came close."""
    every, picks = [one["choice"] for one in rivals["every"]], rivals["picks"]
    count = f"model.rivals.picks are {len(picks)}, but must be {2 * PAIRS}"
    require(len(picks) == 2 * PAIRS, count)
    require(max(picks) < len(every) <= MOST_RIVALS, "model.rivals.picks has a number that no rival has")
    same = all(every[0][name] == choice[name] for name in ("step", "size", "final"))
    require(same, "model.rivals.every does not begin with model.choice")
    for one in every[1:]:  # the first is the choice, whose axes may be fewer
        _check_final(one, dimension, settings)
        _check_work(one["step"], settings)


def _check_final(choice: Mapping[str, Any], dimension: int, settings: Settings) -> None:
    """Check the final fit that a header names."""
    final = choice["final"]
    kind, by_field = final.get("kind"), settings.strategy == "field"
    Text(tuple(FINAL_RULES) if by_field else ("polynomial",)).check("model.choice.final.kind", kind)
    Fields(FINAL_RULES[kind]).check("model.choice.final", final)
    if kind == "mixture":
        _check_parts(final["parts"], dimension)
    _check_jagged(final, dimension)
    known = not is_logistic(final) or settings.classifies
    require(known, "model.choice.final is logistic, but the labels are no classes")
    if kind == "kriging":
        require(choice["size"] is not None, "model.choice.size is missing, which kriging needs")
        return
    if kind in GLOBAL:
        known = choice["size"] is None and choice["step"] == 0
        require(known, "model.choice has a size or steps, which a global process has not")
        return
    directions = final["n_quadratic_directions"]
    fit = (directions > 0) == (final["degree"] == 2) and directions <= dimension
    require(
        fit,
        f"model.choice.final has n_quadratic_directions={directions} with degree={final['degree']} in "
        f"{dimension} dimensions",
    )


def check_functions(header: Mapping[str, Any], n: int) -> None:
    """Raise a ValueError if a process that a fit has chosen, or nearly, is made of too many functions."""
    rivals = [] if header["rivals"] is None else header["rivals"]["every"]
    for choice in (header["choice"], *(one["choice"] for one in rivals)):
        final = choice["final"]
        places = final["n_places"] if final["kind"] == "functions" else 0
        fit = places <= n and n * places**2 <= 4 * MOST_WORK
        require(fit, f"a global process of {n} rows is made of {places} functions")


def _check_parts(parts: list[Mapping[str, Any]], dimension: int) -> None:
    """Check the processes of a mean, whose fit has so many axes."""
    require(0 < len(parts) <= MOST_PARTS, f"a mean of processes has {len(parts)} parts")
    for part in parts:
        PART.check("model.choice.final.parts", part)
        process = part["process"]
        Text(PARTS).check("model.choice.final.parts.process.kind", process.get("kind"))
        Fields(FINAL_RULES[process["kind"]]).check("model.choice.final.parts.process", process)
        widths = {dimension} if part["axes"] is None else {len(row) for row in part["axes"]}
        fit = part["axes"] is None or len(part["axes"]) == dimension
        fit = fit and len(widths) == 1 and max(widths) <= MOST_ROWS
        require(fit, f"axes of a part of a mean of processes are no matrix with {dimension} rows")
        _check_jagged(process, widths.pop())
    total = sum(part["share"] for part in parts)
    require(abs(total - 1.0) < 1e-6, f"shares of a mean of processes add up to {total:g}, not 1")


def _check_jagged(final: Mapping[str, Any], dimension: int) -> None:
    """Check that a process of a jagged function has a length for each of so many axes."""
    lengths = len(final.get("inverse_lengths", ())) if final["kind"] == "jagged" else dimension
    require(lengths == dimension, f"a jagged process has {lengths} lengths for {dimension} axes")


def kinds_in(final: Mapping[str, Any]) -> list[str]:
    """Kinds of a final fit and of its parts."""
    return [final["kind"], *(part["process"]["kind"] for part in final.get("parts", ()))]


def is_logistic(final: Mapping[str, Any]) -> bool:
    """Whether a final fit or a part of it is for classes only."""
    return any(kind in ("logistic", "logistic process") for kind in kinds_in(final))


def needs_all(final: Mapping[str, Any]) -> bool:
    """Whether equations of all rows are solved for a process of them, or for a part of it."""
    return any(kind in ("global", "gradients", "jagged") for kind in kinds_in(final))


def check_anchors(choice: Mapping[str, Any], n: int, anchors: int) -> None:
    """Raise a ValueError unless a global process has all rows for anchors, and not too many of them."""
    final = choice["final"]
    if final["kind"] not in GLOBAL:
        return
    most = MOST_FUNCTION_ROWS if final["kind"] == "functions" else MOST_LOGISTIC_ROWS
    most = MOST_GLOBAL_ROWS if needs_all(final) else most
    fit = anchors == n and n <= most
    require(
        fit, f"a global process has {anchors} anchors and {n} rows, not one for each of at most {most:,}"
    )


def _check_lengths(header: Mapping[str, Any], settings: Settings) -> None:
    """Check that a header has the limits which the parameters ask for, and no others."""
    for name, given in (
        ("covariance_cap", settings.covariance_cap),
        ("radius", settings.exclusion_radius),
    ):
        agree = (header[name] is None) == (given is None)
        require(agree, f"model.{name} is {header[name]}, which does not fit to the parameters")
    limit, most = header["max_neighbors"], settings.farthest(MOST_ROWS)
    agree = limit is None or (most is not None and limit <= most)
    asked = f"max_neighbors={settings.max_neighbors!r}"
    require(agree, f"model.max_neighbors is {limit}, which does not fit to parameter {asked}")


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


def row_rules(m: int, outputs: int, dimension: int) -> dict[str, Entries]:
    """Rules of what there is for each of m rows."""
    return {
        "rows": Entries((m, dimension), -FAR, FAR),
        "labels": Entries((m, outputs), -FAR, FAR),
        "sample_weight": Entries((m,), SMALL, LARGE),
    }


def robustness_rules(n: int, settings: Settings) -> dict[str, Entries]:
    """Rules of the robustness weights of n rows, which there are if the loss is robust."""
    return {"robustness": Entries((n,), FORGOTTEN, 1.0)} if settings.robust else {}


def slope_rules(
    arrays: Mapping[str, Array], header: Mapping[str, Any], n: int, outputs: int, features: int
) -> dict[str, Entries]:
    """Rules of the slopes given with n rows, which there must be if a final fit or axes need them."""
    rivals = [] if header["rivals"] is None else header["rivals"]["every"]
    finals = [header["choice"]["final"], *(one["choice"]["final"] for one in rivals)]
    informed = [final for final in finals if final["kind"] in INFORMED]
    if "given_gradients" not in arrays:
        needed = informed or any(one["origin"].startswith("given") for one in rivals)
        require(not needed, "array 'given_gradients' is missing")
        return {}
    rules, each = {}, features
    if "given_directions" in arrays:
        each = side(arrays, "given_directions", 1)
        rules["given_directions"] = Entries((n, each, features), -FAR, FAR)
    for final in informed:
        if final["kind"] not in GLOBAL:
            continue
        require(not final["rough"], "a final fit is rough, but knows gradients")
        equations = n * (1 + min(each, features))
        functions = (final["n_places"] or n) * (1 + min(final["n_slopes"], features, each))
        if not final["n_places"]:
            equations = functions
        work = equations * functions**2
        require(work <= 8 * MOST_EQUATIONS**3, f"a final fit would have {equations} equations")
    shape = (n, outputs, each)
    return rules | {"given_gradients": Entries(shape, -FAR, FAR), "given_known": Entries(shape, 0.0, 1.0)}


def field_rules(
    arrays: Mapping[str, Array], n: int, outputs: int, dimension: int, steps: int
) -> dict[str, Entries]:
    """Rules of what the field strategy has learned: gradients, final fits and scores at a of n rows."""
    a = side(arrays, "loo_noise", 0)
    require(1 <= a <= n, f"array 'loo_noise' has {a} rows, but there are {n} to learn from")
    values, slopes = (a, outputs), (a, outputs, dimension)
    rules = {f"gradients_{t}": Entries(slopes, -FAR, FAR) for t in range(steps)}
    rules |= {f"errors_{t}": Entries((a, 1), 0.0) for t in range(steps)}
    return rules | {
        "loo_residuals": Entries(values, -FAR, FAR),
        "loo_noise": Entries(values, 0.0),
        "loo_gradients": Entries(slopes, -FAR, FAR),
        "loo_gap_share": Entries(values, 0.0, 1.0),
        "loo_gap_excess": Entries(values, 0.0, MOST_SURPRISING),
        "loo_gap_coefficients": Entries((3, outputs), -LOGARITHM, LOGARITHM),
        "loo_gap_largest": Entries((outputs,), -LOGARITHM, LOGARITHM),
        **score_rules(a, _count_blocks(arrays), outputs),
    }


def _count_blocks(arrays: Mapping[str, Array]) -> int:
    """Count the blocks that have scores; there may be none."""
    shape = arrays["gap_scores"].shape if "gap_scores" in arrays else ()
    return shape[0] if shape else 0


def score_rules(m: int, blocks: int, outputs: int) -> dict[str, Entries]:
    """Rules of the m scores, and those of blocks, that intervals are calibrated with."""
    return {
        "scores": Entries((m, outputs), 0.0, rising=True),
        "weight_below": Entries((m, outputs), 1.0 / LARGEST, rising=True),
        "gap_scores": Entries((blocks, outputs), 0.0, rising=True),
        "gap_weight_below": Entries((blocks, outputs), 0.0, rising=True),
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
