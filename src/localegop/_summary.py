"""What a fit found, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.few_functions import FunctionKriging
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_kriging import GradientKriging
from localegop._engine.jagged_kriging import JaggedKriging
from localegop._engine.mixture import Mixture
from localegop._explain.overall import correlations_of
from localegop._predict.decisions import FORGOTTEN, Decisions
from localegop._predict.model import Model
from localegop._selection.isotropic_baseline import gain
from localegop.results import FeatureGroup

Array = NDArray[np.float64]

FAR_OUT = 50.0  # robust standard deviations at which a row is outlying
NORMAL_QUARTILES = 1.349  # distance between the quartiles of a normal variable, in standard deviations
HARDLY = 1.1  # gain over isotropic fits below which the learned metric hardly helps
TOGETHER = 0.8  # correlation from which on features may take over each other's importance
MOST_LISTED = 5  # rows and names listed
READ_NEXT = (
    "model.localize(X) tells what is behind single predictions, model.global_importance() which features "
    "matter, model.predict_interval(X) how certain it is; docs/uncertainty.md says when to trust that"
)

READ_NEXT_OF_CLASSES = (
    "model.predict_proba(X) has probabilities, model.predict_set(X) sets of classes, model.localize(X) "
    "what is behind single ones; docs/classification.md explains them"
)

Line = tuple[str, str]


def summarize(model: Any) -> str:
    """Text of several lines about a fitted estimator."""
    names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    features = f"{model.n_features_in_:,}" + (f": {_listed(names)}" if names else "")
    lines: list[Line] = [("rows", f"{model.n_samples_:,}"), ("features", features)]
    outputs = model.output_names_
    classes: bool = model._classifies
    noun = "classes" if classes else "target" if len(outputs) == 1 else "targets"
    lines.append((noun, _listed(list(outputs))))
    several = len(model._decisions) > 1
    for k, decisions in enumerate(model._decisions):
        of = f" of {outputs[k]}" if several else ""
        lines += [(label + of, text) for label, text in _decision_lines(decisions)]
    lines += _class_lines(model) if classes else _noise_lines(model)
    lines += _outlier_lines(getattr(model, "_models", []))
    lines += [] if classes else _label_lines(model)
    lines += _group_lines(model)
    lines.append(("read next", READ_NEXT_OF_CLASSES if classes else READ_NEXT))
    width = 2 + max(len(label) for label, _ in lines)
    return "\n".join([type(model).__name__, *(f"  {label:<{width}}{text}" for label, text in lines)])


def _decision_lines(decisions: Decisions) -> list[Line]:
    """Lines about what was chosen."""
    choice = decisions.choice
    lines = [
        ("units", _units_text(decisions)),
        ("neighborhoods", _neighborhood_text(choice, decisions.settings.strategy)),
        ("final fit", _final_text(choice.final)),
    ]
    if np.isnan(choice.error):
        text = (
            "nothing was compared at held-out rows: too few rows, everything given, or the query strategy"
        )
        return [*lines, ("error", text)]
    lines.append(("error", _error_text(decisions)))
    factor = gain(decisions.isotropic_error, choice.error)
    verdict = "the learned metric helps" if factor > HARDLY else "they would do as well"
    if not np.isnan(factor):
        lines.append(("gain", f"local linear fits in round neighborhoods: {factor:.3g} times; {verdict}"))
    return lines


def _error_text(decisions: Decisions) -> str:
    """How well the choice did at held-out rows."""
    error = decisions.choice.error
    if decisions.classes is not None:
        return f"log loss at held-out rows {error:.3g} of that of the class frequencies"
    return f"{error:.3g} of the label variance at held-out rows (R2 {1.0 - error:.4f})"


def _class_lines(model: Any) -> list[Line]:
    """Lines about what turns estimates into probabilities, and what sets were calibrated with."""
    found = model._decisions[0].classes
    link, count = found.link, len(found.doubts)
    shape = f"power {link.power:.3g}, slope {link.slope:.3g}, floor {link.floor:.3g}"
    if not count:
        return [("probabilities", f"from estimates by a link that nothing was held out for ({shape})")]
    return [
        ("probabilities", f"from estimates by a link fitted at {count:,} held-out rows ({shape})"),
        ("sets", f"calibrated so that they hold the classes of the asked share of these {count:,} rows"),
    ]


def _units_text(decisions: Decisions) -> str:
    """How features are scaled before anything else."""
    metric = decisions.initial_metric
    if isinstance(metric, str):
        return {
            "identity": "features as they are",
            "variance": "features divided by their standard deviations",
        }[metric]
    if not decisions.settings.metric_is_free:
        return "those of the initial_metric that was given"
    kept, of = decisions.units.transform.shape[1], decisions.units.transform.shape[0]
    left_out = "" if kept == of else f"; {of - kept} directions in which f varies nowhere are left out"
    return f"axes turned and scaled by the slopes that f has over all data{left_out}"


def _neighborhood_text(choice: Choice, strategy: str) -> str:
    """How neighborhoods came about, and how large they are."""
    if strategy == "query":
        return f"learned for each query in up to {choice.step} steps, by fits at points sampled around it"
    if isinstance(choice.final, GlobalKriging):
        return "none: one metric everywhere, and all rows at once"
    size = "" if choice.size is None else f"; effective size {choice.size:g} rows"
    if choice.step == 0:
        return f"step 0: one metric everywhere, no local steps{size}"
    return f"a metric for each place, learned in {_count(choice.step, 'step')}{size}"


def _final_text(final: Any) -> str:
    """Kind and constants of the final fit."""
    if isinstance(final, Mixture):
        if final.in_one_metric:
            return f"the mean of {' and '.join(_final_text(part.process) for part in final.parts)}"
        return f"mean of {len(final.parts)} Gaussian processes of all rows, in axes of their own"
    if isinstance(final, GlobalKriging):
        kind = "rough" if final.rough else "smooth"
        slopes = ", of the logits" if final.kind == "logistic process" else ""
        if isinstance(final, FunctionKriging):
            slopes = f", made of functions at {final.n_places} rows"
        if isinstance(final, GradientKriging):
            known = f"along {_count(final.n_slopes, 'leading direction')}"
            if final.n_places:
                known = f"along all directions, made of functions at {final.n_places} rows"
            slopes = f", with the given gradients {known}"
        if isinstance(final, JaggedKriging):
            kind = f"partly jagged ({final.jagged / (1.0 + final.jagged):.0%} of its variance)"
        of_logits = ", of the logits" if final.kind == "logistic process" else ""
        return f"one {kind} Gaussian process of all rows{slopes}{of_logits}, length {final.length:.3g}"
    if final.kind == "kriging":
        trend = "a linear trend" if final.trend else "no trend"
        kind = "rough" if final.rough else "smooth"
        return f"kriging: a small {kind} Gaussian process with {trend}, length {final.length:g}"
    name = ("local mean", "local linear", "local quadratic")[final.degree]
    slopes = ", to labels and given gradients" if final.kind == "slopes" else ""
    name = f"{name} logistic" if final.kind == "logistic" else name
    bends = _count(final.n_quadratic_directions, "leading direction")
    return (
        f"{name} fit, ridge {final.ridge:.1e}"
        + (f", bent along {bends}" if final.degree == 2 else "")
        + slopes
    )


def _noise_lines(model: Any) -> list[Line]:
    """Lines about noise, and about what intervals were calibrated with."""
    residuals = getattr(model, "loo_residuals_", None)
    if not isinstance(residuals, np.ndarray):
        where = "on the cluster" if residuals is not None else "known at queries only with this strategy"
        return [("noise", where)]
    noise = ", ".join(f"{level:.4g}" for level in noise_levels(model)[:MOST_LISTED])
    columns = _usual_residuals(model)
    used = int(np.isfinite(columns[:, 0]).sum())
    but = " but outlying labels" if model.loss == "huber" else ""
    return [
        ("noise", f"{noise} (root mean square residual of rows left out, one at a time{but})"),
        ("intervals", f"calibrated so that they hold the asked share of these {used:,} rows"),
    ]


def noise_levels(model: Any) -> Array:
    """Root mean square (K,) of the leave-one-out residuals of a fitted estimator, outlying labels aside."""
    levels: Array = np.sqrt(np.nanmean(_usual_residuals(model) ** 2, axis=0))
    return levels


def _usual_residuals(model: Any) -> Array:
    """Leave-one-out residuals (n, K); NaN for outlying labels, and where there is none."""
    residuals = model.loo_residuals_.reshape(model.n_samples_, -1)
    usual = model.robustness_weights_.reshape(model.n_samples_, -1) > 0.0
    return np.where(usual, residuals, np.nan)


def _group_lines(model: Any) -> list[Line]:
    """Lines about features that move together, whose shares of importance are exchangeable."""
    models: list[Model] = getattr(model, "_models", [])
    if model.strategy == "query" or not models or models[0].features is None:
        return []
    correlated = np.abs(correlations_of(models[0])) >= TOGETHER
    if not np.triu(correlated, 1).any():
        return []
    groups = [one for one in model.grouped_importance(TOGETHER) if len(one.features) > 1]
    return [("exchangeable", _group_text(one)) for one in groups[:MOST_LISTED]]


def _group_text(group: FeatureGroup) -> str:
    known = "" if np.isnan(group.importance_std) else f" +- {group.importance_std:.2g}"
    return (
        f"{_listed(list(group.features))} move together (correlation {TOGETHER:g} or more), so any of them "
        f"may carry the slope: trust their common importance, {group.importance:.2g}{known}, not their "
        "single ones"
    )


def _outlier_lines(models: list[Model]) -> list[Line]:
    """Line about rows that lie very far out, if there are any."""
    found = [outlying_rows(model) for model in models]
    rows = np.unique(np.concatenate(found)) if found else np.zeros(0)
    if not len(rows):
        return []
    text = f"{len(rows):,} more than {FAR_OUT:g} robust standard deviations out: {_numbered(rows)}"
    return [("outlying rows", f"{text}; check them, or take logarithms of skewed features")]


def _label_lines(model: Any) -> list[Line]:
    """Line about outlying labels: what a robust loss did about them, or that it would."""
    if model.loss == "huber":
        return [("outlying labels", _robustness_text(model))]
    found = [far_labels(each) for each in getattr(model, "_models", [])]
    rows = np.unique(np.concatenate(found)) if found else np.zeros(0)
    if not len(rows):
        return []
    text = f"{len(rows):,} more than {FAR_OUT:g} robust standard deviations out: {_numbered(rows)}"
    return [("outlying labels", f"{text}; if these are errors, take loss='huber'")]


def _robustness_text(model: Any) -> str:
    """How many rows count for nothing, and which; how many count less."""
    if not hasattr(model, "_models"):
        weights = [each.robustness for each in model._partitioned]
        none = sum(int(np.count_nonzero(each <= FORGOTTEN)) for each in weights)
        return f"{none:,} of the distinct rows count for nothing; to_local().summary() names them"
    weights = model.robustness_weights_.reshape(model.n_samples_, -1)
    rows = np.flatnonzero((weights == 0.0).any(axis=1))
    less = int(np.count_nonzero((weights < 1.0).any(axis=1))) - len(rows)
    named = f": {_numbered(rows)}" if len(rows) else ""
    return (
        f"{_count(len(rows), 'row')} of {model.n_samples_:,} count for nothing{named}; {less:,} count less"
    )


def far_labels(model: Model) -> NDArray[np.intp]:
    """Numbers of the rows given to ``fit`` whose labels lie very far from the others."""
    far = _far_out(model.data.labels)
    return np.flatnonzero((model.position >= 0) & far[model.position])


def outlying_rows(model: Model) -> NDArray[np.intp]:
    """Numbers of the rows given to ``fit`` that lie very far from the others in some direction."""
    far = _far_out(_before_curves(model))
    return np.flatnonzero((model.position >= 0) & far[model.position])


def _far_out(values: Array) -> NDArray[np.bool_]:
    """Which rows (n,) of values (n, m) are very far from the middle in some column."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    scale = (high - low) / NORMAL_QUARTILES
    known = scale > 0.0  # half of all rows may be the same there
    far = np.abs(values[:, known] - middle[known]) > FAR_OUT * scale[known]
    return np.asarray(far.any(axis=1))


def _before_curves(model: Model) -> Array:
    """Rows in which values far out are as far out as they were, whatever was done about them."""
    units, rows = model.decisions.units, model.data.rows
    if units.curves is None:
        return rows
    return units.curves.draw_out(rows @ np.linalg.pinv(units.transform) + units.center)


def _numbered(rows: NDArray[Any]) -> str:
    """Numbers of rows, the first few of them."""
    shown = ", ".join(str(row) for row in rows[:MOST_LISTED]) + (", ..." if len(rows) > MOST_LISTED else "")
    return f"{shown} (counted from 0)"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(names: list[str]) -> str:
    """Names, the first few of them."""
    more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
