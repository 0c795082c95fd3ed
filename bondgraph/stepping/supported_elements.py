"""Elements and sources that time stepping does not support, each with a cure (E502)."""

from __future__ import annotations

from collections.abc import Collection

from bondgraph.assembly.draft import effort
from bondgraph.causality.assign import Causality
from bondgraph.errors import Problem
from bondgraph.model import laws
from bondgraph.model.element import Element
from bondgraph.model.model import Model
from bondgraph.stepping.given_velocities import velocities_of
from bondgraph.stepping.quadratic.layout import StepOptions
from bondgraph.tracing.evaluate import Traced
from bondgraph.tracing.on_tape.values import scalars_of

FULL = 'inertia="full", where it acts with the velocities of the step before'


def unsupported_elements(model: Model, causality: Causality, full: bool, off: Collection[str]) -> list[Problem]:
    """Return a problem for each unsupported element; `off` are automata that the steps keep off."""
    problems = [_refused(path, element, causality, full, off) for path, element in model.elements.items()]
    return [problem for problem in problems if problem is not None]


def _refused(path: str, element: Element, causality: Causality, full: bool, off: Collection[str]) -> Problem | None:
    law, why, cure = element.law, "", ""
    if isinstance(law, laws.Gyrator | laws.Reaction) and not full:
        why, cure = "its efforts come from velocities across, and a step without inertia has none to take them from", FULL
    elif isinstance(law, laws.Storage) and law.gives == "effort" and path in causality.derivative:
        why, cure = "its effort is set by others, so that its own place follows from theirs", "one C in place of those in a row"
    elif isinstance(law, laws.Storage) and law.gives == "flow" and (law.inverse is None or law.rate is not None):
        why, cure = "a step needs its momentum from its velocity", "inverse=, the momentum as a formula of the flow"
    elif isinstance(law, laws.InertialField) and full and law.motion == "p" and law.mechanics is None:
        why, cure = "a step needs its acceleration", "an IC by its energies"
    elif isinstance(law, laws.SignalBlock) and law.updates:
        why, cure = "a step knows no clock", "the continuous block in its place"
    elif isinstance(law, laws.IdealConstraint | laws.IdealSwitch) and law.automaton is not None and law.automaton not in off:
        why, cure = "a step switches contacts alone", "a contact, or an R or C in its place"
    if not why:
        return None
    return Problem("E502", f'a step cannot hold {element.kind} "{path}"', (why,), (element.place,), (cure,))


def unsupported_sources(traced: Traced, model: Model, options: StepOptions) -> list[Problem]:
    """Return a problem for each source whose effort depends on velocities, or on states of controllers, in steps without
    inertia."""
    if options.full:
        return []
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
            why = f"{reason}, and there is no inertia that answers within a step"
            cures = (f'a C between the commanded motion (Sf) and the joint in place of {element.kind} "{path}"', FULL)
            problems.append(Problem("E502", f'a step cannot hold {element.kind} "{path}"', (why,), (element.place,), cures))
    return problems


def _has_dynamics(name: str, traced: Traced, model: Model) -> bool:
    """Return True if a state of a block changes, with a rate that depends on other states, while all velocities vanish."""
    ground, system = traced.context, traced.context.system
    path = name.rpartition(".")[0]
    if path not in model.elements or not isinstance(model.elements[path].law, laws.SignalBlock):
        return False
    v = [ground.inputs["x"][k] for velocity in velocities_of(system, model) for k in system.places[velocity]]
    state = next(state for state in system.states if state.name == name)
    rate = ground.without(v, [ground.tape.scalar(s) for s in scalars_of(traced.values[state.rate])])
    return bool({scalar.index for scalar in ground.inputs["x"]} & ground.reached(rate))
