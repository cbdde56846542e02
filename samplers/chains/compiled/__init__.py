"""Whole chains in compiled code, for posteriors that bring compiled terms."""
