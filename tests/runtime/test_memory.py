"""Memory in bytes, as users write it."""

import math

import pytest

import steinkit as sk
from steinkit.runtime.deadlines import as_bytes, in_words, machine_memory


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (1, 1.0),
        (2.5e9, 2.5e9),
        ("2 GB", 2e9),
        ("2gb", 2e9),
        (" 512MiB ", 2.0**29),
        ("1.5e3 kB", 1.5e6),
        ("4096", 4096.0),
    ],
)
def test_sizes_as_users_write_them(given, wanted):
    assert as_bytes(given) == wanted


@pytest.mark.parametrize("given", [0, -1, math.nan, "", "GB", "2 gigs", "-2 GB", "1e", "two GB", "1 GB 2"])
def test_what_is_no_size_is_refused(given):
    with pytest.raises(sk.UsageError, match=r"max_memory .* must be a positive number of bytes"):
        as_bytes(given)


def test_the_machine_has_some():
    assert machine_memory() > 1e7


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (1.23e9, "1.2 GB"),
        (3.5e8, "350 MB"),
        (9.99e8, "1 GB"),
        (12_300, "12 kB"),
        (1.5e11, "150 GB"),
        (math.inf, "inf GB"),
    ],
)
def test_in_words(size, words):
    assert in_words(size) == words
