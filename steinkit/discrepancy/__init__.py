"""Discrepancies between a sample and its target: a file or a folder each, and what they share."""
