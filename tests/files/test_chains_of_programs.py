"""Chain files of other programs.

The files in ``tests/data/chains`` were written by GetDist 1.7.7, Cobaya 3.6.2, dynesty 3.1.0 and UltraNest 4.6.3. Each
run has two parameters with a normal likelihood and few draws, so the files are small. The other tables follow the
layout that the documentation of each program describes.
"""

import io
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import InputError, ReadingWarning
from steinkit.files import read_sample

DATA = Path(__file__).parents[1] / "data" / "chains"
ROWS = np.array([[2.0, 1.5, 0.25, -1.5], [1.0, 0.5, -0.75, 3.0], [3.0, 2.5, 1.25, 0.5]])  # weight, -log L, a, b


def text(rows: Any, separator: str = " ") -> str:
    return "".join(separator.join(map(repr, row)) + "\n" for row in np.asarray(rows).tolist())


def read(*sources: Any, said: str, **options: Any) -> sk.Sample:
    """Read files; the warning must contain a given text."""
    with pytest.warns(ReadingWarning, match=said):
        return read_sample(list(sources), **options)


@pytest.mark.parametrize("source", ["run", "run_*.txt"])
def test_getdist_chains_are_named_by_their_root(source: str) -> None:
    sample = read(DATA / "getdist" / source, said='"weight" as weights, "-log L" ignored')
    stored = [np.loadtxt(DATA / "getdist" / f"run_{k}.txt") for k in (1, 2)]
    np.testing.assert_array_equal(sample.points, np.vstack(stored)[:, 2:])
    np.testing.assert_array_equal(sample.weights, np.hstack([each[:, 0] for each in stored]))
    np.testing.assert_array_equal(sample.chain, np.repeat([0, 1], 12))
    assert sample.names == ("a", "b")


@pytest.mark.parametrize(
    ("chain", "names"),
    [
        ("mcmc_1.txt", "mcmc.paramnames"),  # CosmoMC
        ("2019-01-24_100__1.txt", "2019-01-24_100_.paramnames"),  # MontePython
        ("nested.txt", "nested.paramnames"),  # PolyChord
        ("nested_equal_weights.txt", "nested.paramnames"),
        ("1-.txt", "1-params.json"),  # PyMultiNest
    ],
)
def test_names_are_read_from_another_file(chain: str, names: str, tmp_path: Path) -> None:
    given = ["omega*", "H0"]
    content = json.dumps(given) if names.endswith("json") else "omega*\t\\Omega_m\nH0\tH_0\n"
    (tmp_path / names).write_text(content)
    (tmp_path / chain).write_text(text(ROWS[:1]) + "# After 1 accepted steps: update proposal\n" + text(ROWS[1:]))
    sample = read(tmp_path / chain, said='"weight" as weights, "-log L", "omega" ignored')
    assert sample.names == ("H0",)
    np.testing.assert_array_equal(sample.points[:, 0], ROWS[:, 3])
    np.testing.assert_array_equal(sample.weights, ROWS[:, 0])
    both = read(tmp_path / chain, said="weights", columns=["H0", "omega"])
    np.testing.assert_array_equal(both.points, ROWS[:, [3, 2]])


def test_more_names_than_columns_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "run.paramnames").write_text("a\nb\nc\n")
    (tmp_path / "run_1.txt").write_text(text(ROWS))
    with pytest.raises(InputError, match=r"run_1\.txt: expected 2 parameter names .*\.paramnames.*got 3"):
        read_sample(tmp_path / "run_1.txt")


def test_cobaya_states_which_columns_are_derived() -> None:
    stored = np.loadtxt(DATA / "cobaya" / "run.1.txt")
    sample = read(DATA / "cobaya" / "run", said='"weight" as weights, "s", "minuslogpost", .*"chi2__g" ignored')
    assert sample.names == ("a_0", "a_1")
    np.testing.assert_array_equal(sample.points, stored[:, 2:4])
    np.testing.assert_array_equal(sample.weights, stored[:, 0])


def test_tables_without_names(tmp_path: Path) -> None:
    file = tmp_path / "draws.txt"
    file.write_text(text(ROWS))
    with pytest.raises(InputError, match=r"first column may contain weights.*--weights.*x1 .*none"):
        read_sample(file)
    assert read(file, said='"x1", "x2", "x3", "x4"', weights="none").names == ("x1", "x2", "x3", "x4")
    sample = read(file, said="have no names", weights="x1", columns=["x3", "x4"])
    np.testing.assert_array_equal(sample.points, ROWS[:, 2:])
    np.testing.assert_array_equal(sample.weights, ROWS[:, 0])
    file.write_text(text(ROWS[:, 2:]))
    np.testing.assert_array_equal(read(file, said="have no names").points, ROWS[:, 2:])


@pytest.mark.parametrize(
    "header", ["a b", "# a b", "  #   a\tb", "# sampled by hand, twice over\n# a b\n# seed = 1 2 3"]
)
@pytest.mark.parametrize("separator", [" ", "   ", " \t "])
def test_blanks_separate_cells(header: str, separator: str) -> None:
    rows = "\n".join(f"  {separator.join(map(str, row))}  " for row in ROWS[:, 2:])
    sample = read_sample(io.StringIO(f"{header}\n{rows}\n# nsample=3\n"))
    assert sample.names == ("a", "b")
    np.testing.assert_array_equal(sample.points, ROWS[:, 2:])


def nested(likelihood: np.ndarray, shrinkage: np.ndarray) -> np.ndarray:
    """Return weights with sum 1 for volumes that shrink by given factors, as in the definition."""
    volumes = np.concatenate([[1.0], np.cumprod(shrinkage)])
    weights = np.exp(likelihood - likelihood.max()) * -np.diff(volumes)
    return weights / weights.sum()


def test_dynesty_weights_follow_from_log_volumes(tmp_path: Path) -> None:
    stored = np.genfromtxt(DATA / "dynesty.csv", delimiter=",", names=True)
    sample = read(DATA / "dynesty.csv", said='nested sampling: "logwt" as log weights, exponentiated')
    assert sample.names == ("a", "b")
    weights = np.exp(stored["logwt"] - stored["logwt"].max())
    np.testing.assert_allclose(sample.weights, weights, rtol=1e-12)
    lines = [line.rsplit(",", 1)[0] for line in (DATA / "dynesty.csv").read_text().splitlines()]
    other = "\n".join(["p,q,lnlike,log_X", *lines[1:]]) + "\n"
    computed = read(io.StringIO(other), said='"lnlike" as log likelihood, "log_X" as log volume')
    assert computed.names == ("p", "q")
    # dynesty uses the trapezoidal rule
    assert abs(computed.probabilities - sample.probabilities).sum() < 0.05
    np.testing.assert_allclose(computed.probabilities, nested(stored["logl"], shrunk(stored["logvol"])), rtol=1e-9)
    assert read_sample(io.StringIO(other), weights="none").weights is None


def shrunk(logs: np.ndarray) -> np.ndarray:
    return np.exp(np.diff(logs, prepend=0.0))


def test_ultranest_weights_follow_from_births() -> None:
    stored = np.loadtxt(DATA / "ultranest" / "chains" / "weighted_post.txt", skiprows=1)
    weighted = read(
        DATA / "ultranest" / "chains" / "weighted_post.txt", said='UltraNest draws: "weight" .*"logl" ignored'
    )
    np.testing.assert_array_equal(weighted.points, stored[:, 2:])
    np.testing.assert_array_equal(weighted.weights, stored[:, 0])
    points = read(DATA / "ultranest" / "results" / "points.hdf5", said="stored UltraNest points")
    assert points.names == weighted.names == ("a", "b")
    np.testing.assert_allclose(points.points, weighted.points, rtol=1e-6)
    np.testing.assert_allclose(points.probabilities, weighted.probabilities, atol=2e-3)


@pytest.mark.parametrize("program", ["PolyChord", "MultiNest"])
def test_dead_points_are_read_with_the_live_points(program: str, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(DATA / "ultranest" / "results" / "points.hdf5") as file:
        rows = file["points"][:]
    expected = read(DATA / "ultranest" / "results" / "points.hdf5", said="points").probabilities
    rows = rows[np.argsort(rows[:, 1])][:, [5, 6, 1, 0]]
    dead, live = rows[:-20], rows[-20:]
    if program == "MultiNest":  # adds the log volume and the node
        dead = np.column_stack([dead, np.zeros(len(dead)), np.ones(len(dead))])
        live = np.column_stack([live, np.ones(len(live))])
    (tmp_path / "run.paramnames").write_text("a a\nb b\n")
    (tmp_path / "run_dead-birth.txt").write_text(text(dead))
    with pytest.raises(InputError, match=r"copy the file of live points, run_phys_live-birth\.txt"):
        read_sample(tmp_path / "run_dead-birth.txt")
    (tmp_path / "run_phys_live-birth.txt").write_text(text(live))
    sample = read(tmp_path / "run_dead-birth.txt", said='"logL_birth" as log likelihood at birth')
    np.testing.assert_array_equal(sample.points, rows[:, :2])
    np.testing.assert_allclose(sample.probabilities, expected, rtol=1e-9)


def test_live_points_determine_the_weights() -> None:
    sample = read(io.StringIO("x,logL,nlive\n1,-3,2\n2,-1,2\n3,-2,1\n"), said='"nlive" as live points')
    np.testing.assert_array_equal(sample.points[:, 0], [1, 3, 2])  # sorted by likelihood
    expected = nested(np.array([-3.0, -2.0, -1.0]), np.exp([-1 / 2, -1.0, -1 / 2]))
    np.testing.assert_allclose(sample.probabilities, expected, rtol=1e-12)
    with pytest.raises(InputError, match=r"line 3, column \"x\""):
        read_sample(io.StringIO("x,logL,nlive\n1,-1,2\nnan,-2,2\n"))


def test_nested_weights_of_several_files_are_refused(tmp_path: Path) -> None:
    for k in (1, 2):
        (tmp_path / f"run-{k}.csv").write_text("x,logL,nlive\n1,-3,2\n2,-1,2\n")
    with pytest.raises(InputError, match=r"run-1\.csv: .*scaled separately"):
        read_sample(str(tmp_path / "run-*.csv"))


def test_anesthetic_has_three_headers() -> None:
    labels = "labels,,$a$,$b$,$L$,$L_b$,$n$\n,weights,,,,,\n"
    rows = "0,0.5,1,2,-3,,2\n1,0.25,3,4,-1,-3,2\n"
    for table in (f",,a,b,logL,logL_birth,nlive\n{labels}{rows}", f",weights,a,b,logL,logL_birth,nlive\n{rows}"):
        sample = read(io.StringIO(table), said='"weights" as weights, "logL", "logL_birth", "nlive" ignored')
        assert sample.names == ("a", "b")
        np.testing.assert_array_equal(sample.points, [[1, 2], [3, 4]])
        np.testing.assert_array_equal(sample.weights, [0.5, 0.25])


def test_frames_of_anesthetic_have_weights_in_the_index() -> None:
    pandas = pytest.importorskip("pandas")
    values = np.arange(12.0).reshape(3, 4)
    index = pandas.MultiIndex.from_arrays([range(3), [0.5, 0.25, 1.0]], names=[None, "weights"])
    names = ["a", "h", "logL", "nlive"]
    columns = pandas.MultiIndex.from_arrays([names, [f"${name}$" for name in names]], names=[None, "labels"])
    for frame in (pandas.DataFrame(values, index, columns), pandas.DataFrame(values, index, names)):
        with pytest.warns(ReadingWarning, match='"weights" as weights'):
            sample = sk.as_sample(frame)
        assert sample.names == ("a", "h")
        np.testing.assert_array_equal(sample.points, values[:, :2])
        np.testing.assert_array_equal(sample.weights, [0.5, 0.25, 1.0])
    with pytest.raises(InputError, match='"weights" may contain the weights'):
        sk.as_sample(pandas.DataFrame(values[:, :2], index, ["a", "b"]))


@pytest.mark.parametrize(
    ("index", "chains"),
    [
        ("CODAindex.txt", "CODAchain{}.txt"),  # JAGS and OpenBUGS
        ("codaIndex.txt", "coda{}.txt"),  # R2OpenBUGS
        ("line.ind", "line{}.out"),  # coda
    ],
)
def test_coda_chains_are_read_with_their_index(index: str, chains: str, tmp_path: Path) -> None:
    (tmp_path / index).write_text("alpha 1 3\nbeta[1] 4 6\n")
    for k in (1, 2):
        rows = [[each, k + each / 8] for each in (11, 12, 13)] + [[each, -k - each / 8] for each in (11, 12, 13)]
        (tmp_path / chains.format(k)).write_text("".join(f"{row[0]}  {row[1]}\n" for row in rows))
    for source in ([tmp_path / index], [tmp_path / chains.format(k) for k in (1, 2)]):
        sample = read_sample(source)
        assert sample.names == ("alpha", "beta[1]")
        expected = [[k + each / 8, -k - each / 8] for k in (1, 2) for each in (11, 12, 13)]
        np.testing.assert_array_equal(sample.points, expected)
        np.testing.assert_array_equal(sample.chain, [0, 0, 0, 1, 1, 1])
        np.testing.assert_array_equal(sample.draw, [11, 12, 13] * 2)
    (tmp_path / index).write_text("alpha 1 2\nbeta[1] 3 6\n")
    with pytest.raises(InputError, match="same iterations"):
        read_sample(tmp_path / chains.format(1))
    (tmp_path / index).write_text("alpha 1\n")
    with pytest.raises(InputError, match=rf"{re.escape(index)}: .*'alpha 1'"):
        read_sample(tmp_path / chains.format(1))


def test_emcee_backends(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    chain = np.random.default_rng(1).normal(size=(5, 4, 2))  # steps, walkers, d
    with h5py.File(tmp_path / "run.h5", "w") as file:
        for name in ("mcmc", "second"):
            group = file.create_group(name)
            group.attrs.update(version="3.1.6", nwalkers=4, ndim=2, has_blobs=False, iteration=4)
            group.create_dataset("chain", data=chain)
    for group in (None, "third"):
        with pytest.raises(InputError, match='emcee chains in the groups "mcmc", "second"; select one with group='):
            read_sample(tmp_path / "run.h5", group=group)
    sample = read(tmp_path / "run.h5", said="emcee chains: 4 walkers with 4 steps", group="mcmc", columns=["x2"])
    np.testing.assert_array_equal(sample.points[:, 0], chain[:4, :, 1].T.ravel())
    np.testing.assert_array_equal(sample.chain, np.repeat(range(4), 4))


@pytest.mark.parametrize(
    ("header", "said", "names", "extra"),
    [
        (
            "iteration,chain,mu,lp,n_steps,hamiltonian_energy,numerical_error",
            'MCMCChains.jl chains: .*"lp", "n_steps" ignored',
            ("mu",),
            {"draw": [0, 7], "chain": [1, 8], "energy": [5, 12], "divergent": [False, True]},
        ),
        (
            "b_Intercept,lprior,lp__,.chain,.iteration,.draw",
            "brms",
            ("b_Intercept",),
            {"chain": [3, 9], "draw": [4, 10]},
        ),
        ("iter,chain,mu,logprior,logjoint", "FlexiChains.jl", ("mu",), {"draw": [0, 5], "chain": [1, 6]}),
        ("CHAIN,ITER,mu", "coda", ("mu",), {"chain": [0, 3], "draw": [1, 4]}),
        ("LP,LL,LPr,mu", "BayesianTools", ("mu",), {}),
        ("a--b\tprior\tpost\tlog_weight", "CosmoSIS", ("a--b",), {"weights": [np.exp(-4.0), 1.0]}),
        ("a,weight,minuslogpost,chi2", "Cobaya", ("a",), {"weights": [1, 5]}),
        ("log_likelihood log_prior mass", "bilby", ("mass",), {}),
    ],
)
def test_columns_of_programs_are_no_parameters(header: str, said: str, names: Any, extra: Any) -> None:
    mark = next((each for each in ",\t" if each in header), " ")
    width = len(header.split(mark))
    rows = np.arange(2 * width).reshape(2, width)
    rows[:, -1] -= (rows[:, -1] - [0, 1]) * header.endswith("numerical_error")
    table = f"{header}\n{text(rows, mark)}"
    sample = read(io.StringIO(table), said=said)
    assert sample.names == names
    for field, values in extra.items():
        np.testing.assert_allclose(getattr(sample, field), values, err_msg=field)
    given = [name for name in header.split(mark) if name != "chain"]
    assert read_sample(io.StringIO(table), columns=given[1:], weights="none").names == tuple(given[1:])


def test_a_zip_file_contains_one_table(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "draws.zip", "w") as archive:
        archive.writestr("folder/draws.csv", "a,b\n1,2\n3,4\n")
    assert read_sample(tmp_path / "draws.zip").points.tolist() == [[1, 2], [3, 4]]
    with zipfile.ZipFile(tmp_path / "draws.zip", "a") as archive:
        archive.writestr("more.csv", "a,b\n1,2\n3,4\n")
    with pytest.raises(InputError, match=r'draws\.zip contains "folder/draws\.csv", "more\.csv"'):
        read_sample(tmp_path / "draws.zip")


def test_npz_files_with_one_array_per_parameter(tmp_path: Path) -> None:
    np.savez(tmp_path / "draws.npz", tau=[1.0, 2.0, 3.0], beta=np.arange(6.0).reshape(3, 2))
    sample = read_sample(tmp_path / "draws.npz")
    assert sample.names == ("beta[0]", "beta[1]", "tau")
    assert sample.points.tolist() == [[0, 1, 1], [2, 3, 2], [4, 5, 3]]
    np.savez(tmp_path / "draws.npz", np.arange(6.0).reshape(3, 2))
    assert read_sample(tmp_path / "draws.npz").names == ("x1", "x2")


def test_arrays_of_objects_that_are_numbers() -> None:
    array = np.array([[1.0, 2], [np.float32(0.5), 4.0]], dtype=object)
    assert sk.as_sample(array).points.tolist() == [[1, 2], [0.5, 4]]
    pandas = pytest.importorskip("pandas")
    assert sk.as_sample(pandas.DataFrame(array, columns=["a", "b"])).points.tolist() == [[1, 2], [0.5, 4]]
    for wrong in ("1.0", None, 1j):
        array[0, 0] = wrong
        with pytest.raises(InputError, match="real numbers"):
            sk.as_sample(array)


def test_the_target_selects_and_orders_columns_by_name(steinkit: Any, folder: Path) -> None:
    shutil.copytree(DATA / "cobaya", folder / "cobaya")
    (folder / "model.py").write_text(
        "import steinkit as sk\ntarget = sk.Target(lambda x: -(x - [-1.0, 0.5]), names=['a_1', 'a_0'])\n"
        "other = sk.Target(lambda x: -x - 1, names=['a_1'])\n"
    )
    target = sk.Target(lambda x: -(x - [-1.0, 0.5]), names=["a_1", "a_0"])
    sample = read("cobaya/run", said="Cobaya").select(["a_1", "a_0"])
    expected = sk.graph_stein_discrepancy(sample, target, units="own").value
    arguments = ("score", "cobaya/run.1.txt", "--measure", "graph", "--json", "--bounds", "a_1=-9,9", "--no-verdict")
    outcome = steinkit(*arguments[:-3], "--target", "model.py:target", "--no-verdict")
    assert outcome.document["reading"]["names"] == ["a_1", "a_0"]
    assert outcome.document["results"][0]["value"] == pytest.approx(expected, rel=1e-6)
    outcome = steinkit(*arguments, "--target", "model.py:other")
    assert outcome.document["reading"]["names"] == ["a_1"]
    assert any('"a_0" are not parameters' in note for note in outcome.document["warnings"])
