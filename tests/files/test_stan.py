import numpy as np
import pytest

from steinkit.containers.columns import Selection
from steinkit.errors import InputError, ReadingWarning
from steinkit.files import is_stan
from steinkit.files.stan import read_stan
from steinkit.sample import Sample

HEADER = "lp__,accept_stat__,stepsize__,mu,theta.1,theta.2,Sigma.1.2,pair:1.2,weight"
SETTINGS = "# stan_version_major = 2\n# stan_version_minor = 35\n# model = eight_model\n"
ADAPTATION = "# Adaptation terminated\n# Step size = 0.8\n# Diagonal elements of inverse mass matrix:\n# 1, 1\n"
ELAPSED = "# \n#  Elapsed Time: 0.01 seconds (Warm-up)\n#                0.02 seconds (Sampling)\n# \n"


def rows(first: int, last: int) -> str:
    """Return rows with mu = first, first + 1, ..."""
    return "".join(f"-7.5,0.9,0.8,{k},{k}.1,{k}.2,{k}.3,{k}.4,{k}.5\n" for k in range(first, last))


def stan_csv(warm: str = "", draws: str | None = None, settings: str = "", header: str = HEADER) -> bytes:
    draws = rows(0, 4) if draws is None else draws
    return f"{SETTINGS}{settings}{header}\n{warm}{ADAPTATION}{draws}{ELAPSED}".encode()


def read(data: bytes, columns: list[str] | None = None) -> Sample:
    return read_stan(data, "fit.csv", Selection(columns))


def counted(sample: Sample) -> list[float]:
    column: list[float] = sample.points[:, 0].tolist()
    return column


def test_parameters_are_read_under_their_readable_names() -> None:
    sample = read(stan_csv())
    assert sample.names == ("mu", "theta[1]", "theta[2]", "Sigma[1,2]", "pair.1[2]", "weight")
    assert sample.points.shape == (4, 6)
    assert sample.points[3].tolist() == [3, 3.1, 3.2, 3.3, 3.4, 3.5]
    assert sample.weights is None  # a Stan parameter may have the name "weight"


def test_a_single_draw_and_a_single_parameter() -> None:
    assert read(stan_csv(draws=rows(5, 6))).points.shape == (1, 6)
    one = f"{SETTINGS}mu\n1\n2\n3\n".encode()
    assert counted(read(one)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "warm"),
    [
        ("#     num_warmup = 3\n#     save_warmup = 1\n#     thin = 1 (Default)\n", 3),
        ("#     num_warmup = 3\n#     save_warmup = true\n", 3),
        ("#     num_warmup = 5\n#     save_warmup = true\n#     thin = 2\n", 3),  # iterations 0, 2 and 4
        ("#     num_warmup = 3\n#     save_warmup = 0 (Default)\n", 0),
        ("#     num_warmup = 3\n#     save_warmup = false (Default)\n", 0),
        ("#     num_warmup = 3\n#     save_warmup = 1\n#     algorithm = fixed_param\n", 0),
        ("# warmup=3\n# save_warmup=1\n# thin=1\n", 3),  # format of RStan
    ],
)
def test_warm_up_is_skipped(settings: str, warm: int) -> None:
    sample = read(stan_csv(warm=rows(-warm, 0), settings=settings))
    assert counted(sample) == [0, 1, 2, 3]


def test_the_mean_of_variational_inference_is_skipped() -> None:
    sample = read(stan_csv(warm=rows(9, 10), settings="# method = variational\n"))
    assert counted(sample) == [0, 1, 2, 3]


def test_columns() -> None:
    assert read(stan_csv(), ["theta[2]", "mu"]).points[1].tolist() == [1.2, 1]
    with pytest.raises(InputError, match=r'fit\.csv has no coordinate named "theta\.1" [(]did you mean "theta\[1\]"'):
        read(stan_csv(), ["theta.1"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (stan_csv(draws=""), "no draws"),
        (SETTINGS.encode(), "empty"),
        (stan_csv(draws=rows(0, 2) + "-7,0.9,0.8,1,2"), "line 11: expected 9 .* got 5"),
        (stan_csv(draws=rows(0, 1) + rows(1, 2).replace("1.2", "oops")), r'line 10, column "theta\[2\]".*"oops"'),
        (stan_csv(draws=rows(0, 1).replace("0.1", "nan")), r'line 9, column "theta\[1\]" is nan'),
        (stan_csv(draws=rows(0, 3), header=HEADER + ",more"), "line 9: expected 10 .* got 9"),
        (stan_csv(settings="# num_warmup = 9\n# save_warmup = 1\n"), "after row 9 .* got 4"),
        (stan_csv(draws=rows(0, 1), settings="# num_warmup = 1\n# save_warmup = 1\n"), "after row 1 .* got 1"),
        (stan_csv(settings="# method = optimize\n"), "method=sample"),
        *(
            (stan_csv(settings=f"# save_warmup = 1\n# {setting} = {value}\n"), f"got .*{value[:40]}")
            for setting, value in (
                ("num_warmup", "-3"),
                ("num_warmup", "1e3"),
                ("num_warmup", "9" * 5000),
                ("thin", "0"),
            )
        ),
        (stan_csv(header=HEADER.replace("theta.2", "theta.1")), r'"theta\[1\]"'),
        (f"{SETTINGS}lp__,divergent__\n1,2\n".encode(), '"lp__"'),
    ],
)
def test_errors_name_the_place(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=rf"fit\.csv.*{words}"):
        read(data)


def test_weights_are_used_only_if_named() -> None:
    assert read_stan(stan_csv(), "fit.csv", Selection(weights="none")).weights is None
    sample = read_stan(stan_csv(), "fit.csv", Selection(weights="weight"))
    assert sample.weights.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert "weight" not in sample.names


def test_log_weights_are_exponentiated() -> None:
    data = stan_csv(header=HEADER.replace("weight", "logw"))
    with pytest.warns(ReadingWarning, match="exponentiated"):
        sample = read_stan(data, "fit.csv", Selection(weights="logw"))
    np.testing.assert_allclose(sample.weights, np.exp([-3.0, -2.0, -1.0, 0.0]))
    with pytest.raises(InputError, match='no column "theta" with weights'):
        read_stan(data, "fit.csv", Selection(weights="theta"))


def test_lines_are_counted_past_the_warm_up() -> None:
    data = stan_csv(
        warm=rows(-2, 0),
        draws=rows(0, 2) + rows(2, 3).replace("2.1", "inf"),
        settings="# num_warmup = 2\n# save_warmup = 1\n",
    )
    line = 1 + data.decode().splitlines().index("-7.5,0.9,0.8,2,inf,2.2,2.3,2.4,2.5")
    with pytest.raises(InputError, match=rf'line {line}, column "theta\[1\]" is inf'):
        read(data)


def test_a_nan_in_a_diagnostic_or_in_the_warm_up_does_no_harm() -> None:
    settings = "# num_warmup = 1\n# save_warmup = 1\n"
    data = stan_csv(warm=rows(-1, 0).replace("-1.1", "nan"), draws="-nan,nan,inf" + rows(0, 1)[12:], settings=settings)
    assert counted(read(data)) == [0]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (stan_csv(), True),
        (b"\xef\xbb\xbf" + stan_csv(), True),
        (stan_csv().replace(b"\n", b"\r\n"), True),
        (b"# Samples Generated by Stan\nlp__\n1\n", True),
        (b"a,b\n1,2\n# stan_version_major = 2\n", False),
        (b"# a comment\na,b\n1,2\n", False),
        (b"", False),
    ],
)
def test_stan_is_recognized_by_its_leading_comments(data: bytes, expected: bool) -> None:
    assert is_stan(data) is expected


def test_weights_in_a_diagnostic_file_are_used() -> None:
    text = b"lp__,accept_stat__,x,p_x,g_x\n-1,1,0.5,2.0,-0.5\n-2,1,1.5,3.0,-1.5\n"
    assert read_stan(text, "d.csv", Selection(weights="p_x")).weights.tolist() == [2.0, 3.0]
    with pytest.raises(InputError):
        read_stan(text, "d.csv", Selection(weights="x"))
