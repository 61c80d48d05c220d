"""Schedules: the paper's constants, monotone decrease, the scale that meets an effective size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localegop.kernels import KERNELS, effective_size
from localegop.reference import KERNELS as REFERENCE
from localegop.reference import paper_bandwidth, scale_for_effective_size
from localegop.schedules import (
    BandwidthSchedule,
    EffectiveSampleSize,
    EffectiveSizeSchedule,
    Geometric,
    PowerLaw,
)

GAUSSIAN = REFERENCE["gaussian"]


def test_default_power_law_is_the_papers():
    assert [PowerLaw()(t) for t in range(150)] == [paper_bandwidth(t) for t in range(150)]
    assert PowerLaw()(0) == 1.0


def test_protocols_tell_the_two_kinds_apart():
    assert isinstance(PowerLaw(), BandwidthSchedule)
    assert isinstance(EffectiveSampleSize(), EffectiveSizeSchedule)
    assert not isinstance(PowerLaw(), EffectiveSizeSchedule)
    assert not isinstance(EffectiveSampleSize(), BandwidthSchedule)


@pytest.mark.parametrize("schedule", [PowerLaw(), Geometric(), EffectiveSampleSize().effective_size])
def test_schedules_fall(schedule):
    assert np.all(np.diff([schedule(t) for t in range(12)]) < 0)


def test_effective_sizes_end_where_asked_and_stay_there():
    schedule = EffectiveSampleSize(start=200, stop=20, n_steps=4)
    assert schedule.effective_size(0) == pytest.approx(200)
    assert [schedule.effective_size(t) for t in (3, 9)] == pytest.approx([20, 20])
    assert EffectiveSampleSize(start=30, stop=20, n_steps=1).effective_size(0) == 30


@given(
    seed=st.integers(0, 1000),
    target=st.floats(5, 150),
    unit=st.sampled_from([1e-150, 1e-6, 1.0, 1e9, 1e150]),
)
def test_scale_meets_the_target_in_any_units(seed, target, unit):
    u = unit * np.random.default_rng(seed).chisquare(3, size=200)
    s = scale_for_effective_size(u, target, GAUSSIAN)
    assert effective_size(KERNELS["gaussian"].weights(s * u)) == pytest.approx(target, rel=1e-9)


def test_unreachable_targets_give_the_nearest_end():
    u = np.array([0.0, 0.0, 1.0, 2.0])
    weights = KERNELS["gaussian"].weights
    assert effective_size(weights(scale_for_effective_size(u, 1.0, GAUSSIAN) * u)) == pytest.approx(2.0)
    assert effective_size(weights(scale_for_effective_size(u, 100.0, GAUSSIAN) * u)) == pytest.approx(4.0)
    assert np.isfinite(scale_for_effective_size(np.zeros(5), 2.0, GAUSSIAN))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PowerLaw(exponent=-1), "exponent=-1 is not allowed: give a finite number > 0"),
        (lambda: PowerLaw(scale=0), "scale=0 is not allowed"),
        (lambda: Geometric(ratio=1.0), "ratio=1.0 is not allowed: give a finite number > 0 and < 1"),
        (lambda: Geometric(scale=np.nan), "scale=nan is not allowed"),
        (lambda: EffectiveSampleSize(start=10, stop=20), "stop=20 is not allowed: .* <= 10, the start"),
        (lambda: EffectiveSampleSize(n_steps=0), "n_steps=0 is not allowed"),
        (lambda: scale_for_effective_size(np.ones(2), -1.0, GAUSSIAN), "target must be positive"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
