"""Acceptance tests, a file each, behind one interface; how often sequential ones err; the correction of Barker's."""
