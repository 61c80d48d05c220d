"""The methods of `localegop.research.peers` that the paper's experiments are rerun with."""

from __future__ import annotations

from localegop.research.peers import METHODS, OURS

_NAMES = ("nadaraya_watson", "local_linear", "kernel_ridge", "kernel_ridge_laplace", "boosting", "xrfm")

PEERS = {name: METHODS[name] for name in _NAMES}
LABELS = {name: method.label for name, method in (OURS | PEERS).items()}
