"""Barker's test of 1965 on a minibatch: the data's own sampling noise serves as part of the test's randomness.

Barker's test accepts if Delta + X_log > 0, X_log being logistic. After b data drawn without replacement, with
Lambda_i = (N / T) l_i,

    Delta* = mean of Lambda_i + offset,        s^2 = var(Lambda_i) / b (1 - b / N),

is nearly normal about Delta. The batch grows until s^2 < sigma^2; then the move is accepted if

    Delta* + X_nc + X_corr > 0,        X_nc ~ N(0, sigma^2 - s^2),

with the correction X_corr whose sum with N(0, sigma^2) is logistic. At b = N, s = 0 and the test is exact.

**The correction** makes logistic noise of normal noise. Barker's test accepts where Delta + X_log > 0, X_log standard
logistic: with probability 1 / (1 + exp(-Delta)). A minibatch knows Delta with an error that is nearly normal,
N(0, sigma^2), once it is large enough. What is missing is a variable X_corr, independent of it, with

    N(0, sigma^2) + X_corr = X_log   in distribution.

Its characteristic function would be pi t / sinh(pi t) exp(sigma^2 t^2 / 2), which grows beyond all bounds: for no
sigma > 0 is there such a law. What decides a test is a distribution function, so the law is sought whose sum with the
normal has the smallest error of that kind. With atoms +-y_j, y_j = j h <= V, of mass w_j (half on each side),

    minimise   max over x > 0 of |F_w(x) - 1 / (1 + exp(-x))|
    subject to w >= 0,  sum of w_j = 1,  sum of w_j y_j^2 = pi^2 / 3 - sigma^2,
    F_w(x) = 1/2 sum over j of w_j (Phi((x - y_j) / sigma) + Phi((x + y_j) / sigma)),

which is a linear program. The last line makes the variances add up to the logistic's, pi^2 / 3, and costs nothing
measurable. By symmetry the other half of the line has the same errors. The errors attained are 7e-10 at sigma = .9,
5e-8 at 1, 1.4e-6 at 1.1 and 1.1e-4 at 1.3. For sigma < .92 they lie below what a linear programming code resolves;
non-negative least squares on the same grid then finds a law with an error below 1e-8.

The authors of the test solve a ridge regression instead (their equation 15) and cut off the negative weights that it
returns; their errors are 1e-4 at sigma = .9 and 5e-6 at .8 (`benchmarks/samplers.py` compares).

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings",
UAI, section 4 and table 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import batch_within, number, require_flags, share
from steinkit.errors import SolverError, UsageError
from steinkit.result import Brief
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import ROUNDING, AcceptanceTest, Look, Verdict, option

LOGISTIC_VARIANCE = math.pi**2 / 3.0

# Below, a minibatch of 400 times the data that sigma = 1 needs; and the grid of atoms becomes too long.
_SMALLEST_SIGMA = 0.05
# Where the minimax error falls below the tolerances of linear programming (1e-10 at best).
_LEAST_SQUARES_BELOW = 0.92
_LEAST_SQUARES_ERROR = 1e-8
_LARGEST_ATOM = 20.0  # the logistic has a mass of 4e-9 beyond it
_SPACING = 0.1
_TAIL = 6.0  # standard deviations beyond the last atom up to which the error is judged
_ERROR_UNIT = 1e-5  # of the program's error variable, so that it is of the order of the weights
_TOLERANCE = 1e-10  # of the linear program; the smallest HiGHS takes
_MASS_PENALTY = 1e3  # weight of the row "the masses sum to one" in the least squares problem


@dataclass(frozen=True, eq=False, repr=False)
class Correction(Brief):
    """A discrete law that, added to N(0, sigma^2), is nearly the standard logistic.

    Attributes
    ----------
    atoms : ndarray, shape (k,)
        Where the law has mass, ascending and symmetric about 0.
    probabilities : ndarray, shape (k,)
        Their masses, all positive.
    sigma : float
        Standard deviation of the normal that it is to be added to.
    error : float
        Largest difference between the distribution function of N(0, sigma^2) + X_corr and the logistic one: no
        acceptance probability of a Barker test is off by more, so far as its own noise is normal.
    """

    atoms: Floats
    probabilities: Floats
    sigma: float
    error: float

    @property
    def variance(self) -> float:
        """Variance of the law; pi^2 / 3 - sigma^2 for an exact correction."""
        return float(self.probabilities @ self.atoms**2)

    def cdf(self, x: Floats) -> Floats:
        """Distribution function of N(0, sigma^2) + X_corr.

        Parameters
        ----------
        x : ndarray, shape (n,)
            Where to evaluate it.

        Returns
        -------
        ndarray, shape (n,)
            In [0, 1]; within `error` of the logistic distribution function, 1 / (1 + exp(-x)).
        """
        from scipy.special import ndtr

        return np.asarray(ndtr((x[:, None] - self.atoms) / self.sigma) @ self.probabilities, dtype=np.float64)

    def sample(self, uniforms: Floats) -> Floats:
        """Draw from the law by inversion: the same uniforms give the same draws.

        Parameters
        ----------
        uniforms : ndarray, any shape
            Independent and uniform on (0, 1).

        Returns
        -------
        ndarray
            Atoms, of the same shape.
        """
        return np.asarray(self.atoms[np.searchsorted(self._upper_ends, uniforms, side="right")], dtype=np.float64)

    @cached_property
    def _upper_ends(self) -> Floats:
        """Cumulative masses of all atoms but the last, so that rounding cannot lead beyond it."""
        return np.asarray(np.cumsum(self.probabilities)[:-1], dtype=np.float64)


def correction_distribution(sigma: float) -> Correction:
    """The law that turns normal noise of standard deviation sigma into logistic noise.

    Parameters
    ----------
    sigma : float
        Standard deviation of the normal, at least .05 and less than pi / sqrt(3) = 1.81.

    Returns
    -------
    Correction
        Computed once for each sigma (in less than a second), and shared from then on: its arrays are read-only.

    Raises
    ------
    UsageError
        If sigma is not one of these.

    Examples
    --------
    >>> from steinkit.samplers.acceptance.minibatch_barker import correction_distribution
    >>> correction_distribution(1.0).error < 1e-7
    True
    """
    most = math.sqrt(LOGISTIC_VARIANCE)
    wanted = (
        f"at least {_SMALLEST_SIGMA:g} and less than pi / sqrt(3) = {most:.3f}, such as 1 (exact to 1e-7) or 1.3 (to "
        "1e-4, on less data): the normal noise cannot have more variance than the logistic noise it is a part of, and "
        "a smaller sigma only makes batches grow as 1 / sigma^2"
    )
    return _cached_correction(number(sigma, "sigma", lambda s: _SMALLEST_SIGMA <= s < most, wanted))


@lru_cache(maxsize=64)
def _cached_correction(sigma: float) -> Correction:
    return _least_squares(sigma) if sigma < _LEAST_SQUARES_BELOW else _minimax(sigma)


def _minimax(sigma: float) -> Correction:
    """Solve the linear program of the module docstring; its last variable is the error in units of 1e-5."""
    from scipy.optimize import linprog

    atoms, x = _grid(sigma, refinement=2)
    matrix, logistic = _half_cdf(x, atoms, sigma), _half_logistic(x)
    error = np.full((len(x), 1), -_ERROR_UNIT)
    moments = np.stack([np.ones(len(atoms)), atoms**2])
    answer = linprog(
        np.append(np.zeros(len(atoms)), 1.0),
        A_ub=np.block([[matrix, error], [-matrix, error]]),
        b_ub=np.concatenate([logistic, -logistic]),
        A_eq=np.hstack([moments, np.zeros((2, 1))]),
        b_eq=[1.0, LOGISTIC_VARIANCE - sigma**2],
        bounds=(0.0, None),
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if answer.x is None:
        raise SolverError(
            f"the linear program of the correction distribution for sigma = {sigma:g} was not solved "
            f"({answer.message}); choose another sigma, such as 1",
            0.0,
            1.0,
        )
    return _as_correction(atoms, answer.x[:-1], sigma)


def _least_squares(sigma: float) -> Correction:
    """Fit the logistic by non-negative weights, where the linear program is beyond double precision."""
    from scipy.optimize import nnls

    atoms, x = _grid(sigma, refinement=1)
    rows = np.vstack([_half_cdf(x, atoms, sigma), np.full(len(atoms), _MASS_PENALTY)])
    weights, _ = nnls(rows, np.append(_half_logistic(x), _MASS_PENALTY), maxiter=100 * len(atoms))
    found = _as_correction(atoms, weights, sigma)
    if found.error > _LEAST_SQUARES_ERROR:
        raise SolverError(
            f"the correction distribution for sigma = {sigma:g} was found to {found.error:.1e} only, "
            f"{_LEAST_SQUARES_ERROR:g} is wanted; choose another sigma, such as 1",
            0.0,
            found.error,
        )
    return found


def _grid(sigma: float, refinement: int) -> tuple[Floats, Floats]:
    """Atoms y_j >= 0, and points x > 0 so many times denser.

    A comb of atoms h apart, smoothed by the normal, ripples by exp(-2 pi^2 sigma^2 / h^2): 3e-9 for h = sigma.
    """
    count = round(_LARGEST_ATOM / min(_SPACING, sigma))
    beyond = math.ceil(count * _TAIL * sigma / _LARGEST_ATOM)
    end = _LARGEST_ATOM * (count + beyond) / count
    return np.linspace(0.0, _LARGEST_ATOM, count + 1), np.linspace(0.0, end, (count + beyond) * refinement + 1)[1:]


def _half_cdf(x: Floats, atoms: Floats, sigma: float) -> Floats:
    """What a unit mass, half at y and half at -y, adds to F(x) - 1/2: shape (points, atoms)."""
    from scipy.special import ndtr

    to_the_right = ndtr((x[:, None] - atoms) / sigma)
    return np.asarray(0.5 * (to_the_right + ndtr((x[:, None] + atoms) / sigma) - 1.0), dtype=np.float64)


def _half_logistic(x: Floats) -> Floats:
    """1 / (1 + exp(-x)) - 1/2, (n,) -> (n,)."""
    return np.asarray(0.5 * np.tanh(0.5 * x), dtype=np.float64)


def _as_correction(half_atoms: Floats, weights: Floats, sigma: float) -> Correction:
    """Cut off negative weights, make the rest sum to one, mirror them, and measure the error."""
    kept = weights > 0.0
    half, mass = half_atoms[kept], weights[kept] / weights[kept].sum()
    error = _largest_difference(half, mass, sigma)
    mirrored = half > 0.0
    atoms = np.concatenate([-half[mirrored][::-1], half])
    side = np.where(mirrored, 0.5, 1.0) * mass
    probabilities = np.concatenate([side[mirrored][::-1], side])
    return Correction(_read_only(atoms), _read_only(probabilities), sigma, error)


def _largest_difference(half_atoms: Floats, mass: Floats, sigma: float) -> float:
    """Largest |F_w(x) - logistic(x)| on points a twentieth of sigma apart, up to where both tails are below 1e-12."""
    x = np.arange(0.0, half_atoms[-1] + 30.0, min(sigma, 0.4) / 20.0)
    blocks = np.array_split(x, 1 + len(x) * len(half_atoms) // 1_000_000)
    return max(float(np.abs(_half_cdf(b, half_atoms, sigma) @ mass - _half_logistic(b)).max()) for b in blocks)


def _read_only(values: Floats) -> NDArray[np.float64]:
    values.setflags(write=False)
    return values


JUMP = 1.1


def minibatch_barker(look: Look, sigma: float, batch: int, jumps: bool) -> tuple[bool, bool, int]:
    """Accept if Delta* + X_nc > level, the level being -X_corr; decided if s^2 < sigma^2, or b = N.

    Delta* = (N / T) mean + offset,   s^2 = (N / T)^2 variance (1 / b - 1 / N),   X_nc ~ N(0, sigma^2 - s^2).

    The next look has ``batch`` data more; or, if it ``jumps``, 1.1 s^2 b / sigma^2 in whole batches.
    """
    N, b = look.size, look.seen
    scale, target = N / look.temperature, sigma**2
    s2 = scale * scale * look.variance * (1.0 / b - 1.0 / N)
    noise = math.sqrt(max(target - s2, 0.0)) * look.normal
    accepted = scale * look.mean + look.offset + noise > look.level
    wanted = b + batch
    if jumps:
        excess = JUMP * (s2 / target) * (b / batch)
        batches = 0.0 if math.isnan(excess) else excess
        wanted = min(max(math.ceil(min(batches, N)), b // batch + 1), N // batch + 1) * batch
    varies = look.variance > ROUNDING * look.mean * look.mean
    return (varies and s2 < target) or b == N, accepted, wanted


@dataclass(frozen=True)
class MinibatchBarkerTest(AcceptanceTest):
    """Barker's test on as many data as bring the noise of Delta below sigma.

    Parameters
    ----------
    batch_size : int, optional
        Data m of the first batch, and of each further one; 100 if not given, or N where that is less. Small batches
        bias the estimate of s: at m = 50 by some 8 %.
    sigma : float
        Standard deviation that the noise of Delta is brought up to. 1 is the papers'; 1.3 needs a third fewer data and
        has a correction distribution that is less exact (about 1e-4).
    growth : {"fixed", "jump"}
        Add m data at a time, or as many as s suggests, 1.1 s^2 b / sigma^2 in all, in whole batches: fewer looks.
    clt_bound : bool
        Report, as diagnostic ``clt_bound``, the bound (6.4 E|X|^3 + 2 E|X|) / sqrt(b) on the error of the normal
        approximation, X being the standardised Lambda_i. It is 1.18 at b = 100 for normal Lambda_i: no bound at all.
    delta : float, optional
        Also go on until that bound is at most delta; implies clt_bound.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.

    Notes
    -----
    Where all Lambda_i seen so far are equal the test goes on: s = 0 would be no estimate.

    References
    ----------
    D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings",
    algorithm 1; equation (18) is the bound.
    """

    name = "minibatch-barker"
    needs_normal = True

    batch_size: int | None = None
    sigma: float = field(default=1.0, metadata=option("X", "Sd of the noise in a minibatch Barker test."))
    growth: str = field(
        default="fixed", metadata=option("fixed|jump", "How the batch of a minibatch Barker test grows.")
    )
    clt_bound: bool = field(
        default=False, metadata=option("", "Report a bound on the test's normal approximation error.")
    )
    delta: float | None = field(default=None, metadata=option("X", "Read data until that bound is at most X."))

    def __post_init__(self) -> None:
        correction_distribution(self.sigma)  # refuses a sigma that has none
        require_flags(clt_bound=self.clt_bound)
        if not isinstance(self.growth, str) or self.growth not in ("fixed", "jump"):
            raise UsageError(f'growth must be "fixed" or "jump"; received {self.growth!r}')
        if self.delta is not None:
            share(self.delta, "delta")
        if self.batch_size is not None:
            batch_within(self.batch_size, 1, self.batch_size)

    @property
    def needs_values(self) -> bool:
        """For the moments in the bound."""
        return self.clt_bound or self.delta is not None

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """The bound, where asked for."""
        return ("clt_bound",) if self.needs_values else ()

    def first_batch(self, size: int) -> int:
        """Data m of the first look.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            At least 1, at most N.

        Raises
        ------
        UsageError
            If ``batch_size`` is more than N.
        """
        return batch_within(self.batch_size, 100, size)

    def reads_all(self, size: int) -> bool:
        """Whether the first look sees all the data, and nobody asks for a bound on their normality.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        bool
            If true, it is Barker's test, up to the error of the correction distribution.

        Raises
        ------
        UsageError
            If ``batch_size`` is more than N.
        """
        return self.first_batch(size) == size and not self.needs_values

    def level(self, uniforms: Floats) -> Floats:
        """-X_corr, by inversion of the correction distribution.

        Parameters
        ----------
        uniforms : ndarray
            Independent and uniform on (0, 1), of any shape.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        return -np.asarray(correction_distribution(self.sigma).sample(uniforms.ravel())).reshape(uniforms.shape)

    def decide(self, look: Look) -> Verdict:
        """Decide where s^2 < sigma^2, and at b = N.

        Parameters
        ----------
        look : interface.Look
            Level and normal number, and what has been seen of the data.

        Returns
        -------
        interface.Verdict
            ``decided``, ``accepted`` (which counts where decided), and ``wanted``, the data to have seen by the next
            look.
        """
        decided, accepted, wanted = minibatch_barker(
            look, self.sigma, self.first_batch(look.size), self.growth == "jump"
        )
        if not self.needs_values:
            return Verdict(decided, accepted, wanted)
        bound = _normality_bound(look.values)
        normal_enough = self.delta is None or bound <= self.delta or look.seen == look.size
        return Verdict(decided and normal_enough, accepted, wanted, {"clt_bound": bound})

    def described(self) -> dict[str, Any]:
        """Name and options, for `Draws.settings`.

        Returns
        -------
        dict
            "test", and the options by their names, "clt_bound" as the last.
        """
        described = super().described()
        return described | {"clt_bound": described.pop("clt_bound")}  # last, after delta


def _normality_bound(values: Floats) -> float:
    """(6.4 E|X|^3 + 2 E|X|) / sqrt(b) of the standardised values; infinite where they do not vary."""
    spread = values.std()
    if not spread > 0.0:
        return math.inf
    x = np.abs(values - values.mean()) / spread
    return float((6.4 * (x**3).mean() + 2.0 * x.mean()) / math.sqrt(len(x)))
