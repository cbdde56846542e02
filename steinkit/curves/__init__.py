"""A measure of sample quality against the number of draws, or their cost, and the rate at which it falls.

The layers, lowest first: `rates` fits a line, `replicates` sets seeds side by side, `running` holds running means
against a long exact run, `tables` those of joint probabilities, `result` is what a curve is, `convergence` measures it.
"""

from steinkit.curves.convergence import curve, first_draws, within_budget
from steinkit.curves.rates import Rate, fit_rate
from steinkit.curves.replicates import Bands, bands
from steinkit.curves.result import Curve
from steinkit.curves.running import LongRunMean, Risk, RunningMeans, long_run_mean, risk, running_means
from steinkit.curves.tables import running_tables, table_errors

__all__ = [
    "Bands",
    "Curve",
    "LongRunMean",
    "Rate",
    "Risk",
    "RunningMeans",
    "bands",
    "curve",
    "first_draws",
    "fit_rate",
    "long_run_mean",
    "risk",
    "running_means",
    "running_tables",
    "table_errors",
    "within_budget",
]
