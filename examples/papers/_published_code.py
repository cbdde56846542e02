"""Acceptance tests and a program of Seita et al. whose code differs from the paper.

The code (github.com/DanielTakeshi/New_MH_Test) also differs from the paper in other respects. It omits the prior of the
mixture, and starts the coefficients of logistic regression at independent uniform numbers in [0, 1]. For rows labeled
"their code", the tests, the prior and the initial states are those of the code. Sizes, steps, temperatures and batch
sizes are always those of the paper. The values 0.15 and 0.05 of the paper's covariances 0.15 I and 0.05 I are standard
deviations in the code. Batches are drawn at random here, whereas the code uses consecutive data points. The authors'
program genNormToLog generates the correction distribution.
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
    """Barker test that also decides if the mean is five standard errors from zero, with sigma = 0.9."""

    sigma: float = 0.9

    def decide(self, stage):
        scale = stage.size / stage.temperature
        decision = super().decide(stage)
        delta = scale * stage.mean + stage.offset
        clear = abs(delta) > 5.0 * scale * math.sqrt(stage.variance / stage.seen)
        return decision._replace(decided=True, accepted=delta > 0.0) if clear else decision


class PublishedConcentrationTest(ConcentrationTest):
    """Concentration test of the authors' code.

    The test uses the bound for draws with replacement, with the constant 3 instead of 5, and counts the first stage as
    the second. If the next stage would read all the data, the test decides without the bound. The code uses the
    standard deviation of all the data, whereas this class uses that of the data read so far.
    """

    def decide(self, stage):
        decision = super().decide(stage)
        gap = stage.mean - (stage.level - stage.offset) * (stage.temperature / stage.size)
        log = math.log(3.0 / (self.epsilon / (2.0 * (stage.number + 2.0) ** 2)))
        bound = math.sqrt(2.0 * stage.variance * log / stage.seen) + 6.0 * stage.bound * log / stage.seen
        decided = abs(gap) >= bound or decision.next_size >= stage.size
        return decision._replace(decided=decided, accepted=gap > 0.0)


def correction_error(sigma: float, steps: int, penalty: float, end: float) -> float:
    """Compute the error of the authors' program genNormToLog step by step.

    The inverse is computed by LAPACK's getri, as in the program. With gesv, which NumPy uses, the rounding errors would
    be larger than the result. The later iterations of the program change only negative weights, which are set to zero.
    """
    atoms, x = np.arange(-steps, steps + 1) * end / steps, np.arange(-2 * steps, 2 * steps + 1) * end / steps
    normal = ndtr(np.arange(-3 * steps, 3 * steps + 1) * end / steps / sigma)
    matrix = np.lib.stride_tricks.sliding_window_view(normal, len(atoms)).copy()
    logistic = expit(x)
    normal_equations = matrix.T @ matrix
    normal_equations[np.diag_indices_from(normal_equations)] += penalty
    weights = inv(normal_equations) @ (logistic @ matrix)
    return float(np.abs(matrix @ np.maximum(weights, 0.0) - logistic).max())
