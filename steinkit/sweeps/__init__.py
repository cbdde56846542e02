"""Sweeps and tuning, which compare settings of a sampler."""
