"""Samples with optional weights, scores, labels and diagnostics.

A `Sample` stores draws unchanged. `Sample.distinct` returns the points used to compute a discrepancy. These points are
the distinct draws with positive weight, and their weights sum to one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit import double_double
from steinkit.arguments import masked_entries, require_lists
from steinkit.errors import InputError, printable
from steinkit.result import Displayed, named

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PER_DRAW = ("weights", "cost", "log_q", "log_p", "divergent", "energy", "tree_depth")  # arrays with one number per draw

_LARGEST_WHOLE = 2.0**53  # largest absolute value below which doubles represent all integers


@dataclass(frozen=True, eq=False, init=False)
class Sample(Displayed):
    """Draws that approximate a target distribution.

    Parameters
    ----------
    points : array_like, shape (n,), (n, d) or (chains, draws, d)
        The draws, in their original order. If the array has three dimensions, the chains are concatenated, and `chain`
        and `draw` are set.
    weights : array_like, shape (n,), optional
        Non-negative weights, up to a constant factor. By default, the weights are equal.
    scores : array_like, shape (n, d), optional
        Gradient of the target's log density at each draw.
    cost : array_like, shape (n,), optional
        Cumulative cost of the chain up to each draw, for example in likelihood evaluations.
    chain, draw : array_like of int, shape (n,), optional
        Label of the chain of each draw, and number of the draw within its chain. Without labels, there is one chain.
    names : sequence of str, optional
        Names of the d parameters. The default names are ``x1, x2, ...``.
    divergent : array_like of bool, shape (n,), optional
        True if the Hamiltonian trajectory that ended at the draw diverged.
    energy : array_like, shape (n,), optional
        Hamiltonian at each draw, in units of the log density. See `steinkit.chains.bfmi`.
    tree_depth : array_like of int, shape (n,), optional
        Depth of the NUTS trajectory tree that ended at the draw.
    log_q : array_like, shape (n,), optional
        Log density of the distribution that generated each draw, up to a constant, in the coordinates of the draws. An
        example is a variational approximation.
    log_p : array_like, shape (n,), optional
        Log density of the target at each draw, up to a constant, as stored by the program that generated the draws. It
        shows whether `log_q` refers to the coordinates and the model of another target.

    Raises
    ------
    InputError
        If an array has the wrong shape, if a value other than an energy or a stored log density is not finite, or if
        weights are negative or all are zero.

    Examples
    --------
    >>> import steinkit as sk
    >>> sample = sk.Sample([[0.0, 1.0], [2.0, 3.0], [2.0, 3.0]], names=["mu", "tau"])
    >>> len(sample), sample.dim, len(sample.distinct())
    (3, 2, 2)
    """

    points: Floats
    weights: Floats | None
    scores: Floats | None
    cost: Floats | None
    chain: Integers | None
    draw: Integers | None
    names: tuple[str, ...]
    divergent: NDArray[np.bool_] | None
    energy: Floats | None
    tree_depth: Integers | None
    log_q: Floats | None
    log_p: Floats | None

    def __init__(  # explicit because the parameters accept more types than the attributes
        self,
        points: ArrayLike,
        weights: ArrayLike | None = None,
        scores: ArrayLike | None = None,
        cost: ArrayLike | None = None,
        chain: ArrayLike | None = None,
        draw: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        divergent: ArrayLike | None = None,
        energy: ArrayLike | None = None,
        tree_depth: ArrayLike | None = None,
        log_q: ArrayLike | None = None,
        log_p: ArrayLike | None = None,
    ) -> None:
        rows, given = _rows(points, "points"), np.shape(points)
        n, dim = rows.shape
        layout = given[:2] if len(given) == 3 else (n, 1)
        if len(given) == 3 and chain is None and draw is None:
            chain, draw = np.indices(layout)
        require_lists(names=names)
        labels = tuple(map(str, () if names is None else names)) or default_names(dim)
        if len(labels) != dim or len(set(labels)) != dim:
            raise InputError(f"names must contain {dim} different names, one per parameter; got {list(labels)}")
        require_printable(labels)
        _refuse(rows, ~np.isfinite(rows), "points", "drop or correct that draw", labels)
        gradients = None
        if scores is not None:
            gradients, shape = _rows(scores, "scores"), np.shape(scores)
            expected = given if len(shape) == 3 else rows.shape
            if gradients.shape != rows.shape or (len(shape) == 3 and shape != given):
                raise InputError(f"scores must have the same shape as the points, {expected}; got {shape}")
            _refuse(gradients, ~np.isfinite(gradients), "scores", "drop or correct that draw", labels)
        columns = {"weights": weights, "cost": cost, "chain": chain, "draw": draw}
        columns |= {"divergent": divergent, "energy": energy, "tree_depth": tree_depth, "log_q": log_q, "log_p": log_p}
        values = {name: _column(column, name, n, layout) for name, column in columns.items()}
        for name, value in {"points": rows, "names": labels, "scores": gradients, **values}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        chains = 1 if self.chain is None else len(np.unique(self.chain))
        labelled = f" in {chains} chains" if chains > 1 else ""
        stored = [name for name in ("weights", "scores", "cost") if getattr(self, name) is not None]
        also = f"; with {', '.join(stored)}" if stored else ""
        return f"<Sample of {len(self)} draws{labelled}, d = {self.dim}: {named(self.names)}{also}>"

    def __len__(self) -> int:
        return len(self.points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.points, dtype=dtype)

    def __getitem__(self, rows: int | slice | Integers | NDArray[np.bool_]) -> Sample:
        """Return the draws selected by a slice, an index or a mask."""
        rows = np.atleast_1d(np.arange(len(self))[rows])
        columns = {name: getattr(self, name) for name in (*PER_DRAW, "scores", "chain", "draw")}
        kept = {name: values[rows] for name, values in columns.items() if values is not None}
        return replace(self, points=self.points[rows], **kept)

    @property
    def dim(self) -> int:
        """Number of parameters d."""
        return int(self.points.shape[1])

    @property
    def probabilities(self) -> Floats:
        """Weights scaled to sum to one."""
        if self.weights is None:
            return np.full(len(self), 1.0 / len(self))
        scaled = self.weights / self.weights.max()  # the sum of large weights may overflow
        return np.asarray(scaled / scaled.sum(), dtype=np.float64)

    @property
    def chain_labels(self) -> Integers:
        """Label of the chain of each draw; 0 if the sample has no labels."""
        return np.zeros(len(self), dtype=np.int64) if self.chain is None else self.chain

    @property
    def has_default_names(self) -> bool:
        """True if the parameters have the default names x1, x2, ..."""
        return self.names == default_names(self.dim)

    @property
    def sha256(self) -> str:
        """SHA-256 hash of draws, weights, scores and labels, identical on all machines."""
        digest = hashlib.sha256()
        for name in ("points", "weights", "scores", "chain", "draw"):
            values = getattr(self, name)
            if values is not None:
                digest.update(f"{name} {values.shape}".encode())
                digest.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data)
        return digest.hexdigest()

    def select(self, names: list[str] | tuple[str, ...]) -> Sample:
        """Return a sample that contains the named parameters in the given order.

        Scores are not changed. The selected scores are the scores of the conditional distribution given the other
        parameters, not of the marginal distribution.

        Parameters
        ----------
        names : list or tuple of str
            Parameters to keep, in this order.

        Returns
        -------
        Sample
            The selected parameters, with the weights, costs and labels of the draws.

        Raises
        ------
        InputError
            If a name is unknown.
        """
        for name in names:
            if name not in self.names:
                raise InputError(f"expected one of the parameters {', '.join(self.names)}; got {name!r}")
        columns = [self.names.index(name) for name in names]
        scores = None if self.scores is None else self.scores[:, columns]
        return replace(self, points=self.points[:, columns], scores=scores, names=tuple(names))

    def distinct(self) -> DistinctSample:
        """Merge equal draws, add their weights and drop draws with weight zero.

        A Metropolis chain repeats a draw after each rejection. Only draws that are bit-for-bit identical are merged.

        Returns
        -------
        DistinctSample
            The distinct points, in order of first appearance.

        Raises
        ------
        InputError
            If two equal draws have different scores.
        """
        carried = np.arange(len(self)) if self.weights is None else np.flatnonzero(self.weights > 0.0)
        first, inverse = first_occurrences(self.points[carried])
        first = carried[first]
        group = np.full(len(self), -1, dtype=np.int64)
        group[carried] = inverse
        if self.scores is not None:
            differ = np.flatnonzero((self.scores[carried] != self.scores[first[inverse]]).any(axis=1))
            if differ.size:
                row = carried[differ[0]]
                raise InputError(
                    f"draws {first[group[row]] + 1} and {row + 1} are the same point but have different scores; "
                    "recompute the stored scores"
                )
        counts = np.bincount(inverse, minlength=len(first))
        if self.weights is None:
            parts = counts.astype(np.float64), np.zeros(len(first))
            total = np.array([float(len(carried))]), np.zeros(1)
        else:
            masses = np.ldexp(self.weights[carried], 1 - int(np.frexp(self.weights.max())[1]))  # largest in [1, 2)
            exact = masses, np.zeros(len(masses))
            parts = double_double.sums_in_groups(exact, inverse, len(first))
            total = double_double.sums_in_groups(exact, np.zeros_like(inverse), 1)
        weights, weights_low = double_double.ratio(parts, total)
        return DistinctSample(
            points=self.points[first],
            weights=weights,
            weights_low=weights_low,
            scores=None if self.scores is None else self.scores[first],
            counts=counts,
            first=first,
            inverse=group,
            names=self.names,
        )

    def with_columns(self, **columns: Any) -> Sample:
        """Return the same draws with new weights, scores, names or diagnostics.

        Parameters
        ----------
        **columns
            New values of "scores", "names", or arrays with one number per draw.

        Returns
        -------
        Sample
            The sample with the new values and copies of all other arrays.

        Raises
        ------
        InputError
            If a value is not valid. See `Sample`.
        """
        return replace(self, **columns)


@dataclass(frozen=True, eq=False)
class DistinctSample:
    """Set of the n distinct points with positive weight in a sample.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        Distinct points, in the order of first appearance.
    weights : ndarray, shape (n,)
        Positive weights, rounded to double precision. The exact weights sum to one.
    weights_low : ndarray, shape (n,)
        Exact weights minus `weights`, with an error of about 2^-96 times the weight.
    scores : ndarray, shape (n, d), or None
        Scores stored in the sample.
    counts : ndarray of int, shape (n,)
        Number of draws at each point.
    first : ndarray of int, shape (n,)
        Index of the first draw at each point.
    inverse : ndarray of int, shape (draws,)
        Point index for each draw in the sample, or -1 if the draw has weight zero.
    names : tuple of str
        Names of the d parameters.

    Examples
    --------
    >>> import steinkit as sk
    >>> distinct = sk.Sample([0.0, 2.0, 2.0, 5.0], weights=[1.0, 1.0, 2.0, 0.0]).distinct()
    >>> distinct.points.ravel().tolist(), distinct.weights.tolist(), distinct.inverse.tolist()
    ([0.0, 2.0], [0.25, 0.75], [0, 1, 1, -1])
    """

    points: Floats
    weights: Floats
    weights_low: Floats
    scores: Floats | None
    counts: Integers
    first: Integers
    inverse: Integers
    names: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<DistinctSample of {len(self)} points, d = {self.dim}: {named(self.names)}>"

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dim(self) -> int:
        """Number of parameters d."""
        return int(self.points.shape[1])

    @property
    def merged(self) -> int:
        """Number of draws that repeat an earlier draw."""
        return int(self.counts.sum()) - len(self)

    @property
    def weightless(self) -> int:
        """Number of draws dropped because their weight is zero."""
        return int((self.inverse < 0).sum())


def default_names(dim: int) -> tuple[str, ...]:
    """Return the default names of parameters, ``x1, x2, ...``."""
    return tuple(f"x{k + 1}" for k in range(dim))


def require_printable(names: Iterable[str]) -> None:
    """Raise InputError if a name contains control or invisible characters."""
    for position, name in enumerate(names, 1):
        if not name.isprintable():
            raise InputError(
                f'expected names without control or invisible characters, got "{printable(name)}" for parameter '
                f"{position}; rename it"
            )


def _rows(values: ArrayLike, what: str) -> Floats:
    """Convert draws or scores to an array of shape (n, d)."""
    array = _floats(values, what)
    if array.ndim == 1:
        array = array[:, None]
    elif array.ndim == 3:
        array = array.reshape(array.shape[0] * array.shape[1], array.shape[2])
    if array.ndim != 2:
        raise InputError(f"draws must have shape (n,), (n, d) or (chains, draws, d); got {np.shape(values)}")
    if not array.size:
        raise InputError(f"expected at least one draw of one parameter, got shape {array.shape}")
    return np.ascontiguousarray(array)


def _floats(values: ArrayLike, what: str) -> Floats:
    """Return a copy of real numbers in double precision, or raise InputError."""
    if isinstance(values, Mapping) or hasattr(values, "coords"):
        raise InputError(
            f"{what} must be an array of real numbers; got {type(values).__name__} with named entries; convert it with "
            "as_sample"
        )
    try:
        if masked := masked_entries(values):
            raise TypeError(f"an array with {masked} masked entries")
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"numbers of type {array.dtype}")
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be an array of real numbers; got {error}") from None


def _refuse(values: Floats, bad: NDArray[np.bool_], what: str, remedy: str, names: Sequence[str] = ()) -> None:
    """Raise InputError for the first invalid value."""
    if not bad.any():
        return
    row, *rest = map(int, np.argwhere(bad)[0])
    column = rest[0] if rest else 0
    others = f" ({bad.sum()} such values in all)" if bad.sum() > 1 else ""
    message = f"is {values[row, *rest]:.10g}{others}; {remedy}"
    error = InputError(f"{what}: row {row + 1}{f', column {names[column]!r}' if names else ''} {message}")
    error.cell = what, row, column, message
    raise error


def _not_whole(column: Floats) -> NDArray[np.bool_]:
    return np.asarray((column != np.rint(column)) | ~(np.abs(column) <= _LARGEST_WHOLE))


_CHECKS: dict[str, tuple[Callable[[Floats], NDArray[np.bool_]], str, type]] = {
    "weights": (lambda column: (column < 0.0) | ~np.isfinite(column), "expected a finite, non-negative number", float),
    "cost": (lambda column: ~np.isfinite(column), "expected a finite number", float),
    "log_q": (lambda column: ~np.isfinite(column), "expected a finite number", float),
    "tree_depth": (_not_whole, "expected a whole number of at most 2**53", int),
    "chain": (_not_whole, "expected a whole number of at most 2**53", int),
    "draw": (_not_whole, "expected a whole number of at most 2**53", int),
    "divergent": (lambda column: (column != 0.0) & (column != 1.0), "expected 0 or 1", bool),
}
"""Test for invalid values, the expected value, and the type of each array with one number per draw."""


def _column(values: ArrayLike | None, what: str, n: int, layout: tuple[int, ...]) -> NDArray[Any] | None:
    """Convert an array with one number per draw to an array of shape (n,)."""
    if values is None:
        return None
    array = _floats(values, what)
    if array.shape == layout:
        array = array.reshape(-1)
    if array.shape != (n,):
        raise InputError(f"{what} must contain one number per draw, {n} in total; got shape {np.shape(values)}")
    if what not in _CHECKS:
        return array
    bad, remedy, dtype = _CHECKS[what]
    _refuse(array, bad(array), what, remedy)
    if what == "weights" and not array.any():
        raise InputError("all weights are zero; at least one draw must have a positive weight")
    return array.astype(dtype, copy=False)


def rectangle(chain: Integers, draw: Integers) -> tuple[Integers, Integers] | None:
    """Split draw labels into row labels and column labels.

    Parameters
    ----------
    chain, draw : ndarray of int, shape (n,)

    Returns
    -------
    tuple of ndarray, shapes (chains,) and (draws,), or None
        None unless each chain is a contiguous block and all blocks have the same draw labels.
    """
    starts = np.flatnonzero(np.concatenate([[True], chain[1:] != chain[:-1]]))
    chains, (length, rest) = chain[starts], divmod(len(chain), len(starts))
    if rest or len(np.unique(chains)) < len(chains) or (chain != np.repeat(chains, length)).any():
        return None
    draws = draw[:length]
    return None if (draw != np.tile(draws, len(chains))).any() else (chains, draws)


def rectangle_of(sample: Sample) -> tuple[int, int] | None:
    """Return (chains, draws), or None if the draw labels differ between chains."""
    labels = None if sample.chain is None or sample.draw is None else rectangle(sample.chain, sample.draw)
    return None if labels is None else (len(labels[0]), len(labels[1]))


def numbers_in_chains(chain: Integers) -> Integers:
    """Return the position of each draw within its chain, starting from 0."""
    numbers = np.empty(len(chain), dtype=np.int64)
    for label in np.unique(chain):
        numbers[chain == label] = np.arange(np.count_nonzero(chain == label))
    return numbers


def split_chains(sample: Sample) -> tuple[list[Integers], list[str]]:
    """Return the rows of each chain in order, and a list of notes.

    Returns
    -------
    list of ndarray of int
        The rows of each chain, in increasing order of the labels.
    list of str
        Notes on chains with repeated draw numbers. The order of their draws is not changed.
    """
    labels = sample.chain_labels
    order = np.argsort(labels, kind="stable")
    chains = np.split(order, 1 + np.flatnonzero(np.diff(labels[order])))
    notes: list[str] = []
    if sample.draw is None:
        return chains, notes
    for k, rows in enumerate(chains):
        numbers = sample.draw[rows]
        if len(np.unique(numbers)) < len(numbers):
            which = "the sample" if sample.chain is None else f"chain {labels[rows[0]]}"
            notes.append(
                f"draw numbers in {which} repeat, so the given order was used; if there are several chains, label them"
            )
        else:
            chains[k] = rows[np.argsort(numbers)]
    return chains, notes


def first_occurrences(points: Floats) -> tuple[Integers, Integers]:
    """Return the first row of each group of equal rows, and the group of each row.

    Groups are numbered in order of appearance. Rows are sorted by their first entry. Rows with equal first entries are
    sorted by all their entries.
    """
    order = np.argsort(points[:, 0], kind="stable")  # a stable sort keeps equal rows in order
    changes = points[order[1:], 0] != points[order[:-1], 0]
    if not changes.all():
        order = np.lexsort(points.T[::-1])  # also stable
        changes = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    starts = np.concatenate([[True], changes])
    leaders = order[starts]
    rank = np.argsort(np.argsort(leaders))
    group = np.empty(len(order), dtype=np.int64)
    group[order] = rank[np.cumsum(starts) - 1]
    return np.sort(leaders), group
