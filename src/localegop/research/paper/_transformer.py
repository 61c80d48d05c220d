"""An FT-Transformer and the localizations that its embedding makes while it learns.

Needs torch and rtdl_revisiting_models (the extra ``paper``), imported when used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._arguments import check_count
from localegop.research.peers.optional import require, torch_threads

Array = NDArray[np.float64]
_ROWS_AT_ONCE = 8192


def embedding_weights(
    X: ArrayLike,
    y: ArrayLike,
    x_star: ArrayLike,
    *,
    epochs: int = 40,
    batch_size: int = 1024,
    learning_rate: float = 2e-3,
    every: int = 50,
    seed: int = 0,
    n_blocks: int = 3,
    threads: int = 1,
) -> dict[str, Any]:
    """Train an FT-Transformer and measure how close the rows of X are to a point in its embedding.

    The embedding z of a row is what the last linear layer sees. Features and labels are standardized, the
    optimizer is AdamW with the library's own groups of parameters: its default recipe, but for the learning
    rate.

    Parameters
    ----------
    X, y : array-like of shapes (n, D) and (n,)
        Data to train with.
    x_star : array-like of shape (D,)
        Point at which to localize.
    epochs, batch_size, learning_rate : int, int, float
        Of the training; the defaults are the paper's.
    every : int, default=50
        Optimizer steps between two looks at the embedding.
    seed : int, default=0
        Of the first parameters, the batches and the dropout.
    n_blocks : int, default=3
        Depth of the transformer, which has the library's default width for it.
    threads : int, default=1
        Of PyTorch.

    Returns
    -------
    dict
        ``step``, list of the s optimizer steps, the first 0; ``weights`` (s, n), rows of weights
        proportional to exp(-|z_i - z*|^2 / 8) that sum to 1; ``loss``, list of the mean squared errors of
        the standardized labels in training since the look before (NaN at step 0).

    Examples
    --------
    >>> from localegop.datasets import make_annulus
    >>> from localegop.research.paper._transformer import embedding_weights
    >>> X, y = make_annulus(64, random_state=0)
    >>> small = {"epochs": 1, "batch_size": 32, "every": 1, "n_blocks": 1}
    >>> found = embedding_weights(X, y, [1, 0], **small)  # doctest: +SKIP
    >>> found["step"], found["weights"].shape  # doctest: +SKIP
    ([0, 1, 2], (3, 64))
    """
    points, labels, star = np.asarray(X, float), np.asarray(y, float), np.asarray(x_star, float)
    if points.ndim != 2 or labels.shape != (len(points),) or star.shape != (points.shape[1],):
        raise ValueError(
            f"X must be of shape (n, D), y of (n,) and x_star of (D,), got {points.shape}, {labels.shape} "
            f"and {star.shape}"
        )
    for name, given in {"epochs": epochs, "batch_size": batch_size, "every": every}.items():
        check_count(name, given)
    with torch_threads(threads) as torch, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        center, scale = points.mean(axis=0), points.std(axis=0)
        rows = torch.tensor(np.vstack([points, star[None]]) - center, dtype=torch.float32)
        rows /= torch.tensor(np.where(scale > 0, scale, 1.0), dtype=torch.float32)
        spread = float(labels.std()) or 1.0
        targets = torch.tensor((labels - labels.mean()) / spread, dtype=torch.float32)
        model = _transformer(points.shape[1], n_blocks)
        step, weights, loss = [0], [_weights(torch, model, rows)], [float("nan")]
        since: list[float] = []
        for done, value in enumerate(
            _training(torch, model, rows[:-1], targets, epochs, batch_size, learning_rate), 1
        ):
            since.append(value)
            if done % every == 0:
                step.append(done)
                weights.append(_weights(torch, model, rows))
                loss.append(float(np.mean(since)))
                since.clear()
    return {"step": step, "weights": np.array(weights), "loss": loss}


def _transformer(n_features: int, n_blocks: int) -> Any:
    library = require("rtdl_revisiting_models", "paper", "the FT-Transformer")
    settings = library.FTTransformer.get_default_kwargs(n_blocks=n_blocks)
    return library.FTTransformer(n_cont_features=n_features, cat_cardinalities=[], d_out=1, **settings)


def _training(
    torch: Any, model: Any, rows: Any, targets: Any, epochs: int, batch_size: int, learning_rate: float
) -> Iterator[float]:
    """Train, and yield the loss of every optimizer step."""
    optimizer = torch.optim.AdamW(model.make_parameter_groups(), lr=learning_rate, weight_decay=1e-5)
    for _ in range(epochs):
        for batch in torch.randperm(len(rows)).split(batch_size):
            model.train()
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(rows[batch], None)[:, 0], targets[batch])
            loss.backward()
            optimizer.step()
            yield float(loss.detach())


def _weights(torch: Any, model: Any, rows: Any) -> Array:
    """Weights of all rows but the last, which is the point they are compared with."""
    model.eval()
    seen: list[Any] = []
    hook = model.backbone.output.linear.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    try:
        with torch.no_grad():
            for some in rows.split(_ROWS_AT_ONCE):
                model(some, None)
    finally:
        hook.remove()
    embedding = torch.cat(seen).double().numpy()
    exponent = -np.sum((embedding[:-1] - embedding[-1]) ** 2, axis=1) / 8.0
    weights = np.exp(exponent - exponent.max())
    normalized: Array = weights / weights.sum()
    return normalized
