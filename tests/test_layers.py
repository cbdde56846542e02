"""Who may import whom: lower layers know nothing of higher ones."""

import ast
from pathlib import Path

import steinkit
import steinkit.samplers

ROOMS = {
    "steinkit": Path(steinkit.__file__).parent,
    "steinkit.samplers": Path(steinkit.samplers.__file__).parent,
}

# errors < sample, target < files, datasets < targets; errors, sample, target < chains < discrepancy < measures;
# targets < samplers; all of these < sweeps, comparison, curves < plots < report < cli
BASE = {"errors", "sample", "user_functions", "target", "differences", "posterior"}
ALL_MEASURED = BASE | {"discrepancy", "chains", "measures", "samplers", "targets", "sweeps", "comparison", "curves"}
MAY_IMPORT = {
    "errors": set(),
    "compilation": set(),
    "sample": {"errors"},
    "differences": {"errors", "sample"},
    "user_functions": {"errors", "sample"},
    "target": {"errors", "sample", "user_functions", "differences"},
    "posterior": {"errors", "sample", "target"},
    "files": BASE,
    "datasets": BASE | {"files"},
    "targets": BASE | {"files", "datasets", "compilation"},
    "chains": {"errors", "sample"},
    "discrepancy": BASE | {"compilation", "chains"},
    "measures": BASE | {"discrepancy", "chains"},
    "samplers": BASE | {"targets", "datasets", "compilation"},
    "curves": BASE | {"discrepancy", "measures", "chains"},
    "comparison": BASE | {"discrepancy", "measures"},
    "sweeps": BASE | {"discrepancy", "chains", "measures", "files", "targets", "samplers"},
    "plots": ALL_MEASURED,
    "report": ALL_MEASURED | {"plots", "files"},
    "cli": ALL_MEASURED | {"plots", "report", "files", "datasets"},
    "__main__": {"cli"},
}


def modules():
    """Name and path of every module of the package."""
    for package, folder in ROOMS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join([package, *parts]).removesuffix(".__init__"), path


def room(module):
    """The room a module of steinkit lives in: the part of its name after "steinkit."."""
    return module.split(".")[1] if "." in module else ""


def imported_modules(path):
    """Modules of steinkit that a file names in its import statements, wherever they stand."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            yield from (
                (f"{node.module}.{alias.name}" for alias in node.names) if node.module == "steinkit" else [node.module]
            )


def violations():
    for module, path in modules():
        own = room(module)
        for name in imported_modules(path):
            if name.split(".")[0] == "samplers":
                yield f"{module} imports the bare name 'samplers'"
            if name.split(".")[0] != "steinkit" or name == "steinkit.__version__":
                continue
            other = room(name)
            if own and other != own and other not in MAY_IMPORT[own]:
                yield f"{module} imports {name}"


def test_every_room_is_known():
    unknown = {room(name) for name, _ in modules()} - set(MAY_IMPORT) - {""}
    assert not unknown, f"add {unknown} to the layers"


def test_imports_run_downwards():
    assert list(violations()) == []


def test_layers_have_no_cycle():
    done = set()
    waiting = dict(MAY_IMPORT)
    while waiting:
        free = {name for name, needs in waiting.items() if needs <= done}
        assert free, f"cycle among {sorted(waiting)}"
        done |= free
        waiting = {name: needs for name, needs in waiting.items() if name not in free}


def test_no_module_bears_the_name_of_a_public_function():
    public = {name for name in dir(steinkit) if callable(getattr(steinkit, name))}
    clashes = {name for name, _ in modules() if name.rpartition(".")[2] in public}
    assert clashes == set()
