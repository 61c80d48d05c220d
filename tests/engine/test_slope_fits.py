"""Local fits to labels and slopes, against least squares with one equation for each of them."""

import numpy as np
import pytest

from localegop import _core
from localegop._data.slopes import GivenSlopes
from localegop._engine.centers import Widths
from localegop._engine.final_fits import Polynomial, SlopePolynomial
from localegop._engine.local_data import LocalData
from localegop.kernels import as_kernel

N, D, SIZE = 200, 3, 40.0


def problem():
    """Rows, two labels of each, their exact slopes, queries, and metrics."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, D))
    labels = np.column_stack([np.sin(X[:, 0]) + X[:, 1] * X[:, 2], X[:, 0] ** 2])
    slopes = np.zeros((N, 2, D))
    slopes[:, 0] = np.column_stack([np.cos(X[:, 0]), X[:, 2], X[:, 1]])
    slopes[:, 1, 0] = 2.0 * X[:, 0]
    roots = rng.normal(size=(4, D, D))
    return X, labels, slopes, rng.normal(size=(4, D)), roots @ np.swapaxes(roots, 1, 2)


def data_of(X, labels, slopes, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    given = GivenSlopes(slopes, np.eye(X.shape[1]))
    options = {"kernel": as_kernel("gaussian"), "max_neighbors": None, "radius": None, "threads": 1}
    return LocalData(X, labels, weight, **options, slopes=given)


def least_squares(X, labels, slopes, weight, query, axes, slope_weight):
    """Values (2,) and slopes (2, D) at a query, by one equation for each label and for each slope."""
    offset = X - query
    along = offset @ axes.T
    terms = [
        np.ones(len(X)),
        *offset.T,
        *(along[:, j] * offset[:, b] for j in range(len(axes)) for b in range(D)),
    ]
    values = np.column_stack(terms)
    mean = weight @ offset / weight.sum()
    extent = (offset - mean).T @ (weight[:, None] * (offset - mean)) / weight.sum()
    root = np.linalg.cholesky(extent).T  # root' root is the covariance
    systems, right = [np.sqrt(weight)[:, None] * values], [np.sqrt(weight)[:, None] * labels]
    for k in np.flatnonzero(~np.isnan(slopes[:, 0, 0])):
        products = [
            axes[j] * offset[k, b] + along[k, j] * np.eye(D)[b] for j in range(len(axes)) for b in range(D)
        ]
        of_terms = np.column_stack([np.zeros(D), *np.eye(D), *products])
        scale = np.sqrt(slope_weight * weight[k])
        systems.append(scale * root @ of_terms)
        right.append(scale * root @ slopes[k].T)
    found = np.linalg.lstsq(np.vstack(systems), np.vstack(right), rcond=None)[0]
    return found[0], found[1 : 1 + D].T


def weights_around(data, query, metric):
    hoods = data.localize(data.centers(query[None]), metric[None], Widths.of_sizes((SIZE,), 1), keep=True)
    indices, weights = hoods.neighborhoods.neighbors(0)
    found = np.zeros(data.n)
    found[indices] = weights
    return found


@pytest.mark.parametrize("directions", [0, 1, 2])
@pytest.mark.parametrize("slope_weight", [0.1, 1.0, 30.0])
def test_fits_are_least_squares_with_an_equation_for_each_slope(directions, slope_weight):
    X, labels, slopes, queries, metrics = problem()
    slopes = slopes.copy()
    slopes[::7] = np.nan  # rows that know nothing
    slopes[3, :, 1] = np.nan  # one that does not know all, and is not used
    data = data_of(X, labels, slopes)
    final = SlopePolynomial(2 if directions else 1, directions, 0.0, slope_weight)
    fits = final.fit(data, data.centers(queries), metrics, Widths.of_sizes((SIZE,), 4), gradients=True)
    for q, (query, metric) in enumerate(zip(queries, metrics, strict=True)):
        weight = weights_around(data, query, metric)
        axes = np.linalg.eigh(metric)[1][:, ::-1].T[:directions]
        used = slopes.copy()
        used[np.isnan(slopes).any(axis=(1, 2))] = np.nan
        value, gradient = least_squares(X, labels, used, weight, query, axes, slope_weight)
        np.testing.assert_allclose(fits.value[q], value, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(fits.gradient[q], gradient, rtol=1e-6, atol=1e-7)


def test_a_few_rows_with_slopes_are_enough_for_a_quadratic_function():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, D))  # fewer than the ten terms
    bend = np.array([[2.0, 1.0, 0.0], [1.0, -1.0, 0.5], [0.0, 0.5, 3.0]])
    labels, slopes = 0.5 * np.einsum("na,ab,nb->n", X, bend, X)[:, None], (X @ bend)[:, None]
    data, query = data_of(X, labels, slopes), rng.normal(size=(1, D))
    final, widths = SlopePolynomial(2, D, 0.0, 1.0), Widths.of_sizes((4.0,), 1)
    fits = final.fit(data, data.centers(query), np.eye(D)[None], widths, gradients=True)
    np.testing.assert_allclose(fits.value[0], 0.5 * query[0] @ bend @ query[0], rtol=1e-8)
    np.testing.assert_allclose(fits.gradient[0, 0], bend @ query[0], rtol=1e-7, atol=1e-8)


def test_rows_that_know_no_slopes_are_fitted_as_without():
    X, labels, slopes, queries, metrics = problem()
    data, widths = data_of(X, labels, np.full_like(slopes, np.nan)), Widths.of_sizes((SIZE,), 4)
    informed = SlopePolynomial(1, 0, 1e-3, 5.0).fit(data, data.centers(queries), metrics, widths)
    plain = Polynomial(1, 0, 1e-3).fit(data, data.centers(queries), metrics, widths)
    np.testing.assert_array_equal(informed.value, plain.value)


def test_a_kept_fit_is_the_fit_at_its_center():
    X, labels, slopes, queries, metrics = problem()
    data, widths = data_of(X, labels, slopes), Widths.of_sizes((SIZE,), 4)
    final = SlopePolynomial(2, 1, 1e-4, 2.0)
    alone = final.fit(data, data.centers(queries), metrics, widths, gradients=True)
    kept = final.keep(data, data.centers(queries), metrics, widths)
    lists = np.array([[0, 1]], dtype=np.int32)  # the last of a list has no weight
    value, _, gradient = kept.blend(queries[:1], lists, 1, 1, True)
    np.testing.assert_allclose(value[0], alone.value[0])
    np.testing.assert_allclose(gradient[0], alone.gradient[0])


def test_whole_gradients_are_those_of_rows_that_know_all_of_them():
    rng = np.random.default_rng(2)
    frame, gradients = rng.normal(size=(D, D)), rng.normal(size=(6, 2, D))
    values = np.einsum("nka,da->nkd", gradients, frame)
    values[2, :, 1] = np.nan
    whole = GivenSlopes(values, frame).whole()
    assert np.isnan(whole[2]).all()
    np.testing.assert_allclose(np.delete(whole, 2, axis=0), np.delete(gradients, 2, axis=0))
    directions = rng.normal(size=(6, D + 1, D))  # more than there are features
    values = np.einsum("nka,nma->nkm", gradients, directions @ frame)
    values[4, 0, 2:] = np.nan
    whole = GivenSlopes(values, frame, directions).whole()
    assert np.isnan(whole[4]).all()
    np.testing.assert_allclose(np.delete(whole, 4, axis=0), np.delete(gradients, 4, axis=0))


def test_slopes_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="slopes must be"):
        _core.Points(np.ones((4, 2)), np.ones((4, 1)), np.ones(4), np.ones((4, 2, 2)))
