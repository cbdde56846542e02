"""Optimisation on growing batches: a sequential test reads, at each step, only the data that its direction needs."""
