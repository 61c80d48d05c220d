"""What a model is fitted to: the numbers of a table's columns, and the rows that can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localegop.cli.columns import COUNTING, Roles, missing_rows, numbers, refuse_missing, row_list
from localegop.cli.encoding import TRAINING_HINT, encode_table
from localegop.cli.problems import Problem, counted, need, quoted
from localegop.cli.slopes import Names, read_gradients
from localegop.cli.tasks import class_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from localegop._data.table_columns import Columns


@dataclass(frozen=True)
class Training:
    """Features (n, D), targets (n, K) and weights (n,) with NaN where missing, and their names."""

    roles: Roles
    columns: Columns
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    gradients: NDArray[np.float64] | None = None  # (n, K, D)
    labels: Any = None  # of classes, whose numbers are the target

    @classmethod
    def from_table(
        cls, table: Any, roles: Roles, columns: Columns, slopes: Names, *, classes: bool = False
    ) -> Training:
        """Turn the columns into numbers, or say which are not numbers."""
        plain = [column.name for column in columns.columns if column.kind == "number"]
        numbers(table, plain, TRAINING_HINT)  # all that are wrong in one message
        X = encode_table(columns, table, TRAINING_HINT)
        labels = None
        if classes:
            labels, y = class_labels(table[roles.targets[0]])
        else:
            y = numbers(table, roles.targets, "a target must be numbers")
        gradients = read_gradients(table, slopes, roles.targets, columns)
        if roles.weight is None:
            return cls(roles, columns, X, y, None, gradients, labels)
        weight = numbers(table, [roles.weight], "weights must be numbers")[:, 0]
        if (weight < 0.0).any():
            raise Problem(
                f"weights in {roles.weight!r} are negative: {row_list(weight < 0.0)} ({COUNTING}): "
                "they must be 0 or more"
            )
        return cls(roles, columns, X, y, weight, gradients, labels)

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Rows with a missing value."""
        return missing_rows(self._values)

    @property
    def _values(self) -> NDArray[np.float64]:
        import numpy as np

        return np.column_stack([self.X, self.y, *([] if self.weight is None else [self.weight])])

    def refuse_missing(self) -> None:
        """Say where values are missing, if any are."""
        weight = [] if self.roles.weight is None else [self.roles.weight]
        hint = "fill them in, also with --missing impute, or leave these rows out with --missing drop"
        firsts = [self.columns.features.index(column.features[0]) for column in self.columns.columns]
        of_targets = range(self.X.shape[1], self._values.shape[1])
        names = [*self.roles.features, *self.roles.targets, *weight]
        refuse_missing(self._values[:, [*firsts, *of_targets]], names, hint)

    def refuse_nothing_to_learn(self) -> None:
        """Refuse tables with too few usable rows or with targets that are constant."""
        import numpy as np

        used = ~self.missing
        if self.weight is not None:
            used &= self.weight > 0.0
        count = int(used.sum())
        if count < 2:
            raise Problem(f"at least 2 rows are needed, but {count} of {len(used)} can be used")
        constant = [name for k, name in enumerate(self.roles.targets) if np.ptp(self.y[used, k]) == 0.0]
        if constant:
            raise Problem(
                f"constant target: {quoted(constant)} is the same in all {counted(count, 'row')}: "
                "there is nothing to learn"
            )

    def fit(self, model: Any) -> None:
        """Fit a model that leaves out rows with missing features or targets; missing weights become 0."""
        import numpy as np

        frames = need("pandas").DataFrame
        labels = frames(self.y if self.labels is None else self.labels, columns=self.roles.targets)
        known = {} if self.gradients is None else {"gradients": self.gradients}
        model.fit(
            frames(self.X, columns=self.columns.features),
            labels if len(self.roles.targets) > 1 else labels[self.roles.targets[0]],
            sample_weight=None if self.weight is None else np.where(self.missing, 0.0, self.weight),
            **known,
        )
        if not self.columns.plain:
            model.columns_ = self.columns
