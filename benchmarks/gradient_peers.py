"""Other methods that learn from gradients, or could do without: how they are tuned, and what they need.

Each is imported when it is used. Settings are those with the smallest error in cross-validation on training
rows, among a few that their authors show or advise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

N_FOLDS = 3
GEKPLS_GRID = tuple({"n_comp": h, "extra_points": more} for h, more in product((2, 3), (1, 3)))
KPLS_GRID = tuple({"n_comp": h} for h in (1, 2, 3))
JENN_GRID = tuple({"width": width, "lambd": penalty} for width, penalty in product((12, 24), (0.0, 0.1)))
JENN_STEPS = 2000
MOST_EQUATIONS = 2500  # of a process by GPyTorch, which takes minutes for as many
GPYTORCH_STEPS, GPYTORCH_RATE = 100, 0.1


@dataclass(frozen=True)
class Peer:
    """A method: ``fit(X, y, gradients)`` returns predictions as a function of queries."""

    fit: Callable[..., Any]
    modules: tuple[str, ...]
    most_equations: float = np.inf


def tuned(fit, grid, X, y, gradients):
    """Fit with the settings of a grid that have the smallest error in cross-validation."""
    parts = np.arange(len(y)) % N_FOLDS  # rows are in random order

    def error(settings):
        found = 0.0
        for part in range(N_FOLDS):
            own, rest = parts == part, parts != part
            predict = fit(X[rest], y[rest], gradients[rest], **settings)
            found += float(np.mean((predict(X[own]) - y[own]) ** 2))
        return found

    return fit(X, y, gradients, **min(grid, key=error))


def _kpls(X, y, gradients, **settings):
    """SMT's kriging with partial least squares, which knows no gradients."""
    from smt.surrogate_models import KPLS

    return _trained(KPLS(print_global=False, **settings), X, y)


def _gekpls(X, y, gradients, **settings):
    """SMT's kriging with partial least squares and gradients, by extra points along the components."""
    from smt.surrogate_models import GEKPLS

    limits = np.column_stack([X.min(axis=0), X.max(axis=0)])
    model = GEKPLS(xlimits=limits, delta_x=1e-4, print_global=False, **settings)
    for a in range(X.shape[1]):
        model.set_training_derivatives(X, gradients[:, [a]], a)
    return _trained(model, X, y)


def _trained(model, X, y):
    model.set_training_values(X, y)
    model.train()
    return lambda queries: model.predict_values(queries)[:, 0]


def _jenn(X, y, gradients, *, width, lambd):
    """Train a Jacobian-enhanced neural network of two layers."""
    from jenn import NeuralNet

    net = NeuralNet([X.shape[1], width, width, 1])
    net.fit(
        X.T,
        y[None],
        gradients.T[None],
        is_normalize=True,
        lambd=lambd,
        max_iter=JENN_STEPS,
        random_state=0,
    )
    return lambda queries: net.predict(queries.T)[0]


def _xrfm(X, y, gradients):
    """Fit recursive feature machines, tuned on held-out rows, which know no gradients."""
    from localegop.research.peers.recursive_features import TunedRecursiveFeatureMachine

    return TunedRecursiveFeatureMachine().fit(X, y).predict


def _gpytorch(X, y, gradients):
    """A Gaussian process with all slopes and one length a feature, by maximum likelihood."""
    import gpytorch
    import torch

    torch.manual_seed(0)
    low, width = X.mean(axis=0), X.std(axis=0)
    mean, scale = y.mean(), y.std()
    rows = torch.tensor((X - low) / width)
    known = torch.tensor(np.column_stack([(y - mean) / scale, gradients * width / scale]))
    tasks = known.shape[1]

    class Process(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(rows, known, likelihood)
            self.mean_module = gpytorch.means.ConstantMeanGrad()
            kernel = gpytorch.kernels.RBFKernelGrad(ard_num_dims=X.shape[1])
            self.covar_module = gpytorch.kernels.ScaleKernel(kernel)

        def forward(self, some):
            covariance = self.covar_module(some)
            return gpytorch.distributions.MultitaskMultivariateNormal(self.mean_module(some), covariance)

    likelihood = gpytorch.likelihoods.MultitaskGaussianLikelihood(
        num_tasks=tasks, noise_constraint=gpytorch.constraints.GreaterThan(1e-8)
    )
    model = Process(likelihood).double()
    likelihood.double()
    model.covar_module.base_kernel.lengthscale = float(np.sqrt(X.shape[1]))
    with gpytorch.settings.fast_computations(False, False, False):
        _maximize_likelihood(model, likelihood, rows, known)
        model.eval(), likelihood.eval()
        model(rows[:1])  # solves for the rows once

    def predict(queries):
        with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
            blocks = np.array_split((queries - low) / width, max(len(queries) // 100, 1))
            found = [model(torch.tensor(block)).mean[:, 0].numpy() for block in blocks]
        return mean + scale * np.concatenate(found)

    return predict


def _maximize_likelihood(model, likelihood, rows, known):
    """Take some steps of Adam."""
    import gpytorch
    import torch

    model.train(), likelihood.train()
    loss = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    steps = torch.optim.Adam(model.parameters(), lr=GPYTORCH_RATE)
    for _ in range(GPYTORCH_STEPS):
        steps.zero_grad()
        value = -loss(model(rows), known)
        value.backward()
        steps.step()


def _with_grid(fit, grid):
    return lambda X, y, gradients: tuned(fit, grid, X, y, gradients)


PEERS = {
    "SMT KPLS": Peer(_with_grid(_kpls, KPLS_GRID), ("smt",)),
    "SMT GEKPLS": Peer(_with_grid(_gekpls, GEKPLS_GRID), ("smt",)),
    "JENN": Peer(_with_grid(_jenn, JENN_GRID), ("jenn",)),
    "GPyTorch": Peer(_gpytorch, ("torch", "gpytorch"), MOST_EQUATIONS),
    "xRFM": Peer(_xrfm, ("torch", "xrfm")),
}


def installed_peers(equations):
    """Name those that are installed and can solve so many equations; a line says which are left out."""
    found = []
    for name, peer in PEERS.items():
        lacking = [module for module in peer.modules if find_spec(module) is None]
        if lacking:
            print(f"{name} is left out: {' and '.join(lacking)} not installed")
        elif equations > peer.most_equations:
            print(f"{name} is left out: {equations:,} equations are more than {peer.most_equations:,}")
        else:
            found.append(name)
    return found
