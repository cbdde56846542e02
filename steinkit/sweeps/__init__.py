"""Sweeps: a sampler run over a grid of settings and seeds, scored, and a setting chosen."""
