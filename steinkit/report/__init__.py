"""Reports of results as HTML pages."""
