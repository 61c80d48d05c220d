"""What the displays of the recursion have in common: its steps, and the final fit among or after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from localegop.displays._common import VERMILION, Array, one_output

if TYPE_CHECKING:
    from localegop.results import LocalFits, Trace


def trace_of(fits: LocalFits) -> Trace:
    """Trace of fits that have one."""
    if fits.trace is None:
        raise ValueError("these fits contain no trace of the steps: call localize(X, trace=True)")
    return fits.trace


def one_metric(fits: LocalFits, output: int | str | None) -> LocalFits:
    """Fits with one metric for each query: those of one output where every output has its own metric."""
    return one_output(fits, output) if output is not None or fits.metric.ndim != 3 else fits


def variances(metric: Array) -> Array:
    """Eigenvalues of M^-1, largest first; infinite where M has none."""
    values = np.linalg.eigvalsh(metric)
    found: Array = np.full(values.shape, np.inf)
    np.divide(1.0, values, out=found, where=values > np.finfo(float).tiny)
    return found


def check_chosen(chosen: int, steps: int) -> int:
    """Return a step that exists, or the one after the last."""
    if not 0 <= chosen <= steps:
        raise ValueError(f"chosen must be a step from 0 to {steps}, got {chosen!r}")
    return int(chosen)


def with_final(curve: Array, final: Any, chosen: int) -> Array:
    """Return the steps of a curve, continued by the final fit if that came after the last step."""
    return np.concatenate([curve, [final]]) if chosen == len(curve) else curve


def places_of(curve: Array) -> tuple[Array, Array]:
    """Return places and heights of a curve: a level line, not a dot, where it has one step only."""
    if len(curve) > 1:
        return np.arange(len(curve), dtype=float), curve
    return np.array([-0.4, 0.4]), np.repeat(curve, 2, axis=0)


def label_steps(ax: Any, steps: int) -> None:
    """Name the axis of so many steps that are drawn, and say so where the first is the only one."""
    if steps > 1:
        ax.set_xlabel("step t")
        return
    ax.set(xlim=(-0.5, 0.5), xticks=[0], xlabel="step 0: one metric everywhere, no local steps")


def log_axis(ax: Any, heights: Array, least: float = 1.0) -> None:
    """Make the y axis logarithmic where all heights are positive and span a factor ``least`` or more."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    positive = heights[np.isfinite(heights)]
    if not len(positive) or positive.min() <= 0.0 or positive.max() < least * positive.min():
        return
    ax.set_yscale("log")
    if positive.max() < 100.0 * positive.min():  # decades alone would be too few labels
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda height, _: f"{height:g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())


def step_marker(steps: int) -> str:
    """Return the marker of steps: dots, unless there are so many that they would make a thick line."""
    return "." if steps <= 40 else ""


def mark_step(ax: Any, chosen: int, steps: int) -> Any:
    """Mark the chosen step, and label the axis of steps by whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    after = f"final fit, after {chosen} step" + ("" if chosen == 1 else "s")
    name = after if chosen == steps else f"chosen step {chosen}"
    return ax.axvline(chosen, color=VERMILION, linestyle="--", linewidth=1.2, label=name, zorder=1)
