"""Figures of the theory page. Needs matplotlib (the extra ``plot``), imported when drawing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from localegop._arguments import Array

from .claims.momentum import oscillation
from .claims.one_step import poincare_cases
from .claims.rates import rate_cases
from .claims.samples import NAMES, comparison
from .claims.sphere import normal_curve
from .claims.table import problem, trace

# Okabe and Ito's colors, distinguishable without color vision.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#000000",
)
_PARTS = (
    ("gradient", "along the gradient", BLUE, "-"),
    ("curved", "range of $H$ across $g$", ORANGE, "-"),
    ("straight", "left over", VERMILION, "--"),
    ("null", "Null", GREEN, ":"),
)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'localegop[plot]'") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _panels(n_panels: int, width: float = 4.2, height: float = 3.6) -> tuple[Any, Sequence[Any]]:
    figure, axes = _pyplot().subplots(
        1, n_panels, figsize=(width * n_panels, height), layout="constrained", squeeze=False
    )
    for axis in axes[0]:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes[0]


def _superscript(name: str) -> str:
    """Let R^8 be typeset."""
    return re.sub(r"\^(\d+)", r"$^{\1}$", name)


def draw_decay() -> Any:
    """Variances by direction against the bandwidth, for four problems."""
    names = ("full_rank", "circle", "random_surface", "torus")
    figure, axes = _panels(len(names), 3.4)
    for axis, name in zip(axes, names, strict=True):
        run, parts = trace(name), problem(name).directions
        for part, label, color, style in _PARTS:
            basis = getattr(parts, part)
            if basis.shape[1]:
                lines = axis.loglog(run.bandwidth, run.variance(basis), style, color=color, lw=1.8)
                lines[0].set_label(label)
        _slope_mark(axis, run.bandwidth, run.variance(parts.gradient)[:, 0], 1.0, "slope 1", "right")
        if parts.curved.shape[1]:
            _slope_mark(axis, run.bandwidth, run.variance(parts.curved)[:, 0], 0.5, "slope 1/2", "left")
        axis.set(
            xlabel="bandwidth $h_t$",
            title=_superscript(problem(name).name),
        )
        axis.invert_xaxis()
    axes[0].set_ylabel("variance $v'\\Sigma_t v$")
    handles = [
        _pyplot().Line2D([], [], color=color, linestyle=style, label=label)
        for _, label, color, style in _PARTS
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _slope_mark(axis: Any, h: Array, variance: Array, slope: float, text: str, side: str) -> None:
    """Draw a gray reference line just off the curve, with its slope."""
    at = slice(len(h) // 2, 3 * len(h) // 4)
    shift = 12.0 if side == "left" else 1.0 / 12.0
    line = shift * variance[at][0] * (h[at] / h[at][0]) ** slope
    axis.loglog(h[at], line, color="0.45", lw=1.0)
    middle = len(line) // 2
    above = side == "left"
    axis.annotate(
        text,
        (h[at][middle], line[middle]),
        textcoords="offset points",
        xytext=(4, 4) if above else (-4, -4),
        ha="left" if above else "right",
        va="bottom" if above else "top",
        color="0.3",
        fontsize=8,
    )


def draw_sphere() -> Any:
    """Local exponent of the normal variance around the sphere, in three kinds of arithmetic."""
    figure, (axis,) = _panels(1, 6.4, 4.0)
    curve = normal_curve()
    axis.semilogx(*curve.rounded, "--", color=VERMILION, lw=1.6, label="matrices in double precision")
    axis.semilogx(*curve.factored, color=BLUE, lw=3.5, label="factors in double precision (this package)")
    axis.semilogx(*curve.decimal, ":", color=BLACK, lw=1.6, label="sixty digits")
    axis.axhline(0.5, color="0.6", lw=1.0)
    axis.text(
        curve.decimal[0][-1], 0.52, "1/2, as claimed", ha="right", va="bottom", color="0.3", fontsize=9
    )
    axis.set(
        xlabel="bandwidth $h_t$",
        ylabel="local exponent of the normal variance",
        ylim=(-0.6, 2.2),
        title="Sphere in R$^3$, covariance cap 0.05",
    )
    axis.invert_xaxis()
    axis.legend(frameon=False, loc="upper left", fontsize=9)
    return figure


def draw_momentum() -> Any:
    """Second eigenvalue relative to sqrt(h), with and without momentum."""
    figure, axes = _panels(2)
    for momentum, color, style in ((1.0, VERMILION, "--"), (0.7, BLUE, "-")):
        run, increments = oscillation(momentum)
        second = run.eigenvalues[:, -2] / np.sqrt(run.bandwidth)
        axes[0].semilogy(second[:45], style, marker=".", color=color, label=f"$\\beta$ = {momentum:g}")
        axes[1].plot(increments[:45], style, marker=".", color=color, label=f"$\\beta$ = {momentum:g}")
    axes[0].set(xlabel="step $t$", ylabel="second eigenvalue of $\\Sigma_t$ over $\\sqrt{h_t}$")
    axes[1].set(xlabel="step $t$", ylabel="increment of its logarithm")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def draw_poincare() -> Any:
    """Left against right side of the Poincare bound."""
    figure, (axis,) = _panels(1, 4.6, 4.2)
    cases = poincare_cases()
    bound, bias = np.array([case.bound for case in cases]), np.array([case.bias for case in cases])
    axis.loglog(bound, bias, "o", ms=4, color=BLUE, mfc="none", label="200 random cases")
    ends = np.array([bound.min(), bound.max()])
    axis.loglog(ends, ends, color=BLACK, lw=1.0, label="equality")
    axis.set(
        xlabel="$(1 + \\mathrm{Var}\\,p / (\\mathrm{E}\\,p)^2)\\, W(\\mu)$", ylabel="bias of the smoother"
    )
    axis.legend(frameon=False, loc="upper left")
    return figure


def draw_samples() -> Any:
    """Eigenvalues of the covariances of Algorithm 1 and of the oracle."""
    figure, axes = _panels(len(NAMES), 3.8)
    for axis, name in zip(axes, NAMES, strict=True):
        result = comparison(name)
        for k, color in zip(range(result.sample.shape[1]), (BLUE, ORANGE, GREEN), strict=False):
            axis.loglog(result.bandwidth, result.oracle[:, k], color=color, lw=1.6)
            axis.loglog(result.bandwidth, result.sample[:, k], "o", ms=5, color=color, mfc="none")
        axis.set(xlabel="bandwidth $h_t$", title=_superscript(name))
        axis.invert_xaxis()
    axes[0].set_ylabel("eigenvalues of $\\Sigma_t$")
    plt = _pyplot()
    handles = [
        plt.Line2D([], [], color="0.3", label="oracle"),
        plt.Line2D([], [], color="0.3", marker="o", mfc="none", ls="none", label="Algorithm 1 on samples"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_rates() -> Any:
    """Exponents of the rate: the paper's, by rank, and measured, for every problem."""
    figure, (axis,) = _panels(1, 6.6, 3.8)
    cases = rate_cases()
    y = np.arange(len(cases))
    series: tuple[tuple[str, Callable[[Any], float], str, str], ...] = (
        ("stated by the paper", lambda case: np.nan if case.paper is None else case.paper, "s", ORANGE),
        ("4 / (6 + rank of $H$ across $g$)", lambda case: case.rank, "o", BLACK),
        ("measured: best step for each $n$", lambda case: case.balanced, "x", BLUE),
    )
    for label, value, marker, color in series:
        filled = color if marker == "x" else "none"
        size = {"s": 11, "o": 8, "x": 6}[marker]
        axis.plot(
            [value(case) for case in cases], y, marker, ms=size, mfc=filled, mec=color, mew=1.6, label=label
        )
    axis.set_yticks(y, [_superscript(case.name) for case in cases])
    axis.invert_yaxis()
    axis.set(xlabel="exponent $r$ of the error bound $n^{-r}$", xlim=(0.4, 0.72))
    axis.grid(axis="y", color="0.9")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    "theory_decay": draw_decay,
    "theory_sphere": draw_sphere,
    "theory_momentum": draw_momentum,
    "theory_poincare": draw_poincare,
    "theory_rates": draw_rates,
    "theory_samples": draw_samples,
}
