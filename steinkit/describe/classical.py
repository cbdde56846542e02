"""What is said of a classical Stein discrepancy."""

from __future__ import annotations

from functools import partial

from steinkit.describe.description import describe_bracketed

describe_classical = partial(
    describe_bracketed,
    meaning="It is the largest gap between sample and target over all admitted functions, not only over those that a "
    "graph on the draws holds together: never above the graph Stein discrepancy. It is known in one dimension only, "
    "and does not see a mode that no draw has visited either.",
)
