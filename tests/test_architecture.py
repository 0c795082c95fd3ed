"""Imports between packages keep the permitted direction, packages keep their guarantees, and imports are light."""

import ast
import functools
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from docs import layers
from docs.layers import SUBPACKAGES
from tests.conftest import LONGEST, TOGETHER
from tests.syntax import called, files, nodes

ROOT = Path(__file__).parents[1]
LAYERS = ("screws", "bondgraph", "screwbond.models", "screwbond", "examples")
PACKAGES = ("screws", "bondgraph", "screwbond.models")
FOLDERS = {"screwbond.models": "models"}

SHORTCUTS = {
    "bondgraph.graph.builder": (
        "bondgraph.compile.compiled",
        "bondgraph.compile.pipeline",
        "bondgraph.render.diagram",
        "bondgraph.run.results.result",
    ),
    "bondgraph.run.results.result": ("bondgraph.render.diagram",),
    "bondgraph.compile.compiled": ("bondgraph.analysis.derivatives", "bondgraph.analysis.linear", "bondgraph.prepared.runs"),
}
"""Convenience methods, such as `graph.compile()`, which only call a function of a higher layer."""

TRANSLATOR = "bondgraph.emit.kernel_language.expressions"
"""Module that evaluates constants named in the source of this project's functions."""
OUTSIDER = "tests.models.studies.pendulum_study"
MOST_MODULES = 14
MOST_ARGUMENTS = 8
MOST_LINES, MOST_LINES_OF_TESTS = 500, 500
HEAVY = (
    "sympy",
    "vtk",
    "vtkmodules",
    "pyvista",
    "pandas",
    "llvmlite",
    "scipy",
    "matplotlib",
    "mujoco",
    "daqp",
    "clarabel",
    "coal",
    "lxml",
    "trimesh",
    "pyarrow",
    "zarr",
    "pint",
    "bondgraph.run.steppers",
)


@functools.cache
def modules(package):
    folder, names = ROOT / FOLDERS.get(package, package.replace(".", "/")), {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        names[".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))] = path
    return names


SOURCES = {name: path for layer in LAYERS for name, path in modules(layer).items()}


def layer_of(name):
    return next((layer for layer in PACKAGES if f"{name}.".startswith(f"{layer}.")), name.partition(".")[0])


def targets(node, importer):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        package = importer.split(".")
        is_package = SOURCES[importer].name == "__init__.py"
        above = package[: len(package) - node.level + is_package]
        base = ".".join([*above, base] if base else above)
    return [f"{base}.{alias.name}" if f"{base}.{alias.name}" in SOURCES else base for alias in node.names]


@functools.cache
def imports(path, importer):
    return [target for node in nodes(path, ast.Import, ast.ImportFrom) for target in targets(node, importer)]


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_never_point_upward(layer):
    forbidden = {*LAYERS[LAYERS.index(layer) + 1 :], "tests", "benchmarks"}
    for name in modules(layer):
        upward = [target for target in imports(SOURCES[name], name) if layer_of(target) in forbidden]
        assert not upward, f"{name} imports {upward}"


def test_tests_import_inner_modules_through_facades():
    """Tests import deeper modules only through `tests/inner`, where one file changes when a module moves."""
    for path in files("tests"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        depths = {"bondgraph": 2, "screws": 2, "screwbond": 3}
        reached = [to for to in imports(path, name) if to.partition(".")[0] in depths]
        inner = [to for to in reached if to.count(".") >= depths[to.partition(".")[0]]]
        assert name.startswith(("tests.inner.", OUTSIDER)) or not inner, f"{name} imports {inner}"


def test_facades_export_exactly_what_tests_use():
    used, offered = set(), set()
    for path in files("tests"):
        for node in nodes(path, ast.ImportFrom):
            if path.parent.name == "inner":
                offered |= {(f"tests.inner.{path.stem}", alias.asname or alias.name) for alias in node.names}
            else:
                used |= {(node.module, alias.name) for alias in node.names}
    assert offered <= used, sorted(offered - used)


def subpackage(name, package):
    return name.removeprefix(package).lstrip(".").partition(".")[0]


@functools.cache
def inside(package):
    own = modules(package)
    found = ((name, to) for name in own for to in imports(SOURCES[name], name) if to in own)
    return {(name, to) for name, to in found if to != name and to not in SHORTCUTS.get(name, ())}


@pytest.mark.parametrize("name", SHORTCUTS)
def test_a_shortcut_is_an_import_and_a_return(name):
    """A shortcut is in a method of two lines, or only for type checkers."""
    allowed, met = [], set()
    for node in nodes(SOURCES[name], ast.If):
        allowed += node.body if ast.unparse(node.test) == "TYPE_CHECKING" else []
    for node in nodes(SOURCES[name], ast.FunctionDef):
        kinds = [type(line) for line in node.body]
        if kinds == [ast.Expr, ast.ImportFrom, ast.Return] and isinstance(node.body[2].value, ast.Call):
            allowed.append(node.body[1])
    for node in nodes(SOURCES[name], ast.Import, ast.ImportFrom):
        up = set(targets(node, name)) & set(SHORTCUTS[name])
        assert not up or node in allowed, f"{name}:{node.lineno}"
        met |= up
    assert met == set(SHORTCUTS[name])


def circles(pairs):
    return [sorted(part) for part in nx.strongly_connected_components(nx.DiGraph(sorted(pairs))) if len(part) > 1]


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_a_subpackage_knows_only_the_layers_below(package):
    levels = SUBPACKAGES[package]
    layer = {name: number for number, subpackages in enumerate(levels) for name in subpackages} | {"": len(levels)}
    assert {subpackage(name, package) for name in modules(package)} == set(layer)
    assert len(levels) <= 12
    pairs = ((name, to, subpackage(name, package), subpackage(to, package)) for name, to in inside(package))
    assert not {f"{name} imports {to}" for name, to, own, other in pairs if own != other and layer[other] >= layer[own]}


def test_the_page_shows_the_layers():
    page = layers.PAGE.read_text(encoding="utf-8")
    assert sorted(name for packages in layers.TABLES for name in packages) == sorted(SUBPACKAGES)
    assert all(layers.table(packages) in page for packages in layers.TABLES) and layers.with_tables(page) == page


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circles_of_files_or_folders(package):
    """At every depth a folder counts as one module."""
    pairs = {(name, to) for name, to in inside(package) if SOURCES[to].name != "__init__.py" or not name.startswith(f"{to}.")}
    assert not circles(pairs)
    assert not [
        name for name in modules(package) if name in {*imports(SOURCES[name], name)} and SOURCES[name].name != "__init__.py"
    ]
    for prefix in {f"{name}." for name, path in modules(package).items() if path.name == "__init__.py"}:
        here = {(a, b) for a, b in pairs if a.startswith(prefix) and b.startswith(prefix)}
        children = {tuple(prefix + name.removeprefix(prefix).split(".")[0] for name in pair) for pair in here}
        assert not circles((a, b) for a, b in children if a != b), prefix


@pytest.mark.parametrize("package", PACKAGES)
def test_folders_are_small(package):
    for path in {path.parent for path in modules(package).values()}:
        assert len(list(path.glob("*.py"))) <= MOST_MODULES, path


@pytest.mark.parametrize("folder", [*LAYERS, "tests"])
def test_files_are_short(folder):
    most = MOST_LINES_OF_TESTS if folder == "tests" else MOST_LINES
    lines = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in modules(folder).values()}
    assert not {path: count for path, count in lines.items() if count > most}


def test_functions_take_few_arguments_by_place():
    """Formulas of `screwbond.models` and `screws` may take as many arguments as their equation has."""
    for name in modules("bondgraph"):
        for node in nodes(SOURCES[name], ast.FunctionDef):
            taken = [one.arg for one in (*node.args.posonlyargs, *node.args.args) if one.arg not in ("self", "cls")]
            assert len(taken) <= MOST_ARGUMENTS, f"{name}:{node.lineno} {node.name}{taken}"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_shares_a_name_with_an_export(package):
    """If a module had the name of an export, `import package.name` would give the module, and `package.name` another object."""
    for name, path in modules(package).items():
        if path.name == "__init__.py":
            own = {
                p.stem if p.suffix else p.name for p in path.parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
            }
            exported = vars(importlib.import_module(name))
            taken = [one for one in sorted(own) if one in exported and not inspect.ismodule(exported[one])]
            assert not taken, f"{name}: {taken}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_class_name_has_one_meaning(package):
    found = [(node.name, name) for name in modules(package) for node in nodes(SOURCES[name], ast.ClassDef)]
    names = [name for name, _ in found if not name.startswith("_")]
    assert not [pair for pair in found if names.count(pair[0]) > 1]


def test_only_bondgraph_knows_its_tape_and_emitters():
    for name in SOURCES:
        if not name.startswith("bondgraph"):
            known = [to for to in imports(SOURCES[name], name) if to.startswith(("bondgraph.tape", "bondgraph.emit"))]
            assert not known, f"{name} imports {known}"


def test_text_is_never_evaluated_as_code():
    """The one exempt module reads only functions of this project."""
    for name in SOURCES:
        for node in nodes(SOURCES[name], ast.Call):
            function = called(node.func)
            evaluates = function in {"eval", "exec", "builtins.eval", "builtins.exec"}
            assert not evaluates or name == TRANSLATOR, f"{name}:{node.lineno}"
            assert function.rpartition(".")[2] not in {"sympify", "parse_expr"}, f"{name}:{node.lineno}"
            allowed = [word for word in node.keywords if word.arg == "allow_pickle"]
            assert not any(getattr(word.value, "value", True) for word in allowed), f"{name}:{node.lineno}"
        unsafe = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}
        assert not unsafe & {target.partition(".")[0] for target in imports(SOURCES[name], name)}, f"{name} can load pickles"


def public():
    for name, path in SOURCES.items():
        if path.name == "__init__.py" and layer_of(name) in PACKAGES:
            package = importlib.import_module(name)
            for item in getattr(package, "__all__", ()):
                yield pytest.param(package, item, id=f"{name}.{item}")


def is_typed(function, method):
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
            if inspect.isfunction(function) and layer_of(function.__module__) in PACKAGES and key[0] != "_":
                assert inspect.getdoc(getattr(item, key)), f"{name}.{key} has no docstring"  # or an inherited one
                assert is_typed(function, not isinstance(member, staticmethod)), f"{name}.{key} is not typed"
    elif inspect.isfunction(item):
        assert item.__doc__, f"{name} has no docstring"
        assert is_typed(item, False), f"{name} is not typed"


@pytest.mark.parametrize("package", PACKAGES)
def test_package_lists_its_names(package):
    names = importlib.import_module(package).__all__
    assert names and len(set(names)) == len(names)


def test_the_files_that_tests_begin_with_are_there():
    assert len(set(LONGEST)) == len(LONGEST) and not set(LONGEST) & set(TOGETHER) and not set(TOGETHER) & set(TOGETHER.values())
    assert all((ROOT / name).is_file() for name in (*LONGEST, *TOGETHER, *TOGETHER.values()))


def test_graphs_are_made_from_lists_of_edges():
    """`nx.Graph(edges)` imports pandas, if installed, which takes a second."""
    kinds = ("nx.Graph", "nx.DiGraph", "nx.MultiGraph", "nx.MultiDiGraph")
    for name, path in SOURCES.items():
        for call in nodes(path, ast.Call):
            has_edges = call.args and ast.unparse(call.func) in kinds
            assert not has_edges, f"{name}:{call.lineno}: use nx.from_edgelist"


def test_import_is_light():
    """The cost of `import bondgraph` beyond NumPy is printed, since machines differ."""
    script = (
        "import sys, time, numpy; start = time.perf_counter(); import bondgraph; cost = time.perf_counter() - start\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], round(cost, 3), len(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    print("import bondgraph: heavy modules, seconds more than NumPy, modules:", done.stdout.strip())
    assert done.stdout.startswith("[] "), done.stdout
    assert int(done.stdout.split()[-1]) < 1000
    assert done.stderr == ""


def test_no_test_measures_processor_time() -> None:
    """Work is counted in calls, as `benchmarks.front_end.calls` does, since processors differ and are shared."""
    clocks = {"process_time", "thread_time", "process_time_ns", "thread_time_ns", "timeit"}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files("tests")
        for node in nodes(path, ast.Attribute)
        if node.attr in clocks
    ]
    assert not found


DRAWING = "bondgraph/render"
"""Package of pictures, in which the words for domains and kinds select letters and colours."""
MACHINE_TYPES = "bondgraph/emit"
"""Package in which the kind of a value is its LLVM type itself."""


def test_names_do_not_identify_objects() -> None:
    """Names and kinds are for people, so no code compares them or uses them as keys of dictionaries."""
    found = []
    for path in (*files("bondgraph"), *files("screws")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(f"{DRAWING}/"):
            found += [f"{name}:{node.lineno} {ast.unparse(node)}" for node in _compared_with_text(path)]
            kinds = () if name.startswith(f"{MACHINE_TYPES}/") else ("kind",)
            found += [f"{name}:{node.lineno} key {ast.unparse(node)}" for node in _keys_by_name(path, kinds)]
    assert found == []


def _compared_with_text(path: Path):
    for node in nodes(path, ast.Compare):
        sides = [side for side in (node.left, *node.comparators) if isinstance(side, ast.Attribute)]
        words = [side for side in sides if side.attr in ("name", "kind") and _is_anothers(side)]
        if words and any(map(_holds_text, (node.left, *node.comparators))):
            yield from words


def _keys_by_name(path: Path, kinds: tuple[str, ...]):
    for key in _keys(path):
        for part in key.elts if isinstance(key, ast.Tuple) else [key]:
            if isinstance(part, ast.Attribute) and _is_anothers(part):
                owner = re.split(r"[^\w.]", ast.unparse(part.value))[0].rpartition(".")[2]
                if part.attr in kinds or (part.attr == "name" and owner in _operations(path)):
                    yield part


def _keys(path: Path):
    for node in nodes(path, ast.Dict):
        yield from filter(None, node.keys)
    yield from (node.key for node in nodes(path, ast.DictComp))
    yield from (node.slice for node in nodes(path, ast.Subscript))
    for node in nodes(path, ast.Call):
        if getattr(node.func, "attr", None) in ("get", "pop", "setdefault", "fromkeys"):
            yield from node.args[:1]
    yield from (node.left for node in nodes(path, ast.Compare) if any(isinstance(word, ast.In | ast.NotIn) for word in node.ops))


@functools.cache
def _operations(path: Path) -> set[str]:
    """Return names of operations, found by annotation, by the table that contains them, or by convention."""
    names = {"op", "operation", "OPERATIONS"}
    for node in nodes(path, ast.arg):
        if node.annotation is not None and ast.unparse(node.annotation) in ("Op", "Operation"):
            names.add(node.arg)
    for node in nodes(path, ast.For, ast.comprehension):
        if "OPERATIONS" in ast.unparse(node.iter):
            names |= {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
    return names


def _holds_text(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))


def _is_anothers(side: ast.Attribute) -> bool:
    owner = side.value
    return not (isinstance(owner, ast.Name) and owner.id == "self") and not (
        isinstance(owner, ast.Attribute) and owner.attr == "dtype"
    )


def test_rules_of_a_run_stand_where_the_page_says():
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = page.partition("| rule | its function |\n|---|---|\n")[2].partition("\n\n")[0].splitlines()
    named = [name for row in rows for name in re.findall(r"`([a-z_]+(?:\.[a-z0-9_]+)+)`", row)]
    assert len(rows) > 10 and len(named) > 15
    for name in named:
        root = "bondgraph" if name.startswith(("stepping", "emit")) else "bondgraph.run"
        module, _, last = name.rpartition(".")
        found = f"{root}.{name}" in SOURCES or hasattr(importlib.import_module(f"{root}.{module}"), last)
        assert found, name
