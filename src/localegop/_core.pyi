from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

instruction_set: str  # in use: the fastest, or what the environment variable LOCALEGOP_ISA names
instruction_sets: tuple[str, ...]  # that this processor can run, slowest first

class Points:
    def __init__(self, rows: Array, labels: Array, share: Array) -> None: ...

class Rule:
    def __init__(
        self, kernel: int, cutoff: float, tolerance: float, profile: Callable[[Array], Array] | None
    ) -> None: ...

class Neighborhoods:
    nbytes: int
    scale: Array
    effective_size: Array
    def outer_products(self, gradients: Array, out: Array, threads: int) -> None: ...
    def means(self, values: Array, threads: int) -> Array: ...
    def neighbors(self, center: int) -> tuple[NDArray[np.int32], Array]: ...

def localize(
    points: Points,
    rule: Rule,
    centers: Array,
    metrics: Array,
    start: NDArray[np.int64] | None,
    indices: NDArray[np.int32] | None,
    left_out: NDArray[np.int64] | None,
    targets: Array | None,
    scales: Array | None,
    keep: bool,
    kept_targets: Array | None,
    degree: int,
    bends: Sequence[int],
    ridges: Sequence[float],
    gradients: bool,
    variances: bool,
    threads: int,
) -> tuple[Neighborhoods, Array, Array, Array, Array, Array]: ...
def krige(
    points: Points,
    rule: Rule,
    centers: Array,
    metrics: Array,
    start: NDArray[np.int64] | None,
    indices: NDArray[np.int32] | None,
    left_out: NDArray[np.int64] | None,
    targets: Array,
    most: int,
    lengths: Sequence[float],
    ridges: Sequence[float],
    trends: Sequence[bool],
    rough: Sequence[bool],
    gradients: bool,
    variances: bool,
    threads: int,
) -> tuple[Array, Array, Array, Array, Array]: ...
def sampled_steps(
    points: Points,
    rule: Rule,
    queries: Array,
    metrics: Array,
    start: NDArray[np.int64] | None,
    indices: NDArray[np.int32] | None,
    targets: Array | None,
    scales: Array | None,
    seeds: NDArray[np.uint64],
    t: int,
    subsamples: int,
    weighting: int,
    ridge: float,
    threads: int,
) -> tuple[Array, Array, Array, Array, Array, Array]: ...
def nearest(points: Points, centers: Array, out: NDArray[np.int32], threads: int) -> None: ...
def gram(columns: Array) -> Array: ...
