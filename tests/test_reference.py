"""Algorithm 1: hand-worked numbers, exactness, agreement with statsmodels, invariances, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group
from statsmodels.nonparametric.kernel_regression import KernelReg

from localegop.datasets import make_annulus, make_helix
from localegop.reference import KERNELS, kernel_weights, local_egop, local_linear
from localegop.schedules import EffectiveSampleSize, Geometric, PowerLaw

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(120, 3))
QUERY = np.array([0.1, -0.2, 0.3])


def smooth(points):
    return np.sin(2 * points[:, 0] + points[:, 1]) + 0.1 * points[:, 2] ** 2


Y = smooth(X)
EVERYTHING = {"n_subsamples": 10**6, "weighting": "unbiased"}


def box(u):
    return (u <= 2.5).astype(float)


def test_hand_worked_five_points():
    """Points 0..4, labels their squares, query 2, a box kernel of radius sqrt(2.5) in the metric."""
    points = np.arange(5.0)[:, None]
    fit = local_egop(
        points,
        points[:, 0] ** 2,
        [2.0],
        n_iter=2,
        n_subsamples=5,
        schedule=lambda t: 0.2,
        initial_scale=1.0,
        exclusion_radius=None,
        kernel=box,
        ridge=0.0,
    )
    # Step 0, M = 1: the neighborhood of 2 is {1, 2, 3}. Leave-one-out lines through the two neighbors of
    # 1, 2 and 3 have slopes 2, 4, 6 and miss by 1 each; the line at 2 has slope 4 and height 14/3.
    # Step 1, M = 1/0.2 = 5: 2 is alone; its leave-one-out line goes through its nearest, 1 and 3.
    assert fit.trace.metric.ravel() == pytest.approx([1.0, 5.0])
    assert fit.trace.agop.ravel() == pytest.approx([(4 + 16 + 36) / 3, 16.0])
    assert fit.trace.loo_error == pytest.approx([1.0, 1.0])
    assert fit.trace.estimate == pytest.approx([14 / 3, 4.0])
    assert fit.trace.gradient.ravel() == pytest.approx([4.0, 0.0])
    assert fit.trace.effective_size == pytest.approx([3.0, 1.0])
    assert (fit.best_step, fit.value) == (0, pytest.approx(14 / 3))


def test_momentum_and_trace_by_hand():
    """M_2 mixes L_1 and L_0 with beta and is divided by h_2 times its trace."""
    fit = local_egop(X, Y, QUERY, n_iter=3, momentum=0.6, schedule=Geometric(0.5, 0.5), **EVERYTHING)
    mixed = 0.6 * fit.trace.agop[1] + 0.4 * fit.trace.agop[0]
    assert fit.trace.metric[1] == pytest.approx(fit.trace.agop[0] / np.trace(fit.trace.agop[0]) / 0.25)
    assert fit.trace.metric[2] == pytest.approx(mixed / np.trace(mixed) / 0.125)


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_affine_functions_are_reproduced(kernel):
    slope = np.array([1.0, -2.0, 0.5])
    fit = local_egop(X, X @ slope + 3.0, QUERY, n_iter=6, kernel=kernel, ridge=0.0, random_state=1)
    assert fit.value == pytest.approx(QUERY @ slope + 3.0, abs=1e-9)
    assert fit.gradient == pytest.approx(slope, abs=1e-8)


def test_agop_of_a_linear_function_has_rank_one():
    slope = np.array([1.0, -2.0, 0.5])
    fit = local_egop(X, X @ slope, QUERY, n_iter=4, random_state=1)
    for agop in fit.trace.agop:
        assert agop == pytest.approx(np.outer(slope, slope), abs=1e-5)


@pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")
def test_isotropic_fit_agrees_with_statsmodels():
    bandwidth = 0.4
    theirs = KernelReg(Y, X, "ccc", reg_type="ll", bw=[bandwidth] * 3)
    queries = RNG.uniform(-0.5, 0.5, size=(5, 3))
    values, gradients = theirs.fit(queries)
    for query, value, gradient in zip(queries, values, gradients, strict=True):
        metric = np.eye(3) / (2 * bandwidth**2)
        ours = local_linear(X, Y, query, metric, KERNELS["gaussian"], ridge=0.0)
        assert ours[0] == pytest.approx(value, rel=1e-9)
        assert ours[1] == pytest.approx(gradient, rel=1e-8)


@pytest.mark.parametrize("weighting", ["literal", "renormalized", "uniform", "unbiased"])
def test_weightings_by_hand(weighting):
    """With everything drawn all are the weighted mean, except 'uniform', the plain one."""
    fit = local_egop(X, Y, QUERY, n_iter=1, n_subsamples=len(X), weighting=weighting, exclusion_radius=None)
    metric = fit.trace.metric[0]
    rest = [np.delete(np.arange(len(X)), i) for i in range(len(X))]
    gradients = np.array(
        [local_linear(X[r], Y[r], X[i], metric, KERNELS["gaussian"], 1e-8)[1] for i, r in enumerate(rest)]
    )
    w = kernel_weights(X, QUERY, metric, KERNELS["gaussian"])
    w = np.full(len(X), 1 / len(X)) if weighting == "uniform" else w
    assert fit.trace.agop[0] == pytest.approx((w * gradients.T) @ gradients)


def test_unbiased_weighting_has_no_bias():
    """The mean over many draws of the subsampled LOO error is close to the full one."""
    common = {"n_iter": 1, "exclusion_radius": None, "initial_scale": 0.5}
    full = local_egop(X, Y, QUERY, **common, **EVERYTHING).trace.loo_error[0]
    draws = {
        weighting: np.array(
            [
                local_egop(
                    X, Y, QUERY, n_subsamples=90, weighting=weighting, random_state=s, **common
                ).trace.loo_error[0]
                for s in range(30)
            ]
        )
        for weighting in ("unbiased", "uniform")
    }
    gap = {k: abs(v.mean() - full) / (v.std() / np.sqrt(len(v))) for k, v in draws.items()}
    assert gap["unbiased"] < 3.5  # self-normalization leaves a bias of higher order
    assert gap["uniform"] > 5.0


def test_best_step_has_the_smallest_error_and_gives_the_value():
    fit = local_egop(X, Y + 0.1 * RNG.normal(size=len(Y)), QUERY, n_iter=12, random_state=3)
    assert fit.best_step == np.argmin(fit.trace.loo_error)
    assert fit.value == fit.trace.estimate[fit.best_step]
    assert fit.gradient.tolist() == fit.trace.gradient[fit.best_step].tolist()


def test_effective_size_schedule_is_met():
    schedule = EffectiveSampleSize(start=60, stop=10, n_steps=5)
    fit = local_egop(X, Y, QUERY, n_iter=5, schedule=schedule, random_state=0)
    assert fit.trace.effective_size == pytest.approx([schedule.effective_size(t) for t in range(5)])


def test_covariance_cap_holds():
    fit = local_egop(X, Y, QUERY, n_iter=10, covariance_cap=0.5, random_state=0)
    assert np.linalg.eigvalsh(fit.trace.metric[1:]).min() >= 2.0 - 1e-9
    free = local_egop(X, Y, QUERY, n_iter=10, random_state=0)
    assert np.linalg.eigvalsh(free.trace.metric[1:]).min() < 2.0


def test_constant_labels_keep_an_isotropic_metric():
    assert local_egop(X, np.full(len(X), 7.0), QUERY, n_iter=3).value == pytest.approx(7.0)
    fit = local_egop(X, np.zeros(len(X)), QUERY, n_iter=3, random_state=0)
    assert fit.value == 0.0
    assert fit.trace.metric[2] == pytest.approx(np.eye(3) / 3 / PowerLaw()(2))


def test_far_query_does_not_underflow():
    fit = local_egop(X, Y, QUERY + 1e3, n_iter=3, exclusion_radius=None, random_state=0)
    assert np.isfinite(fit.value)
    assert np.isfinite(fit.trace.metric).all()


def test_random_state_decides_the_sample():
    runs = [local_egop(X, Y, QUERY, n_iter=3, n_subsamples=20, random_state=s).value for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@given(seed=st.integers(0, 10**6), shift=st.floats(-3, 3), scale=st.floats(0.1, 10))
def test_rotation_translation_permutation_and_label_scale(seed, shift, scale):
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, size=(40, 3))
    rotation = ortho_group.rvs(3, random_state=rng)
    order = rng.permutation(len(points))
    common = {"n_iter": 5, "ridge": 1e-4, **EVERYTHING}
    here = local_egop(points, smooth(points), QUERY, **common)
    there = local_egop(
        points[order] @ rotation.T + shift,
        scale * smooth(points[order]) - 1.0,
        rotation @ QUERY + shift,
        **common,
    )
    assert there.trace.estimate == pytest.approx(scale * here.trace.estimate - 1.0, rel=1e-6, abs=1e-6)
    assert there.gradient == pytest.approx(scale * rotation @ here.gradient, rel=1e-5, abs=1e-5)
    assert there.trace.metric == pytest.approx(
        rotation @ here.trace.metric @ rotation.T, rel=1e-5, abs=1e-5
    )


def with_bad(array, value):
    bad = np.array(array)
    bad.flat[0] = value
    return bad


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"X": with_bad(X, np.nan)}, "X must be finite"),
        ({"X": with_bad(X, np.inf)}, "X must be finite"),
        ({"y": with_bad(Y, np.nan)}, "y must be finite"),
        ({"y": with_bad(Y, -np.inf)}, "y must be finite"),
        ({"query": with_bad(QUERY, np.nan)}, "query must be finite"),
        ({"X": X[0]}, "X must be two-dimensional"),
        ({"y": Y[:-1]}, "y must have one label per row of X"),
        ({"X": X[:1], "y": Y[:1]}, "X must have at least two points, got 1"),
        ({"query": QUERY[:2]}, r"query must be one point of the width of X, shape \(3,\), got \(2,\)"),
        ({"query": QUERY + 100}, "exclusion_radius=1.6 leaves 0 of 120 points"),
        ({"exclusion_radius": -1.0}, "exclusion_radius must be positive"),
        ({"n_subsamples": 0}, "n_subsamples must be positive, got 0"),
        ({"n_subsamples": 1.5}, "n_subsamples must be a whole number"),
        ({"n_iter": 0}, "n_iter must be positive"),
        ({"schedule": lambda t: -0.1}, r"schedule must return positive finite bandwidths, but .* is -0.1"),
        ({"initial_scale": -0.2}, "initial_scale must be positive"),
        ({"momentum": 0.0}, r"momentum must lie in \(0, 1\]"),
        ({"momentum": 1.5}, r"momentum must lie in \(0, 1\]"),
        ({"covariance_cap": 0.0}, "covariance_cap must be positive"),
        ({"ridge": -1.0}, "ridge must be non-negative"),
        ({"weighting": "best"}, "weighting must be .* got 'best'"),
        ({"kernel": "boxcar"}, "kernel must be one of .*gaussian.* got 'boxcar'"),
    ],
)
def test_bad_input_is_named(changed, message):
    arguments = {"X": X, "y": Y, "query": QUERY, "n_iter": 2} | changed
    with pytest.raises(ValueError, match=message):
        local_egop(**arguments)


def test_annulus_neighborhood_is_long_along_the_radius():
    points, labels = make_annulus(600, noise_std=0.05, random_state=0)
    query = np.array([1.0, 0.0])
    fit = local_egop(points, labels, query, n_iter=41, n_subsamples=60, random_state=0)
    w = kernel_weights(points, query, fit.trace.metric[40], KERNELS["gaussian"])
    radius, angle = np.hypot(*points.T), np.arctan2(*points.T[::-1])
    along, across = (np.sqrt(w @ (v - w @ v) ** 2) for v in (radius, angle))
    assert along > 3 * across


def test_helix_is_predicted_far_better_than_by_neighbors():
    points, labels = make_helix(1004, 5, random_state=0)
    errors = [
        local_egop(points[4:], labels[4:], points[i], n_iter=50, n_subsamples=60, random_state=0).value
        - labels[i]
        for i in range(4)
    ]
    assert np.median(np.square(errors)) < 1e-5 * labels.var()
