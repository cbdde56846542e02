"""Linear programs of the graph Stein discrepancy in several forms, and the certificates of their optima."""
