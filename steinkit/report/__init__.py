"""Reports: one page of HTML that says what was found, shows it, and says how to find it again."""
