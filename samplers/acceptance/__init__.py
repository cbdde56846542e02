"""Acceptance tests behind one interface; how often sequential ones err; the correction of Barker's."""
