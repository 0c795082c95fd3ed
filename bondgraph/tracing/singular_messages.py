"""Messages for implicit equations without a unique solution: elements, causes and cures.

Functions of `math` and NumPy cannot be traced in a formula: messages name them and the functions to use instead.
"""

from __future__ import annotations

import builtins
import dis
import linecache
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import numpy as np

from bondgraph.assembly.system import Loop, System, Unknown
from bondgraph.assembly.transitions import owner_of, transition_in_words
from bondgraph.errors import Place, Problem, is_own_file
from bondgraph.model import laws
from bondgraph.model.automata import Automaton
from bondgraph.model.domains import GENERIC, Domain
from bondgraph.model.element import Element, named
from bondgraph.model.laws import IdealConstraint, IdealSwitch, Junction, Resistor, SignalBlock, Storing
from bondgraph.model.model import Bond, Model
from bondgraph.tape.scalar import TraceError
from bondgraph.tracing.linear.modewise import SingularMode
from bondgraph.tracing.linear.solve import SingularSystem
from bondgraph.tracing.on_tape.values import Untraceable, owners_of
from screws.scalars import FUNCTIONS

_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "abs": "absolute", "fabs": "absolute"}
_NAMES |= {"fmin": "minimum", "fmax": "maximum"} | {name: name for name in (*FUNCTIONS, "where")}
"""Names in `math` or NumPy -> the equivalent function of `screws.scalars`."""

EXPRESSIONS = {
    "ceil": "-floor(-x)",
    "cbrt": "sign(x) * absolute(x) ** (1.0 / 3.0)",
    "clip": "minimum(maximum(x, y), z)",
    "copysign": "where(y < 0.0, -absolute(x), absolute(x))",
    "cosh": "(exp(x) + exp(-x)) / 2.0",
    "degrees": "x * 180.0 / math.pi",
    "deg2rad": "x * math.pi / 180.0",
    "exp2": "2.0**x",
    "float": "x",
    "heaviside": "where(x < 0.0, 0.0, where(x > 0.0, 1.0, y))",
    "hypot": "sqrt(x**2 + y**2)",
    "int": "sign(x) * floor(absolute(x))",
    "log10": "log(x) / log(10.0)",
    "log1p": "log(1.0 + x)",
    "log2": "log(x) / log(2.0)",
    "mod": "x - y * floor(x / y)",
    "pow": "x**y",
    "power": "x**y",
    "rad2deg": "x * 180.0 / math.pi",
    "radians": "x * math.pi / 180.0",
    "remainder": "x - y * floor(x / y)",
    "round": "floor(x + 0.5)",
    "sinh": "(exp(x) - exp(-x)) / 2.0",
    "square": "x * x",
}
"""Expression in `screws.scalars` that replaces a function of x, y, z, by name of the function; `math.remainder` has none."""

_TABLE = 'the block signals.table("curve", "time", points, values), with "curve.y" among the signals of the formula'


OPERATORS = {" %: ": "x - y * floor(x / y) for x % y", "//: ": "floor(x / y) for x // y"}


def foreign_operators(error: Exception) -> tuple[str, ...]:
    """Return what to write instead of an operator that accepts only numbers.

    >>> foreign_operators(TypeError("unsupported operand type(s) for %: 'TapeScalar' and 'float'"))
    ('x - y * floor(x / y) for x % y, from screws.scalars',)
    """
    text = str(error) if isinstance(error, TypeError) else ""
    return tuple(f"{advice}, from screws.scalars" for mark, advice in OPERATORS.items() if mark in text)


def foreign_functions(error: Exception) -> dict[str, str]:
    """Return the function of `math` or NumPy whose call in a formula raised the error, with advice on its replacement.

    The advice is "" for a function without a counterpart. If the source is unavailable, all functions in the formula are
    returned.
    """
    failing = _failing_frame(error)
    if failing is None:
        return {}
    frame, text = failing
    names = dict(_called(frame))
    here = {name: function for name, function in names.items() if text is None or text.startswith(f"{name}(")}
    return {name: _advice(function) for name, function in here.items()}


def _advice(function: Any) -> str:
    name = getattr(function, "__name__", "")
    if name == "interp":
        return _TABLE
    if name in _NAMES:
        return f"from screws.scalars import {_NAMES[name]}"
    if name in EXPRESSIONS and function is not math.remainder:
        return f"{EXPRESSIONS[name]} for {name}" + (", from screws.scalars" if "(" in EXPRESSIONS[name] else "")
    return ""


def _failing_frame(error: Exception) -> tuple[FrameType, str | None] | None:
    """Return the innermost frame of the user's code with the source of the failing call, or None if another operation failed."""
    failing, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not is_own_file(code.co_filename) and "numpy" not in code.co_filename.replace("\\", "/").split("/"):
            is_call = "CALL" in dis.opname[code.co_code[step.tb_lasti]]
            failing = (step.tb_frame, _text_at(code, step.tb_lasti)) if is_call else None
        step = step.tb_next
    return failing


def _modules(error: Exception) -> set[str]:
    names, step = set[str](), error.__traceback__
    while step is not None:
        names.add(str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        step = step.tb_next
    return names


def _text_at(code: CodeType, instruction: int) -> str | None:
    line, end, column, end_column = list(code.co_positions())[instruction // 2]
    if line is None or end is None or column is None or end_column is None:
        return None
    lines = [linecache.getline(code.co_filename, number) for number in range(line, end + 1)]
    if not all(lines):
        return None
    lines[-1] = lines[-1].encode()[:end_column].decode(errors="replace")
    lines[0] = lines[0].encode()[column:].decode(errors="replace")
    return "".join(lines)


def _called(frame: FrameType) -> Iterator[tuple[str, Any]]:
    scope = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    names = [*frame.f_code.co_names, *frame.f_code.co_freevars]
    for name in names:
        value = scope.get(name)
        if value is math or value is np:
            yield from ((f"{name}.{each}", getattr(value, each)) for each in names if callable(getattr(value, each, None)))
        elif any(value is each for each in (float, int, round)) or isinstance(value, np.ufunc) or _is_of(value, "math"):
            yield name, value


def _is_of(value: Any, module: str) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module


def prescribing_sources(model: Model, path: str) -> tuple[str, ...]:
    """Return the flow sources that prescribe the flow of a one-port through junctions and transformers.

    Sources that are structurally zero are omitted; there are none if the flow also depends on other elements.
    """
    sources = _prescribing(model, model.bonds_at(path)[0], path, frozenset())
    return tuple(s for s in sources or () if model.elements[s].law_as(laws.Source).value is not None)


def _prescribing(model: Model, bond: Bond, origin: str, seen: frozenset[str]) -> tuple[str, ...] | None:
    path = next((end.element for end in bond.ends if end.element != origin), origin)
    if path in seen:
        return None
    law, others = model.elements[path].law, [b for b in model.bonds_at(path) if b is not bond]
    if isinstance(law, laws.Source):
        return (path,) if law.gives == "flow" else None
    behind = [_prescribing(model, other, path, seen | {path}) for other in others]
    if isinstance(law, laws.Junction) and law.automaton is None and law.type == 1:
        return next((sources for sources in behind if sources is not None), None)
    passes_flow = isinstance(law, laws.Transformer) or (isinstance(law, laws.Junction) and law.automaton is None)
    if passes_flow and behind and all(sources is not None for sources in behind):
        return tuple(dict.fromkeys(s for sources in behind for s in sources or ()))
    return None


MAX_LISTED_MODES = 8


class Unsolvable(Exception):
    """Error for unknowns that their equations do not determine; `reason` is "nonlinear", "singular", "index" or "jump"."""

    def __init__(
        self,
        reason: str,
        unknowns: Sequence[Unknown],
        loop: Loop | None,
        suspects: Sequence[str] = (),
        modes: Sequence[tuple[Mapping[str, str], Sequence[str]]] = (),
        too_many: tuple[int, int] = (0, 0),
    ):
        self.reason = reason
        self.unknowns = tuple(unknowns)
        self.loop = loop
        self.suspects = tuple(suspects)
        self.modes = tuple(modes)
        """Modes without a solution, as states by automaton, with the suspect elements; empty unless other combinations of
        modes have a solution."""
        self.too_many = too_many
        super().__init__(reason)


@contextmanager
def refusing(system: System, unknowns: Sequence[Unknown], loop: Loop | None = None) -> Iterator[None]:
    owners = owners_of(system, unknowns)
    try:
        yield
    except SingularSystem as error:
        raise Unsolvable("singular", unknowns, loop, suspects(error, owners)) from None
    except SingularMode as error:
        modes = [(case, suspects(singular, owners)) for case, singular in error.cases]
        elements = list(dict.fromkeys(e for _, of_mode in modes for e in of_mode))
        raise Unsolvable("singular", unknowns, loop, elements, modes, error.too_many) from None


def suspects(singular: SingularSystem, owners: Sequence[Unknown]) -> list[str]:
    return list(dict.fromkeys(owners[k].element for k in (*singular.equations, *singular.unknowns)))


def untraceable(failure: Untraceable, model: Model) -> Problem:
    owner = owner_of(failure.statement, model)
    kind = owner.kind if isinstance(owner, Element) else "automaton"
    edge = transition_in_words(failure.statement, model)
    title = f'the formula of {kind} "{failure.statement.element}" cannot be compiled'
    details = (*((f"it is the {edge}",) if edge else ()), f"{type(failure.error).__name__}: {failure.error}")
    cures: tuple[str, ...] = ("sin, exp, where, less ... from screws.scalars instead of math, NumPy's functions and `if`",)
    cures = ("the functions of screws.scalars that the reason names",) if isinstance(failure.error, TraceError) else cures
    if "sympy" in _modules(failure.error):
        details = (*details[:-1], "SymPy's functions take expressions, but a formula is recorded with scalars of its own")
    elif functions := foreign_functions(failure.error):
        called = " and ".join(functions)
        why = f"{called} {'take' if len(functions) > 1 else 'takes'} numbers, but a formula is recorded with symbols"
        details, advice = (*details[:-1], why), tuple(dict.fromkeys(filter(None, functions.values())))
        cures = advice or ("a formula that uses only + - * / ** and functions from screws.scalars",)
    cures = foreign_operators(failure.error) or cures
    return Problem("E129", title, details, (owner.place if owner else None,), cures)


MORE_FREEDOMS = (
    "joints with more degrees of freedom: spherical or universal instead of revolute",
    "an inline joint instead of the last revolute of a planar loop",
)


def unsolvable(stuck: Unsolvable, system: System, model: Model) -> Problem:
    """Return the problem of unknowns that their equations do not determine: E205 to E209 or E212."""
    if stuck.modes:
        return _in_mode(stuck, model)
    if stuck.loop is not None:
        return _of_loop(stuck, system, model)
    owners = model.elements_at([unknown.element for unknown in stuck.unknowns])
    part = domain_of(model, owners).part
    if stuck.reason == "nonlinear":
        title = "nonlinear relation between unknown efforts or flows"
        details = (f"unknown outputs of: {named(owners)}",)
        cures = (
            f"a C or I whose state determines them, such as {part('C')} of high stiffness, instead of a constraint",
            f"{part('C')} of high stiffness at a 0-junction between a storage named here and the other elements",
        )
        return Problem("E205", title, details, _places(owners), cures)
    if stuck.reason == "index":
        elements = model.elements_at(stuck.suspects)
        title = "a derivative of an unknown is needed"
        if not owners:
            details = (f"the input of {named(elements)} must be differentiated, but depends on this derivative",)
            return Problem("E207", title, details, _places(elements), ("a lowpass or another state in the loop",))
        needed = " and ".join(f"the {_differentiated(e)} at {named([e])}" for e in elements)
        depend = "depend" if len(elements) > 1 else "depends"
        details = (f"{needed} must be differentiated, but {depend} on the outputs of: {named(owners)}",)
        cures = ("an Sf of zero instead of a constraint that acts on no inertia", "a small C or I between them")
        return Problem("E207", title, details, _places(dict.fromkeys([*elements, *owners])), cures)
    elements = model.elements_at(stuck.suspects)
    if stuck.reason == "jump":  # a dependent element would need an infinite effort or flow
        details = (f"{named(elements)} must follow a value that contains a sign, comparison, step or state that a clock changes",)
        cures = (
            "an R between the source and that element, such as a resistance of the drive",
            "a ramp, tanh or lowpass instead of the step",
        )
        return Problem("E209", "a derivative of a discontinuous value is needed", details, _places(elements), cures)
    constraints = [e for e in elements if isinstance(e.law, IdealConstraint)]
    instead = f"leave one of them out, or replace it by {part('C')} of high stiffness"
    if commands := _prescribed_flows(model, elements):
        says, cure, sources = commands
        return Problem(
            "E208", "a commanded motion conflicts with a constraint", (says,), _places([*elements, *sources]), (cure, instead)
        )
    return Problem(
        "E208",
        "redundant constraints" if constraints else "dependent storages whose individual efforts or flows are undetermined",
        (f"these elements repeat or contradict {'other constraints' if constraints else 'each other'}: {named(elements)}",),
        _places(elements),
        (instead, *_less_redundant(constraints)),
    )


def _less_redundant(constraints: Sequence[Element]) -> tuple[str, ...]:
    if not constraints:
        return ()
    if any(_is_of_position(e) for e in constraints):
        return MORE_FREEDOMS
    return ("an Se of zero instead of one of several Sf whose flows always add up to zero",)


def _places(created: Iterable[Element | Automaton]) -> tuple[Place | None, ...]:
    return tuple(part.place for part in created)


def domain_of(model: Model, elements: Sequence[Element]) -> Domain:
    paths = {id(element): path for path, element in model.elements.items()}
    bonds = [model.bonds_at(paths[id(e)]) for e in elements if id(e) in paths]
    return next((at_element[0].domain for at_element in bonds if at_element), GENERIC)


def _in_mode(stuck: Unsolvable, model: Model) -> Problem:
    elements = model.elements_at(stuck.suspects)
    automata = [model.automata[name] for name in dict.fromkeys(name for mode, _ in stuck.modes for name in mode)]
    says, count = "these elements contradict or repeat each other, or leave a value undetermined", len(stuck.modes)
    shown = [(mode_in_words(mode), named(model.elements_at(paths))) for mode, paths in stuck.modes[:MAX_LISTED_MODES]]
    if stuck.too_many[0]:
        return _too_many(stuck, model, elements, automata)
    title, details = f"the mode {shown[0][0]} has no valid causality", [f"then {says}: {shown[0][1]}"]
    if count > 1:
        title = f"{count} modes have no valid causality"
        details = [f"in each, {says}:", *(f"{mode}: {names}" for mode, names in shown)]
        details += [f"and {count - MAX_LISTED_MODES} more"] if count > MAX_LISTED_MODES else []
    cures = _in_mode_cures(model, elements, [automaton.name for automaton in automata])
    if commands := _prescribed_flows(model, elements):
        details, cures = [*details, commands[0]], (commands[1],)
    return Problem("E212", title, tuple(details), _places([*elements, *automata]), cures)


def _too_many(stuck: Unsolvable, model: Model, elements: Sequence[Element], automata: Sequence[Automaton]) -> Problem:
    names = [automaton.name for automaton in automata]
    count, most = stuck.too_many
    title = f"{count} combinations of modes exceed the limit of {most} for the search for singular modes"
    details = (
        f"the automata of this part: {', '.join(names[:12])}{f' and {len(names) - 12} more' if len(names) > 12 else ''}",
        f"the undetermined mode is {mode_in_words(stuck.modes[0][0])}",
        f"these elements repeat each other or are underdetermined: {named(elements)}",
    )
    part = domain_of(model, elements).part
    cures: tuple[str, ...] = (
        f"{part('R')} in series with some of them, at a 0-junction with a friction element, so that each part has fewer modes",
        "one automaton for switches that never switch independently",
    )
    if touching := _contacts(model, elements, names):
        cures = (_compliance(touching),)
    return Problem("E212", title, details, _places([*elements, *automata]), cures)


def _prescribed_flows(model: Model, elements: Sequence[Element]) -> tuple[str, str, list[Element]] | None:
    paths = {id(element): path for path, element in model.elements.items()}
    constraints = [e for e in elements if isinstance(e.law, IdealConstraint) and not e.law.coordinates]
    held = [e for e in constraints if prescribing_sources(model, paths[id(e)])]
    if not held:
        return None
    sources = model.elements_at([path for e in held for path in prescribing_sources(model, paths[id(e)])])
    says = f"{named(sources)} {'command' if len(sources) > 1 else 'commands'} a flow that {named(held)} holds at zero"
    spring = domain_of(model, held).part("C")
    cure = (
        f"{spring} between the command and the parts that it moves: a 0-junction with {named(sources[:1])}, a C and those parts; "
        "the C models the stiffness of the servo (Hogan 1985)"
    )
    return says, cure, sources


def _in_mode_cures(model: Model, elements: Sequence[Element], automata: Sequence[str] = ()) -> tuple[str, ...]:
    part = domain_of(model, elements).part
    if touching := _contacts(model, elements, automata):
        return (_compliance(touching),)
    if elements and not any(isinstance(e.law, IdealSwitch) for e in elements) and any(_is_of_position(e) for e in elements):
        return (
            "joints with more degrees of freedom in this loop, whose constraints are redundant: spherical or universal",
            "an R (viscous friction) instead of dry friction at a joint of this loop",
        )
    return (
        f"{part('R')} in series with a switch that shorts an effort source or a C",
        f"{part('R')} in parallel with a switch that cuts off a flow source or an I",
        "one automaton for switches that must never be closed, or open, at the same time",
    )


def _contacts(model: Model, elements: Sequence[Element], automata: Sequence[str]) -> list[Element]:
    """Return the contact constraints among the elements or, if there are none, those of these automata, as for friction in a
    contact."""
    automaton_of = {id(e): _contact_automaton(e) for e in model.elements.values()}
    among = [e for e in elements if automaton_of.get(id(e))]
    return among or [e for e in model.elements.values() if automaton_of[id(e)] in automata]


def _contact_automaton(element: Element) -> str | None:
    law = element.law
    return law.automaton if isinstance(law, IdealConstraint) and law.released is None else None


def _is_of_position(element: Element) -> bool:
    law = element.law
    return isinstance(law, IdealConstraint) and law.automaton is None and (law.position is not None or law.conditions > 1)


def contradicting(elements: Sequence[str], mode: str, model: Model) -> Problem:
    suspects = model.elements_at(elements)
    details = (f"these elements contradict each other or are underdetermined: {named(suspects)}",)
    title, cures = f"the equations have no solution in mode {mode}", _in_mode_cures(model, suspects)
    return Problem("E220", title, details, _places(suspects), cures)


def paradox(elements: Sequence[str], model: Model) -> Problem:
    friction, *normals = model.elements_at(elements)
    if not normals:
        title = f"{named([friction])}: no solution, or several, while it slips (Painleve)"
        reason = "the friction changes its load by more than the load itself"
        cures = "a smaller scale, or less inertia on the load's side", "a C (a compliance) between the load and this inertia"
        return Problem("E324", title, (reason,), _places([friction]), cures)
    title = f"{named([friction])} with {named(normals)}: no solution, or several, while it slips (Painleve)"
    why = (
        "a larger normal force would cause more friction and make the bodies approach rather than separate",
        f"its coefficient is {_coefficient(friction, model)} unless the run changes it",
    )
    cures = (_compliance(normals), "a smaller coefficient, or a start or load that avoids sliding in this position")
    return Problem("E324", title, why, _places([friction, *normals]), cures)


def _compliance(constraints: Sequence[Element]) -> str:
    return f"a compliant contact, which has a solution: a C with an R instead of {named(constraints)}"


def _coefficient(friction: Element, model: Model) -> str:
    scaling = [signal for signal in friction.signals if _parameter(signal, model) is not None]
    names = scaling or [f"{friction.name}.limit"]
    return " times ".join(f'the parameter "{name}", {_parameter(name, model)}' for name in names)


def _parameter(name: str, model: Model) -> Any:
    path, _, key = name.rpartition(".")
    element = model.elements.get(path)
    return element.parameters[key].value if element is not None and key in element.parameters else None


def _differentiated(element: Element) -> str:
    return element.law.gives if isinstance(element.law, Storing) else "flow"


def mode_in_words(mode: Mapping[str, str]) -> str:
    return " and ".join(f'"{state}" of "{automaton}"' for automaton, state in mode.items())


def _of_loop(stuck: Unsolvable, system: System, model: Model) -> Problem:
    assert stuck.loop is not None
    paths = dict.fromkeys(s.element for s in system.statements[stuck.loop.start : stuck.loop.stop])
    elements = model.elements_at(list(paths))
    closing = [e for e in elements if not isinstance(e.law, Junction)] or elements
    details = [f"these elements depend on each other: {named(closing)}"]
    junctions = [e for e in elements if isinstance(e.law, Junction)]
    if junctions and closing is not elements:
        details.append(f"joined at {named(junctions)}")
    cures = []
    for e, output, argument in _against_relation(stuck.loop, system, closing):
        details.append(f"{named([e])} has only the relation {output}({argument}), but its {argument} is needed")
        cures.append(f'R("{e.name}", {argument}=...), the inverse of its {output}, instead or in addition')
    cure = "a small storage (C or I) in the loop, whose state breaks it"
    if closing is elements:
        details.append("the elements of the ring set values that depend on each other, or nothing sets the common level")
        cure = f"{domain_of(model, elements).part('R')} at one of these junctions"
    if all(isinstance(e.law, SignalBlock) for e in closing):
        cure = "a state in one of the blocks, or equations that do not depend on each other's results"
    code, title = (
        ("E205", "algebraic loop that is not linear")
        if stuck.reason == "nonlinear"
        else ("E206", "algebraic loop without a unique solution")
    )
    return Problem(code, title, tuple(details), _places(closing[:12]), (*cures, cure))


def _against_relation(loop: Loop, system: System, elements: Sequence[Element]) -> list[tuple[Element, str, str]]:
    """Return resistors of the loop whose only relation is needed in inverse form, each with its output and argument."""
    unknown = {u.value for u in loop.unknowns}
    taking = [s for s in system.statements[loop.start : loop.stop] if s.args and s.args[0] in unknown]
    resistors = []
    for e in elements:
        if isinstance(e.law, Resistor) and e.law.has_one_formula:
            output, argument = ("effort", "flow") if e.law.flow is None else ("flow", "effort")
            relation = e.law.effort or e.law.flow
            resistors += [(e, output, argument) for s in taking if s.op is relation and s.element == e.name]
    return resistors
