"""Proposals, likelihood terms, minibatches and random streams for Markov chains."""
