"""The Wasserstein distance, from a target's cdf or between samples."""
