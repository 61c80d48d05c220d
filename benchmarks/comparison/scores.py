"""How good intervals are: their coverage, and the continuous ranked probability score of their bounds."""

import numpy as np

COVERAGES = np.array([0.5, 0.8, 0.9, 0.95])
EVEN = np.arange(0.02, 1.0, 0.04)  # coverages whose bounds are evenly spaced quantiles
LEVELS = np.concatenate([EVEN, COVERAGES])


def rank_score(labels, intervals):
    """Mean CRPS of intervals (q, levels, 2) for `EVEN`: twice the mean pinball loss of their bounds."""
    coverage = np.stack([-EVEN, EVEN], axis=1)
    level = (1.0 + coverage) / 2.0
    beyond = labels[:, None, None] - intervals[:, : len(EVEN)]
    return float(2.0 * np.maximum(level * beyond, (level - 1.0) * beyond).mean())


def are_inside(labels, intervals):
    """Whether labels (q,) lie in intervals (q, levels, 2)."""
    return (intervals[..., 0] <= labels[:, None]) & (labels[:, None] <= intervals[..., 1])
