"""Helpers for several tests: instances, reference implementations, Monte Carlo limits and checks of pages."""
