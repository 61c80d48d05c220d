"""Surroundings of pixels: what counts, what does not, and exact values of simple images."""

import numpy as np
import pytest

from localegop.datasets import image_surroundings

RNG = np.random.default_rng(0)


def test_the_pixel_itself_does_not_count():
    image = RNG.normal(size=(12, 15))
    changed = image.copy()
    changed[5, 7] += 3.0
    before, after = image_surroundings(image), image_surroundings(changed)
    row = 5 * 15 + 7
    # the mean over all known pixels is subtracted and added again, so up to rounding
    np.testing.assert_allclose(after[row], before[row], atol=1e-12)
    assert np.abs(after[row + 1] - before[row + 1]).max() > 0.01


def test_unknown_pixels_do_not_count():
    image = RNG.normal(size=(12, 15))
    known = RNG.uniform(size=image.shape) < 0.7
    hidden = np.where(known, image, np.nan)
    other = np.where(known, image, 100.0)
    np.testing.assert_array_equal(
        image_surroundings(hidden, known=known), image_surroundings(other, known=known)
    )


def test_means_and_covariances_are_those_of_the_definition():
    image = RNG.normal(size=(9, 11))
    known = RNG.uniform(size=image.shape) < 0.8
    scale, at = 1.5, (4, 6)
    r, c = np.indices(image.shape) - np.array(at)[:, None, None]
    near = (np.abs(r) <= 6) & (np.abs(c) <= 6)
    weight = np.exp(-0.5 * (r**2 + c**2) / scale**2) * known * near
    weight[at] = 0.0
    weight /= weight.sum()
    mean = np.sum(weight * image)
    terms = [r / scale, c / scale, (r / scale) ** 2, r * c / scale**2, (c / scale) ** 2]
    expected = [mean, *(np.sum(weight * image * t) - mean * np.sum(weight * t) for t in terms)]
    found = image_surroundings(image, known=known, scales=[scale])[at[0] * 11 + at[1]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_flat_image_has_no_slopes_not_even_at_its_borders():
    X = image_surroundings(np.full((6, 8), 0.3), scales=[1.0, 2.0])
    np.testing.assert_allclose(X[:, [0, 6]], 0.3)
    np.testing.assert_allclose(np.delete(X, [0, 6], axis=1), 0.0, atol=1e-14)


def test_far_from_everything_known_it_is_the_mean_of_what_is():
    image = np.zeros((1, 60))
    known = np.zeros(image.shape, dtype=bool)
    known[0, :2], image[0, :2] = True, [1.0, 2.0]
    X = image_surroundings(image, known=known, scales=[1.0])
    np.testing.assert_allclose(X[-1], [1.5, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": np.zeros(5)}, "shape \\(5,\\)"),
        ({"image": np.zeros((3, 3)), "known": np.ones((2, 3))}, "known has shape"),
        ({"image": np.zeros((3, 3)), "known": np.zeros((3, 3))}, "at least one"),
        ({"image": np.full((3, 3), np.nan)}, "not finite"),
        ({"image": np.zeros((3, 3)), "scales": []}, "scales is empty"),
        ({"image": np.zeros((3, 3)), "scales": [0.0]}, "scales"),
    ],
)
def test_refusals_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        image_surroundings(**arguments)
