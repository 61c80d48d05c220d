"""What is left of a fold when it has been learned: the field around its held-out points, and little else.

The choice of the final fit asks it again and again, while the memory of the fold serves others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Future
from numpy.typing import NDArray

from localegop.distributed.grounds import SILENT, Ground, Ridges
from localegop.distributed.packing import PackedLists, packed_lists
from localegop.distributed.spread import Numbers, SpreadData, arranged, by_number, local_data
from localegop.distributed.tables import Table, in_order, take
from localegop.fitting import held_out_of, refined_gradients
from localegop.gain import isotropic_errors
from localegop.kriging import HeldOut, Pair
from localegop.model import Model
from localegop.progress import Progress
from localegop.recursion import Rules
from localegop.selection import Menu, errors_at
from localegop.strategies import GradientField

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outpost:
    """Field around the held-out points of a partition and around some of its own points."""

    field: GradientField
    guests: Table  # number, share, labels and centers of the points held out
    lists: PackedLists | None  # what they look at
    points: Numbers  # positions of own points, and their numbers
    point_number: Numbers

    def __sizeof__(self) -> int:  # for the scheduler
        rows, steps = self.field.data.rows.nbytes, len(self.field.gradients)
        return rows * (3 + steps) + (0 if self.lists is None else self.lists.__sizeof__())


def outpost(
    here: Ground,
    rules: Rules,
    ridges: Ridges,
    numbers: Numbers,
    own: list[Table],
    borrowed: list[list[Array]],
) -> Outpost:
    """Keep of a fold what its held-out points, and own points of these numbers, look at."""
    fold, data = here.fold, here.fold.data
    at = np.flatnonzero(np.isin(here.own_number, numbers))
    lists = [fold.center_candidates, packed_lists(data, fold.centers)]
    used = np.full(data.n, any(some is None for some in (fold.candidates, *lists)))
    used[0] = True
    used[fold.own[at]] = True
    for some in lists:
        if isinstance(some, PackedLists):
            some.mark(used)
    if fold.candidates is not None:
        for i in at:
            used[fold.candidates[i : i + 1].indices] = True
    rows, number = np.flatnonzero(used), (np.cumsum(used) - 1).astype(np.int32)
    gradients = [
        np.ascontiguousarray(here.whole(mine["gradients"], others)[rows])
        for mine, others in zip(own, borrowed, strict=True)
    ]
    theirs = lists[0].renumbered(number) if isinstance(lists[0], PackedLists) else None
    return Outpost(
        GradientField(data.subset(rows, data.among), rules, ridges, gradients),
        {**here.guests, "labels": fold.labels, "centers": fold.centers},
        theirs,
        number[fold.own[at]].astype(np.int64),
        here.own_number[at],
    )


def guest_errors(post: Outpost, menu: Menu) -> Table:
    """Errors at the points held out, with the points along the first axis."""
    guests = post.guests
    errors = errors_at(post.field, guests["centers"], guests["labels"], post.lists, menu, SILENT)
    return {**take(guests, slice(None), ("number", "share")), "errors": np.moveaxis(errors, -1, 0)}


def refined(post: Outpost, model: Model) -> Table:
    """Gradients of the model's fit at own points, each without itself."""
    gradients, share = refined_gradients(post.field, model, post.points)
    return {"number": post.point_number, "gradients": gradients, "share": share}


def kriged(post: Outpost, numbers: Numbers, pairs: Sequence[Pair]) -> Table:
    """Squared errors of kriging at held-out points of these numbers."""
    guests = take(post.guests, np.isin(post.guests["number"], numbers))
    points = HeldOut(post.field, np.ascontiguousarray(guests["centers"]), guests["labels"], guests["share"])
    return {"number": guests["number"], "squares": points.squares(pairs, SILENT)}


@dataclass(frozen=True)
class Outposts:
    """Outposts of all partitions of a fold, and the points held out, as numbers with their weights."""

    data: SpreadData
    posts: list[Future[Outpost]]
    held_out: Numbers
    share: Array


@refined_gradients.register
def _(field: Outposts, model: Model, points: Numbers) -> tuple[Array, Array]:
    cluster = field.data.cluster
    found = cluster.gather(cluster.each(refined, field.posts, model.without_data()))
    return by_number(found, "gradients"), by_number(found, "share")


@dataclass(frozen=True)
class SpreadHeldOut:
    """Points held out of a field on the cluster: :class:`localegop.kriging.HeldOut` in parts."""

    field: Outposts
    numbers: Numbers
    share: Array

    def __len__(self) -> int:
        return len(self.numbers)

    def thinned(self, every: int) -> SpreadHeldOut:
        """Take every so manieth."""
        return SpreadHeldOut(self.field, self.numbers[::every], self.share[::every])

    def squares(self, pairs: Sequence[Pair], progress: Progress) -> Array:
        """Squared errors (m, pair), averaged over outputs."""
        cluster, posts = self.field.data.cluster, self.field.posts
        amount = 2.0 * len(pairs) * len(self) / len(posts)
        jobs = cluster.each(kriged, posts, self.numbers, list(pairs))
        found = cluster.gather(jobs, progress, [amount] * len(posts), "fit: kriging")
        return by_number(found, "squares")


@held_out_of.register
def _(field: Outposts, data: SpreadData, out: Numbers, axes: Array | None) -> SpreadHeldOut:
    return SpreadHeldOut(field, field.held_out, field.share)


@isotropic_errors.register
def _(
    data: SpreadData, rules: Rules, ridges: tuple[float, ...], menu: Menu, held_out: Numbers
) -> tuple[Array, Array]:
    rest, cluster = data.without(held_out), data.cluster
    scene = arranged(rest, held_out)
    jobs = [
        cluster.submit(
            _isotropic,
            partition.table,
            [loan.table for loan in loans],
            (rest.n, rest.options),
            (rules, ridges),
            menu,
        )
        for partition, loans in zip(scene.partitions, scene.loans, strict=True)
    ]
    found = cluster.gather(jobs)
    return np.ascontiguousarray(np.moveaxis(by_number(found, "errors"), 0, -1)), by_number(found, "share")


def _isotropic(
    table: Table,
    borrowed: list[Table],
    about: tuple[int, dict[str, Any]],
    how: tuple[Rules, Ridges],
    menu: Menu,
) -> Table:
    held = table["held"]
    together, _ = in_order([take(table, ~held), *borrowed])
    guests = take(table, held)
    if not held.any():
        return {**take(guests, slice(None), ("number", "share")), "errors": np.zeros((0, *menu.counts))}
    data, centers = local_data(together, *about), np.ascontiguousarray(guests["rows"])
    lists = data.candidates(centers)
    errors = errors_at(GradientField(data, *how), centers, guests["labels"], lists, menu, SILENT)
    return {**take(guests, slice(None), ("number", "share")), "errors": np.moveaxis(errors, -1, 0)}
