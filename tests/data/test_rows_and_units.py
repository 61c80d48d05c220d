"""Distinct rows; units there and back; progress."""

import io

import numpy as np
import pytest

from localegop._data.rows import distinct_rows
from localegop._data.sums import extent, extent_of
from localegop._data.units import Units, feature_units
from localegop._progress import Progress

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3)) * [1.0, 100.0, 0.01] + [0.0, 5.0, -1.0]
ONES = np.ones(50)


def test_rows_are_merged_whatever_their_order():
    y = RNG.normal(size=(50, 1))
    weight = RNG.integers(1, 4, size=50).astype(float)
    base = distinct_rows(X, y, weight)
    order = RNG.permutation(np.repeat(np.arange(50), weight.astype(int)))
    other = distinct_rows(X[order], y[order], np.ones(len(order)))
    assert base.X.tolist() == other.X.tolist()
    assert base.share.tolist() == other.share.tolist()
    assert base.X[base.position].tolist() == X.tolist()
    assert other.y[other.position].tolist() == y[order].tolist()


def test_rows_of_no_weight_are_left_out_and_zero_has_no_sign():
    rows = distinct_rows(np.array([[0.0], [-0.0], [1.0]]), np.zeros((3, 1)), np.array([1.0, 1.0, 0.0]))
    assert rows.share.tolist() == [2.0]
    assert rows.position.tolist() == [0, 0, -1]


@pytest.mark.parametrize("name", ["identity", "variance", "vector", "matrix"])
def test_units_there_and_back(name):
    root = RNG.normal(size=(3, 3))
    metric = {"vector": np.array([1.0, 2.0, 0.5]), "matrix": root @ root.T}.get(name, name)
    center, transform = feature_units(extent(X, ONES), metric)
    y = 7.0 * X[:, :1] + 3.0
    labels = extent(y, ONES)
    units = Units(center, transform, labels.mean, labels.spread)
    z = units.features(X)
    distances = np.sum((z[0] - z[1:]) ** 2, axis=1)
    in_user_units = units.metrics(np.eye(3)[None])[0]
    difference = X[0] - X[1:]
    assert np.einsum("ia,ab,ib->i", difference, in_user_units, difference) == pytest.approx(distances)
    if name in ("vector", "matrix"):
        assert in_user_units == pytest.approx(np.diag(metric) if name == "vector" else metric)
    assert units.values(units.labels(y)) == pytest.approx(y)
    slope = np.linalg.lstsq(z, units.labels(y), rcond=None)[0].T  # gradient in the recursion's units
    assert units.gradients(slope[None])[0] == pytest.approx(np.array([[7.0, 0.0, 0.0]]), abs=1e-9)


def test_units_of_constant_and_extreme_data():
    found = extent(np.full((5, 1), 3.0), np.ones(5))
    assert (found.mean.item(), found.spread.item()) == (3.0, 3.0)
    found = extent(np.array([[-1e308], [1e308]]), np.ones(2))
    assert np.isfinite(found.spread).all() and found.mean.item() == 0.0
    constant = np.column_stack([X, np.full(50, 2.0)])
    assert np.isfinite(feature_units(extent(constant, ONES), "variance")[1]).all()


def test_extents_do_not_depend_on_order_or_parts():
    values, share = RNG.normal(size=(300, 2)) * [1e-3, 1e9] + [7.0, 0.0], RNG.uniform(size=300)
    whole = extent(values, share)
    order = RNG.permutation(300)
    parts = [(values[part], share[part]) for part in np.split(order, [13, 100])]
    spread = extent_of(lambda function: [function(*part) for part in parts])
    for name in ("low", "high", "mean", "spread"):
        assert getattr(whole, name).tolist() == getattr(spread, name).tolist()
    mean = np.average(values, axis=0, weights=share)
    assert whole.mean == pytest.approx(mean, rel=1e-12)
    assert whole.spread == pytest.approx(
        np.sqrt(np.average((values - mean) ** 2, axis=0, weights=share)), rel=1e-12
    )


def test_progress_is_shown_only_if_asked_for_and_only_if_slow(monkeypatch):
    now = [0.0]
    shown = io.StringIO()
    monkeypatch.setattr("localegop._progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr("localegop._progress.sys.stderr", shown)
    for verbose, pace, expected in ((0, 10.0, False), (1, 0.001, False), (1, 10.0, True)):
        shown.truncate(0)
        with Progress(10, "fit", verbose) as progress:
            for _ in range(10):
                now[0] += pace
                progress.advance(1)
        assert bool(shown.getvalue().strip("\0")) is expected
    assert "1:30 left" in shown.getvalue()
    assert "100%" in shown.getvalue()
