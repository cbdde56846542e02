"""Biases of means and standard deviations with their margins, quantity by quantity, and how they are reported."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from steinkit.diagnosis.bias.stein_regression import FeatureSet
from steinkit.errors import reservations
from steinkit.measurement import Measurement, Reference
from steinkit.result import Statement, in_json
from steinkit.sample import Floats, Sample
from steinkit.text import Table, compact, filled, listed

Method = Literal["regression", "weights", "run", "modes"]

_SMALLEST = 0.05  # posterior sd, below which a bias is not reported
_FINEST = 0.001  # smallest margin that is printed
_MOST_PLACES, _LARGE = 6, 1e6  # of numbers printed without an exponent
_MOST_ROWS = 10  # of a table
_NAMED = 3  # quantities in a sentence
_LEAST_WORTH = 0.2  # of the draws, below which weights rest on too few of them
_UNKNOWN = "?"
_CAPTION = "Biases of means and standard deviations, largest first"
_TITLE = "bias of means and standard deviations"
_SEEN = {
    "quadratic": "quadratic vector fields see",
    "chosen": "affine and some quadratic vector fields see; more draws allow all quadratic ones",
    "affine": "affine vector fields see; more draws allow quadratic ones",
    "pairs": "pairs of coordinates see; more draws allow all affine vector fields",
    "diagonal": "single coordinates see; more draws allow their pairs",
    "own4": "single coordinates see; more draws allow their pairs",
}
_UNITS = "Bias in units of the posterior standard deviation, with 95 % margins of error."
_METHODS = {
    "regression": "regression on Stein features",
    "weights": "weights of largest entropy",
    "run": "a short exact run from every draw",
    "modes": "regression within each mode, and the mode weights by the log density",
}


@dataclass(frozen=True)
class Quantity:
    """Mean and standard deviation of one quantity: see `BiasEstimate` for the attributes."""

    name: str
    mean: float
    sd: float
    draws_mean: float
    draws_sd: float
    mean_bias: float
    sd_bias: float
    mean_margin: float
    sd_margin: float
    at_least: float
    reliable: bool
    reason: str

    @property
    def mean_is_off(self) -> bool:
        """True if the bias of the mean exceeds its margin and .05 sd."""
        return _is_beyond(self.mean_bias, self.mean_margin)

    @property
    def sd_is_off(self) -> bool:
        """The same for the standard deviation."""
        return _is_beyond(self.sd_bias, self.sd_margin)

    @property
    def is_off(self) -> bool:
        """True if the mean or the standard deviation is biased beyond its margin."""
        return self.mean_is_off or self.sd_is_off

    @property
    def order(self) -> tuple[bool, bool, float]:
        """Key by which quantities are ordered: reliable ones first, of these the clearly biased ones, by their size."""
        size = max(abs(self.mean_bias), abs(self.sd_bias))
        return self.reliable, self.is_off, -math.inf if math.isnan(size) else size

    def __str__(self) -> str:
        """Return the biases as a clause, "mean 0.90 ± 0.10 sd too low, sd 26% ± 3% too small"; empty within margins."""
        said = []
        if self.mean_is_off:
            said.append(f"mean {self.mean_bias_text(sign=False)} sd too {'high' if self.mean_bias > 0.0 else 'low'}")
        if self.sd_is_off:
            said.append(f"sd {self._sd_bias_text(sign=False)} too {'large' if self.sd_bias > 0.0 else 'small'}")
        return ", ".join(said)

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Cells of a table: mean of the draws, corrected mean, and both biases."""
        corrected = _to_the_margin(self.mean, self) if self.reliable else _UNKNOWN
        return _to_the_margin(self.draws_mean, self), corrected, *self.bias_cells

    @property
    def bias_cells(self) -> tuple[str, str]:
        """The last two of them."""
        return (self.mean_bias_text(), self._sd_bias_text()) if self.reliable else (_UNKNOWN, _UNKNOWN)

    def mean_bias_text(self, sign: bool = True) -> str:
        """Bias of the mean and its margin, in sd."""
        off, margin = self.mean_bias, max(self.mean_margin, _FINEST)
        places = _places(margin)
        return f"{_fixed(off if sign else abs(off), places, sign)} ± {margin:.{places}f}"

    def _sd_bias_text(self, sign: bool = True) -> str:
        ratio = math.exp(self.sd_bias)
        off, margin = 100.0 * (ratio - 1.0), 100.0 * ratio * max(self.sd_margin, _FINEST)
        places = max(0, _places(0.01 * margin) - 2)
        return f"{_fixed(off if sign else abs(off), places, sign)}% ± {margin:.{places}f}%"


@dataclass(frozen=True, eq=False)
class BiasEstimate(Measurement):
    """Means and standard deviations under the target, and the biases of those of the draws.

    Attributes
    ----------
    names : tuple of str
        The m quantities: the d parameters, then the functions.
    mean, sd : ndarray, shape (m,)
        Estimates of the mean and standard deviation under the target, in the quantity's own unit.
    draws_mean, draws_sd : ndarray, shape (m,)
        Those of the draws.
    mean_bias : ndarray, shape (m,)
        Mean of the draws less `mean`, in units of `sd`.
    sd_bias : ndarray, shape (m,)
        Logarithm of the draws' standard deviation over `sd`: -.3 where the draws are 26 % too narrow.
    mean_margin, sd_margin : ndarray, shape (m,)
        95 % margins of error of `mean_bias` and `sd_bias`, as far as the features see. That of `mean_bias` includes the
        error of the standard deviation that is its unit.
    reliable : ndarray of bool, shape (m,)
        True where the margins may be relied on; elsewhere `reason` says why not.
    reason : tuple of str
        Empty where reliable.
    at_least : ndarray, shape (m,)
        Where an exact run ended too soon to be reliable, the distance in `sd` that it has moved the mean, by which the
        mean is biased at least; 0 elsewhere.
    weights : ndarray, shape (n,), or None
        Weights of the draws, of sum one, under which Stein features have mean zero; None if there are too few draws.
    worth : float
        Kish's effective size of the weights; 0 where there are none.
    method : {"regression", "weights", "run", "modes"}
        How the estimates were made; "modes": by regression within each mode, and by the mode weights.
    moved : Sample or None
        Positions of the draws after an exact run.
    gradients : int
        Gradients that the run took per draw.
    hidden : str
        Reason why the weights of regions may be wrong, so that nothing is reliable; empty if nothing suggests it.
    unranked : str
        Reason why samples must not be ordered by `value`, not even by its margin; empty where they may.
    falls_apart : bool
        True if the draws split into groups with a valley of the density between them.
    draws : int
        Number of draws.
    features : {"quadratic", "chosen", "affine", "pairs", "diagonal", "own4"}
        Richest set of Stein features that was used; see `steinkit.diagnosis.bias.stein_regression`.
    warnings : tuple of str
        Reservations about the numbers.
    """

    measure: ClassVar[str] = "bias"
    title: ClassVar[str] = _TITLE

    names: tuple[str, ...]
    mean: Floats
    sd: Floats
    draws_mean: Floats
    draws_sd: Floats
    mean_bias: Floats
    sd_bias: Floats
    mean_margin: Floats
    sd_margin: Floats
    reliable: NDArray[np.bool_]
    reason: tuple[str, ...]
    at_least: Floats
    weights: Floats | None
    worth: float
    method: Method
    moved: Sample | None
    gradients: int
    hidden: str
    unranked: str = field()
    falls_apart: bool
    draws: int
    features: FeatureSet
    warnings: tuple[str, ...]

    @property
    def value(self) -> float:
        """Root of the mean square of `mean_bias` plus that of `sd_bias`, over all quantities; reliable or not."""
        return float(np.sqrt(np.mean(self.mean_bias**2 + self.sd_bias**2)))

    @property
    def margin(self) -> float:
        """Margin of `value`, from the margins of the quantities."""
        return float(np.sqrt(np.mean(self.mean_margin**2 + self.sd_margin**2)))

    @property
    def lower(self) -> float:
        """`value` less its margin, or 0."""
        return max(0.0, self.value - self.margin)

    @property
    def upper(self) -> float:
        """`value` plus its margin."""
        return self.value + self.margin

    @property
    def seconds(self) -> dict[str, float]:
        """Not recorded."""
        return {}

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """The quantities: reliable ones first, of these the clearly biased ones, by the size of the bias."""
        columns = [getattr(self, name) for name in Quantity.__dataclass_fields__ if name not in ("name", "reason")]
        rows = zip(self.names, *(column.tolist() for column in columns), self.reason, strict=True)
        return tuple(sorted((Quantity(*row) for row in rows), key=lambda each: each.order, reverse=True))

    @property
    def has_useful_weights(self) -> bool:
        """True if the weights are worth a fifth of the draws."""
        return self.weights is not None and self.worth >= _LEAST_WORTH * self.draws

    def is_off_by(self, delta: float) -> bool:
        """Tell whether a mean is biased by more than a number of standard deviations, beyond its margin.

        Parameters
        ----------
        delta : float
            That number.

        Returns
        -------
        bool
            False as well where nothing is reliable.
        """
        return bool((self.reliable & (np.abs(self.mean_bias) - self.mean_margin > delta)).any())

    def worst(self, most: int | None = None) -> NDArray[np.int64]:
        """Return the positions of `quantities` in `names`.

        Parameters
        ----------
        most : int, optional
            How many to return; all by default.

        Returns
        -------
        ndarray of int
            Their positions in `names`.
        """
        return np.array([self.names.index(each.name) for each in self.quantities[:most]], dtype=np.int64)

    def table(self, most: int | None = _MOST_ROWS) -> str:
        """List the biases, largest first.

        Parameters
        ----------
        most : int or None
            Number of quantities; all for None.

        Returns
        -------
        str
            A row per quantity.
        """
        return f"{self._table(None).text(('quantity',), most)}\n{filled(_UNITS)}"

    def statements(self, reference: Reference | None = None, *, is_biased: bool = False) -> tuple[Statement, ...]:
        """State the size of all biases together, the largest ones, what is not known and why, and the method."""
        number = (
            f"The {_TITLE} is {self.value:.3g} ± {max(self.margin, _FINEST):.2g} standard deviations, the root of "
            "their mean square."
        )
        how = f"Estimated by {_METHODS[self.method]}, as far as {_SEEN[self.features]}."
        return (
            Statement("number", f"What is the {_TITLE}?", number),
            Statement("findings", "How wrong are the numbers?", self.sentence, continues=True),
            Statement("method", "How was it estimated?", how),
        )

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """List the worst ten biases; nothing where none is reliable."""
        return (self._table(_MOST_ROWS),) if self.reliable.any() else ()

    @property
    def sentence(self) -> str:
        """The largest biases, the accuracy of the other quantities, and those that are not known."""
        return " ".join([*self._known(), *self.not_known()])

    @property
    def accuracy_sentence(self) -> str:
        """The accuracy of all quantities; empty where not all of it is known."""
        return f"All quantities: {_within(self.quantities)}." if self.reliable.all() else ""

    @property
    def rejected_sentence(self) -> str:
        """The same for draws that are not from their target, and what corrects them."""
        reliable = self._reliable
        if not reliable:
            return self.sentence
        if not any(each.is_off for each in reliable):
            return f"Means and sds are not affected beyond their margins. {self.sentence}"
        corrects = "corrects them" if self.reliable.all() and self.has_useful_weights else "may correct them"
        if self.method == "modes":  # it leaves the draws within each as they are
            corrects = "reweights the modes to their correct shares"
        return f"{self.sentence} `steinkit repair` {corrects}."

    def matters_sentence(self, delta: float) -> str:
        """State whether a mean is biased by more than `delta` sd, with its margin; empty where none is reliable.

        Parameters
        ----------
        delta : float
            Size in posterior sds.

        Returns
        -------
        str
            A sentence.
        """
        if not self._reliable:
            return ""
        if self.is_off_by(delta):
            worst = max(self._reliable, key=lambda each: abs(each.mean_bias) - each.mean_margin)
            return f"The mean of {worst.name} is biased by {worst.mean_bias_text(sign=False)} sd, more than {delta:g}."
        widest = max(self._reliable, key=lambda each: abs(each.mean_bias) + each.mean_margin)
        is_within = abs(widest.mean_bias) + widest.mean_margin <= delta
        whether = f"No{self._known_only} mean is" if is_within else "It is not known whether a mean is"
        far = f"{widest.name}'s is biased by {widest.mean_bias_text(sign=False)}"
        return f"{whether} biased by more than {delta:g} sd: {far}."

    @property
    def _reliable(self) -> list[Quantity]:
        return [each for each in self.quantities if each.reliable]

    @property
    def _known_only(self) -> str:
        return "" if self.reliable.all() else " known"

    def _known(self) -> list[str]:
        off = [each for each in self._reliable if each.is_off]
        right = [each for each in self._reliable if not each.is_off]
        said = []
        if off:
            more = f"; {len(off) - _NAMED} more biased" if len(off) > _NAMED else ""
            said.append(f"{'; '.join(f'{each.name}: {each}' for each in off[:_NAMED])}{more}.")
        if right:
            who = listed([each.name for each in right]) if off else f"All{self._known_only} quantities"
            said.append(f"{who}: {_within(right)}.")
        return said

    def not_known(self) -> list[str]:
        """Quantities whose bias is not known, by reason; and by how much they are biased at least.

        Returns
        -------
        list of str
            Sentences.
        """
        unknown = [each for each in self.quantities if not each.reliable]
        reasons: dict[str, list[str]] = {}
        for each in unknown:
            reasons.setdefault(each.reason, []).append(each.name)
        said = [f"The bias of {listed(names)} is not known: {reason}." for reason, names in reasons.items()]
        if len(reasons) == 1 and len(unknown) == len(self.names):
            said = [f"The biases of means and sds are not known: {unknown[0].reason}."]
        moved = sorted((each for each in unknown if each.at_least > 0.0), key=lambda each: -each.at_least)[:_NAMED]
        if moved:
            worst = listed([f"{each.name} by {each.at_least:.2g} sd" for each in moved])
            said.append(f"The run was too short. The bias of a mean is at least the distance that it moved: {worst}.")
        return said

    def _table(self, most: int | None) -> Table:
        rows = tuple((each.name, *each.cells) for each in self.quantities[:most])
        return Table(_CAPTION, ("quantity", "mean", "corrected", "bias (sd)", "sd bias"), rows)

    def to_dict(self) -> dict[str, Any]:
        """List the estimates as JSON documents hold them.

        Returns
        -------
        dict
            Strings, finite numbers, lists and dicts.
        """
        return {
            "measure": "bias",
            **{each: in_json(getattr(self, each)) for each in ("value", "margin", "lower", "upper")},
            "method": self.method,
            "quantities": [in_json(asdict(each)) for each in self.quantities],
            **{each: getattr(self, each) for each in ("worth", "draws", "features", "gradients")},
            "hidden": self.hidden or None,
            "unranked": self.unranked or None,
            "falls_apart": self.falls_apart,
        }

    def __repr__(self) -> str:
        said = f"{self.reliable.sum()} of {len(self.names)} quantities reliable"
        return f"<BiasEstimate by {self.method}: {self.value:.2g} sd, {said}{reservations(self.warnings)}>"


def compared_biases(estimates: Mapping[str, BiasEstimate], most: int | None) -> Table | None:
    """Tabulate biases of several samples, those of a quantity below each other, the worst first.

    Parameters
    ----------
    estimates : mapping of str to BiasEstimate
        By sample.
    most : int or None
        Number of rows, but at least three quantities; all for None.

    Returns
    -------
    Table or None
        None where no bias is known.
    """
    rows: dict[str, list[tuple[str, Quantity]]] = {}
    for sample, found in estimates.items():
        for each in found.quantities:
            rows.setdefault(each.name, []).append((sample, each))
    if not any(found.reliable.any() for found in estimates.values()):
        return None
    shown = None if most is None else max(_NAMED, most // len(estimates))
    worst = sorted(rows.values(), key=lambda those: max(each.order for _, each in those), reverse=True)[:shown]
    cells = tuple((each.name, sample, *each.bias_cells) for those in worst for sample, each in those)
    return Table(_CAPTION, ("quantity", "sample", "bias (sd)", "sd bias"), cells)


def _is_beyond(off: float, margin: float) -> bool:
    return max(margin, _SMALLEST) < abs(off) < math.inf


def _within(quantities: Sequence[Quantity]) -> str:
    """The largest biases that the margins allow."""
    mean = max(abs(each.mean_bias) + each.mean_margin for each in quantities)
    sd = max(abs(each.sd_bias) + each.sd_margin for each in quantities)
    return f"mean within {max(mean, _FINEST):.2g} sd, sd within {100.0 * math.expm1(max(sd, _FINEST)):.2g}%"


def _to_the_margin(value: float, quantity: Quantity) -> str:
    """A mean in its own unit, to the last place that its margin leaves."""
    finest = quantity.sd * max(quantity.mean_margin, _FINEST)
    if not (math.isfinite(value) and quantity.mean_margin and 0.0 < finest < math.inf):
        return compact(value if math.isfinite(value) else None)
    places = 1 - math.floor(math.log10(finest))
    return _fixed(value, places) if 0 <= places <= _MOST_PLACES and abs(value) < _LARGE else compact(value)


def _fixed(value: float, places: int, sign: bool = False) -> str:
    """A number with that many places; one that is rounded to zero has no sign."""
    rounded = round(value, places) or 0.0
    return f"{rounded:{'+' * (sign and rounded != 0.0)}.{places}f}"


def _places(margin: float) -> int:
    """Decimal places at which a margin has a digit or two."""
    return 2 if margin >= 0.01 else 3
