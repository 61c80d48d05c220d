"""Data around curves: the helix and the annulus of the paper, and a closed plane curve."""

from __future__ import annotations

import numpy as np

from localegop._arguments import RandomStateLike, as_generator, check_count, check_interval, check_real

from .curves import helix_in
from .plane_curves import LobedCurve
from .polynomials import SmoothFunction
from .surfaces import Sphere
from .tubes import TubeSample, XyOrBunch, check_polynomial, label, sample_tube


def make_helix(
    n_samples: int = 1000,
    n_features: int = 5,
    *,
    noise: float = 0.0,
    radius: float = 0.5,
    scale: float = 0.8,
    polynomial: SmoothFunction | None = None,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points around a helix in R^D, labeled by their nearest point on it.

    The curve is ``scale (sin(t + w_1), cos(t + w_1), sin(t + w_2), cos(t + w_2), ..., t)``, the
    last entry for odd D only, with offsets w an even mesh of [0, 2 pi) and t uniform on [0, 2 pi].
    Each point is moved by a vector uniform in the ball of its normal space; its label, a random
    cubic polynomial of the clean point, stays. So f varies in one direction near every point, but
    in another one at each.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    n_features : int, default 5
        Dimension D of the points, at least 2.
    noise : float, default 0.0
        Standard deviation of the label noise, in units of that of the noise-free labels.
    radius : float, default 0.5
        Radius of the ball of normal displacements, less than the reach of the curve.
    scale : float, default 0.8
        Size of the curve.
    polynomial : Polynomial, optional
        Label function on R^D; a random cubic with coefficients uniform on [-3, 3] by default.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call. The polynomial is drawn first: with the same int
        it does not depend on ``n_samples`` or ``noise``.
    return_bunch : bool, default False
        Whether to return a Bunch instead of (X, y).

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, n_features) and labels. A Bunch has

        - ``data``, ``target`` : X and y;
        - ``clean``, ``noise_free_target``: nearest points on the manifold, labels before noise;
        - ``function``, ``gradient``, ``hessian`` : callables on points of shape (k, D), the true
          regression function f(x) = p(pi(x)) and its exact derivatives;
        - ``gradients`` : exact gradients at X, shape (n, D);
        - ``tangent``, ``normal`` : orthonormal bases at the clean points, of shapes (n, D, d) and
          (n, D, D - d);
        - ``manifold``, ``coordinates`` : the manifold and the coordinates of the clean points;
        - ``polynomial``, ``noise_std``, ``parameters`` : label function, standard deviation of the
          label noise, and the arguments.

    References
    ----------
    Kokot, Hemmady, Thiyageswaran and Meila, *Local EGOP for Continuous Index Learning*, appendix
    "Experiment Details".

    Examples
    --------
    >>> from localegop.datasets.curve_samples import make_helix
    >>> X, y = make_helix(200, 5, random_state=0)
    >>> X.shape, y.shape
    ((200, 5), (200,))
    >>> helix = make_helix(200, 5, random_state=0, return_bunch=True)
    >>> helix.gradients.shape, helix.normal.shape
    ((200, 5), (200, 5, 4))
    """
    rng = as_generator(random_state)
    n_features = check_count("n_features", n_features, 2)
    scale = check_real("scale", scale, above=0.0)
    function = check_polynomial(polynomial, n_features, rng)
    sample = sample_tube(helix_in(n_features, scale), n_samples, radius, rng)
    parameters = {"noise": noise, "radius": radius, "scale": scale}
    return label(sample, function, noise, rng, parameters, return_bunch)


def make_annulus(
    n_samples: int = 1000,
    *,
    angle: float = 25.0,
    radius_range: tuple[float, float] = (0.6, 1.8),
    noise: float = 0.0,
    noise_std: float | None = None,
    low: float = -1.0,
    high: float = 1.0,
    polynomial: SmoothFunction | None = None,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points of a sector of an annulus, labeled by their direction.

    Points are uniform on an arc of the unit circle around (1, 0), labeled there by a random cubic
    polynomial, and then multiplied by a uniform factor: ``f(x) = p(x / |x|)``.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    angle : float, default 25.0
        Width of the arc in degrees, centered at (1, 0), in (0, 360].
    radius_range : (float, float), default (0.6, 1.8)
        The factors are uniform on this interval.
    noise : float, default 0.0
        Standard deviation of the label noise, in units of that of the noise-free labels.
    noise_std : float, optional
        Standard deviation of the label noise in the units of the labels, instead of ``noise``. The
        paper's experiment uses ``noise_std=0.05``.
    low, high : float, default -1.0 and 1.0
        The coefficients of the random polynomial are uniform on [low, high].
    polynomial : Polynomial, optional
        Label function on R^2; a random cubic by default.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call.
    return_bunch : bool, default False
        Whether to return a Bunch, see `make_helix`.

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, 2) and labels, or all that is known about them.

    Examples
    --------
    >>> from localegop.datasets.curve_samples import make_annulus
    >>> X, y = make_annulus(500, noise_std=0.05, random_state=0)
    >>> X.shape, y.shape
    ((500, 2), (500,))
    """
    rng = as_generator(random_state)
    n_samples = check_count("n_samples", n_samples, 1)
    angle = check_real("angle", angle, above=0.0, most=360.0, why=" degrees")
    shortest, longest = check_interval("radius_range", radius_range, above=0.0)
    if noise_std is not None:
        noise_std = check_real("noise_std", noise_std, least=0.0)
        if noise != 0.0:
            raise ValueError(
                f"noise={noise!r} and noise_std={noise_std!r} exclude each other: give only one."
            )
    function = check_polynomial(polynomial, 2, rng, low=low, high=high)
    half_width = np.deg2rad(angle) / 2.0
    phi = rng.uniform(-half_width, half_width, size=n_samples)
    clean = np.column_stack([np.cos(phi), np.sin(phi)])
    factors = rng.uniform(shortest, longest, size=(n_samples, 1))
    sample = TubeSample(Sphere(1), clean, clean, factors * clean)
    parameters = {"angle": angle, "radius_range": (shortest, longest), "noise": noise}
    return label(sample, function, noise, rng, parameters, return_bunch, noise_std=noise_std)


def make_noisy_curve(
    n_samples: int = 1000,
    *,
    lobes: int = 3,
    amplitude: float = 0.25,
    noise: float = 0.0,
    radius: float = 0.25,
    polynomial: SmoothFunction | None = None,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points of the plane around a closed curve with lobes.

    Points are uniform by arc length on the curve r(t) (cos t, sin t), r(t) = 1 + amplitude
    cos(lobes t), then moved along the normal, and labeled by their nearest point on the curve.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    lobes : int, default 3
        Number of lobes.
    amplitude : float, default 0.25
        How far they stick out, in [0, 1).
    noise : float, default 0.0
        Standard deviation of the label noise, in units of that of the noise-free labels.
    radius : float, default 0.25
        Radius of the ball of normal displacements, less than the reach of the curve.
    polynomial : Polynomial, optional
        Label function on R^2; a random cubic by default.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call.
    return_bunch : bool, default False
        Whether to return a Bunch, see `make_helix`.

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, 2) and labels, or all that is known about them.

    Examples
    --------
    >>> from localegop.datasets.curve_samples import make_noisy_curve
    >>> curve = make_noisy_curve(300, random_state=0, return_bunch=True)
    >>> curve.data.shape, curve.normal.shape
    ((300, 2), (300, 2, 1))
    """
    rng = as_generator(random_state)
    lobes = check_count("lobes", lobes, 1)
    amplitude = check_real("amplitude", amplitude, least=0.0, below=1.0)
    function = check_polynomial(polynomial, 2, rng)
    sample = sample_tube(LobedCurve(lobes, amplitude), n_samples, radius, rng)
    parameters = {"noise": noise, "radius": radius, "lobes": lobes, "amplitude": amplitude}
    return label(sample, function, noise, rng, parameters, return_bunch)
