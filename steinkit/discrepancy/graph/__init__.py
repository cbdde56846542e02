"""The graph Stein discrepancy: spanner, programs, engines, certificate."""
