"""Sweeps: a sampler run over a grid of settings and seeds, scored, and a setting chosen."""

BACKENDS = ("loky", "dask", "ray")
"""Names of the back ends; the first needs nothing."""
