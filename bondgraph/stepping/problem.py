"""Compile a graph for time stepping: refuse unsupported elements (E502), and build kernels with given velocities, matrices and
result names."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bondgraph.assembly.draft import effort
from bondgraph.assembly.system import LoweredTransition, ModeSignal, Power, State, Statement, System, Value
from bondgraph.causality.assign import Causality, assign_causality
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.kernels import couplings_of, jacobian_of, kernels_of, outputs_of
from bondgraph.compile.programs import program_of
from bondgraph.emit.kernel import Kernel
from bondgraph.emit.numpy import numpy_kernel
from bondgraph.errors import ModelError, Problem, raise_if_any, refusal
from bondgraph.model import laws
from bondgraph.model.dissipation import HeatFlow, ResistorField
from bondgraph.model.element import Element
from bondgraph.model.model import ContactPoint, Model
from bondgraph.model.ops import IDENTITY, Op, constant, zeros
from bondgraph.run.program import Layout, RunContact
from bondgraph.stepping.given_velocities import MOMENTUM, OWN_FORCE, system_with_velocities, velocities_of
from bondgraph.stepping.quadratic.matrices import StepLayout, StepOptions, StepValues, prescribed_momenta, step_routine
from bondgraph.tape.garbage_collection import paused_collection
from bondgraph.tape.routine import Routine
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.context import SUSPECT, Samples, samples_of
from bondgraph.tracing.on_tape.values import Untraceable, scalars_of
from bondgraph.tracing.routines import trace_for_runs
from bondgraph.tracing.singular_messages import Unsolvable, unsolvable, untraceable
from screws.scalars import array

WITH_INERTIA = 'inertia="full": the element then acts with the velocities of the previous step'


def unsupported_elements(model: Model, causality: Causality, full: bool) -> list[Problem]:
    """Return a problem for each unsupported element."""
    problems = [_refused(path, element, causality, full) for path, element in model.elements.items()]
    return [problem for problem in problems if problem is not None]


def contacts_with_laws(model: Model) -> list[Problem]:
    """Return a problem for each contact that has a law of its own, instead of forces that only steps provide."""
    why, cures = "it has a law of its own, but steps find forces", ("law=Rigid(friction=...)", "`simulate` of the compiled graph")
    return [
        Problem("E502", f'a step cannot contain contact "{contact.path}"', (why,), (contact.place,), cures)
        for contact in model.contacts
        if not contact.stepped and (contact.off or contact.normal is not None)
    ]


def _refused(path: str, element: Element, causality: Causality, full: bool) -> Problem | None:
    law, why, cure = element.law, "", ""
    if isinstance(law, laws.Gyrator | laws.Reaction) and not full:
        why, cure = "its efforts depend on velocities, which a step without inertia does not have", WITH_INERTIA
    elif isinstance(law, laws.Storage) and law.gives == "effort" and path in causality.derivative:
        why, cure = ("other elements set its effort and thereby its position", "one C instead of several in series")
    elif isinstance(law, laws.Storage) and law.output is None:
        why, cure = (
            f"a step must compute its {law.gives} from its {law.state}",
            f"output=, the {law.gives} as a formula of the {law.state}",
        )
    elif isinstance(law, laws.Storage) and laws.is_inertia(law) and (law.inverse is None or law.rate is not None):
        why, cure = "a step must compute its momentum from its velocity", "inverse=, the momentum as a formula of the flow"
    elif isinstance(law, ResistorField):
        why, cure = "a step supports only dampers with one port", "an R at each port"
    elif isinstance(law, laws.Resistor) and law.relation is not None:
        why, cure = "a step must compute its effort from its flow", "effort=, the effort as a formula of the flow"
    elif isinstance(law, laws.InertialField) and full and law.motion == "p" and law.mechanics is None:
        why, cure = "a step must compute its acceleration", "an IC defined by its energies"
    elif isinstance(law, HeatFlow):
        why, cure = "in a step every C is a spring, not a heat capacity", "leave the heat port open: its heat is dissipated"
    elif isinstance(law, laws.SignalBlock) and law.updates:
        why = "a step has no clock" if law.delay is None else "a step stores no history"
        cure = "a continuous block instead"
    elif isinstance(law, laws.IdealConstraint | laws.IdealSwitch) and law.automaton is not None:
        why, cure = "a step can switch only contacts", "a contact, or an R or C instead"
    if not why:
        return None
    return Problem("E502", f'a step cannot contain {element.kind} "{path}"', (why,), (element.place,), (cure,))


def unsupported_sources(traced: Traced, model: Model, options: StepOptions) -> list[Problem]:
    """Return a problem for each source whose effort depends on velocities or on states of controllers; for steps with
    inertia, which allow this, return the problems of `_varying_momenta`."""
    if options.full:
        return _varying_momenta(traced, model)
    ground, system, problems = traced.context, traced.context.system, list[Problem]()
    velocities = velocities_of(system, model)
    names = {ground.inputs["x"][k].index: state for state in system.states for k in system.places[state.name]}
    for path, element in model.elements.items():
        if not (isinstance(element.law, laws.Source) and element.law.gives == "effort" and element.signals):
            continue
        name = effort(model.bonds_at(path)[0])
        reached = ground.reached([ground.tape.scalar(s) for s in scalars_of(traced.values[system.resolve(name)])])
        states = list(dict.fromkeys(names[i].name for i in reached & names.keys()))
        moving = [s for s in states if s in velocities]
        dynamic = [s for s in states if s not in moving and _has_dynamics(s, traced, model)]
        if moving or dynamic:
            what = "velocities" if moving else "states of its own, which react to the motion"
            reason = f"its effort comes from {what} ({', '.join(moving or dynamic)})"
            why = f"{reason}, and no inertia responds within a step"
            cures = (f'a C between the commanded motion (Sf) and the joint instead of {element.kind} "{path}"', WITH_INERTIA)
            problems.append(Problem("E502", f'a step cannot contain {element.kind} "{path}"', (why,), (element.place,), cures))
    return problems


def _varying_momenta(traced: Traced, model: Model) -> list[Problem]:
    """Return a problem for each inertia that moves freely and to which sources give a momentum that varies."""
    context, problems = traced.context, list[Problem]()
    samples = Samples(context.tape, samples_of(context.system))
    for path, momenta in prescribed_momenta(StepValues(traced, model)).items():
        if any(np.ptp(values) > SUSPECT * np.max(np.abs(values)) for values in samples.row(momenta)):
            element, why = model.elements[path], "the velocity that sources add to its free motion varies"
            cures = ("a C between the commanded motion (Sf) and the body", "`simulate` of the compiled graph")
            title = f'a step cannot contain {element.kind} "{path}"'
            problems.append(Problem("E502", title, (why,), (element.place,), cures))
    return problems


def _has_dynamics(name: str, traced: Traced, model: Model) -> bool:
    """Return True if a state of a block changes, at a rate that depends on states, while all velocities vanish."""
    ground, system = traced.context, traced.context.system
    path = name.rpartition(".")[0]
    if path not in model.elements or not isinstance(model.elements[path].law, laws.SignalBlock):
        return False
    v = [ground.inputs["x"][k] for velocity in velocities_of(system, model) for k in system.places[velocity]]
    state = next(state for state in system.states if state.name == name)
    rate = ground.without(v, [ground.tape.scalar(s) for s in scalars_of(traced.values[state.rate])])
    return bool({scalar.index for scalar in ground.inputs["x"]} & ground.reached(rate))


OPEN, STICK, SLIP = MODES = ("open", "stick", "slip")
STEP = "step"
"""Entry of the energy account for the error of using forces at the end of each step instead of forces during the step."""
PAIRS = "pairs"
"""Entry of the energy account for the contacts found at every step."""
_NEVER, _NOTHING = ":no guard", ":no power"


@dataclass(frozen=True, eq=False)
class Steps:
    compiled: Compiled
    """Program of the graph with given velocities: kernels, names and start values."""
    options: StepOptions
    layout: StepLayout
    matrices: Kernel
    """Kernel (t, x, user's p, m, h) -> numbers as in `layout`."""
    works: Kernel
    """Kernel (t, x, p, m) -> power into the C, twice the kinetic energy of the velocities,
    power of the potentials of IC, and gaps."""
    traced: Traced
    routine: Routine
    """Routine that `matrices` compiles; its tape gives the derivatives."""
    forced: Mapping[int, float]
    """State in which the law of a contact gives no force, by mode slot; every step keeps it."""

    @property
    def has_guards(self) -> bool:
        """True if automata other than the modes of contacts have transitions."""
        program = self.compiled.program
        of_contacts = {program.layout[f"{contact.path}.mode"].start for contact in self.layout.contacts}
        return any(edge.slot not in of_contacts for edge in program.transitions)

    @property
    def model(self) -> Model:
        return self.compiled.model


@paused_collection()
def compiled_steps(model: Model, options: StepOptions, backend: str) -> Steps:
    """Compile a model for time stepping; raise `ModelError` with all problems of a stage, E502 for unsupported elements."""
    begin = time.perf_counter()
    raise_if_any(model.name, contacts_with_laws(model))
    off = {automaton: state for contact in model.contacts for automaton, state in contact.off}
    causality = assign_causality(model)
    raise_if_any(model.name, unsupported_elements(model, causality, options.full))
    bare = system_with_velocities(model, causality, options.full)
    traces: list[Traced] = []
    try:
        system = with_contacts(bare, model.contacts, bool(options.bodies))
        routines, system, differentiate = trace_for_runs(system, traces.append)
    except Unsolvable as error:
        raise ModelError(model.name, [unsolvable(error, bare, model)]) from None
    except Untraceable as error:
        raise ModelError(model.name, [untraceable(error, model)]) from error
    traced = traces[0]
    raise_if_any(model.name, unsupported_sources(traced, model, options))
    built = time.perf_counter()
    routine, layout = step_routine(traced, model, options)
    kernels = kernels_of({**routines, "step_matrices": routine}, backend)

    def jacobian() -> Any:
        return jacobian_of(differentiate, backend)

    couplings = functools.partial(couplings_of, routines, jacobian, backend)
    program = program_of(system, kernels, jacobian, couplings, functools.partial(outputs_of, routines, backend), model)
    contacts = tuple(_stepped(contact, program.layout) for contact in model.contacts)
    program = replace(program, contacts=contacts, islands=())  # contacts transmit power without bonds
    timings = {"build": built - begin, "compile": time.perf_counter() - built}
    compiled = Compiled(model, causality, system, program, kernels["prepare"], timings)
    modes = {mode.automaton: mode for mode in system.modes.values()}
    forced = {modes[name].slot: float(modes[name].states.index(state)) for name, state in off.items()}
    works = numpy_kernel(_works(traced, model, options))
    matrices = kernels.get("step_matrices") or numpy_kernel(routine)  # no outputs without unknowns and contacts
    return Steps(compiled, options, layout, matrices, works, traced, routine, forced)


def force_names(contact: ContactPoint) -> tuple[str, str]:
    return f"{contact.path}.normal force", f"{contact.path}.friction force"


def _stepped(contact: ContactPoint, layout: Layout) -> RunContact:
    return RunContact(contact, ((layout[f"{contact.path}.mode"].start, float(MODES.index(OPEN))),), force_names(contact))


def _wrench_of(contact: ContactPoint) -> Op:
    """Return the operation (normal force, friction on body 2) -> wrench on body 1 in the frame C2, whose z is the normal."""
    along = [entry.index for entry in contact.slip if entry.index is not None]

    def wrench(normal: Any, friction: Any) -> Any:
        components: list[Any] = [0.0, 0.0, 0.0, 0.0, 0.0, normal]
        for k, index in enumerate(along):
            components[index] = -(friction[k] if len(along) == 2 else friction)
        return array(components)

    return Op("wrench", wrench)


def with_contacts(system: System, contacts: tuple[ContactPoint, ...], pairs: bool) -> System:
    """Add modes and forces of contacts, which only steps change, and powers of the energy account; `pairs` is True if further
    contacts are found at every step."""
    statements, values, states = list(system.statements), dict(system.values), list(system.states)
    modes, events, powers = dict(system.modes), list(system.events), list(system.powers)
    aliases = dict(system.aliases)
    for name, value in ((_NEVER, -1.0), (_NOTHING, 0.0)):
        statements.append(Statement((name,), constant(value), (), STEP))
        values[name] = Value(())
    for contact in contacts:
        shapes = ((), (2,) if len(contact.slip) == 2 else ())
        for name, shape in zip(force_names(contact), shapes, strict=True):
            aliases.pop(name, None)
            statements.append(Statement((f"{name}'",), zeros(shape), (), contact.path))
            values[name], values[f"{name}'"] = Value(shape, "N"), Value(shape, "N/s")
            states.append(State(name, np.zeros(shape), np.zeros(shape), f"{name}'"))
        filled = dict(zip(contact.stepped, force_names(contact), strict=False))
        statements = [s._replace(op=IDENTITY, args=(filled[s.outs[0]],)) if s.outs[0] in filled else s for s in statements]
        if contact.frames and f"{contact.path}.wrench" in aliases:
            name = f"{contact.path}.wrench"
            del aliases[name]
            statements.append(Statement((name,), _wrench_of(contact), force_names(contact), contact.path))
            values[name] = Value((6,), "N m, N")
        slot = len(modes)
        modes[f"{contact.path}.mode"] = ModeSignal(contact.path, slot, MODES, OPEN)
        values[f"{contact.path}.mode"] = Value(())
        for source in range(3):
            for target in range(3):
                if source != target:
                    kind = MODES[target]
                    events.append(LoweredTransition(contact.path, slot, source, target, _NEVER, (), kind, False, None))
    for path in (*(contact.path for contact in contacts), *([PAIRS] if pairs else [])):
        powers.append(Power(f"{path}.friction", _NOTHING, "dissipated"))
        powers.append(Power(f"{path}.moved", _NOTHING, "supplied"))
    powers.append(Power(STEP, _NOTHING, "dissipated"))
    return replace(
        system,
        statements=tuple(statements),
        values=values,
        states=tuple(states),
        modes=modes,
        events=tuple(events),
        powers=tuple(powers),
        aliases=aliases,
    )


def _works(traced: Traced, model: Model, options: StepOptions) -> Routine:
    ground, values, system = traced.context, traced.values, traced.context.system
    velocities = [ground.inputs["x"][k] for name in velocities_of(system, model) for k in system.places[name]]

    def at(name: str) -> list[Any]:
        return [ground.tape.scalar(scalar) for scalar in scalars_of(values[system.resolve(name)])]

    into, moved, own_force = (ground.tape.scalar(0.0) for _ in range(3))
    for path, element in model.elements.items():
        law = element.law
        if isinstance(law, laws.Storage) and law.gives == "effort":
            into = into + at(f"{path}.power")[0]
        elif laws.is_inertia(law):
            p, f = at(f"{path}{MOMENTUM}"), at(f"{path}.flow")
            still = ground.without(velocities, [*p, *f])
            if isinstance(law, laws.InertialField):
                for a, b in zip(at(f"{path}{OWN_FORCE}"), f, strict=True):
                    own_force = own_force + a * b
            for k, (a, b) in enumerate(zip(p, f, strict=True)):
                moved = moved + (a - still[k]) * (b - still[len(p) + k])
    gaps = [at(contact.gap)[0] for contact in model.contacts]
    blocks = tuple((name, len(ground.inputs[name])) for name in ("t", "x", "p", "m"))
    return Routine("works", ground.tape, blocks, (into, moved, own_force, *gaps))


def refuse_jumps(steps: Steps, before: np.ndarray, after: np.ndarray) -> None:
    """Raise E594 if new parameters change the momenta that sources give to inertias that also move freely."""
    context = steps.traced.context
    changed = np.flatnonzero(before != after)
    places = [k for k in changed if k in context.system.source_places]
    if not places or not steps.options.full:
        return
    momenta = [each for part in prescribed_momenta(StepValues(steps.traced, steps.model)).values() for each in part]
    reached = context.reached(momenta)
    for name, indices in context.system.parameter_places.items():
        if any(k in indices and context.inputs["p"][k].index in reached for k in places):
            title = f'"{name}" jumps, but it is the velocity of a source that moves an inertia on which the step acts too'
            cure = "a C between the commanded motion (Sf) and the body"
            raise refusal("E594", title, cure, about=steps.model.name, places=())
