"""Final fits at anchors, each without its own point, or a whole block: residuals, noise, calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from localegop._core import Neighborhoods
from localegop._engine.centers import Widths
from localegop._engine.choice import Choice
from localegop._engine.chunks import chunks
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField, spread_points
from localegop._engine.sites import Site
from localegop._engine.work import FinalFits
from localegop._predict.blocks import (
    FindBlocks,
    HeldOutFits,
    block_sizes,
    leave_out_blocks,
    rows_in_blocks,
    shapes_outside,
)
from localegop._predict.decisions import LooDiagnostics, weights_before
from localegop._predict.gaps import GapLaw, compare_with_law, global_spread
from localegop._predict.support import Spacing, is_surrounded
from localegop._predict.uncertainty import (
    Calibration,
    correct_noise,
    expect_deviation,
    gap_ratio,
    score_residuals,
    surroundings,
)

Array = NDArray[np.float64]

MOST_BLOCKS = 1000
MOST_BLOCKS_OF_PROCESS = 400  # each of which costs a system of as many equations as the block has rows


@dataclass(frozen=True)
class HeldOut:
    """Residuals (m, K) at anchors (m,), by fits without them, and what is known of these fits."""

    anchor: NDArray[np.int64]
    residuals: Array
    gradients: Array
    variance_factor: Array
    spread: Array
    weight: Array


def leave_one_out_fits(
    site: Site,
    field: GradientField,
    choice: Choice,
    reach: float,
    robustness: Array | None = None,
) -> tuple[LooDiagnostics, Calibration]:
    """Make the final fits at the anchors of a field, which are the centers of a site.

    Intervals are to hold a share of all labels but the outlying ones, so that robustness weights (m,) of
    the others do not count there.
    """
    count, threads = len(site), field.anchors.threads
    shapes = field.shapes_at(site.rows, choice.step, np.arange(count))
    held_out = _join(list(_hold_out(site, field, choice, shapes, reach)))
    residuals, factors, anchor = held_out.residuals, held_out.variance_factor, held_out.anchor
    corrected = correct_noise(residuals[:count], factors[:count])
    noise = np.sqrt(_around(field, site.rows, shapes, lambda near: near.means(corrected, threads)))
    expected = expect_deviation(noise[anchor], factors) ** 2
    law = GapLaw.learn(residuals**2, expected, held_out.spread, factors, held_out.weight)
    gap = law(held_out.spread, factors)
    share, excess = np.zeros((2, *corrected.shape))
    blocks = anchor[count:]
    share[blocks], excess[blocks] = compare_with_law(residuals**2, expected, gap)[:, count:]
    loo = LooDiagnostics(
        *(residuals[:count], corrected, held_out.gradients[:count]),
        *(share, excess, law.coefficients, law.largest),
    )
    gap *= _around(field, site.rows, shapes, lambda near: gap_ratio(loo, near, threads))[anchor]
    scores = score_residuals(residuals, np.sqrt(expected + gap))
    weight = weights_before(held_out.weight, None if robustness is None else robustness[anchor])
    gap_weight = weight[count:, None] * (gap / (expected + gap))[count:]
    return loo, Calibration.from_scores(scores[:count], weight[:count], scores[count:], gap_weight)


def final_fits(site: Site, field: GradientField, choice: Choice, shapes: Array) -> tuple[Array, ...]:
    """Values (m, K), gradients (m, K, D) and variance factors (m,) of the chosen fit."""
    if isinstance(choice.final, GlobalKriging):  # all rows are anchors
        found = field.anchors.solved(choice.final).without_own(np.arange(len(site)))
        return found.value, found.gradient, found.variance_factor
    widths = choice.widths(field.update, len(site), field)
    return site.run(FinalFits(choice.fit_with(None)), shapes, widths)


def _hold_out(
    site: Site, field: GradientField, choice: Choice, shapes: Array, reach: float
) -> Iterator[HeldOut]:
    """Fit at all anchors without themselves, then at some without blocks, of one size after the other."""
    if isinstance(choice.final, GlobalKriging):
        yield from _hold_out_of_process(site, field, choice.final, shapes, reach)
        return
    widths = choice.widths(field.update, len(site), field)
    sizes, some = block_sizes(site.data), spread_points(len(site), MOST_BLOCKS)
    parts = [(0, np.arange(len(site)))]
    parts += [(size, some[k :: len(sizes)]) for k, size in enumerate(sizes)]
    for block, anchor in parts:
        there, around = site.pick(anchor), shapes[anchor]
        if block and choice.step > 0:
            balls = there.run(FindBlocks(block), around, widths[anchor])
            around = shapes_outside(field, there.rows, anchor, choice.step, *balls)
        work = HeldOutFits(choice.fit_with(None), block, reach)
        value, gradient, factor, spread, stays = there.run(work, around, widths[anchor])
        weight = there.sample_weight * stays
        yield HeldOut(anchor, there.labels - value, gradient, factor, spread, weight)


def _hold_out_of_process(
    site: Site, field: GradientField, process: GlobalKriging, shapes: Array, reach: float
) -> Iterator[HeldOut]:
    """Do the same for a process of all rows, which all are anchors."""
    data, solved = field.anchors, field.anchors.solved(process)
    everyone = np.arange(len(site))
    alone, centers = solved.without_own(everyone), data.own_centers(everyone)
    spread = global_spread(data, centers, shapes)
    (distances,) = Spacing()(data, centers, shapes, Widths.of_scale(1.0, len(site)))
    stays = is_surrounded(data, centers, distances, reach)
    yield HeldOut(
        *(everyone, site.labels - alone.value, alone.gradient),
        *(alone.variance_factor, spread, site.sample_weight * stays),
    )
    sizes, some = block_sizes(data), spread_points(len(site), MOST_BLOCKS_OF_PROCESS)
    for k, size in enumerate(sizes):
        anchor = some[k :: len(sizes)]
        centers = data.own_centers(anchor)
        value, factor = solved.without_blocks(anchor, list(rows_in_blocks(data, centers, size)))
        centers, distances = leave_out_blocks(data, centers, size)
        stays = is_surrounded(data, centers, distances, reach)
        spread = global_spread(data, centers, shapes[anchor])
        weight = site.sample_weight[anchor] * stays
        yield HeldOut(anchor, site.labels[anchor] - value, alone.gradient[anchor], factor, spread, weight)


def _join(parts: list[HeldOut]) -> HeldOut:
    """Put fits one after the other."""
    return HeldOut(
        *(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(HeldOut))
    )


def _around(
    field: GradientField, rows: Array, shapes: Array, average: Callable[[Neighborhoods], Array]
) -> Array:
    """Averages (a, K) over the surroundings of all anchors, each without itself."""
    anchors, own = field.anchors, np.arange(len(rows))
    found = []
    for part in chunks(len(rows), 8 * anchors.dimension**2 + 12 * anchors.max_visible):
        found.append(average(surroundings(field, rows[part], shapes[part], own[part])))
    return np.concatenate(found)
