"""The kernel Stein discrepancy, its test, and Stein thinning."""
