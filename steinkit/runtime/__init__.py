"""Compilation, deadlines, threads and progress reports for long computations."""
