"""Logistic regression, against its definition, for large margins, and from CSV files."""

import numpy as np
import pytest
from scipy.differentiate import derivative

import steinkit as sk
from steinkit.targets import LogisticRegression


def direct_log_density(theta, features, responses, variance):
    """Compute the binomial log likelihood for 0/1 responses."""
    p = 1.0 / (1.0 + np.exp(-features @ theta))
    likelihood = np.where(responses == 1.0, np.log(p), np.log1p(-p)).sum()
    return likelihood - 0.5 * (theta**2).sum() / variance


def test_nodal_is_the_published_model():
    target = LogisticRegression.nodal()
    assert target.names == ("m", "aged", "stage", "grade", "xray", "acid")
    features, signs = target.data
    assert features.shape == (53, 6)
    assert (features[:, 0] == 1.0).all()
    assert sorted(set(signs)) == [-1.0, 1.0]
    points = np.random.default_rng(0).normal(size=(10, 6))
    expected = [direct_log_density(theta, features, (signs + 1) / 2, 1.0) for theta in points]
    np.testing.assert_allclose(target.log_density(points), expected, rtol=1e-12)


def test_gradient_against_finite_differences_of_the_definition():
    target = LogisticRegression.nodal()
    features, signs = target.data
    theta = np.array([-1.6, -0.6, 0.8, 0.5, 1.1, 0.8])
    for j in range(6):

        def along(t, j=j):
            moved = np.tile(theta, (t.size, 1))
            moved[:, j] += t.ravel()
            values = [direct_log_density(row, features, (signs + 1) / 2, 1.0) for row in moved]
            return np.reshape(values, t.shape)

        slope = derivative(along, 0.0, initial_step=0.1).df
        assert target.score([theta])[0, j] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_codings_of_the_responses_agree():
    features = np.random.default_rng(1).normal(size=(8, 2))
    zero_one = np.array([0, 1, 1, 0, 1, 0, 0, 1])
    points = [[0.5, -1.0]]
    expected = LogisticRegression(features, zero_one).score(points)
    for responses in (2 * zero_one - 1, zero_one.astype(bool), zero_one.astype(float)):
        np.testing.assert_array_equal(LogisticRegression(features, responses).score(points), expected)


def test_large_margins_are_exact():
    target = LogisticRegression([[1e4], [1e4]], [0, 1], prior_variance=np.inf)
    np.testing.assert_allclose(target.log_density([[1.0]]), [-1e4], rtol=1e-14)
    np.testing.assert_allclose(target.score([[1.0]]), [[-1e4]], rtol=1e-14)
    np.testing.assert_allclose(target.score([[-1.0]]), [[1e4]], rtol=1e-14)


def test_prior_variances():
    features, responses = [[0.0, 0.0], [0.0, 0.0]], [0, 1]
    np.testing.assert_allclose(
        LogisticRegression(features, responses, [2.0, np.inf]).score([[1.0, 1.0]]), [[-0.5, 0.0]]
    )


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_from_csv_reads_named_columns(tmp_path):
    path = write(tmp_path / "d.csv", "\ufeffdose,sick,age\n1.5,1,30\n0,0,41\n2,1,50\n")
    target = LogisticRegression.from_csv(path, "sick", intercept=True, prior_variance=4.0)
    assert target.names == ("intercept", "dose", "age")
    np.testing.assert_array_equal(target.data[0], [[1.0, 1.5, 30.0], [1.0, 0.0, 41.0], [1.0, 2.0, 50.0]])
    np.testing.assert_array_equal(target.data[1], [1.0, -1.0, 1.0])
    assert LogisticRegression.from_csv(path, "sick").names == ("dose", "age")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("x,r\n1,0\ntwo,1\n", sk.InputError, r'd\.csv, line 3, column "x".*"two"'),
        ("x,r\n1,0\n2,2\n3,1\n", sk.InputError, r"column 'r': .*responses.*0, 1, 2"),
        ("x,r\n1,1\n2,1\n", sk.InputError, "two values"),
        ("x,rr\n1,1\n2,0\n", sk.UsageError, r"""no column 'r' [(]did you mean "rr"\?"""),
        ("r\n1\n0\n", sk.InputError, "response 'r'"),
    ],
)
def test_invalid_csv_files_are_rejected(tmp_path, text, error, message):
    path = write(tmp_path / "d.csv", text)
    with pytest.raises(error, match=message):
        LogisticRegression.from_csv(path, "r")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], [0, 1]), "features"),
        (([[1.0], [2.0]], [0, 1, 1]), "responses"),
        (([[1.0], [2.0]], [[0], [1]]), "responses"),
        (([[1.0], [2.0]], [1, 2]), "responses.*1, 2"),
        (([[1.0], [2.0]], [0, 1], -1.0), "prior_variance.*-1.0"),
        (([[1.0], [2.0]], [0, 1], [1.0, 2.0]), "prior_variance"),
        (([[1.0], [2.0]], [0, 1], 1.0, ["a", "b"]), "1 names, got 2"),
        (([[1.0], [np.inf]], [0, 1]), "features.*inf"),
    ],
)
def test_bad_parameters_are_rejected(arguments, message):
    with pytest.raises(sk.UsageError, match=message):
        LogisticRegression(*arguments)
