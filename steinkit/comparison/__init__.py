"""Several samples against one target: each measured alike, and put in the order that is proved.

`result` is what is found, `comparing` finds it.
"""

from steinkit.comparison.comparing import compare, rank_groups
from steinkit.comparison.result import ComparedSample, Comparison

__all__ = ["ComparedSample", "Comparison", "compare", "rank_groups"]
