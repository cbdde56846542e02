"""The wheel holds what it should and nothing else, and works from another folder without the repository."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    # built from a copy, so that the repository stays as it is
    for name in ("pyproject.toml", "README.md", "LICENSE", "steinkit", "samplers", "tests", "examples"):
        subprocess.run(["cp", "-r", str(ROOT / name), str(source / name)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True)
    return next(folder.glob("steinkit-*.whl"))


def python_files(folder, package):
    return {f"{package}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.py")}


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    packaged = {name for name in names if ".dist-info/" not in name}
    expected = python_files(ROOT / "steinkit", "steinkit") | python_files(ROOT / "samplers", "steinkit/samplers")
    data = {
        "steinkit/py.typed",
        "steinkit/__init__.pyi",
        "steinkit/plots/__init__.pyi",
        "steinkit/report/style.css",
        "steinkit/targets/__init__.pyi",
        "steinkit/samplers/__init__.pyi",
        "steinkit/datasets/nodal.csv",
        "steinkit/datasets/gmm100.csv",
        "steinkit/datasets/README.md",
    }
    assert packaged == expected | data
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_wheel_imports_from_another_folder_in_a_fresh_environment(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", str(wheel)], check=True)
    # the dependencies come from this environment; the wheel's own folder stands before it
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    code = (
        "import steinkit as sk, steinkit.samplers, numpy as np;"
        "print(sk.__file__); print(steinkit.samplers.Draws.__module__);"
        "x = np.random.default_rng(0).standard_normal((20, 2));"
        "print(sk.graph_stein_discrepancy(x, sk.targets.Normal(0.0, dim=2)).gap < 1e-6)"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    location, module, certified = done.stdout.split()
    assert Path(location).is_relative_to(tmp_path / "venv")
    assert module == "steinkit.samplers.draws"
    assert certified == "True"
    command = tmp_path / "venv" / "bin" / "steinkit"
    listing = subprocess.run([command, "targets"], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "mixture-posterior" in listing.stdout
