"""Test functions of engineering with their gradients, written out by hand.

Surrogates have long been tried on them: the flow through a borehole, the voltage of a push-pull circuit,
the cycle time of a piston and the weight of a light aircraft's wing. Features are in their natural units,
drawn evenly from the usual ranges. The formulas also work with complex numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._arguments import check_count

Array = NDArray[np.float64]
Columns = Mapping[str, Any]

MARGIN, SUPPLY = 0.74, 11.35  # volts, of the transistor and behind it
GRAVITY = 19.62


@dataclass(frozen=True)
class EngineeringFunction:
    """A function of some quantities within bounds, and its gradient.

    Parameters
    ----------
    bounds : dict
        Least and largest value of each quantity, by name and in order.
    """

    bounds: Mapping[str, tuple[float, float]]
    _value: Callable[[Columns], Any]
    _slopes: Callable[[Columns], Mapping[str, Any]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self.bounds)

    def __call__(self, X: ArrayLike) -> Any:
        """Values (n,) at rows (n, D)."""
        return self._value(self._columns(X))

    def gradient(self, X: ArrayLike) -> Any:
        """Gradients (n, D) at rows (n, D)."""
        slopes = self._slopes(self._columns(X))
        return np.stack([slopes[name] for name in self.names], axis=1)

    def sample(self, n_samples: int, random_state: Any = None) -> Array:
        """Rows (n, D) drawn evenly from within the bounds."""
        low, high = np.array(list(self.bounds.values())).T
        rng = np.random.default_rng(random_state)
        return np.asarray(rng.uniform(low, high, (n_samples, len(low))))

    def _columns(self, X: ArrayLike) -> Columns:
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != len(self.bounds):
            raise ValueError(
                f"X must have the {len(self.bounds)} columns {', '.join(self.names)}, got an array of "
                f"shape {rows.shape}"
            )
        return dict(zip(self.names, rows.T, strict=True))


def make_engineering(name: str, n_samples: int = 200, *, random_state: Any = None) -> tuple[Array, ...]:
    """Draw rows of a test function of engineering, with labels and gradients.

    Parameters
    ----------
    name : {"borehole", "otl_circuit", "piston", "wing_weight"}
        Water flow through a borehole (8 features), voltage of a push-pull circuit (6), cycle time of a
        piston (7), weight of a wing (10).
    n_samples : int, default=200
    random_state : int, sequence of int, Generator or None, default=None
        Seed of the rows.

    Returns
    -------
    X : ndarray of shape (n, D)
        In natural units.
    y : ndarray of shape (n,)
    gradients : ndarray of shape (n, D)

    Examples
    --------
    >>> from localegop.datasets import make_engineering
    >>> X, y, gradients = make_engineering("borehole", 100, random_state=0)
    >>> X.shape, y.shape, gradients.shape
    ((100, 8), (100,), (100, 8))
    """
    if name not in FUNCTIONS:
        raise ValueError(f"name must be one of {', '.join(map(repr, FUNCTIONS))}, got {name!r}")
    function = FUNCTIONS[name]
    X = function.sample(check_count("n_samples", n_samples, 1), random_state)
    return X, np.asarray(function(X)), np.asarray(function.gradient(X))


def _borehole_parts(x: Columns) -> tuple[Any, Any, Any]:
    """Logarithm of the radii, what the length of the hole adds, and the whole resistance."""
    log = np.log(x["r"] / x["rw"])
    added = 2.0 * x["L"] * x["Tu"] / (x["rw"] ** 2 * x["Kw"])
    return log, added, log * (1.0 + x["Tu"] / x["Tl"]) + added


def _borehole(x: Columns) -> Any:
    return 2.0 * np.pi * x["Tu"] * (x["Hu"] - x["Hl"]) / _borehole_parts(x)[2]


def _borehole_slopes(x: Columns) -> dict[str, Any]:
    log, added, whole = _borehole_parts(x)
    flow, layers = _borehole(x), 1.0 + x["Tu"] / x["Tl"]
    per_head = 2.0 * np.pi * x["Tu"] / whole
    return {
        "rw": flow / whole * (layers + 2.0 * added) / x["rw"],
        "r": -flow / whole * layers / x["r"],
        "Tu": flow / x["Tu"] - flow / whole * (log / x["Tl"] + added / x["Tu"]),
        "Hu": per_head,
        "Tl": flow / whole * log * x["Tu"] / x["Tl"] ** 2,
        "Hl": -per_head,
        "L": -flow / whole * added / x["L"],
        "Kw": flow / whole * added / x["Kw"],
    }


def _circuit_parts(x: Columns) -> tuple[Any, Any, Any]:
    """Voltage of the divider, amplified resistance, and the sum of weighted voltages."""
    divided = 12.0 * x["Rb2"] / (x["Rb1"] + x["Rb2"])
    amplified = x["beta"] * (x["Rc2"] + 9.0)
    weighted = (divided + MARGIN) * amplified + SUPPLY * x["Rf"] + MARGIN * x["Rf"] * amplified / x["Rc1"]
    return divided, amplified, weighted


def _circuit(x: Columns) -> Any:
    _, amplified, weighted = _circuit_parts(x)
    return weighted / (amplified + x["Rf"])


def _circuit_slopes(x: Columns) -> dict[str, Any]:
    divided, amplified, weighted = _circuit_parts(x)
    whole, divider = amplified + x["Rf"], (x["Rb1"] + x["Rb2"]) ** 2
    by_divided, lost = amplified / whole, weighted / whole**2
    by_amplified = (divided + MARGIN + MARGIN * x["Rf"] / x["Rc1"]) / whole - lost
    return {
        "Rb1": -12.0 * x["Rb2"] / divider * by_divided,
        "Rb2": 12.0 * x["Rb1"] / divider * by_divided,
        "Rf": (SUPPLY + MARGIN * amplified / x["Rc1"]) / whole - lost,
        "Rc1": -MARGIN * x["Rf"] * amplified / (whole * x["Rc1"] ** 2),
        "Rc2": by_amplified * x["beta"],
        "beta": by_amplified * (x["Rc2"] + 9.0),
    }


def _piston_parts(x: Columns) -> tuple[Any, ...]:
    """Force, pressure times volume, root, volume and stiffness."""
    force = x["P0"] * x["S"] + GRAVITY * x["M"] - x["k"] * x["V0"] / x["S"]
    energy = x["P0"] * x["V0"] * x["Ta"] / x["T0"]
    root = np.sqrt(force**2 + 4.0 * x["k"] * energy)
    volume = x["S"] / (2.0 * x["k"]) * (root - force)
    return force, energy, root, volume, x["k"] + x["S"] ** 2 * energy / volume**2


def _piston(x: Columns) -> Any:
    return 2.0 * np.pi * np.sqrt(x["M"] / _piston_parts(x)[4])


def _piston_slopes(x: Columns) -> dict[str, Any]:
    force, energy, root, volume, stiffness = _piston_parts(x)
    time, S, k = _piston(x), x["S"], x["k"]
    of_force = {"M": GRAVITY, "S": x["P0"] + k * x["V0"] / S**2, "V0": -k / S, "k": -x["V0"] / S, "P0": S}
    of_energy = {name: energy / x[name] for name in ("V0", "P0", "Ta")} | {"T0": -energy / x["T0"]}
    slopes = {}
    for name in ("M", "S", "V0", "k", "P0", "Ta", "T0"):
        d_force, d_energy = of_force.get(name, 0.0), of_energy.get(name, 0.0)
        d_k, d_s, d_mass = float(name == "k"), float(name == "S"), float(name == "M")
        d_root = (force * d_force + 2.0 * (k * d_energy + energy * d_k)) / root
        d_volume = volume * (d_s / S - d_k / k) + S / (2.0 * k) * (d_root - d_force)
        d_stiffness = d_k + (S**2 * d_energy + 2.0 * S * energy * d_s) / volume**2
        d_stiffness = d_stiffness - 2.0 * S**2 * energy / volume**3 * d_volume
        slopes[name] = 0.5 * time * (d_mass / x["M"] - d_stiffness / stiffness)
    return slopes


POWERS = {
    "Sw": 0.758,
    "Wfw": 0.0035,
    "A": 0.6,
    "q": 0.006,
    "taper": 0.04,
    "tc": -0.3,
    "Nz": 0.49,
    "Wdg": 0.49,
}
SWEEP = -0.9  # power of the cosine of the sweep


def _structure(x: Columns) -> Any:
    """Weight of a wing without its paint."""
    weight = 0.036 * 100.0 ** POWERS["tc"] * np.cos(np.pi / 180.0 * x["sweep"]) ** SWEEP
    for name, power in POWERS.items():
        weight = weight * x[name] ** power
    return weight


def _wing(x: Columns) -> Any:
    return _structure(x) + x["Sw"] * x["Wp"]


def _wing_slopes(x: Columns) -> dict[str, Any]:
    weight, degree = _structure(x), np.pi / 180.0
    slopes = {name: weight * power / x[name] for name, power in POWERS.items()}
    slopes["sweep"] = -SWEEP * weight * np.tan(degree * x["sweep"]) * degree
    return slopes | {"Sw": slopes["Sw"] + x["Wp"], "Wp": x["Sw"]}


FUNCTIONS: dict[str, EngineeringFunction] = {
    "borehole": EngineeringFunction(
        {
            **{
                "rw": (0.05, 0.15),
                "r": (100.0, 50_000.0),
                "Tu": (63_070.0, 115_600.0),
                "Hu": (990.0, 1110.0),
            },
            **{"Tl": (63.1, 116.0), "Hl": (700.0, 820.0), "L": (1120.0, 1680.0), "Kw": (9855.0, 12_045.0)},
        },
        _borehole,
        _borehole_slopes,
    ),
    "otl_circuit": EngineeringFunction(
        {
            **{"Rb1": (50.0, 150.0), "Rb2": (25.0, 70.0), "Rf": (0.5, 3.0)},
            **{"Rc1": (1.2, 2.5), "Rc2": (0.25, 1.2), "beta": (50.0, 300.0)},
        },
        _circuit,
        _circuit_slopes,
    ),
    "piston": EngineeringFunction(
        {
            **{"M": (30.0, 60.0), "S": (0.005, 0.02), "V0": (0.002, 0.01), "k": (1000.0, 5000.0)},
            **{"P0": (90_000.0, 110_000.0), "Ta": (290.0, 296.0), "T0": (340.0, 360.0)},
        },
        _piston,
        _piston_slopes,
    ),
    "wing_weight": EngineeringFunction(
        {
            **{"Sw": (150.0, 200.0), "Wfw": (220.0, 300.0), "A": (6.0, 10.0), "sweep": (-10.0, 10.0)},
            **{"q": (16.0, 45.0), "taper": (0.5, 1.0), "tc": (0.08, 0.18), "Nz": (2.5, 6.0)},
            **{"Wdg": (1700.0, 2500.0), "Wp": (0.025, 0.08)},
        },
        _wing,
        _wing_slopes,
    ),
}
