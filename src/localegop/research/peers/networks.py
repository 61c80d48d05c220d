"""The paper's two-layer networks: tuned small ones, an overparameterized one and a multi-index one.

Each comes with both starts of the output layer: variance 1/sqrt(m), as the paper prints, and 1/m.

Networks of one width that differ in learning rate and weight decay only are trained as one stack, which
takes little more time than one network alone. Needs torch (the extra ``paper``), imported when used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from localegop._arguments import check_choice
from localegop.research.peers.kernel_methods import query_rows, training_rows
from localegop.research.peers.optional import torch_threads

Array = NDArray[np.float64]
_VALIDATION_SHARE = 0.2
_OUTPUT_POWERS = {"1/sqrt(m)": -0.25, "1/m": -0.5}  # of m, for the standard deviation
_BETAS, _EPSILON = (0.9, 0.999), 1e-8  # Adam's defaults


@dataclass(frozen=True)
class Family:
    """A family of two-layer networks and the grid in which its best member is looked for.

    Parameters
    ----------
    label : str
        For legends.
    activation : {"relu", "gelu"}
    widths, learning_rates, weight_decays, batch_sizes : tuple
        The grid.
    patience : int
        Epochs without progress on the validation rows after which training ends.
    rank : int or None
        A linear map to this many dimensions comes first; None is no such map.
    output_variance : {"1/sqrt(m)", "1/m"}
        Of the first parameters of the output layer, for m units. The paper prints the former; with it the
        outputs of a wide network start far from zero.
    """

    label: str
    activation: str
    widths: tuple[int, ...]
    learning_rates: tuple[float, ...] = (1e-3, 3e-3)
    weight_decays: tuple[float, ...] = (0.0, 1e-5, 1e-4)
    batch_sizes: tuple[int, ...] = (16, 32, 64)
    patience: int = 200
    rank: int | None = None
    output_variance: str = "1/sqrt(m)"

    def __post_init__(self) -> None:
        check_choice("output_variance", self.output_variance, _OUTPUT_POWERS)

    @property
    def n_members(self) -> int:
        """Size of the grid."""
        grid = (self.widths, self.learning_rates, self.weight_decays, self.batch_sizes)
        return int(np.prod([len(values) for values in grid]))

    def restrict(self, **grid: Any) -> Family:
        """Return the family with a smaller grid; lists, as JSON has them, become tuples."""
        changes: dict[str, Any] = {
            key: tuple(values) if isinstance(values, list) else values for key, values in grid.items()
        }
        return replace(self, **changes)


_WIDTHS = (128, 256, 512, 1024, 2048, 4096, 8192)

# With the grids of the paper, which gives none for the multi-index network: that of the small ones. Each
# family also with the other start of the output layer, which is the usual one.
_PRINTED = {
    "relu": Family("small tuned ReLU", "relu", _WIDTHS),
    "gelu": Family("small tuned GELU", "gelu", _WIDTHS),
    "wide": Family("overparameterized ReLU", "relu", (100_000,), (3e-3,), (1e-4,), (64,), patience=300),
    "multi_index": Family("multi-index, rank 3", "gelu", (256,), rank=3),
}
SMALL_START = "_small_start"
FAMILIES = _PRINTED | {
    f"{name}{SMALL_START}": replace(family, label=f"{family.label}, output 1/m", output_variance="1/m")
    for name, family in _PRINTED.items()
}


@dataclass(frozen=True)
class Member:
    """One network of a grid and how it did.

    Parameters
    ----------
    width, batch_size, learning_rate, weight_decay : int, int, float, float
    validation_error : float
        Smallest mean squared error at the validation rows, as a fraction of the label variance.
    epochs : int
        After which it was reached.
    patience_acted : bool
        Whether training ended for want of progress, and not at the largest number of epochs.
    """

    width: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    validation_error: float
    epochs: int
    patience_acted: bool


class TunedNetwork(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The best two-layer network of a family, by its error at validation rows.

    Features and labels are standardized. A fifth of the rows is held out for early stopping and for the
    choice within the grid; every network keeps the parameters of its best epoch.

    Parameters
    ----------
    family : Family
        Networks to choose from, see `FAMILIES`.
    max_epochs : int, default=2000
        Epochs after which training ends in any case; the paper names no limit.
    tolerance : float, default=1e-4
        Progress is a validation error that is lower by this fraction. (The paper does not say whether the
        tolerance is one; a fraction stops later than an absolute one once the error is below 1.)
    random_state : int, default=0
        Seed of split, first parameters and batches.
    threads : int, default=1
        Of PyTorch. More than one seldom pays for networks this small.

    Attributes
    ----------
    members_ : list of Member
        All networks, in the order of `predict_all`.
    best_ : int
        Number of the chosen one.
    """

    def __init__(
        self,
        family: Family = FAMILIES["relu"],
        *,
        max_epochs: int = 2000,
        tolerance: float = 1e-4,
        random_state: int = 0,
        threads: int = 1,
    ) -> None:
        self.family = family
        self.max_epochs = max_epochs
        self.tolerance = tolerance
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train all networks of the family on points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 5)
        self._x_scaler = StandardScaler().fit(points)
        self._y_mean, self._y_scale = float(labels.mean()), float(labels.std()) or 1.0
        scaled = self._x_scaler.transform(points), (labels - self._y_mean) / self._y_scale
        split = train_test_split(*scaled, test_size=_VALIDATION_SHARE, random_state=self.random_state)
        self.members_: list[Member] = []
        self._stacks: list[_Stack] = []
        with torch_threads(self.threads) as torch:
            data = _Data(*(torch.tensor(np.asarray(part), dtype=torch.float32) for part in split))
            for width, batch_size in product(self.family.widths, self.family.batch_sizes):
                pairs = list(product(self.family.learning_rates, self.family.weight_decays))
                stack = _Stack(torch, self.family, width, points.shape[1], len(pairs), self.random_state)
                course = _train(torch, stack, data, batch_size, pairs, self)
                self._stacks.append(stack)
                self.members_ += [
                    Member(width, batch_size, *pair, error, epochs, acted)
                    for pair, error, epochs, acted in zip(pairs, *course, strict=True)
                ]
        self.best_ = int(np.argmin([member.validation_error for member in self.members_]))
        return self

    def predict_all(self, X: ArrayLike) -> Array:
        """Predictions of all networks at q points, shape (networks, q)."""
        check_is_fitted(self, "members_")
        scaled = self._x_scaler.transform(query_rows(self, X))
        with torch_threads(self.threads) as torch, torch.no_grad():
            points = torch.tensor(scaled, dtype=torch.float32)
            values = np.concatenate([_values(stack, points).double().numpy() for stack in self._stacks])
        predictions: Array = self._y_mean + self._y_scale * values
        return predictions

    def predict(self, X: ArrayLike) -> Array:
        """Predictions of the chosen network at q points, shape (q,)."""
        best: Array = self.predict_all(X)[self.best_]
        return best


@dataclass(frozen=True)
class _Data:
    """Tensors: training and validation points, then their labels, as train_test_split returns them."""

    X: Any
    X_validation: Any
    y: Any
    y_validation: Any


@dataclass
class _Stack:
    """K networks of one shape; their parameters are views of one (K, P) matrix, which Adam moves."""

    torch: Any = field(repr=False)
    family: Family
    width: int
    n_features: int
    size: int
    seed: int

    def __post_init__(self) -> None:
        torch = self.torch
        generator = torch.Generator().manual_seed(self.seed)
        K, m, D, rank = self.size, self.width, self.n_features, self.family.rank
        inner = D if rank is None else rank
        blocks = [
            # Kaiming for the first layer.
            torch.randn(1, inner, m, generator=generator) * (2.0 / inner) ** 0.5,
            (2.0 * torch.rand(1, 1, m, generator=generator) - 1.0) / inner**0.5,
            torch.randn(1, m, 1, generator=generator) * m ** _OUTPUT_POWERS[self.family.output_variance],
            torch.zeros(1, 1, 1),
        ]
        if rank is not None:
            blocks.append(torch.linalg.qr(torch.randn(1, D, rank, generator=generator))[0])
        self.shapes = [tuple(block.shape[1:]) for block in blocks]
        flat = torch.cat([block.reshape(1, -1) for block in blocks], dim=1)
        self.parameters = flat.repeat(K, 1).requires_grad_(True)

    def __call__(self, X: Any) -> Any:
        """Return outputs (K, q) at points (q, D)."""
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        blocks = self.parameters.split(sizes, dim=1)
        W, b, v, c, *U = (
            part.reshape(self.size, *shape) for part, shape in zip(blocks, self.shapes, strict=True)
        )
        points = X.expand(self.size, *X.shape)
        inputs = self.torch.bmm(points, U[0]) if U else points
        activation = getattr(self.torch.nn.functional, self.family.activation)
        return self.torch.baddbmm(c, activation(self.torch.baddbmm(b, inputs, W)), v)[..., 0]


def _train(
    torch: Any,
    stack: _Stack,
    data: _Data,
    batch_size: int,
    pairs: list[tuple[float, float]],
    by: TunedNetwork,
) -> tuple[list[float], list[int], list[bool]]:
    """Train a stack until all its networks stop, each at its best epoch.

    Return their errors, these epochs, and whether patience ended the training of each.
    """
    rates, decays = (torch.tensor(column)[:, None] for column in zip(*pairs, strict=True))
    adam = _adam(torch, stack.parameters, rates, decays)
    shuffle = torch.Generator().manual_seed(by.random_state + 1)
    best = torch.full((stack.size,), float("inf"))
    reached = torch.zeros(stack.size, dtype=torch.int64)
    mark, marked = best.clone(), reached.clone()  # last error that counted as progress, and its epoch
    kept = stack.parameters.detach().clone()
    for epoch in range(1, by.max_epochs + 1):
        for batch in torch.randperm(len(data.X), generator=shuffle).split(batch_size):
            loss = ((stack(data.X[batch]) - data.y[batch]) ** 2).mean(dim=1).sum()
            adam.send(torch.autograd.grad(loss, stack.parameters)[0])
        with torch.no_grad():
            errors = ((_values(stack, data.X_validation) - data.y_validation) ** 2).mean(dim=1)
        alive = epoch - marked <= stack.family.patience
        better = alive & (errors < best)
        best[better], reached[better], kept[better] = (
            errors[better],
            epoch,
            stack.parameters.detach()[better],
        )
        progress = alive & (errors < mark * (1.0 - by.tolerance))
        mark[progress], marked[progress] = errors[progress], epoch
        if not (epoch + 1 - marked <= stack.family.patience).any():
            break
    stack.parameters = kept
    acted = epoch + 1 - marked > stack.family.patience
    return best.tolist(), reached.tolist(), acted.tolist()


def _values(stack: _Stack, X: Any) -> Any:
    """Return outputs, block by block so that they fit into memory."""
    rows = max(1, 20_000_000 // (stack.width * stack.size))
    return stack.torch.cat([stack(some) for some in X.split(rows)], dim=1)


def _adam(torch: Any, parameters: Any, rates: Any, decays: Any) -> Any:
    """Adam with its own rate and decay for every row: send gradients, and the parameters move."""
    updates = _adam_updates(torch, parameters, rates, decays)
    next(updates)
    return updates


def _adam_updates(torch: Any, parameters: Any, rates: Any, decays: Any) -> Iterator[None]:
    first, second = torch.zeros_like(parameters), torch.zeros_like(parameters)
    powers = np.ones(2)
    while True:
        gradient = yield
        with torch.no_grad():
            gradient = gradient + decays * parameters
            first.lerp_(gradient, 1.0 - _BETAS[0])
            second.mul_(_BETAS[1]).addcmul_(gradient, gradient, value=1.0 - _BETAS[1])
            powers *= _BETAS
            size = rates / (1.0 - powers[0])
            parameters -= size * first / ((second / (1.0 - powers[1])).sqrt_() + _EPSILON)
