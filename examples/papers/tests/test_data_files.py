"""Converters for the papers' real data, on small files in the public formats."""

import gzip
import struct
import wave

import numpy as np
import pytest
from _data_files import idx, million_song, miniboone, mnist, principal_components, recordings, two_digits

from steinkit.errors import InputError


def written(path, array, packed=False):
    """Return an idx file: two zeros, 8 for bytes, the number of dimensions, their lengths, the bytes."""
    content = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(content) if packed else content)
    return path


@pytest.fixture(params=[False, True], ids=["plain", "packed"])
def digits(tmp_path, request):
    rng, suffix = np.random.default_rng(0), ".gz" * request.param
    images, labels = rng.integers(0, 256, (40, 28, 28), np.uint8), np.tile(np.arange(10, dtype=np.uint8), 4)
    for part, count in {"train": 30, "t10k": 10}.items():
        written(tmp_path / f"{part}-images-idx3-ubyte{suffix}", images[:count], request.param)
        written(tmp_path / f"{part}-labels-idx1-ubyte{suffix}", labels[:count], request.param)
    return tmp_path / f"train-images-idx3-ubyte{suffix}", images, labels


def test_two_digits_of_mnist(digits):
    path, images, labels = digits
    x, y, x_test, y_test = two_digits(str(path), 1, 7)
    chosen = np.isin(labels[:30], (1, 7))
    assert np.array_equal(x, images[:30][chosen].reshape(6, 784) / 255.0)
    assert y.tolist() == [False, True] * 3
    assert x_test.shape == (2, 784)
    assert y_test.tolist() == [False, True]


def test_infinite_mnist_has_the_same_format(digits, tmp_path):
    _, images, labels = digits
    made = written(tmp_path / "mnist8m-patterns-idx3-ubyte", images.reshape(40, 784))
    written(tmp_path / "mnist8m-labels-idx1-ubyte", labels)
    (found, told), (tests, _) = mnist(str(made))
    assert np.array_equal(found, images.reshape(40, 784))
    assert np.array_equal(told, labels)
    assert len(tests) == 10
    assert isinstance(found, np.memmap)  # eight million images do not fit into memory


def test_an_npz_of_two_digits_may_number_them(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {f"X_{part}": rng.integers(0, 256, (4, 784), np.uint8) for part in ("train", "test")}
    for labels in ([0, 1, 1, 0], [7, 9, 9, 7]):
        np.savez(tmp_path / "two.npz", **arrays, y_train=labels, y_test=labels)
        assert two_digits(str(tmp_path / "two.npz"), 7, 9)[1].tolist() == [False, True, True, False]
    with pytest.raises(InputError, match="labelled 1 and 7; it has 7, 9"):
        two_digits(str(tmp_path / "two.npz"), 1, 7)
    np.savez(tmp_path / "less.npz", X_train=arrays["X_train"])
    with pytest.raises(InputError, match="y_train"):
        mnist(str(tmp_path / "less.npz"))


def test_files_of_other_formats_are_refused(digits, tmp_path):
    path, images, _ = digits
    with pytest.raises(InputError, match="must be MNIST's training images"):
        mnist(str(tmp_path / "images.bin"))
    other = tmp_path / "x"
    other.write_bytes(b"\0\0\x0d\x01")
    with pytest.raises(InputError, match="must begin with the bytes"):
        idx(other)
    with pytest.raises(InputError, match="fetch it again"):
        idx(tmp_path / "nowhere")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="fetch it again"):
        idx(path)
    written(path, images[:3], path.suffix == ".gz")
    with pytest.raises(InputError, match="has 3 images, its file of labels 30"):
        mnist(str(path))


def test_principal_components_of_standardized_pixels():
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (200, 12), np.uint8)
    images[:, 3] = 7  # a constant pixel is omitted
    images[:, 5] = images[:, 6] // 2
    turned, tests = principal_components(images[:150], images[150:], 4)
    varying = np.delete(np.arange(12), 3)
    values = images[:150, varying].astype(float)
    standard = (values - values.mean(axis=0)) / values.std(axis=0)
    _, sizes, axes = np.linalg.svd(standard, full_matrices=False)
    assert np.allclose(np.abs(turned), np.abs(standard @ axes[:4].T))
    assert np.allclose(np.linalg.norm(turned, axis=0), sizes[:4])
    again = (images[150:, varying] - values.mean(axis=0)) / values.std(axis=0)
    assert np.allclose(np.abs(tests), np.abs(again @ axes[:4].T))


@pytest.mark.parametrize("packed", [False, True])
def test_miniboone_has_its_signals_first(tmp_path, packed):
    text = "  2  3\n" + "\n".join(" ".join(f"{10 * i + j}.5" for j in range(50)) for i in range(5)) + "\n"
    path = tmp_path / ("MiniBooNE_PID.txt" + ".gz" * packed)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    features, signal = miniboone(str(path))
    assert features.shape == (5, 50)
    assert features[2, 3] == 23.5
    assert signal.tolist() == [True, True, False, False, False]
    path.write_bytes(gzip.compress(b"2 9\n1 2\n") if packed else b"2 9\n1 2\n")
    with pytest.raises(InputError, match=r"announces 2 \+ 9 events and has 1"):
        miniboone(str(path))
    path.write_bytes(b"\x1f\x8b but not gzip" if packed else b"one row\n")
    with pytest.raises(InputError, match="must be UCI's"):
        miniboone(str(path))


def test_million_song_is_standardized_by_its_first_songs(tmp_path):
    rng = np.random.default_rng(2)
    table = np.column_stack([rng.integers(1950, 2010, 9), rng.normal(3.0, 2.0, (9, 90))])
    path = tmp_path / "YearPredictionMSD.txt"
    np.savetxt(path, table, delimiter=",")
    X, y, X_test, y_test = million_song(str(path), training=6)
    assert (X.shape, X_test.shape) == ((6, 91), (3, 91))
    assert (X[:, 0] == 1.0).all()
    assert np.allclose(X[:, 1:].mean(axis=0), 0.0)
    assert np.allclose(X[:, 1:].std(axis=0), 1.0)
    assert np.array_equal(np.append(y, y_test), table[:, 0])
    with pytest.raises(InputError, match="has 9 songs"):
        million_song(str(path))
    path.write_text("not, numbers\n")
    with pytest.raises(InputError, match="must be UCI's"):
        million_song(str(path))


def test_recordings_have_two_channels(tmp_path):
    rng = np.random.default_rng(3)
    sound = rng.integers(-3000, 3000, (500, 2)).astype("<i2")
    path = tmp_path / "sound.wav"
    for channels in (2, 1):
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(sound[:, :channels].tobytes())
        if channels == 2:
            assert np.allclose(recordings(str(path)), (sound - sound.mean(axis=0)) / sound.std(axis=0))
    with pytest.raises(InputError, match="must have two channels"):
        recordings(str(path))
    path.write_bytes(b"RIFF")
    with pytest.raises(InputError, match="must be a WAV file"):
        recordings(str(path))


def test_recordings_are_mixed_with_two_normal_sources(tmp_path):
    from _mixed_sources import mixed_sources, true_unmixing

    rng = np.random.default_rng(4)
    sound = (3000 * rng.laplace(size=(2000, 2))).clip(-32000, 32000).astype("<i2")
    path = tmp_path / "sound.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(sound.tobytes())
    posterior = mixed_sources(1500, 2, str(path))
    unmixed = posterior.data[0] @ np.linalg.inv(posterior.whitening).T @ true_unmixing().T
    for k in range(2):
        assert abs(np.corrcoef(unmixed[:, k], sound[:1500, k])[0, 1]) > 1.0 - 1e-9
    with pytest.raises(InputError, match="has 2,000 samples, and 3,000 are mixed"):
        mixed_sources(3000, 2, str(path))
