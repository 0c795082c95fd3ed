"""Graph: mutable builder of a bond graph; `freeze` checks it and returns a frozen `Model`."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Never, Unpack

from bondgraph.checks import check_model
from bondgraph.elements.junction_structure import J0, J1
from bondgraph.elements.one_ports import Sf
from bondgraph.errors import ModelError, Problem, caller_place, raise_if_any, refusal, unknown_name
from bondgraph.graph.branches import Node, branch, joined, junction_name
from bondgraph.graph.changes import remove_bond, remove_part, replace_part
from bondgraph.graph.draft import Draft, Link
from bondgraph.graph.flatten import described_part, described_parts, flatten
from bondgraph.model.arguments import is_name, names_of, need_text
from bondgraph.model.automata import Automaton, Start
from bondgraph.model.domains import Domain
from bondgraph.model.element import Element, PortRef, remember_description
from bondgraph.model.model import CollisionSet, ContactPoint, Model, Visible
from bondgraph.output.cells import cell, code, line
from bondgraph.run_arguments import Initial, KeepNamed, RunSettings, Sinkable, spelled_settings
from bondgraph.tape.garbage_collection import paused_collection
from screws.errors import CallError, is_called_by_user, plural
from screws.names import answer_old_names

if TYPE_CHECKING:
    from bondgraph.compile.compiled import Compiled
    from bondgraph.render.diagram import BondLabels, Diagram
    from bondgraph.run.results.result import Result

MAX_SHOWN = 40
"""Maximum number of elements that a printed graph shows."""


@answer_old_names
class Graph(Draft):
    """Bond graph under construction, or a part of a larger one.

    >>> from bondgraph import C, J1, R, Graph
    >>> rc = Graph("rc")
    >>> loop = J1("loop")
    >>> _ = rc.connect(loop, C("capacitor", capacitance=1.0, initial=10.0))
    >>> _ = rc.connect(loop, R("resistor", 2.0))
    >>> sorted(rc.freeze().elements)
    ['capacitor', 'loop', 'resistor']
    """

    def _cure_of_assignment(self, name: str) -> str:
        return f'graph.replace("{name}", part), or graph.remove("{name}")'

    _cure_of_arithmetic = "graph.add(other), which nests a graph, and graph.connect(tail, head)"

    _other_words = dict.fromkeys(("run", "step", "solve"), ".simulate(t_end)")

    def __setattr__(self, name: str, value: Any) -> None:
        if type(self) is Graph and not hasattr(self, name) and is_called_by_user():
            cure = f"graph.add({name}), or graph.connect({name}, other)"
            raise CallError("E684", f"Graph has no attribute {name!r} to set; parts are added, not assigned", cure)
        object.__setattr__(self, name, value)

    def __getitem__(self, path: str) -> Element | Graph:
        """Return the element or nested graph with this name, or at this path into nested graphs, "left.damper"; an unknown name
        raises a KeyError that lists similar names."""
        first, _, inner_path = str(path).partition(".")
        part = self.parts.get(first)
        if part is None or (inner_path and not isinstance(part, Graph)):
            raise unknown_name(f'part in "{self.name}" called', path, self.parts)
        assert isinstance(part, (Element, Graph))
        part = part[inner_path] if inner_path and isinstance(part, Graph) else part
        if isinstance(part, Element):
            remember_description(part, partial(described_part, weakref.ref(self), path))
        return part

    def __repr__(self) -> str:
        return f'{type(self).__name__}("{self.name}", {plural(len(self.parts), "part")})'

    def __str__(self) -> str:
        parts = list(described_parts(self))
        more = [f"... {len(parts) - MAX_SHOWN} more"] if len(parts) > MAX_SHOWN else []
        return "\n".join([repr(self), *parts[:MAX_SHOWN], *more])

    def _repr_svg_(self) -> str | None:
        return None if self._unfinished() else self.diagram().svg

    def _repr_html_(self) -> str | None:
        error = self._unfinished()
        return cell(line(self.name, "under construction"), code(str(error))) if error else None

    def _unfinished(self) -> ModelError | None:
        """Return the error of a graph that cannot be drawn yet, else None: notebook cells also display unfinished graphs."""
        try:
            self.freeze()
        except ModelError as error:
            return error
        return None

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the parts, in the order of addition."""
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __bool__(self) -> bool:
        """Return True, because an empty graph is also a graph."""
        return True

    def __contains__(self, path: object) -> bool:
        first, _, inner_path = str(path).partition(".")
        part = self.parts.get(first)
        return part is not None and (not inner_path or (isinstance(part, Graph) and inner_path in part))

    def add(self, first: Element | Graph, *others: Element | Graph) -> Graph:
        """Add elements or nested graphs; adding the same part again has no effect.

        Raises `ModelError` E100 for anything else, E114 for a graph that contains this graph.
        """
        parts = (first, *others)
        for part in parts:
            self._need_parts(part)
            if isinstance(part, PortRef):
                title = f'add takes parts, not the port "{part.name}" of "{part.owner.name}"'
                raise refusal("E100", title, "the part, without .port(...)", about=self.name)
            existing = self.parts.get(part.name)
            if existing is not None and existing is not part:
                title = f'two parts of "{self.name}" are called "{part.name}"'
                places = (existing.place, part.place)
                self.problems.append(Problem("E101", title, places=places, cures=("give one of them another name",)))
            elif existing is None and not is_name(part.name):
                marks = "a dot separates a part from its contents, a colon a bond from its variables"
                details = (marks if part.name.strip() else "it is empty",)
                cures = ("a name of letters, digits, spaces or underscores",)
                title = f'"{part.name}" is not a valid name for a part'
                self.problems.append(Problem("E102", title, details, (part.place,), cures))
            self.parts.setdefault(part.name, part)
        return self

    def connect(self, tail: Node, head: Node | None = None, *others: Never) -> Graph:
        """Add a bond with its half arrow (positive power) from tail to head; ends that are not in the graph yet are added.

        Raises `ModelError` E100 unless there are two ends, and for anything but parts and ports; E114 for a port of this graph or
        a graph that contains this graph.
        """
        self._need_parts(*(end for end in (tail, head, *others) if end is not None))
        if head is None or others:
            raise _no_bond(self, (tail, *(() if head is None else (head,)), *others))
        ends = []
        for end in (tail, head):
            reference = end if isinstance(end, PortRef) else PortRef(end, "")
            part = reference.owner
            if not isinstance(part, (Element, Graph)) or self.parts.get(part.name) is not part:
                self.add(part)
            ends.append(reference)
        self.links.append(Link(ends[0], ends[1], caller_place()))
        return self

    def between(self, start: Node | None, stop: Node | None, *parts: Node) -> Graph:
        """Put parts that share one flow between two nodes, None for ground; junctions and half arrows are added.

        Between two J0 (of electric circuits, fluids, heat) the parts are in series, and their flow runs from `start` to `stop`.
        Between two J1 (of mechanics) they are in parallel, and their flow is the velocity of `stop` minus the velocity of
        `start`: springs and dampers pull when extended. A source raises the effort or flow of `stop` above that of `start`. A
        single part with two ports, such as a motor or a thermal conductance, conducts from `start` to `stop`, which may be of any
        type, but not ground.

        >>> from bondgraph import C, J0, R, Se, Graph
        >>> rc, node = Graph("rc"), J0("node")
        >>> _ = rc.between(None, node, Se("supply", 5.0), R("r", 100.0)).between(node, None, C("c", capacitance=1e-3))
        >>> round(float(rc.simulate(1.0, progress=False)["c.effort"][-1]), 3)
        5.0

        Raises `ModelError` E178 if the nodes of other parts are not both J0 or both J1, or if no parts are given.
        """
        self._need_parts(*(end for end in (start, stop) if end is not None), *parts)
        for tail, head in list(branch(self.name, start, stop, parts, self.parts)):
            self.connect(tail, head)
        return self

    def series(self, *parts: Node) -> Element:
        """Add parts that share one flow, and return their J1, named after the first.

        Power is positive out of sources and into all other parts.

        Raises `ModelError` E178 for no parts.
        """
        return self._share(J1, "loop of", parts)

    def parallel(self, *parts: Node) -> Element:
        """Add parts that share one effort, and return their J0, named after the first, as `series` does.

        Raises `ModelError` E178 for no parts.
        """
        return self._share(J0, "node of", parts)

    def _share(self, junction: Callable[[str], Element], word: str, parts: Sequence[Node]) -> Element:
        self._need_parts(*parts)
        shared = junction(junction_name(self.name, word, parts, self.parts))
        for tail, head in joined(shared, parts):
            self.connect(tail, head)
        return shared

    def _need_parts(self, *ends: Any) -> None:
        for end in ends:
            part = end.owner if isinstance(end, PortRef) else end
            if not isinstance(part, (Element, Graph)):
                raise _no_part(part, self)
            if isinstance(part, Graph):
                if part is self and isinstance(end, PortRef):
                    raise _own_port(self, end.name)
                if part is self or (self.is_inside and self in _nested(part)):
                    raise _contains_itself(self, part)
                part.is_inside = True

    def remove(self, name: str | Element | Graph) -> Graph:
        """Remove a part, or the part with this name or path into nested graphs, `left.damper`, with its bonds, the wires to it
        and the ports that expose it. Junctions stay; `freeze` reports signals that other parts still read from it.

        Raises `ModelError` E100 for anything but a part or a name, E138 for an unknown part.
        """
        if not isinstance(name, str):
            self._need_parts(name)
            raise_if_any(self.name, remove_part(self, name.name, name))
            return self
        first, _, inner_path = name.partition(".")
        inside = self.parts.get(first)
        if inner_path and isinstance(inside, Graph):
            inside.remove(inner_path)
        else:
            raise_if_any(self.name, remove_part(self, name))
        return self

    def disconnect(self, tail: Node | str, head: Node | str) -> Graph:
        """Remove the bond between two parts or ports, in either direction; parts may be given by name, and both stay.

        Raises `ModelError` E100 for anything but parts and ports, E138 if they have no bond, or several.
        """
        self._need_parts(*(end for end in (tail, head) if not isinstance(end, str)))
        raise_if_any(self.name, remove_bond(self, tail, head))
        return self

    def replace(self, name: str, part: Element | Graph) -> Graph:
        """Replace the part `name` by another part of the same name, which takes over its bonds, wires and exposed ports.

        `name` may be a path into nested graphs, `left.damper`. The new part must have the same ports (or one port, like the old
        part, that takes all its bonds), the same signal inputs, at least the same exports, and all signals that other parts read.

        Raises `ModelError` E100 for anything but a part, E138 for an unknown part, or for a new part with another name, other
        ports, inputs or exports.
        """
        self._need_parts(part)
        first, _, inner_path = name.partition(".")
        inside = self.parts.get(first)
        if inner_path and isinstance(inside, Graph):
            inside.replace(inner_path, part)
            return self
        raise_if_any(self.name, replace_part(self, name, part))
        return self

    def port(self, name: str) -> PortRef:
        """Return a reference to an exposed port of this graph, for `connect` in the graph around it."""
        return PortRef(self, name)

    def expose(self, name: str, inner: Element | PortRef | Graph) -> Graph:
        """Make a port or junction of this graph connectable from outside under `name`."""
        need_text("shaft", name=name)
        reference = inner if isinstance(inner, PortRef) else PortRef(inner, "")
        self.add(reference.owner)
        self._check_unique("port", name, self.ports)
        self.ports[name] = reference
        return self

    def sense(self, name: str, domain: Domain | str | None = None) -> str:
        """Expose a port that draws no flow, and return the path of its effort, a signal of this graph."""
        sensor = Sf(f"{name} sensor", domain=domain)
        self.expose(name, self.parallel(sensor))
        return f"{sensor.name}.effort"

    def declare_input(self, *names: str, fed_by: str = "") -> Graph:
        """Declare signal inputs; elements inside refer to them by these names. `fed_by`, the call that feeds them, is the cure in
        the error for an input without a source."""
        names_of(names)
        self.fed_by = fed_by or self.fed_by
        for name in names:
            self.inputs[name] = None
        return self

    def wire(self, source: str, part: Graph, name: str) -> Graph:
        """Feed the input `name` of a nested graph with the signal at path `source` of this graph."""
        need_text("spring.q", source=source, name=name)
        self.add(part)
        if name not in part.inputs:
            declared = ", ".join(part.inputs) or "none"
            title = f'"{part.name}" has no signal input "{name}"'
            details = (f"declared inputs: {declared}",)
            self.problems.append(Problem("E107", title, details, (caller_place(),), (f'{part.name}.declare_input("{name}")',)))
        self.wires[part.name, name] = source
        return self

    def export(self, name: str, path: str) -> Graph:
        """Give a signal inside this graph a short name, seen from outside as `<graph>.<name>`."""
        need_text("spring.q", name=name, path=path)
        self._check_unique("export", name, self.exports)
        self.exports[name] = path
        return self

    def add_automaton(self, automaton: Automaton) -> Graph:
        """Add a finite state machine; its mode is the signal `<name>.mode`."""
        self._check_unique("automaton", automaton.name, self.automata)
        self.automata[automaton.name] = replace(automaton, place=caller_place())
        return self

    def start(self, function: Callable[..., tuple[Any, ...]], arguments: Sequence[str], results: Sequence[str]) -> Graph:
        """Compute the start values `results` as the tuple function(*arguments) of start values and parameters by name, each a
        float or an array."""
        self.starts.append(Start(function, names_of(arguments, "arguments"), names_of(results, "results"), caller_place()))
        return self

    def mark_contact(self, contact: ContactPoint) -> Graph:
        """Mark a contact of two bodies in this graph; its signals are named as seen from this graph.

        Its `path` is "" for the only contact of a nested graph, or a name. `freeze().contacts` lists all.
        """
        self.contacts.append(contact)
        return self

    def mark_collisions(self, collisions: CollisionSet) -> Graph:
        """Mark bodies of this graph that may touch anywhere; their signals are named as seen from this graph."""
        self.collisions.append(collisions)
        return self

    def mark_visible(self, visible: Visible) -> Graph:
        """Mark a part of this graph that pictures can show; its signals are named as seen from this graph.

        `freeze().visible` lists all. A part with unknown signals is left out, so that a picture never makes a model fail.
        """
        self.visible.append(visible)
        return self

    def _check_unique(self, what: str, name: str, existing: Mapping[str, Any]) -> None:
        if name in existing:
            first = existing[name].place if isinstance(existing[name], Automaton) else None
            title = f'"{self.name}" has two {_PLURALS[what]} called "{name}"'
            self.problems.append(Problem("E101", title, places=(first, caller_place()), cures=("give one of them another name",)))

    @paused_collection()
    def freeze(self) -> Model:
        """Resolve nested graphs, ports and signals; check everything; return the frozen model.

        Raises one `ModelError` with all problems of the graph.
        """
        model, problems = flatten(self)
        raise_if_any(self.name, [*problems, *check_model(model, {problem.code for problem in problems})])
        return model

    def compile(self, *, backend: str = "auto", progress: bool = True, guess: Mapping[str, Any] | None = None) -> Compiled:
        """Compile the graph: `bondgraph.compile_model(graph)`. `backend` is "llvm" (machine code), "numpy" (the reference) or
        "auto"; `progress` shows a progress bar in the terminal after two seconds; `guess` selects one of several solutions of an
        algebraic loop, {"load.effort": 72.0}."""
        from bondgraph.compile.pipeline import compile_model

        return compile_model(self, backend=backend, progress=progress, guess=guess)

    @spelled_settings
    def simulate(
        self,
        t_end: float,
        *,
        parameters: Mapping[str, Any] | None = None,
        initial: Initial | None = None,
        keep: KeepNamed | None = None,
        sink: Sinkable | None = None,
        **settings: Unpack[RunSettings],
    ) -> Result:
        """Compile the graph, and run it from `t_start` to `t_end` (s): `bondgraph.simulate(graph, t_end)`. For many runs, compile
        it once: `compiled = graph.compile()`. Other arguments are those of `bondgraph.simulate`."""
        from bondgraph.compile.pipeline import simulate

        return simulate(self, t_end, parameters=parameters, initial=initial, keep=keep, sink=sink, **settings)

    def diagram(
        self,
        positions: Mapping[str, tuple[float, float]] | None = None,
        *,
        folded: Collection[str] | None = None,
        unfolded: Collection[str] = (),
        title: str | None = None,
        legend: bool = True,
        values: bool = False,
        labels: BondLabels = False,
        names: Mapping[str, str] | None = None,
        colours: str | Mapping[str, str] = "colour",
    ) -> Diagram:
        """Draw the graph: see `bondgraph.render.diagram.diagram(graph)` for the arguments; `.write("graph.pdf")` writes a file;
        the endings .svg, .png and .tex work too."""
        from bondgraph.render.diagram import diagram

        return diagram(
            self,
            positions,
            folded=folded,
            unfolded=unfolded,
            title=title,
            legend=legend,
            values=values,
            labels=labels,
            names=names,
            colours=colours,
        )


_PLURALS = {"port": "ports", "export": "exported signals", "automaton": "automata"}


def _no_bond(graph: Graph, ends: Sequence[Any]) -> ModelError:
    names = [str(getattr(end, "name", end)) for end in ends]
    title = f"connect takes the two ends of a bond, not {len(ends)}: {', '.join(names)}"
    if len(ends) < 2:
        cures = [f"connect({names[0]}, <the other end>)", f"add({names[0]}) for a signal block, which has no bond"]
    else:
        chain = "".join(f".connect({a}, {b})" for a, b in itertools.pairwise(names))
        cures = [
            f"graph{chain} for a bond between each pair",
            "one J0 or J1 with a bond to each, if they share one effort or flow",
        ]
    return refusal("E100", title, *cures, about=graph.name)


def _nested(graph: Graph) -> Iterator[Graph]:
    waiting = [graph]
    while waiting:
        yield (inner := waiting.pop())
        waiting.extend(part for part in inner.parts.values() if isinstance(part, Graph))


def _own_port(graph: Graph, name: str) -> ModelError:
    title = f'"{graph.name}" cannot connect its own port "{name}": only the enclosing graph can'
    cure = f'graph["{name}"], the part of this name' if name in graph else "the element behind the port"
    return refusal("E114", title, cure, about=graph.name)


def _contains_itself(graph: Graph, part: Graph) -> ModelError:
    way = "" if part is graph else f', through "{part.name}"'
    cure = "make one Graph for each part, in a function that returns it"
    return refusal("E114", f'graph "{graph.name}" would contain itself{way}', cure, about=graph.name)


def _no_part(part: object, graph: Graph) -> ModelError:
    if isinstance(part, str):
        title = f"{part!r} (str) is not part of a bond graph"
        inside = (
            f'graph["{part}"], the part of this name'
            if part in graph
            else f'signals=["{part}"] of an element that reads this signal'
        )
        return refusal("E100", title, inside, "an element such as J1(...) or C(...)", about=graph.name)
    if isinstance(part, (list, tuple)):
        title = f"connect and add take parts one by one, not a {type(part).__name__} of {len(part)}"
        cures = "graph.add(*parts)", "graph.connect(part, a).connect(part, b) for a bond to each"
        return refusal("E100", title, *cures, about=graph.name)
    cure = "an element such as J1(...) or C(...), a port of an element, or a nested Graph"
    if hasattr(part, "to_tf") or hasattr(part, "num") or (hasattr(part, "A") and hasattr(part, "B")):
        kind = "state_space" if hasattr(part, "A") else "transfer_function"
        cure = f'signals.{kind}("plant", "<path of its input>", system), a block with this system'
    return refusal("E100", f"{part!r} ({type(part).__name__}) is not part of a bond graph", cure, about=graph.name)


def subgraphs(graph: Graph) -> Mapping[str, Graph]:
    return {name: part for name, part in graph.parts.items() if isinstance(part, Graph)}
