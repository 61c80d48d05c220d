"""Check every claim and write the page: ``python -m localegop.research.theory.report --output docs``.

The page, ``theory.md``, and its figures, ``figures/theory_*.png``, hold no number that was not computed in
the run, apart from the learning rates of estimators, which take hours: the table that
``python -m localegop.research.theory.learning`` wrote is included.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

from localegop.research.runs.pages import markdown_table

from .claims import SECTIONS, Claim
from .figures import FIGURES
from .learning import EXPERIMENTS

RATES_FILE = "theory_rates.csv"  # among the figures

_INTRODUCTION = """\
# Theory, checked by running it

The continuum recursion of the paper,

    Σ_{t+1} = h_{t+1} [β L(μ_t) + (1 - β) L(μ_{t-1})]⁻¹,   μ_t = N(x*, Σ_t),   L(μ) = E_μ ∇f ∇f',

runs here with exact gradients on functions whose Hessians are known, and every claim is measured. The
module is `localegop.research.theory`; this page is written by

    python -m localegop.research.theory.report --output docs

and every number on it comes from that run. A slope is that of log v'Σ_t v against log h_t over the later
half of the steps, unless said otherwise. *Null* is the null space of the Hessian H at x*, g the gradient
there, d the dimension of the manifold, D that of space. Where the paper has t for h, or tangent and normal
space swapped in its notation, h and the evident spaces are meant.
"""

_CAPTIONS = {
    "theory_decay": (
        "Noisy manifolds",
        "Variance by direction. Curves of one color are different directions of one kind. On the surface "
        "in R^8 the direction left over belongs to Null-perp, yet does not contract.",
    ),
    "theory_sphere": (
        "The sphere",
        "Local exponent (over 15 steps) of the normal variance. It stays at zero; with matrices formed in "
        "double precision it seems to rise once h falls below the rounding of L.",
    ),
    "theory_momentum": (
        "Momentum and the reduced recurrences",
        "Full rank, D = 4: without momentum the second eigenvalue oscillates forever.",
    ),
    "theory_poincare": ("One step: bias and variance", "Both sides of the Poincaré bound."),
    "theory_rates": (
        "Learning rates from the recursion",
        "Exponents of the rate by problem. Where the square and the circle differ, the cross sides with "
        "the circle.",
    ),
    "theory_samples": (
        "Samples against the oracle",
        "Eigenvalues of Σ_t of Algorithm 1 on noise-free samples (circles) and of the recursion with "
        "smoothed gradients and the same schedule (lines); colors tell the eigenvalues apart.",
    ),
}

_COLUMNS = ("claim", "formula", "measured", "verdict")


def compute() -> dict[str, list[Claim]]:
    """Measure all claims, by section."""
    return {title: section() for title, section in SECTIONS.items()}


def table(claims: Sequence[Claim]) -> str:
    """Markdown table of claims, with their notes below it."""
    rows, notes = [], list[str]()
    for claim in claims:
        cells = [claim.claim, claim.formula, claim.measured, claim.verdict]
        if claim.note:
            notes.append(f"{len(notes) + 1}. *{claim.claim}*: {claim.note}")
            cells[3] += f" ({len(notes)})"
        rows.append(cells)
    return "\n".join([*markdown_table(_COLUMNS, rows), "", *notes]).rstrip() + "\n"


def page(sections: dict[str, list[Claim]], rates: str) -> str:
    """Return the whole page."""
    every = [claim for claims in sections.values() for claim in claims]
    failed = [claim for claim in every if not claim.holds]
    parts = [
        _INTRODUCTION,
        f"Of {len(every)} claims {len(every) - len(failed)} hold. These do not, as stated:\n",
    ]
    parts.append("\n".join(f"- {claim.claim}: {claim.measured}." for claim in failed) + "\n")
    for title, claims in sections.items():
        parts.append(f"## {title}\n\n{table(claims)}")
        for name, (section, caption) in _CAPTIONS.items():
            if section == title:
                parts.append(f"![{caption}](figures/{name}.png)\n\n{caption}\n")
    return "\n".join([*parts, rates])


def rates_section(file: Path) -> str:
    """Return the section on learning rates of estimators, from the file if there is one."""
    lines = [
        "## Learning rates of estimators",
        "",
        "Slope of log MSE in log n with its 95 % confidence interval over replicates, next to the "
        "exponents predicted: the paper's, 4/(6 + rank) by the rank of the Hessian across g, and that of "
        "isotropic local linear regression. For the sphere the paper states no rate; 4/(D + 5) is what its "
        "example implies.",
        "",
        "The predictions are upper bounds on the error for large n. From 500 to 16,000 points errors of "
        "both estimators fall at least as fast, mostly faster: the first neighborhoods are wide against "
        "the bends of f, so that bias, which falls faster than variance, is a large part of the first "
        "errors; and the final fits of field Local EGOP may have quadratic terms along the leading "
        "directions, which the bounds for linear fits leave out. "
        "What the table does tell is how the two compare on "
        "the same data.",
        "",
    ]
    command = f"python -m localegop.research.theory.learning --output docs/figures/{RATES_FILE}"
    if not file.exists():
        return "\n".join([*lines, f"Not run yet: `{command}` writes the table.", ""])
    missing, rows = list(EXPERIMENTS), []
    with file.open(newline="") as stream:
        for row in csv.DictReader(stream):
            missing = [name for name in missing if name != row["experiment"]]
            number = {key: f"{float(row[key]):.2f}" for key in FIELDS_SHOWN}
            measured = f"{number['rate']} ({number['low']} to {number['high']})"
            predicted = (number[key] for key in ("paper", "rank", "isotropic"))
            rows.append((row["experiment"], row["estimator"], measured, *predicted))
    lines += markdown_table(("data", "estimator", "measured", "paper", "by rank", "isotropic"), rows)
    rest = f" Not run yet: {', '.join(missing)}." if missing else ""
    return "\n".join([*lines, "", f"Written by `{command}`.{rest}", ""])


FIELDS_SHOWN = ("rate", "low", "high", "paper", "rank", "isotropic")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check every claim of the theory; write the page and its figures if asked."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--output", type=Path, help="folder for theory.md and figures/theory_*.png")
    given = parser.parse_args(arguments)
    sections = compute()
    for title, claims in sections.items():
        print(f"\n{title}")
        for claim in claims:
            verdict = "holds" if claim.holds else "DOES NOT HOLD"
            print(f"  {verdict}: {claim.claim}\n    {claim.formula}\n    measured: {claim.measured}")
    if given.output is not None:
        figures = given.output / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        for name, draw in FIGURES.items():
            draw().savefig(figures / f"{name}.png", dpi=130)
        text = page(sections, rates_section(figures / RATES_FILE))
        (given.output / "theory.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
