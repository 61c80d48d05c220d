"""The chosen final fit, polynomial or kriging, in neighborhoods of given shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop import _core
from localegop.kriging import MOST
from localegop.local_regression import Candidates, LocalData
from localegop.recursion import Rules
from localegop.selection import Choice

Array = NDArray[np.float64]

LEVERAGE_RIDGE = 1e-6  # of the linear fits that tell whether kriging extrapolates


@dataclass(frozen=True)
class FinalFit:
    """Final fits at q centers, in units of the recursion.

    Attributes
    ----------
    scale, effective_size : ndarrays of shape (q,)
        Of the neighborhoods.
    value : ndarray of shape (q, K)
    gradient : ndarray of shape (q, K, D)
        Empty unless asked for.
    variance_factor : ndarray of shape (q,)
        Variance of the value for labels of variance one; empty unless asked for.
    leverage : ndarray of shape (q,)
        The same of a polynomial fit in that neighborhood, large away from the data; empty unless asked for.
    """

    scale: Array
    effective_size: Array
    value: Array
    gradient: Array
    variance_factor: Array
    leverage: Array


def final_fit(
    data: LocalData,
    rules: Rules,
    choice: Choice,
    centers: Array,
    shapes: Array,
    candidates: Candidates | None,
    *,
    scale: Array | None = None,
    left_out: NDArray[np.int64] | None = None,
    spread: bool = False,
    full: bool = False,
) -> FinalFit:
    """Make the chosen fit, with ``spread`` its variance factors, with ``full`` its gradients.

    ``scale`` (q,) overrides the size that the choice or the schedule gives.
    """
    if choice.length is not None:
        return _kriged(data, choice, centers, shapes, candidates, left_out, spread, full)
    batch = data.localize(
        centers,
        shapes,
        candidates,
        **_width(data, rules, choice, len(centers), scale),
        left_out=left_out,
        degree=choice.degree,
        bends=(choice.bends,),
        ridges=(choice.ridge,),
        gradients=full,
        variances=spread,
    )
    value, gradient, variance = (
        found[:, 0, 0, 0] for found in (batch.value, batch.gradient, batch.variance_factor)
    )
    return FinalFit(batch.scale[:, 0], batch.effective_size[:, 0], value, gradient, variance, variance)


def _kriged(
    data: LocalData,
    choice: Choice,
    centers: Array,
    shapes: Array,
    candidates: Candidates | None,
    left_out: NDArray[np.int64] | None,
    spread: bool,
    full: bool,
) -> FinalFit:
    """Kriging, and the leverage of linear fits in the same neighborhoods."""
    assert choice.size is not None and choice.length is not None
    scale, size, value, gradient, variance = data.krige(
        centers,
        shapes,
        candidates,
        size=choice.size,
        most=MOST,
        lengths=(choice.length,),
        ridges=(choice.ridge,),
        left_out=left_out,
        gradients=full,
        variances=spread,
    )
    leverage = np.zeros(0)
    if spread:
        linear = data.localize(
            centers,
            shapes,
            candidates,
            scales=scale[:, None],
            left_out=left_out,
            degree=1,
            ridges=(LEVERAGE_RIDGE,),
            variances=True,
        )
        leverage = linear.variance_factor[:, 0, 0, 0]
    return FinalFit(scale, size, value[:, 0], gradient[:, 0], variance[:, 0], leverage)


def final_neighborhoods(
    data: LocalData,
    rules: Rules,
    choice: Choice,
    centers: Array,
    shapes: Array,
    candidates: Candidates | None,
    scale: Array | None = None,
) -> _core.Neighborhoods:
    """Neighborhoods in which :func:`final_fit` is made."""
    width = _width(data, rules, choice, len(centers), scale)
    return data.localize(centers, shapes, candidates, **width, keep=True).neighborhoods


def _width(
    data: LocalData, rules: Rules, choice: Choice, count: int, scale: Array | None
) -> dict[str, Any]:
    """Size or scale of the neighborhoods, as :meth:`LocalData.localize` takes them."""
    if scale is not None:
        return {"scales": scale[:, None]}
    if choice.size is not None:
        return {"sizes": np.full((count, 1), choice.size)}
    if rules.by_size:
        return {"sizes": np.full((count, 1), rules.size(choice.step, data.reachable))}
    return {"scales": np.full((count, 1), rules.scale(choice.step, data.dimension))}
