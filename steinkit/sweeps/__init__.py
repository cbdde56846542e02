"""Comparison of the settings of a sampler by sweeps and by tuning."""
