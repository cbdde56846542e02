"""Estimated biases of means and standard deviations, with text and tables."""

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

Method = Literal["regression", "run", "modes"]

_SMALLEST = 0.05  # smallest bias in posterior sd that is reported
_FINEST = 0.001  # smallest margin of error that is printed
_MOST_PLACES, _LARGE = 6, 1e6  # limits on the numbers that are printed without an exponent
_MOST_ROWS = 10  # maximum number of rows in a table
_NAMED = 3  # maximum number of quantities in a sentence
LEAST_SIZE = 0.2  # smallest effective sample size of useful weights, relative to the number of draws
_CAPTION = "Biases of means and standard deviations, largest first"
_TITLE = "bias of means and standard deviations"
_FEATURES = {
    "quadratic": "quadratic vector fields",
    "chosen": "affine and some quadratic vector fields; more draws would allow all quadratic fields",
    "affine": "affine vector fields; more draws would allow quadratic fields",
    "pairs": "pairs of coordinates; more draws would allow all affine vector fields",
    "diagonal": "individual coordinates; more draws would allow pairs",
    "own4": "individual coordinates; more draws would allow pairs",
}
UNITS = "Bias in posterior standard deviations, including Monte Carlo error, with 95% margins of error."
_METHODS = {
    "regression": "regression on Stein features",
    "run": "a short exact run from every draw",
    "modes": "regression within each mode and mode weights from the log density",
}


@dataclass(frozen=True)
class Quantity:
    """Mean and standard deviation of one quantity, as in `BiasEstimate`."""

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
    def mean_is_biased(self) -> bool:
        """True if the bias of the mean exceeds both its margin of error and 0.05 sd."""
        return max(self.mean_margin, _SMALLEST) < abs(self.mean_bias) < math.inf

    @property
    def sd_is_biased(self) -> bool:
        """True if the bias of the sd exceeds both its margin of error and 5%."""
        return max(self.sd_margin, _SMALLEST) < abs(self.sd_bias) < math.inf

    @property
    def is_biased(self) -> bool:
        """True if the mean or the standard deviation is biased."""
        return self.mean_is_biased or self.sd_is_biased

    @property
    def order(self) -> tuple[bool, bool, float]:
        """Key for sorting by reliability, then `is_biased`, then the size of the bias."""
        size = max(abs(self.mean_bias), abs(self.sd_bias))
        return self.reliable, self.is_biased, -math.inf if math.isnan(size) else size

    def __str__(self) -> str:
        """Return the biases as text, or "" if they are within their margins of error.

        For example, "mean 0.90 ± 0.10 sd too low, sd 26% ± 3% too small".
        """
        parts = []
        if self.mean_is_biased:
            parts.append(f"mean {self.mean_bias_text(sign=False)} sd too {'high' if self.mean_bias > 0.0 else 'low'}")
        if self.sd_is_biased:
            parts.append(f"sd {self._sd_bias_text(sign=False)} too {'large' if self.sd_bias > 0.0 else 'small'}")
        return ", ".join(parts)

    @property
    def cells(self) -> tuple[str, str, str]:
        """Corrected mean and biases of the mean and sd, formatted as table cells."""
        if not self.reliable:
            return "?", "?", "?"
        return self.mean_text(self.mean), self.mean_bias_text(), self._sd_bias_text()

    def mean_text(self, value: float) -> str:
        """Return a mean in the quantity's own unit, rounded to its margin of error."""
        finest = self.sd * max(self.mean_margin, _FINEST)
        if not (math.isfinite(value) and self.mean_margin and 0.0 < finest < math.inf):
            return compact(value if math.isfinite(value) else None)
        places = 1 - math.floor(math.log10(finest))
        return _fixed(value, places) if 0 <= places <= _MOST_PLACES and abs(value) < _LARGE else compact(value)

    def mean_bias_text(self, sign: bool = True) -> str:
        """Return the bias of the mean and its margin of error, in sd."""
        bias, margin = self.mean_bias, max(self.mean_margin, _FINEST)
        places = _places(margin)
        return f"{_fixed(bias if sign else abs(bias), places, sign)} ± {margin:.{places}f}"

    def _sd_bias_text(self, sign: bool = True) -> str:
        ratio = math.exp(self.sd_bias)
        bias, margin = 100.0 * (ratio - 1.0), 100.0 * ratio * max(self.sd_margin, _FINEST)
        places = max(0, _places(0.01 * margin) - 2)
        return f"{_fixed(bias if sign else abs(bias), places, sign)}% ± {margin:.{places}f}%"


@dataclass(frozen=True, eq=False)
class BiasEstimate(Measurement):
    """Estimated means and sds under the target, and estimated biases of the draws.

    Attributes
    ----------
    names : tuple of str
        Names of the m quantities: the d parameters, followed by the functions.
    mean, sd : ndarray, shape (m,)
        Estimates of the mean and standard deviation under the target, in the quantity's own unit.
    draws_mean, draws_sd : ndarray, shape (m,)
        Mean and standard deviation of the draws.
    mean_margin, sd_margin : ndarray, shape (m,)
        95% margins of error of `mean_bias` and `sd_bias`. The margins cover only errors that the Stein features can
        detect. The margin of `mean_bias` includes the error of `sd`, which is the unit of `mean_bias`.
    reason : tuple of str
        Reason why the estimate of each quantity is not reliable, or an empty string if it is reliable.
    at_least : ndarray, shape (m,)
        Lower bound on the bias of each mean, in units of `sd`. The bound is the distance by which an exact run moved
        the mean if the run ended before the estimate was reliable, and 0 otherwise.
    weights : ndarray, shape (n,), or None
        Weights of the draws, summing to one, under which Stein features have mean zero. None if there are too few
        draws.
    method : {"regression", "run", "modes"}
        Method of the estimates. For "modes", regression estimates within each mode are combined using the mode weights.
    moved : Sample or None
        Positions of the draws after an exact run.
    gradients : int
        Number of gradient evaluations per draw in the run.
    hidden : str
        Reason why the weights of regions may be biased, or an empty string. If there is a reason, no estimate is
        reliable.
    unranked : str
        Reason why samples must not be ranked by `value`, or an empty string if ranking is allowed.
    is_multimodal : bool
        True if a valley of the density separates groups of draws.
    draws : int
        Number of draws.
    features : {"quadratic", "chosen", "affine", "pairs", "diagonal", "own4"}
        Richest set of Stein features, as defined in `steinkit.diagnosis.bias.stein_regression`.
    warnings : tuple of str
        Limitations of the estimates.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 0.8 * np.random.default_rng(0).standard_normal((1000, 2))
    >>> found = sk.estimate_bias(draws, sk.targets.Normal([0.0, 0.0]))
    >>> found.reliable.all(), found.is_off_by(0.5), found.quantities[0].sd_bias < -0.1
    (np.True_, False, True)
    """

    measure: ClassVar[str] = "bias"
    title: ClassVar[str] = _TITLE

    names: tuple[str, ...]
    mean: Floats
    sd: Floats
    draws_mean: Floats
    draws_sd: Floats
    mean_margin: Floats
    sd_margin: Floats
    reason: tuple[str, ...]
    at_least: Floats
    weights: Floats | None
    method: Method
    moved: Sample | None
    gradients: int
    hidden: str
    unranked: str = field()
    is_multimodal: bool
    draws: int
    features: FeatureSet
    warnings: tuple[str, ...]

    @cached_property
    def mean_bias(self) -> Floats:
        """Mean of the draws minus `mean`, an array of shape (m,) in units of `sd`."""
        return np.asarray((self.draws_mean - self.mean) / self.sd)

    @cached_property
    def sd_bias(self) -> Floats:
        """Log ratio of `draws_sd` to `sd`, about -0.3 if the draws are 26% too narrow."""
        return np.asarray(np.log(self.draws_sd / self.sd))

    @cached_property
    def reliable(self) -> NDArray[np.bool_]:
        """Mask of the quantities with reliable estimates, an array of shape (m,)."""
        return np.array([not each for each in self.reason])

    @property
    def effective_size(self) -> float:
        """Kish's effective sample size of the weights, or 0 if there are no weights."""
        return 0.0 if self.weights is None else 1.0 / float(self.weights @ self.weights)

    @property
    def value(self) -> float:
        """Root mean square bias, sqrt(mean(mean_bias^2 + sd_bias^2))."""
        return float(np.sqrt(np.mean(self.mean_bias**2 + self.sd_bias**2)))

    @property
    def margin(self) -> float:
        """Margin of error of `value`: the root mean square of all margins."""
        return float(np.sqrt(np.mean(self.mean_margin**2 + self.sd_margin**2)))

    @property
    def lower(self) -> float:
        """`value` minus its margin of error, but not less than 0."""
        return max(0.0, self.value - self.margin)

    @property
    def upper(self) -> float:
        """`value` plus its margin of error."""
        return self.value + self.margin

    @property
    def seconds(self) -> dict[str, float]:
        """Empty dictionary, because times are not recorded."""
        return {}

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Quantities, sorted with the reliable and strongly biased ones first."""
        columns = [getattr(self, name) for name in Quantity.__dataclass_fields__ if name not in ("name", "reason")]
        rows = zip(self.names, *(column.tolist() for column in columns), self.reason, strict=True)
        return tuple(sorted((Quantity(*row) for row in rows), key=lambda each: each.order, reverse=True))

    @property
    def has_useful_weights(self) -> bool:
        """True if `effective_size` is at least a fifth of the number of draws."""
        return self.weights is not None and self.effective_size >= LEAST_SIZE * self.draws

    def is_off_by(self, delta: float) -> bool:
        """Return True if a mean is certainly biased by more than `delta`.

        Parameters
        ----------
        delta : float
            Threshold for the bias, in standard deviations.

        Returns
        -------
        bool
            True if a reliable estimate of a mean's bias exceeds `delta` by more than its margin of error.
        """
        return bool((self.reliable & (np.abs(self.mean_bias) - self.mean_margin > delta)).any())

    def worst(self, most: int | None = None) -> NDArray[np.int64]:
        """Return the indices in `names` of the first entries of `quantities`.

        Parameters
        ----------
        most : int, optional
            Number of quantities. By default, all quantities are included.

        Returns
        -------
        ndarray of int
            Indices of the quantities.
        """
        return np.array([self.names.index(each.name) for each in self.quantities[:most]], dtype=np.int64)

    def table(self, most: int | None = _MOST_ROWS) -> str:
        """Return a text table of the biases, largest first.

        Parameters
        ----------
        most : int or None
            Number of quantities, or None for all quantities. The default is 10.

        Returns
        -------
        str
            One row per quantity.
        """
        return f"{self._table(None).text(('quantity',), most)}\n{filled(UNITS)}"

    def statements(self, reference: Reference | None = None) -> tuple[Statement, ...]:
        """State the overall bias, the bias of each quantity, and the method."""
        number = (
            f"The root mean square {_TITLE} is {self.value:.3g} ± {max(self.margin, _FINEST):.2g} posterior standard "
            "deviations."
        )
        how = f"Estimated by {_METHODS[self.method]}. The features cover {_FEATURES[self.features]}."
        return (
            Statement("number", f"What is the {_TITLE}?", number),
            Statement("findings", "How biased are the estimates?", self.sentence, continues=True),
            Statement("method", "How was it estimated?", how),
        )

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """Return a table of the ten largest biases if an estimate is reliable."""
        return (self._table(_MOST_ROWS),) if self.reliable.any() else ()

    @property
    def sentence(self) -> str:
        """Sentences about large biases, accurate quantities and unknown biases."""
        reliable = self._reliable
        biased = [each for each in reliable if each.is_biased]
        accurate = [each for each in reliable if not each.is_biased]
        parts = []
        if biased:
            more = f"; {len(biased) - _NAMED} more are biased" if len(biased) > _NAMED else ""
            parts.append(f"{'; '.join(f'{each.name}: {each}' for each in biased[:_NAMED])}{more}.")
        if accurate:
            who = listed([each.name for each in accurate]) if biased else f"All{self._known_only} quantities"
            parts.append(f"{who}: {_within(accurate)}.")
        return " ".join([*parts, *self.not_known()])

    @property
    def accuracy_sentence(self) -> str:
        """Sentence on the accuracy of all quantities, or "" if a bias is unknown."""
        return f"All quantities: {_within(self.quantities)}." if self.reliable.all() else ""

    @property
    def rejected_sentence(self) -> str:
        """Variant of `sentence` for rejected draws, with the command that corrects them."""
        reliable = self._reliable
        if not reliable:
            return self.sentence
        if not any(each.is_biased for each in reliable):
            return f"The biases of means and sds are within their margins of error. {self.sentence}"
        corrects = "corrects them" if self.reliable.all() and self.has_useful_weights else "may correct them"
        if self.method == "modes":  # the command does not change the draws within each mode
            corrects = "corrects the mode weights"
        return f"{self.sentence} `steinkit repair` {corrects}."

    def matters_sentence(self, delta: float) -> str:
        """State whether a mean is biased by more than `delta` sd.

        Parameters
        ----------
        delta : float
            Threshold for the bias, in posterior standard deviations.

        Returns
        -------
        str
            A sentence, or an empty string if no estimate is reliable.
        """
        reliable = self._reliable
        if not reliable:
            return ""
        if self.is_off_by(delta):
            worst = max(reliable, key=lambda each: abs(each.mean_bias) - each.mean_margin)
            return f"The mean of {worst.name} is biased by {worst.mean_bias_text(sign=False)} sd, more than {delta:g}."
        widest = max(reliable, key=lambda each: abs(each.mean_bias) + each.mean_margin)
        is_within = abs(widest.mean_bias) + widest.mean_margin <= delta
        largest = f"{widest.name} is biased by {widest.mean_bias_text(sign=False)} sd"
        if is_within:
            return f"No{self._known_only} mean is biased by more than {delta:g} sd: {largest}."
        return f"It is uncertain whether a mean is biased by more than {delta:g} sd: {largest}."

    @property
    def _reliable(self) -> list[Quantity]:
        return [each for each in self.quantities if each.reliable]

    @property
    def _known_only(self) -> str:
        return "" if self.reliable.all() else " reliable"

    def not_known(self) -> list[str]:
        """State which biases could not be estimated, with reasons and lower bounds.

        Returns
        -------
        list of str
            Sentences.
        """
        unknown = [each for each in self.quantities if not each.reliable]
        reasons: dict[str, list[str]] = {}
        for each in unknown:
            reasons.setdefault(each.reason, []).append(each.name)
        parts = [f"The bias of {listed(names)} could not be estimated: {reason}." for reason, names in reasons.items()]
        if len(reasons) == 1 and len(unknown) == len(self.names):
            parts = [f"The biases of means and sds could not be estimated: {unknown[0].reason}."]
        moved = sorted((each for each in unknown if each.at_least > 0.0), key=lambda each: -each.at_least)[:_NAMED]
        if moved:
            worst = listed([f"{each.name} by {each.at_least:.2g} sd" for each in moved])
            parts.append(f"The run was too short. The means moved by at least the following distances: {worst}.")
        return parts

    def _table(self, most: int | None) -> Table:
        rows = tuple((each.name, each.mean_text(each.draws_mean), *each.cells) for each in self.quantities[:most])
        return Table(_CAPTION, ("quantity", "mean", "corrected", "bias (sd)", "sd bias"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as they appear in JSON.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        return {
            "measure": "bias",
            **{each: in_json(getattr(self, each)) for each in ("value", "margin", "lower", "upper")},
            "method": self.method,
            "quantities": [in_json(asdict(each)) for each in self.quantities],
            **{each: getattr(self, each) for each in ("effective_size", "draws", "features", "gradients")},
            "hidden": self.hidden or None,
            "unranked": self.unranked or None,
            "is_multimodal": self.is_multimodal,
        }

    def __repr__(self) -> str:
        known = f"{self.reliable.sum()} of {len(self.names)} quantities reliable"
        return f"<BiasEstimate by {self.method}: {self.value:.2g} sd, {known}{reservations(self.warnings)}>"


def compared_biases(estimates: Mapping[str, BiasEstimate], most: int | None) -> Table | None:
    """Tabulate the biases of several samples by quantity, largest first.

    Parameters
    ----------
    estimates : mapping of str to BiasEstimate
        Estimates, keyed by the name of the sample.
    most : int or None
        Approximate number of rows, or None for all quantities. At least three quantities are included.

    Returns
    -------
    Table or None
        None if no bias could be estimated.
    """
    rows: dict[str, list[tuple[str, Quantity]]] = {}
    for sample, found in estimates.items():
        for each in found.quantities:
            rows.setdefault(each.name, []).append((sample, each))
    if not any(found.reliable.any() for found in estimates.values()):
        return None
    shown = None if most is None else max(_NAMED, most // len(estimates))
    worst = sorted(rows.values(), key=lambda those: max(each.order for _, each in those), reverse=True)[:shown]
    cells = tuple((each.name, sample, *each.cells[1:]) for those in worst for sample, each in those)
    return Table(_CAPTION, ("quantity", "sample", "bias (sd)", "sd bias"), cells)


def _within(quantities: Sequence[Quantity]) -> str:
    """Return upper bounds on the absolute biases of quantities, as text."""
    mean = max(abs(each.mean_bias) + each.mean_margin for each in quantities)
    sd = max(abs(each.sd_bias) + each.sd_margin for each in quantities)
    return f"mean within {max(mean, _FINEST):.2g} sd, sd within {100.0 * math.expm1(max(sd, _FINEST)):.2g}%"


def _fixed(value: float, places: int, sign: bool = False) -> str:
    """Format a number with the given number of decimal places.

    A number that rounds to zero is printed without a sign.
    """
    rounded = round(value, places) or 0.0
    return f"{rounded:{'+' * (sign and rounded != 0.0)}.{places}f}"


def _places(margin: float) -> int:
    """Return the number of decimal places that show one or two digits of a margin."""
    return 2 if margin >= 0.01 else 3
