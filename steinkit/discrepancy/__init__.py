"""Discrepancies between a sample and its target, and shared modules."""
