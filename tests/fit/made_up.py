"""A search among trials on a helix, which tests of trials share."""

import numpy as np

from localegop import LocalEGOPRegressor
from localegop._data.rows import merge_rows
from localegop._fit.plan import _start
from localegop._fit.process import ProcessBackend
from localegop._fit.trials import Search, Trial
from localegop._selection.folds import draw_folds
from localegop.datasets import make_helix

X, Y = make_helix(240, 3, noise=0.1, random_state=0)
_, CLEAN = make_helix(240, 3, random_state=0)


def search(n=240, labels=Y, **parameters):
    backend = ProcessBackend(merge_rows(X[:n], labels[:n, None], np.ones(n)))
    settings = LocalEGOPRegressor(n_jobs=1, **parameters)._settings()
    return Search(backend, _start(backend, settings), draw_folds(n, 0))


def trial(**parameters):
    found = search(**parameters)
    return Trial(found, found.start)
