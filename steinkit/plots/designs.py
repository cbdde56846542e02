"""Pictures of sequential tests: their error and data use, what they do to acceptance probabilities, their designs.

Each function draws on the Axes given, or on new ones, and returns the Axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError
from steinkit.plots.axes import axes_or_new, legend_below
from steinkit.plots.styles import COLOURS, look
from steinkit.sample import Floats
from steinkit.samplers import AcceptanceBias, operating_characteristics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_QUANTITIES = {"error": "probability of a wrong decision", "data_use": "share of the data read"}
_SHOWN = 400  # means on a curve
_WORST: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.0}


def characteristic_curves(
    quantity: str,
    *,
    first_fraction: float,
    epsilons: Sequence[float],
    alpha: float = 0.5,
    simulated: Mapping[float, tuple[ArrayLike, ArrayLike, ArrayLike]] | None = None,
    largest_mean: float = 4.0,
    ax: Axes | None = None,
) -> Axes:
    """Plot the error or the data use of the austerity test against the standardised mean.

    Parameters
    ----------
    quantity : {"error", "data_use"}
        Probability of a wrong decision, or expected share of the data read.
    first_fraction : float
        Share of the data read at each look, in (0, 1].
    epsilons : sequence of float
        Errors allowed at one look: a curve for each.
    alpha : float
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1].
    simulated : mapping of float to (means, values, standard errors), optional
        What actual tests did, by epsilon: marks with bars of two standard errors.
    largest_mean : float
        Where the horizontal axis ends.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.

    Raises
    ------
    UsageError
        If there is no such quantity, or a setting of the test is out of range.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), figures 1 and 10.
    """
    if quantity not in _QUANTITIES:
        raise UsageError(f"quantity must be one of {', '.join(_QUANTITIES)}; received {quantity!r}")
    ax = axes_or_new(ax)
    means = np.linspace(0.0, largest_mean, _SHOWN)
    for number, epsilon in enumerate(epsilons):
        color, marker, dashes = look(number)
        found = operating_characteristics(means, first_fraction=first_fraction, epsilon=epsilon, alpha=alpha)
        ax.plot(means, getattr(found, quantity), color=color, linestyle=dashes, label=f"epsilon {epsilon:g}")
        if simulated is not None and epsilon in simulated:
            at, values, deviations = simulated[epsilon]
            bars = 2.0 * np.asarray(deviations)
            ax.errorbar(at, values, yerr=bars, fmt=marker, markersize=4, color=color, capsize=2)
    ax.set(xlabel="standardised mean", ylabel=_QUANTITIES[quantity], xlim=(-0.02 * largest_mean, largest_mean))
    ax.set_ylim(bottom=0.0)
    ax.legend(fontsize=9)
    return ax


def acceptance_errors(found: AcceptanceBias, worst: float, ax: Axes | None = None) -> Axes:
    """Plot the bias of acceptance probabilities, and the error of the tests behind them, move by move.

    Parameters
    ----------
    found : AcceptanceBias
        Of the moves of a trial run, from `acceptance_bias`.
    worst : float
        Error of the test at mean 0, which bounds both.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), figure 11.
    """
    ax = axes_or_new(ax)
    ax.axhline(worst, label="error at mean 0", **_WORST)
    ax.plot(found.probability, found.error, "x", color=COLOURS[0], markersize=5, label="error of the test")
    ax.plot(
        found.probability,
        np.abs(found.bias),
        "o",
        color=COLOURS[2],
        markersize=5,
        fillstyle="none",
        label="bias of the acceptance probability",
    )
    ax.set(xlabel="exact acceptance probability", ylabel="probability", xlim=(-0.03, 1.03))
    ax.set_ylim(0.0, 1.45 * worst)  # room for the legend
    ax.legend(fontsize=9, loc="upper center")
    return ax


def acceptance_probabilities(found: AcceptanceBias, ax: Axes | None = None) -> Axes:
    """Plot the acceptance probabilities of a sequential test against those of Metropolis.

    Parameters
    ----------
    found : AcceptanceBias
        Of the moves of a trial run, from `acceptance_bias`.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), figure 12.
    """
    ax = axes_or_new(ax)
    ax.plot([0.0, 1.0], [0.0, 1.0], label="no bias", **_WORST)
    ax.plot(
        found.probability,
        found.probability + found.bias,
        "o",
        color=COLOURS[2],
        fillstyle="none",
        markersize=5,
        label="moves of a run",
    )
    ax.set(xlabel="exact acceptance probability", ylabel="acceptance probability of the test")
    ax.set_aspect("equal")
    ax.legend(fontsize=9)
    return ax


def design_comparison(
    quantity: str, targets: ArrayLike, found: Mapping[str, Sequence[AcceptanceBias]], ax: Axes | None = None
) -> Axes:
    """Plot what designs for several target errors do on moves: their mean absolute bias, or the data they read.

    Parameters
    ----------
    quantity : {"error", "data_use"}
        Mean absolute bias of the acceptance probabilities, or mean share of the data read.
    targets : array_like, shape (n,)
        Errors that the designs were allowed.
    found : mapping of str to sequence of n AcceptanceBias
        What each kind of design does on the moves, for each target.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.

    Raises
    ------
    UsageError
        If there is no such quantity.
    InputError
        If a kind of design has not one entry for each target.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), figure 6.
    """
    if quantity not in _QUANTITIES:
        raise UsageError(f"quantity must be one of {', '.join(_QUANTITIES)}; received {quantity!r}")
    ax = axes_or_new(ax)
    allowed: Floats = np.asarray(targets, dtype=np.float64)
    if quantity == "error":
        ax.plot(allowed, allowed, label="as designed", **_WORST)
    for number, (name, each) in enumerate(found.items()):
        if len(each) != len(allowed):
            raise InputError(f"{name}: {len(each)} results for {len(allowed)} target errors; give one for each")
        values = [np.abs(one.bias).mean() if quantity == "error" else one.data_use.mean() for one in each]
        ax.plot(allowed, values, **look(number)._asdict(), markersize=5, label=name)
    ax.set(xscale="log", xlabel="target error")
    ax.set_xticks(allowed, [f"{target:g}" for target in allowed])
    ax.set_xticks([], minor=True)
    if quantity == "error":
        ax.set(yscale="log", ylabel="mean bias of acceptance probabilities")
    else:
        ax.set_ylabel(_QUANTITIES[quantity])
        ax.set_ylim(bottom=0.0)
    legend_below(ax)
    return ax
