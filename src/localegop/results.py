"""Results: what a local fit found at each query. Frozen; the leading axis of every array is the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.metric import participation_ratio, spectrum

Array = NDArray[np.float64]


class ExtrapolationWarning(UserWarning):
    """Some queries lie beyond the training rows; predictions there should not be trusted.

    Attributes
    ----------
    count, total : int
        How many of how many queries.
    row : int
        The farthest of them, counted from 0.
    remoteness : float
        How far it is; see :class:`LocalFits`.
    """

    def __init__(self, count: int, total: int, row: int, remoteness: float) -> None:
        super().__init__(count, total, row, remoteness)
        self.count, self.total, self.row, self.remoteness = count, total, row, remoteness

    def __str__(self) -> str:
        return (
            f"{self.count} of {self.total} queries lie beyond the training rows, the farthest (row "
            f"{self.row}, counted from 0) {self.remoteness:.3g} times as far as the data reach: values "
            "there go on along the slope at the nearest rows and should not be trusted; "
            "localize(X).remoteness is above 1 where this is so"
        )

    @classmethod
    def about(cls, remoteness: Array) -> ExtrapolationWarning | None:
        """Warning about queries of this remoteness (q,); None if none is beyond the data."""
        beyond = int(np.count_nonzero(remoteness > 1.0))
        if beyond == 0:
            return None
        worst = int(np.argmax(remoteness))
        return cls(beyond, len(remoteness), worst, float(remoteness[worst]))


class Status(IntEnum):
    """How a local fit came about."""

    OK = 0
    FEW_NEIGHBORS = 1
    FLAT = 2
    EXTRAPOLATED = 3

    @property
    def message(self) -> str:
        """One line for people."""
        return {
            Status.OK: "fitted as asked",
            Status.FEW_NEIGHBORS: "fewer than two points within exclusion_radius: the nearest were used",
            Status.FLAT: "no slope found: the neighborhood stayed isotropic",
            Status.EXTRAPOLATED: "beyond the data, or less certain than a single label: do not trust it",
        }[self]


@dataclass(frozen=True)
class Trace:
    """The recursion step by step; arrays are (step, query, ...)."""

    metric: Array
    agop: Array
    effective_size: Array
    loo_error: Array
    value: Array

    def __repr__(self) -> str:
        steps, queries, features = self.metric.shape[:3]
        return f"Trace(steps={steps}, queries={queries}, features={features})"


@dataclass(frozen=True)
class Neighbors:
    """Training rows that contributed to one prediction, heaviest first.

    Attributes
    ----------
    index : ndarray of shape (k,)
        Row numbers in the X given to ``fit``, counted from 0.
    weight : ndarray of shape (k,)
        Their weights, of sum one.
    """

    index: NDArray[np.int64]
    weight: Array

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        heaviest = ", ".join(f"{i}: {w:.3g}" for i, w in zip(self.index[:3], self.weight[:3], strict=True))
        return f"Neighbors(rows={len(self)}, heaviest={{{heaviest}{', ...' if len(self) > 3 else ''}}})"


@dataclass(frozen=True)
class LocalFits:
    """Local fits at q queries in D features, in the units of the data; K outputs only if y had columns.

    With ``outputs="separate"`` every output has a metric of its own, and the arrays that follow from it
    have an axis of outputs after that of queries too; :meth:`output` picks one.

    Attributes
    ----------
    query : ndarray of shape (q, D)
    value : ndarray of shape (q,) or (q, K)
        Predictions.
    gradient : ndarray of shape (q, D) or (q, K, D)
        Gradients of the local fits.
    metric : ndarray of shape (q, D, D)
        Metric M of the final neighborhood; weights are kernel((x - query)' M (x - query)).
    agop : ndarray of shape (q, D, D)
        Outer product of the final gradients, averaged over the surroundings of the query (some 100
        effective points in the learned metric); with the query strategy the AGOP of the chosen step.
    effective_size : ndarray of shape (q,)
        Effective number of points that contributed.
    step : ndarray of shape (q,)
        Number of steps of the recursion before the final fit.
    loo_error : ndarray of shape (q,)
        Mean squared leave-one-out error in the surroundings, averaged over outputs: in squared units of
        the labels, while ``std`` and ``noise`` are in those of the labels. Compare its root with them.
    noise : ndarray of shape (q,) or (q, K)
        Local standard deviation of the noise, and of whatever the fits cannot follow.
    variance_factor : ndarray of shape (q,)
        Sum of squared smoother coefficients: variance of the prediction per unit of noise variance.
    remoteness : ndarray of shape (q,)
        Distance to the nearest training rows, as a multiple of the largest that is usual among training
        rows: above 1 a query lies beyond the data. The fit is then made nearer to the data, which gradient,
        metric and the rest describe, and its value carried on to the query along the gradient.
    drift : ndarray of shape (q,) or (q, K)
        How far f may have moved between there and the query: its root mean square slope nearby times the
        distance. Zero within the data; a part of ``std`` and of intervals.
    status : ndarray of shape (q,) of Status codes
    feature_scale : ndarray of shape (q, D)
        Change of each feature at the query that counts as one standard deviation: that of the training
        feature; with ``initial_metric="power"``, what is one after the transform there.
    feature_names, output_names : tuple of str
    trace : Trace or None
    """

    query: Array
    value: Array
    gradient: Array
    metric: Array
    agop: Array
    effective_size: Array
    step: NDArray[np.int64]
    loo_error: Array
    noise: Array
    variance_factor: Array
    remoteness: Array
    drift: Array
    status: NDArray[np.int64]
    feature_scale: Array
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...]
    trace: Trace | None = None
    _neighbors_at: Callable[[Array], Neighbors] | None = field(default=None, repr=False, compare=False)
    _parts: tuple[LocalFits, ...] = field(default=(), repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        kinds, counts = np.unique(self.status, return_counts=True)
        statuses = ", ".join(f"{Status(k).name} {c}" for k, c in zip(kinds, counts, strict=True))
        features, outputs = len(self.feature_names), ", ".join(self.output_names)
        traced = "" if self.trace is None else f", {self.trace!r}"
        return (
            f"LocalFits(queries={len(self)}, features={features}, outputs={outputs}{traced})\n  {statuses}"
        )

    @property
    def std(self) -> Array:
        """Standard error of the predictions, shaped as they are."""
        factor = self.variance_factor
        error: Array = self.noise * np.sqrt(factor if factor.ndim == self.noise.ndim else factor[:, None])
        beyond: Array = np.where(self.drift > 0.0, np.hypot(error, self.drift), error)
        return beyond

    @property
    def covariance(self) -> Array:
        """Covariance M^-1 of the localization, (q, D, D); directions of no weight are infinite there."""
        values, vectors = np.linalg.eigh(self.metric)
        floor = np.finfo(float).tiny
        inverse = np.where(values > floor, 1.0 / np.maximum(values, floor), np.inf)
        if np.isinf(inverse).any():
            inverse = np.minimum(inverse, 1e300)  # inf * 0 would be NaN
        product: Array = (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return product

    @property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues (q, D), falling, and eigenvectors (q, D, D), as columns, of the AGOP."""
        return spectrum(self.agop)

    @property
    def intrinsic_dimension(self) -> Array:
        """Effective number of directions in which f varies nearby; NaN where it has no slope.

        It is the participation ratio of the AGOP in units of the features' standard deviations.
        """
        scale = self.feature_scale
        agop = self.agop * scale[..., None, :] * scale[..., None]
        ratio = np.full(agop.shape[:-2], np.nan)
        sloped = np.trace(agop, axis1=-2, axis2=-1) > 0.0
        ratio[sloped] = participation_ratio(agop[sloped])
        return ratio

    @property
    def sensitivity(self) -> Array:
        """Root mean square slope nearby, (q, D), in label units per standard deviation of a feature."""
        diagonal = np.diagonal(self.agop, axis1=-2, axis2=-1)
        slope: Array = np.sqrt(np.maximum(diagonal, 0.0)) * self.feature_scale
        return slope

    @property
    def importance(self) -> Array:
        """Share of each feature in the squared slope nearby, (q, D), of sum one; NaN where f is flat."""
        squares = self.sensitivity**2
        total = squares.sum(axis=-1, keepdims=True)
        share: Array = np.divide(squares, total, out=np.full_like(squares, np.nan), where=total > 0.0)
        return share

    def neighbors(self, i: int) -> Neighbors:
        """Training rows that contributed to query i, with their weights."""
        if self._parts:
            raise ValueError(
                "every output has neighbors of its own: take them from output(k), as in "
                "fits.output(0).neighbors(i)"
            )
        if not -len(self) <= i < len(self):
            raise IndexError(f"there is no query {i}: these are {len(self)} fits, counted from 0")
        assert self._neighbors_at is not None
        return self._neighbors_at(self.query[i])

    def output(self, k: int) -> LocalFits:
        """Fits of output k alone, as if y had been a vector; the metric may still be a shared one."""
        count = len(self.output_names)
        if not 0 <= k < count:
            raise IndexError(f"there is no output {k}: these fits have {count}, counted from 0")
        if self._parts:
            return self._parts[k]
        if self.value.ndim == 1:
            return self
        trace = None if self.trace is None else replace(self.trace, value=self.trace.value[..., k])
        return replace(
            self,
            value=self.value[:, k],
            gradient=self.gradient[:, k],
            noise=self.noise[:, k],
            drift=self.drift[:, k],
            output_names=self.output_names[k : k + 1],
            trace=trace,
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per query.

        Columns: value, std, noise, gradient_<feature> (each with _<output> before the feature where there
        are several outputs), effective_size, step, loo_error, intrinsic_dimension, remoteness,
        status and importance_<feature>.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install 'localegop[table]'") from error
        columns: dict[str, Any] = {}
        several = self.value.ndim > 1
        for k, name in enumerate(self.output_names):
            one, suffix = self.output(k), f"_{name}" if several else ""
            columns |= {f"value{suffix}": one.value, f"std{suffix}": one.std, f"noise{suffix}": one.noise}
            for j, feature in enumerate(self.feature_names):
                columns[f"gradient{suffix}_{feature}"] = one.gradient[:, j]
            if self._parts:
                columns |= one._shared_columns(suffix)
        return pd.DataFrame(columns if self._parts else columns | self._shared_columns(""))

    def _shared_columns(self, suffix: str) -> dict[str, Any]:
        """Columns that follow from the metric."""
        importance = self.importance
        return {
            f"effective_size{suffix}": self.effective_size,
            f"step{suffix}": self.step,
            f"loo_error{suffix}": self.loo_error,
            f"intrinsic_dimension{suffix}": self.intrinsic_dimension,
            f"remoteness{suffix}": self.remoteness,
            f"status{suffix}": [Status(code).name.lower() for code in self.status],
            **{f"importance{suffix}_{name}": importance[:, j] for j, name in enumerate(self.feature_names)},
        }


PER_QUERY = tuple(
    entry.name
    for entry in fields(LocalFits)
    if entry.name not in ("feature_names", "output_names", "trace") and not entry.name.startswith("_")
)


def join_fits(parts: Sequence[LocalFits]) -> LocalFits:
    """Fits of several batches of queries, one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in PER_QUERY
    }
    traces = [part.trace for part in parts if part.trace is not None]
    trace = None
    if traces:
        names = [entry.name for entry in fields(Trace)]
        trace = Trace(*(np.concatenate([getattr(one, name) for one in traces], axis=1) for name in names))
    return replace(parts[0], **columns, trace=trace)


def reorder_fits(fits: LocalFits, order: NDArray[np.intp]) -> LocalFits:
    """Fits at the same queries in another order."""
    columns: dict[str, Any] = {name: getattr(fits, name)[order] for name in PER_QUERY}
    trace = fits.trace
    if trace is not None:
        trace = Trace(*(getattr(trace, entry.name)[:, order] for entry in fields(Trace)))
    return replace(fits, **columns, trace=trace)


def stack_outputs(parts: Sequence[LocalFits]) -> LocalFits:
    """Fits of several single outputs at the same queries, with an axis of outputs after the queries."""
    names = [name for name in PER_QUERY if name != "query"]
    columns: dict[str, Any] = {
        name: np.stack([getattr(part, name) for part in parts], axis=1) for name in names
    }
    outputs = tuple(part.output_names[0] for part in parts)
    return replace(
        parts[0], **columns, output_names=outputs, trace=None, _neighbors_at=None, _parts=tuple(parts)
    )
