"""Graphs of short files as a script would build them: the YAML as PyYAML reads it, and formulas as Python evaluates them.

This independent reader shares only the tables of kinds and keys, and the reader of quantities, with `read_graph`.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import yaml

from bondgraph import Automaton, Block, Element, Graph, Transition
from bondgraph.interchange.short.makers import BLOCK_KEYS, FORMULAS, KINDS, TRANSITION_KEYS, quantity
from screws import scalars

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}
_SCOPE = {name: getattr(scalars, name) for name in (*scalars.FUNCTIONS, "where", "array")} | {"pi": math.pi, "__builtins__": {}}
_COMPARISONS = {ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "less", ast.GtE: "less_equal", ast.Eq: "equal"}


class _Calls(ast.NodeTransformer):
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        ends = [node.left, *node.comparators]
        turned = isinstance(node.ops[0], (ast.Gt, ast.GtE))
        return self._call(_COMPARISONS[type(node.ops[0])], ends[::-1] if turned else ends)

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return self._call("array", [node])

    @staticmethod
    def _call(name: str, operands: list[Any]) -> ast.AST:
        return ast.Call(ast.Name(name, ast.Load()), operands, [])


def formula(text: str, names: Sequence[str]) -> Callable[..., Any]:
    """Return the function that a script would write: `lambda names: text`."""
    words = [name if name.isidentifier() else f"unread_{k}" for k, name in enumerate(names)]
    tree = ast.parse(f"lambda {', '.join(words)}: ({' '.join(text.split())})", mode="eval")
    code = compile(ast.fix_missing_locations(_Calls().visit(tree)), "formula", "eval")
    function: Callable[..., Any] = eval(code, dict(_SCOPE))  # noqa: S307
    return function


def script_of(text: str) -> Graph:
    """Return the graph of a short file, read independently of `read_graph`."""
    content = _content(yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    return _filled(Graph(content["graph"]), content)


def _filled(graph: Graph, content: Mapping[str, Any]) -> Graph:
    for name, described in content["elements"].items():
        graph.add(_element(name, described))
    for name, described in (content.get("automata") or {}).items():
        edges = described["transitions"]
        transitions = [_transition(each) for each in (edges if isinstance(edges, list) else [edges])]
        graph.add_automaton(Automaton(name, described["states"], described.get("initial", described["states"][0]), transitions))
    for chain in content.get("bonds") or ():
        for tail, head in pairwise(re.split(r"-+>", chain)):
            graph.connect(_end(graph, tail.strip()), _end(graph, head.strip()))
    for port, end in (content.get("ports") or {}).items():
        graph.expose(port, _end(graph, end))
    for signal, source in (content.get("exports") or {}).items():
        graph.export(signal, source)
    return graph


def _content(node: Any) -> Any:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _content(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_content(each) for each in node.value]
    text = node.value
    if node.style or not (text in _WORDS or _NUMBER.fullmatch(text)):
        return text
    return _WORDS[text] if text in _WORDS else float(text) if re.search(r"[.eE]", text) else int(text)


def _end(graph: Graph, end: str) -> Any:
    owner, _, port = end.rpartition(".")
    return graph.parts[end] if end in graph.parts else graph.parts[owner].port(port)  # type: ignore[union-attr]


def _element(name: str, described: Any) -> Element | Graph:
    is_named = isinstance(described, Mapping)
    kind, arguments = next(iter(described.items())) if is_named else (described, {})
    if kind == "Block":
        return _block(name, arguments)
    if kind == "Graph":
        return _filled(Graph(name), arguments)
    maker = KINDS[kind]
    first = list(inspect.signature(maker).parameters.values())[1:2]
    takes_value = "value" in list(inspect.signature(maker).parameters)[1:]
    is_quantity = isinstance(arguments, Mapping) and set(arguments) == {"value", "unit"} and not takes_value
    if not isinstance(arguments, Mapping) or is_quantity:
        if first[0].kind is inspect.Parameter.VAR_POSITIONAL:
            return maker(name, quantity(arguments))
        arguments = {first[0].name: arguments}
    return maker(name, **_arguments(kind, arguments))


def _arguments(kind: str, described: Mapping[str, Any]) -> dict[str, Any]:
    variables = FORMULAS.get(kind, {})
    result, texts = dict[str, Any](), dict[str, str]()
    for word, value in described.items():
        is_text = isinstance(value, str) and quantity(value) is value
        is_number = type(value) in (int, float) and kind not in ("Se", "Sf")
        if word in variables and (is_text or is_number):
            texts[word] = value if is_text else repr(value)
        elif word != "signals" and value is not None:
            result[word] = quantity(value)
    if not texts and "signals" not in described:
        return result
    others = list(described.get("parameters") or {})
    coordinates = described.get("coordinates") or {}
    if isinstance(coordinates, Mapping) and coordinates and all(isinstance(each, str) for each in coordinates.values()):
        result["coordinates"] = list(coordinates.values())
        others += coordinates
    else:
        others += dict.fromkeys(str(each).rpartition(".")[2] for each in coordinates)
    read = _signals(described, texts.values(), others)
    for word, text in texts.items():
        result[word] = formula(text, [*variables[word].split(), *others, *read])
    return {**result, "signals": read} if read else result


def _signals(described: Mapping[str, Any], texts: Any, taken: Sequence[str]) -> dict[str, str]:
    listed = described.get("signals") or []
    listed = [listed] if isinstance(listed, str) else listed
    read = dict(listed) if isinstance(listed, Mapping) else {each.rpartition(".")[2]: each for each in listed}
    if "time" not in (*read, *taken) and any(re.search(r"\btime\b", str(text)) for text in texts):
        read["time"] = "time"
    return read


def _used(text: str, names: Sequence[str]) -> list[str]:
    return [word for word in dict.fromkeys(re.findall(r"[^\W\d]\w*", text)) if word in names]


def _block(name: str, described: Mapping[str, Any]) -> Element:
    inputs, equations = dict(described.get("inputs") or {}), described["equations"]
    local = [*inputs, *(described.get("states") or {}), *(described.get("parameters") or {}), *equations]
    if "time" not in local and any(re.search(r"\btime\b", str(text)) for text in equations.values()):
        inputs["time"] = "time"
        local.append("time")
    laws = []
    for out, text in equations.items():
        used = _used(str(text), local)
        laws.append((out, formula(str(text), used), used))
    return Block(name, laws, inputs=inputs, **{word: quantity(described[word]) for word in BLOCK_KEYS[2:] if word in described})


def _transition(edge: Mapping[str, Any]) -> Transition:
    resets = edge.get("resets") or {}
    read = _signals(edge, [edge["when"], *resets.values()], ())

    def law(text: Any) -> tuple[Callable[..., Any], list[str]]:
        used = _used(str(text), list(read))
        return formula(str(text), used), [read[word] for word in used]

    words = {word: edge[word] for word in TRANSITION_KEYS[5:] if word in edge}
    return Transition(
        edge["from"], edge["to"], *law(edge["when"]), [(state, *law(text)) for state, text in resets.items()], **words
    )
