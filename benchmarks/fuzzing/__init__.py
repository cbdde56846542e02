"""Damaged files and checks of their readers, for `fuzz_files` and the tests."""
