"""The measures of a sample by their names, under one signature: what `score`, `compare`, `curve` and `sweep` take.

    graph         graph Stein discrepancy          any dimension    certified bracket
    sliced        sliced graph Stein discrepancy   any dimension    certified bracket
    moments       moment Stein discrepancy         any dimension    an estimate, with a p-value
    classical     classical Stein discrepancy      one dimension    certified bracket
    wasserstein   Wasserstein-1 distance           one dimension    bracket, needs the target's cdf
    ksd           kernel Stein discrepancy         any dimension    closed form, bracket of rounding
    ess           effective sample size            any dimension    blind to bias; needs no target

All but the last are distances of the sample from its target: smaller is better. Effective sample size counts the
independent draws that would estimate as well *the distribution the chains converge to*, whatever that is.

A measure is an object in `registry`, which holds all that is known of it, its settings and command-line options
included, and finds it by its name.
"""

from steinkit.measures.options import Measure, Measurement
from steinkit.measures.registry import default_measure, find_measure, measure_names, take_measure

__all__ = ["Measure", "Measurement", "default_measure", "find_measure", "measure_names", "take_measure"]
