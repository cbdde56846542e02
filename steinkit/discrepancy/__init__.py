"""Discrepancies between a sample and its target: a folder each, and what they share."""
