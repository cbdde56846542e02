"""The graph Stein discrepancy with its spanner, programs and solvers."""
