"""Descriptions of problems in a sample, shared by all tests."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from steinkit.result import in_json
from steinkit.text import listed, standard_errors

ALONG_AXIS = "wrong"
"""Direction of a finding about the shape along a principal axis."""

_OPPOSITE = {"too low": "too high", "too high": "too low", "too narrow": "too wide", "too wide": "too narrow"}


class Kind(StrEnum):
    """Biased aspect of the distribution."""

    LOCATION = "location"
    SCALE = "scale"
    DEPENDENCE = "dependence"
    TAILS = "tails"
    SHAPE = "shape"
    CONDITIONAL_LOCATION = "conditional location"
    CONDITIONAL_SCALE = "conditional scale"


@dataclass(frozen=True)
class Finding:
    """One problem in a sample, which `str` converts to a clause.

    Attributes
    ----------
    kind : Kind
        Biased aspect of the distribution. A conditional location or scale refers to one parameter, given the distance
        of another parameter from its median.
    parameters : tuple of str
        The biased parameter, or the two parameters of a dependence. For a conditional location or scale, the biased
        parameter is followed by the conditioning parameter. For a principal axis, the tuple contains the parameters
        with the largest loadings. For the total spread or the tails, it contains all parameters.
    direction : str
        Difference between the draws and the target, given the other parameters. Possible values are "too high", "too
        low", "too wide", "too narrow", "correlation too weak", "correlation too strong" and "correlation of wrong
        sign". For tails, the possible values are "too heavy" and "too light". For a shape, the direction states the
        region with too many or too few draws, such as "too many draws below -1", and is "wrong" along a principal axis.
        For a conditional location or scale, the direction states the difference near the median of the other parameter,
        such as "too narrow where x2 is near its median".
    z : float
        Strength of the evidence, in standard errors.
    size : float
        Size of the bias in standard units, or NaN if it is not known. For independent normal parameters, the size is
        the shift in standard deviations, the relative error of a standard deviation, or the error in a correlation. If
        parameters are correlated, the size depends on the other parameters: a shift d of x_j alone has the size
        d / (1 - R^2), where R^2 is the fraction of the variance of x_j that the others explain, and the size is smaller
        if the others are shifted with x_j. For other targets, and for a conditional location or scale, the size is the
        mean of a function that has mean zero under the target. For a shape, the size is the approximate fraction of
        misplaced draws.
    source : str
        Name of the test: "moments", "bounded", "sliced" or "invariance". The finding of the invariance test refers to
        the marginal distribution of a parameter. All other findings refer to the conditional distribution given the
        remaining parameters.
    explained_by : tuple of str
        Parameters with shifts that explain this finding. If there are such parameters, the finding is not a separate
        problem.

    Examples
    --------
    >>> from steinkit.finding import Finding, Kind
    >>> str(Finding(Kind.DEPENDENCE, ("mu", "tau"), "correlation too weak", 5.2))
    'the correlation between mu and tau is too weak'
    """

    kind: Kind
    parameters: tuple[str, ...]
    direction: str
    z: float
    size: float = math.nan
    source: str = "moments"
    explained_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        names, direction = self.parameters, self.direction
        named, several = listed(names), len(names) > 1
        match self.kind:
            case Kind.SHAPE:
                where = "" if direction == ALONG_AXIS else f": {direction}"
                return f"the {'joint ' * several}distribution of {named} has an incorrect shape{where}"
            case Kind.CONDITIONAL_LOCATION | Kind.CONDITIONAL_SCALE:
                far = _OPPOSITE[direction.partition(" where ")[0]]
                return f"{names[0]} is {direction}, and {far} far from it"
            case Kind.DEPENDENCE:
                how = direction.removeprefix("correlation ")
                wrong = "has the wrong sign" if how == "of wrong sign" else f"is {how}"
                return f"the correlation between {named} {wrong}"
            case Kind.TAILS:
                return f"the tails{'' if several else f' of {named}'} are {direction}"
        return f"{named} together are {direction}" if several else f"{named} is {direction}"

    @property
    def evidence(self) -> str:
        """Clause that describes the finding, followed by the z-score in parentheses."""
        kernel = " under an exact Markov kernel" if self.source == "invariance" else ""
        return f"{self} (z = {standard_errors(self.z)}{kernel})"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a JSON document, with null for an unknown size.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers and lists.
        """
        values = asdict(self) | {"kind": str(self.kind)}
        return {name: in_json(value) for name, value in values.items()}
