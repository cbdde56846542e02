"""Acceptance tests of Metropolis-Hastings chains."""
