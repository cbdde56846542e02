"""One thing that is wrong with a sample: the form in which all tests report a problem."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from steinkit.text import listed, standard_errors

ALONG_AXIS = "wrong"
"""Direction of a shape along a principal axis, which is in no parameter's unit."""

_NAMED = 3  # parameters in a clause
_OPPOSITE = {"too low": "too high", "too high": "too low", "too narrow": "too wide", "too wide": "too narrow"}


class Kind(StrEnum):
    """Aspect of a distribution that is wrong."""

    LOCATION = "location"
    SCALE = "scale"
    DEPENDENCE = "dependence"
    TAILS = "tails"
    SHAPE = "shape"
    CONDITIONAL_LOCATION = "conditional location"
    CONDITIONAL_SCALE = "conditional scale"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a sample. `str` returns it as a clause: "mu is too high".

    Attributes
    ----------
    kind : Kind
        A conditional location or scale is that of one parameter given the distance of another from its median.
    parameters : tuple of str
        One; the pair of a dependence; of a conditional location or scale the one that is wrong, then the one that it
        is conditioned on; those with the largest loadings on a principal axis; or all.
    direction : str
        How the draws differ, given the other parameters: "too high", "too low"; "too wide", "too narrow";
        "correlation too weak", "correlation too strong", "correlation of wrong sign"; for tails "too heavy", "too
        light"; for a shape where draws are too many or too few, as "too many draws below -1", or "wrong" along a
        principal axis; for a conditional location or scale how they differ near the other's median, as "too narrow
        where x2 is near its median".
    z : float
        Evidence, in standard errors from zero.
    size : float
        Size in standard units; NaN if it is not known. For independent normal parameters a shift in standard
        deviations, the relative error of a standard deviation, or the error of a correlation. Under correlation it is
        larger where one parameter alone is biased: d / (1 - R^2) for a shift d of x_j, where the others explain the
        share R^2 of its variance; and smaller where others are shifted along. For other targets, and for a conditional
        location or scale, it is the mean of a function whose mean under the target is zero. For a shape it is the
        approximate share of misplaced draws.
    source : str
        Test that found it: "moments", "bounded", "sliced" or "invariance". The invariance test is about the marginal
        distribution of a parameter, the others about that given the other parameters.
    explained_by : tuple of str
        Parameters whose shift explains it, so that it is not a problem of its own.

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
        named, several = listed(names, most=_NAMED), len(names) > 1
        match self.kind:
            case Kind.SHAPE:
                where = "" if direction == ALONG_AXIS else f": {direction}"
                return f"the {'joint ' * several}shape of {named} is wrong{where}"
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
        """The clause with its evidence in parentheses."""
        kernel = " under an exact Markov kernel" if self.source == "invariance" else ""
        return f"{self} (z = {standard_errors(self.z)}{kernel})"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON lists it; a size that is not known is null.

        Returns
        -------
        dict
            Strings, finite numbers and lists.
        """
        size = None if math.isnan(self.size) else self.size
        return (
            asdict(self)
            | {"kind": str(self.kind), "size": size, "parameters": [*self.parameters]}
            | {"explained_by": [*self.explained_by]}
        )
