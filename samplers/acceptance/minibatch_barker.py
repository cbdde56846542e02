"""Minibatch version of Barker's (1965) test that exploits the subsampling noise.

Barker's test accepts the move if Delta + X_log > 0, where X_log is logistic. Suppose that b data points have been drawn
without replacement. Let Lambda_i = (N / T) l_i and

    Delta* = mean of Lambda_i + offset,        s^2 = var(Lambda_i) / b (1 - b / N).

Then Delta* is approximately normal with mean Delta. The batch grows until s^2 < sigma^2. Once the batch is large
enough, the move is accepted if

    Delta* + X_nc + X_corr > 0,        X_nc ~ N(0, sigma^2 - s^2),

with a correction X_corr such that N(0, sigma^2) + X_corr is logistic. If b = N, then s = 0 and the test is exact.

**The correction.** The characteristic function of an exact X_corr would be pi t / sinh(pi t) exp(sigma^2 t^2 / 2). This
function is unbounded, so no exact correction exists for any sigma > 0. The decision depends only on the distribution
function of N(0, sigma^2) + X_corr. Therefore, X_corr is chosen to minimize the largest error of this distribution
function. Let X_corr have atoms +-y_j with y_j = j h <= V, and let y_j and -y_j have probability 0.5 w_j each. The
weights solve the problem

    minimize   max over x > 0 of |F_w(x) - 1 / (1 + exp(-x))|
    subject to w >= 0,  sum of w_j = 1,  sum of w_j y_j^2 = pi^2 / 3 - sigma^2,
    F_w(x) = 1/2 sum over j of w_j (Phi((x - y_j) / sigma) + Phi((x + y_j) / sigma)).

This problem is a linear program. The last constraint sets the variance of the sum to the variance of the logistic
distribution, pi^2 / 3. The constraint barely increases the error. By symmetry, the errors for x < 0 are the same. The
error is 7e-10 for sigma = 0.9, 5e-8 for sigma = 1, 1.4e-6 for sigma = 1.1 and 1.1e-4 for sigma = 1.3. For sigma < 0.92,
the error is below the tolerance of linear programming solvers. In this case, non-negative least squares on the same
grid finds a distribution with an error below 1e-8.

Instead, the authors of the test solve a ridge regression (their equation 15) and remove the negative weights. Their
correction has an error of 1e-4 for sigma = 0.9 and 5e-6 for sigma = 0.8. The script `benchmarks/samplers.py` compares
both methods.

References
----------
D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings",
UAI, section 4 and table 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from steinkit.arguments import batch_within, number
from steinkit.errors import SolverError
from steinkit.result import Brief
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import ROUNDING, AcceptanceTest, Decision, Stage

LOGISTIC_VARIANCE = math.pi**2 / 3.0

# A smaller sigma requires a very fine grid of atoms and over 400 times as many data points as sigma = 1.
_SMALLEST_SIGMA = 0.05
# Below this value of sigma, the minimax error is smaller than the tolerance of linear programming solvers, which
# is at least 1e-10.
_LEAST_SQUARES_BELOW = 0.92
_LEAST_SQUARES_ERROR = 1e-8
_LARGEST_ATOM = 20.0  # the logistic distribution has a mass of 4e-9 beyond this value
_SPACING = 0.1
_TAIL = 6.0  # the error is evaluated up to this number of standard deviations beyond the last atom
_ERROR_UNIT = 1e-5  # unit of the error variable, which makes its size comparable to the weights
_TOLERANCE = 1e-10  # tolerance for the linear program, the smallest accepted by HiGHS
_MASS_PENALTY = 1e3  # weight of the constraint "the masses sum to one" in the least-squares problem


@dataclass(frozen=True, eq=False, repr=False)
class Correction(Brief):
    """Discrete distribution that corrects normal noise to logistic noise.

    Attributes
    ----------
    atoms : ndarray, shape (k,)
        Support of the distribution, ascending and symmetric about 0.
    probabilities : ndarray, shape (k,)
        Probabilities of the atoms, all positive.
    sigma : float
        Standard deviation of the normal distribution to be corrected.
    error : float
        Largest difference between the distribution function of N(0, sigma^2) + X_corr and the distribution function of
        the logistic distribution. If the sampling noise is normal, this number bounds the error of the acceptance
        probabilities of the minibatch Barker test.

    Examples
    --------
    >>> from steinkit.samplers import correction_distribution
    >>> law = correction_distribution(1.0)
    >>> round(law.variance + law.sigma**2, 4)  # pi^2 / 3
    3.2899
    """

    atoms: Floats
    probabilities: Floats
    sigma: float
    error: float

    @property
    def variance(self) -> float:
        """Variance of the distribution.

        The variance is pi^2 / 3 - sigma^2 if the correction is exact.
        """
        return float(self.probabilities @ self.atoms**2)

    def cdf(self, x: Floats) -> Floats:
        """Compute the distribution function of N(0, sigma^2) + X_corr.

        Parameters
        ----------
        x : ndarray, shape (n,)
            Points of evaluation.

        Returns
        -------
        ndarray, shape (n,)
            Values in [0, 1], within `error` of the logistic distribution function 1 / (1 + exp(-x)).
        """
        from scipy.special import ndtr

        return np.asarray(ndtr((x[:, None] - self.atoms) / self.sigma) @ self.probabilities, dtype=np.float64)

    def sample(self, uniforms: Floats) -> Floats:
        """Draw from the distribution by inversion.

        Parameters
        ----------
        uniforms : ndarray, any shape
            Independent uniform random numbers on (0, 1). The same uniforms give the same draws.

        Returns
        -------
        ndarray
            Atoms, in an array of the same shape.
        """
        return np.asarray(self.atoms[np.searchsorted(self._upper_ends, uniforms, side="right")], dtype=np.float64)

    @cached_property
    def _upper_ends(self) -> Floats:
        """All cumulative probabilities except the last one.

        The last cumulative probability is omitted because rounding errors may leave it below 1.
        """
        return np.asarray(np.cumsum(self.probabilities)[:-1], dtype=np.float64)


def correction_distribution(sigma: float) -> Correction:
    """Return the correction that makes normal noise approximately logistic.

    Parameters
    ----------
    sigma : float
        Standard deviation of the normal noise, at least 0.05 and less than pi / sqrt(3) = 1.81.

    Returns
    -------
    Correction
        The correction is computed once per sigma, in less than a second, and then shared. Its arrays are read-only.

    Raises
    ------
    UsageError
        If sigma is out of range.

    Examples
    --------
    >>> from steinkit.samplers import correction_distribution
    >>> correction_distribution(1.0).error < 1e-7
    True
    """
    largest = math.sqrt(LOGISTIC_VARIANCE)
    allowed = (
        f"at least {_SMALLEST_SIGMA:g} and less than pi / sqrt(3) = {largest:.3f}, the standard deviation of logistic "
        "noise, such as 1 (exact to 1e-7) or 1.3 (exact to 1e-4, with less data)"
    )
    return _cached_correction(number(sigma, "sigma", lambda s: _SMALLEST_SIGMA <= s < largest, allowed))


@lru_cache(maxsize=64)
def _cached_correction(sigma: float) -> Correction:
    return _least_squares(sigma) if sigma < _LEAST_SQUARES_BELOW else _minimax(sigma)


def _minimax(sigma: float) -> Correction:
    """Solve the linear program.

    The last variable of the program is the error, in units of 1e-5.
    """
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
        raise SolverError(f"no correction distribution for sigma = {sigma:g}: {answer.message}", 0.0, 1.0)
    return _as_correction(atoms, answer.x[:-1], sigma)


def _least_squares(sigma: float) -> Correction:
    """Fit the logistic distribution function with non-negative weights."""
    from scipy.optimize import nnls

    atoms, x = _grid(sigma, refinement=1)
    rows = np.vstack([_half_cdf(x, atoms, sigma), np.full(len(atoms), _MASS_PENALTY)])
    weights, _ = nnls(rows, np.append(_half_logistic(x), _MASS_PENALTY), maxiter=100 * len(atoms))
    found = _as_correction(atoms, weights, sigma)
    if found.error > _LEAST_SQUARES_ERROR:
        text = f"expected an error of at most {_LEAST_SQUARES_ERROR:g}, got {found.error:.1e}"
        raise SolverError(f"no correction distribution for sigma = {sigma:g}: {text}", 0.0, found.error)
    return found


def _grid(sigma: float, refinement: int) -> tuple[Floats, Floats]:
    """Return atoms y_j >= 0 and points x > 0 on a finer grid.

    Convolving atoms spaced h apart with a normal distribution leaves ripples of size exp(-2 pi^2 sigma^2 / h^2). These
    ripples have a size of 3e-9 for h = sigma.
    """
    count = round(_LARGEST_ATOM / min(_SPACING, sigma))
    beyond = math.ceil(count * _TAIL * sigma / _LARGEST_ATOM)
    end = _LARGEST_ATOM * (count + beyond) / count
    return np.linspace(0.0, _LARGEST_ATOM, count + 1), np.linspace(0.0, end, (count + beyond) * refinement + 1)[1:]


def _half_cdf(x: Floats, atoms: Floats, sigma: float) -> Floats:
    """Compute F(x) - 1/2 for masses of 1/2 at y and -y."""
    from scipy.special import ndtr

    to_the_right = ndtr((x[:, None] - atoms) / sigma)
    return np.asarray(0.5 * (to_the_right + ndtr((x[:, None] + atoms) / sigma) - 1.0), dtype=np.float64)


def _half_logistic(x: Floats) -> Floats:
    """Compute 1 / (1 + exp(-x)) - 1/2."""
    return np.asarray(0.5 * np.tanh(0.5 * x), dtype=np.float64)


def _as_correction(half_atoms: Floats, weights: Floats, sigma: float) -> Correction:
    """Remove negative weights, normalize the rest and compute the error."""
    kept = weights > 0.0
    half, mass = half_atoms[kept], weights[kept] / weights[kept].sum()
    error = _largest_difference(half, mass, sigma)
    mirrored = half > 0.0
    atoms = np.concatenate([-half[mirrored][::-1], half])
    side = np.where(mirrored, 0.5, 1.0) * mass
    probabilities = np.concatenate([side[mirrored][::-1], side])
    for array in (atoms, probabilities):
        array.setflags(write=False)
    return Correction(atoms, probabilities, sigma, error)


def _largest_difference(half_atoms: Floats, mass: Floats, sigma: float) -> float:
    """Compute the largest |F_w(x) - logistic(x)| on a grid with step sigma / 20."""
    x = np.arange(0.0, half_atoms[-1] + 30.0, min(sigma, 0.4) / 20.0)
    blocks = np.array_split(x, 1 + len(x) * len(half_atoms) // 1_000_000)
    return max(float(np.abs(_half_cdf(b, half_atoms, sigma) @ mass - _half_logistic(b)).max()) for b in blocks)


def minibatch_barker(stage: Stage, sigma: float, batch: int) -> tuple[bool, bool, int]:
    """Accept the move if Delta* + X_nc > -X_corr.

    The test ends if s^2 < sigma^2 or b = N. It uses

    Delta* = (N / T) mean + offset,   s^2 = (N / T)^2 variance (1 / b - 1 / N),   X_nc ~ N(0, sigma^2 - s^2).
    """
    N, b = stage.size, stage.seen
    scale, target = N / stage.temperature, sigma**2
    s2 = scale * scale * stage.variance * (1.0 / b - 1.0 / N)
    noise = math.sqrt(max(target - s2, 0.0)) * stage.normal
    accepted = scale * stage.mean + stage.offset + noise > stage.level
    varies = stage.variance > ROUNDING * stage.mean * stage.mean
    return (varies and s2 < target) or b == N, accepted, b + batch


@dataclass(frozen=True)
class MinibatchBarkerTest(AcceptanceTest):
    """Barker's test on a batch that grows until the noise in Delta is below sigma.

    Parameters
    ----------
    batch_size : int, optional
        Number of data points m in the first batch and in each additional batch. The default is min(100, N). For small
        batches, the estimate of s is biased (by about 8% for m = 50).
    sigma : float, default 1.0
        Standard deviation of the noise in Delta. The default is the value used in the papers. The value 1.3 requires a
        third fewer data points, but its correction distribution is less accurate (about 1e-4).

    Raises
    ------
    UsageError
        If a parameter is out of range.

    Notes
    -----
    If all Lambda_i read so far are equal, the test requests more data, because s = 0 is not a valid estimate.

    References
    ----------
    D. Seita, X. Pan, H. Chen and J. Canny (2017), "An efficient minibatch acceptance test for Metropolis-Hastings",
    algorithm 1.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import MinibatchBarkerTest, RandomWalk, metropolis_hastings
    >>> posterior = sk.targets.MixturePosterior.simulate(10_000)
    >>> run = {"proposal": RandomWalk(0.01), "draws": 200, "start": [0.0, 1.0]}
    >>> draws = metropolis_hastings(posterior, test=MinibatchBarkerTest(100, sigma=1.3), **run)
    >>> draws.mean_batch_size < posterior.size
    array([ True])
    """

    name = "minibatch-barker"
    needs_normal = True

    batch_size: int | None = None
    sigma: float = 1.0

    def __post_init__(self) -> None:
        correction_distribution(self.sigma)  # this validates sigma
        if self.batch_size is not None:
            batch_within(self.batch_size, 1, self.batch_size)

    def first_batch(self, size: int) -> int:
        """Return the number of data points m in the first stage.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        int
            At least 1 and at most N.

        Raises
        ------
        UsageError
            If ``batch_size`` exceeds N.
        """
        return batch_within(self.batch_size, 100, size)

    def reads_all(self, size: int) -> bool:
        """Return True if the first stage reads all the data.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        bool
            If True, the test is equivalent to Barker's test up to the error of the correction distribution.

        Raises
        ------
        UsageError
            If ``batch_size`` exceeds N.
        """
        return self.first_batch(size) == size

    def level(self, uniforms: Floats) -> Floats:
        """Draw -X_corr by inverting the distribution function of the correction.

        Parameters
        ----------
        uniforms : ndarray
            Independent uniform random numbers on (0, 1), in an array of any shape.

        Returns
        -------
        ndarray
            Thresholds for Delta, in an array of the same shape.
        """
        return -correction_distribution(self.sigma).sample(uniforms)

    def decide(self, stage: Stage) -> Decision:
        """Return a decision if s^2 < sigma^2 or b = N.

        Parameters
        ----------
        stage : interface.Stage
            Level, normal random number, and statistics of the data read so far.

        Returns
        -------
        interface.Decision
            ``decided``, ``accepted`` (valid only if decided), and ``next_size``, which is m.
        """
        return Decision(*minibatch_barker(stage, self.sigma, self.first_batch(stage.size)))
