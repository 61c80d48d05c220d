"""Results: what a local fit found at each query. Frozen; the leading axis of every array is the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.metric import participation_ratio, spectrum
from localegop._html import number, table

Array = NDArray[np.float64]
MOST_SHOWN = 10  # queries or rows that a notebook shows


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

    Examples
    --------
    >>> import warnings
    >>> from localegop import ExtrapolationWarning, LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> X, y = make_helix(60, 3, random_state=0)
    >>> model = LocalEGOPRegressor(final="polynomial", degree=1).fit(X, y)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", ExtrapolationWarning)
    ...     value = model.predict(X[:2] + [[0.0], [100.0]])
    >>> caught[0].message.count, caught[0].message.row
    (1, 1)
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
    """How a local fit came about.

    Compare arrays with ``int(Status.OK)``, not with a member: up to Python 3.11 NumPy then calls Python
    code of the enumeration and drops whatever that raises, a Ctrl-C in the middle of it too.

    Examples
    --------
    >>> from localegop import Status
    >>> Status(2).name, Status.FLAT.message
    ('FLAT', 'no slope found: the neighborhood stayed isotropic')
    """

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
    """The recursion step by step; arrays are (step, query, ...).

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> X, y = make_helix(60, 3, random_state=0)
    >>> model = LocalEGOPRegressor(final="polynomial", degree=1).fit(X, y)
    >>> trace = model.localize(X[:2], trace=True, errors=False).trace
    >>> trace.metric.shape == (len(trace.value), 2, 3, 3)
    True
    """

    metric: Array
    agop: Array
    effective_size: Array
    loo_error: Array
    value: Array

    def __repr__(self) -> str:
        steps, queries, features = self.metric.shape[:3]
        return f"Trace(steps={steps}, queries={queries}, features={features})"

    def _repr_html_(self) -> str:
        means = self.effective_size.mean(axis=1), np.sqrt(self.loo_error.mean(axis=1))
        rows = [[str(t), *(number(mean[t]) for mean in means)] for t in range(len(self.metric))]
        return table(repr(self), ["step", "mean effective size", "root mean square error nearby"], rows)


@dataclass(frozen=True)
class Neighbors:
    """Training rows that contributed to one prediction, heaviest first.

    Attributes
    ----------
    index : ndarray of shape (k,)
        Row numbers in the X given to ``fit``, counted from 0.
    weight : ndarray of shape (k,)
        Their weights, of sum one.

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> X, y = make_helix(60, 3, random_state=0)
    >>> model = LocalEGOPRegressor(final="polynomial", degree=1).fit(X, y)
    >>> neighbors = model.localize(X[:1], errors=False).neighbors(0)
    >>> int(neighbors.index[0]), bool(abs(neighbors.weight.sum() - 1.0) < 1e-12)
    (0, True)
    """

    index: NDArray[np.int64]
    weight: Array

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        heaviest = ", ".join(f"{i}: {w:.3g}" for i, w in zip(self.index[:3], self.weight[:3], strict=True))
        return f"Neighbors(rows={len(self)}, heaviest={{{heaviest}{', ...' if len(self) > 3 else ''}}})"

    def _repr_html_(self) -> str:
        shown = min(len(self), MOST_SHOWN)
        held = f"{shown} of {len(self)} training rows, {self.weight[:shown].sum():.0%} of the weight"
        rows = [[str(self.index[k]), number(self.weight[k])] for k in range(shown)]
        return table(f"Neighbors: {held}", ["row", "weight"], rows)


@dataclass(frozen=True)
class FeatureGroup:
    """Features that move together, which can take over each other's importance, or a single one.

    Attributes
    ----------
    features : tuple of str
    importance : float
        Share of the group in the squared changes of f, when its features move as they do together.
    importance_std : float
        Its standard error; NaN if it is not known.

    Examples
    --------
    Two columns that move together share what they have:

    >>> import numpy as np
    >>> from localegop import LocalEGOPRegressor
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 60))
    >>> X = np.column_stack([a, a + 0.01 * rng.normal(size=60), b])
    >>> model = LocalEGOPRegressor(final="polynomial", degree=1).fit(X, np.sin(a) + 0.1 * b)
    >>> [group.features for group in model.grouped_importance()]
    [('x0', 'x1'), ('x2',)]
    """

    features: tuple[str, ...]
    importance: float
    importance_std: float


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
    gap_error : ndarray of shape (q,) or (q, K)
        Error beyond the noise that fits make whose rows are as far from the query and surround it as
        badly: what errors at held-out blocks of training rows, of several sizes, tell. A part of
        intervals, not of ``std``.
    remoteness : ndarray of shape (q,)
        Distance to the nearest training rows, as a multiple of the largest that is usual among training
        rows: above 1 a query lies beyond the data. Unless rows surround it, as in a gap, the fit is then
        made nearer to the data, which gradient, metric and the rest describe, and its value carried on to
        the query along the gradient.
    drift : ndarray of shape (q,) or (q, K)
        How far f may have moved between there and the query: its root mean square slope nearby times the
        distance. Zero within the data; a part of ``std`` and of intervals.
    status : ndarray of shape (q,) of Status codes
    feature_scale : ndarray of shape (q, D)
        Change of each feature at the query that counts as one standard deviation: that of the training
        feature; with ``initial_metric="power"``, what is one after the transform there.
    intrinsic_dimension : ndarray of shape (q,)
        Effective number of directions in which f varies nearby, the participation ratio of the AGOP in
        units of the features' standard deviations; NaN where f has no slope.
    gradient_std : ndarray like gradient
    importance_std : ndarray of shape (q, D)
    intrinsic_dimension_std : ndarray of shape (q,)
        Standard errors of the above: how much they would vary from one sample of rows to another. NaN
        where they are not known. With them gradient, AGOP and what follows from it are averages over all
        that the fit might have chosen; see :meth:`localegop.LocalEGOPRegressor.localize`.
    feature_names, output_names : tuple of str
    trace : Trace or None

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> X, y = make_helix(60, 3, random_state=0)
    >>> model = LocalEGOPRegressor(final="polynomial", degree=1).fit(X, y)
    >>> fits = model.localize(X[:2], errors=False)
    >>> fits
    LocalFits(queries=2, features=3, outputs=y)
      OK 2
    >>> fits.gradient.shape, fits.importance.sum(axis=1).round(6).tolist()
    ((2, 3), [1.0, 1.0])
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
    gap_error: Array
    remoteness: Array
    drift: Array
    status: NDArray[np.int64]
    feature_scale: Array
    intrinsic_dimension: Array
    gradient_std: Array
    importance_std: Array
    intrinsic_dimension_std: Array
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

    def _repr_html_(self) -> str:
        shown = min(len(self), MOST_SHOWN)
        names = self.output_names if self.value.ndim > 1 else ("value",)
        value, std = self.value.reshape(len(self), -1), self.std.reshape(len(self), -1)
        head = [
            "query",
            *(name for each in names for name in (each, "± std")),
            "status",
            "matters most here",
        ]
        statuses, importance = self._first_output(self.status), self._first_output(self.importance)
        rows = [
            [
                str(i),
                *(text for k in range(len(names)) for text in (number(value[i, k]), number(std[i, k], 2))),
                Status(statuses[i]).name.lower(),
                self._leading_features(importance[i]),
            ]
            for i in range(shown)
        ]
        more = f"; the first {shown}" if shown < len(self) else ""
        return table(f"{self!r}{more}", head, rows)

    def _first_output(self, values: NDArray[Any]) -> NDArray[Any]:
        """Take what outputs with metrics of their own have each, of the first output."""
        return values[:, 0] if self._parts else values

    def _leading_features(self, importance: Array) -> str:
        """Name the most important features with their shares; nothing where f is flat."""
        order = np.argsort(-importance, kind="stable")[:3]
        known = [j for j in order if importance[j] >= 0.01]
        return ", ".join(f"{self.feature_names[j]} {importance[j]:.0%}" for j in known)

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
    def sensitivity(self) -> Array:
        """Root mean square slope nearby, (q, D), in label units per standard deviation of a feature."""
        diagonal = np.diagonal(self.agop, axis1=-2, axis2=-1)
        slope: Array = np.sqrt(np.maximum(diagonal, 0.0)) * self.feature_scale
        return slope

    @property
    def importance(self) -> Array:
        """Share of each feature in the squared slope nearby, (q, D), of sum one; NaN where f is flat."""
        return shares_of(self.sensitivity**2)

    @property
    def slope_importance(self) -> Array:
        """Share of each feature in the squared slope of each output at the query itself, of sum one.

        Shape (q, D), or (q, K, D) for K outputs or classes, which differ here, while :attr:`importance` of
        a shared metric is one for all of them. NaN where the slope is zero. Features count per standard
        deviation.
        """
        scale = self.feature_scale if self.gradient.ndim == 2 else self.feature_scale[:, None]
        return shares_of((self.gradient * scale) ** 2)

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
            gradient_std=self.gradient_std[:, k],
            noise=self.noise[:, k],
            gap_error=self.gap_error[:, k],
            drift=self.drift[:, k],
            output_names=self.output_names[k : k + 1],
            trace=trace,
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per query.

        Columns: value, std, noise, gradient_<feature> and gradient_std_<feature> (each with _<output>
        before the feature where there are several outputs), effective_size, step, loo_error,
        intrinsic_dimension, intrinsic_dimension_std, remoteness, status, importance_<feature> and
        importance_std_<feature>.
        """
        pd = need_pandas("to_frame")
        columns: dict[str, Any] = {}
        several = self.value.ndim > 1
        for k, name in enumerate(self.output_names):
            one, suffix = self.output(k), f"_{name}" if several else ""
            columns |= {f"value{suffix}": one.value, f"std{suffix}": one.std, f"noise{suffix}": one.noise}
            for j, feature in enumerate(self.feature_names):
                columns[f"gradient{suffix}_{feature}"] = one.gradient[:, j]
            for j, feature in enumerate(self.feature_names):
                columns[f"gradient_std{suffix}_{feature}"] = one.gradient_std[:, j]
            if self._parts:
                columns |= one._shared_columns(suffix)
        return pd.DataFrame(columns if self._parts else columns | self._shared_columns(""))

    def _shared_columns(self, suffix: str) -> dict[str, Any]:
        """Columns that follow from the metric."""
        importance, error = self.importance, self.importance_std
        return {
            f"effective_size{suffix}": self.effective_size,
            f"step{suffix}": self.step,
            f"loo_error{suffix}": self.loo_error,
            f"intrinsic_dimension{suffix}": self.intrinsic_dimension,
            f"intrinsic_dimension_std{suffix}": self.intrinsic_dimension_std,
            f"remoteness{suffix}": self.remoteness,
            f"status{suffix}": [Status(code).name.lower() for code in self.status],
            **{f"importance{suffix}_{name}": importance[:, j] for j, name in enumerate(self.feature_names)},
            **{f"importance_std{suffix}_{name}": error[:, j] for j, name in enumerate(self.feature_names)},
        }


def need_pandas(what: str) -> Any:
    """Import pandas, or say what needs it and how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas: pip install 'localegop[table]'") from error
    return pandas


def importance_frame(shares: Array, names: Sequence[str], errors: Array | None = None) -> Any:
    """Table of the shares (D,) of features, and their standard errors if given, the largest first."""
    order = np.argsort(-shares, kind="stable")
    index = need_pandas("as_frame=True").Index([names[j] for j in order], name="feature")
    columns = {"importance": shares[order]} | ({} if errors is None else {"importance_std": errors[order]})
    return need_pandas("as_frame=True").DataFrame(columns, index=index)


def shares_of(squares: Array) -> Array:
    """Shares (..., D) of sum one of squared slopes; NaN where all are zero."""
    total = squares.sum(axis=-1, keepdims=True)
    shares: Array = np.divide(squares, total, out=np.full_like(squares, np.nan), where=total > 0.0)
    return shares


def intrinsic_dimensions(agop: Array, scale: Array) -> Array:
    """Participation ratios (...,) of AGOPs (..., D, D), with features in units of their scale (..., D)."""
    scaled = agop * scale[..., None, :] * scale[..., None]
    ratio = np.full(scaled.shape[:-2], np.nan)
    sloped = np.trace(scaled, axis1=-2, axis2=-1) > 0.0
    ratio[sloped] = participation_ratio(scaled[sloped])
    return ratio


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
