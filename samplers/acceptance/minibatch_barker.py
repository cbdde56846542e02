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

from steinkit.arguments import checked
from steinkit.errors import UsageError
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, Look, Verdict, option, varies
from steinkit.samplers.arguments import batch_within, positive, share

JUMP = 1.1


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
            Level, and what has been seen of the data by these n chains, an entry a chain: see
            `steinkit.samplers.acceptance.interface`.

        Returns
        -------
        interface.Verdict
            Arrays of shape (n,): ``decided``, ``accepted`` (which counts where decided), and ``wanted``, the data to
            have seen by the next look; and ``diagnostics``, with "clt_bound" where it is asked for.

        Raises
        ------
        UsageError
            If the look does not carry a normal number for each step.
        """
        if look.normal is None:
            raise UsageError("the minibatch Barker test needs a normal number for every step")
        N, b = look.size, look.seen
        scale = N / look.temperature
        delta = scale * look.mean + look.offset
        complete = b == N
        s2 = scale * scale * look.variance * (1.0 / b - 1.0 / N)
        target = self.sigma**2
        decided = (s2 < target) & varies(look)
        diagnostics = {}
        if self.needs_values:
            bound = _normality_bounds(look.values or [])
            diagnostics["clt_bound"] = bound
            if self.delta is not None:
                decided &= bound <= self.delta
        noise = np.sqrt(np.maximum(target - s2, 0.0)) * look.normal
        return Verdict(decided | complete, delta + noise > look.level, self._wanted(look, s2), diagnostics)

    def described(self) -> dict[str, Any]:
        """Name and options, for `Draws.settings`.

        Returns
        -------
        dict
            "test", and the options by their names, "clt_bound" as the last.
        """
        described = super().described()
        return described | {"clt_bound": described.pop("clt_bound")}  # last, after delta

    def _wanted(self, look: Look, s2: Floats) -> Integers:
        """Data for the next look."""
        batch, b = self.first_batch(look.size), look.seen
        if self.growth == "fixed":
            return b + batch
        batches = np.ceil(np.nan_to_num(JUMP * s2 / self.sigma**2) * (b / batch))
        return np.clip(batches, b // batch + 1, look.size // batch + 1).astype(np.int64) * batch


def _normality_bounds(values: list[Floats]) -> Floats:
    """(6.4 E|X|^3 + 2 E|X|) / sqrt(b) of each chain's standardised values; infinite where they do not vary."""
    bounds = np.full(len(values), np.inf)
    for k, sample in enumerate(values):
        spread = sample.std()
        if spread > 0.0:
            x = np.abs(sample - sample.mean()) / spread
            bounds[k] = (6.4 * (x**3).mean() + 2.0 * x.mean()) / math.sqrt(len(x))
    return bounds
