"""Posterior distributions defined by data, likelihood terms and a prior.

    log p(theta | data) = log_prior(theta) + sum over i of log_likelihood(theta, data point i) + constant

A `Posterior` is a `Target`, and its score is a sum over all data points. Minibatch samplers use the terms of this sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import positive, real_numbers, require_functions, require_unmasked
from steinkit.compiled_terms import CompiledTerms
from steinkit.errors import InputError, UsageError
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.target import Target, TargetOptions
from steinkit.user_functions import numbers_from

Array = NDArray[Any]
LikelihoodTerm = Callable[..., Floats]
MakeTerms = Callable[[tuple[Array, ...], int], CompiledTerms]

# Maximum number of data values (64 MB) per call to a vectorized likelihood. The data are counted once per point.
_BLOCK_FLOATS = 1 << 23


class Posterior(Target):
    """Posterior distribution with its data, likelihood terms and prior.

    Parameters
    ----------
    data : sequence of array_like
        Arrays with the same leading length N. Data point i consists of row i of each array. Memory-mapped arrays are
        not loaded into memory.
    log_likelihood : callable, (theta, *batch) -> (b,)
        Log likelihood of each data point in a batch, for one parameter vector of shape (d,). A batch consists of b rows
        of each array.
    grad_log_likelihood : callable, (theta, *batch) -> (d,)
        Gradient with respect to theta, summed over the batch.
    log_prior : callable, (K, d) -> (K,)
        Log density of the prior at K parameter vectors, up to a constant.
    grad_log_prior : callable, (K, d) -> (K, d)
        Gradient of `log_prior`.
    log_likelihood_many : callable, ((K, d), *batches) -> (K, b), optional
        Log likelihood for K parameter vectors, each with its own batch. The arrays in ``batches`` have shape (K, b,
        ...). If all vectors share one batch, the arrays are read-only broadcasts with stride 0 along the first axis.
    grad_log_likelihood_many : callable, ((K, d), *batches) -> (K, d), optional
        Gradient of `log_likelihood_many`, summed over each batch.
    **options
        Options of `Target`: ``dim``, ``names``, ``bounds``, ``cdf``, ``sampler``, ``functions`` and ``label``.

    Attributes
    ----------
    data : tuple of ndarray
        Arrays with the same leading length N.
    size : int
        Number of data points N.

    Raises
    ------
    UsageError
        If the data are not arrays of the same length. If a function returns an array of the wrong shape, an error is
        raised on first use.

    Notes
    -----
    The functions are available as attributes. The method `check_shapes` validates the results of the functions once,
    before the first score is computed and before the first step of a sampler.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> posterior = sk.Posterior(
    ...     (np.array([1.0, 2.0, 3.0]),),
    ...     log_likelihood=lambda theta, y: -0.5 * (y - theta[0]) ** 2,
    ...     grad_log_likelihood=lambda theta, y: np.array([(y - theta[0]).sum()]),
    ...     log_prior=lambda theta: -0.5 * theta[:, 0] ** 2,
    ...     grad_log_prior=lambda theta: -theta,
    ...     dim=1,
    ... )
    >>> posterior.score([[0.5]])
    array([[4.]])
    """

    def __init__(
        self,
        data: Sequence[ArrayLike],
        log_likelihood: LikelihoodTerm,
        grad_log_likelihood: LikelihoodTerm,
        log_prior: Callable[[Floats], Floats],
        grad_log_prior: Callable[[Floats], Floats],
        *,
        log_likelihood_many: LikelihoodTerm | None = None,
        grad_log_likelihood_many: LikelihoodTerm | None = None,
        **options: Unpack[TargetOptions],
    ) -> None:
        require_functions(log_likelihood=log_likelihood, grad_log_likelihood=grad_log_likelihood)
        require_functions(log_prior=log_prior, grad_log_prior=grad_log_prior)
        many = {"log_likelihood_many": log_likelihood_many, "grad_log_likelihood_many": grad_log_likelihood_many}
        require_functions(optional=True, **many)
        options.setdefault("label", "user-defined posterior")
        super().__init__(score=self._score_over_data, log_density=self._log_density_over_data, **options)
        self.data: tuple[Array, ...] = _as_data(data)
        self.size: int = len(self.data[0])
        self.log_likelihood = log_likelihood
        self.grad_log_likelihood = grad_log_likelihood
        self.log_prior = log_prior
        self.grad_log_prior = grad_log_prior
        self.log_likelihood_many = log_likelihood_many
        self.grad_log_likelihood_many = grad_log_likelihood_many
        self._is_checked = False
        self._dim_of_use: int | None = None
        self._compile: MakeTerms | None = None
        self._compiled_from: tuple[Any, Any] = ((), ())
        self._compiled: CompiledTerms | None = None  # stored because the addresses may still be in use

    @classmethod
    def from_jax(  # type: ignore[override]
        cls,
        log_likelihood: Callable[..., Any],
        log_prior: Callable[[Any], Any],
        data: Sequence[ArrayLike],
        dim: int | None = None,
        *,
        like: Any = None,
        names: Sequence[str] | None = None,
        label: str = "JAX posterior",
        **options: Any,
    ) -> Posterior:
        """Return a posterior with a likelihood and a prior written in JAX.

        Gradients are computed by automatic differentiation.

        Parameters
        ----------
        log_likelihood : callable, (theta, *row) -> scalar
            Log likelihood of one data point (one row of each array in ``data``) at one state, written with `jax.numpy`.
            The function is differentiated, vectorized over data and chains, compiled for batches that are padded to a
            power of two, and run in double precision, independently of `jax_enable_x64`.
        log_prior : callable, theta -> scalar
            Log density of the prior at one state, up to a constant.
        data : sequence of array_like
            See `Posterior`.
        dim : int, optional
            Number of parameters. By default, any number is accepted.
        like : pytree of arrays or of `jax.ShapeDtypeStruct`, optional
            Example of a state that the functions accept, as for `Target.from_jax`. By default, a state is a vector of
            shape (d,).
        names : sequence of str, optional
            Names of the parameters. By default, they are derived from ``like``.
        label : str
            Name of the target in reports.
        **options
            Options of `Posterior`: ``bounds``, ``cdf``, ``sampler`` and ``functions``.

        Returns
        -------
        Posterior
            The posterior. Chains that are run together and chains that are run separately agree up to rounding errors.

        Raises
        ------
        MissingDependencyError
            If JAX is not installed (``pip install -e '.[jax]'``).
        UsageError
            If the data are not arrays of the same length, or if ``dim`` or ``names`` are inconsistent with ``like``.

        Examples
        --------
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> import steinkit as sk
        >>> rng = np.random.default_rng(0)
        >>> x = rng.standard_normal((200, 2))
        >>> y = rng.random(200) < 1.0 / (1.0 + np.exp(-x[:, 0]))
        >>> def log_likelihood(theta, x, y):
        ...     return -jnp.logaddexp(0.0, jnp.where(y, -1.0, 1.0) * (x @ theta))
        >>> posterior = sk.Posterior.from_jax(log_likelihood, lambda theta: -0.5 * theta @ theta, (x, y), dim=2)
        >>> sk.samplers.sgld(posterior, step_size=1e-3, batch_size=10, draws=100, seed=1).points.shape
        (1, 100, 2)
        """
        from steinkit.jax_functions import in_coordinates, jax_module, likelihood_forms, vectorised

        gradient = jax_module().grad
        dim, names, (log_likelihood, log_prior) = in_coordinates(like, dim, names, log_likelihood, log_prior)
        arrays = _as_data(data)
        many, grad_many = likelihood_forms(log_likelihood, len(arrays))
        return cls(
            arrays,
            for_one(many),
            for_one(grad_many),
            vectorised(log_prior),
            vectorised(gradient(log_prior)),
            log_likelihood_many=many,
            grad_log_likelihood_many=grad_many,
            dim=dim,
            names=names,
            label=label,
            **options,
        )

    def check_shapes(self, theta: ArrayLike) -> None:
        """Validate the results of every function on a few data points.

        The functions are checked only on the first call. The vectorized functions must agree with the functions for one
        parameter vector.

        Parameters
        ----------
        theta : array_like, shape (d,)
            Any parameter vector inside the support.

        Raises
        ------
        InputError
            If a function returns an array of the wrong shape, or if two forms of a function differ.
        """
        theta = real_numbers(theta, "parameters")
        dim, self._dim_of_use = len(theta), len(theta)
        if self._is_checked:
            return
        thetas = np.stack([theta, theta, theta])
        rows = min(self.size, 2 if dim != 2 else 4)
        batch = tuple(array[:rows] for array in self.data)
        batches = tuple(_repeated(array, len(thetas)) for array in batch)
        forms = {
            "log_prior": ((thetas,), (3,), "(K,) for K parameter vectors"),
            "grad_log_prior": ((thetas,), (3, dim), "(K, d) for K parameter vectors"),
            "log_likelihood": ((theta, *batch), (rows,), "(b,), one term per data point"),
            "grad_log_likelihood": ((theta, *batch), (dim,), "(d,), summed over the batch"),
            "log_likelihood_many": ((thetas, *batches), (3, rows), "(K, b)"),
            "grad_log_likelihood_many": ((thetas, *batches), (3, dim), "(K, d)"),
        }
        found = {}
        for name, (arguments, shape, expected) in forms.items():
            if (function := getattr(self, name)) is not None:
                found[name] = values = numbers_from(partial(function, *arguments), name, f"the values of {name}")
                if values.shape != shape:
                    raise InputError(
                        f"{name} must return an array of shape {expected}; expected {shape}, got {values.shape}"
                    )
        for name in ("log_likelihood", "grad_log_likelihood"):
            one = found[name]
            many = found.get(f"{name}_many", one)
            if not np.allclose(many, one, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(one).max()), equal_nan=True):
                raise InputError(
                    f"{name}_many and {name} must agree on the same parameters and data; they returned {many[0]} and "
                    f"{one}"
                )
        self._is_checked = True

    def tempered(self, temperature: float) -> Posterior:
        """Return the posterior with the likelihood raised to the power 1/T.

            log p(theta | data) = log_prior(theta) + 1/T sum over i of log_likelihood(theta, data point i) + constant

        A sampler that is run on the original posterior with ``temperature=T`` draws from the tempered posterior. The
        likelihood terms of the tempered posterior include the factor 1/T, so the sampler temperature for this posterior
        is 1.

        Parameters
        ----------
        temperature : float
            Temperature T, which must be positive.

        Returns
        -------
        Posterior
            The tempered posterior, without a sampler or a cdf.

        Raises
        ------
        UsageError
            If the temperature is not a positive number.
        """
        divisor = positive(temperature, "temperature")
        per_unit = partial(partial, _divided, divisor)
        many, grad_many = self.log_likelihood_many, self.grad_log_likelihood_many
        hot = Posterior(
            data=self.data,
            log_likelihood=per_unit(self.log_likelihood),
            grad_log_likelihood=per_unit(self.grad_log_likelihood),
            log_prior=self.log_prior,
            grad_log_prior=self.grad_log_prior,
            log_likelihood_many=None if many is None else per_unit(many),
            grad_log_likelihood_many=None if grad_many is None else per_unit(grad_many),
            dim=self.dim,
            names=self.names,
            bounds=self.bounds,
            label=f"{self.label} at temperature {divisor:g}",
        )
        if self._compile is not None and self._has_own_terms():
            hot._bring_terms(partial(_tempered_terms, self._compile, divisor))
        return hot

    @property
    def compiled_terms(self) -> CompiledTerms | None:
        """Compiled terms used by samplers to run compiled chains, or None.

        None if there are no compiled terms, or if ``data`` or a function was replaced.
        """
        dim = self.dim or self._dim_of_use
        if self._compile is None or dim is None or not self._has_own_terms():
            return None
        from steinkit.runtime.compilation import announced_compilation

        with announced_compilation():
            self._compiled = self._compile(self.data, dim)
        return self._compiled

    def _bring_terms(self, make: MakeTerms) -> None:
        """Set the function that builds compiled terms from the data and the dimension d.

        The function is called before each run because family parameters, such as a prior variance, may change.
        """
        self._compile, self._compiled_from = make, (self.data, self._functions())

    def _has_own_terms(self) -> bool:
        """Return True if the compiled terms belong to the current data and functions."""
        data, functions = self._compiled_from
        return data is self.data and functions == self._functions()

    def _functions(self) -> tuple[Any, ...]:
        terms = self.log_likelihood, self.grad_log_likelihood, self.log_prior, self.grad_log_prior
        return *terms, self.log_likelihood_many, self.grad_log_likelihood_many

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the compiled terms, which contain memory addresses."""
        return self.__dict__ | {"_compiled": None}

    def _score_over_data(self, points: Floats) -> Floats:
        """Return the score computed from all data points."""
        if not len(points):
            return np.empty(points.shape)
        self.check_shapes(points[0])
        total = real_numbers(self.grad_log_prior(points), "the values of grad_log_prior").copy()
        self._add_over_data(total, points, for_many(self.grad_log_likelihood_many, self.grad_log_likelihood))
        return total

    def _log_density_over_data(self, points: Floats) -> Floats:
        """Return the log density computed from all data points, up to a constant."""
        if not len(points):
            return np.empty(0)
        self.check_shapes(points[0])
        total = real_numbers(self.log_prior(points), "the values of log_prior").copy()
        self._add_log_likelihoods(total, points)
        return total

    def _add_log_likelihoods(self, total: Floats, points: Floats) -> None:
        """Add the log likelihood of all data points to ``total`` in place."""
        many = for_many(self.log_likelihood_many, self.log_likelihood)
        self._add_over_data(total, points, lambda thetas, *batches: many(thetas, *batches).sum(axis=1))

    def _add_over_data(self, total: Floats, points: Floats, term: LikelihoodTerm) -> None:
        """Add the sum of a likelihood term over all data points to ``total`` in place."""
        width = sum(1 if array.ndim == 1 else max(1, array[0].size) for array in self.data)
        pairs = max(1, _BLOCK_FLOATS // width)  # number of (parameter vector, data point) pairs in a block
        # Matrix products are fast when a block has many parameter vectors and even more data points.
        rows = min(self.size, pairs, math.isqrt(16 * pairs))
        begins = range(0, self.size, rows)
        is_long = len(begins) > 1
        # The matrix products for a block are small, so multiple threads would spend most of their time waiting.
        with one_thread_in_libraries() if is_long else nullcontext():
            shown = None if is_long else False
            for begin in progress_bar("passing through the data", unit=" blocks", shown=shown, steps=begins):
                batch = tuple(array[begin : begin + rows] for array in self.data)
                for first in range(0, len(points), pairs // rows):
                    thetas = points[first : first + pairs // rows]
                    total[first : first + len(thetas)] += term(thetas, *(_repeated(x, len(thetas)) for x in batch))


def _as_data(data: Sequence[ArrayLike]) -> tuple[Array, ...]:
    """Convert the data to arrays with the same leading length."""
    if isinstance(data, np.ndarray) or not isinstance(data, Sequence):
        raise UsageError(
            f"data must be a tuple of arrays with one row per data point, such as (array,); got {type(data).__name__}"
        )
    require_unmasked(tuple(data), "data")
    arrays = tuple(map(np.asarray, data))
    shapes = ", ".join(str(array.shape) for array in arrays)
    if not arrays or any(array.ndim == 0 for array in arrays) or len({len(array) for array in arrays}) != 1:
        raise UsageError(f"data must be arrays of the same length along axis 0; got shapes {shapes or 'none'}")
    if not len(arrays[0]):
        raise UsageError(f"expected at least one data point, got shapes {shapes}")
    return arrays


# These functions are defined at module level because tempered posteriors must be picklable.


def _divided(divisor: float, term: LikelihoodTerm, theta: Floats, *batch: Array) -> Floats:
    return term(theta, *batch) / divisor


def _tempered_terms(make: MakeTerms, temperature: float, data: tuple[Array, ...], dim: int) -> CompiledTerms:
    return make(data, dim).tempered(temperature)


def for_one(many: LikelihoodTerm) -> LikelihoodTerm:
    """Derive the function of one parameter vector from a vectorized function."""
    return partial(_first_of_one, many)


def _first_of_one(many: LikelihoodTerm, theta: Floats, *batch: Array) -> Floats:
    return np.asarray(many(theta[None], *(array[None] for array in batch))[0])


def for_many(many: LikelihoodTerm | None, single: LikelihoodTerm) -> LikelihoodTerm:
    """Return the vectorized version of a term, or a loop over individual calls."""
    return partial(_one_by_one, single) if many is None else many


def _one_by_one(single: LikelihoodTerm, thetas: Floats, *batches: Array) -> Floats:
    found = []
    for theta, *batch in zip(thetas, *batches, strict=True):
        require_time("computing the likelihood")
        found.append(single(theta, *batch))
    return np.array(found, dtype=np.float64)


def _repeated(array: Array, times: int) -> Array:
    """Broadcast an array to the shape (times, *array.shape)."""
    return np.broadcast_to(array, (times, *array.shape))
