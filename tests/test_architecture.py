"""The walls of the house: who may import whom, what the packages promise, and what an import costs."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("screws", "bondgraph", "models", "examples")
PACKAGES = LAYERS[:3]
HEAVY = ("sympy", "vtk", "vtkmodules", "pyvista", "pandas", "llvmlite", "scipy", "matplotlib", "mujoco")


def modules(folder):
    """Dotted name -> path of every module below a top-level folder."""
    names = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


SOURCES = {name: path for layer in LAYERS for name, path in modules(layer).items()}
TREES = {name: ast.parse(path.read_text(encoding="utf-8"), str(path)) for name, path in SOURCES.items()}


def targets(node, importer):
    """Modules that an import statement names; `from package import module` is an import of the module."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        package = importer.split(".")
        is_package = SOURCES[importer].name == "__init__.py"
        above = package[: len(package) - node.level + is_package]
        base = ".".join([*above, base] if base else above)
    return [f"{base}.{alias.name}" if f"{base}.{alias.name}" in SOURCES else base for alias in node.names]


def imports(tree, importer):
    """All modules that a module imports, wherever in its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from targets(node, importer)


def imports_at_load(body, importer):
    """Modules imported while the module itself is being imported: not those of functions and of type checkers."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from targets(node, importer)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imports_at_load(node.orelse, importer)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in ("body", "orelse", "handlers", "finalbody"):
                yield from imports_at_load(getattr(node, part, []), importer)


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_never_point_upward(layer):
    forbidden = {*LAYERS[LAYERS.index(layer) + 1 :], "tests", "benchmarks"}
    for name in modules(layer):
        upward = [target for target in imports(TREES[name], name) if target.partition(".")[0] in forbidden]
        assert not upward, f"{name} imports {upward}"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circular_imports(package):
    graph = nx.DiGraph()
    for name in modules(package):
        edges = imports_at_load(TREES[name].body, name)
        graph.add_edges_from((name, target) for target in edges if target in SOURCES)
    circles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert not circles and not list(nx.selfloop_edges(graph))


def test_text_is_never_evaluated_as_code():
    """No module calls what turns text or files into running code."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"eval", "exec", "builtins.eval", "builtins.exec"}, f"{name}:{node.lineno}"
                assert called.rpartition(".")[2] not in {"sympify", "parse_expr"}, f"{name}:{node.lineno}"
                allowed = [word for word in node.keywords if word.arg == "allow_pickle"]
                assert not any(getattr(word.value, "value", True) for word in allowed), f"{name}:{node.lineno}"
        unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
        assert not unsafe & {target.partition(".")[0] for target in imports(tree, name)}, f"{name} can load pickles"


def public():
    """Every name that a package or sub-package lists in its `__all__`."""
    for name, path in SOURCES.items():
        if path.name == "__init__.py" and name.partition(".")[0] in PACKAGES:
            package = importlib.import_module(name)
            for item in getattr(package, "__all__", ()):
                yield pytest.param(package, item, id=f"{name}.{item}")


def is_typed(function, method):
    """Whether all arguments, apart from a method's first, and the result are annotated."""
    signature = inspect.signature(function)
    arguments = list(signature.parameters.values())[1 if method else 0 :]
    complete = all(argument.annotation is not inspect.Parameter.empty for argument in arguments)
    return complete and signature.return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize("package, name", list(public()))
def test_public_name_is_typed_and_documented(package, name):
    item = getattr(package, name)
    if inspect.isclass(item):
        assert item.__doc__ and not item.__doc__.startswith(f"{name}("), f"{name} has no docstring of its own"
        for key, member in vars(item).items():
            function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            if inspect.isfunction(function) and function.__module__.partition(".")[0] in PACKAGES and key[0] != "_":
                assert function.__doc__, f"{name}.{key} has no docstring"
                assert is_typed(function, not isinstance(member, staticmethod)), f"{name}.{key} is not typed"
    elif inspect.isfunction(item):
        assert item.__doc__, f"{name} has no docstring"
        assert is_typed(item, False), f"{name} is not typed"


@pytest.mark.parametrize("package", PACKAGES)
def test_package_lists_its_names(package):
    names = importlib.import_module(package).__all__
    assert names and len(set(names)) == len(names)


def test_import_is_light():
    """`import bondgraph` loads nothing heavy; what it costs beyond NumPy is printed, since clocks differ."""
    script = (
        "import sys, time, numpy; start = time.perf_counter(); import bondgraph; cost = time.perf_counter() - start\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], round(cost, 3), len(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    print("import bondgraph: heavy modules, seconds more than NumPy, modules:", done.stdout.strip())
    assert done.stdout.startswith("[] "), done.stdout
    assert int(done.stdout.split()[-1]) < 1000
    assert done.stderr == ""


def test_names_are_no_identity() -> None:
    """What something is, is a type, a record or the thing itself; its name and the word for its kind are for people."""
    found = []
    for path in [*(ROOT / "bondgraph").rglob("*.py"), *(ROOT / "screws").rglob("*.py")]:
        if path.parent.name in ("render", "export"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Compare) and any(map(_holds_text, (node.left, *node.comparators))):
                sides = [side for side in (node.left, *node.comparators) if isinstance(side, ast.Attribute)]
                found += [f"{path}:{node.lineno}" for side in sides if side.attr in ("name", "kind") and _is_anothers(side)]
    assert found == []


def _holds_text(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def _is_anothers(side: ast.Attribute) -> bool:
    """Not a field of the class itself, and not NumPy's letter for a type of numbers."""
    owner = side.value
    return not (isinstance(owner, ast.Name) and owner.id == "self") and not (
        isinstance(owner, ast.Attribute) and owner.attr == "dtype"
    )
