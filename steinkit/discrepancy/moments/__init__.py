"""The polynomial Stein discrepancy of degree two: moments that are zero under the target, each with a z-score."""
