"""Bad arguments of the generators are refused by name."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from localegop.datasets.curve_samples import make_annulus, make_helix, make_noisy_curve
from localegop.datasets.polynomials import Polynomial, make_cubic
from localegop.datasets.surface_samples import (
    make_multi_index,
    make_noisy_sphere,
    make_swiss_band,
    make_torus,
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(make_helix, 0), "n_samples=0 .* >= 1"),
        (partial(make_helix, 2.5), "n_samples=2.5 .* integer"),
        (partial(make_helix, True), "n_samples=True .* integer"),
        (partial(make_helix, 10, 1), "n_features=1 .* >= 2"),
        (partial(make_helix, noise=-0.1), "noise=-0.1 .* >= 0"),
        (partial(make_helix, noise=np.nan), "noise=nan .* finite"),
        (partial(make_helix, radius=-1.0), "radius=-1.0 .* >= 0"),
        (partial(make_helix, 10, 2, radius=0.8), "radius=0.8 .* < 0.8, the reach of the manifold"),
        (partial(make_helix, 10, 3, radius=1.7), "radius=1.7 .* < 1.6.*, the reach of the manifold"),
        (partial(make_helix, scale=0), "scale=0 .* > 0"),
        (partial(make_helix, random_state="a"), "random_state='a' .* integer >= 0"),
        (partial(make_helix, random_state=-1), "random_state=-1 .* integer >= 0"),
        (partial(make_helix, polynomial=make_cubic(4)), "n_features=4.* 5 variables"),
        (partial(make_helix, polynomial=np.sum), "polynomial=.* give a Polynomial"),
        (partial(make_annulus, 0), "n_samples=0"),
        (partial(make_annulus, angle=0), "angle=0 .* > 0"),
        (partial(make_annulus, angle=400), "angle=400.*360"),
        (partial(make_annulus, radius_range=(0, 1)), r"radius_range\[0\]=0 .* > 0"),
        (partial(make_annulus, radius_range=(2, 1)), r"radius_range=\(2, 1\) .* low <= high"),
        (partial(make_annulus, radius_range=1.0), "radius_range=1.0 .* pair"),
        (partial(make_annulus, noise=0.1, noise_std=0.1), "noise=0.1 and noise_std=0.1 exclude"),
        (partial(make_annulus, noise_std=-1), "noise_std=-1 .* >= 0"),
        (partial(make_annulus, low=2), "high=1.0 .* >= 2"),
        (partial(make_noisy_sphere, 10, 3, intrinsic_dimension=3), "n_features=3 .* >= 4"),
        (partial(make_noisy_sphere, intrinsic_dimension=0), "intrinsic_dimension=0 .* >= 1"),
        (partial(make_noisy_sphere, radius=1.0), "radius=1.0 .* reach"),
        (partial(make_noisy_curve, lobes=0), "lobes=0 .* >= 1"),
        (partial(make_noisy_curve, amplitude=1.0), "amplitude=1.0 .* >= 0 and < 1"),
        (partial(make_noisy_curve, radius=0.4), "radius=0.4 .* < 0.375, the reach of the manifold"),
        (partial(make_torus, 10, 2), "n_features=2 .* >= 3"),
        (partial(make_torus, major_radius=0.5), "major_radius=0.5 .* > 0.75"),
        (partial(make_torus, radius=0.75), "radius=0.75 .* reach"),
        (partial(make_swiss_band, 10, 2), "n_features=2 .* >= 3"),
        (partial(make_swiss_band, turns=0.0), "turns=0.0 .* > 0"),
        (partial(make_swiss_band, width=-1.0), "width=-1.0 .* > 0"),
        (partial(make_swiss_band, radius=0.7), "radius=0.7 .* reach"),
        (partial(make_multi_index, 10, 2, n_indices=3), "n_features=2 .* >= 3"),
        (partial(make_multi_index, n_indices=0), "n_indices=0 .* >= 1"),
        (partial(make_cubic, 0), "n_features=0 .* >= 1"),
        (partial(make_cubic, 3, degree=4), "degree=4 .* from 1 to 3"),
        (partial(make_cubic, 3, low=1.0, high=0.0), "high=0.0 .* >= 1"),
        (partial(Polynomial.from_coefficients, [1.0, 2.0], n_features=2), "1, 3, 6, 10 entries"),
        (partial(make_cubic(3), np.ones(3)), r"X has shape \(3,\): .* \(k, 3\)"),
        (partial(make_cubic(3), np.ones((4, 2))), r"X has shape \(4, 2\)"),
        (partial(make_cubic(3).gradient, [[np.nan, 0, 0]]), "X contains NaN"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
