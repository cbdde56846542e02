"""Sweeps over the settings of a sampler, and the choice of a setting."""
