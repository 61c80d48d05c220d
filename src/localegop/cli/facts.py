"""What the commands report about a fitted model, for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from localegop.cli.columns import COUNTING, row_list
from localegop.cli.console import Line
from localegop.cli.models import target_names
from localegop.cli.problems import counted, one_line, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from localegop import LocalEGOPRegressor
    from localegop._engine.choice import Choice

MOST_IMPORTANT = 10  # features listed for people; JSON has all


def model_facts(model: Any) -> dict[str, Any]:
    """Facts for JSON; what belongs to one target is listed under its name."""
    return {
        "rows": model.n_samples_,
        "features": feature_names(model),
        "targets": target_names(model),
        "classes": model.classes_.tolist() if model._classifies else None,
        "columns": None if model._columns() is None else model._columns().encode(),
        "strategy": model.strategy,
        "outputs": model.outputs,
        "loss": model.loss,
        "outlying_labels": (outlying_labels(model).nonzero()[0] + 1).tolist(),
        "choice": [{"targets": names, **_choice_facts(choice)} for names, choice in _choices(model)],
        "gain_over_isotropic": gains(model),
        "noise": noise_level(model),
        "global_importance": global_importance(model)[0],
    }


def model_lines(model: LocalEGOPRegressor) -> list[Line]:
    """Return the same for people."""
    names, targets = feature_names(model), target_names(model)
    lines = [
        ("rows", f"{model.n_samples_:,}"),
        ("features", f"{len(names)}: {quoted(names)}"),
        ("target" if len(targets) == 1 else "targets", quoted(targets)),
        *([("classes", quoted(list(model.output_names_)))] if model._classifies else []),
        ("strategy", model.strategy),
        *_column_lines(model),
    ]
    choices = _choices(model)
    for names, choice in choices:
        of = f" of {names[0]}" if len(choices) > 1 else ""
        lines.append((f"choice{of}", _choice_text(choice)))
        if choice.error == choice.error:
            text = f"{choice.error:.3g} of the label variance (R2 {1.0 - choice.error:.4f})"
            if model._classifies:
                text = f"log loss {choice.error:.3g} of that of the class frequencies"
            lines.append((f"held-out error{of}", text))
    known = gains(model)
    for (names, _), gain in zip(choices, known, strict=False):
        of = f" of {names[0]}" if len(known) > 1 else ""
        lines.append((f"gain{of}", f"isotropic local linear fits have {gain:.3g} times the held-out error"))
    noise = noise_level(model)
    for name, level in noise.items():
        of = f" of {name}" if len(noise) > 1 else ""
        lines.append((f"noise level{of}", f"{level:.4g} (root mean square of leave-one-out residuals)"))
    if model.loss == "huber":
        outlying = outlying_labels(model)
        which = f": {row_list(outlying)} ({COUNTING})" if outlying.any() else ""
        text = f"{counted(int(outlying.sum()), 'row')} count for nothing{which}"
        lines.append(("outlying labels", text))
    if model.strategy == "query":
        lines.append(("noise, importance", "known only at queries with this strategy: localegop explain"))
    return [*lines, *importance_lines(global_importance(model)[0], "mean over the training rows")]


def _column_lines(model: LocalEGOPRegressor) -> list[Line]:
    """Return what is done to columns before they are features."""
    columns = model._columns()
    if columns is None:
        return []
    lines = []
    for kind in ("categories", "date"):
        names = [column.name for column in columns.columns if column.kind == kind]
        if names:
            lines.append((kind if kind == "categories" else "dates", quoted(names)))
    done = {"impute": "filled in", "drop": "such rows are left out", "error": "refused"}[columns.missing]
    return [*lines, ("missing", done)]


def gains(model: LocalEGOPRegressor) -> list[float]:
    """Gain over isotropic fits, one number for each choice; empty where it is not known."""
    found = getattr(model, "gain_over_isotropic_", ())
    values = list(found) if isinstance(found, tuple) else [found]
    return [value for value in values if value == value]


def feature_names(model: LocalEGOPRegressor) -> list[str]:
    """Names of the features, or x0, x1, ... if the model knows none."""
    unnamed = [f"x{j}" for j in range(model.n_features_in_)]
    return [str(name) for name in getattr(model, "feature_names_in_", unnamed)]


def noise_level(model: LocalEGOPRegressor) -> dict[str, float]:
    """Root mean square of the leave-one-out residuals by target; empty if these are not known."""
    from localegop._summary import noise_levels

    if model.strategy == "query" or model._classifies:
        return {}
    return dict(zip(model.output_names_, noise_levels(model).tolist(), strict=True))


def outlying_labels(model: LocalEGOPRegressor) -> NDArray[np.bool_]:
    """Which training rows (n,) have labels that count for nothing with a robust loss."""
    import numpy as np

    if model._classifies:
        return np.zeros(model.n_samples_, dtype=bool)
    weights = model.robustness_weights_.reshape(model.n_samples_, -1)
    outlying: NDArray[np.bool_] = (weights == 0.0).any(axis=1)
    return outlying


def global_importance(
    model: LocalEGOPRegressor, *, errors: bool = False
) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    """Share of each feature in the squared slope, over all training rows, and its standard error.

    None with the query strategy; errors are None too unless they are asked for and known.
    """
    if model.strategy == "query":
        return None, None
    names = feature_names(model)
    shares, std = model.global_importance(return_std=True, errors=None if errors else False)
    known = bool((std == std).all())
    return _named(names, shares), _named(names, std) if known else None


def _named(names: list[str], values: Any) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))


def importance_lines(
    importance: dict[str, float] | None, scope: str, errors: dict[str, float] | None = None
) -> list[Line]:
    """Features by decreasing importance, for people; ``scope`` says where it was averaged."""
    if importance is None:
        return []
    order = sorted(importance, key=lambda name: -importance[name])
    lines = [("  " + one_line(name), f"{importance[name]:.3f}") for name in order[:MOST_IMPORTANT]]
    if errors is not None:
        lines = [
            (label, f"{share} +- {errors[name]:.3f}")
            for (label, share), name in zip(lines, order, strict=False)
        ]
    rest = [importance[name] for name in order[MOST_IMPORTANT:]]
    if rest:
        lines.append((f"  {counted(len(rest), 'other feature')}", f"{sum(rest):.3f}"))
    what = "share of the squared slope" + ("" if errors is None else " and its standard error")
    return [("importance", f"{what}, {scope}"), *lines]


def _choices(model: LocalEGOPRegressor) -> list[tuple[list[str], Choice]]:
    """Return targets and their choice: one for all of them if they share the metric."""
    if isinstance(model.choice_, tuple):
        return [([name], choice) for name, choice in zip(model.output_names_, model.choice_, strict=True)]
    return [(list(model.output_names_), model.choice_)]


def _choice_facts(choice: Choice) -> dict[str, Any]:
    final = choice.final
    facts = {"step": choice.step, "size": choice.size, "error": choice.error, "final": final.kind}
    constants = asdict(final)
    if final.kind == "mixture":
        constants["parts"] = len(constants["parts"])
    return facts | constants


def _choice_text(choice: Choice) -> str:
    size = "" if choice.size is None else f", effective size {choice.size:g}"
    return f"step {choice.step}{size}, {_final_text(choice.final)}, ridge {choice.ridge:.1e}"


def _final_text(final: Any) -> str:
    if final.kind == "mixture":
        return f"mean of {' and '.join(_final_text(part.process) for part in final.parts)}"
    if final.kind == "gradients":
        slopes = "all directions" if final.n_places else counted(final.n_slopes, "direction")
        return f"global process of length {final.length:.4g} with gradients in {slopes}"
    if final.kind == "logistic process":
        return f"{'rough ' if final.rough else ''}logistic process of length {final.length:.4g}"
    if final.kind in ("global", "functions"):
        made = f" made of {counted(final.n_places, 'function')}" if final.kind == "functions" else ""
        return f"{'rough ' if final.rough else ''}global process of length {final.length:.4g}{made}"
    if final.kind == "kriging":
        kind = ("rough " if final.rough else "") + "kriging" + ("" if final.trend else " without trend")
        return f"{kind} of length {final.length:g}"
    quadratic = f" in {counted(final.n_quadratic_directions, 'direction')}" if final.degree == 2 else ""
    slopes = " with gradients" if final.kind == "slopes" else ""
    return f"polynomial of degree {final.degree}{quadratic}{slopes}"
