"""Names and first lines of docstrings are those of the field."""

import ast
import collections
from pathlib import Path

import pytest

from tests.syntax import ROOT, files, nodes, tree_of

PACKAGES = ("bondgraph", "screws", "models", "screwbond")

OPENERS = ("The same", "What", "Whether", "How", "Which", "Where", "Who", "So many")
"""First words of a docstring that begins with a clause instead of a subject and a verb."""

VAGUE = {"found", "given", "own", "known", "told", "beside", "whole"}
"""Names of variables that do not describe their value; better names are result, argument, local copy or index."""

_OLD_WORDS = (
    "repeated finished astray instants switching courses turning opening settle settler settled rising passage passages meeting"
    " together goes_round looping combinations leg underway clocked kept taking pace chunks side_by_side answers idioms abreast"
    " weighing weigh driving drawn scatter resting rests question listen relax renew ears closing_matrix closures"
    " judge doubts islands allowances following followed knowledge untold bands passing ticking varied easing walk rubbing"
    " commanded pursue alike turns preset once rarely held holdable piles late brief patience sit attend depart lend"
    " Courses Settler Settled Passage Watch Leg Underway RunEnds Claims Crew Answers Abreast Wide Snags Rubs Ground Pursuit"
    " LateTable How Made Spent Said Told Looked Within UNSEEN FRUITFUL BOOSTS UNBEGUN TOLD OF_LEG NONE MOST"
)
RETIRED = set(_OLD_WORDS.split())
"""Names that no module, class, function or constant has any more; the glossary (docs/notation.md) has the current terms."""


SOURCES = [path for package in PACKAGES for path in files(package)]


def docstrings(path: Path):
    for node in nodes(path, ast.Expr):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def variables(path: Path):
    yield from ((node.lineno, node.arg) for node in nodes(path, ast.arg))
    yield from ((node.lineno, node.id) for node in nodes(path, ast.Name) if isinstance(node.ctx, ast.Store))


def definitions(path: Path):
    yield 1, path.stem
    yield 1, path.parent.name
    yield from ((node.lineno, node.name) for node in nodes(path, ast.ClassDef, ast.FunctionDef))
    for node in tree_of(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        yield from ((node.lineno, target.id) for target in targets if isinstance(target, ast.Name))


def opening_left(path: Path) -> list[str]:
    return [f"{path}:{line} {text[:60]!r}" for line, text in docstrings(path) if text.lstrip().startswith(OPENERS)]


def vague_left(path: Path) -> list[str]:
    return [f"{path}:{line} variable {name}" for line, name in variables(path) if name in VAGUE]


def retired_left(path: Path) -> list[str]:
    return [f"{path}:{line} name {name}" for line, name in definitions(path) if name.lstrip("_") in RETIRED]


@pytest.mark.parametrize("left", [opening_left, vague_left, retired_left])
def test_names_and_first_lines_are_the_fields(left) -> None:
    assert not [row for path in SOURCES for row in left(path)]


def test_no_docstring_of_a_test_gives_what_one_machine_measured() -> None:
    assert not [f"{path}:{line}" for path in files("tests") for line, text in docstrings(path) if "[measured" in text]


INTERFACES = {"FIELDS", "STEPPER", "TABLEAU", "A", "C", "SHELF"}
"""Constants that modules of a subpackage share on purpose."""


def constants(tree: ast.Module):
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                yield from ((name.id, ast.dump(value)) for name, value in pairs if isinstance(name, ast.Name))


def test_a_constant_has_one_meaning_in_a_subpackage() -> None:
    """A subpackage is a folder of a package, or one of `bondgraph.run`."""
    meanings = collections.defaultdict[tuple[Path, str], set[str]](set)
    for path in SOURCES:
        parts = path.relative_to(ROOT).parts
        subpackage = Path(*parts[: 3 if parts[:2] == ("bondgraph", "run") else 2])
        for name, value in constants(tree_of(path)):
            if name.isupper() and not name.startswith("_") and name not in INTERFACES:
                meanings[subpackage, name].add(value)
    assert not [(subpackage.as_posix(), name) for (subpackage, name), values in meanings.items() if len(values) > 1]
