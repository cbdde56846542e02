"""Conversion of NumPyro models and BlackJAX states to targets with gradients.

NumPyro samples every latent site in the unconstrained space of `numpyro.distributions.biject_to(support)`. The
potential energy is U(z) = -log p(f(z), data) - log |det df / dz|. The density of the target is exp(-U). In plates with
a subsample, the density is evaluated on all the data. The gradient of the log density is computed by JAX.

BlackJAX samples the given log density without a transform. The coordinates of the target are the coordinates of the
position, in pytree order.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from steinkit.adapters.model import Model, Parameter, as_floats, check, from_stored, hold_stored, refuse_discrete
from steinkit.arguments import require_functions
from steinkit.containers.named_draws import spans
from steinkit.containers.reading import chain_by_chain, require_dims
from steinkit.errors import InputError, SteinkitError, import_extra
from steinkit.jax_functions import TreeCoordinates, double_precision, fresh, jax_module, vectorised
from steinkit.sample import Floats, Sample
from steinkit.target import Target


def from_numpyro(model: Callable[..., Any], draws: Any, /, *args: Any, **kwargs: Any) -> tuple[Target, Sample]:
    """Convert a NumPyro model and its draws to a target and a sample.

    Both the target and the sample are in unconstrained space.

    Parameters
    ----------
    model : callable
        The model, with the handlers that were used for sampling. In plates with a ``subsample_size``, the density is
        evaluated on all the data.
    draws : numpyro.infer.MCMC, draws by name, or tuple (guide, params, draws)
        Draws in a form that `as_sample` accepts, such as ``az.from_numpyro(mcmc)``, which contains labels, or a dict of
        arrays of shape (draws, ...) or (chains, draws, ...) from `MCMC.get_samples` or a guide. Deterministic sites are
        ignored. The draws may have single precision, which is the NumPyro default. The score is computed in double
        precision. For draws from a guide with parameters ``params``, as in ``(guide, result.params,
        guide.sample_posterior(...))``, the sample contains the log density of the guide, and `verdict` computes the
        Pareto k.
    *args, **kwargs
        Arguments of the model.

    Returns
    -------
    Target, Sample
        The posterior in unconstrained space, and the draws.

    Raises
    ------
    InputError
        If the model has discrete latent sites, including enumerated ones, or if the draws of a site are missing, have a
        different shape or lie outside the support.
    MissingDependencyError
        If NumPyro is not installed (``pip install -e '.[numpyro]'``).

    Warns
    -----
    SteinkitWarning
        If the run stored gradients (``mcmc.run(..., extra_fields=("z_grad",))``) that do not match the model. The draws
        may come from a different model or different data.

    Examples
    --------
    >>> target, sample = sk.from_numpyro(model, mcmc, y=y)  # doctest: +SKIP
    >>> sk.verdict(sample, target)  # doctest: +SKIP
    """
    require_functions(model=model)
    made = numpyro_model(model, *args, **kwargs)
    if isinstance(draws, tuple) and len(draws) == 3:
        guide, params, draws = draws
        target, sample = made.bind(draws)
        with double_precision():
            log_q = _log_q(made, target, sample.points, (guide, params), (model, args, kwargs))
        return target, sample.with_columns(log_q=log_q)
    if not hasattr(draws, "get_samples"):
        return made.bind(draws)
    target, sample = made.bind(draws.get_samples(group_by_chain=True), dims=("chain", "draw"))
    stored = draws.get_extra_fields(group_by_chain=True)
    known = {"divergent": "diverging", "energy": "energy"}
    sample = sample.with_columns(**{own: np.ravel(stored[name]) for own, name in known.items() if name in stored})
    gradients = stored.get("z_grad")
    if isinstance(gradients, Mapping) and all(each.name in gradients for each in made.parameters):
        columns = [-np.asarray(gradients[each.name]).reshape(len(sample), -1) for each in made.parameters]
        hold_stored(target, sample, np.concatenate(columns, axis=1).astype(np.float64))
    return target, sample


def _log_q(made: Model, target: Target, points: Floats, fit: tuple[Any, Any], call: tuple[Any, ...]) -> Floats:
    """Return the log density of a guide in unconstrained space.

    ``fit`` contains the guide and its parameters, and ``call`` contains the model and its arguments.
    """
    (guide, params), (model, args, kwargs) = fit, call
    if hasattr(guide, "get_posterior"):  # a distribution of all unconstrained sites, in the order of their names
        places = zip(made.parameters, spans(each.free_shape for each in made.parameters), strict=True)
        order = sorted(places, key=lambda place: place[0].name)
        latent = np.concatenate([points[:, span] for _, span in order], axis=1)
        log_q = np.asarray(guide.get_posterior(params).log_prob(latent), dtype=np.float64)
        return np.asarray(log_q.reshape(len(points), -1).sum(axis=1))  # independent sites may have a term each
    log_density = import_extra("numpyro.infer.util", "NumPyro", "numpyro").log_density
    assert made.constrain is not None

    def difference(values: Any) -> Any:  # log q - log p on the original scale, where both lack log |J|
        return log_density(guide, args, kwargs, {**params, **values})[0] - log_density(model, args, kwargs, values)[0]

    values = made.constrain(points)
    return target.log_density(points) + np.asarray(jax_module().vmap(difference)(values), dtype=np.float64)


def numpyro_model(model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Model:
    """Return the posterior defined by a NumPyro model.

    The function `from_numpyro` also converts draws.
    """
    distributions = import_extra("numpyro.distributions", "NumPyro", "numpyro")
    label = f"NumPyro model {_name(model)}"
    args, kwargs = fresh((args, kwargs))
    with double_precision():
        model, trace = _run(partial(model, *args, **kwargs), label)
        sites = {name: site for name, site in trace.items() if site["type"] == "sample" and not site["is_observed"]}
        refuse_discrete([name for name, site in sites.items() if site["fn"].support.is_discrete], label)
        fixed = [name for name, site in sites.items() if isinstance(site["fn"], distributions.Delta)]
        if fixed:
            raise InputError(
                f"{label} samples {', '.join(fixed)} from a delta distribution, which has no density; use "
                "numpyro.deterministic"
            )
        if not sites:
            raise InputError(f"expected latent sites in {label}, got none")
        space = _Space(model, sites)

    def make_target(names: tuple[str, ...], label: str) -> Target:
        gradient = jax_module().grad(space.log_density)
        return Target(score=vectorised(gradient), log_density=vectorised(space.log_density), names=names, label=label)

    return Model(label, space.parameters, make_target, space.unconstrain, space.constrain)


def has_sites(function: Callable[..., Any]) -> bool:
    """Return True if a function without required arguments has sample sites.

    The function is run once.
    """
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):  # the function has required arguments or no signature
        return False
    return any(site["type"] == "sample" for site in _traced(function)[1].values())


class _Space:
    """Latent sites of a model, flattened to a vector, and their NumPyro transforms."""

    def __init__(self, model: Callable[[], Any], sites: Mapping[str, Any]) -> None:
        util = import_extra("numpyro.infer.util", "NumPyro", "numpyro")
        self.log_density = lambda vector: -util.potential_energy(model, (), {}, self.position(vector))
        self._free = partial(util.unconstrain_fn, model, (), {})
        self._constrained = partial(util.constrain_fn, model, (), {})
        self.sites = tuple(sites)
        values = {name: site["value"] for name, site in sites.items()}
        try:
            free = self._free(values)
        except NotImplementedError as error:
            raise InputError(f"NumPyro has no transform from a site to unconstrained space: {error}") from error
        self._coordinates = TreeCoordinates.of([free[name] for name in self.sites])
        self._values = TreeCoordinates.of([values[name] for name in self.sites])
        shapes = zip(self._values.shapes, self._coordinates.shapes, strict=True)
        self.parameters = tuple(
            Parameter(name, shape, _space(sites[name]["fn"].support), free_shape)
            for name, (shape, free_shape) in zip(self.sites, shapes, strict=True)
        )
        self._there = vectorised(lambda vector: self._ravelled(self._free(self._named(self._values, vector))))
        self._back = vectorised(lambda vector: self._ravelled(self._constrained(self.position(vector))))

    def position(self, vector: Any) -> dict[str, Any]:
        """Return a dictionary with the unconstrained values of each site."""
        return self._named(self._coordinates, vector)

    def unconstrain(self, values: dict[str, Floats]) -> Floats:
        """Transform draws of the sites to an unconstrained array of shape (n, d)."""
        return self._there(self._values.ravel([values[name] for name in self.sites], (len(values[self.sites[0]]),)))

    def constrain(self, points: Floats) -> dict[str, Floats]:
        """Transform an array of shape (n, d) to draws of the sites."""
        values = self._back(points)
        return {name: values[:, span] for name, span in zip(self.sites, spans(self._values.shapes), strict=True)}

    def _named(self, coordinates: TreeCoordinates, vector: Any) -> dict[str, Any]:
        return dict(zip(self.sites, coordinates.unravel(vector), strict=True))

    def _ravelled(self, values: Mapping[str, Any]) -> Any:
        jnp = jax_module().numpy
        return jnp.concatenate([jnp.ravel(values[name]) for name in self.sites])


def _traced(model: Callable[[], Any]) -> tuple[Callable[[], Any], Mapping[str, Any]]:
    """Return a model with fixed random inputs, and the trace of this model.

    The model uses a fixed key, the values of its `param` sites, and all the data in its plates.
    """
    handlers = import_extra("numpyro.handlers", "NumPyro", "numpyro")
    infer = import_extra("numpyro.infer", "NumPyro", "numpyro")
    start = handlers.substitute(handlers.seed(with_whole_plates(model), 0), substitute_fn=infer.init_to_uniform())
    trace = handlers.trace(start).get_trace()
    given = {name: site["value"] for name, site in trace.items() if site["type"] in ("param", "mutable")}

    def prepared() -> Any:
        # create a handler per call because a handler stores the key, which would leak from the compiled function
        return handlers.seed(handlers.substitute(model, data=given), 0)()

    return with_whole_plates(prepared), trace


def _run(model: Callable[[], Any], label: str) -> tuple[Callable[[], Any], Mapping[str, Any]]:
    """Return the result of `_traced`, or raise InputError if the model fails."""
    try:
        return _traced(model)
    except SteinkitError:
        raise
    except Exception as error:  # catch any error raised in the user's model
        raise InputError(
            f"{label} fails with the given arguments: {type(error).__name__}: {error}; pass the model arguments after "
            "the draws, as in from_numpyro(model, draws, *args, **kwargs)"
        ) from error


def _space(support: Any) -> str:
    """Return the name of the `Parameter` space for a support."""
    constraints = import_extra("numpyro.distributions.constraints", "NumPyro", "numpyro")
    while isinstance(support, constraints.independent):
        support = support.base_constraint
    kinds = {
        "real": (constraints.real, constraints.real_vector, constraints.real_matrix),
        "positive": (constraints.positive, constraints.nonnegative),
        "interval": (constraints.unit_interval, constraints.circular),
        "ordered": (constraints.ordered_vector, constraints.positive_ordered_vector),
        "simplex": (constraints.simplex,),
        "cholesky": (constraints.corr_cholesky, constraints.lower_cholesky, constraints.positive_definite),
        "correlation": (constraints.corr_matrix,),
    }
    if isinstance(support, constraints.interval):
        return "interval"
    return next((kind for kind, known in kinds.items() if isinstance(support, tuple(map(type, known)))), "other")


def _name(model: Any) -> str:
    """Return the name of a model's function, ignoring handlers and partials."""
    while not hasattr(model, "__name__"):
        inner = getattr(model, "fn", None) or getattr(model, "func", None)
        if inner is None:
            return type(model).__name__
        model = inner
    return str(model.__name__)


def with_whole_plates(model: Callable[[], Any]) -> Callable[[], Any]:
    """Return the model with all indices in its plates."""
    handlers = import_extra("numpyro.handlers", "NumPyro", "numpyro")
    jnp = jax_module().numpy

    def given(site: Mapping[str, Any]) -> Any:
        return jnp.arange(site["args"][0]) if site["type"] == "plate" else None

    def substituted() -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "subsample_size does not match")  # the mismatch is intended
            return handlers.substitute(model, substitute_fn=given)()

    return substituted


def from_blackjax(
    logdensity: Callable[[Any], Any] | None, states: Any, *, dims: Sequence[str] = ("draw",)
) -> tuple[Target, Sample]:
    """Convert a log density and BlackJAX states to a target and a sample.

    Parameters
    ----------
    logdensity : callable, pytree -> scalar, or None
        Log density of the sampler. If the log density is None, the scores are the gradients in the states, and the
        target is known only at the draws.
    states : states of a BlackJAX sampler, stacked over draws, or their positions
        States from `jax.lax.scan` or `blackjax.util.run_inference_algorithm`.
    dims : {("draw",), ("chain", "draw"), ("draw", "chain")}
        Leading axes of every array. Use ``("chain", "draw")`` for a `vmap` or `pmap` over the whole run, and ``("draw",
        "chain")`` for a loop over steps of all chains.

    Returns
    -------
    Target, Sample
        The coordinates are named by their paths, such as ``mu``, ``theta[0]`` and ``layers.0.bias[2]``.

    Raises
    ------
    InputError
        If the states have different leading axes, if the positions are integers, or if the score is not the gradient of
        the log density. Without a log density, this error is also raised if the states contain no gradients or if the
        gradients have an incorrect sign or scale.
    UsageError
        If ``dims`` is not valid.
    MissingDependencyError
        If JAX is not installed (``pip install -e '.[jax]'``).

    Warns
    -----
    SteinkitWarning
        If the gradients in the states do not match ``logdensity``. The draws may come from a different density.

    Examples
    --------
    >>> _, (states, _) = blackjax.util.run_inference_algorithm(key, nuts, 1000, initial_position=x)  # doctest: +SKIP
    >>> target, sample = sk.from_blackjax(logdensity, states)  # doctest: +SKIP
    """
    require_functions(optional=True, logdensity=logdensity)
    dims = require_dims(dims) or ("draw",)
    positions = getattr(states, "position", states)
    tree = TreeCoordinates.of(positions, lead=len(dims))
    leaves = jax_module().tree_util.tree_leaves(positions)
    discrete = [name for name, leaf in zip(tree.leaves, leaves, strict=True) if np.asarray(leaf).dtype.kind in "biu"]
    refuse_discrete(discrete, "the position")
    lead = tuple(np.shape(leaves[0])[: len(dims)])
    gradients, heights = getattr(states, "logdensity_grad", None), getattr(states, "logdensity", None)
    if heights is not None and np.shape(heights) != lead:
        raise InputError(
            f"expected logdensity of shape {lead} for dims={dims} and {tree.leaves[0]} of shape "
            f'{np.shape(leaves[0])}, got {np.shape(heights)}; state dims=("chain", "draw") or '
            'dims=("draw", "chain")'
        )
    points = chain_by_chain(tree.ravel(positions, lead), dims)
    scores = None if gradients is None else chain_by_chain(tree.ravel(gradients, lead), dims)
    if logdensity is None:
        if scores is None:
            raise InputError(
                "expected states with gradients (logdensity_grad), such as HMC, NUTS or MALA states, because the log "
                "density is None; pass the log density"
            )
        log_p = None if heights is None else chain_by_chain(as_floats(heights), dims)
        return from_stored(Sample(points, scores=scores, names=tree.names, log_p=log_p), "BlackJAX states")
    sample = Sample(points=points, names=tree.names)
    example = jax_module().tree_util.tree_map(lambda leaf: np.asarray(leaf)[(0,) * len(dims)], positions)
    target = Target.from_jax(logdensity, like=example, label="BlackJAX log density")
    check(target, sample)
    if scores is not None:
        hold_stored(target, sample, scores.reshape(sample.points.shape))
    return target, sample
