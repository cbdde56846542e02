"""Samples in files: CSV, NPZ, NPY, Stan CSV and NetCDF.

The layers, lowest first: `messages`, `labels` and `columns` know nothing of files; one module a format turns
bytes into a `Sample` and back; `streams` moves bytes in and out; `dispatch` picks the format.
"""

from steinkit.files.dispatch import read_sample, write_sample

__all__ = ["read_sample", "write_sample"]
