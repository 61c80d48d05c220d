"""Other regression methods, each tuned the way its users would, to compare field Local EGOP with.

`METHODS` names them, ours first;
`make_method` makes a fresh estimator with
``fit`` and ``predict``.
"""

from localegop.research.peers.registry import METHODS, OURS, PEERS, Method, make_method

__all__ = ["METHODS", "OURS", "PEERS", "Method", "make_method"]
