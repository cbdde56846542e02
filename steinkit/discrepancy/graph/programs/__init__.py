"""The linear programs of a graph Stein discrepancy, in several forms, and what any candidate proves of them."""
