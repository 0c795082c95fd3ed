"""Implicit equations without a unique solution, in words: which elements, why, and what to try."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bondgraph.assembly.system import Loop, System, Unknown
from bondgraph.assembly.transitions import owner_of, transition_in_words
from bondgraph.errors import Place, Problem
from bondgraph.model.automata import Automaton
from bondgraph.model.domains import GENERIC, Domain
from bondgraph.model.element import Element, named
from bondgraph.model.laws import IdealConstraint, Junction, Resistor, SignalBlock, Storing
from bondgraph.model.model import Model
from bondgraph.tracing.linear.modewise import SingularMode
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.values import Untraceable, owners_of
from bondgraph.tracing.prescribed_flow import commanding

MOST_MODES = 8
"""Modes without a solution that a message lists at most."""


class Unsolvable(Exception):
    """A set of unknowns that its equations do not determine linearly; `reason` is "nonlinear", "singular" or "index"."""

    def __init__(
        self,
        reason: str,
        unknowns: Sequence[Unknown],
        loop: Loop | None,
        suspects: Sequence[str] = (),
        modes: Sequence[tuple[Mapping[str, str], Sequence[str]]] = (),
    ):
        self.reason = reason
        self.unknowns = tuple(unknowns)
        self.loop = loop
        self.suspects = tuple(suspects)
        self.modes = tuple(modes)
        """Modes without a solution, where others have one: each automaton -> state, and the elements to suspect."""
        super().__init__(reason)


@contextmanager
def refusing(system: System, unknowns: Sequence[Unknown], loop: Loop | None = None) -> Iterator[None]:
    """Singular equations of these unknowns end as `Unsolvable`, with the elements to suspect."""
    owners = owners_of(system, unknowns)
    try:
        yield
    except SingularSystem as stuck:
        raise Unsolvable("singular", unknowns, loop, suspects(stuck, owners)) from None
    except SingularMode as stuck:
        modes = [(case, suspects(singular, owners)) for case, singular in stuck.cases]
        raise Unsolvable("singular", unknowns, loop, list(dict.fromkeys(e for _, own in modes for e in own)), modes) from None


def suspects(singular: SingularSystem, owners: Sequence[Unknown]) -> list[str]:
    """Elements of the equations and unknowns of a singular part, where each scalar has an owner."""
    return list(dict.fromkeys(owners[k].element for k in (*singular.equations, *singular.unknowns)))


def untraceable(stuck: Untraceable, model: Model) -> Problem:
    """The problem of a formula that cannot be recorded (E129), with its element."""
    owner = owner_of(stuck.statement, model)
    kind = owner.kind if isinstance(owner, Element) else "automaton"
    edge = transition_in_words(stuck.statement, model)
    title = f'the formula of {kind} "{stuck.statement.element}" cannot be compiled'
    details = (*((f"it is the {edge}",) if edge else ()), f"{type(stuck.error).__name__}: {stuck.error}")
    cures = ("sin, exp, where, less ... of screws.scalars in place of math, NumPy's functions and `if`",)
    return Problem("E129", title, details, (owner.place if owner else None,), cures)


def unsolvable(stuck: Unsolvable, system: System, model: Model) -> Problem:
    """The problem of an algebraic loop (E205 not linear, E206 singular), of a derivative of what depends on the unknowns
    themselves (E207), of redundant constraints and dependent storages (E208), of the derivative of what jumps (E209), or of a
    mode without a solution (E212)."""
    if stuck.modes:
        return _in_mode(stuck, model)
    if stuck.loop is not None:
        return _of_loop(stuck, system, model)
    owners = model.elements_at([unknown.element for unknown in stuck.unknowns])
    part = domain_of(model, owners).part
    if stuck.reason == "nonlinear":
        title = "unknown efforts or flows in a relation that is not linear"
        details = (f"unknown is what these give: {named(owners)}",)
        cures = (
            f"a state that decides them (of a C or I): {part('C')}, a stiff one, in place of a constraint",
            f"{part('C')}, a stiff one, at a 0-junction between a storage named here and the rest",
        )
        return Problem("E205", title, details, _places(owners), cures)
    if stuck.reason == "index":
        elements = model.elements_at(stuck.suspects)
        needed = ", ".join(f"the {_differentiated(e)} at {named([e])}" for e in elements)
        title = "a derivative is needed of what is unknown itself"
        details = (f"{needed} must be differentiated, and depends on what these give: {named(owners)}",)
        cures = ("an Sf of zero in place of a constraint that holds no inertia", "a small C or I between them")
        return Problem("E207", title, details, _places(dict.fromkeys([*elements, *owners])), cures)
    elements = model.elements_at(stuck.suspects)
    if stuck.reason == "jump":  # what follows would need an infinite effort or flow
        details = (f"{named(elements)} must follow a value with a sign, a comparison or a step in it",)
        cures = (
            "an R between the source and what follows it (a resistance, a compliance of the drive)",
            "a smooth course in place of the step: a ramp, tanh, or a lowpass",
        )
        return Problem("E209", "a derivative is needed of what jumps", details, _places(elements), cures)
    constraints = [e for e in elements if isinstance(e.law, IdealConstraint)]
    instead = f"leave one of them out, or put {part('C')}, a stiff one, in its place"
    if commands := _commands(model, elements):
        says, cure, sources = commands
        return Problem("E208", "a commanded motion meets a constraint", (says,), _places([*elements, *sources]), (cure, instead))
    return Problem(
        "E208",
        "redundant constraints" if constraints else "dependent storages whose shares are not determined",
        (f"these repeat or contradict the others: {named(elements)}",),
        _places(elements),
        (instead,) + (("joints with more freedoms: a spherical or universal one for a revolute",) if constraints else ()),
    )


def _places(created: Iterable[Element | Automaton]) -> tuple[Place | None, ...]:
    return tuple(one.place for one in created)


def domain_of(model: Model, elements: Sequence[Element]) -> Domain:
    """The domain of the first of some elements that has a bond."""
    paths = {id(element): path for path, element in model.elements.items()}
    bonds = [model.bonds_at(paths[id(e)]) for e in elements if id(e) in paths]
    return next((found[0].domain for found in bonds if found), GENERIC)


def _in_mode(stuck: Unsolvable, model: Model) -> Problem:
    """What has a solution in some modes and none in others: those, and the elements that then contradict each other."""
    elements = model.elements_at(stuck.suspects)
    automata = [model.automata[name] for name in dict.fromkeys(name for mode, _ in stuck.modes for name in mode)]
    says, count = "these contradict or repeat each other, or leave something undecided", len(stuck.modes)
    shown = [(mode_in_words(mode), named(model.elements_at(own))) for mode, own in stuck.modes[:MOST_MODES]]
    title, details = f"the mode {shown[0][0]} has no valid causality", [f"then {says}: {shown[0][1]}"]
    if count > 1:
        title = f"{count} modes have no valid causality"
        details = [f"in each, {says}:", *(f"{mode}: {own}" for mode, own in shown)]
        details += [f"and {count - MOST_MODES} more"] if count > MOST_MODES else []
    cures = _in_mode_cures(model, elements)
    if commands := _commands(model, elements):
        details, cures = [*details, commands[0]], (commands[1],)
    return Problem("E212", title, tuple(details), _places([*elements, *automata]), cures)


def _commands(model: Model, elements: Sequence[Element]) -> tuple[str, str, list[Element]] | None:
    """Of constraints among elements that hold what flow sources command: that in words, what resolves it, and the sources."""
    paths = {id(element): path for path, element in model.elements.items()}
    held = [
        e for e in elements if isinstance(e.law, IdealConstraint) and not e.law.coordinates and commanding(model, paths[id(e)])
    ]
    if not held:
        return None
    sources = model.elements_at([path for e in held for path in commanding(model, paths[id(e)])])
    says = f"{named(sources)} {'command' if len(sources) > 1 else 'commands'} what {named(held)} holds"
    spring = domain_of(model, held).part("C")
    cure = (
        f"{spring} between the command and what it moves: a 0-junction that joins {named(sources[:1])}, a C and the rest, "
        "as the stiffness of a servo does (Hogan 1985)"
    )
    return says, cure, sources


def _in_mode_cures(model: Model, elements: Sequence[Element]) -> tuple[str, ...]:
    part = domain_of(model, elements).part
    return (
        f"{part('R')} in series with a switch that shorts an effort source or a C",
        f"{part('R')} beside a switch that cuts off a flow source or an I",
        "one automaton for switches that must never be closed, or open, at the same time",
    )


def contradicting(elements: Sequence[str], mode: str, model: Model) -> Problem:
    """The problem of a run that has entered a mode in which its equations contradict each other (E220)."""
    found = model.elements_at(elements)
    details = (f"then these contradict each other, or leave something undecided: {named(found)}",)
    title, cures = f"the equations have no solution in the mode {mode}", _in_mode_cures(model, found)
    return Problem("E220", title, details, _places(found), cures)


def paradox(elements: Sequence[str], model: Model) -> Problem:
    """The problem of a run that has come to where friction and the normal force that it follows have no or several solutions."""
    friction, *normals = model.elements_at(elements)
    title = f"{named([friction])} with {named(normals)}: no or several solutions while it slips (Painleve)"
    why = (
        "a larger normal force would, by the friction that it brings along, make the bodies approach instead of part",
        f"its coefficient is {_coefficient(friction, model)} where the run does not change it",
    )
    cures = (
        f"a compliant contact, which has a solution: a C with an R in place of {named(normals)}",
        "a smaller coefficient, or a start or a load with which the bodies do not slide in this posture",
    )
    return Problem("E324", title, why, _places([friction, *normals]), cures)


def _coefficient(friction: Element, model: Model) -> str:
    """The parameters that make up a coefficient of friction, with their values: what its scale reads of them, where that does."""
    scaling = [signal for signal in friction.signals if _parameter(signal, model) is not None]
    names = scaling or [f"{friction.name}.limit"]
    return " times ".join(f'the parameter "{name}", {_parameter(name, model)}' for name in names)


def _parameter(name: str, model: Model) -> Any:
    """Value of a parameter by its name, None for what is no parameter."""
    path, _, own = name.rpartition(".")
    element = model.elements.get(path)
    return element.parameters[own].value if element is not None and own in element.parameters else None


def _differentiated(element: Element) -> str:
    """The variable of an element whose derivative decides the other one."""
    return element.law.gives if isinstance(element.law, Storing) else "flow"


def mode_in_words(mode: Mapping[str, str]) -> str:
    """Each automaton with its state, as messages name a mode."""
    return " and ".join(f'"{state}" of "{automaton}"' for automaton, state in mode.items())


def _of_loop(stuck: Unsolvable, system: System, model: Model) -> Problem:
    """The loop by the elements whose relations close it; junctions only pass values on."""
    assert stuck.loop is not None
    paths = dict.fromkeys(s.element for s in system.statements[stuck.loop.start : stuck.loop.stop])
    elements = model.elements_at(list(paths))
    closing = [e for e in elements if not isinstance(e.law, Junction)] or elements
    details = [f"what each of these gives depends on what it gets in return: {named(closing)}"]
    junctions = [e for e in elements if isinstance(e.law, Junction)]
    if junctions and closing is not elements:
        details.append(f"joined at {named(junctions)}")
    cures = []
    for e, given, other in _against(stuck.loop, system, closing):
        details.append(f"{named([e])} is known only as {given}({other}), and its {other} is asked for")
        cures.append(f'R("{e.name}", {other}=...), the inverse of its {given} if there is one, alone or as well')
    cure = "a small storage (C or I) in the loop, which decides what now depends on itself"
    if all(isinstance(e.law, SignalBlock) for e in closing):
        cure = "a state in one of the blocks, or equations that do not need each other's result"
    code, title = (
        ("E205", "algebraic loop that is not linear")
        if stuck.reason == "nonlinear"
        else ("E206", "algebraic loop without a unique solution")
    )
    return Problem(code, title, tuple(details), _places(closing[:12]), (*cures, cure))


def _against(loop: Loop, system: System, elements: Sequence[Element]) -> list[tuple[Element, str, str]]:
    """Resistors whose only relation takes an unknown of the loop: each with what it gives, and what is sought for it."""
    unknown = {u.value for u in loop.unknowns}
    taking = [s for s in system.statements[loop.start : loop.stop] if s.args and s.args[0] in unknown]
    found = []
    for e in elements:
        if isinstance(e.law, Resistor) and e.law.one_way:
            given, other = ("effort", "flow") if e.law.flow is None else ("flow", "effort")
            relation = e.law.effort or e.law.flow
            found += [(e, given, other) for s in taking if s.op is relation and s.element == e.name]
    return found
