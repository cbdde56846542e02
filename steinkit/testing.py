"""Assertions and checks for sampler authors.

`assert_draws_from` is an assertion for a test suite. `check_sampler` runs a sampler on targets with known moments. The
targets cover typical difficulties: correlation, different scales, heavy tails, bounds, an edge that is not a bound,
curvature, a funnel, a ring and two modes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.diagnosis.verdict import verdict
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.errors import SteinkitWarning, UsageError, cautious, require_known, shortened
from steinkit.sample import Floats
from steinkit.target import Target
from steinkit.targets.families import Beta, Gamma, GaussianMixture, Normal, StudentT
from steinkit.text import Table, count, listed

__all__ = [
    "CheckedTarget",
    "SamplerCheck",
    "StandardTarget",
    "assert_draws_from",
    "check_sampler",
    "standard_targets",
]

_PASSED = "no bias seen"
_LONGEST = 60  # maximum number of characters of an error message shown in a table


@cautious
def assert_draws_from(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    level: float = 1e-4,
    rng: int = 0,
) -> None:
    """Raise an AssertionError unless a verdict finds no bias in the draws.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or another type that `as_sample` accepts
        Draws in the order in which they were generated, without burn-in.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in the
        sample.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target.
    level : float
        Probability that the draws of an exact sampler are rejected. The default, 1e-4, is suitable for a test that runs
        with a new seed every time.
    rng : int
        Random seed for the verdict.

    Raises
    ------
    AssertionError
        If the draws are biased, or if there are too few effective draws for a verdict. The message contains the
        findings.
    UsageError, InputError, SolverError
        See `steinkit.verdict`.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> from steinkit.testing import assert_draws_from
    >>> draws = np.random.default_rng(1).standard_normal((1000, 2))
    >>> assert_draws_from(draws, sk.targets.Normal([0.0, 0.0]))
    >>> assert_draws_from(draws, sk.targets.Normal([0.0, 0.5]))
    Traceback (most recent call last):
        ...
    AssertionError: These draws do not come from the target (p = 5.2e-50)...
    """
    found = verdict(draws, target, scores=scores, weights=weights, bounds=bounds, level=level, rng=rng)
    if found.label != _PASSED:
        raise AssertionError(found.summary())


@dataclass(frozen=True)
class StandardTarget:
    """Target with its moments and a starting point for chains.

    Attributes
    ----------
    target : Target
    start : ndarray, shape (d,)
        A point with a high density.
    mean, sd : ndarray, shape (d,)
        Moments of the target.
    """

    target: Target
    start: Floats
    mean: Floats
    sd: Floats


def standard_targets() -> dict[str, StandardTarget]:
    """Return a dictionary of the targets used by `check_sampler`.

    Returns
    -------
    dict of str to StandardTarget
        The targets, with their starting points and moments.

    Examples
    --------
    >>> from steinkit.testing import standard_targets
    >>> funnel = standard_targets()["funnel"]
    >>> funnel.target.dim, funnel.sd.round(2).tolist()
    (3, [1.0, 1.28, 1.28])
    """
    steps = np.arange(5)
    correlated = 0.9 ** np.abs(steps[:, None] - steps)
    scales = np.array([0.01, 1.0, 100.0])
    shape, rate, a, b = np.array([2.0, 5.0]), np.array([1.0, 2.0]), np.array([2.0, 5.0]), np.array([3.0, 2.0])
    below = 1.0 / math.sqrt(math.pi)
    made = {
        "normal": (Normal([1.0, -2.0], [1.0, 4.0]), [1.0, -2.0], [1.0, 2.0]),
        "correlated": (Normal(np.zeros(5), correlated), np.zeros(5), np.ones(5)),
        "scales": (Normal(np.zeros(3), scales**2), np.zeros(3), scales),
        "heavy tails": (StudentT(5.0, [0.0, 0.0]), np.zeros(2), np.full(2, math.sqrt(5.0 / 3.0))),
        "positive": (Gamma(shape, rate), shape / rate, np.sqrt(shape) / rate),
        "interval": (Beta(a, b), a / (a + b), np.sqrt(a * b / (a + b + 1.0)) / (a + b)),
        "two modes": (GaussianMixture([[-1.5, 0.0], [1.5, 0.0]], sd=1.0), np.zeros(2), [math.sqrt(3.25), 1.0]),
        "banana": (_banana(), [0.0, 1.0], [1.0, 1.5]),
        "funnel": (_funnel(), np.zeros(3), [1.0, *[math.exp(0.25)] * 2]),
        "ring": (_ring(4.0, 0.5), np.zeros(2), np.full(2, math.sqrt(0.5 * (16.0 + 3.0 * 0.25)))),
        "ordered": (_ordered(), [-below, below], np.full(2, math.sqrt(1.0 - below**2))),
    }
    found = {}
    for name, (target, mean, sd) in made.items():
        center, spread = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
        start = np.array([4.0, 0.0]) if name == "ring" else center
        found[name] = StandardTarget(target, start, center, spread)
    return found


def _banana() -> Target:
    """Return x1 ~ N(0, 1) and x2 | x1 ~ N(x1^2, 1/4)."""

    def log_density(x: Floats) -> Floats:
        return np.asarray(-0.5 * x[:, 0] ** 2 - 2.0 * (x[:, 1] - x[:, 0] ** 2) ** 2)

    def score(x: Floats) -> Floats:
        residual = 4.0 * (x[:, 1] - x[:, 0] ** 2)
        return np.column_stack([2.0 * x[:, 0] * residual - x[:, 0], -residual])

    return Target(score, log_density=log_density, dim=2)


def _funnel() -> Target:
    """Return v ~ N(0, 1) and two coordinates x | v ~ N(0, exp(v))."""

    def log_density(x: Floats) -> Floats:
        v = x[:, 0]
        return np.asarray(-0.5 * v**2 - v - 0.5 * (x[:, 1:] ** 2).sum(axis=1) * np.exp(-v))

    def score(x: Floats) -> Floats:
        v, precision = x[:, 0], np.exp(-x[:, :1])
        slope = 0.5 * (x[:, 1:] ** 2).sum(axis=1) * precision[:, 0] - 1.0 - v
        return np.column_stack([slope, -x[:, 1:] * precision])

    return Target(score, log_density=log_density, dim=3)


def _ring(radius: float, width: float) -> Target:
    """Return a two-dimensional density proportional to a normal pdf of the radius."""

    def log_density(x: Floats) -> Floats:
        return np.asarray(-0.5 * ((np.hypot(x[:, 0], x[:, 1]) - radius) / width) ** 2)

    def score(x: Floats) -> Floats:
        r = np.hypot(x[:, 0], x[:, 1])[:, None]
        return np.asarray((radius - r) / width**2 * x / r)

    return Target(score, log_density=log_density, dim=2)


def _ordered() -> Target:
    """Return two independent standard normal coordinates, sorted."""

    def log_density(x: Floats) -> Floats:
        return np.where(x[:, 0] < x[:, 1], -0.5 * (x**2).sum(axis=1), -np.inf)

    return Target(lambda x: -x, log_density=log_density, dim=2)


@dataclass(frozen=True, eq=False)
class CheckedTarget:
    """Result of running a sampler on one target.

    Attributes
    ----------
    name : str
    verdict : Verdict or None
        Verdict on the draws, or None if there are no draws.
    mean_error : float
        Largest error of a mean, in standard deviations of the target, including the Monte Carlo error.
    sd_error : float
        Largest error of the logarithm of a standard deviation.
    failure : str
        Error raised by the sampler or the verdict, or an empty string.
    """

    name: str
    verdict: Verdict | None
    mean_error: float = math.nan
    sd_error: float = math.nan
    failure: str = ""

    @property
    def label(self) -> str:
        """Label of the verdict, or "failed"."""
        return "failed" if self.verdict is None else self.verdict.label


@dataclass(frozen=True, eq=False)
class SamplerCheck:
    """Results of running a sampler on several targets with `check_sampler`.

    Attributes
    ----------
    checked : tuple of CheckedTarget
        Results in the order of the targets.
    level : float
        Probability that an exact sampler is rejected on any of the targets.
    """

    checked: tuple[CheckedTarget, ...]
    level: float

    @property
    def passed(self) -> bool:
        """True if every target was tested with enough draws and no bias was found."""
        return all(each.label == _PASSED for each in self.checked)

    def summary(self) -> str:
        """Report the targets on which the sampler did not pass, followed by a table.

        Returns
        -------
        str
            Sentences and a table with one row per target.
        """
        n = count(len(self.checked), "target")
        parts = [f"No bias was found on {n} at level {self.level:g}."] if self.passed else []
        for label in ("biased", "too few draws", "not tested", "failed"):
            if names := [each.name for each in self.checked if each.label == label]:
                parts.append(f"{label.capitalize()}: {listed(names, most=len(names))}.")
        return f"{' '.join(parts)}\n\n{self.table()}"

    def table(self) -> str:
        """Return a text table with one row per target.

        Returns
        -------
        str
            Verdict, p-value, ESS, errors of means and standard deviations, and the main finding.
        """
        rows = []
        for each in self.checked:
            found, text = each.verdict, shortened(each.failure, _LONGEST)
            cells = ("-",) * 4
            if found is not None:
                errors = f"{each.mean_error:.2f}", f"{each.sd_error:.2f}"
                p = f"{found.p:.2g}" if found.enough_draws else "-"
                cells, text = (p, f"{found.ess:.0f}", *errors), str(next(iter(found.findings), ""))
            rows.append((each.name, each.label, *cells, text))
        columns = ("target", "verdict", "p", "ESS", "mean error", "sd error", "main finding")
        return Table("", columns, tuple(rows)).text(("target", "verdict", "main finding"))

    def __str__(self) -> str:
        return self.summary()


def check_sampler(
    sample: Callable[..., DrawsLike],
    targets: str | Sequence[str] | Mapping[str, StandardTarget] = "standard",
    *,
    level: float = 1e-3,
    rng: int = 0,
    **options: Any,
) -> SamplerCheck:
    """Run a sampler on standard targets and test the draws.

    Parameters
    ----------
    sample : callable (target, start, seed, ...) -> draws
        The sampler. The target has the methods ``score`` and ``log_density`` for points of shape (n, d), and the
        attributes ``dim`` and ``bounds``. ``start`` has shape (d,), and ``seed`` is an int. The draws may have any type
        that `steinkit.as_sample` accepts. The burn-in must be discarded, and at least a hundred effective draws are
        required.
    targets : "standard", sequence of str, or mapping of str to StandardTarget
        Targets on which the sampler is run: "standard" for all targets of `standard_targets`, the names of some of
        these targets, or other targets by name.
    level : float
        Probability that an exact sampler is rejected on any of the targets.
    rng : int
        Random seed. Each target has its own seed.
    **options
        Further arguments of the sampler, such as the number of draws.

    Returns
    -------
    SamplerCheck
        Results for all targets. The attribute ``passed`` is True if no target failed, and ``summary()`` returns a
        table.

    Raises
    ------
    UsageError
        If a target is unknown, there is no target, or the level is not between 0 and 1.

    Notes
    -----
    Exceptions raised by the sampler and draws that cannot be tested are recorded in the result, and the target counts
    as failed.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> from steinkit.testing import check_sampler
    >>> def unadjusted_langevin(target, start, seed, step, draws=4000):
    ...     rng, x, chain = np.random.default_rng(seed), start, []
    ...     for _ in range(draws):
    ...         noise = np.sqrt(step) * rng.standard_normal(len(start))
    ...         x = x + 0.5 * step * target.score(x[None])[0] + noise
    ...         chain.append(x)
    ...     return np.array(chain)
    >>> found = check_sampler(unadjusted_langevin, ["normal", "two modes"], step=0.8)
    >>> found.passed, [each.label for each in found.checked]
    (False, ['biased', 'biased'])
    """
    known = standard_targets()
    if not isinstance(targets, Mapping):
        names = list(known) if targets == "standard" else [targets] if isinstance(targets, str) else list(targets)
        require_known(names, known, "unknown target", "the standard targets")
        targets = {name: known[name] for name in names}
    if not targets:
        raise UsageError("expected at least one target, got none")
    number(level, "level", lambda share: 0.0 < share < 1.0, "between 0 and 1")
    seeds = np.random.SeedSequence(rng).generate_state(len(targets))
    share = level / len(targets)
    checked = [
        _checked(name, each, sample, int(seed), share, options)
        for (name, each), seed in zip(targets.items(), seeds, strict=True)
    ]
    return SamplerCheck(tuple(checked), level)


def _checked(
    name: str,
    standard: StandardTarget,
    sample: Callable[..., DrawsLike],
    seed: int,
    level: float,
    options: Mapping[str, object],
) -> CheckedTarget:
    """Run the sampler on one target and test the draws."""
    try:
        drawn = as_sample(sample(standard.target, start=standard.start.copy(), seed=seed, **options))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SteinkitWarning)  # the verdict is shown in the table
            found = verdict(drawn, standard.target, level=level, rng=seed)
    except Exception as error:  # errors in the user's sampler, or invalid draws
        return CheckedTarget(name, None, failure=f"{type(error).__name__}: {error}")
    centre = drawn.probabilities @ drawn.points
    spread = np.sqrt(drawn.probabilities @ (drawn.points - centre) ** 2)
    errors = np.abs(centre - standard.mean) / standard.sd, np.abs(np.log(spread / standard.sd))
    return CheckedTarget(name, found, float(errors[0].max()), float(errors[1].max()))
