from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

instruction_set: str  # in use: the fastest, or what the environment variable LOCALEGOP_ISA names
instruction_sets: tuple[str, ...]  # that this processor can run, slowest first
threading: str  # what loops run on: "openmp" or "std::thread"
kernels: tuple[tuple[str, float, bool], ...]  # name, support, whether shift invariant

def kernel_profile(name: str, squared_distances: Array) -> Array: ...

class Points:
    def __init__(
        self, rows: Array, labels: Array, sample_weights: Array, slopes: Array | None = None
    ) -> None: ...

class KernelSpec:
    @staticmethod
    def named(name: str, cutoff: float, tolerance: float) -> KernelSpec: ...
    @staticmethod
    def custom(
        profile: Callable[[Array], Array],
        support: float,
        shift_invariant: bool,
        cutoff: float,
        tolerance: float,
    ) -> KernelSpec: ...

class Neighborhoods:
    nbytes: int
    scale: Array
    effective_size: Array
    def outer_products(self, gradients: Array, out: Array, threads: int) -> None: ...
    def means(self, values: Array, threads: int) -> Array: ...
    def neighbors(self, center: int) -> tuple[NDArray[np.int32], Array]: ...

def localize(
    points: Points,
    kernel: KernelSpec,
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
    quadratic_directions: Sequence[int],
    ridges: Sequence[float],
    gradients: bool,
    variances: bool,
    threads: int,
    logistic: bool = False,
    slope_weight: float = 0.0,
) -> tuple[Neighborhoods, Array, Array, Array, Array, Array]: ...
def krige(
    points: Points,
    kernel: KernelSpec,
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

class KeptFits:
    nbytes: int
    @staticmethod
    def polynomials(
        points: Points,
        kernel: KernelSpec,
        centers: Array,
        metrics: Array,
        start: NDArray[np.int64] | None,
        indices: NDArray[np.int32] | None,
        targets: Array | None,
        scales: Array | None,
        degree: int,
        quadratic_directions: int,
        ridge: float,
        threads: int,
        slope_weight: float = 0.0,
    ) -> KeptFits: ...
    @staticmethod
    def kriging(
        points: Points,
        kernel: KernelSpec,
        centers: Array,
        metrics: Array,
        start: NDArray[np.int64] | None,
        indices: NDArray[np.int32] | None,
        targets: Array | None,
        scales: Array | None,
        most: int,
        length: float,
        ridge: float,
        trend: bool,
        rough: bool,
        threads: int,
    ) -> KeptFits: ...
    def blend(
        self,
        queries: Array,
        lists: NDArray[np.int32],
        active: int,
        threads: int,
        gradients: bool = False,
    ) -> tuple[Array, Array, Array]: ...

def sampled_steps(
    points: Points,
    kernel: KernelSpec,
    queries: Array,
    metrics: Array,
    start: NDArray[np.int64] | None,
    indices: NDArray[np.int32] | None,
    targets: Array | None,
    scales: Array | None,
    seeds: NDArray[np.uint64],
    t: int,
    subsamples: int,
    ridge: float,
    weighting: str,
    threads: int,
) -> tuple[Array, Array, Array, Array, Array, Array, Array]: ...
def nearest(points: Points, centers: Array, out: NDArray[np.int32], threads: int) -> None: ...
def covariances(
    rows: Array,
    centers: Array,
    kernel: str,
    scale: float,
    constant: float,
    slope: float,
    squared: Array | None,
    kernels: Array | None,
    covariances: Array | None,
    lower: bool,
    threads: int,
) -> None: ...
def city_block(rows: Array, centers: Array, out: Array, lower: bool, threads: int) -> None: ...
def weighted_distances(rows: Array, matrix: Array, out: Array) -> None: ...
def gram(columns: Array) -> Array: ...
