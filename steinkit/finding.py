"""A finding: one problem of a sample, as all tests report it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from steinkit.result import in_json
from steinkit.text import listed, standard_errors

ALONG_AXIS = "wrong"
"""Direction of a shape along a principal axis, which has no parameter's unit."""

_OPPOSITE = {"too low": "too high", "too high": "too low", "too narrow": "too wide", "too wide": "too narrow"}


class Kind(StrEnum):
    """Aspect of the distribution that is biased."""

    LOCATION = "location"
    SCALE = "scale"
    DEPENDENCE = "dependence"
    TAILS = "tails"
    SHAPE = "shape"
    CONDITIONAL_LOCATION = "conditional location"
    CONDITIONAL_SCALE = "conditional scale"


@dataclass(frozen=True)
class Finding:
    """One problem of a sample; `str` returns it as a clause: "mu is too high".

    Attributes
    ----------
    kind : Kind
        A conditional location or scale concerns one parameter, given the distance of another one from its median.
    parameters : tuple of str
        One parameter; the pair of a dependence; for a conditional location or scale the biased parameter and then the
        one in the condition; those with the largest loadings on a principal axis; or all.
    direction : str
        Difference between the draws and the target, given the other parameters: "too high", "too low"; "too wide",
        "too narrow"; "correlation too weak", "correlation too strong", "correlation of wrong sign"; for tails "too
        heavy", "too light"; for a shape the region with too many or too few draws, as "too many draws below -1", or
        "wrong" along a principal axis; for a conditional location or scale the difference near the other parameter's
        median, as "too narrow where x2 is near its median".
    z : float
        Evidence, in standard errors.
    size : float
        Size in standard units; NaN if it is not known. For independent normal parameters a shift in standard
        deviations, the relative error of a standard deviation, or the error of a correlation. If parameters are
        correlated, it is larger for a bias of one parameter alone, d / (1 - R^2) for a shift d of x_j if the others
        explain the fraction R^2 of its variance, and smaller if the others are shifted with it. For other targets, and
        for a conditional location or scale, it is the mean of a function that has mean zero under the target. For a
        shape it is the approximate fraction of misplaced draws.
    source : str
        Test that reported it: "moments", "bounded", "sliced" or "invariance". The invariance test concerns the marginal
        distribution of a parameter, the others its distribution given the other parameters.
    explained_by : tuple of str
        Parameters with a shift that explains this finding. The finding is then not a separate problem.

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
        """Clause with its evidence in parentheses."""
        kernel = " under an exact Markov kernel" if self.source == "invariance" else ""
        return f"{self} (z = {standard_errors(self.z)}{kernel})"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a JSON document; an unknown size is null.

        Returns
        -------
        dict
            Strings, finite numbers and lists.
        """
        values = asdict(self) | {"kind": str(self.kind)}
        return {name: in_json(value) for name, value in values.items()}
