"""BlackJAX: a log density of a pytree, the states of a run, and the gradients that these hold.

BlackJAX samples the log density it is given, so that positions are draws from it as they are: the coordinates of the
target are those of the position, in the order of JAX's pytrees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steinkit.adapters.model import as_floats, check, refuse_discrete
from steinkit.adapters.stored_scores import compare_stored, from_stored
from steinkit.containers.arrays import require_dims
from steinkit.errors import InputError, UsageError
from steinkit.jax_functions import TreeCoordinates, jax_module
from steinkit.sample import Floats, Sample
from steinkit.target import Target


def from_blackjax(
    logdensity: Callable[[Any], Any] | None, states: Any, *, dims: Sequence[str] = ("draw",)
) -> tuple[Target, Sample]:
    """Make a target of a log density, and a sample of the states that BlackJAX made of it.

    Parameters
    ----------
    logdensity : callable, pytree -> scalar
        As BlackJAX was given it. None takes the gradients in the states for the target's score.
    states : states of any of BlackJAX's samplers, stacked over draws; or their positions
        As of `jax.lax.scan` or `blackjax.util.run_inference_algorithm`.
    dims : sequence of str
        What the leading axes of every array are: ``("draw",)``, ``("chain", "draw")`` as of a `vmap` or `pmap` over
        the whole run, ``("draw", "chain")`` as of a loop over steps of all chains.

    Returns
    -------
    Target, Sample
        Coordinates are named by the way to them: ``mu``, ``theta[0]``, ``layers.0.bias[2]``.

    Raises
    ------
    InputError
        If the states have other leading axes; if the positions hold whole numbers; if the score is not the gradient of
        the log density; without a log density, if the states hold no gradients or these have the wrong sign or scale.
    UsageError
        If ``dims`` are none of these.
    MissingDependencyError
        If JAX is not installed (``pip install 'steinkit[jax]'``).

    Warns
    -----
    SteinkitWarning
        If the gradients in the states are not those of ``logdensity``: the draws were made for another density.

    Examples
    --------
    >>> _, (states, _) = blackjax.util.run_inference_algorithm(key, nuts, 1000, initial_position=x)  # doctest: +SKIP
    >>> target, sample = sk.from_blackjax(logdensity, states)  # doctest: +SKIP
    """
    dims = require_dims(dims) or ("draw",)
    if logdensity is not None and not callable(logdensity):
        raise UsageError(
            "from_blackjax takes the log density, a function, and then the states; received "
            f"{type(logdensity).__name__}"
        )
    positions = getattr(states, "position", states)
    tree = TreeCoordinates.of(positions, lead=len(dims))
    leaves = jax_module().tree_util.tree_leaves(positions)
    discrete = [name for name, leaf in zip(tree.leaves, leaves, strict=True) if np.asarray(leaf).dtype.kind in "biu"]
    refuse_discrete(discrete, "the position")
    lead = _leading_axes(tree, leaves, states, dims)
    points = _chain_by_chain(tree.ravel(positions, lead), dims)
    gradients, heights = getattr(states, "logdensity_grad", None), getattr(states, "logdensity", None)
    scores = None if gradients is None else _chain_by_chain(tree.ravel(gradients, lead), dims)
    if logdensity is None:
        if scores is None:
            raise InputError(
                "the states hold no gradients (logdensity_grad), as those of HMC, NUTS and MALA do: give the log "
                "density"
            )
        log_density = None if heights is None else _chain_by_chain(as_floats(heights), dims).reshape(-1)
        sample = Sample(points=points, scores=scores, names=tree.names)
        return from_stored(sample, "gradients that BlackJAX stored", log_density)
    sample = Sample(points=points, names=tree.names)
    example = jax_module().tree_util.tree_map(lambda leaf: np.asarray(leaf)[(0,) * len(dims)], positions)
    target = Target.from_jax(logdensity, like=example, label="BlackJAX log density")
    check(target, sample)
    if scores is not None:
        compare_stored(target, sample, scores.reshape(sample.points.shape))
    return target, sample


def _leading_axes(tree: TreeCoordinates, leaves: Sequence[Any], states: Any, dims: tuple[str, ...]) -> tuple[int, ...]:
    """Lengths of the axes of draws, which all arrays share."""
    lead = tuple(np.shape(leaves[0])[: len(dims)])
    heights = getattr(states, "logdensity", None)
    if heights is not None and np.shape(heights) != lead:
        raise InputError(
            f"dims={dims} says that {tree.leaves[0]} of shape {np.shape(leaves[0])} has {len(dims)} leading axes; the "
            f"states' logdensity has shape {np.shape(heights)}: say which axis is which with "
            'dims=("chain", "draw") or dims=("draw", "chain")'
        )
    return lead


def _chain_by_chain(array: Floats, dims: Sequence[str]) -> Floats:
    """The array with its axis of chains, if it has one, before that of draws."""
    return np.swapaxes(array, 0, 1) if dims == ("draw", "chain") else array
