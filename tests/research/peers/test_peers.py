"""Peers: kernel methods against brute force, and what every entry promises."""

import random
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsRegressor

from localegop.datasets import make_helix
from localegop.research.peers import METHODS, OURS, PEERS, Method, make_method
from localegop.research.peers.blend import Blend, best_weight
from localegop.research.peers.kernel_methods import NadarayaWatson, TunedKernelRidge, some_rows, spreads
from localegop.research.peers.neighbors import MetricNeighbors, TunedNeighbors
from localegop.research.peers.recursive_features import draw_settings

NO_METRIC_LEARN = "metric-learn is missing: pip install 'localegop[bench]'"


def helix(n, D=3, seed=0):
    X, y = make_helix(n, D, noise=0.1, random_state=seed)
    return X + 5.0, y - 7.0


def nadaraya_watson(X, y, queries, bandwidth):
    weights = np.exp(-cdist(queries, X, "sqeuclidean") / (2 * bandwidth**2))
    return weights @ y / weights.sum(axis=1)


def test_nadaraya_watson_is_the_weighted_mean_with_the_best_bandwidth():
    X, y = helix(150)
    model = NadarayaWatson().fit(X, y)
    Z, queries = X / model.scale_, X[:7] + 0.05
    expected = nadaraya_watson(Z, y, queries / model.scale_, model.bandwidth_)
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-9)

    def loo(bandwidth, Z):
        left_out = [
            nadaraya_watson(np.delete(Z, i, 0), np.delete(y, i), Z[[i]], bandwidth)[0]
            for i in range(len(Z))
        ]
        return np.mean((np.array(left_out) - y) ** 2)

    assert model.loo_error_ == pytest.approx(loo(model.bandwidth_, Z), rel=1e-9)
    for scaled in (X, X / X.std(axis=0)):
        for factor in (0.5, 0.8, 1.25, 2.0):
            assert loo(factor * model.bandwidth_, scaled) >= 0.999 * model.loo_error_


def test_nadaraya_watson_far_from_all_points_takes_the_nearest():
    X, y = helix(100)
    far = X[[0]] + 1e6
    assert np.isfinite(NadarayaWatson().fit(X, y).predict(far)).all()


@pytest.mark.parametrize("kernel", ["rbf", "laplace"])
def test_kernel_ridge_solves_the_usual_equations(kernel):
    X, y = helix(120)
    model = TunedKernelRidge(kernel).fit(X, y)
    Z, queries = X / model.scale_, X[:5] + 0.03

    def gram(A, B):
        d = cdist(A, B)
        return np.exp(-(d**2) / (2 * model.length_**2)) if kernel == "rbf" else np.exp(-d / model.length_)

    labels = (y - y.mean()) / y.std()
    direct = KernelRidge(kernel="precomputed", alpha=model.ridge_).fit(gram(Z, Z), labels)
    expected = y.mean() + y.std() * direct.predict(gram(queries / model.scale_, Z))
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-5)

    residuals = []
    for i in range(len(Z)):
        rest = np.arange(len(Z)) != i
        without = KernelRidge(kernel="precomputed", alpha=model.ridge_).fit(
            gram(Z[rest], Z[rest]), labels[rest]
        )
        residuals.append(labels[i] - without.predict(gram(Z[[i]], Z[rest]))[0])
    assert model.loo_error_ == pytest.approx(np.mean(np.square(residuals)), rel=1e-4)


def test_the_ridge_is_chosen_with_more_rows_than_the_length():
    X, y = make_helix(300, 3, random_state=0)
    model = TunedKernelRidge(tuning_rows=40).fit(X, y)
    labels = (y - y.mean()) / y.std()
    gram = np.exp(-cdist(X / model.scale_, X / model.scale_, "sqeuclidean") / (2 * model.length_**2))

    def loo(ridge):
        inverse = np.linalg.inv(gram + ridge * np.eye(len(X)))
        return np.mean((inverse @ labels / np.diag(inverse)) ** 2)

    assert model.loo_error_ == pytest.approx(loo(model.ridge_), rel=1e-3)
    assert all(loo(factor * model.ridge_) >= 0.999 * model.loo_error_ for factor in (0.1, 10.0, 100.0))


@pytest.mark.parametrize("method", [NadarayaWatson, TunedKernelRidge])
def test_units_are_chosen(method):
    X, y = helix(200)
    noise = 1000.0 * np.random.default_rng(0).standard_normal((200, 1))
    assert method().fit(np.hstack([X, noise]), y).scale_[-1] > 100.0


def test_unknown_kernels_are_refused():
    X, y = helix(30)
    with pytest.raises(ValueError, match="kernel='cosine' is not allowed: give one of 'rbf', 'laplace'"):
        TunedKernelRidge("cosine").fit(X, y)


def test_constant_labels_and_repeated_rows_are_no_problem():
    X, _ = helix(40)
    for name in ("nadaraya_watson", "kernel_ridge", "kernel_ridge_laplace", "boosting"):
        values = make_method(name).fit(np.repeat(X, 2, axis=0), np.full(80, 3.0)).predict(X)
        np.testing.assert_allclose(values, 3.0, rtol=1e-6)


def test_some_rows_are_distinct_and_depend_on_the_seed_only():
    rows = some_rows(100, 30, 5)
    assert len(np.unique(rows)) == 30
    np.testing.assert_array_equal(rows, some_rows(100, 30, 5))
    np.testing.assert_array_equal(some_rows(20, 30, 5), np.arange(20))


SLOW = ("local_egop", "local_egop_blend", "ebm", "muygps", "realmlp", "tabm")


def marks(name):
    """Marks of a method: some are slow (ours is tested elsewhere too), others need more packages."""
    return [pytest.mark.slow] * (name in SLOW) + [pytest.mark.extras] * bool(METHODS[name].module)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in METHODS])
def test_every_peer_learns_and_repeats_itself(name):
    method = METHODS[name]
    if not method.available:
        pytest.skip(f"{name} needs {method.module}: pip install 'localegop[{method.extra}]'")
    X, y = helix(400)
    n, q = min(300, method.largest_n or 300), min(100, method.most_queries or 100)
    models = [make_method(name, tuning_rows=150, random_state=3).fit(X[:n], y[:n]) for _ in range(2)]
    first, second = (model.predict(X[300 : 300 + q]) for model in models)
    np.testing.assert_array_equal(first, second)
    assert np.mean((first - y[300 : 300 + q]) ** 2) < 0.2 * y.var()
    if method.intervals:
        low, high = models[0].predict_interval(X[300:], 0.9).T
        assert 0.75 <= np.mean((low <= y[300:]) & (y[300:] <= high)) <= 1.0


def test_every_entry_says_what_it_is():
    labels = [method.label for method in METHODS.values()]
    assert len(set(labels)) == len(labels)
    assert list(METHODS)[: len(OURS)] == list(OURS) and not set(OURS) & set(PEERS)
    for method in METHODS.values():
        assert method.tuning and bool(method.module) == bool(method.extra)
        assert (method.largest_n or 10**9) >= 300 and (method.most_queries or 10**9) >= 30


@pytest.mark.parametrize("kind", [TunedNeighbors, pytest.param(MetricNeighbors, marks=pytest.mark.extras)])
def test_neighbors_choose_the_k_of_least_leave_one_out_error(kind):
    if kind is MetricNeighbors:
        pytest.importorskip(
            "metric_learn", reason="metric-learn is missing: pip install 'localegop[bench]'"
        )
    X, y = helix(120)
    model = kind().fit(X, y)
    inner, Z = model, X
    if kind is MetricNeighbors:
        inner, Z = model.neighbors_, (X - X.mean(axis=0)) / X.std(axis=0) @ model.metric_.components_.T
    Z = Z / inner.scale_

    def loo(k, weights):
        left_out = [
            KNeighborsRegressor(k, weights=weights).fit(np.delete(Z, i, 0), np.delete(y, i)).predict(Z[[i]])
            for i in range(len(Z))
        ]
        return np.mean((np.ravel(left_out) - y) ** 2)

    assert inner.loo_error_ == pytest.approx(loo(inner.n_neighbors_, inner.weights_), rel=1e-9)
    others = [loo(k, weights) for k in (1, 2, 4, 8, 16, 32) for weights in ("uniform", "distance")]
    assert min(others) >= inner.loo_error_ * (1 - 1e-12)
    assert np.mean((model.predict(X) - y) ** 2) <= inner.loo_error_


def test_the_gaussian_process_finds_signal_under_noise():
    X, y = load_diabetes(return_X_y=True)
    values = make_method("gaussian_process").fit(X[:200], y[:200]).predict(X[200:])
    assert np.mean((values - y[200:]) ** 2) < 0.65 * y.var()


@pytest.mark.extras
def test_metric_learn_is_left_as_it_was():
    module = pytest.importorskip("metric_learn._util", reason=NO_METRIC_LEARN)
    before = module.check_X_y, module.check_array
    X, y = helix(40)
    MetricNeighbors(max_iter=2).fit(X, y)
    assert (module.check_X_y, module.check_array) == before


@pytest.mark.extras
def test_a_learned_metric_forgets_columns_of_noise():
    pytest.importorskip("metric_learn", reason=NO_METRIC_LEARN)
    X, y = helix(300)
    wide = np.hstack([X, np.random.default_rng(0).standard_normal((300, 4))])
    errors = [
        np.mean((kind().fit(wide[:200], y[:200]).predict(wide[200:]) - y[200:]) ** 2)
        for kind in (TunedNeighbors, MetricNeighbors)
    ]
    assert errors[1] < 0.6 * errors[0]


def test_constant_columns_are_not_blown_up():
    X = np.tile([[0.998, 288.0, 1.0]], (999, 1))
    X[:, 2] += 1e-6 * np.random.default_rng(0).standard_normal(len(X))
    X[::3, 0] += np.spacing(0.998)  # what rounding may do to the mean of a constant column
    assert X[:, 0].std() > 0.0
    np.testing.assert_allclose(spreads(X), [1.0, 1.0, X[:, 2].std()], rtol=1e-9)


@pytest.mark.extras
@pytest.mark.parametrize("name", ["xrfm", "xrfm_wide"])
def test_xrfm_is_not_misled_by_offsets_and_constant_columns(name):
    pytest.importorskip("xrfm", reason="xrfm is missing: pip install 'localegop[paper]'")
    X, y = helix(300)
    shifted = np.hstack([0.01 * X + 1000.0, np.full((300, 1), 0.998)])
    errors = [
        np.mean((make_method(name).fit(Z[:200], y[:200]).predict(Z[200:]) - y[200:]) ** 2)
        for Z in (X, shifted)
    ]
    assert errors[1] < 1.5 * errors[0] < 0.1 * y.var()


@pytest.mark.extras
@pytest.mark.parametrize("name", ["vecchia", "kpls", "muygps", "lagp"])
def test_processes_ignore_constant_columns_and_answer_at_several_coverages(name):
    if not METHODS[name].available:
        pytest.skip(f"{name} needs {METHODS[name].module}: pip install 'localegop[bench]'")
    X, y = helix(200)
    wide = np.hstack([X[:, :1], np.full((200, 1), 0.998), X[:, 1:]])
    answers = []
    for Z in (X, wide):
        model = make_method(name, tuning_rows=100).fit(Z[:150], y[:150])
        intervals = model.predict_interval(Z[150:], [0.5, 0.9])
        np.testing.assert_allclose(intervals[:, 1], model.predict_interval(Z[150:]), rtol=1e-6)
        np.testing.assert_allclose(intervals.mean(axis=2)[:, 0], model.predict(Z[150:]), rtol=1e-6)
        assert (np.diff(intervals[:, 0]) < np.diff(intervals[:, 1])).all()
        answers.append(model.predict(Z[150:]))
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-6, atol=1e-6 * y.std())


def test_a_blend_gives_jumps_to_the_trees_and_smooth_functions_to_the_local_fits():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 4))
    jumps = (X[:, 0] > 0.5) + 2.0 * ((X[:, 1] > 0.3) & (X[:, 2] > 0.6)) + 0.05 * rng.standard_normal(300)
    smooth = np.sin(3.0 * X[:, 0] + X[:, 1]) + X[:, 2] ** 2
    weights = []
    for y in (jumps, smooth):
        model = Blend(folds=2, tuning_rows=200).fit(X, y)
        weights.append(model.weight_)
        parts = [model.local_.predict(X[:20]), model.boosted_.predict(X[:20])]
        expected = (1.0 - model.weight_) * parts[0] + model.weight_ * parts[1]
        np.testing.assert_allclose(model.predict(X[:20]), expected, rtol=1e-10, atol=1e-12)
    assert weights[0] > 0.5 and weights[1] < 0.1


def test_a_few_rows_alone_give_no_weight():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(200)
    first, second = (truth + 0.1 * rng.standard_normal(200) for _ in range(2))
    assert 0.3 < best_weight(truth, first, second) < 0.7
    first[0] += 20.0  # one row that the first misses by far makes nearly all of its error
    assert best_weight(truth, first, second) == 0.0
    assert best_weight(truth, second, second) == 0.0


@pytest.mark.extras
def test_linear_trees_know_a_plane_that_constant_ones_step_over():
    pytest.importorskip("lightgbm", reason="lightgbm is missing: pip install 'localegop[bench]'")
    X = np.random.default_rng(0).uniform(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5]
    steps, planes = (
        np.mean((make_method(name).fit(X[:300], y[:300]).predict(X[300:]) - y[300:]) ** 2)
        for name in ("lightgbm", "lightgbm_linear")
    )
    assert planes < 0.1 * steps


@pytest.mark.extras
def test_xrfm_draws_from_the_space_of_its_authors():
    drawn = draw_settings(400, 0)
    assert 0.7 < sum(each.kernel == "lpq" for each in drawn) / 400 < 0.9
    assert 0.4 < sum(each.diagonal for each in drawn) / 400 < 0.6
    for each in drawn:
        assert 0.5 <= each.bandwidth <= 200.0 and 1e-6 <= each.ridge <= 10.0
        assert 0.7 <= each.exponent <= each.norm < 2.0 and each.exponent <= 1.4
    assert drawn[:5] == draw_settings(5, 0)


@pytest.mark.extras
def test_xrfm_leaves_random_numbers_and_threads_of_others_alone():
    torch = pytest.importorskip("torch", reason="torch is missing: pip install 'localegop[paper]'")
    pytest.importorskip("xrfm", reason="xrfm is missing: pip install 'localegop[paper]'")
    X, y = helix(80)

    def states():
        numpy = np.random.get_state()[1].tolist()  # noqa: NPY002
        return random.getstate(), numpy, torch.get_rng_state().tolist(), torch.get_num_threads()

    before = states()
    make_method("xrfm", threads=1).fit(X, y).predict(X)
    assert states() == before


def test_names_and_extras_are_told(monkeypatch):
    with pytest.raises(ValueError, match="no method is called 'xgb'; there are local_egop, "):
        make_method("xgb")
    absent = Method("Absent", "", lambda rows, seed, threads: None, module="no_such_module", extra="bench")
    monkeypatch.setitem(METHODS, "absent", absent)
    with pytest.raises(ImportError, match=r"Absent needs no_such_module: pip install 'localegop\[bench\]'"):
        make_method("absent")


def test_peers_and_experiments_come_without_torch_and_matplotlib():
    code = (
        "import sys\n"
        "from localegop.research.paper import networks, dimensions, malonaldehyde, _transformer\n"
        "heavy = {'torch', 'xrfm', 'matplotlib', 'rtdl_revisiting_models'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
