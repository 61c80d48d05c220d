"""PyTorch, imported when used, with its threads set for a while only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional module, or say which extra brings it.

    Examples
    --------
    >>> from localegop.research.peers.optional import require
    >>> require("math", "paper", "counting").floor(2.5)
    2
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {module}: pip install 'localegop[{extra}]'") from error


@contextmanager
def torch_threads(threads: int) -> Iterator[Any]:
    """Provide PyTorch with this many threads; the earlier number is restored at the end."""
    torch = require("torch", "paper", "a neural network")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield torch
    finally:
        torch.set_num_threads(before)
