"""Barker's test of 1965 on a minibatch: the data's own sampling noise serves as part of the test's randomness.

Barker's test accepts if Delta + X_log > 0, X_log being logistic. After b data drawn without replacement, with
Lambda_i = (N / T) l_i,

    Delta* = mean of Lambda_i + offset,        s^2 = var(Lambda_i) / b (1 - b / N),

is nearly normal about Delta. The batch grows until s^2 < sigma^2; then the move is accepted if

    Delta* + X_nc + X_corr > 0,        X_nc ~ N(0, sigma^2 - s^2),

with the correction X_corr whose sum with N(0, sigma^2) is logistic. At b = N, s = 0 and the test is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steinkit.arguments import batch_within, checked, positive, share
from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import ROUNDING, AcceptanceTest, Look, Verdict, option

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


@checked
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
    sigma: float = field(
        default=1.0, metadata=option("X", "Standard deviation of the noise with which a minibatch Barker test decides.")
    )
    growth: str = field(default="fixed", metadata=option("fixed|jump", "How its batch grows."))
    clt_bound: bool = field(
        default=False, metadata=option("", "Report a bound on the error of its normal approximation.")
    )
    delta: float | None = field(default=None, metadata=option("X", "Read on until that bound is at most this."))

    def __post_init__(self) -> None:
        from steinkit.samplers.acceptance.correction import correction_distribution

        positive(self.sigma, "sigma")
        correction_distribution(self.sigma)  # refuses a sigma that has none
        if self.growth not in ("fixed", "jump"):
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
        from steinkit.samplers.acceptance.correction import correction_distribution

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
