"""Graph Stein discrepancy with its spanner, programs and solvers."""
