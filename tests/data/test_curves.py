"""Curves: increasing, smooth, finite everywhere, and such that skewed features become symmetric."""

import numpy as np
import pytest

from localegop._data.curves import MOST_SKEWED, REACH, TAIL, Curves

RNG = np.random.default_rng(0)


def curve(skew, drawn_in, middle=2.0, spread=0.5):
    return Curves(*(np.array([float(each)]) for each in (middle, spread, skew, drawn_in)))


@pytest.mark.parametrize("drawn_in", [0, 1])
@pytest.mark.parametrize("skew", [-MOST_SKEWED, -1.0, 0.0, 0.3, 2.0, MOST_SKEWED])
class TestAnyCurve:
    def test_it_increases_with_the_slope_it_says(self, skew, drawn_in):
        one, x = curve(skew, drawn_in), np.linspace(-8.0, 12.0, 4001)[:, None]
        height, slope = one(x), one.slopes(x)
        assert (np.diff(height[:, 0]) > 0.0).all() and (slope > 0.0).all()
        h = 3e-9
        numeric = (one(x + h) - one(x - h)) / (2.0 * h)
        assert slope == pytest.approx(numeric, rel=2e-4, abs=1e-6)

    def test_its_slope_is_continuous(self, skew, drawn_in):
        one = curve(skew, drawn_in)
        x = 2.0 + 0.5 * np.linspace(-8.0, 8.0, 400_001)[:, None]
        steps = np.diff(np.log(one.slopes(x)[:, 0]))
        curvature = np.exp(MOST_SKEWED * REACH) * 4.0  # of the logarithm where it is steepest
        assert np.abs(steps).max() < 2.0 * curvature * (x[1, 0] - x[0, 0])

    def test_it_is_finite_everywhere(self, skew, drawn_in):
        one, far = (
            curve(skew, drawn_in),
            np.array([[s * 10.0**e] for e in (3, 20, 200, 308) for s in (-1, 1)]),
        )
        with np.errstate(all="raise", under="ignore"):
            assert np.isfinite(one(far)).all() and np.isfinite(one.slopes(far)).all()
        assert (one.slopes(far) > 0.0).all()
        if drawn_in:
            assert (np.abs(one(far)) <= REACH + TAIL).all()
            assert one(far)[-2:, 0] == pytest.approx([-REACH - TAIL, REACH + TAIL], abs=0.01)

    def test_rows_are_the_same_alone_and_together(self, skew, drawn_in):
        one, x = curve(skew, drawn_in), RNG.normal(size=(37, 1)) * 5.0
        together = one(x)
        assert all(np.array_equal(one(x[i : i + 1])[0], together[i]) for i in range(37))


def test_a_lognormal_feature_becomes_normal_in_any_unit():
    z = RNG.uniform(-2.9, 2.9, size=(100, 1))
    x = 1000.0 * (np.exp(0.8 * z) + 3.0)
    assert curve(0.8, 0, middle=4000.0, spread=800.0)(x) == pytest.approx(z)


def test_features_without_a_curve_stay_as_they_are():
    x = RNG.normal(size=(5, 1))
    none = curve(1.0, 1, spread=0.0)
    assert np.array_equal(none(x), x) and np.array_equal(none.slopes(x), np.ones((5, 1)))
    assert not none.curved.any()


def test_far_values_can_be_drawn_out_again():
    drawn, plain = curve(0.5, 1), curve(0.5, 0)
    x = np.array([[-1e3], [0.0], [2.3], [40.0], [1e9]])
    assert drawn.draw_out(drawn(x)) == pytest.approx(drawn.without_skew(x), rel=1e-3)
    assert np.array_equal(plain.draw_out(plain(x)), plain(x))
    assert np.isfinite(drawn.draw_out(np.array([[REACH + TAIL]]))).all()


def column(*numbers):
    return np.array(numbers)[:, None]


def test_far_values_in_numbers():
    """Beyond v = 3 by b, a value is drawn in to 3 + b / (1 + 2 b), on either side."""
    one = curve(0.0, 1, middle=0.0, spread=1.0)
    x, drawn_in = column(3.0, 4.0, -5.0, 53.0), column(3.0, 3.0 + 1.0 / 3.0, -3.4, 3.0 + 50.0 / 101.0)
    assert one(x) == pytest.approx(drawn_in) and one.draw_out(drawn_in) == pytest.approx(x)
    assert one.slopes(column(0.5, 3.0, 4.0, -5.0)) == pytest.approx(column(1.0, 1.0, 1.0 / 9.0, 1.0 / 25.0))
    # at and beyond what cannot be told apart any more
    assert np.abs(one.draw_out(column(3.5, 9.0))).min() > 1e100
    assert one.slopes(column(1e200))[0, 0] == 1e-16


def test_the_logarithm_goes_on_by_its_tangent_in_numbers():
    """With skew 1, v = log(1 + u) down to -3, which is u = exp(-3) - 1; there the slope is exp(3)."""
    one, mirrored = (curve(skew, 0, middle=0.0, spread=1.0) for skew in (1.0, -1.0))
    joint = np.exp(-3.0) - 1.0
    x, v = column(np.e - 1.0, joint, joint - 0.1), column(1.0, -3.0, -3.0 - 0.1 * np.exp(3.0))
    assert one(x) == pytest.approx(v) and one.inverse(v) == pytest.approx(x)
    assert one.slopes(column(1.0, joint - 7.0)) == pytest.approx(column(0.5, np.exp(3.0)))
    assert mirrored(-x) == pytest.approx(-v) and mirrored.inverse(-v) == pytest.approx(-x)


def test_curves_in_units_of_the_feature():
    one = curve(0.0, 0, middle=10.0, spread=4.0)
    assert one(column(18.0))[0, 0] == 2.0 and one.slopes(column(18.0))[0, 0] == 0.25
    assert one.inverse(column(2.0))[0, 0] == 18.0
