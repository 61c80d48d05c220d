"""Fit and predict on a Dask cluster; needs the extra ``dask``."""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("localegop.distributed needs Dask: pip install 'localegop[dask]'") from error

from localegop.distributed.classifier import DaskLocalEGOPClassifier
from localegop.distributed.estimator import DaskLocalEGOPRegressor
from localegop.distributed.planning import Plan, plan

__all__ = ["DaskLocalEGOPClassifier", "DaskLocalEGOPRegressor", "Plan", "plan"]
