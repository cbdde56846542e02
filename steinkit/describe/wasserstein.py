"""What is said of a Wasserstein distance."""

from __future__ import annotations

from functools import partial

from steinkit.describe.description import describe_bracketed

describe_wasserstein = partial(
    describe_bracketed,
    meaning="It is the mean distance by which the sample's mass must be moved to become the target, in the unit of the "
    "draws. It needs the target's cdf, and sees a mode that no draw has visited.",
)
