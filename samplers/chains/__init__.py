"""Proposals, likelihood terms, minibatches and random streams of Markov chains."""
