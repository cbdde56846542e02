"""Several samples against one target: each measured alike, and put in the order that is proved.

The layers, lowest first: `result` is what is found, `ranking` the order, `comparing` finds both.
"""

from steinkit.comparison.comparing import compare
from steinkit.comparison.ranking import rank_groups
from steinkit.comparison.result import ComparedSample, Comparison

__all__ = ["ComparedSample", "Comparison", "compare", "rank_groups"]
