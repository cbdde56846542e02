"""Discrepancies between a sample and its target, and the modules that they share."""
