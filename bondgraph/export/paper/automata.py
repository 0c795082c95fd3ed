"""Hybrid part of a document: automata, with their transitions as tables and state diagrams, and clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations

from bondgraph.assembly.system import LoweredTransition
from bondgraph.export.paper.equations import Writer
from bondgraph.export.paper.markup.content import Block, Figure, InlineCode, Math, Paragraph, TableBlock, Words, join_words
from bondgraph.model.laws import Switched
from bondgraph.model.model import Model
from bondgraph.model.ops import Constant, sources_of
from bondgraph.render.glyphs import FONT, rounded_rectangle, text
from bondgraph.render.palette import COLOURED
from bondgraph.render.sketch import text_width

NAME_SIZE, LABEL_SIZE = 12.0, 10.0
"""Font sizes, px."""
HALF_HEIGHT = 9.0
OUTSIDE = 15.0
"""Space above and below boxes for the start, loops and ends, px."""
LANE = 11.0
"""Distance between arcs that pass other states, px."""
GAP = 34.0
"""Minimum distance between boxes, px."""
MAX_NAME = 24
MAX_PERMUTED = 6
Arrows = Mapping[tuple[int, int | None], str]
"""Label of each arrow by (from, to), indices of states; an arrow to None ends the run."""
Point = tuple[float, float]


@dataclass(frozen=True)
class _Boxes:
    """Positions of the boxes of states, and distances of the arrows that pass boxes, px."""

    x: Mapping[int, float]
    half: Sequence[float]
    middle: float
    above: Mapping[tuple[int, int], float]
    below: Mapping[tuple[int, int], float]
    width: float
    height: float


def state_diagram(states: Sequence[str], start: str, transitions: Sequence[tuple[int, int | None]]) -> Figure:
    numbers: dict[tuple[int, int | None], list[str]] = {}
    for number, ends in enumerate(transitions, start=1):
        numbers.setdefault(ends, []).append(str(number))
    arrows: Arrows = {ends: ", ".join(each) for ends, each in numbers.items()}
    first, names = states.index(start), _short(states)
    boxes = _boxes(names, first, arrows)
    style = f'fill="{COLOURED.box}" stroke="{COLOURED.muted}" stroke-width="1.1"'
    size = f'width="{boxes.width:.0f}" height="{boxes.height:.0f}" viewBox="0 0 {boxes.width:.0f} {boxes.height:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}" fill="none">',
        '<title>States and transitions</title><rect width="100%" height="100%" fill="#ffffff"/>',
        _start(boxes.x[first] - boxes.half[first] + 8.0, boxes.middle - HALF_HEIGHT),
        *(_arrow(boxes, a, b, label, (b, a) in arrows) for (a, b), label in arrows.items()),
    ]
    for k, name in enumerate(names):
        left, right = boxes.x[k] - boxes.half[k], boxes.x[k] + boxes.half[k]
        box = rounded_rectangle(left, boxes.middle - HALF_HEIGHT, right, boxes.middle + HALF_HEIGHT, 6.0, style)
        lines.append(box + text(boxes.x[k], boxes.middle, name, NAME_SIZE, COLOURED.ink))
    return Figure("\n".join([*lines, "</svg>"]), (), boxes.width, boxes.height)


def _short(states: Sequence[str]) -> list[str]:
    short = [f"{name[:8]}...{name[-12:]}" if len(name) > MAX_NAME else name for name in states]
    return short if len(set(short)) == len(states) else list(states)


def _boxes(names: Sequence[str], start: int, arrows: Arrows) -> _Boxes:
    order = state_order(len(names), start, arrows)
    half = [max(text_width(name, NAME_SIZE) / 2 + 8.0, 16.0) for name in names]
    x = {order[0]: half[order[0]] + 2.0}
    for a, b in pairwise(order):
        label = max(text_width(arrows.get(ends, ""), LABEL_SIZE) for ends in ((a, b), (b, a)))
        label += 2.0 * text_width(arrows.get((a, a), ""), LABEL_SIZE)  # the label of a loop is next to it
        x[b] = x[a] + half[a] + max(GAP, label + 18.0) + half[b]
    rank = {state: k for k, state in enumerate(order)}
    right, left = lanes(arrows, rank)
    ending = any(b is None for _, b in arrows)
    first = OUTSIDE + 2.0 if ending else OUTSIDE - 3.0
    above = {ends: OUTSIDE + 2.0 + LANE * lane for ends, lane in right.items()}
    below = {ends: first + LANE * lane for ends, lane in left.items()}
    middle = max([OUTSIDE, *(high + 7.0 for high in above.values())]) + HALF_HEIGHT
    foot = max([OUTSIDE if ending else 8.0, *(high + 7.0 for high in below.values())])
    last = order[-1]
    label_width = max(
        text_width(arrows.get((last, last), ""), LABEL_SIZE), text_width(arrows.get((last, None), ""), LABEL_SIZE) - half[last]
    )
    return _Boxes(x, half, middle, above, below, x[last] + half[last] + 2.0 + max(label_width, 0.0), middle + HALF_HEIGHT + foot)


def _arrow(boxes: _Boxes, a: int, b: int | None, label: str, both_ways: bool) -> str:
    top, bottom = boxes.middle - HALF_HEIGHT, boxes.middle + HALF_HEIGHT
    if b is None:
        return _end(boxes.x[a] - boxes.half[a] + 9.0, bottom, label)
    if a == b:
        return _loop(boxes.x[a] + boxes.half[a] - 11.0, top, label)
    if (a, b) in boxes.above:
        return _arc(boxes.x[a], boxes.x[b], top, top - boxes.above[a, b], label)
    if (a, b) in boxes.below:
        return _arc(boxes.x[a], boxes.x[b], bottom, bottom + boxes.below[a, b], label)
    towards = 1.0 if boxes.x[a] < boxes.x[b] else -1.0
    y = boxes.middle - 4.0 * towards * both_ways
    ends = boxes.x[a] + towards * boxes.half[a], boxes.x[b] - towards * boxes.half[b]
    return _straight(*ends, y, label, y > boxes.middle)


def state_order(count: int, start: int, arrows: Arrows) -> tuple[int, ...]:
    """Return the order of states from left to right with the shortest arrows, preferably with the initial state first; more
    than `MAX_PERMUTED` states keep their order after the initial state."""
    plain = (start, *(k for k in range(count) if k != start))
    if count > MAX_PERMUTED:
        return plain

    def length(order: tuple[int, ...]) -> int:
        rank = {state: k for k, state in enumerate(order)}
        return sum((rank[a] - rank[b]) ** 2 for a, b in arrows if b is not None)

    return min(permutations(plain), key=length)


def lanes(arrows: Arrows, rank: Mapping[int, int]) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """Return the lanes (distances from the boxes) of arrows past other states, to the right and to the left; no arrows
    coincide."""
    sides: tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]] = ({}, {})
    far = [(a, b) for a, b in arrows if b is not None and abs(rank[a] - rank[b]) > 1]
    for a, b in sorted(far, key=lambda ends: abs(rank[ends[0]] - rank[ends[1]])):
        side = sides[rank[a] > rank[b]]
        first, last = sorted((rank[a], rank[b]))
        met = {lane for ends, lane in side.items() if min(rank[k] for k in ends) < last and max(rank[k] for k in ends) > first}
        side[a, b] = next(lane for lane in range(len(met) + 1) if lane not in met)
    return sides


def _line(d: str) -> str:
    return f'<path d="{d}" stroke="{COLOURED.ink}" stroke-width="1.1" fill="none"/>'


def _head(tip: Point, along: Point) -> str:
    base = (tip[0] - 6.0 * along[0], tip[1] - 6.0 * along[1])
    corners = (tip, *((base[0] - s * 2.6 * along[1], base[1] + s * 2.6 * along[0]) for s in (1.0, -1.0)))
    return f'<path d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in corners)} Z" fill="{COLOURED.ink}" stroke="none"/>'


def _dot(x: float, y: float, radius: float, style: str) -> str:
    return rounded_rectangle(x - radius, y - radius, x + radius, y + radius, radius, style)


def _start(x: float, top: float) -> str:
    dot = _dot(x, top - 11.5, 2.8, f'fill="{COLOURED.ink}" stroke="none"')
    return dot + _line(f"M{x:.1f},{top - 11.5:.1f} L{x:.1f},{top - 5.0:.1f}") + _head((x, top), (0.0, 1.0))


def _end(x: float, bottom: float, label: str) -> str:
    ring = _dot(x, bottom + 10.8, 3.6, f'fill="#ffffff" stroke="{COLOURED.ink}" stroke-width="1.0"')
    line = _line(f"M{x:.1f},{bottom:.1f} L{x:.1f},{bottom + 4.0:.1f}") + _head((x, bottom + 7.0), (0.0, 1.0))
    dot = _dot(x, bottom + 10.8, 1.9, f'fill="{COLOURED.ink}" stroke="none"')
    return line + ring + dot + _label(x + 7.0, bottom + 8.0, label, "start")


def _loop(x: float, top: float, label: str) -> str:
    d = f"M{x - 4.0:.1f},{top:.1f} Q{x - 8.0:.1f},{top - 12.0:.1f} {x:.1f},{top - 12.0:.1f} "
    d += f"Q{x + 7.0:.1f},{top - 12.0:.1f} {x + 5.0:.1f},{top - 4.0:.1f}"
    return _line(d) + _head((x + 4.0, top), (-0.24, 0.97)) + _label(x + 9.0, top - 8.0, label, "start")


def _straight(left: float, right: float, y: float, label: str, under: bool) -> str:
    towards = 1.0 if right > left else -1.0
    line = _line(f"M{left:.1f},{y:.1f} L{right - 5.0 * towards:.1f},{y:.1f}") + _head((right, y), (towards, 0.0))
    return line + _label((left + right) / 2, y + (6.5 if under else -6.5), label, "middle")


def _arc(x: float, to: float, edge: float, height: float, label: str) -> str:
    run, side = min(abs(to - x) / 2, 20.0) * (1.0 if to > x else -1.0), 1.0 if height > edge else -1.0
    d = f"M{x:.1f},{edge:.1f} Q{x + run / 2:.1f},{height:.1f} {x + run:.1f},{height:.1f} "
    d += f"L{to - run:.1f},{height:.1f} Q{to - run / 2:.1f},{height:.1f} {to - run / 8:.1f},{edge + side * 5.0:.1f}"
    along = run / 8, -side * 5.0
    size = (along[0] ** 2 + along[1] ** 2) ** 0.5
    tip = _head((to, edge), (along[0] / size, along[1] / size))
    at, half = (x + to) / 2, text_width(label, LABEL_SIZE) / 2 + 1.0
    under = rounded_rectangle(at - half, height - 4.5, at + half, height + 4.5, 0.0, 'fill="#ffffff" stroke="none"')
    return _line(d) + tip + under + _label(at, height, label, "middle")


def _label(x: float, y: float, label: str, anchor: str) -> str:
    return text(x, y, label, LABEL_SIZE, COLOURED.muted, anchor)


def automaton_blocks(writer: Writer, model: Model, path: str, number: str) -> list[Block]:
    system = writer.system
    mode = f"{path}.mode"
    states, start = system.modes[mode].states, system.modes[mode].start
    counted = join_words(", ", ((InlineCode(state), f" ({k})") for k, state in enumerate(states)))
    events = [event for event in system.events if event.automaton == path]
    source = sources_of(*(writer.producer[event.guard].op for event in events if event.guard in writer.producer))
    begins = ("; it starts in ", InlineCode(start), f" ({source})." if source else ".")
    rows = [((str(k),), *_row(writer, model, states, event)) for k, event in enumerate(events, start=1)]
    name = path.rpartition(".")[2]
    blocks: list[Block] = [Paragraph((Math(writer.letters[mode]), ": ", *counted, *begins), f"{number} {name} (state machine)")]
    if not all(event.internal for event in events):
        drawn = state_diagram(states, start, [(e.source, None if e.error else e.target) for e in events])
        caption: Words = ("States of ", InlineCode(name), "; arrows have the numbers of the transitions below.")
        blocks.append(replace(drawn, caption=caption))
    if rows:
        heads = ("", "from", "to", "guard", "effect")
        caption = ("Transitions of ", InlineCode(name), "; each occurs when its guard rises through 0.")
        blocks.append(TableBlock(heads, (0.03, 0.12, 0.12, 0.31, 0.42), tuple(rows), caption))
    return blocks


def _row(writer: Writer, model: Model, states: Sequence[str], event: LoweredTransition) -> tuple[Words, ...]:
    target: Words = ("the run ends",) if event.error else (InlineCode(states[event.target]),)
    return (InlineCode(states[event.source]),), target, _guard(writer, event), _effects(writer, model, states, event)


def _guard(writer: Writer, event: LoweredTransition) -> Words:
    statement = writer.producer.get(event.guard)
    if statement is not None and isinstance(statement.op, Constant):
        return ("never by itself",)
    if statement is not None and ":" in event.guard:
        return (Math(writer.right(statement)),)
    return (Math(writer.letters[event.guard]),)


def _effects(writer: Writer, model: Model, states: Sequence[str], event: LoweredTransition) -> Words:
    effects: list[Words] = []
    for state, value in event.resets:
        statement = writer.producer.get(value)
        inner = statement is not None and ":" in value
        after = writer.right(statement) if statement is not None and inner else writer.letters[value]
        effects.append((Math(rf"{writer.letters[state]} := {after}"),))
    for path in event.impact:
        flow = writer.letters[writer.system.resolve(f"{path}.h'")]
        ratio = writer.letters[f"{path}.restitution"]
        turns = Math(rf"({flow})^{{+}} = -{ratio}\,({flow})^{{-}}")
        lost = (", which removes ", Math(f"1 - {ratio}^2"), " times the kinetic energy of this flow")
        effects.append(("an impact: an impulse along ", Math(_impulse(writer, path)), " makes ", turns, *lost))
    stopping = [] if event.impact else _stopped(model, event, states)
    if stopping:
        paths = join_words(", ", ((InlineCode(path),) for path in stopping))
        effects.append(("impulses stop the flows of elements that become active: ", *paths))
    if event.accumulates is not None:
        effects.append(("if these events accumulate, the run continues in ", InlineCode(states[event.accumulates])))
    if event.passes is not None:
        where = "if the flow crosses zero by itself, nothing jumps, and the run continues in "
        effects.append((where, InlineCode(states[event.passes])))
    effects += [(event.error,)] if event.error else []
    effects += [("(a change of coordinates)",)] if event.internal else []
    return join_words("; ", effects) or ("nothing jumps",)


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


def clock_blocks(writer: Writer) -> list[Block]:
    rows: list[tuple[Words, ...]] = []
    for clock in writer.system.clocks:
        offset = writer.letters[clock.offset]
        if clock.period is None:
            when: Words = (Math(rf"t \in {offset}"),)
            what: Words = ("a signal has a jump or a kink; the integration restarts",)
        else:
            when = (Math(rf"t_n = {offset} + n\,{writer.letters[clock.period]},\ n = 0, 1, \ldots"),)
            updates = clock.updates
            what = join_words("; ", ((Math(rf"{writer.letters[a]} := {writer.letters[b]}"),) for a, b in updates))
        rows.append(((InlineCode(clock.element),), when, what))
    heads = ("block", "when", "effect")
    return [TableBlock(heads, (0.3, 0.35, 0.35), tuple(rows), ("Clocks and time events.",))] if rows else []
