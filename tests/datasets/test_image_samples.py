"""Images as regression data."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from localegop.datasets.images import image_samples

GRAY = np.array([[0.0, 0.25, 0.5], [0.75, 1.0, 0.1]])


def test_positions_are_row_and_column():
    X, y = image_samples(GRAY)
    assert X.dtype == y.dtype == np.float64
    np.testing.assert_array_equal(X, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]])
    for (row, column), value in zip(X.astype(int), y, strict=True):
        assert GRAY[row, column] == value


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (np.array([[0, 255]], dtype=np.uint8), [0, 1]),
        (np.array([[0, 65535]], dtype=np.uint16), [0, 1]),
        (np.array([[51, 255]]), [0.2, 1]),
        (np.array([[False, True]]), [0, 1]),
        ([[0.0, 0.5]], [0, 0.5]),
        (np.array([[0.0, 0.5]], dtype=np.float32), [0, 0.5]),
        (np.ones((1, 2, 3)), [1, 1]),
        (np.array([[[1.0, 0, 0], [0, 1.0, 0]]]), [0.299, 0.587]),
        (np.array([[[0, 0, 255, 7], [255, 255, 255, 0]]], dtype=np.uint8), [0.114, 1]),
    ],
)
def test_values_are_in_the_unit_interval(image, expected):
    _, y = image_samples(image)
    np.testing.assert_allclose(y, expected, atol=1e-12)
    assert y.min() >= 0.0
    assert y.max() <= 1.0


def test_samples_are_distinct_pixels_of_the_image():
    image = np.random.default_rng(0).uniform(size=(20, 30))
    X, y = image_samples(image, n_samples=100, random_state=0)
    assert len(np.unique(X, axis=0)) == 100
    rows, columns = X.astype(int).T
    np.testing.assert_array_equal(image[rows, columns], y)
    again, _ = image_samples(image, n_samples=100, random_state=0)
    other, _ = image_samples(image, n_samples=100, random_state=1)
    np.testing.assert_array_equal(X, again)
    assert not np.array_equal(X, other)


@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_png_file(tmp_path, as_path):
    pyplot_image = pytest.importorskip("matplotlib.image")
    path = tmp_path / "gray.png"
    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3) * 40
    pyplot_image.imsave(path, pixels, cmap="gray", vmin=0, vmax=255)
    X, y = image_samples(as_path(path))
    assert X.shape == (6, 2)
    np.testing.assert_allclose(y, pixels.ravel() / 255, atol=1e-6)


def test_unreadable_files(tmp_path):
    pytest.importorskip("matplotlib.image")
    path = tmp_path / "text.png"
    path.write_text("not an image")
    with pytest.raises(ValueError, match=r"text\.png.* cannot be read"):
        image_samples(path)
    with pytest.raises(FileNotFoundError):
        image_samples(tmp_path / "missing.png")


def test_missing_matplotlib_names_the_extra(monkeypatch):
    real_import = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"localegop\[plot\]"):
        image_samples("picture.png")


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros(4), r"image has shape \(4,\)"),
        (np.zeros((2, 2, 2)), r"image has shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), r"image has shape \(0, 3\).* not empty"),
        (np.zeros((2, 2), dtype=complex), "dtype complex128"),
        ([["a", "b"]], "dtype"),
        ([[0.0, 1.5]], r"0 to 1.5.* \[0, 1\]"),
        ([[-0.5, 1.0]], r"-0.5 to 1.* \[0, 1\]"),
        ([[0, 256]], r"0 to 256.* \[0, 255\]"),
        ([[0.0, np.nan]], "finite"),
    ],
)
def test_bad_images(image, message):
    with pytest.raises(ValueError, match=message):
        image_samples(image)


@pytest.mark.parametrize("n_samples", [0, 7, 1.0])
def test_bad_sample_sizes(n_samples):
    with pytest.raises(ValueError, match=r"n_samples=.* from 1 to 6"):
        image_samples(GRAY, n_samples=n_samples)
