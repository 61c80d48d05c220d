"""Averages of the labels held out: at few points they tell what it would take many labels to tell.

Where noise is most of every error, two wide fits differ by far less than labels do, and only the labels of
very many held-out points tell which is better. But the fits vary slowly. So it is enough to know them at
some points, if the labels around these, all of them held out, are averaged there first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Widths
from localegop._engine.chunks import chunks
from localegop._engine.local_data import LocalData
from localegop._selection.race import Looks

Array = NDArray[np.float64]
Shapes = Callable[[Array], Array]

FEWEST_LABELS = 5000  # rows of a fit from which on labels are averaged
LARGEST_RADIUS = 0.75  # of a ball of the rows averaged at once, when one of all that are held out has 1
# and what else it takes: a variance factor of the best polynomial below this, since noise then hides the
# differences, and an error that is not above so many times that of kriging.
SMALL_VARIANCE, NEARLY = 0.05, 1.1
AVERAGED_LOOKS = Looks(200, 400, 700, 1000)
POINTS = AVERAGED_LOOKS.last  # held-out points at which labels are averaged
POINTS_PER_TERM = 20.0  # of the fits that average; with five rows a term most of the noise stays
LEAST_SHARE = 0.01  # of the rows held out: the more there are, the less noise averages have
RIDGE = 1e-6  # of these fits


def average_size(dimension: int, held_out: int = 0) -> float:
    """Effective size of the neighborhoods that labels of so many rows held out are averaged in."""
    return max(POINTS_PER_TERM * (1 + dimension), LEAST_SHARE * held_out)


def average_labels(held_out: LocalData, points: int, size: float, find_shapes: Shapes) -> Array:
    """Estimate f (m, K) at the first of the rows held out, from the labels of all of them.

    Linear fits average the labels, and once more what these leave over: where the first misses a small part
    of a smooth f, both together miss that part of that part. ``find_shapes`` gives the shapes (m, D, D) of
    neighborhoods at some rows: long where f does not vary, which in many dimensions no small ball is.
    """
    missed = held_out.labels - _linear_fits(held_out, held_out.n, size, find_shapes)
    again = held_out.like(held_out.rows, missed, held_out.sample_weight)
    first = held_out.labels[:points] - missed[:points]
    return first + _linear_fits(again, points, size, find_shapes)


def _linear_fits(data: LocalData, points: int, size: float, find_shapes: Shapes) -> Array:
    """Values (m, K) of linear fits at the first rows of some data, their own labels included."""
    rows = data.rows[:points]
    values = np.empty((len(rows), data.outputs))
    for part in chunks(len(rows), 12.0 * data.max_visible + 8.0 * data.dimension**2):
        centers, widths = data.centers(rows[part]), Widths.of_sizes((size,), len(rows[part]))
        fits = data.localize(centers, find_shapes(rows[part]), widths, degree=1, ridges=(RIDGE,))
        values[part] = fits.value[:, 0, 0, 0]
    return values
