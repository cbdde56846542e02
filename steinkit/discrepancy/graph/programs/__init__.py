"""Linear programs of the graph Stein discrepancy, and their certificates."""
