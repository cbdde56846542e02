"""Layers of the package: imports are downwards and without cycles.

All imports count: at the top of a file, inside a function, and for type checking only.
"""

import ast
from functools import cache
from pathlib import Path

import networkx as nx

import steinkit
import steinkit.samplers
from steinkit.discrepancy.graph.solvers import registry as solvers

PACKAGES = {
    "steinkit": Path(steinkit.__file__).parent,
    "steinkit.samplers": Path(steinkit.samplers.__file__).resolve().parent,
}

# errors, text, result < runtime, sample < containers, target, posterior < files, datasets, chains, adapters < targets
# < discrepancy < diagnosis < measures, testing < samplers < comparison, curves, sweeps < plots < saved_results < report
# < cli.
# The text of a result is in the same folder.
BASE = {
    "errors",
    "text",
    "arguments",
    "double_double",
    "sample",
    "containers",
    "jax_functions",
    "user_functions",
    "finite_differences",
    "target",
    "compiled_terms",
    "posterior",
    "control_variates",
}
SCORED = {"autocorrelation", "units", "blind_spots", "draws", "scored_sample"}
ALL_MEASURED = (
    BASE
    | SCORED
    | {
        "discrepancy",
        "chains",
        "measures",
        "samplers",
        "targets",
        "sweeps",
        "comparison",
        "curves",
        "diagnosis",
        "comparison_result",
        "finding",
        "measurement",
        "result",
        "runtime",
    }
)
MAY_IMPORT = {
    "errors": set(),
    "arguments": {"errors"},
    "text": {"errors"},
    "result": {"errors", "text"},
    "finding": {"result", "text"},
    "runtime": {"errors"},
    "double_double": set(),
    "sample": {"errors", "arguments", "double_double", "result", "text"},
    "containers": {"errors", "arguments", "sample"},
    "jax_functions": {"errors", "arguments", "sample", "containers"},
    "user_functions": {"errors", "arguments", "sample", "runtime"},
    "finite_differences": {"errors", "sample", "runtime", "user_functions"},
    "target": {"errors", "arguments", "sample", "jax_functions", "user_functions", "finite_differences"},
    "compiled_terms": {"sample"},
    "posterior": {
        "errors",
        "text",
        "arguments",
        "sample",
        "containers",
        "target",
        "jax_functions",
        "compiled_terms",
        "runtime",
    },
    "control_variates": {"errors", "arguments", "sample", "containers", "target", "posterior", "runtime"},
    "files": BASE,
    "datasets": BASE | {"files"},
    "adapters": BASE | {"files"},
    "targets": BASE | {"files", "datasets", "runtime", "adapters"},
    "measurement": {"sample", "result", "text"},
    "chains": {"errors", "sample", "containers", "measurement", "result", "text"},
    "autocorrelation": {"errors", "sample", "runtime"},
    "units": BASE | {"result"},
    "blind_spots": {"errors", "sample", "units"},
    "draws": {"errors", "text", "sample", "runtime", "units", "autocorrelation"},
    "scored_sample": BASE | {"units", "blind_spots", "draws"},
    "saved_results": BASE | {"finding", "result", "files"},
    "discrepancy": BASE | SCORED | {"runtime", "chains", "measurement", "result", "text"},
    "diagnosis": BASE | SCORED | {"runtime", "chains", "discrepancy", "finding", "measurement", "result", "text"},
    "measures": BASE
    | SCORED
    | {"files", "discrepancy", "diagnosis", "chains", "measurement", "result", "text", "runtime"},
    "samplers": BASE | {"targets", "datasets", "runtime", "result", "text"},
    "curves": BASE | SCORED | {"discrepancy", "measures", "chains", "result", "text", "runtime"},
    "comparison": BASE | SCORED | {"discrepancy", "measurement", "measures", "comparison_result", "runtime"},
    "comparison_result": BASE | SCORED | {"diagnosis", "measurement", "measures", "result", "text"},
    "sweeps": BASE
    | SCORED
    | {
        "discrepancy",
        "diagnosis",
        "chains",
        "measures",
        "files",
        "targets",
        "samplers",
        "measurement",
        "result",
        "saved_results",
        "text",
        "runtime",
    },
    "testing": BASE | {"diagnosis", "targets", "text"},
    "plots": ALL_MEASURED,
    "report": ALL_MEASURED | {"plots", "files", "saved_results"},
    "cli": ALL_MEASURED | {"plots", "report", "files", "datasets", "adapters", "saved_results"},
    "__main__": {"cli"},
}


@cache
def modules():
    """Return the path of every module by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            if package == "steinkit" and "samplers" in path.relative_to(folder).parts:
                continue  # by way of the symbolic link
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join([package, *parts]).removesuffix(".__init__")] = path
    return found


def room(module):
    """Return the layer of a module: the part of its name after "steinkit."."""
    return module.split(".")[1] if "." in module else ""


@cache
def imported_modules(path):
    """Return the modules in all import statements of a file."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.append(inner if node.module == "steinkit" or inner in modules() else node.module)
    return found


def violations():
    for module, path in modules().items():
        own = room(module)
        for name in imported_modules(path):
            if (first := name.split(".")[0]) in {"samplers", "applications"}:
                yield f"{module} imports the bare name {first!r}"
            if name.split(".")[0] != "steinkit" or name == "steinkit.__version__":
                continue
            other = room(name)
            if own and other != own and other not in MAY_IMPORT[own]:
                yield f"{module} imports {name}"


@cache
def imports_between_files():
    """Return the graph of imports between files."""
    arrows = nx.DiGraph()
    for module, path in modules().items():
        arrows.add_edges_from((module, name) for name in imported_modules(path) if name in modules())
    named = {f"{solvers.__package__}.{solver.module}" for solver in solvers.SOLVERS.values() if solver.module}
    assert named <= modules().keys()
    arrows.add_edges_from((solvers.__name__, name) for name in named)  # imported when one is asked for
    return arrows


def circles(arrows):
    return [sorted(circle) for circle in nx.strongly_connected_components(arrows) if len(circle) > 1]


def imports_inside(package):
    """Return the graph of imports between the files and folders of a package."""
    arrows, depth = nx.DiGraph(), package.count(".") + 1

    def place(module):
        parts = module.split(".")
        # a folder's own file speaks for the folder seen from above, and for itself seen from inside
        return ".".join(parts[: depth + 1]) if module.startswith(f"{package}.") else None

    for importer, imported in imports_between_files().edges:
        one, other = place(importer), place(imported)
        if one and other and one != other:
            arrows.add_edge(one, other)
    return arrows


def folders():
    return sorted(name for name, path in modules().items() if path.name == "__init__.py")


def test_every_subpackage_is_listed():
    unknown = {room(name) for name in modules()} - set(MAY_IMPORT) - {""}
    assert not unknown, f"add {unknown} to the layers"


def test_every_module_is_on_the_list_of_the_architecture():
    guide = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = guide.partition("## Architecture")[2].partition("**Adding a component.**")[0]
    rooms = {name for name in MAY_IMPORT if not name.endswith("_kernels")} - {"__main__"}
    assert {name for name in rooms if f"`{name}`" not in listed} == set()


def test_imports_are_downwards():
    assert list(violations()) == []


def test_layers_have_no_cycle():
    layers = nx.DiGraph((own, other) for own, others in MAY_IMPORT.items() for other in others)
    assert circles(layers) == []


def test_no_module_has_the_name_of_a_public_function():
    public = {
        name for module in (steinkit, steinkit.samplers) for name in dir(module) if callable(getattr(module, name))
    }
    front = {name.rpartition(".")[2] for name in modules() if name.rpartition(".")[0] in PACKAGES}
    assert front & public == set()


def test_no_file_is_in_an_import_cycle():
    assert circles(imports_between_files()) == []


def test_no_folder_is_in_an_import_cycle():
    found = {folder: circles(imports_inside(folder)) for folder in folders()}
    assert {folder: each for folder, each in found.items() if each} == {}
