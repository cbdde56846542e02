"""The wheel contains exactly the package, and works in another folder without the repository."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def source_copy(folder, link):
    """Return a copy of the repository, with steinkit/samplers in one of the forms that a checkout can have.

    Git creates a symbolic link if the system supports it, and otherwise a file with the text of the link. An archive
    may omit it.
    """
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("steinkit", "samplers", "tests", "examples"):
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        (source / name / "__pycache__").mkdir()  # a small cache folder, which no distribution may contain
        (source / name / "__pycache__" / "module.cpython-311.pyc").touch()
    place = source / "steinkit" / "samplers"
    place.unlink(missing_ok=True)
    if link == "symlink":
        place.symlink_to("../samplers")
    elif link == "text":
        place.write_text("../samplers")
    return source


def built(source, distribution):
    """Build the wheel or the sdist with setuptools, without starting pip."""
    code = f"from setuptools.build_meta import build_{distribution}; print(build_{distribution}('..'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True, text=True)
    return source.parent / done.stdout.splitlines()[-1]


def packaged(wheel):
    return sorted(name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(source_copy(tmp_path_factory.mktemp("wheel"), "symlink"), "wheel")


def python_files(folder, package):
    return {f"{package}/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*.py")}


@pytest.mark.slow
def test_the_wheel_contains_only_the_package(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = python_files(ROOT / "steinkit", "steinkit") | python_files(ROOT / "samplers", "steinkit/samplers")
    data = {
        "steinkit/py.typed",
        "steinkit/__init__.pyi",
        "steinkit/plots/__init__.pyi",
        "steinkit/report/columns.toml",
        "steinkit/report/style.css",
        "steinkit/report/templates/notebook.html",
        "steinkit/report/templates/page.html",
        "steinkit/targets/__init__.pyi",
        "steinkit/samplers/__init__.pyi",
        "steinkit/datasets/nodal.csv",
        "steinkit/datasets/gmm100.csv",
        "steinkit/datasets/README.md",
    }
    assert packaged(wheel) == sorted(expected | data)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_samplers_are_seen_inside_the_package():
    """Editors and type checkers find steinkit.samplers in the package; git stores the link."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    command = ["git", "-C", str(ROOT), "ls-files", "--stage", "steinkit/samplers"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("120000 ")
    content = ["git", "-C", str(ROOT), "show", ":steinkit/samplers"]
    assert subprocess.run(content, capture_output=True, text=True, check=True).stdout == "../samplers"


@pytest.mark.slow
@pytest.mark.parametrize("link", ["text", "missing"])
def test_the_wheel_is_the_same_without_symbolic_links(wheel, tmp_path, link):
    assert packaged(built(source_copy(tmp_path, link), "wheel")) == packaged(wheel)


@pytest.mark.slow
def test_the_source_distribution_contains_every_file_once(tmp_path):
    with tarfile.open(built(source_copy(tmp_path, "symlink"), "sdist")) as archive:
        files = [member.name.partition("/")[2] for member in archive.getmembers() if not member.isdir()]
    assert "samplers/chains/draws.py" in files
    assert {"tests/support/warming.py", "tests/cli/test_score.py", "examples/data/metropolis.csv"} <= set(files)
    assert not [name for name in files if "__pycache__" in name]
    assert not [name for name in files if name.startswith("steinkit/samplers")]
    assert len(files) == len(set(files))
