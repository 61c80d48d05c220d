"""What the commands report about a fitted model, for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from localegop.cli.console import Line
from localegop.cli.problems import counted, one_line, quoted

if TYPE_CHECKING:
    from localegop import LocalEGOPRegressor
    from localegop._engine.choice import Choice

MOST_IMPORTANT = 10  # features listed for people; JSON has all


def model_facts(model: LocalEGOPRegressor) -> dict[str, Any]:
    """Facts for JSON; what belongs to one target is listed under its name."""
    return {
        "rows": model.n_samples_,
        "features": feature_names(model),
        "targets": list(model.output_names_),
        "strategy": model.strategy,
        "outputs": model.outputs,
        "choice": [{"targets": names, **_choice_facts(choice)} for names, choice in _choices(model)],
        "gain_over_isotropic": gains(model),
        "noise": noise_level(model),
        "global_importance": global_importance(model),
    }


def model_lines(model: LocalEGOPRegressor) -> list[Line]:
    """Return the same for people."""
    names = feature_names(model)
    lines = [
        ("rows", f"{model.n_samples_:,}"),
        ("features", f"{len(names)}: {quoted(names)}"),
        ("target" if len(model.output_names_) == 1 else "targets", quoted(list(model.output_names_))),
        ("strategy", model.strategy),
    ]
    choices = _choices(model)
    for names, choice in choices:
        of = f" of {names[0]}" if len(choices) > 1 else ""
        lines.append((f"choice{of}", _choice_text(choice)))
        if choice.error == choice.error:
            text = f"{choice.error:.3g} of the label variance (R2 {1.0 - choice.error:.4f})"
            lines.append((f"held-out error{of}", text))
    known = gains(model)
    for (names, _), gain in zip(choices, known, strict=False):
        of = f" of {names[0]}" if len(known) > 1 else ""
        lines.append((f"gain{of}", f"isotropic local linear fits have {gain:.3g} times the held-out error"))
    noise = noise_level(model)
    for name, level in noise.items():
        of = f" of {name}" if len(noise) > 1 else ""
        lines.append((f"noise level{of}", f"{level:.4g} (root mean square of leave-one-out residuals)"))
    if model.strategy == "query":
        lines.append(("noise, importance", "known only at queries with this strategy: localegop explain"))
    return [*lines, *importance_lines(global_importance(model), "mean over the training rows")]


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
    """Root mean square of the leave-one-out residuals by target; empty with the query strategy."""
    import numpy as np

    residuals = getattr(model, "loo_residuals_", None)
    if residuals is None:
        return {}
    levels = np.sqrt(np.nanmean(residuals.reshape(len(residuals), -1) ** 2, axis=0))
    return dict(zip(model.output_names_, levels.tolist(), strict=True))


def global_importance(model: LocalEGOPRegressor) -> dict[str, float] | None:
    """Share of each feature in the squared slope, over all training rows; None with the query strategy."""
    if model.strategy == "query":
        return None
    return dict(zip(feature_names(model), model.global_importance().tolist(), strict=True))


def importance_lines(importance: dict[str, float] | None, scope: str) -> list[Line]:
    """Features by decreasing importance, for people; ``scope`` says where it was averaged."""
    if importance is None:
        return []
    order = sorted(importance, key=lambda name: -importance[name])
    lines = [("  " + one_line(name), f"{importance[name]:.3f}") for name in order[:MOST_IMPORTANT]]
    rest = [importance[name] for name in order[MOST_IMPORTANT:]]
    if rest:
        lines.append((f"  {counted(len(rest), 'other feature')}", f"{sum(rest):.3f}"))
    return [("importance", f"share of the squared slope, {scope}"), *lines]


def _choices(model: LocalEGOPRegressor) -> list[tuple[list[str], Choice]]:
    """Return targets and their choice: one for all of them if they share the metric."""
    if isinstance(model.choice_, tuple):
        return [([name], choice) for name, choice in zip(model.output_names_, model.choice_, strict=True)]
    return [(list(model.output_names_), model.choice_)]


def _choice_facts(choice: Choice) -> dict[str, Any]:
    final = choice.final
    facts = {"step": choice.step, "size": choice.size, "error": choice.error, "final": final.kind}
    return facts | asdict(final)


def _choice_text(choice: Choice) -> str:
    size = "" if choice.size is None else f", effective size {choice.size:g}"
    return f"step {choice.step}{size}, {_final_text(choice.final)}, ridge {choice.ridge:.1e}"


def _final_text(final: Any) -> str:
    if final.kind == "kriging":
        kind = ("rough " if final.rough else "") + "kriging" + ("" if final.trend else " without trend")
        return f"{kind} of length {final.length:g}"
    quadratic = f" in {counted(final.n_quadratic_directions, 'direction')}" if final.degree == 2 else ""
    return f"polynomial of degree {final.degree}{quadratic}"
