"""The order of samples that their brackets prove.

A measure comes as a bracket. Two samples whose brackets overlap cannot be told apart by it, however different the
middles of the brackets look: they are tied. Overlap is not transitive (a wide bracket can overlap two that are far
apart), so samples share a rank if a chain of overlapping brackets joins them. This makes the order a proof: of two
samples of different rank the better one *is* better, by this measure; of two of the same rank nothing is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping


def rank_groups(
    brackets: Mapping[str, tuple[float, float]], *, smaller_is_better: bool = True
) -> tuple[tuple[str, ...], ...]:
    """Groups of names whose brackets a chain of overlaps joins, best first.

    Within a group names stand in the order of their brackets' middles. Brackets that touch overlap.
    """
    sign = 1.0 if smaller_is_better else -1.0
    turned = {name: sorted((sign * lower, sign * upper)) for name, (lower, upper) in brackets.items()}
    groups: list[list[str]] = []
    reached = -math.inf
    for name in sorted(turned, key=lambda name: turned[name][0]):
        lower, upper = turned[name]
        if lower > reached or not groups:
            groups.append([])
        groups[-1].append(name)
        reached = max(reached, upper)
    return tuple(tuple(sorted(group, key=lambda name: sum(turned[name]))) for group in groups)
