"""Localizations on a gray image: which pixels count at a pixel."""

from __future__ import annotations

import hashlib
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter

from localegop.datasets import image_samples
from localegop.regressor import LocalEGOPRegressor
from localegop.research.paper.drawing import VERMILION, YELLOW, Array
from localegop.research.paper.experiment import Finding, Parameters, Refused, Table, Tables
from localegop.schedules import EffectiveSampleSize

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Localizations on an image"
CAPTIONS = {
    "mandrill": (
        "Each yellow patch is the 125 pixels of largest weight for the red point in its middle, after a "
        "few steps of Algorithm 1; the input is the position of a pixel, the label its gray value. The "
        "frame is magnified on the right. The points are the places with the clearest edges, apart from "
        "each other. The image is a photograph that scikit-image ships (CC0); `--image PATH` takes "
        "another."
    ),
}
_BASE: dict[str, Any] = {
    "image": None,
    "sha256": None,
    "longest_side": 600,
    "points": 6,
    "pixels": 125,
    "schedule": {"start": 300, "stop": 60, "n_steps": 6},
    "n_iter": 4,
    "n_subsamples": 300,
    "max_neighbors": 4000,
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE | {"points": 2, "longest_side": 120, "n_subsamples": 60, "max_neighbors": 1000},
    "quick": _BASE,
    "default": _BASE,
    "full": _BASE | {"n_subsamples": 1000, "max_neighbors": 20000},
}
SMALLEST_SIDE = 50


def image_parameters(path: Path) -> tuple[dict[str, Any], str]:
    """Return the parameters for an image of the user's, and a name for its folder."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Refused(f"cannot read the image '{path}' ({error.strerror}): give another path") from error
    parameters = {"image": str(path), "sha256": hashlib.sha256(content).hexdigest()}
    _gray(_BASE | parameters)
    return parameters, re.sub(r"[^A-Za-z0-9_-]+", "_", path.stem)


def needs(part: str) -> tuple[str, ...]:
    """Return scikit-image, which the default image comes with."""
    return ("skimage",)


def parts(parameters: Parameters) -> dict[str, float]:
    """Return the image, and one part per point."""
    return {"image": 0.2} | {f"point{k + 1}": 1.0 for k in range(parameters["points"])}


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Return the pixels of the image, or the heaviest and the nearest ones of a point."""
    gray = _gray(parameters)
    X, y = image_samples(gray)
    if part == "image":
        return {"row": X[:, 0].astype(int), "column": X[:, 1].astype(int), "gray": y}
    point = edge_points(gray, parameters["points"])[int(part.removeprefix("point")) - 1]
    model = LocalEGOPRegressor(
        "query",
        schedule=EffectiveSampleSize(**parameters["schedule"]),
        n_iter=parameters["n_iter"],
        n_subsamples=parameters["n_subsamples"],
        initial_metric="identity",
        degree=1,
        ridge=1e-3,
        max_neighbors=parameters["max_neighbors"],
        random_state=seed,
        n_jobs=threads,
    )
    trace = model.fit(X, y).localize(point[None], trace=True).trace
    assert trace is not None
    chosen = {"heaviest": trace.metric[-1, 0], "nearest": np.eye(2)}
    tables = [_closest(X, y, point, metric, parameters["pixels"]) for metric in chosen.values()]
    kinds = np.repeat(list(chosen), parameters["pixels"])
    return {"kind": kinds} | {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}


def _closest(X: Array, y: Array, point: Array, metric: Array, count: int) -> Table:
    """Pixels nearest to a point in a metric, the point itself first."""
    offset = X - point
    order = np.argsort(np.einsum("ia,ab,ib->i", offset, metric, offset), kind="stable")[:count]
    return {"row": X[order, 0].astype(int), "column": X[order, 1].astype(int), "gray": y[order]}


def edge_points(gray: Array, count: int) -> Array:
    """Pixels (row, column) on the clearest edges of an image, apart from each other, shape (count, 2)."""
    down, right = (gaussian_filter(gray, 1.5, order=order) for order in ((1, 0), (0, 1)))
    xx, xy, yy = (gaussian_filter(product, 4.0) for product in (right**2, right * down, down**2))
    clarity = np.hypot(xx - yy, 2.0 * xy)  # difference of the eigenvalues of the structure tensor
    margin = [max(8, side // 12) for side in gray.shape]
    rows, columns = np.indices(gray.shape)
    for index, side, edge in zip((rows, columns), gray.shape, margin, strict=True):
        clarity[(index < edge) | (index >= side - edge)] = 0.0
    apart = np.sqrt(gray.size / (2.5 * count))
    points = _peaks(clarity, count, apart)
    while apart > 2.0 and any(clarity[point] < 1e-3 * clarity.max() for point in points):
        apart *= 0.7  # too few clear edges that far from each other
        points = _peaks(clarity, count, apart)
    return np.array(points, dtype=float)


def _peaks(height: Array, count: int, apart: float) -> list[tuple[int, int]]:
    """Highest pixels that are this far apart."""
    left = height.copy()
    rows, columns = np.indices(height.shape)
    points = []
    for _ in range(count):
        row, column = (int(index) for index in np.unravel_index(np.argmax(left), left.shape))
        points.append((row, column))
        left[np.hypot(rows - row, columns - column) < apart] = 0.0
    return points


def _gray(parameters: Parameters) -> Array:
    """Gray values of the image, not larger than asked for, shape (rows, columns)."""
    path = parameters["image"]
    large = _default_image() if path is None else _user_image(Path(path))
    gray = _shrink(large, parameters["longest_side"])
    if min(gray.shape) < SMALLEST_SIDE:
        raise Refused(
            f"the image '{path}' is {large.shape[1]} x {large.shape[0]} pixels: "
            f"give one with sides of at least {SMALLEST_SIDE} that do not differ much"
        )
    if np.ptp(gray) == 0.0:
        raise Refused(f"the image '{path}' has one gray value everywhere: give one that shows something")
    return gray


def _shrink(gray: Array, longest_side: int) -> Array:
    """Average blocks of pixels until no side is longer."""
    factor = -(-max(gray.shape) // longest_side)
    height, width = (side // factor for side in gray.shape)
    blocks = gray[: height * factor, : width * factor].reshape(height, factor, width, factor)
    small: Array = blocks.mean(axis=(1, 3))
    return small


def _default_image() -> Array:
    images: Any = import_module("skimage.data")
    return _as_matrix(images.chelsea())


def _user_image(path: Path) -> Array:
    try:
        from matplotlib.image import imread

        return _as_matrix(np.asarray(imread(path)))
    except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises on other files
        raise Refused(f"cannot read '{path}' as an image: give a PNG or JPEG file") from error


def _as_matrix(pixels: Any) -> Array:
    values: Array = image_samples(pixels)[1].reshape(pixels.shape[:2])
    return values


def draw(tables: Tables, parameters: Parameters) -> dict[str, Figure]:
    """Draw the image with the patches, and a magnified part of it."""
    if "image" not in tables:
        return {}
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    image = tables["image"]
    gray = image["gray"].reshape(image["row"].max() + 1, image["column"].max() + 1)
    height, width = gray.shape
    side = min(height, width) / 3.0
    figure = Figure(figsize=(8.0, 8.0 * height / (width + height) + 0.3), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[width, height])
    low, high = np.quantile(gray, [0.005, 0.995])
    for axis, size in ((left, 2.5), (right, 6.0)):
        axis.imshow(gray, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        _mark_patches(axis, tables, gray.shape, size)
        axis.set(xticks=[], yticks=[])
    if "point1" in tables:
        row, column = (float(tables["point1"][key][0]) for key in ("row", "column"))
        top, first = np.clip(row - side / 2, 0, height - side), np.clip(column - side / 2, 0, width - side)
        left.add_patch(Rectangle((first, top), side, side, fill=False, color=VERMILION, lw=1.5))
        right.set(xlim=(first, first + side), ylim=(top + side, top))
        for spine in right.spines.values():
            spine.set(color=VERMILION, linewidth=2.0)
    left.set_xlabel(f"{width} x {height} pixels")
    right.set_xlabel(f"the frame, {side:.0f} x {side:.0f} pixels")
    return {"mandrill": figure}


def _mark_patches(axis: Any, tables: Tables, shape: tuple[int, ...], size: float) -> None:
    """Tint the pixels of the patches, and mark the points in their middle."""
    from matplotlib.colors import to_rgba

    tint = np.zeros((*shape, 4))
    patches = [table for part, table in tables.items() if part != "image"]
    for table in patches:
        chosen = table["kind"] == "heaviest"
        tint[table["row"][chosen], table["column"][chosen]] = to_rgba(YELLOW, 0.75)
    axis.imshow(tint, interpolation="nearest")
    for table in patches:
        axis.plot(table["column"][0], table["row"][0], "o", ms=size, color=VERMILION, mec="white", mew=0.5)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare patches with discs of as many pixels."""
    shapes = [_patch_shape(table) for part, table in tables.items() if part != "image"]
    if not shapes:
        return []
    ratio, elongation = np.array(shapes).T
    narrower = int(np.count_nonzero(ratio < 1.0))
    return [
        Finding(
            "localizations follow the contours of the image",
            "shown as a picture: patches along edges and stripes",
            f"{narrower} of {len(shapes)} patches vary less in gray value than the disc of as many pixels, "
            f"the median one {np.median(ratio):.2f} times as much; they are "
            f"{np.median(elongation):.1f} times as long as wide",
            "yes" if narrower == len(shapes) else "in part" if 2 * narrower > len(shapes) else "no",
        )
    ]


def _patch_shape(table: Table) -> tuple[float, float]:
    """Spread of the gray values relative to that of the disc, and length over width of the patch."""
    heavy, near = table["kind"] == "heaviest", table["kind"] == "nearest"
    position = np.column_stack([table["row"][heavy], table["column"][heavy]]).astype(float)
    short, long = np.linalg.eigvalsh(np.cov(position.T))
    spread = table["gray"][heavy].std() / max(table["gray"][near].std(), 1e-12)
    return float(spread), float(np.sqrt(long / max(short, 1e-12)))
