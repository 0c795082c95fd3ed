"""Elements of short files: their kinds and arguments, with units and formulas as text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bondgraph import signals
from bondgraph.elements.blocks import Block
from bondgraph.elements.chemistry import Ce, Re
from bondgraph.elements.friction import Friction
from bondgraph.elements.heat import HeatTransfer
from bondgraph.elements.inertial import IC
from bondgraph.elements.junction_structure import GY, J0, J1, MGY, MTF, TF, X0, X1
from bondgraph.elements.one_ports import C, Constraint, Diode, EulerJunction, I, R, Se, Sf, Switch
from bondgraph.errors import ModelError, Problem, reading_line
from bondgraph.graph.builder import Graph
from bondgraph.interchange.formulas import InvalidFormula
from bondgraph.interchange.short.arithmetic import Arithmetic, arithmetic
from bondgraph.interchange.short.documents import Document
from bondgraph.model.automata import Automaton, Transition
from bondgraph.model.element import Element
from bondgraph.model.laws import Parameter
from bondgraph.model.modal import by_mode
from screws.names import similar_names
from screws.numeric_arguments import excerpt

Maker = Callable[..., Element | Graph]

_ELEMENTS: tuple[Maker, ...] = (Se, Sf, C, I, R, IC, TF, GY, MTF, MGY, EulerJunction, J0, J1, X0, X1)
_ELEMENTS += (Constraint, Friction, Switch, Diode, HeatTransfer, Ce, Re)
_CURVES = ("curve", "characteristic_map")
KINDS: Mapping[str, Maker] = MappingProxyType(
    {maker.__name__: maker for maker in _ELEMENTS}
    | {name: getattr(signals, name) for name in signals.__all__ if name not in _CURVES}
)
"""Function that makes an element or signal block, by name; `Block` and `Graph` have special forms."""

FORMULAS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Se": {"effort": ""},
        "Sf": {"flow": ""},
        "R": {"effort": "f", "flow": "e", "relation": "e f"},
        "C": {"energy": "q", "output": "q", "inverse": "e", "charge": "e"},
        "I": {"energy": "p", "output": "p", "inverse": "f", "flux": "f"},
        "IC": {"inertia": "q", "kinetic": "q v", "potential": "q", "bias": "q v", "acceleration": "q v e"},
        "MTF": {"matrix": ""},
        "MGY": {"matrix": ""},
        "EulerJunction": {"matrix": ""},
        "Constraint": {"position": ""},
        "Friction": {"scale": "", "backward": ""},
        "HeatTransfer": {"heat": "T1 T2"},
    }
)
"""First arguments of each formula, by kind of element and name of the formula; parameters and signals follow."""

_USUAL_WORDS = {
    **dict.fromkeys(("resistor", "resistance", "damper", "friction"), "R"),
    **dict.fromkeys(("capacitor", "capacitance", "spring"), "C"),
    **dict.fromkeys(("inductor", "inductance", "mass", "inertia"), "I"),
    **dict.fromkeys(("voltage", "force", "torque", "pressure"), "Se"),
    **dict.fromkeys(("current", "velocity", "speed"), "Sf"),
    **dict.fromkeys(("transformer", "lever"), "TF"),
    "gyrator": "GY",
}
"""Kind for each common name in physics, for messages."""
_QUANTITY = re.compile(r"(?>([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?))(?: +|(?=[^\d\s.,:]))((?![*/+\-<>=(\[]).+)")
"""Number and unit; the number is as long as possible, so that e-3 in 1e-3 is not a unit."""
_FORM = "name: {kind: {argument: value}}, name: {kind: value}, or name: kind"
BLOCK_KEYS = ("equations", "inputs", "states", "rates", "updates", "parameters", "units", "symbols", "period", "offset", "breaks")
"""Keys of a block; the first is required."""
TRANSITION_KEYS = ("from", "to", "when", "signals", "resets", "kind", "error", "impact", "accumulates", "passes")
"""Keys of a transition; the first three are required."""


def quantity(value: Any) -> Any:
    """Return a value of a file as an argument: "2 kN/m" and {value: [1, 2], unit: m} as a `Parameter`, {automaton: a, values:
    {free: 0.0, touching: 5.0}} as a parameter with a value for each state, and anything else unchanged.

    >>> quantity("2 kN/m").value, quantity("2 kN/m").unit, quantity("spring.q"), quantity(3)
    (2.0, 'kN/m', 'spring.q', 3)
    """
    if isinstance(value, Mapping):
        if set(value) == {"value", "unit"} and isinstance(value["unit"], str):
            return Parameter(value["value"], value["unit"])
        if set(value) == {"automaton", "values"} and isinstance(value["values"], Mapping):
            return by_mode(value["automaton"], {state: quantity(each) for state, each in value["values"].items()})
        return {key: quantity(each) for key, each in value.items()}
    parts = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    return Parameter(float(parts[1]), parts[2]) if parts else value


@dataclass(frozen=True)
class ElementReader:
    """Reader of the elements of a document, with a table of kinds; it returns an element or its problems."""

    document: Document
    kinds: Mapping[str, Maker]
    nested: Callable[[ElementReader, str, str, Any], Graph]
    """Function that reads a nested graph from its name, its path in the document and its content."""
    within: str = ""
    """Path of the graph whose elements are read, ending with a dot."""

    def element(self, name: str, content: Any) -> Element | Graph | tuple[Problem, ...]:
        path = f"{self.within}elements.{name}"
        kind, described = next(iter(content.items())) if isinstance(content, Mapping) and len(content) == 1 else (content, {})
        if not isinstance(kind, str):
            count = len(content) if isinstance(content, Mapping) and content else "no"
            return (self._problem("E632", path, f'"{name}" has {count} kind{"s" if count != "no" else ""}', _FORM),)
        if kind == "Block":
            return self._made(path, name, kind, lambda: self._block(name, path, described))
        if kind == "Graph":
            return self._made(path, name, kind, lambda: self.nested(self, name, f"{path}.{kind}", described))
        if kind not in self.kinds:
            usual = _USUAL_WORDS.get(kind.lower())
            near = [usual] if usual else similar_names(kind, self.kinds) or list(KINDS)[:12]
            return (self._problem("E633", path, f'"{name}" has the unknown kind "{kind[:60]}"', ", ".join(near)),)
        maker = self.kinds[kind]
        takes = [each for each in inspect.signature(maker).parameters.values() if each.kind is not each.VAR_KEYWORD][1:]
        is_value = isinstance(described, Mapping) and set(described) in ({"value", "unit"}, {"automaton", "values"})
        if not isinstance(described, Mapping) or (is_value and not set(described) & {each.name for each in takes}):
            return self._made(path, name, kind, lambda: self._of_value(name, path, kind, maker, takes, described))
        names = [each.name for each in takes if each.kind is not each.VAR_POSITIONAL]
        for word in described:
            if word not in names:
                near = similar_names(word, names, most=3) or names
                title = f'"{name}": {kind} has no argument "{word[:60]}"'
                return (self._problem("E633", f"{path}.{kind}.{word}", title, ", ".join(near)),)
        return self._made(path, name, kind, lambda: maker(name, **self._arguments(f"{path}.{kind}", kind, described)))

    def automaton(self, name: str, content: Any) -> Automaton | tuple[Problem, ...]:
        path = f"{self.within}automata.{name}"

        def made() -> Automaton:
            self._need_keys(path, content, ("states", "transitions"), ("initial",))
            self._need_texts(path, content, ("initial",))
            edges = content["transitions"] if isinstance(content["transitions"], list) else [content["transitions"]]
            transitions = [self._transition(f"{path}.transitions[{k}]", edge) for k, edge in enumerate(edges)]
            states = content["states"]
            if not (isinstance(states, list) and states and all(isinstance(state, str) for state in states)):
                raise self._error("E632", f"{path}.states", f'"{name}" needs a list of states', "states: [open, closed]")
            return Automaton(name, states, content.get("initial", states[0]), transitions)

        return self._made(path, name, "automaton", made)

    def _transition(self, path: str, edge: Any) -> Transition:
        self._need_keys(path, edge, TRANSITION_KEYS[:3], TRANSITION_KEYS[3:])
        self._need_texts(path, edge, ("from", "to", "when", "kind", "error", "accumulates", "passes"))
        paths = self._signals(path, edge, [edge["when"], *dict(edge.get("resets") or {}).values()])
        resets = []
        for state, text in dict(edge.get("resets") or {}).items():
            reset = self._formula(f"{path}.resets.{state}", str(text), list(paths))
            op = arithmetic(str(text), reset.used)
            resets.append((state, op, [paths[word] for word in reset.used]))
        guard = self._formula(f"{path}.when", edge["when"], list(paths))
        words = {word: edge[word] for word in TRANSITION_KEYS[5:] if word in edge}
        used = arithmetic(edge["when"], guard.used)
        return Transition(edge["from"], edge["to"], used, [paths[word] for word in guard.used], resets, **words)

    def _made(self, path: str, name: str, kind: str, make: Callable[[], Any]) -> Any:
        place = self.document.place(path)
        try:
            with reading_line(place.file, place.line):
                return make()
        except ModelError as error:
            return error.problems
        except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
            what = str(error) or type(error).__name__
            return (self._problem("E633", path, f'"{name}": {kind} cannot be made from this entry: {what[:200]}', _FORM),)

    def _of_value(
        self, name: str, path: str, kind: str, maker: Maker, takes: Sequence[inspect.Parameter], value: Any
    ) -> Element | Graph:
        first = takes[0] if takes else None
        if first is None or first.kind is first.KEYWORD_ONLY:
            words = ", ".join(each.name for each in takes[:8])
            raise self._error(
                "E633", path, f'"{name}": {kind} needs named arguments', f"{kind}: {{argument: value}}, with arguments {words}"
            )
        if first.kind is first.VAR_POSITIONAL:
            return maker(name, quantity(value))
        return maker(name, **self._arguments(f"{path}.{kind}", kind, {first.name: value}))

    def _arguments(self, path: str, kind: str, described: Mapping[str, Any]) -> dict[str, Any]:
        formulas, arguments = FORMULAS.get(kind, {}), dict[str, Any]()
        texts = {word: text for word, text in described.items() if word in formulas and _is_formula(kind, text)}
        for word, value in described.items():
            if word not in texts and word != "signals" and value is not None:
                arguments[word] = quantity(value)
        parameters = described.get("parameters") or {}
        if "parameters" in described and not isinstance(parameters, Mapping):
            raise self._error("E632", f"{path}.parameters", "parameters must map names to numbers", "parameters: {k: 2.0}")
        if texts or "signals" in described:
            coordinates = described.get("coordinates") or {}
            if coordinates and isinstance(coordinates, Mapping) and all(isinstance(each, str) for each in coordinates.values()):
                arguments["coordinates"] = list(coordinates.values())  # the formula calls them by their keys
            else:
                coordinates = dict.fromkeys(map(_last, coordinates))
            paths = self._signals(path, described, list(texts.values()), (*parameters, *coordinates))
            for word, text in texts.items():
                names = [*formulas[word].split(), *parameters, *coordinates, *paths]
                arguments[word] = self._formula(f"{path}.{word}", text, names)
            if paths:
                arguments["signals"] = dict(paths)
        return arguments

    def _signals(
        self, path: str, described: Mapping[str, Any], texts: Sequence[Any], taken: Sequence[str] = ()
    ) -> dict[str, str]:
        """Return signal paths by their names in formulas; `time` need not be listed."""
        listed = described.get("signals") or []
        listed = listed if isinstance(listed, (list, Mapping)) else [listed]
        paths = dict(listed) if isinstance(listed, Mapping) else {_last(each): each for each in listed}
        if len(paths) < len(listed) or not all(isinstance(each, str) for each in (*paths, *paths.values())):
            cure = "signals: {x: left.q, y: right.q}"
            raise self._error("E632", f"{path}.signals", "signals must be paths with different names", cure)
        if "time" not in (*paths, *taken) and any(re.search(r"\btime\b", str(text)) for text in texts):
            paths["time"] = "time"
        return paths

    def _formula(self, path: str, text: Any, names: Sequence[str]) -> Arithmetic:
        text = text if isinstance(text, str) else repr(text)
        try:
            return arithmetic(text, names)
        except InvalidFormula as error:
            unread = "" if names else ", or with signals and parameters that are listed beside it, as in signals: [time]"
            cure = f"arithmetic with {', '.join(names) or 'numbers'}{unread}; docs/files.md lists the functions"
            raise self._error("E634", path, f'the formula "{excerpt(text)}" is invalid: {error}', cure) from None

    def _block(self, name: str, path: str, described: Any) -> Element:
        path = f"{path}.Block"
        self._need_keys(path, described, ("equations",), BLOCK_KEYS[1:])
        inputs, equations = dict(described.get("inputs") or {}), described["equations"]
        if not isinstance(equations, Mapping):
            raise self._error("E632", f"{path}.equations", "equations must be formulas by name", 'equations: {y: "2*u"}')
        parts = [described.get(word) or {} for word in ("states", "parameters")]
        local = [*inputs, *(name for part in parts for name in part), *equations]
        if "time" not in local and any(re.search(r"\btime\b", str(text)) for text in equations.values()):
            inputs["time"] = "time"
            local.append("time")
        laws = []
        for out, text in equations.items():
            used = self._formula(f"{path}.equations.{out}", text, local).used
            laws.append((out, arithmetic(str(text), used), used))
        words = {word: quantity(described[word]) for word in BLOCK_KEYS[2:] if word in described}
        return Block(name, laws, inputs=inputs, **words)

    def _need_keys(self, path: str, content: Any, needed: Sequence[str], more: Sequence[str]) -> None:
        what = path.rpartition(".")[2]
        if not isinstance(content, Mapping):
            raise self._error("E632", path, f"{what} must be a mapping", f"{what}: {{{', '.join(needed)}}}")
        for key in (*content, *needed):
            if key not in (*needed, *more):
                near = similar_names(key, (*needed, *more), most=2) or [*needed, *more]
                raise self._error("E632", f"{path}.{key}", f'{what} has the unknown key "{key[:60]}"', ", ".join(near))
            if key not in content:
                raise self._error("E632", path, f'{what} has no "{key}"', f"{key}: ... in {what}")

    def _need_texts(self, path: str, content: Mapping[str, Any], words: Sequence[str]) -> None:
        for word in words:
            if word in content and not isinstance(content[word], str):
                cure = f'{word}: "{"q - 1" if word == "when" else "open"}"'
                raise self._error("E632", f"{path}.{word}", f"{word}: {str(content[word])[:40]} is not text", cure)

    def _problem(self, code: str, path: str, title: str, *cures: str) -> Problem:
        return self.document.problem(code, path, title, *cures)

    def _error(self, code: str, path: str, title: str, *cures: str) -> ModelError:
        return ModelError(self.document.file, [self._problem(code, path, title, *cures)])


def _is_formula(kind: str, value: Any) -> bool:
    is_text = isinstance(value, str) and not isinstance(quantity(value), Parameter)
    return is_text or (type(value) in (int, float) and kind not in ("Se", "Sf"))


def _last(path: Any) -> str:
    return str(path).rpartition(".")[2]
