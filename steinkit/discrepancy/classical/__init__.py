"""The classical Stein discrepancy of one dimension: a cone program and its proof."""
