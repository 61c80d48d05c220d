"""The chosen final fit, polynomial or kriging, in neighborhoods of given shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop import _core
from localegop._engine.local_data import Candidates, LocalData
from localegop._engine.recursion import Rules
from localegop._selection import kriging
from localegop._selection.search_grid import Choice

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
    """

    scale: Array
    effective_size: Array
    value: Array
    gradient: Array
    variance_factor: Array


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
    single = (found[:, 0, 0, 0] for found in (batch.value, batch.gradient, batch.variance_factor))
    return FinalFit(batch.scale[:, 0], batch.effective_size[:, 0], *single)


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
    assert choice.size is not None and choice.length is not None
    kriged = data.krige(
        centers,
        shapes,
        candidates,
        size=choice.size,
        most=kriging.MOST,
        lengths=(choice.length,),
        ridges=(choice.ridge,),
        trends=(choice.trend,),
        rough=(choice.rough,),
        left_out=left_out,
        gradients=full,
        variances=spread,
    )
    return FinalFit(kriged[0], kriged[1], *(found[:, 0] for found in kriged[2:]))


def leverage(
    data: LocalData,
    choice: Choice,
    fit: FinalFit,
    centers: Array,
    shapes: Array,
    candidates: Candidates | None,
) -> Array:
    """Variance factor (q,) of polynomial fits in the neighborhoods of final ones, large away from the data.

    That of kriging itself may be large anywhere where there is hardly any noise.
    """
    if choice.length is None:
        return fit.variance_factor
    linear = data.localize(
        centers,
        shapes,
        candidates,
        scales=fit.scale[:, None],
        degree=1,
        ridges=(LEVERAGE_RIDGE,),
        variances=True,
    )
    factors: Array = linear.variance_factor[:, 0, 0, 0]
    return factors


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
