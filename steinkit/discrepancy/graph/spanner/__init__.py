"""Graphs on the points of a sample."""
