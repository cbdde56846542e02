"""Discrepancies between a sample and its target, and their shared modules."""
