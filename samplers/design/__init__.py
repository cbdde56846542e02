"""Sequential tests: how often they err, how much they read, and how to choose them."""
