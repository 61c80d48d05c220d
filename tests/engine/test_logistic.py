"""Local logistic regression of the compiled core, against a plain reference."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from localegop._engine.centers import Widths
from localegop._engine.final_fits import Logistic
from localegop._engine.local_data import LocalData
from localegop.kernels import as_kernel

PSEUDO = 0.25  # as in src/core/logistic.hpp


def draw(n, dim, classes, seed=0, separation=1.0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, dim))
    logits = separation * rows @ rng.normal(size=(dim, classes))
    logits[:, 0] += separation * rows[:, 0] ** 2
    labels = np.eye(classes)[[rng.choice(classes, p=softmax(one)) for one in logits]]
    return rows, labels


def as_data(rows, labels, weight=None):
    weight = np.ones(len(rows)) if weight is None else weight
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(rows, labels, weight, **options)


def reference(data, center, metric, scale, directions, ridge):
    """Probabilities and gradients (K, D) at a center, by a general minimizer."""
    offsets = data.rows - center
    u = scale * np.einsum("ia,ab,ib->i", offsets, metric, offsets)
    weight = data.sample_weight * np.exp(-(u - u.min()))
    size = weight.sum() ** 2 / np.sum(weight**2 / data.sample_weight)
    weight = weight / weight.sum()
    products = [(offsets @ e)[:, None] * offsets for e in directions]
    terms = [offsets, np.hstack(products)] if products else [offsets]
    penalty = []
    for part in terms:
        variance = np.mean(weight @ (part - weight @ part) ** 2)
        penalty += [ridge * variance] * part.shape[1]
    basis, penalty = np.hstack(terms), np.array(penalty)
    means = weight @ basis
    drawn = PSEUDO / (size + PSEUDO)
    labels = (1.0 - drawn) * data.labels + drawn / data.outputs
    classes, count = labels.shape[1], basis.shape[1]
    first = 1 if classes == 2 else 0  # of two classes one has all of the slope
    slopes = np.zeros((classes, count + 1))
    slopes[0, -1] = np.log(weight @ labels[:, 0]) if classes == 2 else 0.0

    def unpack(flat):
        found = slopes.copy()
        found[first:] = flat.reshape(classes - first, -1)
        return found

    def loss(flat):
        beta = unpack(flat)
        logits = (basis - means) @ beta[:, :-1].T + beta[:, -1]
        p = softmax(logits, axis=1)
        value = weight @ (logsumexp(logits, axis=1) - np.sum(labels * logits, axis=1))
        value += 0.5 * np.sum(penalty * beta[first:, :-1] ** 2)
        pull = weight[:, None] * (p - labels)
        gradient = np.hstack([pull.T @ (basis - means) + penalty * beta[:, :-1], pull.sum(0)[:, None]])
        return value, gradient[first:].ravel()

    start = np.zeros((classes - first, count + 1)).ravel()
    options = {"maxiter": 5000, "gtol": 1e-11, "ftol": 1e-16, "maxfun": 10**5}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    beta = unpack(found)
    p = softmax(beta[:, -1] - beta[:, :-1] @ means)
    linear = beta[:, : len(center)]
    return p, p[:, None] * (linear - p @ linear)


@pytest.mark.parametrize(("classes", "bent"), [(2, 0), (2, 1), (4, 0), (3, 2)])
def test_core_agrees_with_a_general_minimizer(classes, bent):
    rows, labels = draw(150, 3, classes)
    data = as_data(rows, labels, np.random.default_rng(1).uniform(0.5, 2.0, len(rows)))
    metric = np.diag([3.0, 1.0, 0.2])
    centers = data.centers(rows[:4] + 0.1)
    fit = Logistic(2 if bent else 1, bent, 0.03)
    widths = Widths.of_scale(0.3, 4)
    found = fit.fit(data, centers, np.repeat(metric[None], 4, axis=0), widths, gradients=True)
    for i in range(4):
        value, gradient = reference(data, centers.rows[i], metric, 0.3, np.eye(3)[:bent], 0.03)
        np.testing.assert_allclose(found.value[i], value, atol=2e-3)
        np.testing.assert_allclose(found.gradient[i], gradient, atol=1e-2)


def test_separable_classes_have_finite_slopes_and_probabilities_inside():
    rows, _ = draw(200, 2, 2)
    labels = np.eye(2)[(rows[:, 0] > 0.0).astype(int)]
    data = as_data(rows, labels)
    centers, shapes = data.centers(rows[:20]), np.repeat(np.eye(2)[None], 20, axis=0)
    fit = Logistic(1, 0, 1e-6).fit(data, centers, shapes, Widths.of_sizes((60.0,), 20), gradients=True)
    assert np.isfinite(fit.gradient).all()
    assert ((fit.value > 0.0) & (fit.value < 1.0)).all()
    np.testing.assert_allclose(fit.value.sum(axis=1), 1.0, atol=1e-12)


def test_neighborhoods_of_one_class_say_so_with_a_little_doubt():
    rows = np.linspace(0.0, 1.0, 100)[:, None]
    labels = np.eye(3)[np.repeat([0, 1, 2], [60, 20, 20])]
    data = as_data(rows, labels)
    fit = Logistic(1, 0, 0.03).fit(
        data, data.centers(rows[:1]), np.ones((1, 1, 1)), Widths.of_sizes((10.0,), 1)
    )
    assert fit.value[0, 0] > 0.95
    assert (fit.value[0, 1:] > 1e-4).all()


def test_repeated_rows_are_rows_of_weight_two():
    rows, labels = draw(80, 2, 3)
    twice = as_data(np.repeat(rows, 2, axis=0), np.repeat(labels, 2, axis=0))
    heavy = as_data(rows, labels, np.full(80, 2.0))
    shapes, widths = np.repeat(np.eye(2)[None], 5, axis=0), Widths.of_scale(0.5, 5)
    found = [
        Logistic(2, 1, 0.03).fit(data, data.centers(rows[:5]), shapes, widths).value
        for data in (twice, heavy)
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
