"""Axes for the recursion to start from: turned and scaled by the slopes that f has over all data.

The eigenvectors of the averaged outer product of gradients over all data, scaled by the roots of its
eigenvalues, are axes along which f varies alike. The gradients are those of a global process of some rows
(:mod:`localegop._engine.global_kriging`) or, where rows are many, of pilot fits that look at all of them.
In the axes that they give, fits are better than before, and a few rounds sharpen them. Directions in which
f varies nowhere can be left out: columns of pure noise, and whatever f does not see of the features, cost
nothing from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from localegop._data.sums import Extent
from localegop._data.units import rotate
from localegop._engine.blas import limited_blas
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess
from localegop._engine.gradient_field import spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.metric import spectrum
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.pilot_fits import run_pilot
from localegop._selection.feature_lengths import find_feature_weights
from localegop._selection.global_search import GlobalSearch

Array = NDArray[np.float64]

MOST_ROUNDS = 4
MOST_PILOT_ROUNDS, PILOT_GAIN = 8, 0.99  # the same with pilot fits
GAIN = 0.98  # a round must lower the leave-one-out error to this share to be followed by another
MANY_PER_FEATURE = 25  # rows, from which on lengths of single features tell little of single labels
SAMPLE = 400  # rows whose process gives the slopes
NEGLIGIBLE = 1e-7  # share of the squared slopes below which a direction is left out
KEPT_SCALE = 0.05  # shortest axis as a share of the longest: what looks flat at first may not be


@dataclass(frozen=True)
class AxisRule:
    """How axes follow from slopes: lengths are this power of the squared slopes along them.

    Directions with a smaller share of the squared slopes than ``negligible`` are left out, the others are
    at least ``shortest`` times the longest. ``single`` axes are the features.
    """

    power: float
    negligible: float = -1.0
    shortest: float = KEPT_SCALE
    single: bool = False


SHARP, PILOT = AxisRule(0.5, NEGLIGIBLE), AxisRule(0.5)
GENTLE, FEATURES = AxisRule(0.25), AxisRule(0.5, NEGLIGIBLE, 1e-3, single=True)
RULES: dict[str, AxisRule] = {  # by origin
    **{"slopes": SHARP, "gentle": GENTLE, "features": FEATURES},
    **{"given": SHARP, "given gently": GENTLE},
}


@dataclass(frozen=True)
class Sample:
    """Some rows, whose process gives the slopes, and the extent of all."""

    rows: LocalData
    extent: Extent
    _first_agops: dict[GlobalKriging, Array] = field(
        default_factory=dict, repr=False
    )  # in the axes as given

    @classmethod
    def take(cls, backend: Backend[D, M_co], data: D) -> Sample:
        """Take some of the rows."""
        return cls(backend.gather(data, spread_points(data.n, SAMPLE)), backend.extent(data))

    def search(self, axes: Array) -> GlobalSearch:
        """Search for a process of these rows in some axes."""
        return GlobalSearch(
            rotate(self.rows.rows, axes), self.rows.labels, self.rows.sample_weight, self.rows.threads
        )

    def first_agop(self, process: GlobalKriging) -> Array:
        """Average outer product (D, D) of the gradients of a process in the axes as given, found once."""
        if process not in self._first_agops:
            self._first_agops[process] = self.agop(process, np.eye(self.rows.dimension))
        return self._first_agops[process]

    def agop(self, process: GlobalKriging, axes: Array) -> Array:
        """Average outer product (D, D) of the gradients of a process in some axes."""
        rows, weight = rotate(self.rows.rows, axes), self.rows.sample_weight
        solved = SolvedProcess(process, rows, self.rows.labels, weight)
        return global_agop(axes, solved.gradients_without_own(), weight)


@dataclass(frozen=True)
class FirstRound:
    """The process that does best in the axes as given, and its leave-one-out error."""

    process: GlobalKriging
    error: float

    @classmethod
    def find(cls, sample: Sample, guesses: Sequence[GlobalKriging] = ()) -> FirstRound:
        """Find it, near guesses if there are any, which saves time."""
        search = sample.search(np.eye(sample.rows.dimension))
        process = search.best(guesses or search.first_guesses())[0]
        return cls(process, search.error(process))


@dataclass(frozen=True)
class Slopes:
    """Averaged outer product (D, D) of gradients over all data, and the processes of the rounds to it.

    Of single features it is a diagonal matrix that stands for one.
    """

    agop: Array
    rounds: list[GlobalKriging]


def find_slopes(sample: Sample, first: FirstRound) -> Slopes:
    """Find the slopes of f by rounds of processes, each in axes from the slopes of the one before."""
    rounds, least, agop = [first.process], first.error, sample.first_agop(first.process)
    while len(rounds) < MOST_ROUNDS:
        axes = axes_from(sample.extent, agop, GENTLE)
        search = sample.search(axes)
        process = search.best(rounds[-1:])[0]
        error = search.error(process)
        if not error < GAIN * least:
            break
        least = error
        rounds.append(process)
        agop = sample.agop(process, axes)
    return Slopes(agop, rounds)


def repeat_slopes(sample: Sample, rounds: Sequence[GlobalKriging]) -> Array:
    """Find the slopes (D, D) of f in some of the data, by the rounds of processes found in all.

    Lengths and ridges tell next to nothing of the labels that are left out.
    """
    agop = sample.first_agop(rounds[0])
    for process in rounds[1:]:
        agop = sample.agop(process, axes_from(sample.extent, agop, GENTLE))
    return agop


def find_single_slopes(sample: Sample, whole: Slopes | None = None) -> Slopes:
    """Find how much f varies along each feature by itself, without rounds of processes.

    What all rows said is where some of them start, to save time, if there are many rows for each feature:
    then it tells next to nothing of the labels that are left out.

    Where features are many for the number of rows, turned axes follow the noise of the labels, and columns
    of noise are found in this way only.
    """
    rows = sample.rows
    known = None
    if whole is not None and rows.n >= MANY_PER_FEATURE * rows.dimension:
        known = np.sqrt(np.diagonal(whole.agop))
    weights = find_feature_weights(rows.rows, rows.labels, rows.sample_weight, known)
    return Slopes(np.diag(weights**2), [])


def find_axes_by_pilots(
    backend: Backend[D, M_co],
    data: D,
    ridges: tuple[float, ...],
    held_out: NDArray[np.intp] | None = None,
) -> Array:
    """Axes (D, D) from rounds of pilot fits, without some points if given.

    With many rows these see more of f than a process of some of them does. The axes stay as they are if
    slopes do not help.
    """

    def seen(some: D) -> D:
        return some if held_out is None else some.without(held_out)

    axes = best = np.eye(data.dimension)
    rotated, error = seen(data), np.inf
    found = backend.extent(rotated)
    for _ in range(MOST_PILOT_ROUNDS):
        pilot = run_pilot(backend, rotated, ridges, gradients=True)
        if pilot.error < error:
            best = axes
        if not 0.0 < pilot.error < PILOT_GAIN * error:
            break
        error = pilot.error
        agop = global_agop(axes, pilot.gradients, pilot.sample_weight)
        axes = axes_from(found, agop, PILOT)
        rotated = seen(data.rotated(axes))
    return best


def global_agop(axes: Array, gradients: Array, sample_weight: Array) -> Array:
    """Average outer product (D, D) of gradients (m, K, r) found in some axes, in the units before them."""
    there = np.einsum("ab,nkb->nka", axes, gradients)
    # without BLAS, whose sums may depend on the number of threads
    weight = sample_weight / sample_weight.sum()
    agop: Array = np.einsum("n,nka,nkb->ab", weight, there, there, optimize=False)
    return agop


def axes_from_gradients(data: LocalData, found: Extent, rule: AxisRule) -> Array:
    """Axes (D, r) from the gradients that were given with data of this extent."""
    assert data.slopes is not None
    with limited_blas(1, 1):  # sums of BLAS may depend on the number of threads
        agop = data.slopes.agop(data.sample_weight)
    return axes_from(found, agop, rule)


def axes_from(found: Extent, agop: Array, rule: AxisRule = SHARP) -> Array:
    """Axes (D, r) by which rows are to be multiplied, for the AGOP (D, D) over all data."""
    scale = np.where(found.constant, 0.0, found.std)
    slopes = agop * scale * scale[:, None]
    values, vectors = spectrum(np.diag(np.diagonal(slopes)) if rule.single else slopes)
    if not values[0] > 0.0:
        return np.eye(len(scale))
    kept = values > rule.negligible * values.sum()
    lengths = np.maximum((values[kept] / values[0]) ** rule.power, rule.shortest)
    per_unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0)
    axes: Array = per_unit[:, None] * vectors[:, kept] * lengths
    return axes
