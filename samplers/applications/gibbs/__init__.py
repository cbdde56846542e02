"""Gibbs sampling of dense Markov random fields."""
