"""Sweeps and tuning runs, which compare sampler settings."""
