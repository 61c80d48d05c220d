"""Probabilities of classes, calibrated at held-out points."""

from __future__ import annotations

import numpy as np

from localegop._engine.choice import Choice
from localegop._engine.link import Link, best_link
from localegop._predict.classes import ClassCalibration
from localegop._selection.holdout import Holdout
from localegop._selection.losses import gives_probabilities

MOST_POINTS = 2000  # held-out points, enough for three parameters and for quantiles


def calibrate_classes(holdout: Holdout, choice: Choice) -> ClassCalibration:
    """Fit the link of a choice at held-out points, and see how certain its probabilities are there."""
    values, labels, weight = holdout.predictions(choice, max(MOST_POINTS, holdout.first_count))
    link = best_link(values, labels, weight, are_probabilities=gives_probabilities(choice))
    return ClassCalibration.from_probabilities(link, link.probabilities(values), labels, weight)


def uncalibrated_classes() -> ClassCalibration:
    """Return what is taken where there are too few points to hold any out, or nothing to choose."""
    return ClassCalibration(Link(), np.zeros(0), np.zeros(0))
