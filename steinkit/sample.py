"""A sample: draws in the order they were made, with whatever else is known of them.

A `Sample` keeps draws exactly as given. `Sample.distinct` gives what a discrepancy is computed on: the distinct
points that carry weight, with weights that sum to one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit import double_double
from steinkit.arguments import masked_entries, require_lists
from steinkit.errors import InputError, look_alikes, printable
from steinkit.result import Displayed, named

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BESIDE = ("weights", "cost", "divergent", "energy")  # numbers of each draw, whatever its coordinates

_LARGEST_WHOLE = 2.0**53  # beyond it a double no longer tells neighbouring whole numbers apart


@dataclass(frozen=True, eq=False, init=False)
class Sample(Displayed):
    """Draws that claim to represent a target distribution.

    Parameters
    ----------
    points : array_like, shape (n,), (n, d) or (chains, draws, d)
        The draws, in order. Three dimensions are laid out chain after chain and fill `chain` and `draw`.
    weights : array_like, shape (n,), optional
        Non-negative weights, in any unit; equal weights if not given.
    scores : array_like, shape (n, d), optional
        Gradient of the target's log density at each draw.
    cost : array_like, shape (n,), optional
        Cumulative cost of the chain up to each draw, for example in likelihood evaluations.
    chain, draw : array_like of int, shape (n,), optional
        Label of the chain and number within the chain of each draw.
    names : sequence of str, optional
        Names of the d coordinates; ``x1, x2, ...`` if not given.
    divergent : array_like of bool, shape (n,), optional
        Whether the Hamiltonian trajectory that ended in each draw diverged.
    energy : array_like, shape (n,), optional
        Hamiltonian at each draw, in units of the log density; see `steinkit.chains.bfmi`.

    Raises
    ------
    InputError
        If an array has the wrong shape, a value (of the energy excepted) is not finite, or the weights are negative or
        all zero.
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

    def __init__(  # written out, for it takes more than it keeps: anything like an array
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
    ) -> None:
        rows, chain, draw = _lay_out(points, chain, draw)
        n, dim = rows.shape
        layout = np.shape(points)[:2] if np.ndim(points) == 3 else (n, 1)
        called = _names(names, dim)
        values: dict[str, Any] = {"points": _finite(rows, "points", called), "names": called}
        values["scores"] = _scores(scores, (n, dim), np.shape(points), called)
        values["cost"] = _column(cost, "cost", n, layout)
        values["weights"] = _weights(_column(weights, "weights", n, layout))
        values["chain"] = _integers(_column(chain, "chain", n, layout), "chain")
        values["draw"] = _integers(_column(draw, "draw", n, layout), "draw")
        values["divergent"] = _flags(_column(divergent, "divergent", n, layout), "divergent")
        values["energy"] = _column(energy, "energy", n, layout)
        for name, value in values.items():
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
        """Draws by slice, number or mask, with all that is known of them: ``sample[:100]``, ``sample[::5]``."""
        rows = np.atleast_1d(np.arange(len(self))[rows])
        columns = {name: getattr(self, name) for name in (*BESIDE, "scores", "chain", "draw")}
        kept = {name: values[rows] for name, values in columns.items() if values is not None}
        return replace(self, points=self.points[rows], **kept)

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.points.shape[1])

    @property
    def probabilities(self) -> Floats:
        """The weights scaled to sum to one, shape (n,)."""
        if self.weights is None:
            return np.full(len(self), 1.0 / len(self))
        scaled = self.weights / self.weights.max()  # so that huge weights do not overflow in the sum
        return np.asarray(scaled / scaled.sum(), dtype=np.float64)

    @property
    def has_default_names(self) -> bool:
        """Whether nobody named the coordinates."""
        return self.names == default_names(self.dim)

    @property
    def sha256(self) -> str:
        """SHA-256 of the draws with their weights, scores and labels: the same on every machine, whatever the file."""
        digest = hashlib.sha256()
        for name in ("points", "weights", "scores", "chain", "draw"):
            values = getattr(self, name)
            if values is not None:
                digest.update(f"{name} {values.shape}".encode())
                digest.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data)
        return digest.hexdigest()

    def select(self, names: list[str] | tuple[str, ...]) -> Sample:
        """Keep the named coordinates, in the order given.

        Scores are kept as they are: the score of the remaining coordinates given the others, not a marginal score.

        Parameters
        ----------
        names : list or tuple of str
            Of the coordinates to keep.

        Returns
        -------
        Sample
            Of these coordinates, with the weights, cost and labels of the draws.

        Raises
        ------
        InputError
            If there is no coordinate of a name.
        """
        position = {name: k for k, name in enumerate(self.names)}
        unknown = [name for name in names if name not in position]
        if unknown:
            raise InputError(f"no coordinate named {unknown[0]!r}; the sample has {', '.join(self.names)}")
        columns = [position[name] for name in names]
        scores = None if self.scores is None else self.scores[:, columns]
        return replace(self, points=self.points[:, columns], scores=scores, names=tuple(names))

    def distinct(self) -> DistinctSample:
        """Merge draws that are equal to the last bit, sum their weights, and drop draws without weight.

        Rejections of a Metropolis chain repeat points; a repeated point carries the weight of all its repeats. Points
        that merely lie near each other are never merged.

        Returns
        -------
        DistinctSample
            The distinct points, in order of first appearance.

        Raises
        ------
        InputError
            If two equal draws carry different scores.
        """
        carried = np.arange(len(self)) if self.weights is None else np.flatnonzero(self.weights > 0.0)
        first, inverse = first_occurrences(self.points if len(carried) == len(self) else self.points[carried])
        first = carried[first]
        group = np.full(len(self), -1, dtype=np.int64)
        group[carried] = inverse
        kept = slice(None) if len(first) == len(self) else first  # where all are distinct nothing is copied
        scores = None if self.scores is None else self.scores[kept]
        if self.scores is not None and len(first) < len(carried):
            differ = np.flatnonzero((self.scores[carried] != self.scores[first[inverse]]).any(axis=1))
            if differ.size:
                row = carried[differ[0]]
                raise InputError(
                    f"draws {first[group[row]] + 1} and {row + 1} are the same point but carry different scores; "
                    "a point has one score: recompute the stored scores"
                )
        counts = np.bincount(inverse, minlength=len(first))
        weights, weights_low = self._shares(carried, inverse, counts)
        return DistinctSample(
            points=self.points[kept],
            weights=weights,
            weights_low=weights_low,
            scores=scores,
            counts=counts,
            first=first,
            inverse=group,
            names=self.names,
        )

    def _shares(self, carried: Integers, group: Integers, counts: Integers) -> double_double.Pair:
        """Share of each group of draws in the weight of all, as a double-double: integers are counted, then divided."""
        if self.weights is None:
            return double_double.ratio(
                (counts.astype(np.float64), np.zeros(len(counts))), (np.array([float(len(self))]), np.zeros(1))
            )
        scaled = np.ldexp(self.weights[carried], 1 - int(np.frexp(self.weights.max())[1]))  # the largest in [1, 2)
        masses = scaled, np.zeros(len(scaled))
        everything = double_double.sums_in_groups(masses, np.zeros(len(scaled), dtype=np.int64), 1)
        if len(counts) < len(group):
            masses = double_double.sums_in_groups(masses, group, len(counts))
        return double_double.ratio(masses, everything)

    def with_columns(self, **columns: Any) -> Sample:
        """The same draws with other weights, scores or names, which are checked; the rest is shared, not copied.

        Parameters
        ----------
        **columns
            "weights", "scores", "names", "divergent" or "energy", as the class takes them.

        Returns
        -------
        Sample
            A new one; this one stays as it is.

        Raises
        ------
        InputError
            As the class does.
        """
        scores = None if self.scores is None else Unshared(self.scores)
        return replace(self, **{"points": Unshared(self.points), "scores": scores} | columns)


class Unshared:
    """An array of floats that nobody else holds, so that a sample may keep it without a copy."""

    def __init__(self, array: Floats) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return self.array


@dataclass(frozen=True, eq=False)
class DistinctSample:
    """The n distinct points of a sample that carry weight, in order of first appearance.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        In the sample's coordinates.
    weights : ndarray, shape (n,)
        Positive, the doubles next to numbers that sum to one.
    weights_low : ndarray, shape (n,)
        What these numbers, quotients of the weights given or of counts, are beyond `weights`, to about 2^-96 of them.
    scores : ndarray, shape (n, d), or None
        Of the target at the points, where the sample stores them.
    counts : ndarray of int, shape (n,)
        How many draws fell on each point.
    first : ndarray of int, shape (n,)
        Index of the first draw at each point.
    inverse : ndarray of int, shape (draws,)
        For each draw of the sample its point, or -1 for a draw without weight.
    names : tuple of str
        Of the d coordinates.
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
        """Number of coordinates d."""
        return int(self.points.shape[1])

    def joined(self, first: Integers, group: Integers) -> DistinctSample:
        """Groups of points as one point each: that of the first of them, with the weight of all.

        Parameters
        ----------
        first : ndarray of int, shape (m,)
            The first point of each group.
        group : ndarray of int, shape (n,)
            The group of each point.

        Returns
        -------
        DistinctSample
            Of m points, without scores.
        """
        weights, weights_low = double_double.sums_in_groups((self.weights, self.weights_low), group, len(first))
        return replace(
            self,
            points=self.points[first],
            weights=weights,
            weights_low=weights_low,
            scores=None,
            counts=np.bincount(group, weights=self.counts).astype(np.int64),
            first=self.first[first],
            inverse=np.where(self.inverse >= 0, group[self.inverse], -1),
        )

    @property
    def merged(self) -> int:
        """Number of draws that repeated an earlier draw."""
        return int(self.counts.sum()) - len(self)

    @property
    def weightless(self) -> int:
        """Number of draws dropped because their weight is zero."""
        return int((self.inverse < 0).sum())


def default_names(dim: int) -> tuple[str, ...]:
    """``x1, x2, ...``: the names of coordinates that nobody named."""
    return tuple(f"x{k + 1}" for k in range(dim))


def _names(given: Iterable[str] | None, dim: int) -> tuple[str, ...]:
    require_lists(names=given)
    names = tuple(map(str, () if given is None else given)) or default_names(dim)
    if len(names) != dim or len(set(names)) != dim:
        raise InputError(f"names must be {dim} different names, one a coordinate; received {list(names)}")
    require_printable(names)
    require_unlike(names, "two coordinates")
    return names


def require_printable(names: Iterable[str]) -> None:
    """Refuse names that would do more than be read where they are shown."""
    for position, name in enumerate(names, 1):
        if printable(name) != name:
            raise InputError(
                f'coordinate {position} is named "{printable(name)}", with control or invisible characters in it; '
                "rename it"
            )


def require_unlike(names: Iterable[str], what: str) -> None:
    """Refuse different names that no reader would tell apart; ``what`` begins the message."""
    if alike := look_alikes(names):
        raise InputError(f"{what} have names that look alike, {alike}; rename one")


def _lay_out(
    points: ArrayLike, chain: ArrayLike | None, draw: ArrayLike | None, what: str = "points"
) -> tuple[Floats, ArrayLike | None, ArrayLike | None]:
    """Bring points of any accepted shape to (n, d); three dimensions name chains and draws."""
    array = _floats(points, what)
    if array.ndim == 1:
        array = array[:, None]
    elif array.ndim == 3:
        chains, draws, dim = array.shape
        array = array.reshape(chains * draws, dim)
        if chain is None and draw is None:
            chain = np.repeat(np.arange(chains), draws)
            draw = np.tile(np.arange(draws), chains)
    if array.ndim != 2:
        raise InputError(f"draws must have shape (n,), (n, d) or (chains, draws, d); received {np.shape(points)}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InputError(f"the sample is empty: shape {array.shape}; at least one draw of one coordinate is needed")
    return np.ascontiguousarray(array), chain, draw


def _floats(values: ArrayLike, what: str) -> Floats:
    """Copy ``values`` to float64, refusing what is not real numbers."""
    if isinstance(values, Mapping) or hasattr(values, "coords"):
        raise InputError(
            f"{what} must be an array of real numbers; received {type(values).__name__}, whose parts have names: "
            "as_sample reads draws from it"
        )
    if isinstance(values, Unshared):
        return values.array
    try:
        masked = masked_entries(values)
        if masked:
            raise TypeError(f"an array with {masked} masked entries, which are no draws")
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"numbers of type {array.dtype}")
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be an array of real numbers; received {error}") from None


def _refuse(values: Floats, bad: NDArray[np.bool_], what: str, remedy: str, names: Sequence[str] = ()) -> None:
    """Raise InputError for the first of the values that are bad."""
    if not bad.any():
        return
    row, *rest = map(int, np.argwhere(bad)[0])
    column = rest[0] if rest else 0
    others = f" ({bad.sum()} such values in all)" if bad.sum() > 1 else ""
    said = f"is {values[row, *rest]:.10g}{others}; {remedy}"
    error = InputError(f"{what}: row {row + 1}{f', column {names[column]!r}' if names else ''} {said}")
    error.cell = what, row, column, said
    raise error


def _finite(array: Floats, what: str, names: Sequence[str] = ()) -> Floats:
    _refuse(array, ~np.isfinite(array), what, "drop or repair that draw", names)
    return array


def _scores(
    scores: ArrayLike | None, shape: tuple[int, int], given_points: tuple[int, ...], names: tuple[str, ...]
) -> Floats | None:
    """One score a draw, shape (n, d); also accepted laid out like the points were."""
    if scores is None:
        return None
    given = np.shape(scores)
    array = _lay_out(scores, None, None, "scores")[0]
    wanted = given_points if len(given) == 3 else shape
    if array.shape != shape or (len(given) == 3 and given != given_points):
        raise InputError(f"scores must have the shape of the points, {wanted}; received {given}")
    return _finite(array, "scores", names)


def _column(values: ArrayLike | None, what: str, n: int, layout: tuple[int, ...]) -> Floats | None:
    """One number a draw, shape (n,); also accepted laid out like the points, (chains, draws) or (n, 1)."""
    if values is None:
        return None
    array = _floats(values, what)
    if array.shape == layout:
        array = array.reshape(-1)
    if array.shape != (n,):
        raise InputError(f"{what} must hold one number a draw, {n} in all; received {np.shape(values)}")
    return array if what == "energy" else _finite(array, what)  # a diagnostic is no reason to refuse draws


def _flags(column: Floats | None, what: str) -> NDArray[np.bool_] | None:
    if column is None:
        return None
    _refuse(column, (column != 0.0) & (column != 1.0), what, "expected 0 or 1")
    return np.asarray(column == 1.0)


def _weights(weights: Floats | None) -> Floats | None:
    if weights is None:
        return None
    _refuse(weights, weights < 0.0, "weights", "a weight must not be negative: correct it or drop that draw")
    if not weights.any():
        raise InputError("all weights are zero; at least one draw must carry weight")
    return weights


def _integers(column: Floats | None, what: str) -> Integers | None:
    if column is None:
        return None
    strange = (column != np.rint(column)) | (np.abs(column) > _LARGEST_WHOLE)
    _refuse(column, strange, what, f"a {what} label is a whole number of at most 2**53: correct it")
    return column.astype(np.int64)


def rectangle(chain: Integers, draw: Integers) -> tuple[Integers, Integers] | None:
    """Split labels of draws into labels of rows and columns.

    Parameters
    ----------
    chain, draw : ndarray of int, shape (n,)

    Returns
    -------
    tuple of ndarray, shapes (chains,) and (draws,), or None
        None unless each chain is one contiguous block and all blocks carry the same draw labels.
    """
    starts = np.flatnonzero(np.concatenate([[True], chain[1:] != chain[:-1]]))
    chains, (length, rest) = chain[starts], divmod(len(chain), len(starts))
    if rest or len(np.unique(chains)) < len(chains) or (chain != np.repeat(chains, length)).any():
        return None
    draws = draw[:length]
    return None if (draw != np.tile(draws, len(chains))).any() else (chains, draws)


def rectangle_of(sample: Sample) -> tuple[int, int] | None:
    """(chains, draws) if the sample's labels form a rectangle of chains by draws, whatever the labels are."""
    labels = None if sample.chain is None or sample.draw is None else rectangle(sample.chain, sample.draw)
    return None if labels is None else (len(labels[0]), len(labels[1]))


def first_occurrences(points: Floats) -> tuple[Integers, Integers]:
    """Index of the first of each group of equal rows, in order of appearance, and the group of every row.

    Rows are sorted by their first coordinate; by all of them, which takes longer, where it has ties.
    """
    order = np.argsort(points[:, 0], kind="stable")  # equal rows stay in order of appearance
    changes = points[order[1:], 0] != points[order[:-1], 0]
    if not changes.all():
        order = np.lexsort(points.T[::-1])  # stable, too
        changes = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    starts = np.concatenate([[True], changes])
    if starts.all():
        alone = np.arange(len(order))
        return alone, alone
    leaders = order[starts]
    rank = np.empty(len(leaders), dtype=np.int64)
    rank[np.argsort(leaders)] = np.arange(len(leaders))
    group = np.empty(len(order), dtype=np.int64)
    group[order] = rank[np.cumsum(starts) - 1]
    return np.sort(leaders), group
