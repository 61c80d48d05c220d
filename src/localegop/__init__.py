"""Adaptive local regression by local expected gradient outer products."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localegop._engine.choice import Choice
    from localegop._explain.subspace import ActiveSubspace
    from localegop.classifier import LocalEGOPClassifier
    from localegop.regressor import LocalEGOPRegressor
    from localegop.results import (
        ExtrapolationWarning,
        FeatureGroup,
        LocalFits,
        Neighbors,
        Status,
        Trace,
    )

__all__ = [
    "ActiveSubspace",
    "Choice",
    "ExtrapolationWarning",
    "FeatureGroup",
    "LocalEGOPClassifier",
    "LocalEGOPRegressor",
    "LocalFits",
    "Neighbors",
    "Status",
    "Trace",
]
__version__ = version("localegop")

# Imported when asked for: scikit-learn and the compiled core come with them.
_HOMES = {
    "ActiveSubspace": "localegop._explain.subspace",
    "Choice": "localegop._engine.choice",
    "ExtrapolationWarning": "localegop.results",
    "FeatureGroup": "localegop.results",
    "LocalEGOPClassifier": "localegop.classifier",
    "LocalEGOPRegressor": "localegop.regressor",
    "LocalFits": "localegop.results",
    "Neighbors": "localegop.results",
    "Status": "localegop.results",
    "Trace": "localegop.results",
}


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'localegop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
