"""Logistic processes of all rows, and their means, against what they are made for."""

from dataclasses import replace

import numpy as np
import pytest

from localegop._engine import logistic_process
from localegop._engine.global_kriging import GlobalKriging, SolvedProcess, covariances
from localegop._engine.link import with_doubt
from localegop._engine.logistic_process import (
    EXPLAINED,
    LogisticProcess,
    SolvedLogistic,
    find_functions,
)
from localegop._engine.mixture import Mixture, SolvedMixture

N, DIMENSION, CLASSES = 90, 2, 3
PROCESSES = [
    LogisticProcess(1.5, 1e-1),
    LogisticProcess(4.0, 3e-1, rough=True),
    LogisticProcess(60.0, 1e-2),  # nearly linear
]
BY_NAME = pytest.mark.parametrize("process", PROCESSES, ids=str)


def sample(n=N, seed=0):
    """Rows, one-hot labels that overlap, and weights."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, DIMENSION))
    classes = np.argmax(
        np.column_stack([rows, rows[:, 0] * rows[:, 1]]) + rng.gumbel(size=(n, CLASSES)), axis=1
    )
    return rows, np.eye(CLASSES)[classes], rng.choice([0.5, 1.0, 2.0], n)


def solve(process, rows, labels, weight):
    return SolvedLogistic(process, rows, labels, weight, enough=1e-12)


@BY_NAME
def test_the_penalized_loss_is_least(process):
    """Where its slope is zero, coefficients are the weighted residuals over the ridge."""
    rows, labels, weight = sample()
    solved = solve(process, rows, labels, weight)
    system = covariances(process, rows, rows)
    residuals = weight[:, None] * (labels - solved.at(rows).value) / process.ridge
    of_residuals, of_places = system @ residuals, covariances(process, rows, solved.places) @ solved.dual
    np.testing.assert_allclose(of_places, of_residuals, atol=2e-3 * np.abs(of_residuals).max())


def test_functions_explain_the_covariances():
    rows, _, _ = sample()
    process = GlobalKriging(3.0, 0.1)
    places, functions = find_functions(process, rows, 60)
    assert len(set(places.tolist())) == len(places) == functions.shape[1] < 60
    whole = covariances(process, rows, rows)
    np.testing.assert_allclose(functions @ functions.T, whole, atol=EXPLAINED * whole.max())


def test_functions_are_the_same_whether_all_covariances_are_found_at_once(monkeypatch):
    rows, _, _ = sample()
    known = find_functions(PROCESSES[1], rows, 40)
    monkeypatch.setattr(logistic_process, "MOST_AT_ONCE", N - 1)
    found = find_functions(PROCESSES[1], rows, 40)
    assert (found.places == known.places).all()
    np.testing.assert_allclose(found.values, known.values, atol=1e-10)


@BY_NAME
def test_gradients_are_those_of_the_probabilities(process):
    rows, labels, weight = sample()
    solved, queries = solve(process, rows, labels, weight), np.random.default_rng(1).normal(size=(9, 2))
    found = solved.at(queries, gradients=True)
    np.testing.assert_allclose(found.value.sum(axis=1), 1.0, atol=1e-12)
    for a, move in enumerate(1e-5 * np.eye(DIMENSION)):
        slope = (solved.at(queries + move).value - solved.at(queries - move).value) / 2e-5
        np.testing.assert_allclose(found.gradient[:, :, a], slope, atol=1e-6)


@BY_NAME
def test_rows_can_be_left_out(process):
    """One step of Newton's method is near what the others alone say, and nearer than all rows are."""
    rows, labels, _ = sample()
    weight, own = np.ones(N), np.arange(0, N, 6)
    solved = solve(process, rows, labels, weight)
    blocks = [np.array([(i + 1) % N, (i + 2) % N], dtype=np.int32) for i in own]
    alone, (without, factors) = solved.without_own(own), solved.without_blocks(own, blocks)
    wrong = {"alone": [], "blocks": [], "all": []}
    for k, i in enumerate(own):
        for name, out, value in (("alone", [i], alone.value[k]), ("blocks", [i, *blocks[k]], without[k])):
            rest = np.setdiff1d(np.arange(N), out)
            true = solve(process, rows[rest], labels[rest], weight[rest]).at(rows[[i]]).value[0]
            wrong[name].append(np.abs(value - true).max())
            if name == "alone":
                wrong["all"].append(np.abs(solved.at(rows[[i]]).value[0] - true).max())
    means = {name: np.mean(each) for name, each in wrong.items()}
    assert means["alone"] < 0.4 * means["all"]
    assert means["blocks"] < means["all"]
    assert (factors > 0.0).all() and (alone.variance_factor > 0.0).all()


def test_the_log_loss_without_each_row_is_that_of_the_others():
    rows, labels, _ = sample()
    process = PROCESSES[0]
    solved, losses = solve(process, rows, labels, np.ones(N)), []
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        p = solve(process, rows[rest], labels[rest], np.ones(N - 1)).at(rows[[i]]).value[0]
        losses.append(-np.log(p) @ with_doubt(labels)[i])
    assert solved.loo_log_loss == pytest.approx(np.mean(losses), rel=0.06)


def test_variance_factors_are_those_of_small_changes_of_labels():
    rows, labels, weight = sample()
    solved, queries = solve(PROCESSES[0], rows, labels, weight), rows[:3] + 0.1
    found = solved.at(queries, variances=True).variance_factor
    squares = np.zeros((3, CLASSES))
    for i in range(N):
        for k in range(CLASSES):
            changed = labels.copy()
            changed[i, k] += 0.01
            moved = solve(PROCESSES[0], rows, changed, weight).at(queries).value[:, k]
            squares[:, k] += ((moved - solved.at(queries).value[:, k]) / 0.01) ** 2 / weight[i]
    np.testing.assert_allclose(found, squares.mean(axis=1), rtol=0.5)


@pytest.mark.parametrize("count", [1, 47, 49, 130])
def test_no_bit_of_an_answer_depends_on_the_other_queries(count):
    rows, labels, weight = sample()
    solved = solve(PROCESSES[0], rows, labels, weight)
    queries = np.random.default_rng(2).normal(size=(130, DIMENSION))
    whole, some = (
        solved.at(each, gradients=True, variances=False) for each in (queries, queries[130 - count :])
    )
    assert (whole.value[130 - count :] == some.value).all()
    assert (whole.gradient[130 - count :] == some.gradient).all()


def test_separable_classes_have_finite_logits():
    rows, _, weight = sample()
    labels = np.eye(2)[(rows[:, 0] > 0).astype(int)]
    for process in PROCESSES:
        p = SolvedLogistic(replace(process, ridge=1e-5), rows, labels, weight).at(100.0 * rows).value
        assert np.isfinite(p).all()


def test_a_mixture_is_the_mean_of_its_parts():
    rows, labels, weight = sample()
    parts = [SolvedProcess(GlobalKriging(2.0, 0.1), rows, labels, weight)]
    parts += [SolvedLogistic(PROCESSES[0], rows, labels, weight)]
    mixed = SolvedMixture(Mixture.equal(*(one.process for one in parts)), rows, parts)
    options = {"gradients": True, "variances": True}
    found, own = mixed.at(rows[:5] + 0.2, **options), np.arange(4)
    each = [one.at(rows[:5] + 0.2, **options) for one in parts]
    for name in ("value", "gradient"):
        np.testing.assert_allclose(getattr(found, name), sum(getattr(one, name) for one in each) / 2)
    factors = np.array([one.variance_factor for one in each])
    assert (found.variance_factor >= factors.min(axis=0)).all()
    assert (found.variance_factor <= factors.max(axis=0)).all()
    np.testing.assert_allclose(
        mixed.without_own(own).value, sum(one.without_own(own).value for one in parts) / 2
    )
    blocks = [np.array([8, 9], dtype=np.int32)] * 4
    np.testing.assert_allclose(
        mixed.without_blocks(own, blocks)[0], sum(one.without_blocks(own, blocks)[0] for one in parts) / 2
    )
