"""Classes along curves: their probabilities are exact, and vary along the curve only."""

import numpy as np
import pytest

from localegop.datasets import make_class_annulus, make_class_helix


@pytest.mark.parametrize("make", [make_class_helix, make_class_annulus])
def test_labels_are_drawn_from_the_probabilities(make):
    sample = make(20_000, n_classes=3, random_state=0, return_bunch=True)
    np.testing.assert_allclose(sample.probabilities.sum(axis=1), 1.0, atol=1e-12)
    shares = np.bincount(sample.target, minlength=3) / 20_000
    np.testing.assert_allclose(shares, sample.probabilities.mean(axis=0), atol=0.015)
    sure = sample.probabilities.max(axis=1) > 0.9
    right = sample.probabilities.argmax(axis=1) == sample.target
    assert right[sure].mean() == pytest.approx(sample.probabilities.max(axis=1)[sure].mean(), abs=0.02)


@pytest.mark.parametrize("make", [make_class_helix, make_class_annulus])
def test_probabilities_do_not_change_away_from_the_curve(make):
    sample = make(50, random_state=1, return_bunch=True)
    np.testing.assert_allclose(sample.probability(sample.data), sample.probabilities, atol=1e-6)
    between = 0.5 * (sample.data + sample.clean)
    np.testing.assert_allclose(sample.probability(between), sample.probabilities, atol=1e-6)


def test_the_same_seed_gives_the_same_probabilities_for_any_number_of_points():
    few, many = (make_class_helix(n, random_state=3, return_bunch=True) for n in (10, 100))
    np.testing.assert_allclose(few.probability(many.data), many.probabilities, atol=1e-6)


def test_sharpness_says_how_much_is_chance():
    samples = [make_class_helix(2000, sharpness=s, random_state=0, return_bunch=True) for s in (0.0, 10.0)]
    blurred, sharp = (sample.probabilities.max(axis=1).mean() for sample in samples)
    assert blurred == pytest.approx(1 / 3)
    assert sharp > 0.9


def test_wrong_numbers_are_refused():
    with pytest.raises(ValueError, match="n_classes"):
        make_class_helix(n_classes=1)
    with pytest.raises(ValueError, match="sharpness"):
        make_class_annulus(sharpness=-1.0)
