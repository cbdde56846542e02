"""Compilation, deadlines, threads and progress of long computations."""
