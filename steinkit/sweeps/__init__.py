"""Sweeps: run a sampler over a grid of settings and seeds, score the chains, and choose a setting."""
