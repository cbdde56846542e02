"""Sweeps and tuning, which compare the settings of a sampler."""
