"""Graphs from hand-written files: elements by kind, numbers with units, formulas as text, and bonds as arrows."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from bondgraph.errors import Problem, raise_if_any, reading_line
from bondgraph.graph.builder import Graph
from bondgraph.interchange.records import FORMAT
from bondgraph.interchange.short.documents import Document, document_of, text_of
from bondgraph.interchange.short.makers import KINDS, ElementReader, Maker
from bondgraph.model.dissipation import HEAT_PORT
from bondgraph.model.element import Element, PortRef
from screws.errors import plural
from screws.names import similar_names

KEYS = ("graph", "elements", "automata", "bonds")
"""Keys of a file; the first two are required."""
NESTED_KEYS = ("elements", "automata", "bonds", "ports", "exports")
"""Keys of a nested graph; the first is required."""
MAX_ELEMENTS = 10_000
"""Maximum number of elements, of automata and of bonds."""
NO_PARTS: Mapping[str, Maker] = MappingProxyType({})
Part = Element | Graph


def read_graph(path: str | os.PathLike[str], *, parts: Mapping[str, Maker] = NO_PARTS) -> Graph:
    """Return the graph that a file in YAML (extra `yaml`) or JSON describes; no part of the file is executed.

    Parameters
    ----------
    path : a file that ends in .yaml, .yml or .json.
    parts : additional kinds of elements by name, such as `screwbond.models.parts.makers.MAKERS`; kinds of the language have
        precedence.

    Raises `ModelError` E630 for a file that cannot be read; E631 for invalid YAML or JSON, anchors, aliases, tags; E632 for
    invalid keys and values; E633 for unknown kinds and arguments; E634 for a formula that is not arithmetic; E635 for bonds
    whose ends do not exist; and all errors of the elements, with their lines in the file. `ExtraError` E416 if PyYAML is
    missing.
    """
    return parse_graph(*text_of(path), parts=parts)


def parse_graph(text: str, file: str = "graph.yaml", *, parts: Mapping[str, Maker] = NO_PARTS) -> Graph:
    """Return the graph that a text describes, as `read_graph` does; messages call the text `file`, whose suffix selects YAML or
    JSON."""
    document = document_of(text, file)
    content = document.content
    raise_if_any(file, _wrong_keys(document, "", content, KEYS, 2))
    with reading_line(file, document.place("graph").line):
        graph = Graph(content["graph"])
    raise_if_any(file, _fill(graph, ElementReader(document, {**parts, **KINDS}, _nested), content))
    return graph


def _nested(reader: ElementReader, name: str, path: str, content: Any) -> Graph:
    document = reader.document
    raise_if_any(document.file, _wrong_keys(document, f"{path}.", content, NESTED_KEYS, 1))
    graph = Graph(name)
    problems = _fill(graph, replace(reader, within=f"{path}."), content)
    for port, end in (content.get("ports") or {}).items():
        node = _node(graph, end) if isinstance(end, str) else None
        if node is None:
            title = f'the port "{port[:60]}" is "{str(end)[:60]}", {_fault(graph, str(end))}'
            problems.append(document.problem("E635", f"{path}.ports.{port}", title, *_similar(graph, str(end))))
        else:
            graph.expose(port, node)
    for signal, source in (content.get("exports") or {}).items():
        graph.export(signal, source)
    raise_if_any(document.file, problems)
    return graph


def _fill(graph: Graph, reader: ElementReader, content: Mapping[str, Any]) -> list[Problem]:
    document, within, problems = reader.document, reader.within, list[Problem]()
    for name, described in content["elements"].items():
        made = reader.element(name, described)
        if isinstance(made, tuple):
            problems += made
        else:
            graph.add(made)
    if graph.problems:  # a bond cannot tell an invalid name from a port
        return [*problems, *graph.problems]
    for name, described in (content.get("automata") or {}).items():
        automaton = reader.automaton(name, described)
        if isinstance(automaton, tuple):
            problems += automaton
        else:
            place = document.place(f"{within}automata.{name}")
            with reading_line(place.file, place.line):
                graph.add_automaton(automaton)
    failed = content["elements"].keys() - set(graph)
    for k, chain in enumerate(content.get("bonds") or ()):
        problems += _connect(graph, document, f"{within}bonds[{k}]", chain, failed)
    return problems


def _wrong_keys(document: Document, within: str, content: Any, keys: Sequence[str], needed: int) -> list[Problem]:
    if not isinstance(content, Mapping):
        return [document.problem("E632", within[:-1], "the graph must be a mapping", f"{keys[0]}: ...")]
    if content.get("format") == FORMAT and not within:
        cure = "load_model, which reads such files"
        return [document.problem("E632", "format", "the file was written by save_model, not by a person", cure)]
    what = "the graph" if within else "the file"
    problems = [
        document.problem("E632", f"{within}{key}", f'unknown key "{key[:60]}"', ", ".join(similar_names(key, keys) or keys))
        for key in content
        if key not in keys
    ]
    missing = [key for key in keys[:needed] if key not in content]
    problems += [document.problem("E632", within[:-1], f'{what} has no "{key}"', f"{key}: ...") for key in missing]
    for key, (kind, words) in _FORMS.items():
        if key not in content or key not in keys:
            continue
        path, value = f"{within}{key}", content[key]
        if not isinstance(value, kind):
            problems.append(document.problem("E632", path, f'"{key}" is not {words}', f"{key}: {words}"))
        elif isinstance(value, (dict, list)) and len(value) > MAX_ELEMENTS:
            title = f'"{key}" has {plural(len(value), "entry")}; the limit is {MAX_ELEMENTS}'
            problems.append(document.problem("E632", path, title, "a script with a loop"))
    return problems


_FORMS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "graph": (str, "a name"),
    "elements": (dict, "a mapping of names to elements"),
    "automata": ((dict, type(None)), "a mapping of names to automata"),
    "bonds": ((list, type(None)), "a list of chains such as source -> junction"),
    "ports": ((dict, type(None)), "a mapping of names to elements, or to their ports"),
    "exports": ((dict, type(None)), "a mapping of names to signals"),
}


def _connect(graph: Graph, document: Document, path: str, chain: Any, failed: set[str]) -> list[Problem]:
    """Add the bonds of a chain "a -> b -> c"; return its problems, except those with names in `failed`, which were reported
    before."""
    ends = [end.strip() for end in re.split(r"(?<!-)-+>", chain)] if isinstance(chain, str) else []
    if len(ends) < 2 or not all(ends):
        title = f"{chain if isinstance(chain, str) else str(chain)[:60]!r} is not a chain of bonds"
        return [document.problem("E635", path, title, "tail -> head, for the half arrow of each bond", "tail -> middle -> head")]
    nodes = [_node(graph, end) for end in ends]
    unknown = [end for end, node in zip(ends, nodes, strict=True) if node is None]
    if unknown:
        return [
            document.problem("E635", path, f'a bond joins "{end[:60]}", {_fault(graph, end)}', *_similar(graph, end, failed))
            for end in unknown
            if end not in failed and end.rpartition(".")[0] not in failed
        ]
    place = document.place(path)
    with reading_line(place.file, place.line):
        for tail, head in itertools.pairwise(nodes):
            graph.connect(tail, head)  # type: ignore[arg-type]
    return []


def _node(graph: Graph, end: str) -> Part | PortRef | None:
    if end in graph.parts:
        return graph.parts[end]  # type: ignore[return-value]
    owner, _, port = end.rpartition(".")
    part: Any = graph.parts.get(owner)
    if part is None or not _has_port(part, port):
        return None
    port_of_part: PortRef = part.port(port)
    return port_of_part


def _has_port(part: Part, port: str) -> bool:
    names = _ports(part)
    return port in names or port == HEAT_PORT or not names


def _ports(part: Part) -> list[str]:
    return list(part.ports) if isinstance(part, Graph) else [each.name for each in part.ports]


def _fault(graph: Graph, end: str) -> str:
    owner, _, port = end.rpartition(".")
    return f'but "{owner}" has no port "{port[:60]}"' if owner in graph.parts else "which is not an element"


def _similar(graph: Graph, end: str, failed: Collection[str] = ()) -> tuple[str, ...]:
    names = [*graph.parts, *failed]
    near = similar_names(end, names, most=3)
    owner = end.rpartition(".")[0]
    if owner in graph.parts:
        return (f"one of its ports: {', '.join(_ports(graph.parts[owner]))}",)  # type: ignore[arg-type]
    return (" or ".join(near) if near else f"one of {', '.join(names[:12])}",)
