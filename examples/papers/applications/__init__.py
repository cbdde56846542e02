"""Samplers and optimizers for the applications in the papers."""
