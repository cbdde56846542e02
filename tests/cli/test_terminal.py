"""Output is wrapped only on a terminal."""

import contextlib
import os
import struct
import sys
import threading

import pytest

from steinkit.cli import main

pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))

_SCORE = ("score", "draws.csv", "--target", "normal", "-p", "mean=0,1", "--reference", "0", "--measure", "ksd")
_DESIGN = ("design", "--first-fraction", "0.05", "--epsilon", "0.01", "--mean", "1")


@pytest.fixture(autouse=True)
def no_columns_asked_for(monkeypatch):
    """Unset COLUMNS, which overrides the width of the terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def terminal(folder, monkeypatch):
    """Run the command line on a terminal of a given width; return its lines with their line endings."""

    def run(columns, *words):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        shown = bytearray()

        def read():
            with contextlib.suppress(OSError):  # Linux raises OSError at the end of a terminal
                while part := os.read(leader, 4096):
                    shown.extend(part)

        reader = threading.Thread(target=read)
        reader.start()
        monkeypatch.setattr("sys.argv", ["steinkit", *words])
        with monkeypatch.context() as patch, open(follower, "w") as screen:
            patch.setattr(sys, "stdout", screen)
            patch.setattr(sys, "stderr", screen)
            with pytest.raises(SystemExit):
                main()
        reader.join()
        os.close(leader)
        return shown.decode().replace("\r\n", "\n").splitlines(keepends=True)

    return run


@pytest.mark.parametrize("words", [_SCORE, ("samplers",), ("targets",), _DESIGN])
@pytest.mark.parametrize("columns", [80, 60])
def test_output_fits_the_terminal(terminal, steinkit, sample_file, words, columns):
    shown = terminal(columns, *words)
    lines = [line for line in shown if not line.startswith("next: steinkit ")]
    assert all(line.endswith("\n") for line in shown)
    assert max(len(line.rstrip("\n")) for line in lines) < columns
    piped = steinkit(*words)
    assert max(map(len, piped.out.splitlines())) > columns
    assert _words("".join(lines)) == _words(piped.out)


def _words(text):
    """Return the words before the times."""
    return text.partition("Seconds:")[0].split()


def test_errors_fit_the_terminal(terminal, steinkit):
    wrong = ("score", "nowhere.csv", "--target", "normal", "--fail-above", "1", "--measure", "ess")
    shown, piped = terminal(60, *wrong), steinkit(*wrong)
    assert (piped.code, piped.out, len(piped.err.splitlines())) == (2, "", 1)
    assert len(shown) > 1
    assert max(map(len, shown)) <= 60
    assert " ".join("".join(shown).split()) == piped.err.strip()


def test_output_in_a_pipe_does_not_depend_on_columns(steinkit, monkeypatch):
    first = steinkit("samplers")
    monkeypatch.setenv("COLUMNS", "60")
    assert steinkit("samplers") == first
    assert first.out.endswith(".\n")


def test_the_default_width(terminal):
    assert 60 < max(len(line.rstrip("\n")) for line in terminal(0, "samplers")) < 80


def test_columns_sets_the_width(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert max(len(line.rstrip("\n")) for line in terminal(80, "samplers")) < 60
