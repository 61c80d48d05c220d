"""The theory of Local EGOP Learning, made executable.

The continuum recursion with exact gradients (`oracle_recursion`), the quantities in the
theorems, and problems with exact derivatives on which to run them.
``python -m localegop.research.theory.report`` checks every claim and writes the page that puts
claim and measured number side by side.
"""

from .bounds import (
    AlternatingMinimum,
    PoincareGap,
    alternating_minimum,
    feasible_covariances,
    poincare_gap,
    solve_log_det,
)
from .decay import DecayExponents, autocorrelation, decay_exponents, local_exponents
from .empirical import SampleComparison, compare_with_samples
from .geometry import Directions, split_directions, tube_gradient
from .outer_product import (
    ExpectedOuterProduct,
    egop,
    egop_form,
    least_squares_gradient,
    smoothed_gradient,
)
from .problems import PROBLEMS, Problem, WavySurface
from .quadrature import Rule, gauss_hermite, quasi_monte_carlo
from .rates import error_bound, oracle_rate, predicted_rate, rate_from_exponents, rate_from_rank
from .recurrences import (
    ScalarTrace,
    autonomous_recurrence,
    limit_constant,
    scalar_recurrence,
    thompson_distance,
)
from .recursion import Trace, oracle_recursion

__all__ = [
    "PROBLEMS",
    "AlternatingMinimum",
    "DecayExponents",
    "Directions",
    "ExpectedOuterProduct",
    "PoincareGap",
    "Problem",
    "Rule",
    "SampleComparison",
    "ScalarTrace",
    "Trace",
    "WavySurface",
    "alternating_minimum",
    "autocorrelation",
    "autonomous_recurrence",
    "compare_with_samples",
    "decay_exponents",
    "egop",
    "egop_form",
    "error_bound",
    "feasible_covariances",
    "gauss_hermite",
    "least_squares_gradient",
    "limit_constant",
    "local_exponents",
    "oracle_rate",
    "oracle_recursion",
    "poincare_gap",
    "predicted_rate",
    "quasi_monte_carlo",
    "rate_from_exponents",
    "rate_from_rank",
    "scalar_recurrence",
    "smoothed_gradient",
    "solve_log_det",
    "split_directions",
    "thompson_distance",
    "tube_gradient",
]
