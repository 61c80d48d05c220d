"""Draw the pictures of docs/how_it_works.md: one query of Algorithm 1, step by step, and an animation.

Run with ``python tools/draw_method.py``. Labels on half of a ring depend on the angle only; the query is at
(1, 0). Every picture is computed from the trace of one fit with the paper's settings.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

from localegop import LocalEGOPRegressor
from localegop.datasets import make_annulus
from localegop.reference import KERNELS, kernel_weights, local_linear

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
QUERY = np.array([1.0, 0.0])
FRAMES = (0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 48, 64, 85, 110)
INK, POINT, ARROW = "#444444", "#d1495b", "#0b6a94"


class Ring:
    """The data, and metrics of all steps at the query."""

    def __init__(self) -> None:
        self.X, self.y = make_annulus(1200, angle=150, noise_std=0.02, random_state=3)
        parameters = LocalEGOPRegressor.paper_parameters()
        model = LocalEGOPRegressor(**parameters, n_jobs=1).fit(self.X, self.y)
        self.fits = model.localize(QUERY[None], trace=True)
        self.trace = self.fits.trace
        self.chosen = int(self.fits.step[0])

    def weights(self, step: int) -> NDArray[np.float64]:
        """Weights of all points around the query at a step."""
        return kernel_weights(self.X, QUERY, self.trace.metric[step, 0], KERNELS["gaussian"])

    def slopes(self, step: int, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points drawn by weight, and the gradients of local linear fits at them."""
        rng = np.random.default_rng(0)
        metric, profile = self.trace.metric[step, 0], KERNELS["gaussian"]
        points = self.X[rng.choice(len(self.X), count, replace=False, p=self.weights(step))]
        gradients = [local_linear(self.X, self.y, point, metric, profile, 1e-8)[1] for point in points]
        return points, np.array(gradients)

    def draw_points(self, axis: Any, step: int | None = None) -> None:
        """Points colored by label, as opaque as their weight at a step, and the query."""
        opacity = 0.9 if step is None else self.weights(step) / self.weights(step).max()
        if step is not None:
            axis.scatter(*self.X.T, s=7, color="0.88", zorder=0)
        axis.scatter(*self.X.T, s=14, c=self.y, cmap="viridis", alpha=opacity, lw=0)
        axis.plot(*QUERY, "+", color=POINT, ms=14, mew=2.5)
        axis.set(xlim=(0.0, 1.85), ylim=(-1.6, 1.6), aspect="equal")
        axis.set_axis_off()

    def draw_ellipse(self, axis: Any, step: int, color: str = POINT) -> None:
        """One standard deviation of the neighborhood, as far as there are data."""
        turn = np.linspace(0, 2 * np.pi, 200)
        values, vectors = np.linalg.eigh(2.0 * self.trace.metric[step, 0])
        radii = np.minimum(1.0 / np.sqrt(values), 0.75)
        axis.plot(
            *(QUERY[:, None] + vectors @ (radii[:, None] * [np.cos(turn), np.sin(turn)])), color=color, lw=2
        )


def panels(ring: Ring, plt: Any) -> dict[str, Any]:
    """Return the figures of the page by name."""
    figures = {}
    figure, axis = plt.subplots(figsize=(4.4, 4), layout="constrained")
    ring.draw_points(axis)
    figures["method_1_data"] = figure

    figure, axis = plt.subplots(figsize=(4.4, 4), layout="constrained")
    ring.draw_points(axis, 1)
    ring.draw_ellipse(axis, 1)
    points, gradients = ring.slopes(1, 28)
    axis.quiver(*points.T, *gradients.T, color=ARROW, width=0.012, scale=9, zorder=5)
    figures["method_2_slopes"] = figure

    figure, axes = plt.subplots(1, 2, figsize=(7.4, 3.6), layout="constrained")
    _draw_outer_products(axes[0], gradients)
    ring.draw_points(axes[1], 1)
    ring.draw_ellipse(axes[1], 1, INK)
    ring.draw_ellipse(axes[1], 6)
    figures["method_3_metric"] = figure

    figure, axes = plt.subplots(1, 4, figsize=(11, 2.9), layout="constrained")
    for axis, step in zip(axes, (0, 3, 15, ring.chosen), strict=True):
        ring.draw_points(axis, step)
        ring.draw_ellipse(axis, step)
        axis.set_title(f"step {step}: {ring.trace.effective_size[step, 0]:.0f} points count", color=INK)
    figures["method_4_steps"] = figure
    return figures


def _draw_outer_products(axis: Any, gradients: NDArray[np.float64]) -> None:
    """Slopes from one origin, and the ellipse of their averaged outer product."""
    axis.quiver(
        *np.zeros_like(gradients).T,
        *gradients.T,
        color=ARROW,
        width=0.006,
        angles="xy",
        scale_units="xy",
        scale=1,
    )
    values, vectors = np.linalg.eigh(gradients.T @ gradients / len(gradients))
    turn = np.linspace(0, 2 * np.pi, 200)
    axis.plot(
        *(vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * [np.cos(turn), np.sin(turn)])),
        color=POINT,
        lw=2,
    )
    reach = 1.1 * np.abs(gradients).max()
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.set_xlabel("slope along feature 0", color=INK)
    axis.set_ylabel("slope along feature 1", color=INK)


def animate(ring: Ring, plt: Any, path: Path) -> None:
    """Write the neighborhood at growing steps as a small GIF."""
    from matplotlib.animation import FuncAnimation, PillowWriter

    figure, axis = plt.subplots(figsize=(4, 3.8), layout="constrained")

    def show(step: int) -> None:
        axis.clear()
        ring.draw_points(axis, step)
        ring.draw_ellipse(axis, step)
        axis.set_title(f"step {step}: {ring.trace.effective_size[step, 0]:.0f} points count", color=INK)

    frames = [*FRAMES, *[FRAMES[-1]] * 4]
    FuncAnimation(figure, show, frames=frames).save(path, writer=PillowWriter(fps=2), dpi=80)


def main() -> None:
    """Write all pictures to a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=FOLDER)
    folder = parser.parse_args().output
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ring = Ring()
    for name, figure in panels(ring, plt).items():
        figure.savefig(folder / f"{name}.png", dpi=130)
    animate(ring, plt, folder / "method_animation.gif")
    print(f"step {ring.chosen} was chosen; pictures are in {folder}")


if __name__ == "__main__":
    main()
