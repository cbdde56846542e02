"""Chains and optimisers of the papers' applications, judged by the same tests."""
