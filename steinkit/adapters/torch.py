"""Conversion of PyTorch log densities and draws.

A PyTorch log density is a function of one point (a tensor or a dict of tensors) or of a batch of points. A trial call
determines the form of the function. `torch.func.vmap` maps functions of one point over a batch of points. The value at
each point depends only on that point. Therefore, the score is computed by one backward pass through the sum over
points. PyTorch does not store the support of a parameter, so `constraints` must be given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.adapters.model import Model, Parameter, as_floats, check, refuse_discrete
from steinkit.containers.named_draws import spans
from steinkit.containers.objects import is_xarray
from steinkit.containers.reading import as_sample, require_dims
from steinkit.errors import InputError, SteinkitError, UsageError, did_you_mean, import_extra
from steinkit.sample import Floats, Sample
from steinkit.target import Target
from steinkit.user_functions import described

_BLOCK = 1024  # number of points per call; a function of N data points requires arrays of 1024 N numbers


def from_torch(
    log_density: Any,
    draws: Any,
    *,
    constraints: Mapping[str, Any] | None = None,
    names: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    dims: Sequence[str] | None = None,
    bounds: ArrayLike | None = None,
    label: str = "PyTorch log density",
) -> tuple[Target, Sample]:
    """Convert a PyTorch log density and draws to a target and a sample.

    Parameters
    ----------
    log_density : callable, or distribution of torch.distributions
        Function that returns the log density, up to a constant, of a point with the structure of one draw, or n values
        for n points. If both interpretations are possible, the function is treated as a function of one point. The
        function is evaluated in double precision on the device of the draws.
    draws : tensor, or dict of str to tensor
        A tensor of shape (n,), (n, d) or (chains, n, d), or one tensor per parameter of shape (n, *shape), as returned
        by Pyro's `get_samples`.
    constraints : dict of str to torch.distributions.constraints.Constraint, optional
        Constraints of the parameters of a dict. These parameters are transformed by `torch.distributions.biject_to`,
        and log |J| is added to the log density.
    names : sequence of str, or dict of str to sequence of str, optional
        Names of the d coordinates of a tensor, or labels along the first axis of parameters of a dict.
    dims : {("draw",), ("chain", "draw"), ("draw", "chain")}, optional
        Leading axes of the tensor, or of all tensors of a dict. The default for a dict is ("draw",).
    bounds : array_like, shape (d, 2), optional
        Bounds of the support for the coordinates of a tensor.
    label : str
        Name of the target in reports.

    Returns
    -------
    Target, Sample
        Both results are in unconstrained space if there are constraints.

    Raises
    ------
    InputError
        If `log_density` does not return one value per point or cannot be differentiated, or if a draw is not finite or
        violates its constraint.
    UsageError
        If an argument does not apply to this form of draws.
    MissingDependencyError
        If PyTorch is not installed (``pip install -e '.[torch]'``).

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_torch(lambda x: -0.5 * (x**2).sum(), draws)  # doctest: +SKIP
    >>> target, sample = sk.from_torch(log_posterior, mcmc.get_samples(), constraints={"tau": constraints.positive})
    ... # doctest: +SKIP
    """
    torch = import_extra("torch", "PyTorch", "torch")
    if constraints is not None and not isinstance(constraints, Mapping):
        raise UsageError(
            f"constraints must be a dict with one constraint per parameter; got {type(constraints).__name__}"
        )
    if is_xarray(draws):
        raise UsageError(
            f"expected tensors or arrays, got {type(draws).__name__}; pass a dict of arrays, "
            '{"tau": posterior["tau"].values, ...}, with dims=("chain", "draw")'
        )
    function = log_density if callable(log_density) else getattr(log_density, "log_prob", None)
    if function is None:
        raise UsageError(
            f"log_density must be a function or a distribution with log_prob; got {type(log_density).__name__}"
        )
    if isinstance(draws, Mapping):
        if bounds is not None:
            raise UsageError("bounds= applies to draws in one tensor; use constraints= for the parameters of a dict")
        model, values = _named(torch, function, draws, constraints or {}, names, dims, label)
        return model.bind(values, dims=("chain", "draw"))
    if constraints or isinstance(names, Mapping):
        raise UsageError("constraints= and a dict of labels apply to draws in a dict of tensors; got one tensor")
    draws = _tensor(torch, draws, "draws").double()
    sample = as_sample(as_floats(draws.cpu()), dims=dims)
    if names is not None:
        sample = sample.with_columns(names=tuple(names))
    lead = len(require_dims(dims) or ()) or max(1, draws.ndim - 1)
    shape = tuple(draws.shape[lead:])
    of_rows = _over_rows(torch, function, draws.reshape(-1, *shape))

    def density(points: Any) -> Any:
        return of_rows(points.reshape(-1, *shape))

    target = _target(torch, density, device=draws.device, names=sample.names, bounds=bounds, label=label)
    check(target, sample)
    return target, sample


def _named(
    torch: Any,
    function: Any,
    draws: Mapping[str, Any],
    constraints: Mapping[str, Any],
    names: Sequence[str] | Mapping[str, Sequence[str]] | None,
    dims: Sequence[str] | None,
    label: str,
) -> tuple[Model, dict[str, Floats]]:
    """Return a model for named draws, and the draws grouped by chain.

    The draws have shape (chains, n, *shape).
    """
    if not draws:
        raise InputError("expected draws with one tensor per parameter, got an empty dict")
    if names is not None and not isinstance(names, Mapping):
        raise UsageError(
            f"the keys of a dict of draws are used as names; to set labels, pass names={{{next(iter(draws))!r}: [...]}}"
        )
    labels = names or {}
    for given in (*constraints, *labels):
        if given not in draws:
            raise UsageError(
                f"expected one of the parameters {', '.join(draws)}, got {given!r}{did_you_mean(given, draws)}"
            )
    tensors = {name: _tensor(torch, values, name) for name, values in draws.items()}
    refuse_discrete([name for name, values in tensors.items() if not values.is_floating_point()], label)
    axes = require_dims(dims) or ("draw",)
    if axes == ("draw", "chain"):
        tensors = {name: values.transpose(0, 1) if values.ndim > 1 else values for name, values in tensors.items()}
    lead = len(axes)
    _require_common(tensors, lead)
    drawn = {name: values.reshape(-1, *values.shape[lead:]) for name, values in tensors.items()}
    transforms = {name: _transform(torch, name, constraints.get(name), values) for name, values in drawn.items()}
    rows = {name: values.double() for name, values in drawn.items()}
    parameters = tuple(
        Parameter(
            name,
            tuple(values.shape[1:]),
            _space(torch, constraints.get(name)),
            tuple(transforms[name].inverse_shape(values.shape[1:])),
            _labels(values.shape[1:], name, labels[name]) if name in labels else None,
        )
        for name, values in rows.items()
    )
    of_rows = _over_rows(torch, function, rows)
    device = next(iter(rows.values())).device

    def constrained(points: Any) -> tuple[dict[str, Any], Any]:
        values, log_jacobian = {}, 0.0
        for each, span in zip(parameters, spans(each.free_shape for each in parameters), strict=True):
            free = points[:, span].reshape(-1, *each.free_shape)
            values[each.name] = transforms[each.name](free)
            slope = transforms[each.name].log_abs_det_jacobian(free, values[each.name])
            log_jacobian = log_jacobian + slope.reshape(len(points), -1).sum(dim=1)
        return values, log_jacobian

    def density(points: Any) -> Any:
        values, log_jacobian = constrained(points)
        return of_rows(values) + log_jacobian

    def unconstrain(values: dict[str, Floats]) -> Floats:
        free = [transforms[name].inv(torch.as_tensor(values[name], device=device)) for name in rows]
        return as_floats(torch.cat([each.reshape(len(each), -1) for each in free], dim=1).cpu())

    def constrain(points: Floats) -> dict[str, Floats]:
        values, _ = constrained(torch.as_tensor(points, device=device))
        return {name: as_floats(value.cpu()) for name, value in values.items()}

    model = Model(
        label=label,
        parameters=parameters,
        make_target=lambda columns, called: _target(torch, density, device=device, names=columns, label=called),
        unconstrain=unconstrain,
        constrain=constrain,
    )
    first = next(iter(tensors.values())).shape[:lead]
    chains = (1, *first) if lead == 1 else tuple(first)
    return model, {name: as_floats(v.cpu()).reshape(*chains, *v.shape[1:]) for name, v in rows.items()}


def _target(torch: Any, density: Callable[[Any], Any], *, device: Any, **fields: Any) -> Target:
    """Return the target defined by a differentiable function of n points."""

    def tensor(points: Floats) -> Any:
        return torch.as_tensor(points, dtype=torch.float64, device=device)

    def log_density(points: Floats) -> Floats:
        with torch.no_grad():
            return as_floats(torch.cat([density(block) for block in tensor(points).split(_BLOCK)]).cpu())

    def score(points: Floats) -> Floats:
        return as_floats(torch.cat([gradient(block) for block in tensor(points).split(_BLOCK)]).cpu())

    def gradient(block: Any) -> Any:
        block = block.clone().requires_grad_()
        with torch.enable_grad():
            total = density(block).sum()
        if not total.requires_grad:
            raise InputError(
                "PyTorch cannot differentiate log_density; compute it with PyTorch only, without .detach(), .item(), "
                ".numpy() or torch.no_grad()"
            )
        return torch.autograd.grad(total, block)[0]

    return Target(score=score, log_density=log_density, **fields)


def _over_rows(torch: Any, function: Callable[[Any], Any], rows: Any) -> Callable[[Any], Any]:
    """Vectorize a user-supplied function: n points are mapped to n values."""
    few = _taken(rows, slice(0, 2))
    n = _length(few)
    with torch.no_grad():
        of_point, of_point_text = _shape(function, _taken(rows, 0))
        if of_point == ():
            return _mapped(torch, function, few)
        of_batch, of_batch_text = _shape(function, few)
        if of_batch == (n,):
            _require_separate(torch, function, few)
            return function
    remedy = "; sum over the coordinates" if of_point else ""
    if any(sign in text for sign in ("dtype", "Double") for text in (of_point_text, of_batch_text)):
        remedy = ". It runs in double precision: convert the tensors that it uses with .double()"
    raise InputError(
        "log_density must return one number for a point, or n numbers for n points; for the first draw it "
        f"{of_point_text}, for the first {n} draws it {of_batch_text}{remedy}"
    )


def _mapped(torch: Any, function: Callable[[Any], Any], few: Any) -> Callable[[Any], Any]:
    """Map a function of one point over a batch of points.

    If vmap fails (for example, for functions with branches), the points are evaluated one by one.
    """

    def one_by_one(rows: Any) -> Any:
        return torch.stack([function(_taken(rows, k)) for k in range(_length(rows))])

    over_all = torch.func.vmap(function)
    try:
        found = over_all(few)
    except SteinkitError:
        raise
    except Exception:  # vmap does not support all operations
        return one_by_one
    return over_all if torch.allclose(found, one_by_one(few), rtol=1e-6, equal_nan=True) else one_by_one


def _require_separate(torch: Any, function: Callable[[Any], Any], few: Any) -> None:
    together, alone = function(few)[0], function(_taken(few, slice(0, 1)))[0]
    if not torch.allclose(together, alone, rtol=1e-6, equal_nan=True):
        raise InputError(
            f"the value of log_density at a point must depend only on that point; got {float(alone):.6g} for the first "
            f"draw alone and {float(together):.6g} for a batch: write it for one point"
        )


def _shape(function: Callable[[Any], Any], points: Any) -> tuple[tuple[int, ...] | None, str]:
    """Return the shape of a function value and a description of the value.

    The shape is None if the value is not a tensor.
    """
    try:
        value = function(points)
    except SteinkitError:
        raise
    except Exception as error:
        return None, f"raised {described(error)}"
    if not hasattr(value, "shape"):
        return None, f"returned {type(value).__name__}, which is not a tensor"
    return tuple(value.shape), f"returned shape {tuple(value.shape)}"


def _transform(torch: Any, name: str, constraint: Any, rows: Any) -> Any:
    """Return the PyTorch bijection onto a constraint.

    Raises InputError if a draw does not satisfy the constraint.
    """
    constraint = torch.distributions.constraints.real if constraint is None else constraint
    try:
        transform = torch.distributions.biject_to(constraint)
    except (NotImplementedError, AttributeError) as error:
        raise InputError(
            f"PyTorch has no bijection onto the constraint {constraint} of {name} ({error}); register one with "
            "torch.distributions.biject_to.register, or use unconstrained parameters"
        ) from None
    kept = constraint.check(rows).reshape(len(rows), -1).all(dim=1)
    if not bool(kept.all()):
        row = int((~kept).nonzero()[0])
        raise InputError(
            f"draw {row + 1} of {name}, {rows[row].tolist()}, violates its constraint {constraint} "
            f"({int((~kept).sum())} such draws); correct the constraint or the draws"
        )
    return transform


def _space(torch: Any, constraint: Any) -> str:
    """Return the name of the `Parameter` space for a constraint."""
    known = torch.distributions.constraints
    while hasattr(constraint, "base_constraint"):
        constraint = constraint.base_constraint
    if constraint is None or constraint is known.real:
        return "real"
    if isinstance(constraint, known.greater_than | known.greater_than_eq) and float(constraint.lower_bound) == 0.0:
        return "positive"
    if isinstance(constraint, known.interval):
        return "interval"
    if constraint is known.simplex:
        return "simplex"
    return "cholesky" if constraint is known.corr_cholesky else "other"


def _tensor(torch: Any, values: Any, what: str) -> Any:
    """Return draws as a tensor without gradients."""
    try:
        return values.detach() if torch.is_tensor(values) else torch.as_tensor(np.asarray(values))
    except TypeError as error:
        raise InputError(
            f"{what} must be a tensor or an array of numbers; got {type(values).__name__} ({error})"
        ) from None


def _require_common(tensors: Mapping[str, Any], lead: int) -> None:
    shapes = {name: tuple(values.shape) for name, values in tensors.items()}
    if any(len(shape) < lead for shape in shapes.values()) or len({shape[:lead] for shape in shapes.values()}) > 1:
        wanted = "(chains, n, ...)" if lead == 2 else "(n, ...)"
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"all draws must have shape {wanted} with the same leading axes; got {found}")


def _labels(shape: Sequence[int], name: str, along: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    if len(shape) != 1 or len(along) != shape[0]:
        raise UsageError(f"expected one label per entry of {name} of shape {tuple(shape)}, got {len(along)}")
    return (tuple(map(str, along)),)


def _taken(rows: Any, which: int | slice) -> Any:
    return {name: values[which] for name, values in rows.items()} if isinstance(rows, Mapping) else rows[which]


def _length(rows: Any) -> int:
    return len(next(iter(rows.values()))) if isinstance(rows, Mapping) else len(rows)
