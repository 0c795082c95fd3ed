"""Every kind of failure that can end a run has cures."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import bondgraph.run
from tests.inner.run import CURES, Status

FOLDER = Path(bondgraph.run.__file__).parent


@functools.cache
def kinds() -> set[str]:
    found: set[str] = set()
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="_fail"), args=[ast.Constant(value=kind), *_]):
                    found.add(kind)
                case ast.Call(func=ast.Name(id="LostSolution"), args=[_, ast.Constant(value=kind), *_]):
                    found.add(kind)
                case ast.keyword(arg="reason", value=ast.Constant(value=text)):
                    found.add(text.partition(":")[0])
                case ast.keyword(arg="reason", value=ast.JoinedStr(values=[ast.Constant(value=text), *_])):
                    found.add(text.partition(":")[0])
                case ast.Assign(targets=[ast.Name(id="kind")], value=ast.Constant(value=str() as kind)):
                    found.add(kind)
                case ast.Assign(
                    targets=[ast.Tuple(elts=[ast.Name(id="kind"), *_])], value=ast.Tuple(elts=[ast.Constant(value=kind), *_])
                ):
                    found.add(kind)
                case ast.Assign(targets=[ast.Name(id="_FLAGS")], value=ast.Dict(values=values)):
                    found |= {pair.elts[0].value for pair in values}
                case ast.AnnAssign(target=ast.Name(id="_FLAGS"), value=ast.Dict(values=values)):
                    found |= {pair.elts[0].value for pair in values}
                case ast.FunctionDef(name="event_failure" | "not_finite"):
                    returned = [r.value for r in ast.walk(node) if isinstance(r, ast.Return)]
                    firsts = [value.elts[0] for value in returned if isinstance(value, ast.Tuple)]
                    found |= {first.value for first in firsts if isinstance(first, ast.Constant)}
                case ast.Assign(targets=[ast.Name(id="PATTERNS")], value=ast.Tuple(elts=[_, *named])):
                    found |= {pattern.value for pattern in named}
    return found | {status.text.partition(":")[0] for status in Status if status.failed}


def test_every_kind_has_cures() -> None:
    assert kinds() == set(CURES)


def test_each_is_found_in_the_sources(monkeypatch) -> None:
    for kind in tuple(CURES):
        with monkeypatch.context() as without:
            without.delitem(CURES, kind)
            assert kinds() - set(CURES) == {kind}
