"""What the learned metric gains: errors of isotropic local linear fits at the same held-out points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import LocalData
from localegop.selection import Menu, pick, sizes_for
from localegop.trial import trial_fits
from localegop.uncertainty import EXACT


def isotropic_error(
    data: LocalData, ridges: tuple[float, ...], held_out_sets: Sequence[NDArray[np.intp]]
) -> float:
    """Mean squared error of the best isotropic linear fits, size and ridge chosen as for any final fit.

    Each point is left out alone: isotropic fits have learned nothing from it.
    """
    menu = Menu((0,), sizes_for(data.reachable), 1, (0,), ridges)
    assert menu.sizes is not None
    fits = trial_fits(data, np.concatenate(held_out_sets), menu.sizes, ridges, False)
    errors = np.moveaxis(fits.squares, 0, -1)[None, :, None]
    return pick(menu, errors, fits.share, data.dimension).error


def gain(isotropic: float, chosen: float) -> float:
    """Ratio of two mean squared errors in units of the label variance; one where both are rounding.

    Examples
    --------
    >>> from localegop.gain import gain
    >>> gain(0.5, 0.25), gain(1e-30, 1e-33)
    (2.0, 1.0)
    """
    least = EXACT**2
    return max(isotropic, least) / max(chosen, least) if chosen == chosen else np.nan
