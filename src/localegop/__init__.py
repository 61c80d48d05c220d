"""Adaptive local regression by local expected gradient outer products."""

from importlib.metadata import version

__version__ = version("localegop")
