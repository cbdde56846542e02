"""Draws in data frames."""

import io

import numpy as np
import pytest

import steinkit as sk

pandas = pytest.importorskip("pandas")


def test_columns_are_interpreted_as_in_a_file(tmp_path):
    frame = pandas.DataFrame(
        {
            "b": [1.0, 2.0, 4.0],
            "chain": [0, 0, 1],
            "score:a": [7.0, 8.0, 9.0],
            "draw": [3, 4, 3],
            "a": [3, 4, 5],
            "weight": [1.0, 0.5, 2.0],
            "cost": [1, 2, 1],
            "score:b": [0.0, 1.0, 2.0],
        }
    )
    path = tmp_path / "draws.csv"
    frame.to_csv(path, index=False)
    found, wanted = sk.as_sample(frame), sk.read_sample(path)
    assert found.names == wanted.names == ("b", "a")
    for part in ("points", "scores", "weights", "cost", "chain", "draw"):
        np.testing.assert_array_equal(getattr(found, part), getattr(wanted, part))


def test_types_of_numbers_and_default_names():
    frame = pandas.DataFrame(
        {"i": pandas.array([1, 2], dtype="Int64"), "f": np.float32([0.5, 2.0]), "b": [True, False]}
    )
    np.testing.assert_array_equal(sk.as_sample(frame).points, [[1.0, 0.5, 1.0], [2.0, 2.0, 0.0]])
    assert sk.as_sample(pandas.DataFrame(np.zeros((2, 3)))).has_default_names
    assert sk.as_sample(pandas.Series([1.0, 2.0], name="tau")).names == ("tau",)


def test_the_index_of_xarrays_frames_labels_the_draws():
    index = pandas.MultiIndex.from_product([[3, 5], [10, 11]], names=["chain", "draw"])
    sample = sk.as_sample(pandas.DataFrame({"mu": np.arange(4.0)}, index=index))
    np.testing.assert_array_equal(sample.chain, [3, 3, 5, 5])
    np.testing.assert_array_equal(sample.draw, [10, 11, 10, 11])
    long = pandas.MultiIndex.from_product([[0], [0, 1], ["p", "q"]], names=["chain", "draw", "school"])
    with pytest.raises(sk.InputError, match=r'frame\.unstack\("school"\)'):
        sk.as_sample(pandas.DataFrame({"theta": np.arange(4.0)}, index=long))


def test_diagnostics_of_stan_are_not_coordinates():
    frame = pandas.DataFrame({"chain__": [1, 2], "draw__": [1, 1], "lp__": [0.0, 1.0], "theta[1]": [2.0, 3.0]})
    sample = sk.as_sample(frame)
    assert sample.names == ("theta[1]",)
    np.testing.assert_array_equal(sample.chain, [1, 2])
    with pytest.warns(sk.ReadingWarning, match='"chain__" as chain, "draw__" as draw'):
        assert sk.as_sample(frame.drop(columns="lp__")).names == ("theta[1]",)
    assert sk.as_sample(frame, columns=["lp__", "draw__"]).names == ("lp__", "draw__")
    assert sk.as_sample(frame[["theta[1]"]].assign(mine__=1.0)).names == ("theta[1]", "mine__")


def test_a_file_of_r_as_pandas_reads_it():
    text = '"","alpha",".chain",".iteration",".draw"\n"1",0.5,1,1,1\n"2",0.7,2,1,2\n'
    frame = pandas.read_csv(io.StringIO(text))
    with pytest.warns(sk.ReadingWarning, match='"Unnamed: 0" as row names'):
        sample = sk.as_sample(frame)
    assert sample.names == ("alpha",)
    np.testing.assert_array_equal(sample.chain, [1, 2])
    np.testing.assert_array_equal(sample.draw, [1, 1])
    with pytest.raises(sk.InputError, match="column 1 has no name"):
        sk.as_sample(frame[::-1])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0, 2.0], "b": ["x", "y"]}, 'real numbers in column "b".*columns='),
        ({"a": [1.0, None]}, 'the DataFrame, row 2, column "a" is nan'),
        ({"a": pandas.array([1, None], dtype="Int64")}, 'row 2, column "a" is nan'),
        ({"a": [1.0, 2.0], "when": pandas.date_range("2020", periods=2)}, 'column "when", got datetime64'),
        ({"a": [1j, 2.0]}, 'column "a", got complex128'),
        ({"a": ["1.5", "2.5"]}, 'column "a"'),
        ({"a": [1.0, 2.0], "weight": [1.0, -1.0]}, 'row 2, column "weight" is -1'),
        ({("posterior", "mu"): [1.0]}, r"\('posterior', 'mu'\)"),
        ({"a": []}, "the DataFrame is empty"),
    ],
)
def test_errors_name_the_column(columns, message):
    with pytest.raises(sk.InputError, match=message):
        sk.as_sample(pandas.DataFrame(columns))


def test_other_columns_may_have_any_content():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "theta[1]": [3.0, 4.0], "theta[0]": [5.0, 6.0]})
    assert sk.as_sample(frame, columns=["theta", "a"]).names == ("theta[1]", "theta[0]", "a")
    with pytest.raises(sk.InputError, match=r'DataFrame has no coordinate named "thta" [(]did you mean'):
        sk.as_sample(frame, columns=["thta"])
    twice = pandas.DataFrame(np.zeros((2, 2)), columns=["a", "a"])
    with pytest.raises(sk.InputError, match='two columns are named "a"'):
        sk.as_sample(twice)


def test_weights_of_a_frame_must_be_confirmed():
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "logw": [0.0, -1.0, -np.inf]})
    with pytest.raises(sk.InputError, match=r'"logw".*weights='):
        sk.as_sample(frame, columns=["a"])
    with pytest.warns(sk.ReadingWarning, match="exponentiated"):
        sample = sk.as_sample(frame, weights="logw")
    np.testing.assert_array_equal(sample.weights, [1.0, np.exp(-1.0), 0.0])
    assert sk.as_sample(frame, columns=["a"], weights="none").weights is None
    with pytest.raises(sk.UsageError, match="ndarray"):
        sk.as_sample(np.zeros((3, 2)), weights="a")
