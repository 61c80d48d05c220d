"""What an experiment is: a module that computes tables part by part and draws figures from them.

An experiment is a module ``localegop/research/paper/NAME.py``, named in
:data:`localegop.research.paper.EXPERIMENTS`, with

``TITLE`` : str
    Heading in the report.
``CAPTIONS`` : dict of str to str
    Figure -> what it shows, in our own words. Figures are called NAME or NAME_something.
``PARAMETERS`` : dict of str to dict
    Sizes "tiny" (tests: seconds), "quick" (at most two minutes on two cores), "default" (at most twenty)
    and "full" (the paper's sizes) -> parameters: numbers, strings, None, and lists or dicts of them.
``parts(parameters)`` -> dict of str to float
    Independent parts and roughly how many seconds each takes (only their ratios matter, for the time
    left). A name is a file name: letters, digits and ``_ . = -``.
``compute(part, parameters, seed, threads)`` -> Table
    One part: a dict of columns of equal length, of numbers or strings. The same arguments must give the
    same table; ``threads`` changes only the time. All randomness comes from ``seed``.
``draw(tables, parameters)`` -> dict of str to Figure
    Figures from the tables of the finished parts, by part; parts, and then whole figures, may be missing.
    Draws only: what takes time belongs into ``compute``.
``findings(tables, parameters)`` -> list of Finding
    What the paper reports and what the tables say; again, parts may be missing.

and, if it likes,

``needs(part)`` -> tuple of str
    Modules of the extra ``paper`` that a part imports; where one is missing the part is refused and the
    rest still runs.
``REVISION`` : int
    Raised when ``compute`` changes, so that parts stored before count no more.
``summary(tables, parameters)`` -> Table
    A small table for the report and the terminal, of numbers ready to be read.

``compute`` raises `Refused` where the user must do something first (the command then ends with code 2) and
`Skipped` where a part does not apply (a line, no error). Both need a message of one line that says what to
do. An exception of any other kind is a bug and ends the run; finished parts are kept.

The runner (:mod:`localegop.research.paper.runner`) stores each part as soon as it is finished, skips parts
stored with the same parameters and seed, and draws from what is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from localegop._arguments import check_choice
from localegop.research.runs.workers import Refused as Refused
from localegop.research.runs.workers import Skipped as Skipped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = dict[str, NDArray[Any]]
Tables = Mapping[str, Table]
Parameters = Mapping[str, Any]
SIZES = ("tiny", "quick", "default", "full")
Verdict = Literal["yes", "in part", "no", "not compared"]
VERDICTS: tuple[Verdict, ...] = ("yes", "in part", "no", "not compared")


@dataclass(frozen=True)
class Finding:
    """One line of the report.

    Parameters
    ----------
    claim : str
        What is compared.
    paper : str
        What the paper reports.
    ours : str
        What we got; its numbers come from the tables.
    agrees : {"yes", "no", "in part", "not compared"}
        "yes" and "no" are said of the method that the paper used, Algorithm 1, or of what it proves or
        draws; numbers of field Local EGOP, or those to which the paper has none, are "not compared".
    """

    claim: str
    paper: str
    ours: str
    agrees: Verdict

    def __post_init__(self) -> None:
        check_choice("agrees", self.agrees, VERDICTS)


class Experiment(Protocol):
    """The contract above, for type checkers."""

    TITLE: str
    CAPTIONS: dict[str, str]
    PARAMETERS: dict[str, dict[str, Any]]

    def parts(self, parameters: Parameters) -> dict[str, float]:
        """Independent parts and roughly how many seconds each takes."""
        ...

    def compute(self, part: str, parameters: Parameters, seed: int, threads: int) -> Table:
        """Compute the table of one part."""
        ...

    def draw(self, tables: Tables, parameters: Parameters) -> dict[str, Figure]:
        """Draw the figures from the tables of the finished parts."""
        ...

    def findings(self, tables: Tables, parameters: Parameters) -> list[Finding]:
        """Compare with what the paper reports."""
        ...


def table_of_rows(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return the table of these rows, which must have the same keys.

    Examples
    --------
    >>> from localegop.research.paper.experiment import table_of_rows
    >>> table_of_rows([{"n": 100, "mse": 0.5}, {"n": 200, "mse": 0.3}])["mse"]
    array([0.5, 0.3])
    """
    rows = list(rows)
    if not rows:
        raise ValueError("a table needs at least one row")
    odd = next((row for row in rows if list(row) != list(rows[0])), None)
    if odd is not None:
        raise ValueError(f"rows must have the same keys, got {list(rows[0])} and {list(odd)}")
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def join_tables(tables: Iterable[Table]) -> Table:
    """Tables with the same columns, one below the other; an empty dict if there are none."""
    several: Sequence[Table] = list(tables)
    if not several:
        return {}
    return {key: np.concatenate([table[key] for table in several]) for key in several[0]}


def select_rows(table: Table, **values: Any) -> Table:
    """Rows in which these columns have these values.

    Examples
    --------
    >>> from localegop.research.paper.experiment import select_rows, table_of_rows
    >>> table = table_of_rows([{"n": 100, "mse": 0.5}, {"n": 200, "mse": 0.3}])
    >>> select_rows(table, n=200)["mse"]
    array([0.3])
    """
    if not table:
        return {}
    keep = np.ones(len(next(iter(table.values()))), dtype=bool)
    for key, value in values.items():
        keep &= table[key] == value
    return {key: column[keep] for key, column in table.items()}
