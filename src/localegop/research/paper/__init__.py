"""The paper's figures and tables, one small module each; ``localegop paper`` runs them.

:mod:`localegop.research.paper.experiment` says what such a module holds and how to add one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localegop.research.paper.experiment import Experiment

# Name -> what it shows, in the order of the report. The modules are imported when used: some are heavy.
EXPERIMENTS = {
    "mandrill": "localizations on a gray image",
    "noisy_manifold": "a function around a closed curve, constant along normals",
    "annulus": "localizations by step, against the embedding of a transformer",
    "diffusion_map": "rings of equal diffusion distance on the annulus",
    "momentum": "eigenvalues of the localization with and without momentum",
    "networks": "learning curves on the helix against networks and other methods",
    "dimensions": "learning curves in several ambient dimensions",
    "malonaldehyde": "errors for torsions of a molecule, and pictures of the data",
    "sphere": "eigenvalues of the localization around the sphere",
}


def load_experiment(name: str) -> Experiment:
    """Import the experiment of this name.

    Examples
    --------
    >>> from localegop.research.paper import load_experiment
    >>> sorted(load_experiment("momentum").PARAMETERS)
    ['default', 'full', 'quick', 'tiny']
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment is called {name!r}; there are {', '.join(EXPERIMENTS)}")
    module: Any = import_module(f"localegop.research.paper.{name}")
    experiment: Experiment = module
    return experiment
