"""Samples in files: CSV, NPZ, NPY, Stan CSV, NetCDF and Zarr.

The layers, lowest first: `streams` moves bytes in and out; one module a format turns bytes into a `Sample` and back;
`dispatch` picks the format, and joins several files. What columns mean is said in `containers`, for a table in memory
means the same.
"""

from steinkit.files.dispatch import read_sample, write_sample

__all__ = ["read_sample", "write_sample"]
