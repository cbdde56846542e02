"""Solver `block`: an interior point method with a sparse Cholesky factorisation of our own."""
