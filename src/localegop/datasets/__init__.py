"""Data generators and loaders, named as scikit-learn would name them.

Generators return ``(X, y)`` or, with ``return_bunch=True``, also the clean points, the true function, its
exact derivatives and the tangent and normal bases. ``noise`` is label noise in units of the label's
standard deviation. The geometry behind them is in :mod:`localegop.datasets.manifolds`.
"""

from localegop.datasets.class_samples import make_class_annulus, make_class_helix
from localegop.datasets.curve_samples import make_annulus, make_helix, make_noisy_curve
from localegop.datasets.engineering import make_engineering
from localegop.datasets.image_surroundings import image_surroundings
from localegop.datasets.images import image_samples
from localegop.datasets.inverse_distances import inverse_distances
from localegop.datasets.malonaldehyde import load_malonaldehyde
from localegop.datasets.molecular_angles import dihedral_angles, planar_angles
from localegop.datasets.molecular_features import prepare_molecule
from localegop.datasets.polynomials import make_cubic
from localegop.datasets.rmd17 import fetch_rmd17
from localegop.datasets.surface_samples import (
    make_multi_index,
    make_noisy_sphere,
    make_swiss_band,
    make_torus,
)

__all__ = [
    "dihedral_angles",
    "fetch_rmd17",
    "image_samples",
    "image_surroundings",
    "inverse_distances",
    "load_malonaldehyde",
    "make_annulus",
    "make_class_annulus",
    "make_class_helix",
    "make_cubic",
    "make_engineering",
    "make_helix",
    "make_multi_index",
    "make_noisy_curve",
    "make_noisy_sphere",
    "make_swiss_band",
    "make_torus",
    "planar_angles",
    "prepare_molecule",
]
