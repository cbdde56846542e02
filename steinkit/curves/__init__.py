"""A measure of sample quality against the number of draws, or their cost, and the rate at which it falls.

The layers, lowest first: `rates` fits a line, `result` is what a curve is, `convergence` measures it.
"""

from steinkit.curves.convergence import curve, first_draws, within_budget
from steinkit.curves.result import Curve

__all__ = ["Curve", "curve", "first_draws", "within_budget"]
