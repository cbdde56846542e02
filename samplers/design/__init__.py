"""The design of sequential tests: trial runs, the bias of acceptance probabilities, and the search."""
