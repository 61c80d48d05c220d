"""Errors of choices at points that were held out, by fields learned without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.final_fits import MAX_KRIGING_POINTS, Kriging, Polynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData
from localegop._engine.sites import Site
from localegop._engine.work import KrigingFits, PolynomialFits
from localegop._selection.losses import Loss, SquaredError

Array = NDArray[np.float64]

BLOCK = 512  # points whose shapes are kept at a time
MIXED = 60  # points of a fold that come one after the other where those of all folds are mixed


class LearnedFold:
    """A field learned without some points, these points, and the anchors at which it is learned.

    Parameters
    ----------
    start : GradientField
        The field before anything is learned, which is all that step 0 needs.
    held_out, anchors : Site
    learn : callable
        Learns the field, once it is needed, by gradients of some effective size or, for None, of the usual.
    see_farther : callable
        Gives the site of the points held out where they look at many more neighbors.
    gather : callable
        Gives all rows but those held out, in this process, for global processes.
    """

    def __init__(
        self,
        start: GradientField,
        held_out: Site,
        anchors: Site,
        learn: Callable[[float | None], GradientField],
        see_farther: Callable[[], Site],
        gather: Callable[[], LocalData],
    ) -> None:
        self.start, self.held_out, self.anchors = start, held_out, anchors
        self._see_farther, self._gather = see_farther, gather
        self.field = cache(learn)

    @cached_property
    def seeing_farther(self) -> Site:
        """Site of the points held out, for wide neighborhoods."""
        return self._see_farther()

    @cached_property
    def everything(self) -> LocalData:
        """All rows but those held out."""
        return self._gather()

    def relabelled(self, points: NDArray[np.intp], labels: Array) -> LearnedFold:
        """Return the same with some of the points held out, which have other labels (m, K)."""
        return LearnedFold(
            self.start,
            self.held_out.pick(points).relabelled(labels),
            self.anchors,
            self.field,
            lambda: self.seeing_farther.pick(points).relabelled(labels),
            lambda: self.everything,
        )

    def field_for(self, choices: Sequence[Choice]) -> GradientField:
        """Return what some choices, whose gradients are of one size, need to know of the field."""
        moved = any(choice.step > 0 for choice in choices)
        return self.field(choices[0].gradient_size) if moved else self.start

    def sites(
        self, choices: Sequence[Choice], points: NDArray[np.intp]
    ) -> Iterator[tuple[Site, NDArray[np.intp]]]:
        """Give some of the points held out, with the choices that their neighbors are enough for."""
        wide = np.array([is_wide(choice, self.start) for choice in choices], dtype=bool)
        for far in (False, True):
            if (wide == far).any():
                site = self.seeing_farther if far else self.held_out
                yield site.pick(points), np.flatnonzero(wide == far)


def mixed_parts(counts: Sequence[int]) -> list[tuple[int, NDArray[np.intp]]]:
    """Numbers of folds and of points there: so many first points of every fold, some of each in turn."""
    return [
        (k, np.arange(start, min(start + MIXED, count)))
        for start in range(0, max(counts), MIXED)
        for k, count in enumerate(counts)
        if start < count
    ]


def is_wide(choice: Choice, field: GradientField) -> bool:
    """Whether a choice needs more neighbors than the usual field is learned with."""
    wide_gradients = choice.gradient_size is not None
    return wide_gradients or (choice.size is not None and choice.size > field.largest_size)


class Holdout:
    """The held-out points of all folds, one fold after the other, each learned when it is needed.

    Parameters
    ----------
    learn : callable
        Gives the fold of a number.
    sizes : sequence of int
        Numbers of points that the folds hold out.
    kriging_points : int
        Neighbors that kriging uses at most.
    loss : Loss or None
        What errors are; squared errors if none is given.
    noise : float or None
        Of the labels that fits are made to, where those held out tell less; None where they tell it.
    """

    def __init__(
        self,
        learn: Callable[[int], LearnedFold],
        sizes: Sequence[int],
        kriging_points: int = MAX_KRIGING_POINTS,
        loss: Loss | None = None,
        noise: float | None = None,
    ) -> None:
        self.loss, self.noise = SquaredError() if loss is None else loss, noise
        self._learn, self._learned, self.kriging_points = learn, dict[int, LearnedFold](), kriging_points
        self._ends = np.cumsum(sizes)
        self._known: dict[Choice, Array] = {}  # errors at the first points, which races ask for repeatedly

    @property
    def count(self) -> int:
        """Number of points held out, in all folds."""
        return int(self._ends[-1])

    @property
    def first_count(self) -> int:
        """Number of points held out of the first fold."""
        return int(self._ends[0])

    def fold(self, k: int) -> LearnedFold:
        """Return a fold, learned now or before."""
        if k not in self._learned:
            self._learned[k] = self._learn(k)
        return self._learned[k]

    def relabelled(self, labels: Sequence[Array], noise: float | None = None) -> Holdout:
        """Take the first points of every fold, with other labels (m, K), some of each fold in turn.

        Where those have less noise than the labels that fits are made to, the noise of these is given.
        """
        parts = mixed_parts([len(own) for own in labels])

        def part(number: int) -> LearnedFold:
            k, points = parts[number]
            return self.fold(k).relabelled(points, labels[k][points])

        sizes = [len(points) for _, points in parts]
        return Holdout(part, sizes, self.kriging_points, self.loss, noise)

    def with_kriging_points(self, most: int) -> Holdout:
        """Take the same points, with kriging that uses other numbers of neighbors."""
        return Holdout(self.fold, np.diff(self._ends, prepend=0).tolist(), most, self.loss)

    def errors(self, choices: Sequence[Choice], start: int, stop: int) -> tuple[Array, Array]:
        """Errors (point, choice) at held-out points from ``start`` to ``stop``; their weights.

        They are remembered: a choice that joins several races is not measured twice.
        """
        start, stop = min(start, self.count), min(stop, self.count)
        groups = defaultdict[int, list[Choice]](list)
        for choice in dict.fromkeys(choices):
            groups[min(len(self._known.get(choice, ())), stop)].append(choice)
        beyond: dict[Choice, Array] = {}  # what was asked for without the points before
        for known, some in groups.items():
            found = self._measure(self._errors_at, some, max(known, start), stop).T
            if known < start:
                beyond |= dict(zip(some, found, strict=True))
                continue
            for choice, more in zip(some, found, strict=True):
                self._known[choice] = np.append(self._known.get(choice, ()), more)
        columns = [beyond[one] if one in beyond else self._known[one][start:stop] for one in choices]
        return np.column_stack([np.zeros((stop - start, 0)), *columns]), self._weights(start, stop)

    def variances(self, choices: Sequence[Choice], stop: int) -> Array:
        """Mean variance factors (choice,) of choices at the first held-out points."""
        found = self._measure(variances_at, choices, 0, min(stop, self.count))
        return weighted_means(found, self._weights(0, min(stop, self.count)))

    def predictions(self, choice: Choice, stop: int) -> tuple[Array, Array, Array]:
        """Values and labels (point, output) at the first held-out points, and their weights (point,)."""
        found = []
        for fold, points in self._parts(0, min(stop, self.count)):
            for site, _ in fold.sites([choice], points):
                values = values_at(fold, site, [choice], self.kriging_points)[:, 0]
                found.append((values, site.labels, site.sample_weight))
        values, labels, weight = (np.concatenate(each) for each in zip(*found, strict=True))
        return values, labels, weight

    def _errors_at(self, fold: LearnedFold, site: Site, choices: Sequence[Choice]) -> Array:
        return errors_at(fold, site, choices, self.kriging_points, self.loss)

    def _weights(self, start: int, stop: int) -> Array:
        """Weights of the held-out points of a range."""
        parts = [fold.held_out.sample_weight[points] for fold, points in self._parts(start, stop)]
        return np.concatenate([np.zeros(0), *parts])

    def _measure(
        self,
        measure: Callable[[LearnedFold, Site, Sequence[Choice]], Array],
        choices: Sequence[Choice],
        start: int,
        stop: int,
    ) -> Array:
        """Measure something (point, choice) at the held-out points of a range."""
        found = [np.zeros((0, len(choices)))]
        for fold, points in self._parts(start, stop):
            block = np.zeros((len(points), len(choices)))
            for site, numbers in fold.sites(choices, points):
                block[:, numbers] = measure(fold, site, [choices[k] for k in numbers])
            found.append(block)
        return np.concatenate(found)

    def _parts(self, start: int, stop: int) -> list[tuple[LearnedFold, NDArray[np.intp]]]:
        """Blocks of points in a range, with their folds."""
        parts = []
        for k, end in enumerate(self._ends):
            first = int(self._ends[k - 1]) if k else 0
            here = np.arange(max(start, first), min(stop, end)) - first
            parts += [(self.fold(k), here[at : at + BLOCK]) for at in range(0, len(here), BLOCK)]
        return parts


def errors_at(
    fold: LearnedFold,
    site: Site,
    choices: Sequence[Choice],
    kriging_points: int = MAX_KRIGING_POINTS,
    loss: Loss | None = None,
) -> Array:
    """Errors (point, choice) at some of the points held out: squared ones unless a loss is given."""
    values = values_at(fold, site, choices, kriging_points)
    return (SquaredError() if loss is None else loss)(choices, values, site.labels, site.sample_weight)


def values_at(
    fold: LearnedFold, site: Site, choices: Sequence[Choice], kriging_points: int = MAX_KRIGING_POINTS
) -> Array:
    """Values (point, choice, output) at some of the points held out."""
    values = np.empty((len(site), len(choices), site.labels.shape[1]))
    processes = {k: one.final for k, one in enumerate(choices) if isinstance(one.final, GlobalKriging)}
    if processes:
        solved = fold.everything.solve_all(list(processes.values()))
        for k, process in zip(processes, solved, strict=True):
            values[:, k] = process.at(site.rows).value
    local = [k for k in range(len(choices)) if k not in processes]
    for numbers, found in _fits_by_step(fold, site, choices, local, kriging_points=kriging_points):
        values[:, numbers] = found
    return values


def variances_at(fold: LearnedFold, site: Site, choices: Sequence[Choice]) -> Array:
    """Variance factors (point, choice) of polynomials at some of the points held out; 0 of processes."""
    factors = np.zeros((len(site), len(choices)))
    polynomials = [k for k, choice in enumerate(choices) if isinstance(choice.final, Polynomial)]
    for numbers, found in _fits_by_step(fold, site, choices, polynomials, variances=True):
        factors[:, numbers] = found
    return factors


def weighted_means(values: Array, weight: Array) -> Array:
    """Means (choice,) of values (point, choice), without BLAS, whose sums may depend on the threads."""
    means: Array = np.einsum("i,ic->c", weight, values, optimize=False) / weight.sum()
    return means


def _fits_by_step(
    fold: LearnedFold,
    site: Site,
    choices: Sequence[Choice],
    numbers: Sequence[int],
    *,
    variances: bool = False,
    kriging_points: int = MAX_KRIGING_POINTS,
) -> Iterator[tuple[list[int], Array]]:
    """Numbers of the choices of each kind and step, of those asked for, with their values or variances.

    Variances are those of polynomials only.
    """
    by_field = defaultdict[float | None, list[int]](list)
    for k in numbers:
        by_field[choices[k].gradient_size].append(k)
    for some in by_field.values():
        yield from _fits_of_field(fold, site, choices, some, variances, kriging_points)


def _fits_of_field(
    fold: LearnedFold,
    site: Site,
    choices: Sequence[Choice],
    numbers: Sequence[int],
    variances: bool,
    kriging_points: int,
) -> Iterator[tuple[list[int], Array]]:
    """Give the same for choices whose gradients are of one size."""
    field = fold.field_for([choices[k] for k in numbers])
    groups = defaultdict[tuple[int, tuple[type, float]], list[int]](list)
    for k in numbers:
        groups[choices[k].step, _sharing(choices[k])].append(k)
    last = max(step for step, _ in groups)
    for step, shapes in enumerate(field.shapes(site.rows, last)):
        for (at, (kind, _)), here in groups.items():
            some = [choices[k] for k in here]
            if at != step:
                continue
            if kind is Kriging:
                yield here, _processes(field, site, step, shapes, some, kriging_points)
            else:
                yield here, _polynomials(field, site, step, shapes, some, variances=variances)


def _sharing(choice: Choice) -> tuple[type, float]:
    """Tell what fits that share sums over neighborhoods have in common: kind, and how slopes count."""
    final = choice.final
    return type(final), final.slope_weight if isinstance(final, Polynomial) else 0.0


def _polynomials(
    field: GradientField,
    site: Site,
    step: int,
    shapes: Array,
    choices: Sequence[Choice],
    *,
    variances: bool,
) -> Array:
    """Values (point, choice, output) of polynomials after a step, or variance factors (point, choice)."""
    finals = [choice.final for choice in choices if isinstance(choice.final, Polynomial)]
    sizes = sorted({choice.size for choice in choices if choice.size is not None}, reverse=True)
    directions = sorted({one.n_quadratic_directions for one in finals})
    ridges = sorted({one.ridge for one in finals})
    work = PolynomialFits(
        tuple(ridges),
        max(one.degree for one in finals),
        tuple(directions),
        variances=variances,
        logistic=finals[0].logistic,
        slope_weight=finals[0].slope_weight,
    )
    widths = field.update.widths(step, len(site), field, sizes or None)
    found = site.run(work, shapes, widths)[-1]
    at = [
        (
            0 if choice.size is None else sizes.index(choice.size),
            directions.index(one.n_quadratic_directions),
            ridges.index(one.ridge),
        )
        for choice, one in zip(choices, finals, strict=True)
    ]
    values: Array = found[:, *np.transpose(at)]
    return values


def _processes(
    field: GradientField,
    site: Site,
    step: int,
    shapes: Array,
    choices: Sequence[Choice],
    kriging_points: int,
) -> Array:
    """Values (point, choice, output) of kriging after a step."""
    finals = [choice.final for choice in choices if isinstance(choice.final, Kriging)]
    order = sorted(range(len(finals)), key=lambda k: finals[k].order)  # sharing covariances
    widths = field.update.widths(step, len(site), field, choices[0].sizes)
    work = KrigingFits(tuple(finals[k] for k in order), kriging_points)
    (found,) = site.run(work, shapes, widths)
    return found[:, np.argsort(order)]
