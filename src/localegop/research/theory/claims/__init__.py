"""Claims of the paper, each measured and judged.

``SECTIONS`` lists them by topic; a section is computed when called.
"""

from collections.abc import Callable

from .anisotropy import curve_claims, flat_claims, full_rank_claims, surface_claims
from .approximation import approximation_claims
from .classes import class_claims
from .estimator import estimator_claims
from .expansions import expansion_claims
from .geometry import geometry_claims
from .momentum import momentum_claims
from .one_step import one_step_claims
from .rates import rate_claims
from .reductions import reduction_claims
from .samples import sample_claims
from .sphere import sphere_claims
from .table import Claim


def _manifold_claims() -> list[Claim]:
    return [*curve_claims(), *surface_claims(), *flat_claims()]


SECTIONS: dict[str, Callable[[], list[Claim]]] = {
    "Full-rank Hessian": full_rank_claims,
    "Noisy manifolds": _manifold_claims,
    "The sphere": sphere_claims,
    "Momentum and the reduced recurrences": momentum_claims,
    "Steps of the proofs": reduction_claims,
    "One step: bias and variance": one_step_claims,
    "The smoother: variance, error, kernels": estimator_claims,
    "Geometry and expansions": geometry_claims,
    "Blocks, rotations, smoothing": expansion_claims,
    "Estimated gradients, and operations": approximation_claims,
    "Learning rates from the recursion": rate_claims,
    "Samples against the oracle": sample_claims,
    "Classes": class_claims,
}

__all__ = ["SECTIONS", "Claim"]
