"""Adaptive local regression by local expected gradient outer products."""

from importlib.metadata import version

from localegop.regressor import LocalEGOPRegressor

__all__ = ["LocalEGOPRegressor"]
__version__ = version("localegop")
