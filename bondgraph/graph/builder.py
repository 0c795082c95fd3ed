"""Graph: what a user writes in. The only mutable object; `freeze` checks it and returns a `Model`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from bondgraph.checks import check_model
from bondgraph.errors import ModelError, Problem, caller_place, raise_if_any, refusal
from bondgraph.graph.draft import Draft, Link
from bondgraph.graph.flatten import flatten
from bondgraph.graph.replacing import put_in_place
from bondgraph.model.automata import Automaton, Start
from bondgraph.model.element import Element, PortRef
from bondgraph.model.model import CollisionSet, ContactPoint, Model, Visible
from bondgraph.model.names import is_name, names_of
from bondgraph.output.cells import cell, code, line
from bondgraph.output.lookup import unknown
from bondgraph.run_arguments import Initial, RunSettings, Sinkable, spelled_settings
from bondgraph.tape.garbage_collection import paused_collection

if TYPE_CHECKING:
    from bondgraph.compile.compiled import Compiled
    from bondgraph.render.diagram import Diagram
    from bondgraph.run.results.result import Result

Part = TypeVar("Part", bound="Element | Graph")
"""What a graph is made of."""


class Graph(Draft):
    """A bond graph under construction, or a part of a larger one.

    >>> from bondgraph import C, J1, R, Graph
    >>> rc = Graph("rc")
    >>> loop = J1("loop")
    >>> _ = rc.connect(loop, C("capacitor", capacitance=1.0, initial=10.0))
    >>> _ = rc.connect(loop, R("resistor", 2.0))
    >>> sorted(rc.freeze().elements)
    ['capacitor', 'loop', 'resistor']
    """

    def __getitem__(self, path: str) -> Element | Graph:
        """The element or nested graph of a name, or of a path into nested graphs, "left.damper"; an unknown name is a KeyError
        that lists similar ones."""
        first, _, rest = path.partition(".")
        part = self.parts.get(first)
        if part is None or (rest and not isinstance(part, Graph)):
            raise unknown(f'part in "{self.name}" called', path, self.parts)
        assert isinstance(part, (Element, Graph))
        return part[rest] if rest and isinstance(part, Graph) else part

    def __repr__(self) -> str:
        return f'{type(self).__name__}("{self.name}", {len(self.parts)} parts)'

    def _repr_svg_(self) -> str | None:
        return None if self._unfinished() else self.diagram().svg

    def _repr_html_(self) -> str | None:
        found = self._unfinished()
        return cell(line(self.name, "under construction"), code(str(found))) if found else None

    def _unfinished(self) -> ModelError | None:
        """Why there is nothing to draw yet: cells that build a graph end in it too."""
        try:
            self.freeze()
        except ModelError as found:
            return found
        return None

    def __iter__(self) -> Iterator[str]:
        """Names of the parts, in the order in which they were added."""
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __bool__(self) -> bool:
        """Always true: an empty graph is a graph."""
        return True

    def __contains__(self, path: object) -> bool:
        first, _, rest = str(path).partition(".")
        part = self.parts.get(first)
        return part is not None and (not rest or (isinstance(part, Graph) and rest in part))

    @overload
    def add(self, first: Part) -> Part: ...
    @overload
    def add(self, first: Element | Graph, *others: Element | Graph) -> Element | Graph: ...
    def add(self, first: Element | Graph, *others: Element | Graph) -> Element | Graph:
        """Add elements or nested graphs; adding the same one again does nothing. Returns the last.

        Raises `ModelError` E100 for what is neither.
        """
        parts = (first, *others)
        for part in parts:
            if not isinstance(part, (Element, Graph)):
                raise _no_part(part, self)
            known = self.parts.get(part.name)
            if known is not None and known is not part:
                title = f'two parts of "{self.name}" are called "{part.name}"'
                places = (known.place, part.place)
                self.problems.append(Problem("E101", title, places=places, cures=("give one of them another name",)))
            elif known is None and not is_name(part.name):
                details = ("a dot separates a part from what is inside it, a colon a bond from its variables",)
                cures = ("a name of letters, digits, spaces or underscores",)
                self.problems.append(Problem("E102", f'"{part.name}" is no name for a part', details, (part.place,), cures))
            self.parts.setdefault(part.name, part)
        return parts[-1]

    def connect(self, tail: Element | PortRef | Graph, head: Element | PortRef | Graph) -> Graph:
        """Bond with its half arrow (positive power) from tail to head; adds what is not in the graph yet."""
        ends = []
        for end in (tail, head):
            reference = end if isinstance(end, PortRef) else PortRef(end, "")
            part = reference.owner
            if not isinstance(part, (Element, Graph)) or self.parts.get(part.name) is not part:
                self.add(part)
            ends.append(reference)
        self.links.append(Link(ends[0], ends[1], caller_place()))
        return self

    def replace(self, name: str, part: Element | Graph) -> Graph:
        """Put another part of the same name in the place of the part `name`: it takes over its bonds, wires and exposed ports.

        `name` may be a path into nested graphs, `left.damper`. The new part has the same ports (or one, as the old), the same
        signal inputs, and exports at least what the old one did; what else is read of it must exist in it as well.

        Raises `ModelError` E100 for what is no part, E138 where there is no such part, or the new one has another name, other
        ports, inputs or exports.
        """
        if not isinstance(part, (Element, Graph)):
            raise _no_part(part, self)
        first, _, rest = name.partition(".")
        inside = self.parts.get(first)
        if rest and isinstance(inside, Graph):
            inside.replace(rest, part)
            return self
        raise_if_any(self.name, put_in_place(self, name, part))
        return self

    def port(self, name: str) -> PortRef:
        """Reference to a port that this graph exposes, for `connect` in the graph around it."""
        return PortRef(self, name)

    def expose(self, name: str, inner: Element | PortRef | Graph) -> Graph:
        """Make a port or junction of this graph connectable from outside under `name`."""
        reference = inner if isinstance(inner, PortRef) else PortRef(inner, "")
        self.add(reference.owner)
        self._once("port", name, self.ports)
        self.ports[name] = reference
        return self

    def declare_input(self, *names: str) -> Graph:
        """Declare signals that come from outside; elements inside refer to them by these names."""
        for name in names:
            self.inputs[name] = None
        return self

    def wire(self, source: str, part: Graph, name: str) -> Graph:
        """Feed the input `name` of a nested graph with the signal at path `source` of this graph."""
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
        self._once("export", name, self.exports)
        self.exports[name] = path
        return self

    def add_automaton(self, automaton: Automaton) -> Graph:
        """Add a finite state machine; its mode is the signal `<name>.mode`."""
        self._once("automaton", automaton.name, self.automata)
        self.automata[automaton.name] = replace(automaton, place=caller_place())
        return self

    def start(self, function: Callable[..., tuple[Any, ...]], arguments: Sequence[str], results: Sequence[str]) -> Graph:
        """Compute start values from others before every run, in floats."""
        self.starts.append(Start(function, names_of(arguments, "arguments"), names_of(results, "results"), caller_place()))
        return self

    def mark_contact(self, contact: ContactPoint) -> Graph:
        """Say that this graph holds a place where two bodies may touch; its signals are named as seen from this graph.

        Its `path` is "" for the one place of a nested graph, or a name of its own. `freeze().contacts` lists them all.
        """
        self.contacts.append(contact)
        return self

    def mark_collisions(self, collisions: CollisionSet) -> Graph:
        """Say which bodies of this graph may touch anywhere; their signals are named as seen from this graph."""
        self.collisions.append(collisions)
        return self

    def mark_visible(self, visible: Visible) -> Graph:
        """Say what a picture can show of this graph; its signals are named as seen from this graph.

        `freeze().visible` lists all. One whose signals lead nowhere is left out: no model fails for a picture.
        """
        self.visible.append(visible)
        return self

    def _once(self, what: str, name: str, known: Mapping[str, Any]) -> None:
        """Note the problem E101 if the name has been given before."""
        if name in known:
            first = known[name].place if isinstance(known[name], Automaton) else None
            title = f'"{self.name}" has two {_PLURALS[what]} called "{name}"'
            self.problems.append(Problem("E101", title, places=(first, caller_place()), cures=("give one of them another name",)))

    @paused_collection()
    def freeze(self) -> Model:
        """Resolve nested graphs, ports and signals; check everything; return the frozen model.

        Raises `ModelError` with all problems of the graph at once.
        """
        model, problems = flatten(self)
        raise_if_any(self.name, [*problems, *check_model(model, {problem.code for problem in problems})])
        return model

    def compile(self, *, backend: str = "auto", progress: bool = True) -> Compiled:
        """Compile it: `bondgraph.compile_model(graph)`. `backend` is "llvm" (machine code), "numpy" (the reference) or "auto";
        `progress` shows a bar on a terminal when it takes longer than two seconds."""
        from bondgraph.compile.pipeline import compile_model

        return compile_model(self, backend=backend, progress=progress)

    @spelled_settings
    def simulate(
        self,
        t_end: float,
        *,
        parameters: Mapping[str, Any] | None = None,
        initial: Initial | None = None,
        keep: str | Sequence[str] | None = None,
        sink: Sinkable | None = None,
        **settings: Unpack[RunSettings],
    ) -> Result:
        """Compile it, and run from `t_start` to `t_end` (s): `bondgraph.simulate(graph, t_end)`. Who runs it more often compiles
        it once: `compiled = graph.compile()`.

        Parameters
        ----------
        parameters : changes by name, {"spring.stiffness": 80.0}.
        initial : changes of the start values, {"spring.q": 0.1}, automata by the name of a state; the `final` of another run; or
            an operating point, whose parameters are taken along.
        keep : names of the only quantities that are kept, "rotor.flow" or ["rotor.flow", "body.pose[3]"], for long runs of large
            models; everything by default.
        sink : where they go, while the run goes on, instead of into the result: a path ("run.parquet", or .zarr, .npz, .csv), a
            `bondgraph.sinks.Sink`, or a function of times and values by name.
        """
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
        labels: bool = False,
        colours: str | Mapping[str, str] = "colour",
    ) -> Diagram:
        """Draw it: `bondgraph.render.diagram.diagram(graph)`, which says what the arguments mean; `.write("graph.pdf")` writes a
        file, or .svg, .png, .tex."""
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
            colours=colours,
        )


_PLURALS = {"port": "ports", "export": "exported signals", "automaton": "automata"}


def _no_part(given: object, graph: Graph) -> ModelError:
    cure = "an element such as J1(...) or C(...), a port of one, or a nested Graph"
    return refusal("E100", f"{given!r} ({type(given).__name__}) is no part of a bond graph", cure, about=graph.name)


def nested(graph: Graph) -> Mapping[str, Graph]:
    """The graphs directly inside a graph."""
    return {name: part for name, part in graph.parts.items() if isinstance(part, Graph)}
