"""Averages of the labels held out: at few points they tell what it would take many labels to tell.

Where noise is most of every error, two wide fits differ by far less than labels do, and only the labels of
very many held-out points tell which is better. But the fits vary slowly. So it is enough to know them at
some points, if the labels around these, all of them held out, are averaged there first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Widths
from localegop._engine.chunks import chunks
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import isotropic_shapes
from localegop._selection.race import Looks

Array = NDArray[np.float64]

FEWEST_LABELS = 5000  # rows of a fit from which on labels are averaged
# and what else it takes: a variance factor of the best polynomial below this, since noise then hides the
# differences, and an error that is not above so many times that of kriging.
SMALL_VARIANCE, NEARLY = 0.05, 1.1
AVERAGED_LOOKS = Looks(200, 400, 700, 1000)
POINTS = AVERAGED_LOOKS.last  # held-out points at which labels are averaged
NARROWER = 0.5  # times the width of the widest of the usual fits, so that the average is of little bias
VISIBLE, FEWEST_VISIBLE = 4.0, 200  # points that these fits look at, times the effective size
POINTS_PER_TERM, RIDGE = 5.0, 1e-6  # of the linear fits that average: fewer points would be no average


def average_size(largest_size: float, held_out: LocalData, n: int) -> float:
    """Effective size of the neighborhoods that labels held out are averaged in.

    They are narrower than those that ``largest_size`` of the n rows of the fit are in.
    """
    narrow = NARROWER * largest_size * held_out.n / n
    return float(min(max(narrow, POINTS_PER_TERM * (1 + held_out.dimension)), held_out.largest_size))


def average_labels(held_out: LocalData, points: int, size: float) -> Array:
    """Estimate f (m, K) at the first of the rows held out, from the labels of all of them.

    Linear fits average the labels, and once more what these leave over: where the first misses a small part
    of a smooth f, both together miss that part of that part.
    """
    near = held_out.seeing(min(held_out.max_visible, max(int(VISIBLE * size), FEWEST_VISIBLE)))
    missed = near.labels - _linear_fits(near, len(near.rows), size)
    again = near.like(near.rows, missed, near.sample_weight)
    return near.labels[:points] - missed[:points] + _linear_fits(again, points, size)


def _linear_fits(data: LocalData, points: int, size: float) -> Array:
    """Values (m, K) of linear fits at the first rows of some data, their own labels included."""
    rows = data.rows[:points]
    values = np.empty((len(rows), data.outputs))
    for part in chunks(len(rows), 12.0 * data.max_visible):
        centers = data.centers(rows[part])
        shapes = isotropic_shapes(len(centers), data.dimension)
        widths = Widths.of_sizes((size,), len(centers))
        fits = data.localize(centers, shapes, widths, degree=1, ridges=(RIDGE,))
        values[part] = fits.value[:, 0, 0, 0]
    return values
