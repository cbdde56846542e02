"""Kernel Stein discrepancy, kernel goodness-of-fit test, and Stein thinning."""
