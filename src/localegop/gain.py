"""What the learned metric gains: errors of isotropic local linear fits at the same held-out points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from localegop.local_regression import LocalData
from localegop.progress import Progress
from localegop.recursion import Rules
from localegop.selection import Menu, errors_at, pick, sizes_for
from localegop.strategies import GradientField
from localegop.uncertainty import EXACT


def isotropic_error(
    data: LocalData, rules: Rules, ridges: tuple[float, ...], held_out_sets: Sequence[NDArray[np.intp]]
) -> float:
    """Mean squared error of the best isotropic linear fits, size and ridge chosen as for any final fit."""
    menu = Menu((0,), sizes_for(data.reachable), 1, (0,), ridges)
    silent = Progress(1.0, "", 0)
    errors = []
    for held_out in held_out_sets:
        part = data.subset(np.setdiff1d(np.arange(data.n), held_out))
        centers, labels = data.rows[held_out], data.labels[held_out]
        field = GradientField(part, rules, ridges)  # at step 0 nothing has been learned
        errors.append(errors_at(field, centers, labels, part.candidates(centers), menu, silent))
    share = np.concatenate([data.share[held_out] for held_out in held_out_sets])
    return pick(menu, np.concatenate(errors, axis=-1), share, data.dimension).error


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
