"""Acceptance tests behind one interface, and the correction distribution of one of them."""
