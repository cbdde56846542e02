"""Diagnosis of a sample: verdict, findings, bias, repair and mode weights."""
