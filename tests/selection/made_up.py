"""Held-out points whose errors are made up, to see how choices are compared."""

import numpy as np

from localegop._engine.choice import Choice
from localegop._engine.final_fits import Polynomial


def choices(count):
    """Different choices, numbered by their steps."""
    return [Choice(k, 30.0, Polynomial(1, 0, 0.01)) for k in range(count)]


class MadeUpHoldout:
    """Errors (point, choice) as given, for choices numbered by their steps; notes what is asked for."""

    def __init__(self, errors, variances=None, weight=None, noise=None):
        self.table = np.asarray(errors, dtype=float)
        self.count = self.first_count = len(self.table)
        self.factors = np.zeros(self.table.shape[1]) if variances is None else np.asarray(variances)
        self.weight = np.ones(self.count) if weight is None else np.asarray(weight, dtype=float)
        self.asked, self.noise = [], noise

    def errors(self, some, start, stop):
        self.asked.append((start, min(stop, self.count), len(some)))
        return self.table[start:stop][:, [one.step for one in some]], self.weight[start:stop]

    def variances(self, some, stop):
        return self.factors[[one.step for one in some]]
