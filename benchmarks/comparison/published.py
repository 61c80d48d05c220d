"""Test functions that others chose: from surrogate modeling, Friedman's, and equations from physics.

Ranges of Feynman's equations are those of the AI Feynman collection (Udrescu and Tegmark 2020), of the
robot arm those of An and Owen (2001). Rows are drawn evenly from the ranges.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import arcsin, cos, exp, pi, sin, sqrt
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

from localegop.datasets import make_engineering

FEYNMAN_ROWS_SEED = 7


@dataclass(frozen=True)
class Formula:
    """A function of named quantities within ranges."""

    ranges: Mapping[str, tuple[float, float]]
    value: Callable[..., Any]

    def draw(self, rows: int, random_state: int) -> tuple[np.ndarray, np.ndarray]:
        """Points (rows, D), drawn evenly, and labels."""
        low, high = np.array(list(self.ranges.values())).T
        rng = np.random.default_rng([random_state, FEYNMAN_ROWS_SEED])
        X = rng.uniform(low, high, (rows, len(low)))
        return X, np.asarray(self.value(**dict(zip(self.ranges, X.T, strict=True))))


def _ranges(**named: tuple[float, float]) -> dict[str, tuple[float, float]]:
    """Ranges by name; ``a__b=(1, 2)`` stands for both a and b."""
    return {name: bounds for names, bounds in named.items() for name in names.split("__")}


def robot_arm(**x: Any) -> Any:
    """Distance from the shoulder to the hand of an arm of four segments."""
    angles = np.cumsum([x[f"angle{i}"] for i in range(1, 5)], axis=0)
    lengths = np.array([x[f"length{i}"] for i in range(1, 5)])
    return np.hypot(np.sum(lengths * cos(angles), axis=0), np.sum(lengths * sin(angles), axis=0))


def _gaussian(sigma, theta, theta1):
    return exp(-(((theta - theta1) / sigma) ** 2) / 2) / (sqrt(2 * pi) * sigma)


def _distance(x1, x2, y1, y2):
    return np.hypot(x2 - x1, y2 - y1)


def _gravitation(m1, m2, G, x1, x2, y1, y2, z1, z2):
    return G * m1 * m2 / ((x2 - x1) ** 2 + (y2 - y1) ** 2 + (z2 - z1) ** 2)


def _moving_clock(x, c, u, t):
    return (t - u * x / c**2) / sqrt(1 - u**2 / c**2)


def _sum_of_speeds(c, v, u):
    return (u + v) / (1 + u * v / c**2)


def _center_of_mass(m1, m2, r1, r2):
    return (m1 * r1 + m2 * r2) / (m1 + m2)


def _third_side(x1, x2, theta1, theta2):
    return sqrt(x1**2 + x2**2 - 2 * x1 * x2 * cos(theta1 - theta2))


def _scattered_power(epsilon, c, Ef, r, omega, omega_0):
    area = (8 * pi * r**2 / 3) * (omega**4 / (omega**2 - omega_0**2) ** 2)
    return (epsilon * c * Ef**2 / 2) * area


def _interference(I1, I2, delta):
    return I1 + I2 + 2 * sqrt(I1 * I2) * cos(delta)


def _barometric(n_0, m, x, T, g, kb):
    return n_0 * exp(-m * g * x / (kb * T))


def _radiation(omega, T, h, kb, c):
    bar = h / (2 * pi)
    return bar * omega**3 / (pi**2 * c**2 * np.expm1(bar * omega / (kb * T)))


def _spring(x1, omega, t, alpha):
    return x1 * (cos(omega * t) + alpha * cos(omega * t) ** 2)


def _dipole(epsilon, p_d, r, x, y, z):
    return p_d / (4 * pi * epsilon) * 3 * z / r**5 * np.hypot(x, y)


def _two_levels(n_0, kb, T, mom, B):
    return n_0 / (2 * np.cosh(mom * B / (kb * T)))


def _magnetization(mom, H, kb, T, alpha, epsilon, c, M):
    return mom * H / (kb * T) + mom * alpha / (epsilon * c**2 * kb * T) * M


def _transition(p_d, Ef, t, h, omega, omega_0):
    half = (omega - omega_0) * t / 2
    return p_d * Ef * t * 2 * pi / h * np.sinc(half / pi) ** 2


FORMULAS = {
    "robot_arm": Formula(
        _ranges(
            angle1__angle2__angle3__angle4=(0.0, 2 * pi), length1__length2__length3__length4=(0.0, 1.0)
        ),
        robot_arm,
    ),
    "I.6.2b": Formula(_ranges(sigma__theta__theta1=(1, 3)), _gaussian),
    "I.8.14": Formula(_ranges(x1__x2__y1__y2=(1, 5)), _distance),
    "I.9.18": Formula(_ranges(m1__m2__G=(1, 2), x1__y1__z1=(3, 4), x2__y2__z2=(1, 2)), _gravitation),
    "I.15.3t": Formula(_ranges(x=(1, 5), c=(3, 10), u=(1, 2), t=(1, 5)), _moving_clock),
    "I.16.6": Formula(_ranges(c__v__u=(1, 5)), _sum_of_speeds),
    "I.18.4": Formula(_ranges(m1__m2__r1__r2=(1, 5)), _center_of_mass),
    "I.26.2": Formula(_ranges(n=(0, 1), theta2=(1, 5)), lambda n, theta2: arcsin(n * sin(theta2))),
    "I.29.16": Formula(_ranges(x1__x2__theta1__theta2=(1, 5)), _third_side),
    "I.32.17": Formula(_ranges(epsilon__c__Ef__r__omega=(1, 2), omega_0=(3, 5)), _scattered_power),
    "I.37.4": Formula(_ranges(I1__I2__delta=(1, 5)), _interference),
    "I.40.1": Formula(_ranges(n_0__m__x__T__g__kb=(1, 5)), _barometric),
    "I.41.16": Formula(_ranges(omega__T__h__kb__c=(1, 5)), _radiation),
    "I.50.26": Formula(_ranges(x1__omega__t__alpha=(1, 3)), _spring),
    "II.6.15a": Formula(_ranges(epsilon__p_d__r__x__y__z=(1, 3)), _dipole),
    "II.24.17": Formula(
        _ranges(omega=(4, 6), c=(1, 2), d=(2, 4)),
        lambda omega, c, d: sqrt(omega**2 / c**2 - pi**2 / d**2),
    ),
    "II.35.18": Formula(_ranges(n_0__kb__T__mom__B=(1, 3)), _two_levels),
    "II.36.38": Formula(_ranges(mom__H__kb__T__alpha__epsilon__c__M=(1, 3)), _magnetization),
    "III.9.52": Formula(_ranges(p_d__Ef__t__h=(1, 3), omega__omega_0=(1, 5)), _transition),
}


def _engineering(name: str) -> Callable[..., Any]:
    return lambda rows, random_state: make_engineering(name, rows, random_state=random_state)[:2]


def _feynman(name: str) -> str:
    return f"feynman_{name.replace('.', '_')}"


FUNCTIONS: dict[str, tuple[str, Callable[..., tuple[np.ndarray, np.ndarray]]]] = {
    "borehole": ("borehole, D=8", _engineering("borehole")),
    "otl_circuit": ("OTL circuit, D=6", _engineering("otl_circuit")),
    "piston": ("piston, D=7", _engineering("piston")),
    "wing_weight": ("wing weight, D=10", _engineering("wing_weight")),
    "robot_arm": ("robot arm, D=8", FORMULAS["robot_arm"].draw),
    "friedman1_10": (
        "Friedman 1, D=10",
        lambda rows, random_state: make_friedman1(rows, 10, random_state=random_state),
    ),
    "friedman2_4": ("Friedman 2, n=1,000", make_friedman2),
    "friedman3_4": ("Friedman 3, n=1,000", make_friedman3),
    **{
        _feynman(name): (f"Feynman {name}, D={len(each.ranges)}", each.draw)
        for name, each in FORMULAS.items()
        if name != "robot_arm"
    },
}
