"""Layers of the package: imports point downwards and have no cycles.

All imports count: at the top of a file, inside a function, and for type checking only.
"""

import ast
import re
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

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"
APART = {"discrepancy", "samplers"}


@cache
def layers():
    """Return the rank of every layer in the architecture in the guide; the command line is above all others."""
    listed = GUIDE.read_text(encoding="utf-8").partition("## Architecture")[2].partition("**Adding a component.**")[0]
    named = re.findall(r"`(\w+)`", re.sub(r"\([^()]*\)", "", listed[listed.index("1. ") :]))
    return {name: rank for rank, name in reversed(list(enumerate([*named, "__main__"])))}


@cache
def modules():
    """Return the path of every module by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            if package == "steinkit" and "samplers" in path.relative_to(folder).parts:
                continue  # reached through the symbolic link
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
            if own and other != own and ({own, other} == APART or layers()[other] > layers()[own]):
                yield f"{module} imports {name}"


@cache
def imports_between_files():
    """Return the graph of imports between files."""
    arrows = nx.DiGraph()
    for module, path in modules().items():
        arrows.add_edges_from((module, name) for name in imported_modules(path) if name in modules())
    named = {f"{solvers.__package__}.{solver.module}" for solver in solvers.SOLVERS.values() if solver.module}
    assert named <= modules().keys()
    arrows.add_edges_from((solvers.__name__, name) for name in named)  # imported on request
    return arrows


def circles(arrows):
    return [sorted(circle) for circle in nx.strongly_connected_components(arrows) if len(circle) > 1]


def imports_inside(package):
    """Return the graph of imports between the files and folders of a package."""
    arrows, depth = nx.DiGraph(), package.count(".") + 1

    def place(module):
        parts = module.split(".")
        # a package's `__init__` represents the package for other packages, and itself within the package
        return ".".join(parts[: depth + 1]) if module.startswith(f"{package}.") else None

    for importer, imported in imports_between_files().edges:
        one, other = place(importer), place(imported)
        if one and other and one != other:
            arrows.add_edge(one, other)
    return arrows


def folders():
    return sorted(name for name, path in modules().items() if path.name == "__init__.py")


def test_every_module_is_on_the_list_of_the_architecture():
    assert {room(name) for name in modules()} - {""} <= layers().keys()


def test_imports_are_downwards():
    assert list(violations()) == []


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
