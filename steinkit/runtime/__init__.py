"""Compilation, deadlines, threads and progress bars for long computations."""
