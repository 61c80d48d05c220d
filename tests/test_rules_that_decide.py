"""The rules that decide a fit, in numbers worked out by hand: no constant of theirs changes unnoticed."""

import numpy as np
import pytest

from localegop._data.sums import Extent
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.local_data import LocalData
from localegop._fit import initial_axes
from localegop._fit.blend_choice import _as_good, _changes_little
from localegop._fit.optimism import measure_optimism
from localegop._fit.plan import _may_be_better
from localegop._fit.robustness import Spread, huber_weights
from localegop._predict.blending import fade
from localegop._predict.blocks import block_sizes
from localegop._predict.coverage import needed_weight
from localegop._predict.gaps import GapLaw, compare_with_law
from localegop._predict.rivals import Rivals, in_half
from localegop._predict.support import find_support, one_sidedness, reach_from
from localegop._predict.uncertainty import (
    correct_noise,
    expect_deviation,
    interval_widths,
)
from localegop._selection import kriging
from localegop._selection.final import Final
from localegop._selection.folds import draw_folds
from localegop._selection.global_search import (
    DEFAULT_GLOBAL,
    GlobalSearch,
    as_choice,
    for_more_rows,
    typical_length,
)
from localegop._selection.isotropic_baseline import gain
from localegop._selection.race import Looks, Race, choose_best, differences, expected_errors
from localegop._selection.search_grid import SearchGrid, quadratic_directions_for, sizes_for
from localegop._selection.tally import Tally
from localegop.kernels import as_kernel
from tests.selection.made_up import MadeUpHoldout, choices

SWING = np.tile([1.0, -1.0], 50)  # means of a hundred such numbers have a standard error of 0.1
ONES = np.ones(100)


def data_of(rows, labels=None):
    rows = np.asarray(rows, dtype=float)
    labels = np.zeros((len(rows), 1)) if labels is None else labels
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(np.ascontiguousarray(rows), labels, np.ones(len(rows)), **options)


# Races


@pytest.mark.parametrize(
    ("better", "polynomial", "process"),
    [(0.2, 0.2**2 / 0.3 + 0.88, 0.88), (0.05, 0.05**2 / 0.15 + 0.895, 0.895 + 0.13)],
)
def test_what_is_expected_of_kriging_beside_a_polynomial(better, polynomial, process):
    """Errors of 9 and 9 less a bit; the polynomial has a variance of a tenth of the noise."""
    errors = np.column_stack([np.full(100, 9.0), 9.0 - better + SWING])
    found = expected_errors(errors, ONES, np.array([0.1, 7.0]), np.array([False, True]))
    assert found == pytest.approx([polynomial, process])


def test_variances_count_with_the_noise_of_the_labels_that_fits_are_made_to():
    """Averages of labels have less noise than these: the least error is not that of the noise then."""
    errors = np.column_stack([np.full(100, 9.0), np.full(100, 9.0) + 0.5 + SWING])
    variances, polynomials = [0.3, 0.1], np.array([False, False])
    seen = 0.5**2 / 0.6  # of a difference with a standard error of 0.1
    found = expected_errors(errors, ONES, np.array(variances), polynomials)
    assert found == pytest.approx([9.0 * 0.3, 9.0 * 0.1 + seen])
    found = expected_errors(errors, ONES, np.array(variances), polynomials, noise=20.0)
    assert found == pytest.approx([20.0 * 0.3, 20.0 * 0.1 + seen])


def test_races_and_their_final_know_that_noise_from_what_is_held_out():
    """The smoother choice, which errs a bit more, is the better one for it."""
    errors = np.column_stack([np.full(2000, 9.0), 9.5 + np.resize(SWING, 2000)])
    for noise, best in ((0.1, 0), (20.0, 1)):
        race = Race(MadeUpHoldout(errors, [0.3, 0.1], noise=noise), choices(2))
        race.run_to(100)
        assert race.best.step == best
        assert Final([race]).best[1].step == best
        assert Tally.of([race]).winner(np.ones(100)) == best


def test_kriging_that_is_clearly_better_needs_no_proof():
    """Its error is 0.97 of the polynomial's, which is not certain: 3 with a standard error of 10."""
    errors = np.column_stack([np.full(100, 100.0), 97.0 + 100.0 * SWING])
    found = expected_errors(errors, ONES, np.array([0.0, 0.0]), np.array([False, True]))
    assert found == pytest.approx([9.0 / 13.0, 0.0])


def test_kriging_that_is_a_little_better_lacks_a_part():
    errors = np.column_stack([np.full(100, 100.0), 99.0 + 100.0 * SWING])
    found = expected_errors(errors, ONES, np.array([0.0, 0.0]), np.array([False, True]))
    assert found == pytest.approx([1.0 / 11.0, 1.0])  # up to 0.98 of the polynomial's


def test_weights_of_points_count_in_differences():
    errors = np.column_stack([np.zeros(4), [1.0, 1.0, 3.0, 3.0]])
    seen, doubt = differences(errors, np.array([3.0, 3.0, 1.0, 1.0]))
    assert seen[1] == pytest.approx(1.5) and doubt[1] == pytest.approx(np.sqrt(0.75 / 4.0))


def test_four_standard_errors_are_clear():
    errors = 1.0 + np.column_stack([np.zeros(100), 0.39 + SWING, 0.41 + SWING, 0.1 + SWING])
    kinds = [Polynomial] * 4
    assert choose_best(errors.mean(axis=0), errors, ONES, kinds, 4, 0).tolist() == [0, 1, 3]
    assert choose_best(errors.mean(axis=0), errors, ONES, kinds, 1, 0).tolist() == [0]
    assert choose_best(errors.mean(axis=0), errors, ONES, kinds, 2, 0).tolist() == [0, 3]


def test_so_many_of_each_kind_go_on():
    errors = np.column_stack([k * 0.01 + SWING * (k > 0) for k in range(6)])
    kinds = [Polynomial, Polynomial, Polynomial, Kriging, Kriging, GlobalKriging]
    order = np.arange(6.0)
    for of_each, kept in ((0, [0, 1]), (1, [0, 1, 3, 5]), (2, [0, 1, 3, 4, 5])):
        assert choose_best(order, errors, ONES, kinds, 2, of_each).tolist() == kept


def test_numbers_of_points_of_the_rounds():
    assert Looks() == Looks(100, 300, 600, 1000) == Looks.for_rows(5000)
    assert Looks.for_rows(7500) == Looks(150, 450, 900, 1500)
    assert Looks.for_rows(10**6) == Looks(200, 600, 1200, 2000)
    assert [Looks.for_rows(n).first for n in (100, 250, 400, 500)] == [50, 50, 80, 100]


def final_of(gap, swing, points=100, n=1600, scale=1.0):
    errors = np.column_stack([np.ones(n), 1.0 + gap + swing * np.tile([1.0, -1.0], n // 2)])
    race = Race(MadeUpHoldout(scale * errors, [0.1, 0.1]), choices(2))
    race.run_to(points)
    return Final([race])


@pytest.mark.parametrize(
    ("gap", "swing", "goes_on"),
    [(0.023, 0.12, True), (0.025, 0.12, False), (0.0, 0.11, True), (0.0, 0.09, False)],
)
def test_a_final_goes_on_while_it_may_matter(gap, swing, goes_on):
    """Up to two standard errors apart, which are more than a tenth of the error expected, 0.1."""
    final = final_of(gap, swing)
    final.decide()
    assert (final.points > 100) == goes_on


def test_a_final_ends_at_four_thousand_points_or_two_thousand_where_fits_are_precise():
    for scale, points in ((1.0, 4800), (1e-4, 2400)):  # 300 doubled, until it is not below these
        final = final_of(0.0, 1.0, points=300, n=6000, scale=scale)
        final.races[0].holdout.first_count = 1200
        final.decide()
        assert final.points == points


def test_eight_and_then_four_are_in_the_final():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(400, 12))
    race = Race(MadeUpHoldout(5.0 + noise - noise.mean(axis=0) + 0.001 * np.arange(12)), choices(12))
    race.run_to(100)
    Final([race]).find_finalists(Looks(100, 100, 200, 300))
    assert [count for start, _, count in race.holdout.asked if start >= 100] == [8, 4]


def test_a_tally_counts_points_as_often_as_told():
    errors = np.column_stack([np.tile([1.0, 3.0], 50), np.tile([2.0, 1.0], 50)])
    race = Race(MadeUpHoldout(errors, [0.0, 0.0]), choices(2))
    race.run_to(100)
    tally = Tally.of([race])
    odd = np.tile([0.0, 1.0], 50)
    assert [tally.winner(times) for times in (1.0 - odd, odd, np.zeros(100))] == [0, 1, 1]


def test_a_fifth_is_held_out_at_a_time_or_once_where_rows_are_very_many():
    assert [len(fold) for fold in draw_folds(103, 0)] == [21, 21, 21, 20, 20]
    assert sorted(np.concatenate(draw_folds(103, 0))) == list(range(103))
    assert [len(fold) for fold in draw_folds(19_999, 0)] == [4000] * 4 + [3999]
    assert [len(set(fold)) for fold in draw_folds(79_999, 0)] == [16_000] * 4 + [15_999]
    assert [len(set(fold)) for fold in draw_folds(80_000, 0)] == [16_000]
    assert [len(set(fold)) for fold in draw_folds(250_000, 0)] == [40_000]
    assert not np.array_equal(draw_folds(103, 0)[0], draw_folds(103, 1)[0])


# What there is to choose from


def test_sizes_and_directions_to_choose_from():
    assert sizes_for(data_of(np.zeros((10_000, 2)))) == (960.0, 480.0, 240.0, 120.0, 60.0, 30.0, 15.0)
    assert [quadratic_directions_for(d) for d in (2, 15, 16, 20, 21, 30, 31)] == [
        (0, 1, 2), (0, 1, 2, 3), (0, 1, 2), (0, 1, 2), (0, 1), (0, 1), (0,)
    ]  # fmt: skip


def test_a_grid_around_a_choice_has_sizes_up_to_twice_and_half():
    grid = SearchGrid(tuple(range(3)), (240.0, 120.0, 60.0, 30.0, 15.0), True, (0, 1), (1e-4, 1e-2))
    assert grid.around(Choice(0, 60.0, Polynomial(1, 0, 1e-4))).sizes == (120.0, 60.0, 30.0)
    assert grid.wide_enough(40).sizes == (240.0, 120.0, 60.0) and grid.wide_enough(37).sizes[-1] == 30.0
    long = SearchGrid(tuple(range(40)), None, True, (0,), (1e-4,))
    assert (
        len(long.coarse().steps) == 6
        and len(long.around(Choice(8, None, Polynomial(1, 0, 1e-4))).steps) == 6
    )


def test_processes_to_choose_from():
    smooth, noisy = kriging.smooth_processes([0], 100.0), kriging.noisy_processes([0, 2], 40.0)
    assert {one.size for one in smooth} == {60.0} and {one.size for one in noisy} == {40.0}
    assert [(one.final.length, one.final.ridge) for one in smooth][::6] == [
        (1.0, 1e-8), (2.0, 1e-8), (4.0, 1e-8), (8.0, 1e-8)
    ]  # fmt: skip
    assert [one.final.ridge for one in smooth[:6]] == [1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1]
    assert all(one.final.trend and not one.final.rough for one in smooth)
    assert len(noisy) == 2 * (12 + 9) and {one.step for one in noisy} == {0, 2}
    flat = [one.final for one in noisy[:12]]
    assert not any(one.trend or one.rough for one in flat)
    assert {one.ridge for one in flat} == {1e-2, 1e-1, 1.0}
    rough = [one.final for one in noisy[12:21]]
    assert all(one.rough for one in rough) and {one.length for one in rough} == {4.0, 8.0, 16.0}
    assert {one.ridge for one in rough} == {1e-3, 1e-2, 1e-1}
    default = kriging.default_kriging(1, 30.0)
    assert (default.step, default.size, default.final) == (1, 30.0, Kriging(2.0, 1e-2))


def test_processes_after_some_steps():
    ranked = [Choice(0, 60.0, Kriging(length, 1e-3)) for length in (4.0, 2.0, 8.0, 1.0)]
    later = kriging.later_processes(ranked, [1, 3])
    assert [one.step for one in later] == [1] * 5 + [3] * 5
    assert [one.final.length for one in later[:5]] == [4.0, 2.0, 8.0, 2.0, 8.0]
    assert {one.size for one in later} == {60.0} and {one.final.ridge for one in later} == {1e-3}


def test_global_processes_to_begin_with_and_near_the_best():
    rows = np.array([[0.0], [1.0], [3.0]])  # squared distances 0 three times, 1, 1, 4, 4, 9, 9
    search = GlobalSearch(rows, np.array([[0.0], [1.0], [0.0]]), np.ones(3))
    unit = typical_length(rows)
    assert unit == pytest.approx(np.sqrt(0.5))
    assert [(one.length, one.ridge, one.rough) for one in search.first_guesses()] == [
        (pytest.approx(2.0 * unit), 1e-3, False), (pytest.approx(8.0 * unit), 1e-2, True)
    ]  # fmt: skip
    best = GlobalKriging(2.0, 1e-3)
    assert as_choice(best) == Choice(0, None, best)
    assert for_more_rows(best) == GlobalKriging(1.4, 5e-4)
    assert for_more_rows(GlobalKriging(2.0, 1e-9, rough=True)) == GlobalKriging(1.4, 1e-9, rough=True)
    assert Choice(0, None, GlobalKriging(2.0, 1e-2)) == DEFAULT_GLOBAL


def test_a_search_ends_where_no_move_is_better():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.0, 1.0, size=(40, 2))
    labels = (np.sin(3.0 * rows[:, 0]) + 0.2 * rng.normal(size=40))[:, None]
    search = GlobalSearch(rows, labels, np.ones(40))
    for found in search.best(search.first_guesses()):
        for longer, larger in ((1.0, 10.0), (1.0, 0.1), (2.0, 1.0), (0.5, 1.0), (2.0, 0.1), (0.5, 10.0)):
            ridge = min(max(found.ridge * larger, 1e-9), 10.0)
            other = GlobalKriging(found.length * longer, ridge, found.rough)
            assert search.error(other) >= 0.999 * search.error(found)


# Axes


def test_axes_have_the_lengths_of_their_rules():
    """Squared slopes of 1, 1/16, 1e-6 and 1e-8 along features with standard deviation 2, and a constant."""
    extent = Extent(
        np.zeros(5), np.array([1.0, 1.0, 1.0, 1.0, 0.0]), np.zeros(5), np.array([2.0, 2.0, 2.0, 2.0, 1.0])
    )
    agop = np.diag([1.0, 1.0 / 16.0, 1e-6, 1e-8, 1.0]) / 4.0

    def lengths(rule):
        return np.linalg.norm(initial_axes.axes_from(extent, agop, rule), axis=0).tolist()

    assert lengths(initial_axes.SHARP) == pytest.approx([0.5, 0.125, 0.025])
    assert lengths(initial_axes.PILOT) == pytest.approx([0.5, 0.125, 0.025, 0.025, 0.0])
    assert lengths(initial_axes.GENTLE) == pytest.approx([0.5, 0.25, 0.025, 0.025, 0.0])
    assert lengths(initial_axes.FEATURES) == pytest.approx([0.5, 0.125, 0.0005])
    assert initial_axes.RULES == {
        "slopes": initial_axes.SHARP, "gentle": initial_axes.GENTLE, "features": initial_axes.FEATURES,
        "given": initial_axes.SHARP, "given gently": initial_axes.GENTLE,
    }  # fmt: skip


def test_single_features_are_not_turned():
    extent = Extent(np.zeros(2), np.ones(2), np.zeros(2), np.ones(2))
    agop = np.array([[1.0, 0.9], [0.9, 1.0]])
    single = initial_axes.axes_from(extent, agop, initial_axes.FEATURES)
    assert np.sort(np.abs(single).ravel()).tolist() == [0.0, 0.0, 1.0, 1.0]
    turned = initial_axes.axes_from(extent, agop, initial_axes.SHARP)
    assert np.abs(turned[:, 0]) == pytest.approx([np.sqrt(0.5)] * 2)


def test_outer_products_are_averaged_with_weights_in_the_units_before():
    gradients = np.array([[[1.0, 0.0]], [[0.0, 2.0]]])
    axes = np.diag([2.0, 3.0])
    found = initial_axes.global_agop(axes, gradients, np.array([3.0, 1.0]))
    assert found == pytest.approx(np.diag([0.75 * 4.0, 0.25 * 36.0]))


# Robustness, blending, optimism


def test_weights_of_residuals():
    assert huber_weights(np.array([1.3, 1.345, 2.0, 9.99, 10.01])) == pytest.approx(
        [1.0, 1.0, 0.6725, 0.134635, 0.0], abs=1e-6
    )


def test_the_spread_around_a_row_and_the_least_there_is():
    rows = np.arange(200.0)[:, None]
    sizes = np.where(rows < 100.0, 0.1, 1.0)
    spread = Spread(data_of(rows), sizes).at(np.array([[0.0], [199.0]]))
    # the median over all is between 0.1 and 1: 0.55, of which a quarter is the least
    assert spread[:, 0] == pytest.approx([1.4826 * 0.25 * 0.55, 1.4826])
    assert Spread(data_of(rows), 0.0 * sizes).at(rows[:1]) == pytest.approx(1e-3)
    few = np.where(rows < 26.0, 1.0, 0.0)  # of the fifty around, just more than half
    assert Spread(data_of(rows), few).at(rows[:1]) == pytest.approx(1.4826)
    assert Spread(data_of(rows), np.where(rows < 24.0, 1.0, 0.0)).at(rows[:1]) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("worse", "swing", "good"),
    [(0.039, 0.0, True), (0.041, 0.0, False), (0.02, 0.09, True), (0.02, 0.11, False), (-0.1, 0.0, True)],
)
def test_a_blend_may_add_four_hundredths_with_two_standard_errors(worse, swing, good):
    exact = np.ones(100)
    assert _as_good(exact + worse + swing * SWING, exact, ONES) == good


def test_weights_count_in_the_judgment_of_a_blend():
    exact, blended = np.ones(2), np.array([1.0, 1.5])
    assert _as_good(blended, exact, np.array([1.0, 1e-9])) and not _as_good(blended, exact, np.ones(2))


@pytest.mark.parametrize(
    ("held_out", "share", "factor"),
    [(4.0, 0.8, 1.6909), (1.1, 0.8, 1.0), (1.44, 1.0, 1.1161), (0.5, 1.0, 1.0)],
)
def test_optimism_of_known_errors(held_out, share, factor):
    found = measure_optimism(np.ones((100, 2)), np.full(100, held_out), share)
    assert found == pytest.approx(factor, abs=2e-4)


def test_what_the_metric_gains():
    assert gain(0.3, 0.1) == pytest.approx(3.0) and np.isnan(gain(1.0, np.nan))
    assert gain(0.0, 0.0) == gain(1e-26, 1e-30) == 1.0  # rounding


# Where rows are far


def test_sizes_of_blocks():
    wide = data_of(np.zeros((1500, 1)))
    assert block_sizes(wide) == (10, 27, 70, 187) and block_sizes(data_of(np.zeros((5000, 1))))[-1] == 300
    assert (
        block_sizes(data_of(np.zeros((100, 1)))) == (10, 11, 12)
        and block_sizes(data_of(np.zeros((79, 1)))) == ()
    )


def test_the_law_of_gaps_in_numbers():
    law = GapLaw(np.array([[np.log(2.0)], [1.5], [0.5]]), np.log([100.0]))
    assert law(np.array([4.0]), np.array([9.0]))[0, 0] == pytest.approx(2.0 * 8.0 * 3.0)
    assert law(np.array([1e9, 1.0]), np.array([1.0, 1e9]))[:, 0] == pytest.approx([100.0, 100.0])


def test_the_law_of_gaps_goes_on_to_four_times_what_it_says_at_places_tested():
    squares = np.array([[4.0], [400.0]])  # the second is much larger than what the law says anywhere
    law = GapLaw.learn(squares, np.ones((2, 1)), np.ones(2), np.ones(2), np.array([1.0, 1e-5]))
    told = law(np.ones(1), np.ones(1))[0, 0]
    assert told == pytest.approx(3.0, rel=0.01)
    assert law(np.full(1, 1e9), np.ones(1))[0, 0] == pytest.approx(4.0 * told)
    least = GapLaw.learn(squares, np.ones((2, 1)), np.ones(2), np.ones(2), np.array([1.0, 1e-7]))
    assert least(np.full(1, 1e9), np.ones(1))[0, 0] == pytest.approx(4.0)  # the largest that counts


def test_surprising_errors_count_as_twenty_five_times_the_expected():
    share, excess = compare_with_law(
        np.array([[1e6], [8.0]]), np.array([[1.0], [1.0]]), np.array([[1.0], [3.0]])
    )
    assert share[:, 0].tolist() == [0.5, 0.75] and excess[:, 0].tolist() == [12.5, 1.5]


def test_few_errors_are_held_to_usual_slopes():
    law = GapLaw.learn(np.array([[4.0]]), np.array([[1.0]]), np.array([1.0]), np.array([1.0]), np.ones(1))
    assert law.coefficients[1:, 0] == pytest.approx([2.0, 0.5], abs=1e-6)
    assert law.coefficients[0, 0] == pytest.approx(np.log(3.0), abs=1e-3)
    none = GapLaw.learn(np.array([[1.0]]), np.array([[1.0]]), np.array([1.0]), np.array([1.0]), np.ones(1))
    assert none.coefficients[0, 0] < np.log(1e-3)


def test_how_far_queries_may_be():
    assert reach_from(np.full(1000, 0.5)) == pytest.approx(1.0)
    spacing = np.arange(1.0, 1001.0)
    assert reach_from(spacing) == pytest.approx(2.0 * 996.0)  # half a percent are farther than is usual
    few = np.append(np.ones(20), 50.0)
    assert reach_from(few) == pytest.approx(20.0)  # ten medians at most
    assert reach_from(np.zeros(5)) == np.inf


def test_queries_beyond_a_line_of_rows():
    """Rows at 0 .. 99, reach 4: a query at 107 is 10 from its third nearest, and far outside."""
    data = data_of(np.arange(100.0)[:, None])
    support = find_support(data, np.array([[50.2], [107.0], [102.9]]), 4.0)
    assert support.remoteness == pytest.approx([2.2 / 4.0 - 0.25, 2.5, 5.9 / 4.0])
    assert support.beyond.tolist() == [False, True, True]
    outside = fade(one_sidedness(data, data.centers(np.array([[107.0]]))), 6.0, 12.0)[0]
    assert support.way[1, 0] == pytest.approx(outside * (1.0 - 1.0 / 2.5**2) * (107.0 - 98.0))
    assert support.rows[1, 0] == pytest.approx(107.0 - support.way[1, 0]) and support.way[0, 0] == 0.0


def test_fading_is_smooth_from_start_to_end():
    assert fade(np.array([0.0, 1.0, 1.5, 2.0, 3.0, 9.0]), 1.0, 3.0) == pytest.approx(
        [0.0, 0.0, 0.15625, 0.5, 1.0, 1.0]
    )


def test_noise_from_residuals_and_back():
    assert correct_noise(np.array([[2.0]]), np.array([1.0])).tolist() == [[2.0]]
    assert expect_deviation(np.array([[2.0]]), np.array([3.0])).tolist() == [[4.0]]
    assert needed_weight(np.array([0.5, 0.9]), 9.0) == pytest.approx([5.0, 9.0], rel=1e-9)


def test_halves_of_rows():
    numbers = np.arange(2000)
    first, second, third = (in_half(numbers, half, 0) for half in (0, 1, 2))
    assert np.array_equal(first, ~second) and 0.45 < first.mean() < 0.55
    assert 0.45 < np.mean(first == third) < 0.55 and 0.45 < np.mean(first == in_half(numbers, 0, 1)) < 0.55
    assert len(Rivals.none(np.eye(2), DEFAULT_GLOBAL).picks) == 16


def test_outputs_are_averaged_before_optimism_is_measured():
    residuals = np.tile([1.0, 1.0, 4.0], (100, 1))  # mean squares of 6
    assert measure_optimism(residuals, np.full(100, 6.0), 1.0) == pytest.approx(1.0)
    assert measure_optimism(residuals, np.full(100, 24.0), 1.0) == pytest.approx(1.8053, abs=2e-4)


@pytest.mark.parametrize(("behind", "goes_on"), [(0.09, True), (0.11, False)])
def test_a_trial_that_is_behind_by_a_standard_error_is_not_finished(behind, goes_on):
    ahead, other = (
        Race(MadeUpHoldout(np.ones((100, 1))), choices(1)),
        Race(MadeUpHoldout((1.0 + behind + SWING)[:, None]), choices(1)),
    )
    for race in (ahead, other):
        race.run_to(100)
    assert _may_be_better(other, ahead) == goes_on
    assert _may_be_better(other, ahead, 2.0) and _may_be_better(ahead, other)


def test_widths_of_intervals_in_a_gap():
    factors = np.array([[[1.0]], [[3.0]], [[2.0]]])  # near the rows, in gaps, and beyond the data
    three, four, none = (np.array([[each]]) for each in (3.0, 4.0, 0.0))
    assert interval_widths(three, four, none, factors)[0, 0, 0] == pytest.approx(5.0 * (1.0 + 0.64 * 2.0))
    assert interval_widths(three, none, four, factors)[0, 0, 0] == pytest.approx(np.hypot(3.0, 8.0))


@pytest.mark.parametrize(("change", "little"), [(0.0199, True), (0.0201, False)])
def test_a_blend_may_change_as_much_as_fits_vary(change, little):
    """Fits with errors of 0.2 and variance factors of 0.1 have a variance of 0.02; rows count by weight."""
    ones = np.full(50, 1.0)
    assert _changes_little(change * ones, 0.2 * ones, 0.1 * ones, 3.0 * ones) == little
    uneven = np.where(np.arange(50) < 25, 1.0, 1e-9)
    spread = np.where(np.arange(50) < 25, change, 5.0)
    assert _changes_little(spread, 0.2 * ones, 0.1 * ones, uneven) == little
    assert _changes_little(0.0 * ones, 0.0 * ones, ones, ones)  # nothing to change, nothing wrong
