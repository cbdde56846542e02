"""What the published code of Seita et al. does where it is not what their paper says: acceptance tests, and a program.

The code, github.com/DanielTakeshi/New_MH_Test, differs from the paper in more than its tests: it leaves the prior of
the mixture out, and starts the coefficients of logistic regression at independent uniform numbers in [0, 1]. Tests,
prior and starts are taken from there where a row says "as in their code"; sizes, steps, temperatures and batch sizes
are the paper's, whose covariances .15 I and .05 I are standard deviations in the code, and batches are drawn at random,
where theirs are consecutive. The program is the one that makes the correction distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import inv
from scipy.special import expit, ndtr

from steinkit.samplers import ConcentrationTest, MinibatchBarkerTest


@dataclass(frozen=True)
class PublishedBarkerTest(MinibatchBarkerTest):
    """Decides, too, where the mean is more than five standard errors from zero, and aims at sigma = .9."""

    sigma: float = 0.9

    def decide(self, look):
        scale = look.size / look.temperature
        verdict = super().decide(look)
        delta = scale * look.mean + look.offset
        clear = abs(delta) > 5.0 * scale * math.sqrt(look.variance / look.seen)
        return verdict._replace(decided=True, accepted=delta > 0.0) if clear else verdict


class PublishedConcentrationTest(ConcentrationTest):
    """The bound for draws with replacement, 3 in the place of 5; the first look is taken for the second.

    It decides, whatever the bound says, where the next look would take all the data. (Their standard deviation is that
    of all the data, here it is that of the data seen.)
    """

    def decide(self, look):
        verdict = super().decide(look)
        gap = look.mean - (look.level - look.offset) * (look.temperature / look.size)
        log = math.log(3.0 / (self.epsilon * (self.power - 1.0) / (self.power * (look.number + 2.0) ** self.power)))
        bound = math.sqrt(2.0 * look.variance * log / look.seen) + 6.0 * look.bound * log / look.seen
        decided = abs(gap) >= bound or verdict.wanted >= look.size
        return verdict._replace(decided=decided, accepted=gap > 0.0)


def correction_error(sigma: float, steps: int, penalty: float, end: float) -> float:
    """The error that their program genNormToLog finds, by its steps: the inverse of the normal equations, then the cut.

    The inverse is LAPACK's getri, as theirs: by gesv, which NumPy calls, its rounding errors are larger than what is
    sought. What they iterate after that changes negative weights only, which are cut off.
    """
    atoms, x = np.arange(-steps, steps + 1) * end / steps, np.arange(-2 * steps, 2 * steps + 1) * end / steps
    normal = ndtr(np.arange(-3 * steps, 3 * steps + 1) * end / steps / sigma)
    matrix = np.lib.stride_tricks.sliding_window_view(normal, len(atoms)).copy()
    logistic = expit(x)
    normal_equations = matrix.T @ matrix
    normal_equations[np.diag_indices_from(normal_equations)] += penalty
    weights = inv(normal_equations) @ (logistic @ matrix)
    return float(np.abs(matrix @ np.maximum(weights, 0.0) - logistic).max())
