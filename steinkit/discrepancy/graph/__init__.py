"""The graph Stein discrepancy: spanner, programs, solvers, certificate."""
