"""Centers and widths: parts of them belong together."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from localegop._engine.centers import Centers, Widths
from localegop._engine.neighbor_lists import NeighborLists

ROWS = np.arange(10.0).reshape(5, 2)
LISTS = NeighborLists.of([np.arange(i + 1, dtype=np.int32) for i in range(5)])


def lengths(lists):
    return np.diff(lists.start).tolist()


def test_a_slice_takes_rows_lists_and_left_out_points():
    centers = Centers(ROWS, LISTS, np.array([4, 3, 2, 1, 0]))
    part = centers[1:3]
    assert len(centers) == 5 and len(part) == 2
    assert part.rows.tolist() == ROWS[1:3].tolist()
    assert lengths(part.lists) == [2, 3] and part.lists.indices.tolist() == [0, 1, 0, 1, 2]
    assert part.left_out.tolist() == [3, 2]
    assert lengths(centers[3:].lists) == [4, 5]


def test_centers_are_picked_in_any_order():
    found = Centers(ROWS, LISTS, np.array([4, 3, 2, 1, 0])).pick(np.array([3, 0, 3]))
    assert found.rows.tolist() == ROWS[[3, 0, 3]].tolist()
    assert lengths(found.lists) == [4, 1, 4]
    assert found.left_out.tolist() == [1, 4, 1]


def test_what_there_is_not_stays_so():
    centers = Centers(ROWS)
    for part in (centers[1:3], centers.pick(np.array([1, 2]))):
        assert part.lists is None and part.left_out is None
        assert part.rows.tolist() == ROWS[1:3].tolist()


def test_widths_are_sizes_or_scales_one_row_a_center():
    sizes = Widths.of_sizes((60.0, 30.0), 3)
    assert sizes.sizes.tolist() == [[60.0, 30.0]] * 3 and sizes.scales is None
    one = Widths.of_scale(2.0, 3)
    assert one.scales.tolist() == [[2.0]] * 3 and one.sizes is None
    each = Widths.of_scale(np.array([1.0, 2.0, 3.0]), 3)
    assert each.scales.tolist() == [[1.0], [2.0], [3.0]]
    assert each[1:].scales.tolist() == [[2.0], [3.0]] and each[1:].sizes is None
    assert sizes[:2].sizes.shape == (2, 2) and sizes[:2].scales is None


def test_sizes_are_widened_up_to_the_largest_and_scales_are_not():
    assert Widths.of_sizes((10.0, 40.0), 1).widen(3.0, 100.0).sizes.tolist() == [[30.0, 100.0]]
    scales = Widths.of_scale(2.0, 3)
    assert scales.widen(3.0, 100.0) is scales


def test_centers_and_widths_are_frozen():
    for thing, name in ((Centers(ROWS), "rows"), (Widths.of_scale(1.0, 2), "scales")):
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, None)
