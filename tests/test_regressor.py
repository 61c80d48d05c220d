"""LocalEGOPRegressor: against the reference, accuracy, invariances, bad input."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop._engine import chunks
from localegop.datasets import load_malonaldehyde, make_helix
from localegop.reference import local_egop
from localegop.results import Status
from localegop.schedules import EffectiveSampleSize, Geometric

RNG = np.random.default_rng(0)
X, Y = make_helix(400, 3, random_state=0)
TRAIN, QUERIES = slice(0, 350), X[350:]
QUICK = {"n_iter": 2, "n_jobs": 1}


def quick_fit(**changed):
    return LocalEGOPRegressor(**QUICK | changed).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def quick():
    """A fitted model, which tests only ask."""
    return quick_fit()


def reference_values(X, y, queries, **parameters):
    return np.array(
        [local_egop(X, y, q, weighting="unbiased", n_subsamples=10**6, **parameters).value for q in queries]
    )


@pytest.mark.parametrize("dimension", [2, 5, 20])
def test_query_strategy_equals_the_reference_on_the_helix(dimension):
    points, labels = make_helix(123, dimension, random_state=1)
    radius = 1.6 if dimension < 20 else None
    theirs = reference_values(
        points[3:], labels[3:], points[:3], n_iter=12, exclusion_radius=radius, ridge=1e-6
    )
    paper = LocalEGOPRegressor.paper_parameters()
    model = LocalEGOPRegressor(
        **paper | {"n_iter": 12, "n_subsamples": 10**6, "exclusion_radius": radius, "ridge": 1e-6}
    )
    assert model.fit(points[3:], labels[3:]).predict(points[:3]) == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize(
    "parameters",
    [
        {"schedule": EffectiveSampleSize(40, 20, 4), "momentum": 1.0},
        {"schedule": Geometric(0.5, 0.7), "covariance_cap": 0.3},
        {"schedule": Geometric(2.0, 0.8), "kernel": "epanechnikov"},
        {"schedule": Geometric(0.5, 0.8), "kernel": "student"},
    ],
    ids=["effective size", "cap", "epanechnikov", "student"],
)
def test_query_strategy_equals_the_reference_with_other_parts(parameters):
    points, labels = make_helix(83, 3, random_state=2)
    common = {"n_iter": 4, "ridge": 1e-4, "exclusion_radius": None, "momentum": 0.7} | parameters
    theirs = reference_values(points[3:], labels[3:], points[:3], **common)
    model = LocalEGOPRegressor(
        "query", n_subsamples=10**6, initial_metric="identity", max_neighbors=None, degree=1, **common
    )
    assert model.fit(points[3:], labels[3:]).predict(points[:3]) == pytest.approx(theirs, rel=1e-7)


def test_query_strategy_equals_the_reference_on_molecules():
    features, labels = load_malonaldehyde(return_X_y=True)
    features, labels = features[::15][:203], labels[::15][:203]
    common = {"n_iter": 5, "ridge": 1e-3, "exclusion_radius": None, "schedule": Geometric(2.0, 0.7)}
    theirs = reference_values(features[3:], labels[3:], features[:3], **common)
    paper = LocalEGOPRegressor.paper_parameters() | common | {"n_subsamples": 10**6}
    ours = LocalEGOPRegressor(**paper).fit(features[3:], labels[3:]).predict(features[:3])
    assert ours == pytest.approx(theirs, rel=1e-8)


@pytest.mark.parametrize("strategy", ["field", "query"])
@pytest.mark.parametrize(
    "kernel",
    ["gaussian", "biweight", "laplace", pytest.param(lambda u: np.exp(-u) + 1e-9, marks=pytest.mark.slow)],
)
def test_affine_functions_are_reproduced(strategy, kernel):
    slope = np.array([1.0, -2.0, 0.5])
    model = LocalEGOPRegressor(strategy, n_iter=2, n_subsamples=30, ridge=1e-10, kernel=kernel)
    fits = model.fit(X[:150], X[:150] @ slope + 5.0).localize(QUERIES[:10], errors=False)
    assert fits.value == pytest.approx(QUERIES[:10] @ slope + 5.0, abs=1e-6)
    assert fits.gradient == pytest.approx(np.tile(slope, (10, 1)), abs=1e-5)


@pytest.mark.slow
def test_defaults_are_accurate_without_and_with_noise():
    points, labels = make_helix(1200, 5, random_state=0)
    model = LocalEGOPRegressor().fit(points[:1000], labels[:1000])
    assert np.mean((model.predict(points[1000:]) - labels[1000:]) ** 2) < 2e-6 * labels.var()
    noisy = labels[:1000] + 0.1 * labels.std() * RNG.normal(size=1000)
    model = LocalEGOPRegressor().fit(points[:1000], noisy)
    assert np.mean((model.predict(points[1000:]) - labels[1000:]) ** 2) < 1.5e-3 * labels.var()


def test_localize_tells_all_in_the_units_of_the_data():
    bunch = make_helix(1000, 3, random_state=0, return_bunch=True)
    scale = np.array([1.0, 10.0, 0.1])  # units must not matter
    model = LocalEGOPRegressor(final="kriging").fit(bunch.data[:900] * scale, bunch.target[:900])
    fits = model.localize(bunch.data[900:] * scale, trace=True, errors=False)
    assert fits.value.tolist() == model.predict(bunch.data[900:] * scale, exact=True).tolist()
    truth = bunch.gradients[900:] / scale
    assert np.median(np.linalg.norm(fits.gradient - truth, axis=1) / np.linalg.norm(truth, axis=1)) < 0.05
    leading = np.linalg.eigh(fits.agop * scale[:, None] * scale)[1][:, :, -1]
    cosine = np.abs(np.einsum("ia,ia->i", leading, bunch.tangent[900:, :, 0]))
    assert np.median(cosine) > 0.99
    assert fits.covariance @ fits.metric == pytest.approx(np.broadcast_to(np.eye(3), (100, 3, 3)), abs=1e-4)
    assert len(fits) == 100 and set(fits.step) == {model.choice_.step}
    assert fits.effective_size == pytest.approx(np.full(100, model.choice_.size), rel=1e-5)
    assert (fits.loo_error > 0).all() and (fits.variance_factor > 0).all()
    assert fits.trace.metric.shape == (model.choice_.step, 100, 3, 3)
    assert np.mean(fits.status == Status.OK) > 0.95  # some lie at the ends of the curve


def test_loo_residuals_leave_the_point_out():
    changed = Y[TRAIN].copy()
    changed[7] += 1.0
    parameters = {"n_iter": 0, "degree": 1, "ridge": 1e-3}  # no recursion: exact to the last digit
    base = LocalEGOPRegressor(**parameters, schedule=EffectiveSampleSize(40, 40, 1)).fit(X[TRAIN], Y[TRAIN])
    other = LocalEGOPRegressor(**parameters, schedule=EffectiveSampleSize(40, 40, 1)).fit(X[TRAIN], changed)
    if base.choice_.size == other.choice_.size:
        gap = other.loo_residuals_[7] - base.loo_residuals_[7]
        assert gap == pytest.approx(1.0, abs=1e-9)


def test_residuals_are_found_when_they_are_asked_for():
    model = LocalEGOPRegressor(**QUICK, degree=1, ridge=1e-3)
    assert not hasattr(model, "loo_residuals_")
    with pytest.raises(NotFittedError):
        model.loo_residuals_  # noqa: B018
    model.fit(X[TRAIN], Y[TRAIN])
    assert "loo_residuals_" not in vars(model)
    early = pickle.loads(pickle.dumps(model))
    found = model.loo_residuals_
    assert found.shape == (350,) and model.loo_residuals_ is found
    assert np.array_equal(early.loo_residuals_, found)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).loo_residuals_, found)
    (inside,) = model._models
    known = inside.loo.residuals[inside.position, 0] * inside.decisions.units.label_scale[0]
    assert np.array_equal(found, known)  # all rows are anchors here
    assert not hasattr(clone(model), "loo_residuals_")
    model.fit(X[:100], Y[:100])
    assert model.loo_residuals_.shape == (100,)


def test_residuals_of_several_outputs_and_of_none():
    both = np.column_stack([Y[:100], X[:100, 0]])
    for outputs in ("shared", "separate"):
        model = LocalEGOPRegressor(**QUICK, degree=1, outputs=outputs).fit(X[:100], both)
        assert model.loo_residuals_.shape == (100, 2)
    query = LocalEGOPRegressor("query", **QUICK).fit(X[:60], Y[:60])
    assert not hasattr(query, "loo_residuals_")
    with pytest.raises(AttributeError, match="strategy='query' leaves no residuals"):
        query.loo_residuals_  # noqa: B018


@pytest.mark.parametrize("strategy", ["field", "query"])
def test_results_do_not_depend_on_threads_chunks_or_order(strategy, monkeypatch):
    parameters = {"n_iter": 3, "n_subsamples": 30, "max_neighbors": 200}
    model = LocalEGOPRegressor(strategy, **parameters, n_jobs=1)
    base = model.fit(X[TRAIN], Y[TRAIN]).localize(QUERIES, errors=False)
    order = RNG.permutation(len(QUERIES))
    assert model.predict(QUERIES[order], exact=True).tolist() == base.value[order].tolist()
    assert [model.predict(q[None], exact=True)[0] for q in QUERIES[:5]] == base.value[:5].tolist()
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 1.0)
    rows = RNG.permutation(350)
    other = LocalEGOPRegressor(strategy, **parameters, n_jobs=2)
    again = other.fit(X[TRAIN][rows], Y[TRAIN][rows]).localize(QUERIES, errors=False)
    for name in ("value", "gradient", "metric", "agop", "effective_size", "loo_error", "variance_factor"):
        assert getattr(again, name).tolist() == getattr(base, name).tolist(), name


def test_weight_two_is_a_row_given_twice():
    weights = RNG.integers(0, 3, size=350)
    weighted = LocalEGOPRegressor(n_iter=1).fit(X[TRAIN], Y[TRAIN], sample_weight=weights)
    repeated = LocalEGOPRegressor(n_iter=1).fit(
        np.repeat(X[TRAIN], weights, axis=0), np.repeat(Y[TRAIN], weights)
    )
    assert weighted.predict(QUERIES).tolist() == repeated.predict(QUERIES).tolist()
    assert np.isnan(weighted.loo_residuals_).tolist() == (weights == 0).tolist()


def test_outputs_are_fitted_together_and_scaled_alike(quick):
    both = np.column_stack([Y, 1e6 * X[:, 0]])
    model = LocalEGOPRegressor(**QUICK | {"n_iter": 1}).fit(X[TRAIN], both[TRAIN])
    fits = model.localize(QUERIES, errors=False)
    assert fits.value.shape == (50, 2) and fits.gradient.shape == (50, 2, 3)
    assert fits.value[:, 1] == pytest.approx(both[350:, 1], rel=1e-3, abs=1e4)
    column = LocalEGOPRegressor(**QUICK).fit(X[TRAIN], Y[TRAIN, None]).predict(QUERIES)
    assert column.shape == (50, 1)
    assert column[:, 0].tolist() == quick.predict(QUERIES).tolist()


def module_level_profile(u):
    return np.exp(-(u**2))


@pytest.mark.parametrize(
    "kernel", ["gaussian", "triweight", pytest.param(module_level_profile, marks=pytest.mark.slow)]
)
def test_pickle_keeps_predictions(quick, kernel):
    model = quick if kernel == "gaussian" else quick_fit(kernel=kernel, degree=1, ridge=1e-3)
    assert pickle.loads(pickle.dumps(model)).predict(QUERIES).tolist() == model.predict(QUERIES).tolist()


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_degree_is_what_was_asked_for(degree):
    model = quick_fit(degree=degree, ridge=1e-3)
    assert model.choice_.degree == degree
    assert (model.choice_.final.n_quadratic_directions > 0) == (degree == 2)
    flat = model.localize(QUERIES, errors=False).gradient == 0.0
    assert flat.all() == (degree == 0)


def test_exclusion_radius_and_its_fallback():
    far = np.array([[100.0, 0.0, 0.0]])
    model = quick_fit(exclusion_radius=1.0, initial_metric="identity", degree=1)
    with pytest.warns(UserWarning, match=r"1 of 1 queries have fewer than two .* exclusion_radius=1.0"):
        fits = model.localize(far)
    assert fits.status.tolist() == [Status.FEW_NEIGHBORS]
    assert "nearest were used" in Status(fits.status[0]).message
    assert np.isfinite(fits.value).all()


@pytest.mark.parametrize(
    "parameters", [{"exclusion_radius": 0.3}, {"max_neighbors": 2}, {"max_neighbors": 5}]
)
@pytest.mark.filterwarnings("ignore:.*queries have fewer than two")
def test_few_neighbors_are_enough(parameters):
    assert np.isfinite(quick_fit(**parameters).predict(QUERIES)).all()


def test_trace_of_no_steps_is_empty():
    fits = quick_fit(n_iter=0, degree=1).localize(QUERIES, trace=True, errors=False)
    assert fits.trace.metric.shape == (0, 50, 3, 3)
    assert fits.trace.value.shape == (0, 50)


@pytest.mark.parametrize("factor", [1e12, 1e160, 1e300])
def test_queries_far_away_are_finite(quick, factor):
    with pytest.warns(ExtrapolationWarning, match="50 of 50 queries"):
        assert np.isfinite(quick.predict(QUERIES * factor)).all()


def test_initial_metric_choices(quick):
    variance = quick_fit(initial_metric="variance")
    assert variance.initial_metric_ == "variance"
    stretched = X * [1.0, 1e6, 1.0]
    model = LocalEGOPRegressor(**QUICK).fit(stretched[TRAIN], Y[TRAIN])
    assert not isinstance(model.initial_metric_, str) or model.initial_metric_ == "variance"
    gap = model.predict(stretched[350:]) - quick.predict(QUERIES)  # units as given compete there
    assert np.mean(gap**2) < 1e-4 * Y.var()
    scaled = LocalEGOPRegressor(**QUICK, initial_metric="variance").fit(stretched[TRAIN], Y[TRAIN])
    same = variance.predict(QUERIES)
    # a process with a ridge of 1e-8 rounds to 1e-8 of what its coefficients are summed from
    assert scaled.predict(stretched[350:]) == pytest.approx(same, rel=1e-5, abs=1e-5)
    few = QUICK | {"degree": 1}
    given = LocalEGOPRegressor(**few, initial_metric=[1.0, 1e-12, 1.0]).fit(stretched[TRAIN], Y[TRAIN])
    same = LocalEGOPRegressor(**few, initial_metric=np.eye(3)).fit(X[TRAIN], Y[TRAIN])
    assert given.predict(stretched[350:]) == pytest.approx(same.predict(QUERIES), rel=1e-5, abs=1e-5)


def hard(name):
    x, y = X[:60].copy(), Y[:60].copy()
    return {
        "constant column": (np.column_stack([x, np.full(60, 3.0)]), y),
        "duplicated column": (np.column_stack([x, x[:, 0]]), y),
        "duplicated rows": (np.repeat(x[:20], 3, axis=0), np.repeat(y[:20], 3)),
        "contradicting rows": (np.repeat(x[:20], 3, axis=0), y),
        "all rows equal": (np.repeat(x[:1], 60, axis=0), np.repeat(y[:1], 60)),
        "equal points, other labels": (np.repeat(x[:1], 60, axis=0), y),
        "fewer rows than columns": (RNG.normal(size=(6, 30)), y[:6]),
        "two rows": (x[:2], y[:2]),
        "constant labels": (x, np.full(60, 7.0)),
        "huge": (x * 1e150, y * 1e150),
        "tiny": (x * 1e-150, y * 1e-150),
        "huge offset": (x + 1e8, y + 1e8),
        "integers": ((x * 10).astype(int), (y * 10).astype(int)),
        "float32": (x.astype(np.float32), y.astype(np.float32)),
        "heavy outlier": (np.vstack([x, [[1e6, 0, 0]]]), np.append(y, 1e6)),
    }[name]


@pytest.mark.parametrize("strategy", ["field", "query"])
@pytest.mark.parametrize(
    "name",
    [
        "constant column",
        "duplicated column",
        "duplicated rows",
        "contradicting rows",
        "all rows equal",
        "equal points, other labels",
        "fewer rows than columns",
        "two rows",
        "constant labels",
        "huge",
        "tiny",
        "huge offset",
        "integers",
        "float32",
        "heavy outlier",
    ],
)
@pytest.mark.filterwarnings("ignore:only . distinct rows")
def test_hard_data_give_finite_fits(name, strategy):
    x, y = hard(name)
    model = LocalEGOPRegressor(strategy, n_iter=3, n_subsamples=20).fit(x, y)
    queries = np.vstack([x[:5], x[:1] + (x.max(axis=0) - x.min(axis=0))])
    fits = model.localize(queries)
    assert np.isfinite(fits.value).all()
    assert np.isfinite(fits.gradient).all()
    assert np.isfinite(fits.agop).all()
    if name in ("constant labels", "all rows equal"):
        assert fits.value == pytest.approx(np.full(6, y[0]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "both"}, "'strategy' parameter .* must be a str among"),
        ({"n_iter": -1}, "'n_iter' parameter"),
        ({"n_subsamples": 0}, "'n_subsamples' parameter"),
        ({"momentum": 0.0}, "'momentum' parameter"),
        ({"initial_scale": -1.0}, "'initial_scale' parameter"),
        ({"initial_metric": "best"}, "'initial_metric' parameter"),
        ({"initial_metric": np.ones((2, 2))}, "initial_metric must be .* got an array of shape"),
        ({"initial_metric": -np.eye(3)}, "initial_metric must be positive semi-definite"),
        ({"exclusion_radius": -1.0}, "'exclusion_radius' parameter"),
        ({"covariance_cap": 0.0}, "'covariance_cap' parameter"),
        ({"kernel": "boxcar"}, "kernel must be one of"),
        ({"degree": 3}, "'degree' parameter"),
        ({"ridge": -1.0}, "'ridge' parameter"),
        ({"ridge": "best"}, "'ridge' parameter"),
        ({"max_neighbors": 1}, "'max_neighbors' parameter"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"schedule": "slow"}, "schedule must be 'effective_size', 'power', 'geometric'"),
        (
            {"schedule": lambda t: -1.0},
            "schedule must return positive finite bandwidths, but step 1 has -1",
        ),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        LocalEGOPRegressor(**QUICK | parameters).fit(X[TRAIN], Y[TRAIN])


def test_bad_data_are_named(quick):
    bad = X[TRAIN].copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        LocalEGOPRegressor().fit(bad, Y[TRAIN])
    with pytest.raises(ValueError, match="Input y contains"):
        LocalEGOPRegressor().fit(X[TRAIN], np.full(350, np.inf))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LocalEGOPRegressor().fit(X[TRAIN], Y)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        LocalEGOPRegressor().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="expecting 3 features"):
        quick.predict(X[:, :2])
    with pytest.raises(ValueError, match="at least 2 are needed"):
        LocalEGOPRegressor().fit(X[:3], Y[:3], sample_weight=[1.0, 0.0, 0.0])


def test_progress_bar_is_silent_by_default_and_shows_the_time_left(capsys, monkeypatch):
    quick_fit(degree=1, n_iter=1)
    assert capsys.readouterr().err == ""
    ticks = iter(np.arange(0.0, 1e5, 0.5))
    monkeypatch.setattr("localegop._progress.time.monotonic", lambda: next(ticks))
    quick_fit(degree=1, n_iter=1, verbose=1)
    shown = capsys.readouterr().err
    assert "fit [" in shown and "left" in shown and "100%" in shown


def test_interrupt_stops_within_a_second_and_leaves_the_estimator_usable(heed_ctrl_c):
    model = quick_fit(degree=1, ridge=1e-3)
    before = model.predict(QUERIES)
    points = RNG.normal(size=(20_000, 12))
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.5, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(points, points[:, 0] ** 2)
    assert time.monotonic() - sent[0] < 5.0  # a second on an idle machine
    assert model.predict(QUERIES).tolist() == before.tolist()


def test_kriging_has_no_degree():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="degree=2 is that of a polynomial"):
        LocalEGOPRegressor(final="kriging", degree=2).fit(X, X[:, 0])


def test_missing_values_are_refused_with_advice_and_repeated_names_are_named():
    X = np.random.default_rng(0).normal(size=(30, 2))
    hole = X.copy()
    hole[3, 1] = np.nan
    for given in ((hole, X[:, 0]), (X, hole[:, 1])):
        with pytest.raises(ValueError, match=r"contains NaN.*missing='drop'"):
            LocalEGOPRegressor().fit(*given)
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="'a' 2 times"):
        LocalEGOPRegressor().fit(pd.DataFrame(X, columns=["a", "a"]), X[:, 0])
