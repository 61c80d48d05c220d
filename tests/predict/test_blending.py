"""Blended predictions: as good as exact ones, continuous, and the same however they are asked for."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from localegop import ExtrapolationWarning, LocalEGOPRegressor
from localegop._engine import blend
from localegop._engine.final_fits import Polynomial
from localegop._fit import blend_choice
from localegop._predict import blending
from localegop._predict.blending import Blending
from localegop._predict.model import NEAR_THE_EDGE
from localegop._predict.storage import pack_model, unpack_model
from localegop.datasets import make_helix

N = 600
X, TRUTH = make_helix(N + 300, 4, random_state=0)
NOISY = TRUTH + 0.2 * TRUTH.std() * np.random.default_rng(0).normal(size=len(TRUTH))
TEST = X[N:]
CASES = {
    "polynomial": ({"final": "polynomial", "n_iter": 2}, NOISY),
    "noise-free": ({"final": "polynomial", "n_iter": 2, "degree": 1}, TRUTH),
    "kriging": ({"final": "kriging", "n_iter": 1}, NOISY),
    "two outputs": ({"n_iter": 1, "degree": 2}, np.column_stack([NOISY, X[:, 0] * X[:, 1]])),
    "few neighbors": ({"n_iter": 1, "degree": 1, "max_neighbors": 100}, NOISY),
    "compact kernel": ({"n_iter": 1, "degree": 1, "kernel": "biweight"}, NOISY),
}


def blended_anyway(model, near=1e300):
    """Have a model blend, whatever was decided about it; in no other place would it make a difference."""
    model._models = [replace(one, blending=Blending(near)) for one in model._models]
    return model


@pytest.fixture(scope="module")
def noisy():
    """Model of noisy labels, which decided to blend; tests only ask it."""
    return LocalEGOPRegressor(n_iter=2, degree=1, n_jobs=1).fit(X[:N], NOISY[:N])


@pytest.fixture(scope="module", params=CASES)
def case(request):
    parameters, labels = CASES[request.param]
    return LocalEGOPRegressor(n_jobs=1, **parameters).fit(X[:N], labels[:N]), labels


@pytest.fixture
def fitted(case):
    """Model that blends at all but distant queries, with no fits made yet."""
    model = case[0]._snapshot()
    decided = model._models[0].blending
    return blended_anyway(model, 1.0 if decided is None else decided.near)


def test_a_blend_is_taken_where_it_is_as_good(case):
    model, labels = case
    truth = labels[N:]
    blended, exact = (np.mean((model.predict(TEST, exact=e) - truth) ** 2) for e in (False, True))
    decided = model._models[0].blending
    assert decided is None or decided.near >= blend_choice.NEAREST
    assert blended <= 1.1 * exact
    if decided is None:
        assert np.array_equal(model.predict(TEST), model.predict(TEST, exact=True))


def test_noisy_labels_are_blended_with_hardly_any_change(noisy):
    assert noisy._models[0].blending is not None
    blended, exact = noisy.predict(TEST), noisy.predict(TEST, exact=True)
    assert not np.array_equal(blended, exact)
    assert np.array_equal(noisy.localize(TEST[:20], errors=False).value, exact[:20])
    assert np.mean((blended - exact) ** 2) < 0.05 * np.mean((exact - NOISY[N:]) ** 2)


def test_a_blend_that_raises_the_error_is_not_taken(monkeypatch):
    monkeypatch.setattr(blend_choice, "TOLERATED", 0.0)
    model = LocalEGOPRegressor(n_iter=1, degree=1, ridge=1e-3).fit(X[:N], NOISY[:N])
    assert model._models[0].blending is None
    assert np.array_equal(model.predict(TEST), model.localize(TEST, errors=False).value)


def test_what_is_not_blended(case):
    model, _ = case
    exact = model.predict(TEST[:20], exact=True)
    assert np.array_equal(model.predict(TEST[:20], return_std=True)[0], exact)
    assert np.array_equal(model.localize(TEST[:20], errors=False).value, exact)
    np.testing.assert_allclose(model.predict_interval(TEST[:20]).mean(axis=-1), exact, rtol=1e-9)


@pytest.mark.parametrize(
    "parameters", [{"strategy": "query", "n_subsamples": 20}, {"exclusion_radius": 9.0}]
)
def test_some_models_never_blend(parameters):
    model = LocalEGOPRegressor(n_iter=1, degree=1, ridge=1e-3, **parameters).fit(X[:250], NOISY[:250])
    assert model._models[0].blending is None


def test_few_rows_are_never_blended():
    few = 3 * (blend.CANDIDATES + 1) - 1
    model = LocalEGOPRegressor(n_iter=1, degree=1).fit(X[:few], NOISY[:few])
    assert model._models[0].blending is None


def test_blends_are_continuous(fitted):
    """Steps of 1e-9 along random segments, also where centers come and go and where they end."""
    rng = np.random.default_rng(1)
    ends = X[rng.integers(0, N, (2, 400))] + rng.normal(scale=0.3, size=(2, 400, X.shape[1]))
    starts = ends[0] + rng.uniform(size=(400, 1)) * (ends[1] - ends[0])
    step = rng.normal(size=starts.shape)
    step *= 1e-9 / np.linalg.norm(step, axis=1, keepdims=True)
    blended_anyway(fitted)  # exact fits alone have jumps, where the list of neighbors changes
    remoteness = fitted.localize(starts, errors=False).remoteness
    starts, step = (each[remoteness < 0.99 * NEAR_THE_EDGE] for each in (starts, step))
    assert len(starts) > 300
    values = fitted.predict(starts)
    jumps = np.abs(fitted.predict(starts + step) - values)
    # A step of 1e-9 changes a value by its slope times as much.
    assert jumps.max() < 1e-8 * max(1.0, np.abs(values).max())


def test_a_blend_is_continuous_where_the_list_of_centers_changes(monkeypatch):
    monkeypatch.setattr(blend, "CANDIDATES", 6)  # so that it changes often
    monkeypatch.setattr(blend, "ACTIVE", 4)
    model = blended_anyway(LocalEGOPRegressor(n_iter=1, degree=1, ridge=1e-3).fit(X[:N], NOISY[:N]))
    line = TEST[0] + np.linspace(0.0, 1.0, 20001)[:, None] * (TEST[1] - TEST[0])
    values = model.predict(line)
    steps = np.abs(np.diff(values))
    assert steps.max() < 0.2 * np.abs(np.diff(values[::100])).max()
    for k in np.argsort(steps)[-3:]:  # a jump would not get smaller with the steps
        closer = line[k] + np.linspace(0.0, 1.0, 101)[:, None] * (line[k + 1] - line[k])
        assert np.abs(np.diff(model.predict(closer))).max() < 0.1 * steps[k]


def test_the_transition_to_exact_fits_is_smooth():
    distance = np.linspace(0.0, 5.0, 5001)
    share = blending.fade(distance, 1.0, 2.0)
    assert share[distance <= 1.0].max() == 0.0 and share[distance >= 2.0].min() == 1.0
    assert np.all(np.diff(share) >= 0.0) and np.diff(share).max() < 2e-3
    assert blending.fade(np.array([np.inf]), 1.0, 2.0) == 1.0


def test_far_away_fits_are_exact(fitted):
    far = np.concatenate([X[:5] + 30.0, 1e6 * X[:5], np.full((1, 4), 1e300)])
    with pytest.warns(ExtrapolationWarning, match="11 of 11 queries"):
        assert np.array_equal(fitted.predict(far), fitted.predict(far, exact=True))


@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
def test_blends_become_exact_fits_where_the_data_end(fitted):
    blended_anyway(fitted)  # as near as is asked for, so that only remoteness counts
    line = TEST[:60, None] + np.linspace(0.0, 6.0, 21)[:, None] * np.array([1.0, 1.0, 0.0, 0.0])
    queries = line.reshape(-1, 4)
    remoteness = fitted.localize(queries, errors=False).remoteness
    same = (fitted.predict(queries) == fitted.predict(queries, exact=True)).reshape(len(queries), -1)
    within, beyond = remoteness < NEAR_THE_EDGE, remoteness > 1.0
    assert within.sum() > 20 and beyond.sum() > 20
    assert not same[within].all(axis=1).any() and same[beyond].all()


@pytest.mark.filterwarnings("ignore::localegop.ExtrapolationWarning")
def test_order_number_and_threads_do_not_matter(fitted, monkeypatch):
    queries = np.concatenate([TEST, TEST[:50] + 2.0])  # some are answered by exact fits
    expected = fitted.predict(queries)
    order = np.random.default_rng(0).permutation(len(queries))
    assert np.array_equal(fitted.predict(queries[order]), expected[order])
    assert np.array_equal([fitted.predict(q[None])[0] for q in queries[::40]], expected[::40])
    monkeypatch.setattr("localegop._engine.chunks.LARGEST", 64)
    assert np.array_equal(fitted.predict(queries), expected)
    fitted.n_jobs = 3
    assert np.array_equal(fitted.predict(queries), expected)
    fitted.n_jobs = 1


def test_fits_made_for_a_few_queries_give_the_same_answers(fitted):
    assert fitted._models[0].blending._centers is None
    few = [fitted.predict(TEST[k : k + 2]) for k in range(0, 10, 2)]
    assert fitted._models[0].blending._centers._kept is None
    whole = fitted.predict(TEST)
    assert fitted._models[0].blending._centers._kept is not None
    assert np.array_equal(np.concatenate(few), whole[:10])
    assert np.array_equal(
        np.concatenate([fitted.predict(TEST[k : k + 2]) for k in range(0, 10, 2)]), whole[:10]
    )


def test_copies_and_files_predict_the_same(fitted, tmp_path):
    expected = fitted.predict(TEST)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(TEST), expected)
    fitted.save(tmp_path / "model")
    loaded = LocalEGOPRegressor.load(tmp_path / "model")
    assert loaded._models[0].blending.near == fitted._models[0].blending.near
    assert np.array_equal(loaded.predict(TEST[:1]), expected[:1])
    assert np.array_equal(loaded.predict(TEST), expected)


def test_a_file_that_has_too_few_rows_for_a_blend_is_refused():
    model = LocalEGOPRegressor(n_iter=1, degree=1).fit(X[:100], NOISY[:100])._models[0]
    header, arrays = pack_model(replace(model, blending=Blending(1.0)), "0_")
    with pytest.raises(ValueError, match="cannot blend"):
        unpack_model(header, arrays, "0_", model.decisions.settings, 100)


def test_weights_count_as_repeated_rows():
    weight = np.random.default_rng(0).integers(1, 3, N)
    parameters = {"n_iter": 1, "degree": 1, "ridge": 1e-3}
    weighted = LocalEGOPRegressor(**parameters).fit(X[:N], NOISY[:N], weight)
    rows = np.repeat(np.arange(N), weight)
    repeated = LocalEGOPRegressor(**parameters).fit(X[rows], NOISY[rows])
    assert weighted._models[0].blending is not None
    assert np.array_equal(weighted.predict(TEST), repeated.predict(TEST))


def test_outputs_of_separate_models_are_blended_each():
    labels = np.column_stack([NOISY, X[:, 0] * X[:, 1]])
    parameters = {"n_iter": 0, "degree": 1, "ridge": 1e-3}
    both = LocalEGOPRegressor(outputs="separate", **parameters).fit(X[:N], labels[:N])
    for k in range(2):
        alone = LocalEGOPRegressor(**parameters).fit(X[:N], labels[:N, k])
        assert np.array_equal(both.predict(TEST)[:, k], alone.predict(TEST))


def test_centers_are_limited_by_number_and_memory(noisy, monkeypatch):
    model = noisy._models[0]
    assert len(model.blending._centers.rows) == N
    monkeypatch.setattr(blend, "MOST_CENTERS", 200)
    assert len(blend.KeptCenters(model.data, model.decisions.choice).rows) == 200
    each = blend.bytes_each(model.data, model.decisions.choice)
    monkeypatch.setattr(blend, "MOST_BYTES", 100.0 * each)
    few = blend.KeptCenters(model.data, model.decisions.choice)
    few.keep(model.data, model.field, model.decisions.choice)
    assert len(few.rows) == 100 and few._kept.nbytes <= blend.MOST_BYTES


def test_an_interrupt_leaves_a_model_that_predicts(fitted, monkeypatch):
    expected = fitted.predict(TEST)
    again = pickle.loads(pickle.dumps(fitted))
    kind = type(again.choice_.final)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(kind, "keep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            again.predict(TEST)
    assert np.array_equal(again.predict(TEST), expected)


def test_labels_without_any_variation_are_blended_or_not_but_predicted():
    model = LocalEGOPRegressor(n_iter=1).fit(X[:200], np.full(200, 3.0))
    np.testing.assert_allclose(model.predict(TEST), 3.0, rtol=1e-9)


def test_repeated_coordinates_are_no_problem():
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 4, (N, 4)).astype(float)
    labels = grid @ [1.0, 2.0, 0.0, -1.0] + 0.1 * rng.normal(size=N)
    model = blended_anyway(LocalEGOPRegressor(n_iter=1, degree=1).fit(grid, labels), 1.0)
    queries = rng.integers(0, 7, (200, 4)) / 2.0  # on and between the grid points
    assert isinstance(model.choice_.final, Polynomial)
    error = model.predict(queries) - queries @ [1.0, 2.0, 0.0, -1.0]
    assert np.abs(error).max() < 0.3
