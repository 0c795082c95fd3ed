"""Hybrid part of a document: automata, their transitions and the clocks of a system, as tables and text."""

from __future__ import annotations

from collections.abc import Sequence

from bondgraph.assembly.system import LoweredTransition
from bondgraph.export.paper.equations import Writer
from bondgraph.export.paper.markup.content import Block, Code, Math, Paragraph, Table, Words
from bondgraph.export.paper.state_diagram import state_diagram
from bondgraph.model.laws import Switched
from bondgraph.model.model import Model
from bondgraph.model.ops import Constant, sources_of


def machine(writer: Writer, model: Model, path: str, number: str) -> list[Block]:
    """Return an automaton: its states with their numbers, its start, and its transitions as a table and as a diagram.

    An automaton that only changes descriptions has no diagram.
    """
    system = writer.system
    mode = f"{path}.mode"
    states, start = system.modes[mode]
    named: list[str | Math | Code] = [Math(writer.letters[mode]), ": "]
    for k, state in enumerate(states):
        named += [", " if k else "", Code(state), f" ({k})"]
    events = [event for event in system.events if event.automaton == path]
    source = sources_of(*(writer.producer[event.guard].op for event in events if event.guard in writer.producer))
    named += ["; it starts in ", Code(start), f" ({source})." if source else "."]
    rows = [((str(k),), *_row(writer, model, states, event)) for k, event in enumerate(events, start=1)]
    blocks: list[Block] = [Paragraph(tuple(named), f"{number} {path.rpartition('.')[2]} (state machine)")]
    if not all(event.internal for event in events):
        blocks.append(state_diagram(states, start, [(e.source, None if e.error else e.target) for e in events]))
    if rows:
        heads = ("", "from", "to", "when this rises through 0", "what it does")
        blocks.append(Table(heads, (0.03, 0.12, 0.12, 0.31, 0.42), tuple(rows)))
    return blocks


def _row(writer: Writer, model: Model, states: Sequence[str], event: LoweredTransition) -> tuple[Words, ...]:
    source, target = (Code(states[event.source]),), (Code(states[event.target]),)
    if event.error:
        target = ("the run ends",)  # type: ignore[assignment]
    return source, target, _guard(writer, event), tuple(_effects(writer, model, states, event))


def _guard(writer: Writer, event: LoweredTransition) -> Words:
    statement = writer.producer.get(event.guard)
    if statement is not None and isinstance(statement.op, Constant):
        return ("never by itself",)
    if statement is not None and ":" in event.guard:
        return (Math(writer.right(statement)),)
    return (Math(writer.letters[event.guard]),)


def _effects(writer: Writer, model: Model, states: Sequence[str], event: LoweredTransition) -> list[str | Math | Code]:
    words: list[str | Math | Code] = []
    for state, value in event.resets:
        statement = writer.producer.get(value)
        inner = statement is not None and ":" in value
        after = writer.right(statement) if statement is not None and inner else writer.letters[value]
        words += ["; " if words else "", Math(rf"{writer.letters[state]} := {after}")]
    for path in event.impact:
        flow = writer.letters[writer.system.resolve(f"{path}.h'")]
        ratio = writer.letters[f"{path}.restitution"]
        words += ["; " if words else "", "an impact: an impulse along ", Math(_impulse(writer, path)), " makes "]
        words += [Math(rf"({flow})^{{+}} = -{ratio}\,({flow})^{{-}}"), ", which takes the energy "]
        words += [Math(f"1 - {ratio}^2"), " times the kinetic energy of this flow"]
    stopping = [] if event.impact else _stopped(model, event, states)
    if stopping:
        words += ["; " if words else "", "impulses bring to rest what begins to hold: "]
        for k, path in enumerate(stopping):
            words += [", " if k else "", Code(path)]
    if event.accumulates is not None:
        words += ["; " if words else "", "where this happens ever faster, the run goes on in ", Code(states[event.accumulates])]
    if event.error:
        words += ["; " if words else "", event.error]
    if event.internal:
        words += ["; " if words else "", "(a change of description)"]
    return words or ["nothing jumps"]


def _impulse(writer: Writer, path: str) -> str:
    system = writer.system
    name = system.resolve(f"{path}.effort")
    return writer.letters[name if name in system.values else f"{path}.multiplier"]


def _stopped(model: Model, event: LoweredTransition, states: Sequence[str]) -> list[str]:
    source, target = states[event.source], states[event.target]
    return [
        path
        for path, element in model.elements.items()
        if isinstance(element.law, Switched) and element.law.automaton == event.automaton and element.law.stops(source, target)
    ]


def clocks(writer: Writer) -> list[Block]:
    """Return the ticks of sampled blocks and the states that they set; and the times at which signals jump or bend."""
    rows: list[tuple[Words, ...]] = []
    for clock in writer.system.clocks:
        offset = writer.letters[clock.offset]
        if clock.period is None:
            when: Words = (Math(rf"t \in {offset}"),)
            what: list[str | Math | Code] = ["a signal jumps or bends; the integration begins anew"]
        else:
            when = (Math(rf"t_n = {offset} + n\,{writer.letters[clock.period]},\ n = 0, 1, \ldots"),)
            what = []
            for state, value in clock.updates:
                what += ["; " if what else "", Math(rf"{writer.letters[state]} := {writer.letters[value]}")]
        rows.append(((Code(clock.element),), when, tuple(what)))
    return [Table(("block", "when", "what happens"), (0.3, 0.35, 0.35), tuple(rows))] if rows else []
