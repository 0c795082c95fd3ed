"""Content of generated code in any language: identifiers, routines, tables of names, the start, events and ticks, and notes.

Identifiers for the user's names are valid in C, Python, MATLAB and SymPy, with one rule for all. Latin letters and digits are
kept, accents are dropped, Greek letters are spelled out ("ω1" becomes omega1), a derivative ' becomes _dot, any other letter
its code point (u4e2d), and each run of other characters one underscore. A name that would begin with a digit, be reserved in a
language or look like a variable of the code (v12) gets an additional character. Names that then differ at most in capitals are
numbered.
"""

from __future__ import annotations

import keyword
import math
import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bondgraph.assembly.system import Loop, LoweredTransition, System, is_internal
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.compile.points import Point, consistent, point_of
from bondgraph.errors import FixedEntries, refusal
from bondgraph.tape.opcodes import NAMES
from bondgraph.tape.routine import Listing, listing
from bondgraph.tape.specialise import Code
from bondgraph.tracing.input_ramps import dependents_of_rates
from bondgraph.tracing.routines import output_names, trace

MAX_LENGTH = 63
"""Number of leading characters of a name that C99 and MATLAB distinguish."""

_LINES = Path(__file__).with_name("reserved_words.txt").read_text(encoding="utf-8").splitlines()
_IN_FILE = [word for line in _LINES if not line.startswith("#") for word in line.split()]
RESERVED_WORDS = frozenset(word.lower() for word in (*_IN_FILE, *keyword.kwlist, *keyword.softkwlist, *NAMES))

_STEP = re.compile(r"[vcw]\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Entry:
    """Named part of an array.

    Parameters
    ----------
    name : the user's name.
    identifier : name in the code; "" for an internal value.
    start : index of its first number, from 0; arrays are in row-major order.
    shape, unit : shape and unit of the value.
    remark : additional text.
    """

    name: str
    identifier: str
    start: int
    shape: tuple[int, ...] = ()
    unit: str = ""
    remark: str = ""

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def indices(self) -> range:
        return range(self.start, self.start + self.size)

    @property
    def comment(self) -> str:
        size = f" [{', '.join(map(str, self.shape))}]" if self.shape else ""
        return " ".join(f"{self.name}{size}{f', {self.unit}' if self.unit not in ('', '1') else ''}{self.remark}".split())


def identifier(name: str) -> str:
    """Return the identifier of a single name: "egg 2.pose" -> "egg_2_pose", "Δθ'" -> "Deltatheta_dot"."""
    spelled = "".join(map(_ascii_text, unicodedata.normalize("NFKD", name)))
    word = re.sub(r"[^A-Za-z0-9]+", "_", spelled).strip("_") or "unnamed"
    word = f"n{word}" if word[0].isdigit() else word
    return f"{word}_" if is_reserved(word) else word


def identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Return an identifier for each name, unique regardless of case, not in `taken`, and no longer than MAX_LENGTH."""
    used = {word.lower() for word in taken}
    results = []
    for name in names:
        base = identifier(name)[:MAX_LENGTH]
        candidate, count = base, 2
        while candidate.lower() in used:
            end = f"_{count}"
            candidate, count = base[: MAX_LENGTH - len(end)] + end, count + 1
        used.add(candidate.lower())
        results.append(candidate)
    return results


def is_reserved(word: str) -> bool:
    return word.lower() in RESERVED_WORDS or _STEP.fullmatch(word) is not None


def is_taken(name: str) -> bool:
    """Return True for a reserved word, or a module of Python's standard library, which a file of this name would hide."""
    return is_reserved(name) or name.lower() in sys.stdlib_module_names


def model_identifier(name: str) -> str:
    spelled = re.sub(r"[^a-z0-9]+", "_", "".join(map(_ascii_text, unicodedata.normalize("NFKD", name))).lower()).strip("_")
    unfit = not spelled or spelled[0].isdigit() or is_taken(spelled)
    return (f"model_{spelled}" if unfit else spelled)[: MAX_LENGTH // 2].strip("_")


def entries(items: Iterable[tuple[str, tuple[int, ...], str, str]], taken: Iterable[str] = ()) -> tuple[Entry, ...]:
    rows = list(items)
    words = iter(identifiers((name for name, *_ in rows if not is_internal(name)), taken))
    results: list[Entry] = []
    start = 0
    for name, shape, unit, remark in rows:
        results.append(Entry(name, "" if is_internal(name) else next(words), start, shape, unit, remark))
        start += results[-1].size
    return tuple(results)


def count(entries: Iterable[Entry]) -> int:
    return sum(entry.size for entry in entries)


def _ascii_text(character: str) -> str:
    if character == "'":
        return "_dot"
    if character.isascii() or unicodedata.combining(character):
        return character if character.isascii() else ""
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        letter = words[words.index("LETTER") + 1].lower().replace("lamda", "lambda")  # as Unicode spells it
        return letter.capitalize() if "CAPITAL" in words else letter
    return f"u{ord(character):04x}" if character.isalpha() else "_"


BLOCKS = ("t", "x", "p", "m")
"""Arguments of every routine, in the order in which its steps number their blocks; `prepare` takes only p."""


@dataclass(frozen=True)
class ClockTick:
    """Clock that changes states: its element, the indices of its times in p (no period if it ticks only once), and the routine
    that computes x after a tick."""

    element: str
    offset: int
    period: int | None
    routine: Listing


@dataclass(frozen=True)
class Content:
    """Content of the code generated from a model.

    Parameters
    ----------
    name : identifier of the model.
    system : system with all shapes known.
    routines : `prepare`, `rates`, `jacobian`, `outputs`, `guards`, `powers`, `energies`.
    code : all routines, as compiled.
    x, p, m, y, guards, powers, energies : entries of each array; p contains only the user's parameters.
    pattern : (columns (n + 1,), rows (nonzeros,)) of the Jacobian in compressed columns.
    resets, pushes : routine of each transition that has one, by index of the transition.
    loops : nonlinear algebraic loops with residuals and Newton steps.
    ticks : clocks, in the order in which simultaneous ticks are executed.
    start : a consistent start.
    """

    name: str
    system: System
    routines: Mapping[str, Listing]
    code: Mapping[str, Code]
    x: tuple[Entry, ...]
    p: tuple[Entry, ...]
    m: tuple[Entry, ...]
    y: tuple[Entry, ...]
    guards: tuple[Entry, ...]
    powers: tuple[Entry, ...]
    energies: tuple[Entry, ...]
    pattern: tuple[np.ndarray, np.ndarray]
    resets: Mapping[int, Listing]
    pushes: Mapping[int, Listing]
    loops: tuple[tuple[Loop, Listing], ...]
    ticks: tuple[ClockTick, ...]
    start: Point

    @property
    def tables(self) -> dict[str, tuple[Entry, ...]]:
        return {
            "states": self.x,
            "parameters": self.p,
            "modes": self.m,
            "outputs": self.y,
            "guards": self.guards,
            "powers": self.powers,
            "energies": self.energies,
        }

    @property
    def added_count(self) -> int:
        return len(self.routines["prepare"].outputs)


def content_of(model: Compilable, name: str | None, caller: str) -> Content:
    """Return the content of a model's code; `caller` is the exporting function, `name` the user's name or None. Raises the
    errors of `compiled_form`, and `ModelError` E270 if `name` is not an identifier or is reserved, E262 if no solution of an
    algebraic loop is found at the start."""
    compiled = compiled_form(model, caller)
    name = _checked(compiled, name)
    routines, system, pattern = trace(compiled.system)
    steps = {word: listing(routine.reference) for word, routine in routines.items()}
    loops = [loop for loop in system.loops if loop.guesses]
    modes = [
        (mode.automaton, (), "", ": " + ", ".join(f"{k} {state}" for k, state in enumerate(mode.states)))
        for mode in system.modes.values()
    ]
    units = compiled.program.layout.units
    x = entries(_valued(system, [state.name for state in system.states], units), BLOCKS)
    p = entries(_valued(system, list(system.parameters), units), [*BLOCKS, *_named(x)])
    m = entries(modes, [*BLOCKS, *_named(x), *_named(p)])
    start_of = {entry.name: entry.start for entry in p}
    return Content(
        name=name,
        system=system,
        routines=FixedEntries(
            {word: steps[word] for word in ("prepare", "rates", "jacobian", "outputs", "guards", "powers", "energies")}
        ),
        code=FixedEntries(routines),
        x=x,
        p=p,
        m=m,
        y=entries(_valued(system, output_names(system), units)),
        guards=entries([(transition_text(system, event), (), "", "") for event in system.events]),
        powers=entries([(power.element, (), units[power.value], f", {power.role}") for power in system.powers]),
        energies=entries([(path, (), units[value], "") for path, value in system.energies]),
        pattern=pattern,
        resets=_of_events(system, steps, "reset"),
        pushes=_of_events(system, steps, "push"),
        loops=tuple((loop, steps[f"newton_{k}"]) for k, loop in enumerate(loops)),
        ticks=tuple(
            ClockTick(
                clock.element,
                start_of[clock.offset],
                None if clock.period is None else start_of[clock.period],
                steps[f"tick_{k}"],
            )
            for k, clock in enumerate(system.clocks)
            if clock.updates
        ),
        start=consistent(compiled, point_of(compiled)),
    )


def transition_text(system: System, event: LoweredTransition) -> str:
    states = list(system.modes.values())[event.slot].states
    return f"{event.automaton}: {states[event.source]} to {states[event.target]}"


def _checked(compiled: Compiled, name: str | None) -> str:
    if name is None:
        return model_identifier(compiled.model.name)
    if not re.fullmatch(rf"[A-Za-z][A-Za-z0-9_]{{0,{MAX_LENGTH - 1}}}", name) or is_taken(name):
        title = f'"{name}" is not a valid identifier in every language'
        cures = (
            "a letter, then letters, digits and underscores",
            "a name that is neither reserved in C, Python or MATLAB nor a module of Python",
        )
        raise refusal("E270", title, *cures, about=compiled.model.name, places=())
    return name


def _valued(system: System, names: Sequence[str], units: Mapping[str, str]) -> list[tuple[str, tuple[int, ...], str, str]]:
    aliases: dict[str, list[str]] = {}
    for alias, target in system.aliases.items():
        if ":" not in alias and not alias.startswith("-"):
            aliases.setdefault(target, []).append(alias)
    remarks = [f"; also {', '.join(sorted(aliases[name])[:2])}" if name in aliases else "" for name in names]
    return [(name, system.values[name].shape or (), units[name], remark) for name, remark in zip(names, remarks, strict=True)]


def _named(entries: Iterable[Entry]) -> list[str]:
    return [entry.identifier for entry in entries if entry.identifier]


def _of_events(system: System, steps: Mapping[str, Listing], word: str) -> Mapping[int, Listing]:
    routines = {k: steps.get(f"{word}_{k}") for k in range(len(system.events))}
    return FixedEntries({k: routine for k, routine in routines.items() if routine is not None})  # type: ignore[misc, return-value]


@dataclass(frozen=True)
class Phrases:
    """Phrases of a language in the notes of generated code.

    Parameters
    ----------
    first : number of the first transition, clock or loop.
    mode : change of m when transition k fires.
    reset : function that then computes x.
    push : condition for an impulse to which other transitions may respond.
    parts : results of the function `push`.
    times : times of clock k.
    tick : function that computes x at a tick.
    loop : function of an algebraic loop.
    """

    first: int
    mode: str
    reset: str
    push: str
    parts: str
    times: str
    tick: str
    loop: str


def event_notes(content: Content, phrases: Phrases) -> list[str]:
    lines: list[str] = []
    for paragraph, items in _paragraphs(content, phrases):
        lines += ["", *textwrap.wrap(paragraph, 110, break_long_words=False, break_on_hyphens=False)]
        lines += [f"    {k}: {comment_safe(item)}" for k, item in enumerate(items, start=phrases.first)]
    return lines


def comment_safe(words: str) -> str:
    return " ".join(words.replace("*/", "* /").replace("/*", "/ *").replace('"""', "'''").replace("\\", "/").split())


def _paragraphs(content: Content, phrases: Phrases) -> Iterator[tuple[str, list[str]]]:
    if content.system.events:
        fires = "Events: transition k fires when guard k rises through zero; guard k is -1 in all modes but its source."
        yield f"{fires} Then x becomes {phrases.reset}, and {phrases.mode}:", _transitions(content)
    if content.pushes:
        answer = "for example, a diode closes instead of letting a switch interrupt a current"
        largest = "If the largest guard among the transitions that the new modes allow is then positive and x would jump,"
        after = f"{phrases.parts} {largest} keep x without the impulse and carry out the transition of this guard next."
        yield f"{phrases.push} the reset is an impulse to which another transition may respond: {answer}. {after}", []
    if content.ticks:
        yield (
            f"Clocks: the ticks of clock k are at {phrases.times}; between ticks, x holds the values that they set. Integrate to "
            "the next tick of any clock. For each clock that is due at this time, from the first to the last, "
            f"x becomes {phrases.tick}: a later clock sees the changes of an earlier clock. Then check the guards, because a "
            "tick may trigger an event, and restart the integration, because the rates jump:",
            [tick.element for tick in content.ticks],
        )
    if acting := _acting_rates(content):
        lacks = "Parameters are constant during a run. If one changes, the code lacks the effects of its time derivative"
        yield f"{lacks}: {'; '.join(acting)}.", []
    if content.loops:
        yield (
            "Algebraic loops: some states are unknowns of nonlinear loops and follow the solution during integration. Before a "
            f"run and after events, ticks and changes of p, correct them: {phrases.loop} returns residuals and a Newton step:",
            [", ".join(loop.guesses) for loop, _ in content.loops],
        )


def _acting_rates(content: Content) -> list[str]:
    """Return each parameter of a source whose time derivative has an effect, with at most three rates or values that depend on
    it."""
    system, lines = content.system, list[str]()
    sources = [name for name, where in system.parameter_places.items() if not set(where).isdisjoint(system.source_places)]
    parts, values = dependents_of_rates(system, sources)
    causes = {dependent: inputs for dependent, inputs in {**parts, **values}.items() if not is_internal(dependent)}
    for name in sources:
        shown = [dependent for dependent, inputs in causes.items() if name in inputs]
        lines += [f"{name} (on {', '.join(shown[:3])}{', ...' if shown[3:] else ''})"] if shown else []
    return lines


def _transitions(content: Content) -> list[str]:
    lines = []
    for k, event in enumerate(content.system.events):
        end = f"; ends the run: {event.error}" if event.error else "; a change of coordinates" * event.internal
        lines.append(
            event.kind
            + ", with a reset" * (k in content.resets)
            + " to which other events may respond" * (k in content.pushes)
            + _other_targets(event)
            + end
        )
    return lines


def _other_targets(event: LoweredTransition) -> str:
    """Return the conditions under which the transition leads to another mode than its target."""
    zero = "if the flow that it stops crosses zero by itself, or the flow of the slip that it begins is zero"
    passes = f"; {zero}, x does not jump and the mode becomes {event.passes}"
    rests = f"; after infinitely many of them in finite time the mode becomes {event.accumulates}"
    return passes * (event.passes is not None) + rests * (event.accumulates is not None)
