"""The theory page: what is written is what was measured, and the stored page is not out of date."""

import subprocess
import sys
from pathlib import Path

import pytest

from localegop.research.theory import figures, report
from localegop.research.theory.claims import SECTIONS, Claim

PAGE = Path(__file__).parents[3] / "docs" / "theory.md"
# Claims that do not hold as stated, by how they begin; each has a test of its own.
FAILED = (
    "Random 2-manifold in R^8: on all of Null-perp",
    "Sphere: the normal decays lightly",
    "Sphere: mixed entry of the Hessian",
    "Remainder in the normal directions",
    "Number of steps for n samples",
    "Concentration of the denominator as printed",
    "Covariance of μ_{k,M} is proportional",
    "Mixed block of the remainder",
    "Expansion with the mean Hessian over Null",
    "Variance on Null fixed at every step",
    "Rate of gradients that both propositions assume",
)

GOOD = Claim("A claim", "x = 1", "1.00", True)
BAD = Claim("Another | claim", "|y| = 2", "3.00", False, "because")


def test_table_puts_claim_and_number_side_by_side():
    text = report.table([GOOD, BAD])
    assert "| A claim | x = 1 | 1.00 | holds |" in text
    assert r"| Another \| claim | \|y\| = 2 | 3.00 | **does not hold as stated** (1) |" in text
    assert "1. *Another | claim*: because" in text


def test_page_lists_what_fails_first():
    text = report.page({"Title": [GOOD, BAD]}, "rates")
    assert "Of 2 claims 1 hold." in text and "- Another | claim: 3.00." in text
    assert text.index("Of 2 claims") < text.index("## Title") < text.index("rates")


def test_rates_are_included_once_they_exist(tmp_path):
    file = tmp_path / "rates.csv"
    assert "Not run yet" in report.rates_section(file)
    header = "experiment,estimator,rate,low,high,paper,rank,isotropic,replicates\n"
    file.write_text(header + "sphere,mine,0.5123,0.4,0.6,0.5,0.571,0.571,10\n")
    text = report.rates_section(file)
    assert "| sphere | mine | 0.51 (0.40 to 0.60) | 0.50 | 0.57 | 0.57 |" in text
    assert "Not run yet: helix 3, helix 4" in text and "sphere," not in text


@pytest.mark.slow
def test_all_claims_and_the_stored_page():
    sections = report.compute()
    assert list(sections) == list(SECTIONS)
    claims = [claim for rows in sections.values() for claim in rows]
    for claim in claims:
        assert claim.holds != claim.claim.startswith(FAILED), claim
    assert all(claim.note for claim in claims if not claim.holds)
    if not PAGE.exists():
        pytest.skip("the page is not part of an installed package")
    text = PAGE.read_text(encoding="utf-8")
    for claim in claims:
        row = " | ".join(cell.replace("|", "\\|") for cell in (claim.claim, claim.formula))
        stored = [line for line in text.splitlines() if line.startswith(f"| {row} |")]
        assert len(stored) == 1, claim.claim
        assert claim.verdict in stored[0], claim.claim
    for name in figures.FIGURES:
        assert (PAGE.parent / "figures" / f"{name}.png").exists()


def test_drawing_is_left_to_the_report():
    code = "import sys, localegop.research.theory.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_figures_draw(tmp_path):
    pytest.importorskip("matplotlib")
    figure = figures.draw_poincare()
    figure.savefig(tmp_path / "poincare.png")
    assert figure.axes[0].get_xlabel() and figure.axes[0].get_ylabel()
    figures._pyplot().close(figure)
