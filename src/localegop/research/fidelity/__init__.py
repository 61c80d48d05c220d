"""Every item of the paper: where it is implemented, tested and shown, and the verdict.

``python -m localegop.research.fidelity --output docs`` checks that all that is named exists, reads the
verdicts from the pages, and writes ``fidelity.md``.
"""
