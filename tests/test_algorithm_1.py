"""The estimator with the paper's parameters is Algorithm 1: against the reference, line by line."""

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine.query_sampling import WEIGHTINGS, query_seeds
from localegop.datasets import make_helix
from localegop.reference import KERNELS, kernel_weights, local_egop, local_linear
from localegop.schedules import PowerLaw

PAPER = LocalEGOPRegressor.paper_parameters()
EVERYTHING = 10**6
GAUSSIAN = KERNELS["gaussian"]


def hashed_uniform(seed, step, points):
    """Return the numbers in (0, 1) by which the core draws: a hash of seed, step and point."""
    x = np.full(len(points), seed, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for part in (np.full(len(points), step, dtype=np.uint64), points.astype(np.uint64)):
            x = x + np.uint64(0x9E3779B97F4A7C15) * (part + np.uint64(1))
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
    return ((x >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


class CoreClocks(np.random.Generator):
    """Generator whose exponential times are those of the core, for a query and the points near it."""

    def __init__(self, model, query, near):
        super().__init__(np.random.PCG64(0))
        inner = model._models[0]
        rows = inner.decisions.query_rows(query[None])
        self.seed = query_seeds(rows, inner.decisions.settings.seed)[0]
        self.points = inner.position[near]  # the core numbers its own, sorted rows
        self.step = 0

    def exponential(self, scale=1.0, size=None):
        assert size == len(self.points), "a weight was zero: the test needs all points near the query"
        times = -np.log(hashed_uniform(self.seed, self.step, self.points))
        self.step += 1
        return scale * times


def noisy_helix(n, dimension, noise, seed=0):
    X, y = make_helix(n, dimension, random_state=seed)
    return X, y + noise * y.std() * np.random.default_rng(seed).normal(size=n)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_papers_parameters_are_the_reference_on_20_queries_with_everything_drawn(noise):
    X, y = noisy_helix(100, 3, noise)
    X, y, queries = X[20:], y[20:], X[:20]
    model = LocalEGOPRegressor(**PAPER | {"n_iter": 30, "n_subsamples": EVERYTHING}).fit(X, y)
    fits = model.localize(queries)
    theirs = [local_egop(X, y, q, n_iter=30, n_subsamples=EVERYTHING) for q in queries]
    assert fits.step.tolist() == [each.best_step for each in theirs]
    assert np.abs(fits.value - [each.value for each in theirs]).max() < 1e-8 * y.std()


@pytest.mark.slow
def test_all_150_steps_are_the_references_as_far_as_rounding_lets_it_know():
    """Late neighborhoods have fewer points than unknowns, and the recursion magnifies rounding there.

    So the reference runs twice, the second time with points moved by 1e-14. Where it agrees with itself to
    1e-10 up to some step, the estimator must agree with it to 1e-8.
    """
    X, y = noisy_helix(120, 3, 0.1)
    X, y, queries = X[20:], y[20:], X[:20]
    model = LocalEGOPRegressor(**PAPER | {"n_subsamples": EVERYTHING}).fit(X, y)
    ours = model.localize(queries, trace=True).trace
    changed = X + 1e-14 * np.random.default_rng(0).normal(size=X.shape)
    compared = 0
    for k, query in enumerate(queries):
        first, second = (local_egop(rows, y, query, n_subsamples=EVERYTHING) for rows in (X, changed))
        off = np.abs(first.trace.estimate - second.trace.estimate) > 1e-10 * y.std()
        known = int(np.argmax(off)) if off.any() else len(off)
        gap = np.abs(ours.value[:known, k].ravel() - first.trace.estimate[:known])
        assert gap.max() < 1e-8 * y.std()
        compared += known
    assert compared > 100 * len(queries)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_every_step_with_sampling_is_the_references(weighting):
    X, y = noisy_helix(160, 3, 0.1)
    query = X[0]
    X, y = X[1:], y[1:]
    common = {"n_iter": 6, "n_subsamples": 25, "weighting": weighting}
    model = LocalEGOPRegressor(**PAPER | common).fit(X, y)
    near = np.linalg.norm(X - query, axis=1) <= 1.6
    assert 25 < near.sum() < len(X)
    theirs = local_egop(X, y, query, **common, random_state=CoreClocks(model, query, near))
    ours = model.localize(query[None], trace=True)
    for name in ("metric", "agop", "effective_size", "loo_error"):
        mine, other = np.array(getattr(ours.trace, name))[:, 0], getattr(theirs.trace, name)
        assert mine.reshape(other.shape) == pytest.approx(other, rel=1e-7, abs=1e-9), name
    assert ours.trace.value.ravel() == pytest.approx(theirs.trace.estimate, rel=1e-8)
    assert ours.step[0] == theirs.best_step
    assert ours.value[0] == pytest.approx(theirs.value, rel=1e-8)


def test_one_step_with_sampling_line_by_line():
    """Lines 4 to 20 of the paper written out here, once more, for the second step of one query."""
    X, y = noisy_helix(200, 3, 0.1, seed=1)
    query, X, y, m, beta, ridge = X[0], X[1:], y[1:], 30, 0.7, 1e-8
    model = LocalEGOPRegressor(**PAPER | {"n_iter": 3, "n_subsamples": m}).fit(X, y)
    trace = model.localize(query[None], trace=True).trace
    near = np.linalg.norm(X - query, axis=1) <= 1.6
    clocks = CoreClocks(model, query, near)
    clocks.step, X, y = 1, X[near], y[near]

    M = trace.metric[1, 0]
    u = np.einsum("ia,ab,ib->i", X - query, M, X - query)
    w = np.exp(-u)  # line 4
    w /= w.sum()  # line 5
    S = np.argsort(clocks.exponential(size=len(X)) / w)[:m]  # line 5: the first m of a race with rates w
    L, error = np.zeros((3, 3)), 0.0
    for i in S:  # line 7
        others = np.arange(len(X)) != i
        f, g = local_linear(X[others], y[others], X[i], M, GAUSSIAN, ridge)  # lines 8 and 9
        L += w[i] * np.outer(g, g)  # line 12
        error += w[i] * (y[i] - f) ** 2  # line 13
    assert 0.1 < w[S].sum() < 0.9  # so that summing and averaging over S differ
    assert trace.agop[1, 0] == pytest.approx(L, rel=1e-7)
    assert trace.loo_error[1, 0] == pytest.approx(error, rel=1e-7)
    mixed = beta * L + (1 - beta) * trace.agop[0, 0]  # line 19
    following = mixed / (PowerLaw()(2) * np.trace(mixed))  # line 20
    assert trace.metric[2, 0] == pytest.approx(following, rel=1e-7, abs=1e-9)
    assert trace.metric[0, 0] == pytest.approx(np.eye(3) / 0.2)  # M_0
    first = np.trace(trace.agop[0, 0])
    assert trace.metric[1, 0] == pytest.approx(trace.agop[0, 0] / (PowerLaw()(1) * first))  # beta = 1


def test_noise_is_estimated_from_means_not_from_sums():
    """Lines 12 and 13 sum to less than means; standard errors and AGOPs told are those of means."""
    X, y = noisy_helix(400, 3, 0.3)
    common = {"n_iter": 1, "n_subsamples": 20}
    literal, renormalized = (
        LocalEGOPRegressor(**PAPER | common | {"weighting": weighting}).fit(X[5:], y[5:]).localize(X[:5])
        for weighting in ("literal", "renormalized")
    )
    for name in ("noise", "loo_error", "agop", "std"):
        assert getattr(literal, name) == pytest.approx(getattr(renormalized, name), rel=1e-12), name


def test_the_literal_error_of_a_wide_neighborhood_looks_small():
    """Why Algorithm 1 stops early under noise: line 13 leaves out the weight of what was not drawn."""
    X, y = noisy_helix(1500, 3, 0.1)
    steps, error = {}, {}
    for weighting in ("literal", "renormalized"):
        fits = [local_egop(X[8:], y[8:], q, n_iter=25, n_subsamples=60, weighting=weighting,
                           random_state=0) for q in X[:8]]  # fmt: skip
        steps[weighting] = np.mean([fit.best_step for fit in fits])
        error[weighting] = np.mean([fit.trace.loo_error for fit in fits], axis=0)
    assert steps["literal"] < steps["renormalized"] - 2
    assert error["literal"][0] < 0.5 * error["renormalized"][0]


def test_the_field_strategy_takes_no_samples():
    X, y = make_helix(50, 3, random_state=0)
    with pytest.raises(ValueError, match=r"weighting='literal' concerns the samples of strategy='query'"):
        LocalEGOPRegressor(weighting="literal").fit(X, y)


def test_kernel_weights_are_those_of_line_4():
    X = make_helix(60, 3, random_state=0)[0]
    M = np.eye(3) / 0.2
    w = np.exp(-np.sum((X - X[0]) ** 2, axis=1) / 0.2)
    assert kernel_weights(X, X[0], M, GAUSSIAN) == pytest.approx(w / w.sum())
