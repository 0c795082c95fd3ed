"""Graphs of the documentation pages, built by running a page's code without its computations."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

from bondgraph import Graph, Model, ModelError

ROOT = Path(__file__).resolve().parents[3]
_COSTLY = re.compile(
    r"\b(simulate|compile_model|compile|sweep|run_many|estimate|print|steady_state|operating_point|linearise|write|show|diagram|fmu|"
    r"live_page|page|save_\w+|\w+_source|to_jax|to_casadi|c_run|run_sensitivities|freeze|report|latex|document|Path|import_module|"
    r"\w+_equations|pile|free_body_stepper|prepare\w*|build\w*|plan\w*|settle\w*)\("
)


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@functools.cache
def graphs_of(page: str) -> dict[str, Model | None]:
    """Return the graphs that a page builds, by name, or None for a graph with problems.

    A repeated name gets a number, "train #2".
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # for files that a page writes
        return _graphs_of(blocks(page))


def _graphs_of(codes: list[str]) -> dict[str, Model | None]:
    space: dict[str, Any] = {"__name__": "page"}
    found, seen = dict[str, Model | None](), list[Graph]()
    for code in codes:
        for statement in ast.parse(code).body:
            for piece in _building(statement):
                with warnings.catch_warnings(), contextlib.suppress(Exception):  # it needs an omitted result
                    warnings.simplefilter("ignore")
                    exec(piece, space)  # noqa: S102
        for value in list(space.values()):
            if isinstance(value, Graph) and not any(value is other for other in seen):
                seen.append(value)
                count = sum(name.partition(" #")[0] == value.name for name in found)
                found[value.name if not count else f"{value.name} #{count + 1}"] = _frozen(value)
    return found


def _frozen(graph: Graph) -> Model | None:
    try:
        return graph.freeze()
    except ModelError:
        return None


def _building(statement: ast.stmt) -> list[str]:
    """Return [statement], or [its first call of `connect`] if it also computes, or [] for an import of another package."""
    text = ast.unparse(statement)
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [text] * bool(re.match(r"(from|import) (bondgraph|screws|screwbond|numpy|math)\b", text))
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) or not _COSTLY.search(text):
        return [text]
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return [ast.unparse(call) for call in calls if call.func.attr == "connect"][:1]
