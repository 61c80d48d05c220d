"""Intervals in gaps: blocks of rows that are left out, the law of the errors there, and what follows."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop._engine.centers import Centers, Widths
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import learn_field
from localegop._engine.local_data import LocalData
from localegop._engine.sites import LocalSite
from localegop._predict.blocks import FindBlocks, block_sizes, leave_out_blocks, shapes_outside
from localegop._predict.gaps import GapLaw, compare_with_law, squared_spread
from localegop._predict.support import find_support
from localegop._predict.uncertainty import Calibration, interval_widths
from localegop._progress import SILENT
from localegop.kernels import as_kernel

RNG = np.random.default_rng(0)
SQUARE = RNG.uniform(-1.0, 1.0, (1500, 2))
IN_GAP = np.linalg.norm(SQUARE - [0.2, 0.1], axis=1) < 0.35
FINALS = {kind: {"final": kind} for kind in ("kriging", "polynomial", "global")}


def wave(X):
    return np.sin(4.0 * X[:, 0]) * np.cos(3.0 * X[:, 1])


def local_data(rows, limit=None):
    labels, weight = wave(rows)[:, None], np.ones(len(rows))
    return LocalData(
        np.ascontiguousarray(rows), labels, weight, kernel=as_kernel("gaussian"), max_neighbors=limit,
        radius=None, threads=1,
    )  # fmt: skip


@pytest.fixture(scope="module", params=FINALS)
def model(request):
    X = SQUARE[~IN_GAP]
    y = wave(X) + 0.05 * np.random.default_rng(1).standard_normal(len(X))
    return LocalEGOPRegressor(n_iter=1, n_jobs=1, **FINALS[request.param]).fit(X, y)


def silently(answer, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        return answer(*arguments, **named)


def test_blocks_are_whole_balls_around_a_place_near_the_center():
    data, points = local_data(SQUARE), np.arange(0, 1500, 50)
    alone = Centers(data.rows[points], None, points)
    without, distances = leave_out_blocks(data, alone, 40)
    middles, radii = FindBlocks(40)(data, alone, np.zeros((30, 2, 2)), Widths.of_scale(1.0, 30))
    for i, point in enumerate(points):
        left = without.lists.indices[without.lists.start[i] : without.lists.start[i + 1]]
        gone = np.setdiff1d(np.arange(1500), [*left, point])
        assert len(gone) == 40
        from_middle = np.sum((data.rows - middles[i]) ** 2, axis=1)
        assert from_middle[gone].max() == radii[i] <= from_middle[left].min()
        assert from_middle[point] <= 4.0 * radii[i]
        far = np.sort(np.linalg.norm(data.rows[left] - data.rows[point], axis=1))
        assert distances[i] == pytest.approx(far[2])


def test_half_of_what_a_center_looks_at_is_left():
    data = local_data(SQUARE, limit=31)
    without, _ = leave_out_blocks(data, data.own_centers(np.arange(5)), 40)
    assert np.diff(without.lists.start).tolist() == [15] * 5  # of 30 others


def test_blocks_do_not_depend_on_which_other_centers_there_are():
    data = local_data(SQUARE, limit=300)
    all_of, some = (leave_out_blocks(data, data.own_centers(np.arange(k)), 30) for k in (20, 7))
    end = some[0].lists.start[-1]
    assert np.array_equal(some[0].lists.indices, all_of[0].lists.indices[:end])
    assert np.array_equal(some[1], all_of[1][:7])


@pytest.mark.parametrize(("n", "limit", "sizes"), [(60, None, 0), (100, None, 3), (1500, None, 4)])
def test_blocks_are_a_small_part_of_the_rows(n, limit, sizes):
    found = block_sizes(local_data(SQUARE[:n], limit))
    assert len(found) == sizes and all(10 <= size <= n / 8 for size in found)
    assert max(block_sizes(local_data(SQUARE, 90))) == 30


def test_gradients_in_a_ball_do_not_count():
    """The shape at the middle of a ball is the same whatever the gradients of anchors in the ball are."""
    fitted = LocalEGOPRegressor(n_iter=1, n_jobs=1, degree=1, ridge=1e-3).fit(
        SQUARE[:300], wave(SQUARE[:300])
    )
    data = fitted._models[0].data
    site = LocalSite.own(data, np.arange(300))
    field = learn_field(site, data, fitted._models[0].decisions.update, (1e-3,), 1, SILENT)
    own, middle = np.array([40]), data.rows[[40]]
    inside = np.sum((data.rows - middle) ** 2, axis=1) <= 0.3
    other = replace(field, gradients=(np.where(inside[:, None, None], 1e3, field.gradients[0]),))
    told = [shapes_outside(each, middle, own, 1, middle, np.array([0.3])) for each in (field, other)]
    assert 20 < inside.sum() < 200 and np.array_equal(*told)
    assert not np.allclose(told[0], field.shapes_at(middle, 1, own))
    everyone = [shapes_outside(each, middle, own, 1, middle, np.array([1e9])) for each in (field, other)]
    assert not np.allclose(*everyone)  # if nobody is outside, all count


def test_a_process_of_all_rows_without_blocks_is_one_of_the_other_rows():
    process, rows = GlobalKriging(0.5, 1e-3), SQUARE[:150]
    solved = local_data(rows).solved(process)
    own = np.array([3, 70])
    blocks = [np.arange(10, 40, dtype=np.int32), np.array([71, 2], dtype=np.int32)]
    value, factor = solved.without_blocks(own, blocks)
    for i, (row, block) in enumerate(zip(own, blocks, strict=True)):
        rest = np.setdiff1d(np.arange(150), [row, *block])
        other = local_data(rows[rest]).solved(process).at(rows[[row]], variances=True)
        assert value[i] == pytest.approx(other.value[0], abs=1e-3)  # means of labels differ a little
        assert factor[i] == pytest.approx(other.variance_factor[0], rel=0.02)
    alone = solved.without_own(own)
    nobody = [np.zeros(0, dtype=np.int32)] * 2
    np.testing.assert_allclose(solved.without_blocks(own, nobody)[0], alone.value, rtol=1e-8)


def test_spread_is_the_mean_squared_distance_in_the_metric():
    data, shape = local_data(SQUARE[:200]), np.array([[0.8, 0.1], [0.1, 0.2]])
    centers, widths = Centers(SQUARE[200:210]), Widths.of_sizes((30.0,), 10)
    shapes = np.tile(shape, (10, 1, 1))
    hoods = data.localize(centers, shapes, widths, keep=True).neighborhoods
    for i, found in enumerate(squared_spread(data, centers, shapes, widths)):
        which, weight = hoods.neighbors(i)
        away = data.rows[which] - centers.rows[i]
        wanted = np.sum(weight * np.einsum("na,ab,nb->n", away, shape, away)) / weight.sum()
        assert found == pytest.approx(wanted, rel=1e-9)


def test_the_law_of_gaps_is_found_again():
    rng = np.random.default_rng(2)
    spread, factor = np.exp(rng.uniform(-4.0, 0.0, 4000)), np.exp(rng.uniform(-3.0, 1.0, 4000))
    truth = GapLaw(np.array([[0.5], [1.5], [0.8]]), np.full(1, np.inf))
    noise = np.full((4000, 1), 0.02)
    squares = (noise + truth(spread, factor)) * rng.standard_normal((4000, 1)) ** 2
    law = GapLaw.learn(squares, noise, spread, factor, np.ones(4000))
    assert law.coefficients[:, 0] == pytest.approx([0.5, 1.5, 0.8], abs=0.12)
    corner = law(np.exp([0.0]), np.exp([1.0]))[0]  # where both numbers are as large as was tested
    far = law(np.array([1e3, 1e6]), np.array([1.0, 1.0]))
    assert far[0] == far[1] <= 4.0 * corner  # hardly beyond what was tested


def test_numbers_that_were_never_large_together_make_no_larger_errors():
    """Rows are far or badly spread, never both; errors reach 1 in either case, and 3 at most."""
    far = np.tile([0.0, -6.0], 200)
    spread, factor = np.exp(far), np.exp(-6.0 - far)
    squares = (
        np.abs(np.random.default_rng(4).standard_normal((400, 1)))
        * np.where(far == 0.0, 1.0, 1e-2)[:, None]
    )
    law = GapLaw.learn(squares, np.full((400, 1), 1e-4), spread, factor, np.ones(400))
    apart = law(spread, factor).max()
    assert law(np.ones(1), np.ones(1))[0, 0] <= min(4.0 * apart, squares.max()) * (1.0 + 1e-9)
    # an error that was never seen is not told, wherever the query is
    assert law(np.full(1, 1e12), np.full(1, 1e12))[0, 0] <= squares.max() * (1.0 + 1e-9)


def test_no_law_without_blocks_and_none_where_errors_do_not_grow():
    rng = np.random.default_rng(3)
    assert (GapLaw.none(2)(np.ones(3), np.ones(3)) < 1e-200).all()
    spread, noise = np.exp(rng.uniform(-4.0, 0.0, 4000)), np.ones((4000, 1))
    law = GapLaw.learn(rng.standard_normal((4000, 1)) ** 2, noise, spread, spread, np.ones(4000))
    assert law(spread, spread).mean() < 0.1
    nothing = GapLaw.learn(noise, noise, spread, spread, np.zeros(4000))
    assert np.array_equal(nothing.coefficients, GapLaw.none(1).coefficients)


def test_shares_and_what_exceeds_the_law():
    share, excess = compare_with_law(np.array([[6.0]]), np.array([[1.0]]), np.array([[3.0]]))
    assert (share[0, 0], excess[0, 0]) == (0.75, 0.75 * 1.5)


def test_widths_go_from_the_multipliers_near_the_rows_to_those_in_gaps():
    factors = np.array([[[1.0], [2.0]], [[3.0], [5.0]], [[1.0], [4.0]]])
    near, far = np.array([[2.0]]), np.array([[0.0]])
    assert interval_widths(near, far, far, factors).tolist() == [[[2.0, 4.0]]]
    assert interval_widths(near, 1e9 * near, far, factors)[0, 0] == pytest.approx([6e9, 1e10])
    both = interval_widths(3.0 * near, 4.0 * near, far, factors)[0, 0]
    assert both == pytest.approx([10.0 * (1.0 + 0.64 * 2.0), 10.0 * (2.0 + 0.64 * 3.0)])
    beyond = interval_widths(near, far, np.array([[1.5]]), factors)[0, 0]
    assert beyond == pytest.approx([2.5, np.hypot(4.0, 6.0)])
    factors[0, 1] = np.inf
    assert np.isinf(interval_widths(near, far, far, factors)[0, 0]).tolist() == [False, True]


def test_few_blocks_give_the_worst_of_them_and_no_infinite_widths():
    scores = np.linspace(0.1, 3.0, 99)[:, None]
    found = Calibration.from_scores(scores, np.ones(99), np.array([[1.0], [7.0]]), np.ones((2, 1)))
    near, gaps, beyond = found.multipliers(np.array([0.5, 0.9, 0.999]))[..., 0]
    assert gaps.tolist() == [7.0, 7.0, np.inf] and np.isinf(near[2])
    assert beyond == pytest.approx([0.6745, 1.6449, np.inf], abs=1e-4)
    none = Calibration.without_blocks(scores, np.ones_like(scores), np.ones(99))
    near, gaps, _ = none.multipliers(np.array([0.5, 0.9]))[..., 0]
    assert np.array_equal(near, gaps)
    assert np.array_equal(found.widen(2.0).multipliers(np.array([0.5]))[:2, 0, 0], [3.1, 14.0])


def test_the_worst_block_is_one_that_counts():
    scores, none = np.linspace(0.1, 3.0, 99)[:, None], np.zeros((0, 1))
    weight = np.array([[1.0], [1.0], [1e-30]])  # robustness weights of wrong labels, and weights of users
    found = Calibration.from_scores(scores, np.ones(99), np.array([[5.0], [1.0], [1e6]]), weight)
    assert found.multipliers(np.array([0.9]))[1].tolist() == [[5.0]]
    alone = Calibration.from_scores(scores, np.ones(99), none, none)
    assert np.array_equal(*alone.multipliers(np.array([0.9]))[:2])


def test_a_query_in_a_gap_is_fitted_where_it_is_and_one_outside_is_not(model):
    inner = model._models[0]
    rows = inner.decisions.query_rows(np.array([[0.2, 0.1], [0.2, 1.6], [-2.5, 0.0]]))
    support = find_support(inner.data, rows, inner.decisions.reach)
    assert (support.remoteness > 1.0).all()
    moved = np.linalg.norm(support.way, axis=1)
    assert moved[0] == 0.0 and (moved[1:] > 0.1).all()
    np.testing.assert_allclose(support.rows + support.way, rows)


def test_intervals_cover_in_the_gap_and_grow_toward_its_middle(model):
    queries = SQUARE[IN_GAP]
    interval = silently(model.predict_interval, queries, [0.5, 0.9])
    truth = wave(queries)[:, None]
    inside = np.mean((interval[..., 0] <= truth) & (truth <= interval[..., 1]), axis=0)
    fits = silently(model.localize, queries, errors=False)
    near = model._models[0].multipliers(np.array([0.9]))[0, 0, 0]
    by_noise = near * fits.noise * np.sqrt(1.0 + fits.variance_factor)
    narrow = np.mean(np.abs(truth[:, 0] - fits.value) <= by_noise)
    # One gap, so errors depend on each other, and coverage of 0.9 is not to be had in each. What the noise
    # says would cover much less.
    assert inside[1] >= 0.7 and 1.0 - inside[1] <= 0.75 * (1.0 - narrow)
    distance = 0.35 - np.linalg.norm(queries - [0.2, 0.1], axis=1)
    width = interval[:, 1, 1] - interval[:, 1, 0]
    assert np.median(width[distance > 0.25]) > 1.05 * np.median(width[distance < 0.05])
    assert fits.gap_error.shape == (len(queries),)
    assert np.corrcoef(fits.gap_error, distance)[0, 1] > 0.5


def test_gaps_survive_files_and_pickle(model, tmp_path):
    model.save(tmp_path / "model")
    queries = SQUARE[IN_GAP][:20]
    ours = silently(model.predict_interval, queries)
    for again in (LocalEGOPRegressor.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(ours, silently(again.set_params(n_jobs=1).predict_interval, queries))


def test_every_output_has_a_law_of_its_own():
    X = SQUARE[~IN_GAP][:600]
    y = np.column_stack([wave(X), X @ [1.0, 2.0]]) + 0.02 * np.random.default_rng(4).standard_normal(
        (600, 2)
    )
    several = LocalEGOPRegressor(n_iter=1, n_jobs=1, degree=1, ridge=1e-6).fit(X, y)
    fits = silently(several.localize, np.array([[0.2, 0.1], [-0.6, -0.6]]), errors=False)
    assert fits.gap_error.shape == (2, 2)
    # linear fits follow the second output into the gap, and not the first
    assert fits.gap_error[0, 0] / y[:, 0].std() > 3.0 * fits.gap_error[0, 1] / y[:, 1].std()


def widest(labels, outlier, **options):
    """Largest width of 90 % intervals at normal queries, 100 normal rows, in standard deviations of y."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 4))
    y = labels(X) + 0.1 * rng.standard_normal(100) * (labels is product)
    queries = rng.standard_normal((100, 4))
    X[3, 1] = outlier or X[3, 1]
    few = LocalEGOPRegressor(n_iter=1, n_jobs=1, final="polynomial", **options).fit(X, y)
    low, high = silently(few.predict_interval, queries).T
    return (high - low).max() / y.std()


def product(X):
    return np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 3]


def line(X):
    return X @ np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("labels", "outlier", "most"),
    [
        (product, None, 13.0),  # 40 where the law was told what both its numbers say at their largest
        (product, 1e6, 10.5),  # 21
        (line, None, 9.6),  # 203 where the drift beyond the data was widened like errors of 1e-6
        (line, 1e6, 9.2),
    ],
)
def test_no_interval_is_much_wider_than_the_labels(labels, outlier, most):
    assert 1.0 < widest(labels, outlier) < most


@pytest.mark.parametrize("final", ["polynomial", "global"])
def test_a_row_beyond_the_others_is_no_witness(final):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 2))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2
    X[3, 1] = 1e6
    model = LocalEGOPRegressor(n_iter=0, n_jobs=1, final=final, initial_metric="variance").fit(X, y)
    assert 97.0 <= model._models[0].calibration.weight_below[-1, 0] <= 99.0
