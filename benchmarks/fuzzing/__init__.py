"""Damaged files and what must be true of reading them; for `fuzz_files` and the tests."""
