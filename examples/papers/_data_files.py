"""Converters for the papers' data, from their public files.

The files are not part of steinkit. Their sources and licenses, as of November 2026, are as follows.

MNIST (Seita et al.; Korattikara et al.)
    The four files by Y. LeCun, C. Cortes and C. Burges, such as ``train-images-idx3-ubyte``, with or without gzip
    compression, are available from mirrors of yann.lecun.com/exdb/mnist. The license is CC BY-SA 3.0. Pass the file of
    training images. The other files must be in the same folder.
Infinite MNIST (the same papers)
    G. Loosli, S. Canu and L. Bottou's program infimnist, leon.bottou.org/projects/infimnist, writes files in the same
    format, ``...-patterns-idx3-ubyte`` and ``...-labels-idx1-ubyte``. The two test files of MNIST must be in the same
    folder. The program is free software (LGPL), and its digits are derived from those of MNIST.
MiniBooNE (Korattikara et al., variable selection)
    The file ``MiniBooNE_PID.txt`` by B. Roe is in the UCI Machine Learning Repository. The license is CC BY 4.0.
Million Song (Korattikara et al. 2016, least absolute deviations)
    The file ``YearPredictionMSD.txt`` in the UCI repository is derived from the Million Song Dataset by T.
    Bertin-Mahieux, D. Ellis, B. Whitman and P. Lamere. The license is CC BY 4.0.
Recordings (Korattikara et al., independent component analysis)
    The paper does not name the recordings. Use any WAV file with two channels, with classical music on the left and
    street noise on the right. The license is that of the recordings.
"""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np

from steinkit.errors import InputError

_BLOCK = 50_000  # number of images that are converted to floating-point numbers at a time
SONGS_TRAINING = 463_715  # number of training songs at the beginning of the file; the others are test data


def two_digits(path: str, zero: int, one: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return pixels in [0, 1] and labels of the training images and the test images of two digits.

    The argument `path` is the file of MNIST's training images, or an .npz file with the arrays X_train, y_train, X_test
    and y_test of these digits. The labels in an .npz file can also be 0 and 1.
    """
    found = []
    for images, labels in mnist(path):
        if path.endswith(".npz") and {*np.unique(labels)} == {0, 1}:
            zero, one = 0, 1
        chosen = (labels == zero) | (labels == one)
        if {*np.unique(labels[chosen])} != {zero, one}:
            raise InputError(f"{path} must hold images labelled {zero} and {one}; it has {_listed(labels)}")
        found += [images[chosen].reshape(chosen.sum(), -1) / 255.0, labels[chosen] == one]
    return tuple(found)


def mnist(path: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return images, (n, 784) or (n, 28, 28), and labels, (n,), of the training set and the test set."""
    if path.endswith(".npz"):
        try:
            with np.load(path) as file:
                return [(file[f"X_{part}"], file[f"y_{part}"]) for part in ("train", "test")]
        except (OSError, KeyError, ValueError) as error:
            raise InputError(f"{path} must be an .npz with X_train, y_train, X_test, y_test: {error}") from None
    images = Path(path)
    kind = next((kind for kind in ("images", "patterns") if f"{kind}-idx3" in images.name), None)
    if kind is None:
        raise InputError(f"{path} must be MNIST's training images, train-images-idx3-ubyte or .gz, or an .npz")
    labels = images.with_name(images.name.replace(f"{kind}-idx3", "labels-idx1"))
    tests = [_either(images.with_name(f"t10k-{name}-ubyte")) for name in ("images-idx3", "labels-idx1")]
    pairs = [(idx(images), idx(_either(labels))), (idx(tests[0]), idx(tests[1]))]
    for there, (pixels, told) in zip((images, tests[0]), pairs, strict=True):
        if len(pixels) != len(told):
            raise InputError(
                f"{there} has {len(pixels)} images, its file of labels {len(told)}; take both from one set"
            )
    return pairs


def idx(path: Path) -> np.ndarray:
    """Read a file in the format of MNIST, which is an array of unsigned bytes of any shape.

    The array is memory-mapped if the file is not compressed.
    """
    packed = path.suffix == ".gz"
    try:
        with gzip.open(path) if packed else open(path, "rb") as file:
            head = file.read(4)
            if head[:3] != b"\0\0\x08" or len(head) < 4:
                raise InputError(f"{path} must begin with the bytes 0, 0, 8 of an idx file of bytes; it does not")
            shape = tuple(int(each) for each in np.frombuffer(file.read(4 * head[3]), ">u4"))
            if not packed:
                return np.memmap(path, np.uint8, "r", file.tell(), shape)
            return np.frombuffer(file.read(), np.uint8).reshape(shape)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path} cannot be read as an idx file; fetch it again: {error}") from None


def principal_components(training: np.ndarray, test: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first principal components of the standardized pixels of training and test images."""
    training, test = (each.reshape(len(each), -1) for each in (training, test))
    blocks = range(0, len(training), _BLOCK)
    count, total = len(training), sum(training[k : k + _BLOCK].sum(axis=0, dtype=np.float64) for k in blocks)
    products = sum(_product(training[k : k + _BLOCK]) for k in blocks)
    mean = total / count
    covariance = products / count - np.outer(mean, mean)
    varying = covariance.diagonal() > 1e-9
    sd = np.sqrt(covariance.diagonal()[varying])
    _, vectors = np.linalg.eigh(covariance[np.ix_(varying, varying)] / np.outer(sd, sd))
    axes = vectors[:, ::-1][:, :components] / sd[:, None]

    def turned(images: np.ndarray) -> np.ndarray:
        parts = range(0, len(images), _BLOCK)
        return np.concatenate([(images[k : k + _BLOCK][:, varying] - mean[varying]) @ axes for k in parts])

    return turned(training), turned(test)


def miniboone(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of events, (n, 50), and their labels.

    The labels are True for the first events of the file, which are electron neutrinos.
    """
    try:
        with _opened(path) as file:
            signal, background = (int(each) for each in file.readline().split())
            features = np.loadtxt(file, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(
            f"{path} must be UCI's MiniBooNE_PID.txt, two counts and then rows of numbers: {error}"
        ) from None
    if len(features) != signal + background:
        raise InputError(f"{path} announces {signal} + {background} events and has {len(features)}; fetch it again")
    return features, np.arange(len(features)) < signal


def million_song(path: str, training: int = SONGS_TRAINING) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the features and years of the training songs and the test songs.

    The features are standardized and include a column of ones.
    """
    try:
        with _opened(path) as file:
            table = np.loadtxt(file, delimiter=",", ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(
            f"{path} must be UCI's YearPredictionMSD.txt, a year and its features a line: {error}"
        ) from None
    if len(table) <= training:
        raise InputError(f"{path} has {len(table)} songs, and {training} are to be learnt from; fetch it whole")
    X = table[:, 1:]
    X = (X - X[:training].mean(axis=0)) / X[:training].std(axis=0)
    X = np.column_stack([np.ones(len(X)), X])
    return X[:training], table[:training, 0], X[training:], table[training:, 0]


def recordings(path: str) -> np.ndarray:
    """Return the two standardized channels of a WAV file, shape (n, 2)."""
    from scipy.io import wavfile

    try:
        _, found = wavfile.read(path)
    except (OSError, ValueError, struct.error) as error:
        raise InputError(f"{path} must be a WAV file: {error}") from None
    if found.ndim != 2 or found.shape[1] != 2 or (found == found[0]).all(axis=0).any():
        raise InputError(f"{path} must have two channels with sound, music and noise; it has shape {found.shape}")
    return (found - found.mean(axis=0)) / found.std(axis=0)


def _product(images: np.ndarray) -> np.ndarray:
    values = images.astype(np.float64)
    return values.T @ values


def _opened(path: str):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path, encoding="utf-8")


def _either(path: Path) -> Path:
    """Find a file, which may be compressed."""
    plain = path.with_suffix("") if path.suffix == ".gz" else path
    return next((each for each in (plain, plain.with_name(plain.name + ".gz")) if each.exists()), path)


def _listed(labels: np.ndarray) -> str:
    return ", ".join(str(each) for each in np.unique(labels))
