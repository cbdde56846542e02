"""Posteriors: targets known through data, a likelihood term for each datum, and a prior.

    log p(theta | data) = log_prior(theta) + sum over i of log_likelihood(theta, datum i) + constant

A `Posterior` is a `Target` whose score is over all the data; the terms themselves are what minibatch samplers
need.

**Scores from a few data** each are taken with control variates. With g_i the gradient of datum i's log likelihood, c
the draws' mean, D_i(v) the derivative of g_i at c along v, and B a batch of b of the N data that is drawn anew for each
draw,

    s(x) = grad log rho(x) + sum_i g_i(c) + sum_i D_i(x - c) + (N / b) sum over B of (g_i(x) - g_i(c) - D_i(x - c)).

Its mean over batches is the score. Near the centre the brackets are of the third order, so that a few data are enough
where N is large. The first sums are over all data, once for all draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import generator_from, positive, real_numbers, require_functions, require_type, require_unmasked
from steinkit.compiled_terms import CompiledTerms
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import Caution, InputError, UsageError, caution
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Seed, Target, TargetOptions

Array = NDArray[Any]
LikelihoodTerm = Callable[..., Floats]
MakeTerms = Callable[[tuple[Array, ...], int], CompiledTerms]

# Floats of data, one copy for each point, that a vectorised likelihood is handed at once (64 MB).
_BLOCK_FLOATS = 1 << 23


class Posterior(Target):
    """A posterior given by its data, its likelihood terms and its prior.

    Parameters
    ----------
    data : sequence of array_like
        Arrays with the same leading length N; datum i is row i of each. Those of Zarr, h5py and Dask, and memory-mapped
        ones, are left where they are and read row by row.
    log_likelihood : callable, (theta, *batch) -> (b,)
        Log likelihood of each datum of a batch at one parameter, shape (d,). A batch is b rows of each array.
    grad_log_likelihood : callable, (theta, *batch) -> (d,)
        Gradient with respect to theta, summed over the batch.
    log_prior : callable, (K, d) -> (K,)
        Log density of the prior at K parameters, up to a constant.
    grad_log_prior : callable, (K, d) -> (K, d)
        Its gradient.
    log_likelihood_many : callable, ((K, d), *batches) -> (K, b), optional
        Log likelihood for K parameters, each with a batch of its own: the arrays of ``batches`` have shape (K, b,
        ...). Where all share one batch the arrays are read-only broadcasts, with stride 0 along the first
        axis.
    grad_log_likelihood_many : callable, ((K, d), *batches) -> (K, d), optional
        Its gradient, summed over each batch.
    **options
        Of `Target`: ``dim``, ``names``, ``bounds``, ``cdf``, ``sampler``, ``functions`` and ``label``.

    Attributes
    ----------
    data : tuple of ndarray
        With the same leading length N, or what reads their rows.
    size : int
        Number of data N.

    Raises
    ------
    UsageError
        If the data are no arrays of one length. Functions that return a wrong shape are reported at their
        first use.

    Notes
    -----
    The functions are attributes, called as given; `check_shapes` holds them to their shapes once, before the
    first score or the first step of a sampler.
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
        self._shapes_checked = False
        self._checked_dim: int | None = None
        self._missing: frozenset[str] = frozenset()  # functions without which `from_numba` made it
        self._compile: MakeTerms | None = None
        self._compiled_from: tuple[Any, Any] = ((), ())
        self._compiled: CompiledTerms | None = None  # the last ones, whose addresses may be in use

    @classmethod
    def from_numba(
        cls,
        log_likelihood: Callable[..., Any],
        gradient: Callable[..., Any] | None,
        log_prior: Callable[..., Any],
        data: Sequence[ArrayLike],
        *,
        grad_log_prior: Callable[..., Any] | None = None,
        **options: Unpack[TargetOptions],
    ) -> Posterior:
        """Make a posterior whose chains run in compiled code, from functions of one parameter and one datum.

        The functions are plain Python that Numba can compile, or compiled by ``numba.njit`` already. One that
        raises an exception, which compiled loops cannot pass on, counts as one that returned NaN. theta and rows are
        read-only.

        Parameters
        ----------
        log_likelihood : callable, (theta, *row) -> float
            Log likelihood of one datum; theta has shape (d,), a row is one entry of each array of the data: a number,
            or an array where the data have more axes.
        gradient : callable, (theta, *row) -> (d,), or None
            Its gradient with respect to theta, an array or (faster) a tuple. Without it there is no score, and samplers
            that use gradients refuse the posterior.
        log_prior : callable, (theta) -> float
            Log density of the prior, up to a constant.
        data : sequence of array_like
            Arrays of numbers with the same leading length N, of at most three axes.
        grad_log_prior : callable, (theta) -> (d,), optional
            Wanted wherever ``gradient`` is.
        **options
            Of `Posterior`: ``dim``, ``names``, ``bounds``, ``cdf``, ``sampler``, ``functions`` and ``label``.

        Returns
        -------
        Posterior
            With compiled terms, from which samplers run whole chains.

        Raises
        ------
        UsageError
            If the data are no arrays of numbers of one length; at the first use, if Numba cannot compile a function.
        InputError
            At the first use, if a gradient does not have d entries.

        Notes
        -----
        The loops over the data are compiled at the first use in each process, in three to four seconds.

        Examples
        --------
        >>> import math
        >>> import numpy as np
        >>> import steinkit as sk
        >>> posterior = sk.Posterior.from_numba(
        ...     log_likelihood=lambda theta, y: -0.5 * (y - theta[0]) ** 2,
        ...     gradient=lambda theta, y: (y - theta[0],),
        ...     log_prior=lambda theta: -0.5 * theta[0] ** 2,
        ...     data=(np.array([1.0, 2.0, 3.0]),),
        ...     grad_log_prior=lambda theta: (-theta[0],),
        ...     dim=1,
        ... )
        >>> posterior.score([[0.5]])
        array([[4.]])
        """
        from steinkit.numba_functions import NumbaFunctions

        functions = NumbaFunctions(log_likelihood, gradient, log_prior, grad_log_prior, _as_data(data))
        made = cls(
            functions.data,
            functions.log_likelihood,
            functions.grad_log_likelihood,
            functions.log_prior,
            functions.grad_log_prior,
            **options,
        )
        made._missing = functions.missing
        made._bring_terms(functions.compiled_terms)
        return made

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
        """Make a posterior of a likelihood term and a prior written in JAX; gradients by automatic differentiation.

        Parameters
        ----------
        log_likelihood : callable, (theta, *row) -> scalar
            Log likelihood of one datum, a row of each array of ``data``, at one state, in `jax.numpy`. It is
            differentiated, vectorised over data and chains, compiled for batches padded to a power of two, and run in
            double precision, whatever `jax_enable_x64` says.
        log_prior : callable, theta -> scalar
            Log density of the prior at one state, up to a constant.
        data : sequence of array_like
            As for `Posterior`.
        dim : int, optional
            Number of coordinates; any if not given.
        like : pytree of arrays or of `jax.ShapeDtypeStruct`, optional
            A state as the functions take it, see `Target.from_jax`; by default a vector, shape (d,).
        names : sequence of str, optional
            Names of the coordinates; those of ``like`` if not given.
        label : str
            How reports call the target.
        **options
            Of `Posterior`: ``bounds``, ``cdf``, ``sampler`` and ``functions``.

        Returns
        -------
        Posterior
            Chains run side by side, and chains run alone, agree to rounding.

        Raises
        ------
        MissingDependencyError
            If JAX is not installed (``pip install 'steinkit[jax]'``).
        UsageError
            If the data are no arrays of one length, or ``dim`` or ``names`` contradict ``like``.

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
        """Call every function once, on a few data, and hold it to its shape; does nothing the second time.

        The many-chain forms must also agree with the single ones.

        Parameters
        ----------
        theta : array_like, shape (d,)
            Any parameter inside the support.

        Raises
        ------
        InputError
            Naming the function, the shape it returned and the shape wanted.
        """
        theta = real_numbers(theta, "parameters")
        self._checked_dim = dim = len(theta)
        if self._shapes_checked:
            return
        thetas = np.stack([theta, theta, theta])
        rows = min(self.size, 2 if dim != 2 else 4)
        batch = tuple(array[:rows] for array in self.data)
        batches = tuple(_repeated(array, len(thetas)) for array in batch)
        _require_shape(self.log_prior(thetas), (3,), "log_prior", "(K,) for K parameters")
        if "grad_log_prior" not in self._missing:
            _require_shape(self.grad_log_prior(thetas), (3, dim), "grad_log_prior", "(K, d) for K parameters")
        terms = _require_shape(self.log_likelihood(theta, *batch), (rows,), "log_likelihood", "(b,), one term a datum")
        gradient = terms
        if "gradient" not in self._missing:
            found = self.grad_log_likelihood(theta, *batch)
            gradient = _require_shape(found, (dim,), "grad_log_likelihood", "(d,), summed over the batch")
        if self.log_likelihood_many is not None:
            many = self.log_likelihood_many(thetas, *batches)
            _require_shape(many, (3, rows), "log_likelihood_many", "(K, b)")
            _require_agreement(many, terms, "log_likelihood")
        if self.grad_log_likelihood_many is not None:
            many = self.grad_log_likelihood_many(thetas, *batches)
            _require_shape(many, (3, dim), "grad_log_likelihood_many", "(K, d)")
            _require_agreement(many, gradient, "grad_log_likelihood")
        self._shapes_checked = True

    def tempered(self, temperature: float) -> Posterior:
        """The posterior at a temperature T: the likelihood to the power 1/T, the prior as it is.

            log p(theta | data) = log_prior(theta) + 1/T sum over i of log_likelihood(theta, datum i) + constant

        It is what a sampler run on this posterior with ``temperature=T`` draws from; its own terms are tempered
        already, so that samplers run on it at temperature 1.

        Parameters
        ----------
        temperature : float
            T, positive.

        Returns
        -------
        Posterior
            Without exact draws or a cdf, which belong to temperature 1.

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
        """Compiled forms of the terms, with which samplers run whole chains in compiled code; None if there are none.

        They are not used once ``data`` or one of the functions has been replaced by another.
        """
        dim = self.dim or self._checked_dim
        if self._compile is None or dim is None or not self._has_own_terms():
            return None
        from steinkit.runtime.compilation import announced_compilation

        with announced_compilation():
            self._compiled = self._compile(self.data, dim)
        return self._compiled

    def _bring_terms(self, make: MakeTerms) -> None:
        """Let ``make`` make terms of the data, for d dimensions and functions as they are now, when they are wanted.

        They are made anew for each run, since parameters of a family, a prior variance say, may have been replaced;
        what takes long to make ``make`` keeps.
        """
        self._compile, self._compiled_from = make, (self.data, self._functions())

    def _has_own_terms(self) -> bool:
        """Whether data and functions are still those that the compiled terms were made for."""
        data, functions = self._compiled_from
        return data is self.data and functions == self._functions()

    def _functions(self) -> tuple[Any, ...]:
        terms = self.log_likelihood, self.grad_log_likelihood, self.log_prior, self.grad_log_prior
        return *terms, self.log_likelihood_many, self.grad_log_likelihood_many

    def __getstate__(self) -> dict[str, Any]:
        """Without compiled terms, which hold addresses: a copy makes its own."""
        return self.__dict__ | {"_compiled": None}

    def _score_over_data(self, points: Floats) -> Floats:
        """Score over all the data, (n, d) -> (n, d)."""
        if not len(points):
            return np.empty(points.shape)
        self.check_shapes(points[0])
        total = real_numbers(self.grad_log_prior(points), "the values of grad_log_prior").copy()
        self._add_over_data(total, points, self.grad_log_likelihood, self.grad_log_likelihood_many)
        return total

    def _log_density_over_data(self, points: Floats) -> Floats:
        """Log density over all the data up to a constant, (n, d) -> (n,)."""
        if not len(points):
            return np.empty(0)
        self.check_shapes(points[0])
        total = real_numbers(self.log_prior(points), "the values of log_prior").copy()
        self._add_log_likelihoods(total, points)
        return total

    def _add_log_likelihoods(self, total: Floats, points: Floats) -> None:
        many = self.log_likelihood_many
        self._add_over_data(
            total,
            points,
            lambda theta, *batch: self.log_likelihood(theta, *batch).sum(),
            None if many is None else lambda thetas, *batches: many(thetas, *batches).sum(axis=1),
        )

    def _add_over_data(
        self, total: Floats, points: Floats, single: LikelihoodTerm, many: LikelihoodTerm | None
    ) -> None:
        """Add a likelihood term, summed over all data, to ``total`` in place, block by block."""
        width = sum(1 if array.ndim == 1 else max(1, array[0].size) for array in self.data)
        pairs = max(1, _BLOCK_FLOATS // width)  # of a point and a datum
        # blocks a little longer in data than in points: both are large enough for matrix products to be fast
        rows = pairs if many is None else min(self.size, pairs, math.isqrt(16 * pairs))
        begins = range(0, self.size, rows)
        long = len(begins) > 1  # passes over few data are over at once, and there are many
        # in one thread: products of a block are so small that threads of libraries spend ten times the work in waiting
        with one_thread_in_libraries() if long else nullcontext():
            shown = None if long else False
            for begin in progress_bar("passing through the data", unit=" blocks", shown=shown, steps=begins):
                batch = tuple(array[begin : begin + rows] for array in self.data)
                if many is None:
                    for i, theta in enumerate(points):
                        total[i] += single(theta, *batch)
                    continue
                for first in range(0, len(points), pairs // rows):
                    thetas = points[first : first + pairs // rows]
                    total[first : first + len(thetas)] += many(thetas, *(_repeated(x, len(thetas)) for x in batch))


def _as_data(data: Sequence[ArrayLike]) -> tuple[Array, ...]:
    """Hold the data to arrays of one leading length."""
    if isinstance(data, np.ndarray) or not isinstance(data, Sequence):
        raise UsageError(
            f"data must be a tuple of arrays with one row a datum, such as (array,); received {type(data).__name__}"
        )
    require_unmasked(tuple(data), "data")
    arrays: tuple[Any, ...] = tuple(_StoredArray(x) if _is_stored(x) else np.asarray(x) for x in data)
    shapes = ", ".join(str(array.shape) for array in arrays)
    if not arrays or any(array.ndim == 0 for array in arrays) or len({len(array) for array in arrays}) != 1:
        raise UsageError(f"data must be arrays of the same leading length; received shapes {shapes or 'none'}")
    if not len(arrays[0]):
        raise UsageError(f"data are empty (shapes {shapes}); at least one datum is needed")
    return arrays


def _is_stored(array: Any) -> bool:
    """Whether it is kept in chunks, in a file as a rule, as arrays of Zarr, HDF5 and Dask are."""
    return getattr(array, "chunks", None) is not None and all(hasattr(array, each) for each in ("ndim", "dtype"))


class _StoredArray:
    """Rows of an array kept in chunks, which are read when they are asked for."""

    def __init__(self, stored: Any) -> None:
        self._stored = stored
        self.shape, self.ndim, self.dtype, self.chunks = stored.shape, stored.ndim, stored.dtype, stored.chunks

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: Any) -> Array:
        if not isinstance(rows, np.ndarray):
            return np.asarray(self._stored[rows])
        distinct, places = np.unique(rows, return_inverse=True)  # each chunk once, and the order that HDF5 wants
        return np.asarray(self._stored[distinct])[places.reshape(rows.shape)]

    def take(self, rows: Array, axis: int = 0) -> Array:
        return self[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self._stored[:], dtype=dtype)


# Functions of the module, and not of a method, so that tempered posteriors can be pickled.


def _divided(divisor: float, term: LikelihoodTerm, theta: Floats, *batch: Array) -> Floats:
    return term(theta, *batch) / divisor


def _tempered_terms(make: MakeTerms, temperature: float, data: tuple[Array, ...], dim: int) -> CompiledTerms:
    return make(data, dim).tempered(temperature)


def for_one(many: LikelihoodTerm) -> LikelihoodTerm:
    """The form for one parameter and its batch of a term for many, each with a batch of its own."""
    return partial(_first_of_one, many)


def _first_of_one(many: LikelihoodTerm, theta: Floats, *batch: Array) -> Floats:
    first: Floats = many(theta[None], *(array[None] for array in batch))[0]
    return first


def _repeated(array: Array, times: int) -> Array:
    """``array`` once for each of several parameters, without a copy: shape (times, *array.shape)."""
    return np.broadcast_to(array, (times, *array.shape))


def _require_shape(values: ArrayLike, shape: tuple[int, ...], name: str, wanted: str) -> Floats:
    array = real_numbers(values, f"the values of {name}")
    if array.shape != shape:
        raise InputError(f"{name} must return shape {wanted}: here {shape}; it returned {array.shape}")
    return array


def _require_agreement(many: Floats, single: Floats, name: str) -> None:
    if not np.allclose(many, single, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(single).max()), equal_nan=True):
        raise InputError(
            f"{name}_many and {name} disagree on the same parameter and data: "
            f"{np.asarray(many)[0]} and {single}; make the two forms compute the same"
        )


_STEP = 1e-4  # of central differences, in standard deviations of the draws, or of the way from the centre
_GATHERED_FLOATS = 1 << 20  # of data gathered at once
_LARGE = 300  # coordinates above which the second order costs more passes over the data than it saves
_TELL, _REFUSE = 0.1, 0.5  # of a score's variance that may be noise


def stochastic_scores(
    draws: DrawsLike, posterior: Posterior, *, batch: int = 10, order: int | None = None, rng: Seed = 0
) -> Sample:
    """Scores of draws that read a few data each, by control variates: where the data are many.

    Verdicts, biases and discrepancies take them as other stored scores: ``sk.verdict(scored)``. Their noise has mean
    zero, and the tests' standard errors hold it.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        Inside the support of the posterior.
    posterior : Posterior
        With its N data.
    batch : int
        Data read for each distinct draw, drawn anew with replacement: from 2 to N.
    order : {1, 2}, optional
        Of the expansion about the draws' mean that stands for the other data. 2 reads all data 2 d times, once for all
        draws; 1 reads them once. By default 2 up to 300 coordinates.
    rng : int, numpy.random.Generator or None
        Seed of the batches.

    Returns
    -------
    Sample
        The draws with these scores.

    Raises
    ------
    UsageError
        If batch or order is out of range.
    InputError
        If more than half of the variance of a coordinate's score is noise: draws in several modes, or far from their
        mean for so many data, have such scores. A tenth and more is warned of.

    References
    ----------
    J. Baker, P. Fearnhead, E. B. Fox and C. Nemeth (2019), "Control variates for stochastic gradient MCMC", equation 5.
    The second order is ours.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> posterior = sk.targets.LogisticRegression.nodal()
    >>> draws = sk.samplers.mala(posterior, step_size=0.1, draws=500, burn_in=500).points[0]
    >>> scored = sk.stochastic_scores(draws, posterior, batch=20)
    >>> bool(np.corrcoef(scored.scores[:, 1], posterior.score(draws)[:, 1])[0, 1] > 0.9)
    True
    """
    found = batch_scores(draws, posterior, batch, order, rng)
    caution((found.told,))
    return found.sample


class BatchScores(NamedTuple):
    """Draws with such scores.

    Attributes
    ----------
    sample : Sample
    noise : float
        The largest share of the variance of a coordinate's score that is noise.
    told : str
        The same in words: a caution where it costs power.
    """

    sample: Sample
    noise: float
    told: str


def batch_scores(
    draws: DrawsLike, posterior: Posterior, batch: int, order: int | None = None, rng: Seed = 0
) -> BatchScores:
    """The same as `stochastic_scores`, with how much of them is noise."""
    require_type(Posterior, "a steinkit Posterior", posterior=posterior)
    sample = as_sample(draws)
    if posterior.names is not None and sample.has_default_names and sample.dim == posterior.dim:
        sample = sample.with_columns(names=posterior.names)
    points, inverse = np.unique(sample.points, axis=0, return_inverse=True)
    inverse = inverse.ravel()  # which some versions of NumPy give another shape
    still = np.flatnonzero((points == points[0]).all(axis=0))
    if len(still):
        raise InputError(f"{sample.names[still[0]]} is the same in all draws: leave out what does not vary")
    generator = generator_from(rng)
    if not isinstance(order, int | None) or order not in (None, 1, 2):
        raise UsageError(f"order must be 1 or 2; received {order!r}")
    if not isinstance(batch, int | np.integer) or not 2 <= batch <= posterior.size:
        raise UsageError(f"batch must be a whole number from 2 to the {posterior.size} data; received {batch!r}")
    posterior.check_shapes(points[0])
    centre = sample.points.mean(axis=0)
    second = points.shape[1] <= _LARGE if order is None else order == 2
    with one_thread_in_libraries():
        scores = posterior.grad_log_prior(points) + _over_all_data(posterior, points - centre, centre, second)
    noise = np.zeros(points.shape[1])
    width = batch * sum(max(1, array[0].size) for array in posterior.data)
    for begin in range(0, len(points), size := max(1, _GATHERED_FLOATS // width)):
        block = slice(begin, begin + size)
        rows = generator.integers(0, posterior.size, (len(points[block]), batch))
        left = _remainders(posterior, points[block], centre, rows, second)
        scores[block] += posterior.size * left.mean(axis=1)
        noise += (posterior.size**2 / batch * left.var(axis=1, ddof=1)).sum(axis=0)
    if not np.isfinite(scores).all():
        raise InputError("the scores are not finite at every draw; does the posterior know all of them?")
    share = noise / len(points) / np.maximum(scores[inverse].var(axis=0), np.finfo(float).tiny)
    worst = int(share.argmax())
    much = f"{100.0 * min(share[worst], 1.0):.2g}% of the variance of {sample.names[worst]}'s score"
    told = f"{much} is noise of its batches of {batch} data"
    if share[worst] > _REFUSE:
        raise InputError(f"{told}; take a larger batch, or the score itself: draws may lie too far apart")
    if share[worst] > _TELL:
        told = Caution(f"{told}; a larger batch makes tests stronger and margins smaller")
    return BatchScores(sample.with_columns(scores=scores[inverse]), float(share[worst]), told)


def _over_all_data(posterior: Posterior, ways: Floats, centre: Floats, second: bool) -> Floats:
    """Sums over all data of the gradients at the centre, and of their derivatives along the ways from there."""

    def likelihood_score(points: Floats) -> Floats:
        return posterior.score(points) - posterior.grad_log_prior(points)

    total = likelihood_score(centre[None])
    if not second:
        return np.repeat(total, len(ways), axis=0)
    steps = np.diag(_STEP * np.sqrt((ways**2).mean(axis=0)))
    sizes = 2.0 * np.diag(steps)[:, None]
    hessian = (likelihood_score(centre + steps) - likelihood_score(centre - steps)) / sizes
    return np.asarray(total + ways @ hessian)


def _remainders(posterior: Posterior, points: Floats, centre: Floats, rows: Integers, second: bool) -> Floats:
    """Of each datum of each draw's batch what the expansion about the centre leaves, shape (n, b, d)."""
    n, b = rows.shape
    data = tuple(array[rows.ravel()][:, None] for array in posterior.data)  # batches of one

    def gradient(k: int, theta: Floats) -> Floats:
        require_time("the scores were taken")
        return np.asarray(posterior.grad_log_likelihood(theta, *(x[k] for x in data)), dtype=np.float64)

    def gradients(thetas: Floats) -> Floats:
        require_time("the scores were taken")
        if posterior.grad_log_likelihood_many is not None:
            return np.asarray(posterior.grad_log_likelihood_many(thetas, *data), dtype=np.float64)
        return np.array([gradient(k, theta) for k, theta in enumerate(thetas)])

    thetas, middle = np.repeat(points, b, axis=0), np.broadcast_to(centre, (n * b, len(centre)))
    left = gradients(thetas) - gradients(np.array(middle))
    if second:
        way = _STEP * (thetas - centre)
        left -= (gradients(centre + way) - gradients(centre - way)) / (2.0 * _STEP)
    return left.reshape(n, b, -1)
