"""Names from files, options and user code are escaped on a terminal."""

import json
import shutil

import numpy as np
import pytest
from support.page_checks import CONTROLS, CONTROLS_SHOWN, control_characters

import steinkit as sk
from steinkit.errors import InputError, OutputError, SteinkitWarning

_TARGET = ("--target", "normal")
_NORMAL = (*_TARGET, "--reference", "0")
_DRAWS = "a,b\n1.0,2.0\n0.5,-1.0\n0.25,0.75\n-1.5,0.5\n"


@pytest.fixture
def hostile(folder):
    """Return a file with control characters in a name."""
    name = f"draws{CONTROLS}.csv"
    (folder / name).write_text(_DRAWS)
    return name


@pytest.mark.parametrize("command", ["score", "curve", "compare"])
def test_names_of_files(steinkit, hostile, folder, command):
    shutil.copy(folder / hostile, folder / "other.csv")
    further = {"score": _NORMAL, "curve": (*_TARGET, "--n", "2,4"), "compare": ("other.csv", *_NORMAL)}
    outcome = steinkit(command, hostile, *further[command])
    assert outcome.code == 0, outcome
    assert CONTROLS_SHOWN in outcome.out
    assert control_characters(outcome.out + outcome.err) == set()


def test_json(steinkit, hostile):
    outcome = steinkit("compare", hostile, hostile.replace("draws", "./draws"), *_NORMAL, "--json")
    assert control_characters(outcome.out) == set()
    assert json.loads(outcome.out)["samples"][0]["file"] == hostile


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", f"no{CONTROLS}.csv", *_NORMAL),
        ("score", "good.csv", "--target", f"norm{CONTROLS}"),
        ("score", "good.csv", *_NORMAL, "--measure", CONTROLS),
        ("score", "good.csv", *_NORMAL, f"--{CONTROLS}"),
        ("score", "good.csv", *_NORMAL, "--columns", f"a,{CONTROLS}"),
        ("thin", "good.csv", *_NORMAL, "--draws", CONTROLS),
        ("sample", f"rw{CONTROLS}", "--target", "normal"),
        (f"sc{CONTROLS}",),
        ("report", f"{CONTROLS}.json", "-o", "page.html"),
        ("score", f"bad{CONTROLS}.csv", *_NORMAL),
        ("sweep", "sweep.toml"),
        ("score", "good.csv", "--target", "target.py:target", "--reference", "0"),
    ],
)
def test_messages_of_errors(steinkit, folder, arguments):
    (folder / "good.csv").write_text(_DRAWS)
    (folder / f"bad{CONTROLS}.csv").write_text(_DRAWS + f"0.5,{CONTROLS.replace(chr(13), '')}\n")
    escaped = json.dumps(CONTROLS).replace("\x7f", r"\u007f")  # also an escape sequence in TOML
    (folder / "sweep.toml").write_text(f'[target]\nname = {escaped}\n[sampler]\nname = "rwmh"\n[grid]\nx = [1]\n')
    (folder / "target.py").write_text(f"def target(x):\n    raise ValueError({CONTROLS!r})\n")
    outcome = steinkit(*arguments)
    assert outcome.code in (2, 3), outcome
    assert outcome.err
    assert control_characters(outcome.out + outcome.err) == set()


def test_names_of_parameters(steinkit, folder):
    (folder / "draws.csv").write_text("a,b\x1b[31m\n1.0,2.0\n0.5,-1.0\n")
    outcome = steinkit("score", "draws.csv", *_NORMAL)
    assert (outcome.code, outcome.out) == (3, "")
    assert r'got "b\x1b[31m" for parameter 2' in outcome.err
    with pytest.raises(InputError, match="for parameter 1"):
        sk.Target(score=lambda x: -x, names=["\x07"])


def test_tracebacks_and_warnings_of_python():
    for kind in (InputError, OutputError, SteinkitWarning):
        shown = str(kind(f"the file {CONTROLS}\nsays\nerror: all is well"))
        assert control_characters(shown) == set()
        assert [line for line in shown.splitlines() if line.startswith("error:")] == []


def test_results_in_a_terminal(capsys):
    rng = np.random.default_rng(0)
    samples = {f"first{CONTROLS}": rng.standard_normal(50), "second": rng.standard_normal(50)}
    print(sk.compare(samples, sk.targets.Normal([0.0])).summary())
    out = capsys.readouterr().out
    assert CONTROLS_SHOWN in out
    assert control_characters(out) == set()
