"""How the columns of a table become features: numbers, categories as ones and zeros, dates as days.

The command line finds it out when a model is fitted, and the model file keeps it, so that predictions turn
other tables into features in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from localegop._data.archive import require
from localegop._data.schema import Fields, Number, Optional, Sequence, Text

KINDS = ("number", "categories", "date")
MISSING = ("error", "impute", "drop")
RULES = Fields(
    {
        "missing": Text(MISSING),
        "columns": Sequence(
            Fields(
                {
                    "name": Text(),
                    "kind": Text(KINDS),
                    "categories": Optional(Sequence(Text())),
                    "fill": Optional(Number()),
                }
            )
        ),
    }
)


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"number", "categories", "date"}
        A date becomes the number of days since the beginning of 1970.
    categories : tuple of str or None
        What a column of categories may hold; each becomes a feature, 1 where it is found and else 0.
    fill : float or None
        What is taken for a missing value: a number, or the place of a category; None for nothing.
    """

    name: str
    kind: str = "number"
    categories: tuple[str, ...] | None = None
    fill: float | None = None

    @property
    def features(self) -> list[str]:
        """Names of the features that it becomes."""
        return [self.name] if self.categories is None else [f"{self.name}={one}" for one in self.categories]


@dataclass(frozen=True)
class Columns:
    """All columns of a table that are features, and what is done about missing values.

    Parameters
    ----------
    columns : tuple of Column
    missing : {"error", "impute", "drop"}
        Tables with missing values are refused, filled in, or such rows left out.

    Examples
    --------
    >>> from localegop._data.table_columns import Column, Columns
    >>> Columns((Column("area"), Column("city", "categories", ("Bern", "Rome"))), "error").features
    ['area', 'city=Bern', 'city=Rome']
    """

    columns: tuple[Column, ...]
    missing: str = "error"

    @property
    def features(self) -> list[str]:
        """Names of all features."""
        return [name for column in self.columns for name in column.features]

    @property
    def plain(self) -> bool:
        """Whether all columns are numbers and none may be missing: nothing that a model has to remember."""
        return self.missing == "error" and all(column.kind == "number" for column in self.columns)

    def encode(self) -> dict[str, Any]:
        """Return this as a model file holds it."""
        return {"missing": self.missing, "columns": [asdict(column) for column in self.columns]}

    @classmethod
    def decode(cls, encoded: Mapping[str, Any]) -> Columns:
        """Build from what :meth:`encode` gave, after :func:`check_columns`."""
        columns = [
            Column(**{**one, "categories": None if one["categories"] is None else tuple(one["categories"])})
            for one in encoded["columns"]
        ]
        return cls(tuple(columns), encoded["missing"])


def check_columns(encoded: Any, feature_names: list[str] | None) -> None:
    """Raise a ValueError unless what a file says of columns is sound and gives the model's features."""
    RULES.check("header.columns", encoded)
    for one in encoded["columns"]:
        name, named = f"column {one['name']!r}", one["kind"] == "categories"
        require(named == (one["categories"] is not None), f"{name} has kind {one['kind']!r} and categories")
        if named and one["fill"] is not None:
            places = range(len(one["categories"]))
            require(one["fill"] in places, f"{name} is filled with category {one['fill']}, which is none")
    columns = Columns.decode(encoded)
    twice = [
        name for name, times in Counter(column.name for column in columns.columns).items() if times > 1
    ]
    require(not twice, f"header.columns names {twice[:1]} twice")
    require(columns.features == feature_names, "header.columns do not give header.feature_names")
