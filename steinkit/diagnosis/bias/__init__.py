"""Biases of means and standard deviations, and corrected draws."""
