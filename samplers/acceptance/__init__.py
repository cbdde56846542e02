"""Acceptance tests for Metropolis-Hastings chains."""
