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
from localegop.research.paper import _side_by_side as side_by_side
from localegop.research.paper.drawing import VERMILION, YELLOW, Array
from localegop.research.paper.experiment import Finding, Parameters, Refused, Table, Tables, Verdict
from localegop.schedules import EffectiveSampleSize

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Localizations on an image"
CAPTIONS = {
    "mandrill": (
        "Each yellow patch is the 125 pixels of largest weight for the red point in its middle; the input "
        "is the position of a pixel, the label its gray value. Top: Algorithm 1 with the paper's constants "
        "(h_t = (1 + t)^-1.2, 150 steps), at the step that line 14 keeps; these constants are lengths, and "
        "the longer side of the image is taken as 16, so that the exclusion radius is a tenth of it. "
        "Bottom: a recursion for each point as in Algorithm 1, but with four effective sizes from 300 "
        "pixels down. The paper does not say which settings made its picture. The frame is magnified on "
        "the right. The points are the places with the clearest edges, apart from each other. The image "
        "is a photograph that scikit-image ships (CC0). The paper's own, the mandrill, is not shipped, "
        "since its license is not known: `localegop paper run mandrill --image mandrill.png` draws it, or "
        "any other image, from a file."
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
    "errors": {"n_train": 2000, "n_test": 300},
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "tiny": _BASE
    | {"points": 2, "longest_side": 120, "n_subsamples": 60, "max_neighbors": 1000}
    | {"errors": {"n_train": 80, "n_test": 4}},
    "quick": _BASE | {"errors": {"n_train": 1000, "n_test": 100}},
    "default": _BASE,
    "full": _BASE | {"n_subsamples": 1000, "max_neighbors": 20000},
}
SMALLEST_SIDE = 50
REVISION = 3  # both schedules
_LONGER_SIDE = 16.0  # of the image, in the unit of the paper's lengths
SCHEDULES = {"paper": "Algorithm 1", "sizes": "effective sizes"}


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
    """Return the image, one part per point and schedule, and errors."""
    points = range(1, parameters["points"] + 1)
    seconds = {"paper": 5.0, "sizes": 1.0}
    patches = {f"point{k}-{schedule}": seconds[schedule] for schedule in SCHEDULES for k in points}
    return {"image": 0.2} | patches | side_by_side.error_parts(parameters)


def compute(part: str, parameters: Parameters, seed: int, threads: int) -> Table:
    """Return the pixels of the image, or the heaviest and the nearest ones of a point."""
    gray = _gray(parameters)
    X, y = image_samples(gray)
    if part == "image":
        return {"row": X[:, 0].astype(int), "column": X[:, 1].astype(int), "gray": y}
    if side_by_side.is_error_part(part):
        return side_by_side.measure(part, _error_rows(X, y, gray.shape, parameters, seed), seed, threads)
    name, schedule = part.split("-")
    point = edge_points(gray, parameters["points"])[int(name.removeprefix("point")) - 1]
    learn = _papers_metric if schedule == "paper" else _metric_by_sizes
    metric = learn(X, y, point, parameters, random_state=seed, n_jobs=threads)
    chosen = {"heaviest": metric, "nearest": np.eye(2)}
    tables = [_closest(X, y, point, metric, parameters["pixels"]) for metric in chosen.values()]
    kinds = np.repeat(list(chosen), parameters["pixels"])
    return {"kind": kinds} | {key: np.concatenate([table[key] for table in tables]) for key in tables[0]}


def _papers_metric(X: Array, y: Array, point: Array, parameters: Parameters, **options: Any) -> Array:
    """Metric of the step that Algorithm 1 keeps, positions as `_in_units_of_the_image`."""
    settings = LocalEGOPRegressor.paper_parameters() | {"n_subsamples": parameters["n_subsamples"]}
    shape = X.max(axis=0) + 1.0
    model = LocalEGOPRegressor(**settings, **options).fit(_in_units_of_the_image(X, shape), y)
    fits = model.localize(_in_units_of_the_image(point[None], shape), trace=True)
    assert fits.trace is not None
    metric: Array = fits.trace.metric[fits.step[0], 0]
    return metric


def _in_units_of_the_image(positions: Array, shape: Any) -> Array:
    """Positions from the middle; the paper's lengths need a unit."""
    middle = (np.asarray(shape, dtype=float) - 1.0) / 2.0
    scaled: Array = (positions - middle) * (_LONGER_SIDE / np.max(shape))
    return scaled


def _metric_by_sizes(X: Array, y: Array, point: Array, parameters: Parameters, **options: Any) -> Array:
    """Metric after a few effective sizes, positions in pixels."""
    model = LocalEGOPRegressor(
        "query",
        schedule=EffectiveSampleSize(**parameters["schedule"]),
        n_iter=parameters["n_iter"],
        n_subsamples=parameters["n_subsamples"],
        initial_metric="identity",
        degree=1,
        ridge=1e-3,
        max_neighbors=parameters["max_neighbors"],
        **options,
    )
    trace = model.fit(X, y).localize(point[None], trace=True).trace
    assert trace is not None
    metric: Array = trace.metric[-1, 0]
    return metric


def _error_rows(X: Array, y: Array, shape: Any, parameters: Parameters, seed: int) -> side_by_side.Rows:
    """Pixels drawn at random; the queries are left out."""
    count = min(side_by_side.n_rows(parameters), len(y))
    some = np.random.default_rng(seed).permutation(len(y))[:count]
    positions = _in_units_of_the_image(X[some], shape)
    return side_by_side.split_off_queries(positions, y[some], y[some], parameters)


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

    image = tables["image"]
    gray = image["gray"].reshape(image["row"].max() + 1, image["column"].max() + 1)
    height, width = gray.shape
    figure = Figure(figsize=(8.0, 16.0 * height / (width + height) + 0.3), layout="constrained")
    rows = figure.subplots(2, 2, width_ratios=[width, height])
    for axes, (schedule, title) in zip(rows, SCHEDULES.items(), strict=True):
        _draw_row(axes, gray, patches_of(tables, schedule))
        axes[0].set_ylabel(title)
    rows[-1][0].set_xlabel(f"{width} x {height} pixels")
    side = _side_of_frame(gray)
    rows[-1][1].set_xlabel(f"the frame, {side:.0f} x {side:.0f} pixels")
    return {"mandrill": figure}


def patches_of(tables: Tables, schedule: str) -> dict[str, Table]:
    """Tables of the points with one schedule, by point."""
    return {
        part.split("-")[0]: table
        for part, table in tables.items()
        if part.startswith("point") and part.endswith(f"-{schedule}")
    }


def _side_of_frame(gray: Array) -> float:
    return float(min(gray.shape)) / 3.0


def _draw_row(axes: Any, gray: Array, patches: dict[str, Table]) -> None:
    """Draw the image with patches, and the part of it around the first point, magnified."""
    from matplotlib.patches import Rectangle

    left, right = axes
    (height, width), side = gray.shape, _side_of_frame(gray)
    low, high = np.quantile(gray, [0.005, 0.995])
    for axis, size in ((left, 2.5), (right, 6.0)):
        axis.imshow(gray, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        _mark_patches(axis, patches, gray.shape, size)
        axis.set(xticks=[], yticks=[])
    if "point1" in patches:
        row, column = (float(patches["point1"][key][0]) for key in ("row", "column"))
        top, first = np.clip(row - side / 2, 0, height - side), np.clip(column - side / 2, 0, width - side)
        left.add_patch(Rectangle((first, top), side, side, fill=False, color=VERMILION, lw=1.5))
        right.set(xlim=(first, first + side), ylim=(top + side, top))
        for spine in right.spines.values():
            spine.set(color=VERMILION, linewidth=2.0)


def _mark_patches(axis: Any, patches: dict[str, Table], shape: tuple[int, ...], size: float) -> None:
    """Tint the pixels of the patches, and mark the points in their middle."""
    from matplotlib.colors import to_rgba

    tint = np.zeros((*shape, 4))
    for table in patches.values():
        chosen = table["kind"] == "heaviest"
        tint[table["row"][chosen], table["column"][chosen]] = to_rgba(YELLOW, 0.75)
    axis.imshow(tint, interpolation="nearest")
    for table in patches.values():
        axis.plot(table["column"][0], table["row"][0], "o", ms=size, color=VERMILION, mec="white", mew=0.5)


def summary(tables: Tables, parameters: Parameters) -> Table:
    """Errors of Algorithm 1 and of field Local EGOP on these data."""
    return side_by_side.error_summary(tables)


def findings(tables: Tables, parameters: Parameters) -> list[Finding]:
    """Compare patches with discs of as many pixels."""
    found = [_contours(patches_of(tables, schedule), schedule) for schedule in SCHEDULES]
    return [*(each for each in found if each is not None), *side_by_side.error_findings(tables)]


def _contours(patches: dict[str, Table], schedule: str) -> Finding | None:
    """Say whether patches follow contours; only Algorithm 1 is compared with the paper."""
    if not patches:
        return None
    ratio, elongation = np.array([_patch_shape(table) for table in patches.values()]).T
    narrower, count = int(np.count_nonzero(ratio < 1.0)), len(ratio)
    verdict: Verdict = "yes" if narrower == count else "in part" if 2 * narrower > count else "no"
    return Finding(
        f"localizations follow the contours of the image ({SCHEDULES[schedule]})",
        "shown as a picture: patches along edges and stripes",
        f"{narrower} of {count} patches vary less in gray value than the disc of as many pixels, "
        f"the median one {np.median(ratio):.2f} times as much; they are "
        f"{np.median(elongation):.1f} times as long as wide",
        verdict if schedule == "paper" else "not compared",
    )


def _patch_shape(table: Table) -> tuple[float, float]:
    """Spread of the gray values relative to that of the disc, and length over width of the patch."""
    heavy, near = table["kind"] == "heaviest", table["kind"] == "nearest"
    position = np.column_stack([table["row"][heavy], table["column"][heavy]]).astype(float)
    short, long = np.linalg.eigvalsh(np.cov(position.T))
    spread = table["gray"][heavy].std() / max(table["gray"][near].std(), 1e-12)
    return float(spread), float(np.sqrt(long / max(short, 1e-12)))
