"""What a worker stands on when it learns: the rows of its partition with those borrowed.

Every function here is the body of a task. The work itself is that of one process, at some of the points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.gradient_field import FieldLearner, GradientField
from localegop._engine.local_data import Lists
from localegop._engine.recursion import Recursion, Rules, Stage, isotropic
from localegop._fit.plan import aftermath, noise_around, refined_gradients
from localegop._predict.model import Model
from localegop._predict.uncertainty import expected_deviation, scores_of
from localegop._progress import SILENT
from localegop._selection.holdout import Measure, at_some
from localegop._selection.isotropic_baseline import errors_of_guests
from localegop._selection.search_grid import Fold, Menu, fold_of, held_out_errors
from localegop.distributed.packed_lists import PackedLists, packed, packed_lists
from localegop.distributed.partitions import Numbers, local_data
from localegop.distributed.tables import Table, in_order, take

Array = NDArray[np.float64]
Ridges = tuple[float, ...]


@dataclass(frozen=True)
class Ground:
    """Rows to learn from, sorted by number, with points to learn at and points held out."""

    fold: Fold
    number: Numbers  # of the rows to learn from
    order: NDArray[np.intp]  # sorts own rows, followed by borrowed ones, by number
    kept: list[NDArray[np.intp]]  # rows of each loan that are looked at
    guests: Table  # number and share of the points held out

    def __sizeof__(self) -> int:  # for the scheduler, which moves what is small
        data, lists = self.fold.data, self.fold.candidates
        rows = 2 * (data.rows.nbytes + data.labels.nbytes + data.share.nbytes)
        return rows + self.number.nbytes + self.order.nbytes + (0 if lists is None else lists.__sizeof__())

    def whole(self, own: Array, borrowed: list[Array]) -> Array:
        """Values at all rows from those at own rows and those that came along with the borrowed."""
        return np.ascontiguousarray(np.concatenate([own, *borrowed])[self.order])

    @property
    def own_number(self) -> Numbers:
        """Numbers of the points to learn at."""
        return self.number[self.fold.own]

    def learner(self, rules: Rules, ridges: Ridges) -> FieldLearner:
        """Learner at the points of this partition."""
        field = GradientField(self.fold.data, rules, ridges)
        return FieldLearner(field, self.fold.own, self.fold.candidates, SILENT)

    def field(
        self, rules: Rules, ridges: Ridges, own: list[Table], borrowed: list[list[Array]]
    ) -> GradientField:
        """Field that was learned here and in the neighborhood."""
        gradients = [
            self.whole(mine["gradients"], others) for mine, others in zip(own, borrowed, strict=True)
        ]
        return GradientField(self.fold.data, rules, ridges, gradients)


def ground(
    table: Table, borrowed: list[Table], among: tuple[int, int], options: dict[str, Any], apart: bool
) -> Ground:
    """Prepare a partition, whose rows are some of so many: without and with points held out."""
    rest, every = among
    held = table["held"]
    guests = take(table, held, ("number", "share"))
    if apart:
        mine = take(table, ~held)
        together, _ = in_order([mine, *borrowed])
        data = local_data(together, rest, options)
        own = np.searchsorted(together["number"], mine["number"])
        centers = np.ascontiguousarray(table["rows"][held])
        lists, theirs = packed_lists(data, data.rows[own]), packed_lists(data, centers)
        fold = Fold(data, own, lists, centers, table["labels"][held], theirs)
    else:
        together, _ = in_order([table, *borrowed])
        data = local_data(together, every, options)
        own = np.searchsorted(together["number"], table["number"])
        fold = fold_of(data, own, data.candidates(data.rows[own]), np.flatnonzero(together["held"]), rest)
        together = take(together, ~together["held"], ("number",))
        lists, theirs = _packed(fold.candidates, len(own)), _packed(fold.center_candidates, len(own))
        fold = replace(fold, candidates=lists, center_candidates=theirs)
    used = _used(fold, lists, theirs)
    number = together["number"][used]
    numbers = [table["number"][~held], *(part["number"] for part in borrowed)]
    kept = [np.flatnonzero(np.isin(part, number)) for part in numbers[1:]]
    chosen_numbers = [numbers[0], *(part[at] for part, at in zip(numbers[1:], kept, strict=True))]
    order = np.argsort(np.concatenate(chosen_numbers), kind="stable")
    return Ground(_trimmed(fold, used, lists, theirs), number, order, kept, guests)


def _packed(lists: Lists | None, count: int) -> PackedLists | None:
    return None if lists is None else packed(lists[:count])


def _used(fold: Fold, lists: PackedLists | None, theirs: PackedLists | None) -> NDArray[np.bool_]:
    """Rows that somebody looks at or learns at."""
    used = np.full(fold.data.n, lists is None)
    used[fold.own] = True
    for some in (lists, theirs):
        if some is not None:
            some.mark(used)
    return used


def _trimmed(
    fold: Fold, used: NDArray[np.bool_], lists: PackedLists | None, theirs: PackedLists | None
) -> Fold:
    """Leave out rows that nobody looks at, which were borrowed for safety."""
    if used.all():
        return fold
    assert lists is not None and theirs is not None
    number = (np.cumsum(used) - 1).astype(np.int32)
    return replace(
        fold,
        data=fold.data.subset(np.flatnonzero(used), fold.data.among),
        own=number[fold.own].astype(np.int64),
        candidates=lists.renumbered(number),
        center_candidates=theirs.renumbered(number),
    )


def kept_positions(here: Ground, loan: int, positions: NDArray[np.intp]) -> NDArray[np.intp]:
    """Positions, at the lender, of the rows of a loan that are looked at."""
    return positions[here.kept[loan]]


@dataclass(frozen=True)
class Half:
    """A step half done: where it is, gradients (ridge, m, K, D) and errors (ridge, m), and their sums."""

    stage: Stage
    gradients: Array
    errors: Array
    sums: Array

    def __sizeof__(self) -> int:  # for the scheduler
        return self.stage.__sizeof__() + self.gradients.nbytes + self.errors.nbytes


def first_half(here: Ground, rules: Rules, ridges: Ridges) -> Half:
    """Leave-one-out fits of step 0."""
    return _fitted(here, rules, ridges, None)


def _recursion(here: Ground, learner: FieldLearner, rules: Rules, stage: Stage | None) -> Recursion:
    data = here.fold.data
    return Recursion(learner, rules, len(here.fold.own), data.dimension, data.reachable, stage)


def _fitted(here: Ground, rules: Rules, ridges: Ridges, stage: Stage | None) -> Half:
    learner = here.learner(rules, ridges)
    recursion = _recursion(here, learner, rules, stage)
    gradients, errors = learner.leave_one_out(*recursion.setting())
    return Half(recursion.stage, gradients, errors, learner.error_sums(errors))


def half_sums(half: Half) -> Array:
    """Take the sums of errors, for the choice of the ridge."""
    return half.sums


def chosen(half: Half, ridge: int) -> Table:
    """Gradients (m, K, D) and errors (m, 1) of a ridge."""
    return {
        "gradients": np.ascontiguousarray(half.gradients[ridge]),
        "errors": np.ascontiguousarray(half.errors[ridge, :, None]),
    }


def next_stage(
    here: Ground, half: Half, rules: Rules, ridges: Ridges, own: Table, borrowed: list[Array]
) -> Stage:
    """Average the gradients chosen and move on."""
    learner = here.learner(rules, ridges)
    recursion = _recursion(here, learner, rules, half.stage)
    gradients = here.whole(own["gradients"], borrowed)
    recursion.move(learner.averages(gradients, *recursion.setting()), reuse=True)
    return recursion.stage


def next_half(
    here: Ground, half: Half, rules: Rules, ridges: Ridges, own: Table, borrowed: list[Array]
) -> Half:
    """Average, move on, and make the leave-one-out fits of the next step."""
    return _fitted(here, rules, ridges, next_stage(here, half, rules, ridges, own, borrowed))


def first_stage(here: Ground) -> Stage:
    """Shapes where no step is taken."""
    return Stage(0, isotropic(len(here.fold.own), here.fold.data.dimension))


def lent_values(values: Table, name: str, positions: NDArray[np.intp], table: Table) -> Array:
    """Values at rows lent; positions are those in the table, values those of rows not held out."""
    rest = ~table["held"]
    rank = np.cumsum(rest) - 1
    found: Array = values[name][rank[positions[rest[positions]]]]
    return found


def guest_errors(
    here: Ground,
    rules: Rules,
    ridges: Ridges,
    menu: Menu,
    own: list[Table],
    borrowed: list[list[Array]],
) -> Table:
    """Errors at the points held out, with the points along the first axis."""
    field = here.field(rules, ridges, own, borrowed)
    errors = held_out_errors(field, here.fold, menu, SILENT)
    return {**here.guests, "errors": np.moveaxis(errors, -1, 0)}


def isotropic_guests(
    table: Table, borrowed: list[Table], about: tuple[int, dict[str, Any]], rules: Rules, menu: Menu
) -> Table:
    """Errors at the points held out where nothing has been learned, points along the first axis."""
    held = table["held"]
    guests = take(table, held, ("number", "share"))
    if not held.any():
        return {**guests, "errors": np.zeros((0, *menu.counts))}
    together, _ = in_order([take(table, ~held), *borrowed])
    centers = np.ascontiguousarray(table["rows"][held])
    errors = errors_of_guests(local_data(together, *about), rules, menu, centers, table["labels"][held])
    return {**guests, "errors": np.moveaxis(errors, -1, 0)}


def guest_measure(
    here: Ground,
    rules: Rules,
    ridges: Ridges,
    numbers: Numbers,
    measure: Measure,
    own: list[Table],
    borrowed: list[list[Array]],
) -> Table:
    """Measure of some fits at the points held out that have these numbers."""
    field = here.field(rules, ridges, own, borrowed)
    some = np.flatnonzero(np.isin(here.guests["number"], numbers))
    return {
        "number": here.guests["number"][some],
        "measure": at_some(field, here.fold, some, measure),
    }


def refined(
    here: Ground,
    rules: Rules,
    ridges: Ridges,
    model: Model,
    numbers: Numbers,
    own: list[Table],
    borrowed: list[list[Array]],
) -> Table:
    """Gradients of the model's fit at points of these numbers."""
    field = here.field(rules, ridges, own, borrowed)
    mine = here.own_number[np.isin(here.own_number, numbers)]
    at = np.searchsorted(here.number, mine)
    gradients, share = refined_gradients(field, model, at)
    return {"number": mine, "gradients": gradients, "share": share}


def after_fits(here: Ground, model: Model, stage: Stage) -> Table:
    """Make the final fits at own points, each without itself."""
    in_place = replace(model, data=here.fold.data)
    after, factors = aftermath(in_place, here.fold.own, here.fold.candidates, stage.shape, SILENT)
    return {
        "residuals": after.residuals,
        "noise": after.noise,
        "gradients": after.gradients,
        "factors": factors,
    }


def scores(here: Ground, model: Model, stage: Stage, after: Table, borrowed: list[Array]) -> Array:
    """Residuals (m, K) of own points over what was expected of them."""
    in_place = replace(model, data=here.fold.data)
    variances = here.whole(after["noise"], borrowed)
    noise = noise_around(in_place, here.fold.own, here.fold.candidates, stage.shape, variances, SILENT)
    return scores_of(after["residuals"], expected_deviation(noise, after["factors"]))


def learned_table(table: Table, own: list[Table], after: Table, score: Array) -> Table:
    """All that a partition has to say to queries."""
    learned = take(table, slice(None), ("number", "rows", "labels", "share"))
    for t, step in enumerate(own):
        learned |= {f"gradients_{t}": step["gradients"], f"errors_{t}": step["errors"]}
    learned |= {f"after_{name}": after[name] for name in ("residuals", "noise", "gradients")}
    return learned | {"score": score}
