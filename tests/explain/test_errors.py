"""Explanations that hold still: averages over rivals, and standard errors from halves of the rows."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from localegop import LocalEGOPRegressor
from localegop._engine.choice import Choice
from localegop._engine.final_fits import Kriging, Polynomial
from localegop._explain.explainer import Explainer, average_agop
from localegop._explain.replicas import HalvedKriging, HalvedSchedule, halve_choice, within
from localegop._explain.spread import error_from_halves
from localegop._predict.rivals import ORIGINS, PAIRS, Rival, in_half
from localegop.schedules import EffectiveSampleSize

QUICK = {"n_iter": 1, "degree": 1, "ridge": 1e-2, "n_jobs": 1}
ERRORS = ("gradient_std", "importance_std", "intrinsic_dimension_std")
TOLD = ("gradient", "agop", "intrinsic_dimension", *ERRORS)


def draw(seed, n=200, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + noise * rng.standard_normal(n)


X, Y = draw(0)
QUERIES = 0.5 * draw(1)[0][:12]


@pytest.fixture(scope="module")
def model():
    return LocalEGOPRegressor(final="polynomial", **{**QUICK, "ridge": "auto"}).fit(X, Y)


@pytest.fixture(scope="module")
def fits(model):
    return model.localize(QUERIES)


def test_halves_are_complementary_and_different():
    rows = np.arange(10_000)
    halves = [in_half(rows, half, seed=3) for half in range(2 * PAIRS)]
    for one, other in zip(halves[0::2], halves[1::2], strict=True):
        assert np.array_equal(one, ~other) and 0.48 < one.mean() < 0.52
    together = np.mean([halves[0] == other for other in halves[2::2]], axis=1)
    assert np.all(np.abs(together - 0.5) < 0.03)
    assert not np.array_equal(halves[0], in_half(rows, 0, seed=4))
    assert np.array_equal(halves[0][7:9], in_half(rows[7:9], 0, seed=3))


def test_error_of_a_mean_is_the_known_one():
    values = np.random.default_rng(0).standard_normal((1000, 300))  # 300 quantities
    means = [values[in_half(np.arange(1000), half, seed=0)].mean(axis=0) for half in range(2 * PAIRS)]
    errors = error_from_halves(np.array(means))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(1000**-0.5, rel=0.05)


def test_halves_have_the_resolution_of_all_rows():
    choice = halve_choice(Choice(1, 60.0, Kriging(8.0, 0.1, trend=False, rough=True)))
    assert (choice.size, choice.final) == (30.0, HalvedKriging(8.0, 0.05, trend=False, rough=True))
    polynomial = Polynomial(1, 0, 0.3)
    assert halve_choice(Choice(2, None, polynomial)) == Choice(2, None, polynomial)
    assert HalvedSchedule(EffectiveSampleSize(100.0, 20.0, 2)).effective_size(1) == 10.0


def test_halves_may_leave_out_axes():
    bent = Choice(1, 60.0, Polynomial(2, 3, 0.1))
    assert within(bent, 2) == Choice(1, 60.0, Polynomial(2, 2, 0.1))
    assert within(bent, 3) is bent


def test_importance_of_an_averaged_agop_is_the_average_importance():
    agops = np.array([np.diag([3.0, 1.0]), np.diag([0.0, 400.0])])[:, None]
    mean = average_agop(agops, (0.75, 0.25), np.ones((1, 2)))[0]
    assert np.diagonal(mean) / np.trace(mean) == pytest.approx([0.5625, 0.4375])
    assert np.trace(mean) == pytest.approx(0.75 * 4.0 + 0.25 * 400.0)


def test_explanations_are_averages_over_what_halves_lead_to(model, fits):
    explainer = model._explainers[0]
    rivals, picks = model._decisions[0].rivals, model._decisions[0].rivals.picks
    assert len(picks) == 2 * PAIRS and rivals.every[0].choice.final == model.choice_.final
    assert len(set(picks)) > 1  # else there is nothing to average
    each = [np.array(one.slopes_at(QUERIES, 50.0)[0][:, 0]) for one in explainer.replicas.rivals]
    there = [
        one.decisions.units.gradients(slope[:, None], QUERIES)[:, 0]
        for one, slope in zip(explainer.replicas.rivals, each, strict=True)
    ]
    mean = np.tensordot(explainer.replicas.shares, there, axes=1)
    np.testing.assert_allclose(fits.gradient, mean, rtol=1e-10)
    own = model.localize(QUERIES, errors=False)
    assert not np.allclose(fits.gradient, own.gradient)
    assert np.array_equal(fits.value, own.value) and np.array_equal(fits.metric, own.metric)
    for name in ERRORS:
        assert np.isnan(getattr(own, name)).all() and (getattr(fits, name) > 0.0).all()
    assert fits.importance.sum(axis=1) == pytest.approx(1.0)


def test_explanations_follow_from_the_model_alone(model, fits, tmp_path):
    model.save(tmp_path / "model")
    others = [LocalEGOPRegressor.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    for other in (*others, others[0].set_params(n_jobs=2)):
        other.__dict__.pop("_kept_explainers", None)
        turned = other.localize(QUERIES[::-1])
        for name in TOLD:
            assert np.array_equal(getattr(turned, name)[::-1], getattr(fits, name)), name
        both = zip(other.global_importance(True), model.global_importance(True), strict=True)
        assert all(np.array_equal(one, two) for one, two in both)
    assert np.array_equal(model.localize(QUERIES[3:5]).gradient_std, fits.gradient_std[3:5])


def test_a_fit_forgets_what_explained_the_one_before(model):
    again = pickle.loads(pickle.dumps(model))
    before = again.global_importance()
    after = again.fit(X[:, ::-1], Y).global_importance()
    assert after == pytest.approx(before[::-1], abs=0.1) and not np.allclose(after, before, atol=0.1)


def test_axes_of_every_origin_are_found_again(model):
    inner = model._models[0]
    # this has no gradients, and a jagged process is found with its axes: see test_jagged_trial
    origins = [origin for origin in ORIGINS if origin != "jagged" and not origin.startswith("given")]
    rivals = inner.decisions.rivals
    every = (rivals.every[0], *(Rival(rivals.every[0].choice, origin) for origin in origins))
    picks = tuple(1 + half % len(origins) for half in range(2 * PAIRS))
    decisions = replace(inner.decisions, rivals=replace(rivals, every=every, picks=picks))
    replicas = Explainer(replace(inner, decisions=decisions)).replicas
    axes = [one.decisions.units.transform for one in replicas.rivals]
    assert len(axes) == len(origins) and np.array_equal(axes[0], rivals.transform)
    assert not any(np.array_equal(one, rivals.transform) for one in axes[1:])
    assert sum(replicas.shares) == pytest.approx(1.0)
    whole, halves = (
        [one.overall_agop for one in replicas.rivals],
        [one.overall_agop for one in replicas.halves],
    )
    assert np.trace(np.mean(halves, axis=0)) == pytest.approx(np.trace(np.mean(whole, axis=0)), rel=0.3)


def test_errors_are_those_of_fresh_samples():
    """Reported over true spread between 0.7 and 1.4, for every kind of quantity."""
    told, errors = [], []
    for seed in range(24):
        model = LocalEGOPRegressor(**QUICK).fit(*draw(100 + seed, n=120))
        fits, overall = model.localize(QUERIES), model.global_importance(return_std=True)
        told.append((fits.gradient, fits.importance, fits.intrinsic_dimension, overall[0]))
        errors.append((fits.gradient_std, fits.importance_std, fits.intrinsic_dimension_std, overall[1]))
    for values, reported in zip(zip(*told, strict=True), zip(*errors, strict=True), strict=True):
        spread = np.sqrt(np.mean(np.var(values, axis=0, ddof=1)))
        assert 0.7 < np.sqrt(np.mean(np.square(reported))) / spread < 1.4


def test_where_errors_cannot_be_had():
    query = LocalEGOPRegressor(strategy="query", n_iter=1, n_subsamples=20).fit(X, Y)
    assert np.isnan(query.localize(QUERIES[:2]).gradient_std).all()
    with pytest.raises(ValueError, match="errors=True is not possible: strategy='query'"):
        query.localize(QUERIES, errors=True)
    few = LocalEGOPRegressor(**QUICK).fit(X[:15], Y[:15])
    importance, error = few.global_importance(return_std=True)
    assert importance.sum() == pytest.approx(1.0) and np.isnan(error).all()
    with pytest.raises(ValueError, match="errors=True is not possible: it takes 20 different rows"):
        few.localize(QUERIES, errors=True)


def test_several_outputs():
    both = np.column_stack([Y, X[:, 2]])
    shared = LocalEGOPRegressor(**QUICK).fit(X, both).localize(QUERIES)
    assert shared.gradient_std.shape == (12, 2, 3) and shared.importance_std.shape == (12, 3)
    assert np.array_equal(shared.output(1).gradient_std, shared.gradient_std[:, 1])
    model = LocalEGOPRegressor(**QUICK, outputs="separate").fit(X, both)
    alone = LocalEGOPRegressor(**QUICK).fit(X, Y).localize(QUERIES)
    for name in TOLD:
        assert np.array_equal(getattr(model.localize(QUERIES).output(0), name), getattr(alone, name)), name
    assert model.global_importance(return_std=True)[1].shape == (3,)


def test_flat_labels_have_no_importance():
    model = LocalEGOPRegressor(**QUICK).fit(X, np.ones(len(X)))
    importance, _ = model.global_importance(return_std=True)
    assert np.array_equal(importance, np.zeros(3))
    assert np.array_equal(model.localize(QUERIES).gradient, np.zeros((12, 3)))
