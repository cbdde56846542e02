"""Discrepancies between a sample and its target, with their shared modules."""
