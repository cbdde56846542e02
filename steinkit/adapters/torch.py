"""Log densities and draws of PyTorch.

A log density in PyTorch is a function of one point, a tensor or a dict of tensors, or of a batch of them; which of the
two is found by calling it. Functions of one point are mapped over points by `torch.func.vmap`, so both become a
function of n points with n values, and one backward pass through their sum gives all n scores: the value at a point
depends on that point only. PyTorch knows no model, so nothing says that tau is positive unless `constraints` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.adapters.model import Model, Parameter, as_floats, check, refuse_discrete
from steinkit.containers.objects import is_xarray
from steinkit.containers.reading import as_sample, require_dims
from steinkit.errors import InputError, SteinkitError, UsageError, did_you_mean, imported
from steinkit.sample import Floats, Sample
from steinkit.target import Target, described

_BLOCK = 1024  # points a call: a function of N data holds an array of this many times N numbers


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
    """A log density in PyTorch as a target, and draws as a sample of it.

    Parameters
    ----------
    log_density : callable, or distribution of torch.distributions
        Takes a point in the form of one of the draws and returns its log density, up to a constant; or takes n of
        them and returns n values. Where both would do, it is taken as a function of a point. Run in double precision,
        on the device of the draws.
    draws : tensor, or dict of str to tensor
        A tensor of shape (n,), (n, d) or (chains, n, d); or one a parameter, each of shape (n, *shape), as Pyro's
        `get_samples` returns them.
    constraints : dict of str to torch.distributions.constraints.Constraint, optional
        Of the parameters of a dict that are not free: they are transformed by `torch.distributions.biject_to`, and the
        log density gets log |J| added.
    names : sequence of str, or dict of str to sequence of str, optional
        Names of the d coordinates of a tensor; or labels along the first axis of parameters of a dict.
    dims : {("draw",), ("chain", "draw"), ("draw", "chain")}, optional
        What the leading axes of the tensor, or of all tensors of a dict, count; of a dict ("draw",) if not given.
    bounds : array_like, shape (d, 2), optional
        Of the support, for the coordinates of a tensor.
    label : str
        How reports call the target.

    Returns
    -------
    Target, Sample
        In unconstrained space where there are constraints.

    Raises
    ------
    InputError
        If `log_density` returns anything but one value a point, or its gradient cannot be had; if a draw is not finite
        or outside of its constraint.
    MissingDependencyError
        If PyTorch is not installed (``pip install 'steinkit[torch]'``).

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_torch(lambda x: -0.5 * (x**2).sum(), draws)  # doctest: +SKIP
    >>> target, sample = sk.from_torch(log_posterior, mcmc.get_samples(), constraints={"tau": constraints.positive})
    ... # doctest: +SKIP
    """
    torch = imported("torch", "PyTorch", "torch")
    if constraints is not None and not isinstance(constraints, Mapping):
        raise UsageError(f"constraints is a dict, a constraint a parameter; received {type(constraints).__name__}")
    if is_xarray(draws):
        raise UsageError(
            f"from_torch takes tensors or arrays; received {type(draws).__name__}: hand over a dict of the "
            'parameters\' arrays, {"tau": posterior["tau"].values, ...}, with dims=("chain", "draw")'
        )
    function = log_density if callable(log_density) else getattr(log_density, "log_prob", None)
    if function is None:
        raise UsageError(
            f"log_density must be a function or a distribution with log_prob; received {type(log_density).__name__}"
        )
    if isinstance(draws, Mapping):
        if bounds is not None:
            raise UsageError("bounds are for draws in one tensor; say constraints= of the parameters of a dict")
        model, values = _named(torch, function, draws, constraints or {}, names, dims, label)
        return model.bind(values, dims=("chain", "draw"))
    if constraints or isinstance(names, Mapping):
        raise UsageError("constraints= and a dict of labels are for draws in a dict of tensors; received one tensor")
    return _unnamed(torch, function, _tensor(torch, draws, "draws").double(), names, dims, bounds, label)


def _unnamed(
    torch: Any,
    function: Any,
    draws: Any,
    names: Sequence[str] | None,
    dims: Sequence[str] | None,
    bounds: ArrayLike | None,
    label: str,
) -> tuple[Target, Sample]:
    sample = as_sample(as_floats(draws.cpu()), dims=dims)
    if names is not None:
        sample = sample.with_columns(names=tuple(names))
    lead = len(require_dims(dims) or ()) or max(1, draws.ndim - 1)
    shape = tuple(draws.shape[lead:])
    of_rows = _over_rows(torch, function, draws.reshape(-1, *shape))
    target = _target(
        torch,
        lambda points: of_rows(points.reshape(-1, *shape)),
        device=draws.device,
        names=sample.names,
        bounds=bounds,
        label=label,
    )
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
    """The model that draws by name speak of, and these draws, (chains, n, *shape) each."""
    if not draws:
        raise InputError("the draws are an empty dict; a tensor a parameter is wanted")
    if names is not None and not isinstance(names, Mapping):
        raise UsageError(
            f"names of draws in a dict are its keys; give labels as names={{{next(iter(draws))!r}: [...]}}"
        )
    labels = names or {}
    for given in (*constraints, *labels):
        if given not in draws:
            raise UsageError(
                f"there are no draws of {given!r}{did_you_mean(given, draws)}; they are of {', '.join(draws)}"
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
        values, log_jacobian, start = {}, 0.0, 0
        for each in parameters:
            size = int(np.prod(each.free_shape))
            free = points[:, start : start + size].reshape(-1, *each.free_shape)
            start += size
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
    """The target of a differentiable function of n points, (n, d) -> (n,)."""

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
                "log_density's value does not depend on its argument in a way that PyTorch can differentiate; compute "
                "it with PyTorch alone, without .detach(), .item(), .numpy() or torch.no_grad()"
            )
        return torch.autograd.grad(total, block)[0]

    return Target(score=score, log_density=log_density, **fields)


def _over_rows(torch: Any, function: Callable[[Any], Any], rows: Any) -> Callable[[Any], Any]:
    """A user's function as one of n points with n values, by what it returns for the first draws."""
    few = _taken(rows, slice(0, 2))
    n = _length(few)
    with torch.no_grad():
        of_point, said_of_point = _shape(function, _taken(rows, 0))
        if of_point == ():
            return _mapped(torch, function, few)
        of_batch, said_of_batch = _shape(function, few)
        if of_batch == (n,):
            _require_separate(torch, function, few)
            return function
    remedy = _remedy(of_point, said_of_point, said_of_batch)
    raise InputError(
        "log_density must return one number for a point, or n numbers for n points; for the first draw it "
        f"{said_of_point}, for the first {n} together it {said_of_batch}{remedy}"
    )


def _mapped(torch: Any, function: Callable[[Any], Any], few: Any) -> Callable[[Any], Any]:
    """A function of one point over many: by vmap, or one after the other where vmap cannot, as with branches."""

    def one_by_one(rows: Any) -> Any:
        return torch.stack([function(_taken(rows, k)) for k in range(_length(rows))])

    over_all = torch.func.vmap(function)
    try:
        found = over_all(few)
    except SteinkitError:
        raise
    except Exception:  # whatever vmap does not know how to map
        return one_by_one
    return over_all if torch.allclose(found, one_by_one(few), rtol=1e-6, equal_nan=True) else one_by_one


def _require_separate(torch: Any, function: Callable[[Any], Any], few: Any) -> None:
    together, alone = function(few)[0], function(_taken(few, slice(0, 1)))[0]
    if not torch.allclose(together, alone, rtol=1e-6, equal_nan=True):
        raise InputError(
            f"log_density of the first draw is {float(alone):.6g} alone and {float(together):.6g} beside another: its "
            "value at a point must depend on that point only; write it for one point"
        )


def _shape(function: Callable[[Any], Any], points: Any) -> tuple[tuple[int, ...] | None, str]:
    """Shape of what a user's function returns, None if it returns no tensor; and that in words."""
    try:
        value = function(points)
    except SteinkitError:
        raise
    except Exception as error:
        return None, f"raised {described(error)}"
    if not hasattr(value, "shape"):
        return None, f"returned {type(value).__name__}, no tensor"
    return tuple(value.shape), f"returned shape {tuple(value.shape)}"


def _remedy(of_point: tuple[int, ...] | None, *said: str) -> str:
    if any("dtype" in each or "Double" in each for each in said):
        return ". It runs in double precision: convert what it closes over with .double()"
    return "; sum over the coordinates" if of_point else ""


def _transform(torch: Any, name: str, constraint: Any, rows: Any) -> Any:
    """PyTorch's bijection from free space onto a constraint, which draws must fulfil to their own precision."""
    constraint = torch.distributions.constraints.real if constraint is None else constraint
    try:
        transform = torch.distributions.biject_to(constraint)
    except (NotImplementedError, AttributeError) as error:
        raise InputError(
            f"PyTorch has no bijection onto the constraint {constraint} of {name} ({error}); register one with "
            "torch.distributions.biject_to.register, or write the log density in free parameters"
        ) from None
    kept = constraint.check(rows).reshape(len(rows), -1).all(dim=1)
    if not bool(kept.all()):
        row = int((~kept).nonzero()[0])
        raise InputError(
            f"draw {row + 1} of {name} is {rows[row].tolist()}, which is outside of its constraint {constraint} "
            f"({int((~kept).sum())} such draws); correct the constraint or the draws"
        )
    return transform


def _space(torch: Any, constraint: Any) -> str:
    """What `Parameter` calls the space of a constraint."""
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
    """Draws without their history."""
    try:
        return values.detach() if torch.is_tensor(values) else torch.as_tensor(np.asarray(values))
    except TypeError as error:
        raise InputError(
            f"{what} must be a tensor, or an array of numbers; received {type(values).__name__} ({error})"
        ) from None


def _require_common(tensors: Mapping[str, Any], lead: int) -> None:
    shapes = {name: tuple(values.shape) for name, values in tensors.items()}
    if any(len(shape) < lead for shape in shapes.values()) or len({shape[:lead] for shape in shapes.values()}) > 1:
        wanted = "(chains, n, ...)" if lead == 2 else "(n, ...)"
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise InputError(f"all draws must have shape {wanted} with the same first axes; received {found}")


def _labels(shape: Sequence[int], name: str, along: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    if len(shape) != 1 or len(along) != shape[0]:
        raise UsageError(f"{name} has shape {tuple(shape)}; received {len(along)} labels for a vector's entries")
    return (tuple(map(str, along)),)


def _taken(rows: Any, which: int | slice) -> Any:
    return {name: values[which] for name, values in rows.items()} if isinstance(rows, Mapping) else rows[which]


def _length(rows: Any) -> int:
    return len(next(iter(rows.values()))) if isinstance(rows, Mapping) else len(rows)
