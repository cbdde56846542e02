"""What tests of several parts share: the command line run in this process, and small samples in files."""

from __future__ import annotations

import gc
import io
import json
import os
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

# No time is asserted: beside other work an example may take long. The same commit draws the same examples, so that what
# fails fails again; --hypothesis-profile=search draws others at every run.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("the same again", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("the same again")


def pytest_configure() -> None:
    """Leave linear algebra one thread, here and in processes that tests start: workers are as many as processors.

    A second thread would only wait, and spin while it waits, for products as small as those of the tests.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of what is yet to be loaded
    threadpool_limits(1, user_api="blas")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # here hundreds of processes would translate the sources again


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before workers run the whole suite, compile for all of them what they would each compile."""
    config = session.config
    whole = config.args_source is not config.ArgsSource.ARGS and not config.getoption("keyword")
    if whole and config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        fill_cache()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let the garbage collector pass over what is collected here: thousands of tests, which stay to the end.

    Else it would go through all of them again and again; and through what tests make it goes less often than usual.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


class FromTheEnd(pytest.Dir):
    """A folder whose tests are collected in the opposite order.

    Workers all collect all files, and pytest translates the assertions of a file for the first who comes to it, which
    is most of the work: two that begin at either end translate half the files each.
    """

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        return list(super().collect())[::-1]


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Let every second worker begin with the last file."""
    worker = getattr(parent.config, "workerinput", {"workerid": "gw0"})["workerid"]
    if worker[-1] in "02468" or (path / "__init__.py").exists() or len(parent.config.args) > 1:
        return None
    found: pytest.Collector = FromTheEnd.from_parent(parent, path=path)
    return found


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests into the one order in which all workers have to name them."""
    if len(config.args) == 1:
        items.sort(key=lambda item: item.path.parts)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in; file names need no path."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def steinkit(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run the command line in this process: ``steinkit("score", "draws.csv", stdin=b"")``.

    An exception other than SystemExit would be a traceback for the user; here it fails the test.
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
    """Two hundred draws of a standard normal distribution in two dimensions."""
    return np.random.default_rng(0).standard_normal((200, 2))


@pytest.fixture
def write_csv(folder: Path) -> Callable[..., str]:
    """Write a header and rows, and return the file's name."""

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
    """The sixty draws as draws.csv, with columns a and b."""
    return write_csv("a,b", draws)


@pytest.fixture
def write_code(folder: Path) -> Callable[[str], str]:
    """Write a Python file model.py that a user might have, and return its name."""

    def write(code: str) -> str:
        (folder / "model.py").write_text("import numpy as np\nimport steinkit as sk\n" + code)
        return "model.py"

    return write
