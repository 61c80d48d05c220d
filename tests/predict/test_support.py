"""Queries beyond the data: they are found, told, and answered with modesty."""

import pickle
import warnings
from functools import cache

import numpy as np
import pytest

from localegop import ExtrapolationWarning, LocalEGOPRegressor, Status
from localegop._engine.centers import Centers
from localegop._engine.local_data import LocalData
from localegop._predict.support import (
    FACTOR,
    NEIGHBORS,
    find_support,
    is_surrounded,
    one_sidedness,
    reach_from,
)
from localegop.datasets import make_helix
from localegop.kernels import as_kernel

QUICK = {"n_iter": 1, "n_jobs": 1}
FINALS = {
    "kriging": {"final": "kriging"},
    "quadratic": {"degree": 2},
    "query": {"strategy": "query", "n_subsamples": 30},
}
FUNCTIONS = {
    "linear": lambda X: X[:, 0] + 2.0 * X[:, 1],
    "wave": lambda X: np.sin(2.0 * X[:, 0]) + X[:, 1],
    "bump": lambda X: np.exp(-np.sum(X**2, axis=1)),
}


def sample(n, f, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, f(X) + noise * rng.standard_normal(n)


@cache
def fit(name, **parameters):
    """Model and rows; the same ones for all tests, which change neither."""
    X, y = sample(300, FUNCTIONS[name])
    return LocalEGOPRegressor(**QUICK | parameters).fit(X, y), X


def silently(answer, *arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        return answer(*arguments, **named)


@pytest.fixture(scope="module", params=FINALS)
def linear(request):
    return fit("linear", **FINALS[request.param])


def test_reach_follows_the_usual_spacing_and_not_an_outlier():
    rng = np.random.default_rng(0)
    distances = rng.random(500)
    assert reach_from(distances) <= FACTOR
    assert reach_from(np.append(distances, 1e6)) <= FACTOR
    assert reach_from(np.append(rng.random(30), 1e6)) < 10.0 * FACTOR
    assert reach_from(np.zeros(5)) == np.inf  # nothing to go by


def test_reach_is_that_of_the_third_neighbor():
    X = np.arange(40.0)[:, None] ** 1.0
    model = LocalEGOPRegressor(initial_metric="identity", **QUICK).fit(X, np.sin(X[:, 0]))
    decisions = model._decisions[0]
    rows = decisions.units.features(X)
    far = np.sort(np.abs(rows - rows.T), axis=1)[:, NEIGHBORS]
    assert decisions.reach == pytest.approx(FACTOR * far.max())


def test_repeated_measurements_do_not_hide_where_the_data_end():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 6, (60, 2)).astype(float), 5, axis=0)
    model = LocalEGOPRegressor(initial_metric="identity", degree=1, **QUICK)
    model.fit(X, X[:, 0] + rng.standard_normal(300))
    scale = model._decisions[0].units.transform[0, 0]
    assert FACTOR * scale <= model._decisions[0].reach <= 3.0 * FACTOR * scale
    with pytest.warns(ExtrapolationWarning):
        model.predict([[2.5, 40.0]])


def test_predict_warns_once_with_count_and_worst_row(linear):
    model, X = linear
    queries = np.vstack([X[:5], [[30.0, 0.0], [0.0, 80.0], [0.1, 0.1]]])
    for answer in (model.predict, lambda Q: model.predict(Q, return_std=True), model.predict_interval):
        with pytest.warns(UserWarning) as caught:
            answer(queries)
        (warning,) = [each for each in caught if each.category is ExtrapolationWarning]
        assert (warning.message.count, warning.message.total, warning.message.row) == (2, 8, 6)
        assert warning.message.remoteness > 10.0
        assert warning.filename == __file__
    assert "2 of 8 queries" in str(warning.message) and "row 6" in str(warning.message)
    assert str(pickle.loads(pickle.dumps(warning.message))) == str(warning.message)


def test_localize_tells_it_for_each_row(linear):
    model, X = linear
    fits = model.localize(np.vstack([X[:3], [[30.0, 0.0]]]), errors=False)
    assert (fits.remoteness > 1.0).tolist() == [False, False, False, True]
    assert fits.status[3] == Status.EXTRAPOLATED and (fits.status[:3] == Status.OK).all()
    assert (fits.drift[:3] == 0.0).all() and fits.drift[3] > 0.0


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dimension", [2, 5])
def test_no_warning_for_new_rows_of_the_same_kind(dimension):
    X, y = make_helix(1000, max(dimension, 3), random_state=0)
    LocalEGOPRegressor(degree=1, **QUICK).fit(X[:500], y[:500]).predict(X)


@pytest.mark.parametrize("draw", ["standard_normal", "random", "standard_exponential", "standard_cauchy"])
@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_false_alarms_are_rare(draw, dimension):
    X = getattr(np.random.default_rng(1), draw)((4500, dimension))
    if draw == "standard_cauchy":
        X = np.arcsinh(X)
    model = LocalEGOPRegressor(degree=0, ridge=1.0, n_iter=0, schedule="power", n_jobs=1)
    model.fit(X[:500], X[:500, 0])
    from localegop._predict.support import find_support

    inner = model._models[0]
    rows = inner.decisions.query_rows(X[500:])
    share = find_support(inner.data, rows, inner.decisions.reach).beyond.mean()
    assert share < 0.005


def test_one_outlying_row_does_not_hide_extrapolation():
    X, y = sample(300, FUNCTIONS["linear"])
    X[0] = 1e6
    model = LocalEGOPRegressor(initial_metric="identity", degree=1, **QUICK).fit(X, y)
    with pytest.warns(ExtrapolationWarning):
        model.predict([[50.0, 50.0]])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("final", ["kriging", "quadratic"])
def test_fifty_standard_deviations_away(name, final):
    """Errors are within a few standard errors, and values within what slopes allow."""
    model, _ = fit(name, **FINALS[final])
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    for far, held in ((8.0, 0.6), (50.0, 0.9)):  # just beyond the reach the fit itself still errs
        Q = far * np.column_stack([np.cos(angle), np.sin(angle)])
        truth = FUNCTIONS[name](Q)
        value, std = silently(model.predict, Q, return_std=True)
        low, high = silently(model.predict_interval, Q, 0.9).T
        assert np.mean(np.abs(value - truth) < 3.0 * std) > 0.9
        assert np.mean((low <= truth) & (truth <= high)) > held
        assert np.abs(value).max() < 6.0 * far  # slopes are at most 2.3, sampled ones a little more
        assert np.median(std) > 0.01 * far


def test_far_away_lines_go_on_as_lines():
    model, _ = fit("linear", final="kriging")
    value, std = silently(model.predict, [[100.0, 100.0]], return_std=True)
    assert abs(value[0] - 300.0) < 0.2 * 300.0 and std[0] > 100.0


def test_nothing_jumps_where_the_data_end(linear):
    model, _ = linear
    Q = np.column_stack([np.linspace(1.0, 12.0, 3001), np.zeros(3001)])
    fits = silently(model.localize, Q, errors=False)
    edge = int(np.argmax(fits.remoteness > 1.0))
    here, last = slice(edge - 1, edge + 1), np.abs(np.diff(fits.value))
    assert 0 < edge < 3000
    assert last[edge - 1] < 3.0 * np.median(last[edge - 20 : edge + 20]) + 1e-9
    assert np.ptp(fits.std[here]) < 0.1 * fits.std[edge] + 1e-9 + fits.drift[edge]


def test_beyond_the_data_survives_a_file(linear, tmp_path):
    model, _ = linear
    model.save(tmp_path / "model")
    again = LocalEGOPRegressor.load(tmp_path / "model").set_params(n_jobs=1)
    Q = [[30.0, 10.0], [0.0, 0.1]]
    ours, theirs = silently(model.predict, Q, return_std=True), silently(again.predict, Q, return_std=True)
    assert np.array_equal(ours, theirs)


def test_outputs_of_their_own_warn_once_too():
    X, y = sample(200, FUNCTIONS["linear"])
    for outputs in ("shared", "separate"):
        model = LocalEGOPRegressor(outputs=outputs, degree=1, **QUICK).fit(X, np.column_stack([y, X[:, 0]]))
        with pytest.warns(ExtrapolationWarning) as caught:
            value, std = model.predict([[50.0, 0.0], X[0]], return_std=True)
        assert len(caught) == 1 and value.shape == std.shape == (2, 2)
        assert (std[0] > 1.0).all() and (std[1] < 1.0).all()


@pytest.mark.filterwarnings("ignore:only 3 distinct rows")
def test_training_on_almost_nothing_says_nothing_about_distances():
    model = LocalEGOPRegressor(n_jobs=1).fit([[0.0], [0.0], [1.0]], [0.0, 1.0, 2.0])
    assert np.isfinite(silently(model.predict, [[5.0]])).all()


def data_of(rows):
    known = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(np.ascontiguousarray(rows), np.zeros((len(rows), 1)), np.ones(len(rows)), **known)


def test_one_sidedness_is_a_squared_distance_in_units_of_the_variance():
    """In the middle of a cloud none; far from it that to its mean, over its variance."""
    cloud = data_of(np.random.default_rng(0).standard_normal((120, 2)))
    beside = one_sidedness(cloud, Centers(np.array([[0.0, 0.0], [300.0, 0.0]])))
    assert abs(beside[0]) < 0.2
    assert beside[1] == pytest.approx(
        (300.0 - cloud.rows[:, 0].mean()) ** 2 / cloud.rows[:, 0].var(), rel=0.5
    )


def test_what_is_surrounded():
    ring = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, 200)
    around = data_of(np.column_stack([np.cos(ring), np.sin(ring)]))
    centers = Centers(np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 0.0]]))
    told = is_surrounded(around, centers, np.array([1.0, 2.0, 2.0]), reach=0.1)
    assert told.tolist() == [True, False, False]  # in the middle of a ring, and beside it
    assert is_surrounded(around, centers, np.array([1.0, 2.0, 0.1]), reach=0.1)[2]  # near enough


def test_where_queries_beyond_the_data_are_fitted():
    """One at d times the reach is moved to a d-th of it, from the mean of the three nearest rows."""
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=2).reshape(-1, 2)
    found = find_support(data_of(grid), np.array([[4.5, 4.5], [40.0, 4.0]]), reach=2.0)
    assert found.beyond.tolist() == [False, True]
    far = np.hypot(31.0, 1.0)  # to the third of the rows (9, 3), (9, 4), (9, 5)
    assert found.remoteness == pytest.approx([np.sqrt(0.5) / 2.0, far / 2.0])
    assert found.way[1] == pytest.approx([31.0 * (1.0 - (2.0 / far) ** 2), 0.0])
    assert found.rows + found.way == pytest.approx(np.array([[4.5, 4.5], [40.0, 4.0]]))
    slope = np.array([[[1.0, 1.0]], [[2.0, 5.0]]])
    carried = found.carry_on(np.array([[1.0], [1.0]]), slope)[:, 0]
    assert carried == pytest.approx([1.0, 1.0 + 2.0 * found.way[1, 0]])
    assert found.drift(np.array([[4.0], [4.0]]))[:, 0] == pytest.approx([0.0, 2.0 * found.way[1, 0]])


@pytest.mark.parametrize("reach", [np.inf, 1.0])
def test_nobody_is_beyond_what_has_no_end(reach):
    rows = np.array([[1e9, 0.0]])
    alone = find_support(data_of(np.zeros((1, 2))), rows, reach)
    assert alone.remoteness.tolist() == [0.0] and np.array_equal(alone.rows, rows) and not alone.way.any()
