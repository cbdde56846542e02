"""Solver `block`, an interior point method with sparse Cholesky factorization."""
