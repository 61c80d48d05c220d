"""Tables that the tests of the command line share."""

import numpy as np
import pandas as pd

ROWS = 200
FEATURES = ["a", "b", "c"]


def make_table(rows, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(rows, 3)), columns=FEATURES)
    table["y"] = np.sin(table.a) + 0.3 * table.b + 0.1 * rng.normal(size=rows)
    table["z"] = table.a * 2.0 + 0.1 * rng.normal(size=rows)
    return table


def refusal(result):
    """The one line of a command that failed."""
    code, out, err = result
    assert (code, out) == (1, "")
    lines = err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("localegop: error: ")
    return lines[0]
