"""Linear programs for the graph Stein discrepancy, and their certificates."""
