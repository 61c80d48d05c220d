"""Pictures of local fits, in the style of scikit-learn's displays.

A display holds computed arrays; ``from_estimator`` and ``from_fits`` compute them once, ``plot`` draws
them, keeps what it drew as attributes with a trailing underscore, and may be called again. Needs
matplotlib, which the extra ``plot`` installs.
"""

from localegop.displays._calibration import CalibrationDisplay
from localegop.displays._image import ImageLocalizationDisplay
from localegop.displays._importance import ImportanceDisplay
from localegop.displays._localization import LocalizationDisplay
from localegop.displays._spectrum import SpectrumDisplay
from localegop.displays._subspace import ActiveSubspaceDisplay
from localegop.displays._trace import TraceDisplay

__all__ = [
    "ActiveSubspaceDisplay",
    "CalibrationDisplay",
    "ImageLocalizationDisplay",
    "ImportanceDisplay",
    "LocalizationDisplay",
    "SpectrumDisplay",
    "TraceDisplay",
]
