"""Adaptive local regression by local expected gradient outer products."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localegop.regressor import LocalEGOPRegressor

__all__ = ["LocalEGOPRegressor"]
__version__ = version("localegop")


def __getattr__(name: str) -> Any:
    """Import the estimator, and scikit-learn with it, only when it is asked for."""
    if name == "LocalEGOPRegressor":
        return import_module("localegop.regressor").LocalEGOPRegressor
    raise AttributeError(f"module 'localegop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
