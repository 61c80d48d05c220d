"""Squared errors of choices at points that were held out, by fields learned without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._engine.gradient_field import GradientField
from localegop._engine.sites import Site
from localegop._engine.work import FinalFits, KrigingFits, PolynomialFits

Array = NDArray[np.float64]

BLOCK = 512  # points whose shapes are kept at a time


@dataclass(frozen=True)
class LearnedFold:
    """A field learned without some points, these points, and the anchors at which it was learned."""

    field: GradientField
    held_out: Site
    anchors: Site


class Holdout:
    """The held-out points of all folds, one fold after the other, each learned when it is needed.

    Parameters
    ----------
    learn : callable
        Gives the fold of a number.
    sizes : sequence of int
        Numbers of points that the folds hold out.
    """

    def __init__(self, learn: Callable[[int], LearnedFold], sizes: Sequence[int]) -> None:
        self._learn, self._learned = learn, dict[int, LearnedFold]()
        self._ends = np.cumsum(sizes)

    @property
    def count(self) -> int:
        """Number of points held out, in all folds."""
        return int(self._ends[-1])

    def fold(self, k: int) -> LearnedFold:
        """Return a fold, learned now or before."""
        if k not in self._learned:
            self._learned[k] = self._learn(k)
        return self._learned[k]

    def errors(self, choices: Sequence[Choice], start: int, stop: int) -> tuple[Array, Array]:
        """Squared errors (point, choice) at held-out points from ``start`` to ``stop``, and their weights."""
        found, weight = [np.zeros((0, len(choices)))], [np.zeros(0)]
        for fold, points in self._parts(start, stop):
            site = fold.held_out.pick(points)
            found.append(errors_at(fold.field, site, choices))
            weight.append(site.sample_weight)
        return np.concatenate(found), np.concatenate(weight)

    def variances(self, choices: Sequence[Choice], stop: int) -> Array:
        """Mean variance factors (choice,) of choices at the first held-out points."""
        found, weight = [np.zeros((0, len(choices)))], [np.zeros(0)]
        for fold, points in self._parts(0, stop):
            site = fold.held_out.pick(points)
            found.append(variances_at(fold.field, site, choices))
            weight.append(site.sample_weight)
        means: Array = np.concatenate(weight) @ np.concatenate(found) / np.concatenate(weight).sum()
        return means

    def _parts(self, start: int, stop: int) -> list[tuple[LearnedFold, NDArray[np.intp]]]:
        """Blocks of points in a range, with their folds."""
        parts = []
        for k, end in enumerate(self._ends):
            first = int(self._ends[k - 1]) if k else 0
            here = np.arange(max(start, first), min(stop, end)) - first
            parts += [(self.fold(k), here[at : at + BLOCK]) for at in range(0, len(here), BLOCK)]
        return parts


def errors_at(field: GradientField, site: Site, choices: Sequence[Choice]) -> Array:
    """Squared errors (point, choice) at the centers of a site, averaged over outputs."""
    errors = np.empty((len(site), len(choices)))
    for kind, step, numbers, shapes in _by_step(field, site, choices):
        some = [choices[k] for k in numbers]
        values = (_polynomials if kind is Polynomial else _processes)(field, site, step, shapes, some)
        errors[:, numbers] = np.mean((values - site.labels[:, None]) ** 2, axis=2)
    return errors


def variances_at(field: GradientField, site: Site, choices: Sequence[Choice]) -> Array:
    """Variance factors (point, choice) at the centers of a site."""
    factors = np.empty((len(site), len(choices)))
    for _, step, numbers, shapes in _by_step(field, site, choices):
        for k in numbers:
            widths = field.update.widths(step, len(site), field, choices[k].sizes)
            factors[:, k] = site.run(FinalFits(choices[k].final), shapes, widths)[-1]
    return factors


def _by_step(field, site, choices):
    """Numbers of the choices of each kind and step, with the shapes of the neighborhoods then."""
    groups = defaultdict(list)
    for k, choice in enumerate(choices):
        groups[choice.step, type(choice.final)].append(k)
    last = max(choice.step for choice in choices)
    for step, shapes in enumerate(field.shapes(site.rows, last)):
        for kind in (Polynomial, Kriging):
            if (step, kind) in groups:
                yield kind, step, groups[step, kind], shapes


def _polynomials(
    field: GradientField, site: Site, step: int, shapes: Array, choices: Sequence[Choice]
) -> Array:
    """Values (point, choice, output) of polynomials after a step, all of which share their moments."""
    finals = [choice.final for choice in choices]
    sizes = sorted({choice.size for choice in choices if choice.size is not None}, reverse=True)
    directions = sorted({one.n_quadratic_directions for one in finals})
    ridges = sorted({one.ridge for one in finals})
    work = PolynomialFits(tuple(ridges), max(one.degree for one in finals), tuple(directions))
    widths = field.update.widths(step, len(site), field, sizes or None)
    (found,) = site.run(work, shapes, widths)
    at = [
        (
            sizes.index(choice.size) if sizes else 0,
            directions.index(one.n_quadratic_directions),
            ridges.index(one.ridge),
        )
        for choice, one in zip(choices, finals, strict=True)
    ]
    values: Array = found[:, *np.transpose(at)]
    return values


def _processes(field: GradientField, site: Site, step: int, shapes: Array, choices: Sequence[Choice]) -> Array:
    """Values (point, choice, output) of kriging after a step: those that share covariances in a row."""
    order = sorted(range(len(choices)), key=lambda k: choices[k].final.order)
    widths = field.update.widths(step, len(site), field, choices[0].sizes)
    work = KrigingFits(tuple(choices[k].final for k in order))
    (found,) = site.run(work, shapes, widths)
    return found[:, np.argsort(order)]
