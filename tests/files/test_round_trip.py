"""Every format recovers all parts of a sample bit for bit."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from steinkit.files import read_sample, write_sample
from steinkit.sample import Sample

FINITE = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True)
WEIGHTS = st.floats(min_value=0.0, allow_infinity=False)
LABELS = st.integers(-(2**53), 2**53)
NAMES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=6).filter(
    lambda name: name.isprintable() and name == name.strip() and "/" not in name and name.strip(" .")
)


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    chains, draws, dim = draw(st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3)))
    n = chains * draws
    parts: dict[str, Any] = {"points": draw(hnp.arrays(float, (n, dim), elements=FINITE))}
    if draw(st.booleans()):
        parts["scores"] = draw(hnp.arrays(float, (n, dim), elements=FINITE))
    if draw(st.booleans()):
        parts["cost"] = draw(hnp.arrays(float, n, elements=FINITE))
    if draw(st.booleans()):
        parts["weights"] = draw(hnp.arrays(float, n, elements=WEIGHTS).filter(lambda weights: weights.any()))
    if draw(st.booleans()):
        parts["divergent"] = draw(hnp.arrays(bool, n))
    if draw(st.booleans()):
        parts["energy"] = draw(hnp.arrays(float, n, elements=FINITE))
    if draw(st.booleans()):
        parts["names"] = [f"x{name}" for name in draw(st.lists(NAMES, min_size=dim, max_size=dim, unique=True))]
    if draw(st.booleans()):
        labels = draw(st.lists(LABELS, min_size=chains, max_size=chains, unique=True))
        parts["chain"] = np.repeat(labels, draws)
    if draw(st.booleans()):
        parts["draw"] = np.tile(draw(st.lists(LABELS, min_size=draws, max_size=draws)), chains)
    return Sample(**parts)


@pytest.mark.parametrize("form", ["csv", "npz"])
@given(sample=samples())
@settings(max_examples=30, deadline=None)
def test_all_parts_are_preserved(form: str, sample: Sample, assert_same: Any) -> None:
    stream = io.BytesIO()
    write_sample(sample, stream, format=form)
    assert_same(read_sample(io.BytesIO(stream.getvalue()), format=form), sample)


@given(sample=samples())
@settings(max_examples=12, deadline=None)
def test_netcdf_preserves_all_parts(sample: Sample, assert_same: Any) -> None:
    pytest.importorskip("h5netcdf")
    stream = io.BytesIO()
    write_sample(sample, stream, format="netcdf")
    assert_same(read_sample(io.BytesIO(stream.getvalue()), format="netcdf"), sample)


@given(values=hnp.arrays(float, (5, 2), elements=FINITE))
@settings(max_examples=50, deadline=None)
def test_npy_preserves_all_values(values: np.ndarray[Any, Any], assert_same: Any) -> None:
    stream = io.BytesIO()
    write_sample(Sample(points=values), stream, format="npy")
    assert_same(read_sample(io.BytesIO(stream.getvalue()), format="npy"), Sample(points=values))


@pytest.mark.parametrize("form", ["csv", "npz", "netcdf"])
@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
def test_parameters_with_names_of_weights(form: str, weights: list[float] | None, assert_same: Any) -> None:
    if form == "netcdf":
        pytest.importorskip("h5netcdf")
    sample = Sample(points=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], names=("w", "mu", "log_weight"), weights=weights)
    stream = io.BytesIO()
    write_sample(sample, stream, format=form)
    stated = None if form != "csv" else "none" if weights is None else "weight"
    assert_same(read_sample(io.BytesIO(stream.getvalue()), format=form, weights=stated), sample)


@pytest.mark.parametrize("form", ["csv", "npz"])
def test_interleaved_and_unequal_chains(form: str, assert_same: Any) -> None:
    uneven = Sample(points=[1.0, 2.0, 3.0], chain=[0, 1, 0], draw=[0, 0, 1])
    stream = io.BytesIO()
    write_sample(uneven, stream, format=form)
    assert_same(read_sample(io.BytesIO(stream.getvalue()), format=form), uneven)
