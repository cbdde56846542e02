"""Variable selection in logistic regression by reversible jumps."""
