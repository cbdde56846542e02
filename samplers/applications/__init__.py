"""Chains and optimisers of the papers' applications, driven by the same tests."""
