"""Markov chains: proposals, likelihood terms, minibatches and random streams."""
