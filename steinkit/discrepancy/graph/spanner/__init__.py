"""Graphs on the points of a sample, sparse ones that stretch no distance by more than a factor."""
