"""How the metric moves: widths of the steps, mixtures, caps."""

import numpy as np
import pytest

from localegop._engine import recursion
from localegop._engine.centers import Widths
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import MetricUpdate, Recursion, Stage, Step
from localegop.kernels import as_kernel
from localegop.schedules import EffectiveSampleSize, Geometric

RNG = np.random.default_rng(0)
BY_SIZE = MetricUpdate(EffectiveSampleSize(80.0, 10.0, 4), 0.5, 0.2, None)
BY_BANDWIDTH = MetricUpdate(Geometric(2.0, 0.5), 0.25, 0.2, None)


def local_data(n=100, dimension=3):
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(RNG.normal(size=(n, dimension)), np.zeros((n, 1)), np.ones(n), **options)


def squares(count, dimension=3):
    roots = RNG.normal(size=(count, dimension, dimension))
    return roots @ np.swapaxes(roots, 1, 2)


def step_of(shape, agop):
    return Step(shape, Widths.of_scale(1.0, len(shape)), np.ones(len(shape)), np.ones(len(shape)), agop)


def unit(matrices):
    return matrices / np.trace(matrices, axis1=1, axis2=2)[:, None, None]


def test_widths_are_those_asked_for_or_those_of_the_schedule():
    data = local_data()
    assert BY_SIZE.widths(1, 2, data, (30.0, 20.0)).sizes.tolist() == [[30.0, 20.0]] * 2
    assert BY_SIZE.widths(0, 2, data).sizes.tolist() == [[50.0]] * 2  # no more than half of the points
    assert BY_SIZE.widths(3, 2, data).sizes == pytest.approx(np.full((2, 1), 10.0))
    assert BY_BANDWIDTH.widths(0, 2, data).scales == pytest.approx(np.full((2, 1), 15.0))  # D / 0.2
    bandwidth = BY_BANDWIDTH.schedule(2)
    assert BY_BANDWIDTH.widths(2, 2, data).scales == pytest.approx(np.full((2, 1), 1.0 / bandwidth))


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_impossible_widths_are_named(wrong):
    class Sizes:
        def effective_size(self, t):
            return wrong

    data = local_data()
    with pytest.raises(ValueError, match="positive finite bandwidths, but step 2 has"):
        MetricUpdate(lambda t: wrong, 0.5, 0.2, None).widths(2, 1, data)
    with pytest.raises(ValueError, match="positive effective sizes, but step 2 has"):
        MetricUpdate(Sizes(), 0.5, 0.2, None).widths(2, 1, data)


def test_bandwidths_mix_agops_and_sizes_mix_with_the_shape_that_found_them():
    shape, agop, before = unit(squares(5)), squares(5), squares(5)
    step = step_of(shape, agop)
    for update in (BY_SIZE, BY_BANDWIDTH):
        assert update.next_shape(0, step, None) == pytest.approx(unit(agop))
    assert BY_SIZE.next_shape(1, step, None) == pytest.approx(unit(0.5 * unit(agop) + 0.5 * shape))
    mixed = unit(0.25 * agop + 0.75 * before)
    assert BY_BANDWIDTH.next_shape(1, step, before) == pytest.approx(mixed)


@pytest.mark.parametrize("update", [BY_SIZE, BY_BANDWIDTH], ids=["size", "bandwidth"])
def test_blocks_and_memory_change_nothing(monkeypatch, update):
    shape, agop, before = unit(squares(5)), squares(5), squares(5)
    whole = update.next_shape(1, step_of(shape, agop), before)
    monkeypatch.setattr(recursion, "BLOCK", 2)
    out = agop.copy()
    assert np.array_equal(update.next_shape(1, step_of(shape, out), before, out), whole)
    assert np.array_equal(out, whole)


def test_later_metrics_are_capped_and_the_first_is_not():
    data, shapes = local_data(), unit(squares(4))
    update = MetricUpdate(Geometric(2.0, 0.5), 0.5, 0.2, covariance_cap=0.3)
    first, widths = Recursion(None, update, data, Stage(0, shapes)).setting()
    assert first is shapes and widths.scales == pytest.approx(np.full((4, 1), 15.0))
    later, widths = Recursion(None, update, data, Stage(1, shapes)).setting()
    assert widths.scales.tolist() == [[1.0]] * 4
    assert np.linalg.eigvalsh(later).min() >= (1.0 - 1e-9) / 0.3


def test_only_bandwidths_keep_the_agop_of_the_step_before():
    data, shape, agop = local_data(), unit(squares(4)), squares(4)
    for update in (BY_SIZE, BY_BANDWIDTH):
        loop = Recursion(None, update, data, Stage(0, shape))
        loop.move(step_of(shape, agop.copy()), reuse=True)
        assert loop.t == 1 and loop.shape == pytest.approx(unit(agop))
        if update is BY_SIZE:
            assert loop.stage.previous_agop is None
        else:
            assert np.array_equal(loop.stage.previous_agop, agop)  # not overwritten
