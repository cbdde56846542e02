import io
import warnings
import zipfile
from typing import Any

import numpy as np
import pytest

from steinkit.containers.columns import Selection
from steinkit.errors import InputError, ReadingWarning, UsageError
from steinkit.files.numpy_format import read_npy, read_npz, write_npy, write_npz
from steinkit.sample import Sample


def packed(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


CUBE = np.arange(24.0).reshape(3, 4, 2)


def test_flat_points_with_all_optional_arrays() -> None:
    sample = read_npz(
        packed(
            points=CUBE.reshape(12, 2),
            weights=np.arange(12),
            scores=-CUBE.reshape(12, 2),
            cost=np.arange(12) * 2.0,
            names=np.array(["a", "b"]),
            chain=np.arange(12) % 5,
            draw=np.arange(12) // 5,
        ),
        "s.npz",
    )
    assert sample.names == ("a", "b")
    assert (sample.scores == -sample.points).all()
    assert sample.weights.tolist() == list(range(12))
    assert sample.cost[-1] == 22
    assert sample.chain.tolist() == (np.arange(12) % 5).tolist()


def test_chains_are_concatenated() -> None:
    weights = np.arange(12.0).reshape(3, 4)
    sample = read_npz(packed(points=CUBE, scores=2 * CUBE, weights=weights, cost=weights), "s.npz")
    assert (sample.points == CUBE.reshape(12, 2)).all()
    assert (sample.scores == 2 * sample.points).all()
    assert sample.weights.tolist() == list(range(12))
    assert sample.chain.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_flat_weights_and_scores_of_chains() -> None:
    sample = read_npz(packed(points=CUBE, scores=CUBE.reshape(12, 2), weights=np.arange(12)), "s.npz")
    assert (sample.scores == sample.points).all()


def test_points_of_one_dimension() -> None:
    assert read_npz(packed(points=np.arange(3), scores=np.arange(3)), "s.npz").points.shape == (3, 1)
    assert read_npz(packed(points=np.arange(3)), "s.npz", Selection(["x1"])).points.shape == (3, 1)


def test_single_precision_is_converted() -> None:
    assert read_npz(packed(points=np.float32([[0.5, 0.1]])), "s.npz").points.tolist() == [[0.5, float(np.float32(0.1))]]
    assert read_npy(saved(np.float16([0.5])), "s.npy").points.dtype == np.float64


def test_columns_chooses_before_values_are_checked() -> None:
    data = packed(points=[[1.0, np.nan, 3.0]], scores=[[4.0, np.inf, 6.0]], names=np.array(["a", "b", "c"]))
    sample = read_npz(data, "s.npz", Selection(["c", "a"]))
    assert sample.names == ("c", "a")
    assert sample.points.tolist() == [[3, 1]]
    assert sample.scores.tolist() == [[6, 4]]
    with pytest.raises(InputError, match=r"s\.npz: .*row 1, column 'b' is nan"):
        read_npz(data, "s.npz")
    with pytest.raises(InputError, match=r's\.npz has no coordinate named "d"; it has "a", "b", "c"'):
        read_npz(data, "s.npz", Selection(["d"]))
    assert read_npy(saved(CUBE), "s.npy", Selection(["x2"])).points.tolist() == CUBE[..., 1].reshape(12, 1).tolist()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"draws": CUBE, "note": 1}, '"note".*one entry per draw.*single number'),
        ({"weights": np.ones((2, 4))}, 'The arrays are "weights"'),
        ({"scores": np.ones((2, 4))}, 'The arrays are "scores"'),
        ({"mu": np.ones(4), "tau": np.ones(5)}, r"mu \(4,\).*tau \(5,\)"),
        ({"mu": np.ones(4), "w": np.ones(4)}, '"w".*--weights'),
        ({"points": CUBE, "score": CUBE}, '"score".*did you mean "scores"'),
        ({"points": CUBE, "weight": np.ones(12)}, '"weight".*--weights'),
        ({"points": CUBE, "weights": np.ones(12), "logw": np.ones(12)}, '"logw", "weights".*--weights'),
        ({"points": CUBE, "weights": np.ones((4, 3))}, r"weights .*12.*\(4, 3\)"),
        ({"points": CUBE, "scores": np.ones((3, 4))}, r"scores .*\(12, 2\).*\(3, 4\)"),
        ({"points": CUBE, "chain": np.ones(5)}, r"chain .*12.*\(5,\)"),
        ({"points": CUBE, "names": np.array(["a"])}, r'2 strings in "names".*\(1,\)'),
        ({"points": CUBE, "names": np.arange(2)}, '2 strings in "names".*int'),
        ({"points": CUBE, "names": np.array(["a", "a"])}, "different names"),
        ({"points": CUBE + 1j}, "real numbers.*complex128"),
        ({"points": np.array([["a"]])}, "real numbers.*<U1"),
        ({"points": np.array([[None, 1]])}, "allow_pickle=False"),
        ({"points": np.ones((0, 2))}, r"got shape \(0, 2\)"),
        ({"points": np.ones((1, 1, 1, 1))}, "must have shape"),
        ({"points": 1.0}, "must have shape"),
        ({"points": [[1.0], [np.inf]]}, "row 2.*inf"),
        ({"points": [1.0, 2.0], "weights": [1.0, -1.0]}, "row 2 is -1"),
        ({"points": [1.0, 2.0], "draw": [0.0, 0.5]}, "draw: row 2 is 0.5"),
    ],
)
def test_errors_in_an_archive(arrays: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"s\.npz.*{words}"):
        read_npz(packed(**arrays), "s.npz")


def test_weights_by_another_name() -> None:
    logs = np.array([0.0, -1.0, -400.0])
    with pytest.warns(ReadingWarning, match="exponentiated"):
        sample = read_npz(packed(points=np.zeros((3, 1)), logwt=logs), "s.npz", Selection(weights="logwt"))
    assert sample.weights.tolist() == [1.0, np.exp(-1.0), 0.0]
    assert read_npz(packed(points=[1.0], w=[2.0]), "s.npz", Selection(weights="none")).weights is None


@pytest.mark.parametrize("logs", [np.array([-3, -4, -5]), np.array([[8], [7], [6]], np.uint8)[:, 0]])
def test_log_weights_may_be_integers(logs: Any) -> None:
    with pytest.warns(ReadingWarning, match="exponentiated"):
        sample = read_npz(packed(points=np.zeros((3, 1)), lw=logs), "s.npz", Selection(weights="lw"))
    np.testing.assert_allclose(sample.weights, np.exp([0.0, -1.0, -2.0]))


@pytest.mark.filterwarnings("ignore::steinkit.errors.ReadingWarning")
@pytest.mark.parametrize(
    "logs", [["a", "b", "c"], [True, False, True], 1.0, [1j, 0, 1], [0.0, 1.0], [0.0, np.nan, 1.0]]
)
def test_invalid_log_weights_are_refused(logs: Any) -> None:
    with pytest.raises(InputError, match=r"s\.npz: .*weights"):
        read_npz(packed(points=np.zeros((3, 1)), logw=logs), "s.npz", Selection(weights="logw"))


def test_an_array_of_points_has_no_column_of_weights() -> None:
    assert len(read_npy(saved(CUBE), "s.npy", Selection(weights="none"))) == 12
    with pytest.raises(InputError, match=r's\.npy has no column "nope" with weights'):
        read_npy(saved(CUBE), "s.npy", Selection(weights="nope"))


def test_an_unrelated_array_is_ignored() -> None:
    assert len(read_npz(packed(points=CUBE, acceptance_rate=0.3), "s.npz")) == 12


def test_damaged_archives_and_arrays() -> None:
    whole = packed(points=np.random.default_rng(0).normal(size=500))
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for data in (whole[: len(whole) // 2], whole[:-10], b"PK\x03\x04", bytes(flipped), b"x1,x2\n1,2\n", saved(CUBE)):
        with pytest.raises(InputError, match=r"s\.npz.*not a valid NumPy file"):
            read_npz(data, "s.npz")
    for data in (saved(CUBE)[:-9], saved(np.array([{}], dtype=object)), saved(CUBE) + saved(CUBE), packed(points=CUBE)):
        with pytest.raises(InputError, match=r"s\.npy is not a valid NumPy file"):
            read_npy(data, "s.npy")


def header(text: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """Return an NPY file with a given header."""
    size = len(text).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + size + text.encode("latin1") + body


@pytest.mark.parametrize(
    "data",
    [
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (9000000000000,), }"),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", bytes(8)),
        header("{'descr': [('a', '<f8', ('b',))], 'fortran_order': False, 'shape': (1,), }", bytes(8)),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (True, 2), }", bytes(16)),
        header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "1, " * 70 + "), }", bytes(8)),
        header("(" * 3000),
        header("\xff\xfe", version=b"\x03\x00"),
        b"\x93NUMPY\x09\x00" + bytes(100),
    ],
)
def test_damaged_headers(data: bytes) -> None:
    with pytest.raises(InputError, match=r"s\.npy is not a valid NumPy file"):
        read_npy(data, "s.npy")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("points.npy", data)
    with pytest.raises(InputError, match=r's\.npz, array "points", is not a valid NumPy file'):
        read_npz(archive.getvalue(), "s.npz")


def test_two_members_of_one_name_are_refused() -> None:
    for name in ("points.npy", "points"):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as members, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            members.writestr("points.npy", saved(CUBE))
            members.writestr(name, saved(-CUBE))
        with pytest.raises(InputError, match=r"s\.npz .*same name"):
            read_npz(archive.getvalue(), "s.npz")


def test_equal_chains_are_written_as_a_cube(full_sample: Sample) -> None:
    with np.load(io.BytesIO(write_npz(full_sample, "s.npz")), allow_pickle=False) as archive:
        shapes = {name: archive[name].shape for name in archive.files}
    assert shapes == {
        "points": (3, 4, 2),
        "scores": (3, 4, 2),
        "weights": (3, 4),
        "cost": (3, 4),
        "names": (2,),
    }


@pytest.mark.parametrize(
    ("chain", "draw"),
    [
        ([0, 0, 1], [0, 1, 0]),
        ([1, 1, 2], [0, 1, 0]),
        ([0, 1, 0], [0, 0, 1]),
        ([0, 0, 0], [5, 6, 7]),
        ([1, 1, 1], [0, 1, 2]),
    ],
)
def test_other_labels_are_written_as_they_are(chain: list[int], draw: list[int]) -> None:
    sample = Sample(points=[1.0, 2.0, 3.0], chain=chain, draw=draw)
    with np.load(io.BytesIO(write_npz(sample, "s.npz")), allow_pickle=False) as archive:
        assert archive["points"].shape == (3, 1)
        assert archive["chain"].tolist() == chain
        assert archive["draw"].tolist() == draw


@pytest.mark.parametrize(
    ("parts", "lost"),
    [
        ({"weights": [1.0, 2.0]}, "weights"),
        ({"scores": [[1.0], [2.0]], "cost": [1.0, 2.0]}, "scores, cost"),
        ({"names": ["theta"]}, "names"),
        ({"chain": [1, 2]}, "chain"),
        ({"draw": [3, 4]}, "draw"),
    ],
)
def test_npy_refuses_samples_that_it_cannot_hold(parts: dict[str, Any], lost: str) -> None:
    with pytest.raises(UsageError, match=rf"s\.npy: NPY stores only the points and would lose {lost}; write \.npz"):
        write_npy(Sample(points=[1.0, 2.0], **parts), "s.npy")


def test_npy_keeps_chains(assert_same: Any) -> None:
    assert_same(read_npy(write_npy(Sample(points=CUBE), "s.npy"), "s.npy"), Sample(points=CUBE))
    assert_same(read_npy(write_npy(Sample(points=CUBE[0]), "s.npy"), "s.npy"), Sample(points=CUBE[0]))


def test_arrays_of_emcee_are_refused() -> None:
    steps = np.cumsum(np.random.default_rng(0).normal(size=(50, 8, 2)), axis=0)
    for data, read in ((saved(steps), read_npy), (packed(chain=steps), read_npz)):
        with pytest.raises(InputError, match=r"\(50, 8, 2\) in s with more chains than draws"):
            read(data, "s")
    chain = read_npy(saved(steps.swapaxes(0, 1)), "s").chain
    assert chain is not None
    assert len(np.unique(chain)) == 8
