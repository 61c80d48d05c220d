"""Classes of a fitted model: how its estimates become probabilities, and how certain these are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.link import Link
from localegop._predict.coverage import needed_weight
from localegop.results import LocalFits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClassCalibration:
    """What held-out points say of the probabilities of classes.

    Parameters
    ----------
    link : Link
    doubts : ndarray of shape (m,)
        One minus the probability of the class that each held-out point has, rising; empty if none was held
        out.
    weight_below : ndarray of shape (m,)
        Sum of the weights up to each of them.
    """

    link: Link
    doubts: Array
    weight_below: Array

    @classmethod
    def from_probabilities(
        cls, link: Link, probabilities: Array, labels: Array, weight: Array
    ) -> ClassCalibration:
        """Sort what probabilities (m, K) leave to doubt about one-hot labels (m, K) of weights (m,)."""
        doubts = 1.0 - np.sum(probabilities * labels, axis=1)
        order = np.argsort(doubts, kind="stable")
        return cls(link, doubts[order], np.cumsum(weight[order]))

    def sets(self, probabilities: Array, coverage: Array) -> NDArray[np.bool_]:
        """Return sets (q, k, K) of classes that hold the true one with each of k probabilities.

        A class belongs to a set if it is no less probable than the share asked for of held-out points found
        their own; all do where too few points were held out to tell.
        """
        least = np.zeros(len(coverage))
        if len(self.doubts):
            at = np.searchsorted(self.weight_below, needed_weight(coverage, float(self.weight_below[-1])))
            enough = at < len(self.doubts)
            least[enough] = 1.0 - self.doubts[at[enough]]
        found: NDArray[np.bool_] = probabilities[:, None] >= least[:, None] - 1e-12
        return found


def through_link(fits: LocalFits, link: Link) -> LocalFits:
    """Turn fits of one-hot labels (q, K) into probabilities, with their gradients and standard errors.

    Labels are noisy as draws from the probabilities are, which errors of estimates inherit.
    """
    probabilities, slopes = link.probabilities(fits.value), link.jacobian(fits.value)
    found: dict[str, Any] = {"value": probabilities}
    if fits.gradient.shape[-1]:
        found["gradient"] = np.einsum("qkj,qjd->qkd", slopes, fits.gradient, optimize=False)
        squares = np.einsum("qkj,qjd->qkd", slopes**2, fits.gradient_std**2, optimize=False)
        found["gradient_std"] = np.sqrt(squares)
    if fits.noise.ndim == 2:
        spread = np.eye(probabilities.shape[1]) * probabilities[:, None]
        spread = spread - probabilities[:, :, None] * probabilities[:, None]
        squares = np.einsum("qkj,qji,qki->qk", slopes, spread, slopes, optimize=False)
        found["noise"] = np.sqrt(np.maximum(squares, 0.0))
        for name in ("drift", "gap_error"):
            squares = np.einsum("qkj,qj->qk", slopes**2, getattr(fits, name) ** 2, optimize=False)
            found[name] = np.sqrt(squares)
    return replace(fits, **found)
