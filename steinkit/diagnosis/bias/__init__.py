"""Biases of means and standard deviations in the parameters' own units, and draws repaired."""
