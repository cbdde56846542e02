"""Shared fixtures: the command line run in this process, and small samples in files."""

import gc
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from support.warming import fill_cache
from threadpoolctl import threadpool_limits

from steinkit.cli import main

# Examples have no deadline, because the machine may be busy. They are the same in every run, which makes failures
# reproducible; --hypothesis-profile=search draws others.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("the same again", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("the same again")


def pytest_configure() -> None:
    """Limit linear algebra to one thread, here and in processes that tests start.

    There are as many workers as processors, and products in tests are too small for a second thread.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for libraries that are not loaded yet
    threadpool_limits(1, user_api="blas")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise, hundreds of processes would compile the sources again
    sys.dont_write_bytecode = False  # and every worker would rewrite the assertions of all files


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the common kernels before workers run the complete suite."""
    config = session.config
    whole = config.args_source is not config.ArgsSource.ARGS and not config.getoption("keyword")
    if whole and config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        fill_cache()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Exclude the collected tests from garbage collection.

    They exist until the end, so scanning them repeatedly is useless. Later collections are less frequent than usual.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


class FromTheEnd(pytest.Dir):
    """A folder with tests that are collected in reverse order.

    Every worker collects all files, and pytest rewrites the assertions of a file for the first worker, which is most of
    the work. Two workers that begin at opposite ends each rewrite half of the files.
    """

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        return list(super().collect())[::-1]


def _are_folders(config: pytest.Config) -> bool:
    return all(Path(each).is_dir() for each in config.args)


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Reverse the order of collection in every second worker."""
    worker = getattr(parent.config, "workerinput", {"workerid": "gw0"})["workerid"]
    if worker[-1] in "02468" or (path / "__init__.py").exists() or not _are_folders(parent.config):
        return None
    found: pytest.Collector = FromTheEnd.from_parent(parent, path=path)
    return found


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests into the order that all workers must share."""
    if _are_folders(config):
        items.sort(key=lambda item: item.path.parts)


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def steinkit(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run the command line in this process: ``steinkit("score", "draws.csv", stdin=b"")``.

    Exceptions other than SystemExit fail the test.
    """

    def run(*arguments: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr("sys.argv", ["steinkit", *arguments])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, out, err)

    return run


@pytest.fixture
def draws() -> np.ndarray:
    """Return 200 draws from a standard normal distribution in two dimensions."""
    return np.random.default_rng(0).standard_normal((200, 2))


@pytest.fixture
def write_csv(folder: Path) -> Callable[..., str]:
    """Write a header and rows, and return the name of the file."""

    def write(header: str, rows: Any, name: str = "draws.csv") -> str:
        lines = [
            header,
            *(",".join(cell if isinstance(cell, str) else repr(float(cell)) for cell in row) for row in rows),
        ]
        (folder / name).write_text("\n".join(lines) + "\n")
        return name

    return write


@pytest.fixture
def sample_file(write_csv: Callable[..., str], draws: np.ndarray) -> str:
    """Write the draws to draws.csv, with columns a and b."""
    return write_csv("a,b", draws)


@pytest.fixture
def write_code(folder: Path) -> Callable[[str], str]:
    """Write a user's Python file model.py, and return its name."""

    def write(code: str) -> str:
        (folder / "model.py").write_text("import numpy as np\nimport steinkit as sk\n" + code)
        return "model.py"

    return write
