"""Graphs on the points of a sample: greedy spanners, sorted and complete graphs, and their dilation."""
