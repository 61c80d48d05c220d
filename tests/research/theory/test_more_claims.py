"""Claims of the appendix, as tests: where the paper's statement fails, the failure is the test."""

import numpy as np
import pytest

from localegop.research.theory import oracle_recursion
from localegop.research.theory.claims import approximation, estimator, expansions, reductions
from localegop.research.theory.claims.table import problem


def test_variance_of_the_smoother_has_its_limit():
    ratios = estimator.variance_ratios()
    limit = 0.5**2 / (4.0 * np.pi * 0.25)
    assert ratios.max() / ratios.min() < 1.5
    assert ratios[-1] == pytest.approx(limit, rel=0.25)


def test_the_denominator_concentrates_the_other_way_round():
    last = estimator.concentration()[-1]
    assert last.bound < 0.05 < 0.95 < last.inside


def test_the_error_bound_covers_the_smoother():
    runs = [estimator.smoothed(*case) for case in estimator._CASES]
    assert all(0.05 < run.error / (run.scale + run.form) < 1.0 for run in runs)


def test_only_student_has_no_second_moment_in_the_plane():
    growth = {name: estimator.kernel_moments(name, 2)[1] for name in estimator.KERNELS}
    assert [name for name, factor in growth.items() if factor > 1.01] == ["student"]
    assert estimator.kernel_moments("student", 1)[1] < 1.01
    assert estimator.kernel_moments("student", 4)[0] > 1.5


def test_the_factor_of_the_proof_does_not_belong_there():
    without, printed = estimator.pushforward_error("epanechnikov")
    assert without < 1e-3 < 0.3 < printed


def test_the_second_inequality_needs_a_root():
    assert expansions.mixed_remainder_slope(0.5) == pytest.approx(0.5, abs=0.05)
    assert expansions.mixed_remainder_slope(0.0) == pytest.approx(1.0, abs=0.05)


def test_normals_and_gradients_turn_with_the_tangent_part():
    for ratios in expansions.rotation_ratios("torus"):
        assert ratios.max() < 1.5 * ratios.min()


def test_null_turns_smoothly():
    mixed, block = expansions.null_rotation_slopes()
    assert (mixed, block) == (pytest.approx(1.0, abs=0.05), pytest.approx(2.0, abs=0.05))


@pytest.mark.slow
def test_weak_dependence_needs_the_mean_of_the_product():
    stated, corrected = expansions.weak_dependence_slopes()
    assert stated < 1.2
    assert corrected == pytest.approx(2.0, abs=0.05)


@pytest.mark.slow
def test_shifted_expansion():
    assert expansions.shifted_slopes() == pytest.approx([2.0] * 3, abs=0.05)


def test_shift_and_seeds_are_off_by_the_errors():
    assert reductions.shift_deviation(1e-2) == pytest.approx(10 * reductions.shift_deviation(1e-3), rel=0.2)
    assert reductions.commuting_limit(0.0) < 1e-6 < reductions.commuting_limit(1e-3) < 0.02


def test_reduction_and_blocks_are_exact():
    assert reductions.reduction_error() < 1e-9
    right, printed = reductions.schur_errors()
    assert right < 1e-9 < 1e-2 < printed


def test_the_first_two_steps():
    first, second = reductions.base_case_slopes()
    assert first == pytest.approx([3.0, 2.0, 2.0], abs=0.1)
    assert second == pytest.approx([3.0, 2.0, 2.0], abs=0.1)


def test_a_cap_that_falls_slowly_costs_little():
    along, ratio, cost = reductions.falling_cap_slopes()
    assert along == pytest.approx(1.0, abs=0.05) and ratio == pytest.approx(1.0, abs=0.01)
    assert 1.0 < cost < 10.0


def test_a_cap_by_step_is_checked():
    task = problem("circle")
    with pytest.raises(ValueError, match=r"covariance_cap\(1\)=-1"):
        oracle_recursion(
            task.function.gradient, task.query, initial_scale=0.01, covariance_cap=lambda t: -1.0, n_iter=2
        )


def test_gradients_err_by_the_root_of_what_is_assumed():
    in_n, in_variance = approximation.gradient_rates()
    assert in_n == pytest.approx(-0.5, abs=0.1)
    assert in_variance == pytest.approx(-2.0, abs=0.3)


def test_operations_grow_as_stated():
    counted, formula = approximation.count_operations(100, 3, 10, 2)
    # Distances at x* for the weights, and two passes and a solution for each of eleven fits.
    fits = 10 * (2 * 99 * 9 + 27) + 2 * 100 * 9 + 27
    assert counted == 2 * (100 * 9 + fits)
    assert formula == 2 * (12 * 900 + 11 * 27)
    assert approximation.operations_claim().holds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["circle", "helix"])
def test_smoothed_gradients_keep_the_exponents(name):
    assert approximation._smoothed_claim(name).holds


def test_parts_of_the_bias_and_of_the_variance():
    identity, gaussian, density = estimator.decomposition_margins()
    assert identity < 1e-12 and 0.9 < gaussian <= 1.0 + 1e-9 and 0.5 < density <= 1.0 + 1e-9
    assert (estimator.full_variance_ratios() < 0.5).all()
    assert (np.diff(estimator.normalization_ratios()) < 0.0).all()


@pytest.mark.slow
def test_the_filtered_recursion_leaves_one_direction():
    run, parts = reductions.filtered_trace(), problem("random_surface").directions
    slopes = [reductions.decay_exponents(run, basis).slope for basis in (parts.curved, parts.straight)]
    assert slopes[0] == pytest.approx([0.5, 0.5], abs=0.07)
    assert slopes[1] == pytest.approx([0.0], abs=0.05)
