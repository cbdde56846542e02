"""Independent component analysis on the orthogonal matrices."""
