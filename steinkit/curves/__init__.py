"""A measure of sample quality against the number of draws, or their cost, and the rate at which it falls.

The layers, lowest first: `rates` fits a line, `result` is what is found, `prefixes` cuts samples off, `convergence`
measures them.
"""

from steinkit.curves.convergence import curve
from steinkit.curves.prefixes import first_draws, within_budget
from steinkit.curves.rates import Rate, fit_rate
from steinkit.curves.result import Curve

__all__ = ["Curve", "Rate", "curve", "first_draws", "fit_rate", "within_budget"]
