"""Comparison of the compiler's result for one random graph with the dense algebra of `hidden`."""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bondgraph import Compiled, Graph, ModelError, compile_model
from bondgraph.causality import assign as causality
from bondgraph.model.model import Model
from bondgraph.run.bound import Bound
from campaigns.graphs.hidden import allowed, is_singular, jumps_with_blocks
from campaigns.graphs.instants import run_differs
from campaigns.graphs.point import Point
from campaigns.graphs.rows import Situation
from campaigns.graphs.situations import at_random, indices_of, modes_of, near_start, openings, separate_bonds, values_of
from campaigns.graphs.widened import Drawn

LONGEST = 20.0
"""Maximum CPU time of a compilation, s."""
MOST_MODES, MOST_OPENINGS = 3, 8
"""Maximum numbers of combinations of modes, four times as many for E154, and of interpretations of open junctions in each, that
are examined."""
FAILURES = ("wrong", "uncoded", "slow")
RUN_CURVED = 0.3
"""Fraction of nonlinear graphs that are run: for these, only the times of events are compared."""
AGREES = 1e-8
"""Relative difference of rates and bond variables that counts as rounding error, in a problem with a condition number below
1e5."""
WORST_CONDITION = 1e10


@dataclass(frozen=True)
class Verdict:
    """Verdict on a graph, with its reason: "right", "wrong", "undecided", "slow", "uncoded", "rightly refused", or
    "regular refused" for a graph that should not be refused."""

    kind: str
    reason: str = ""
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.kind in FAILURES


def verdict_on(drawn: Drawn, rng: np.random.Generator) -> Verdict:
    """Compile the graph and compare it with the reference in several modes, at random states and along a short run."""
    begin = time.process_time()
    try:
        compiled = compile_model(drawn.graph, backend="numpy")
    except ModelError as error:
        codes = " ".join(sorted({problem.code for problem in error.problems}))
        if not all(problem.cures for problem in error.problems):
            return Verdict("wrong", f"{codes} without a cure", str(error))
        return _slow(begin) or refused(drawn.graph, codes, str(error), rng)
    except Exception:
        return Verdict("uncoded", "compilation", traceback.format_exc(limit=-3))
    slow = _slow(begin)
    if slow:
        return slow
    try:
        return accepted(compiled, drawn, rng)
    except Exception:
        return Verdict("uncoded", "evaluation", traceback.format_exc(limit=-4))


def _slow(begin: float) -> Verdict | None:
    took = time.process_time() - begin
    return Verdict("slow", f"{took:.0f} s") if took > LONGEST else None


# --- accepted --------------------------------------------------------------------------------------------------------


def accepted(compiled: Compiled, drawn: Drawn, rng: np.random.Generator) -> Verdict:
    """Compare rates and bond variables in some modes at random states; then compare the run, if it has an event or tick."""
    every = modes_of(compiled.model)
    unsure = ""
    for index in rng.permutation(len(every))[:MOST_MODES]:
        found = _in_mode(compiled, every[index], drawn.linear, rng)
        if found.failed:
            return found
        unsure = unsure or found.reason
    if {"instant", "sampled"} & set(drawn.features) and (drawn.linear or rng.random() < RUN_CURVED):
        how = run_differs(compiled, drawn)
        if how:
            return Verdict("wrong", "run", how)
    return Verdict("undecided", unsure) if unsure else Verdict("right")


def _in_mode(compiled: Compiled, modes: Mapping[str, str], linear: bool, rng: np.random.Generator) -> Verdict:
    m, p = indices_of(compiled.model, modes), compiled.parameters()
    x, unsolved = Bound(compiled.program, p).consistent(0.0, near_start(compiled, rng), m)
    if unsolved is not None:
        return Verdict("undecided", "Newton's method found no solution")
    point = Point(compiled.model, Situation(values_of(compiled, x, m), modes, separate_bonds(compiled)))
    if any(is_open[0] for i in compiled.system.indeterminate for is_open in i.marks(np.array([m])).values()):
        return Verdict("right") if is_singular(point) else Verdict("wrong", "regular mode called indeterminate", str(modes))
    reference = allowed(point, 3 if linear else 1)
    if reference.condition > WORST_CONDITION or not np.isfinite(reference.y).all():
        return Verdict("undecided", "ill-conditioned")
    if _misses(point, reference.y) > AGREES and _misses(point, point.y) < AGREES**2:
        return Verdict("undecided", "the reference violates its own relations")
    states = np.concatenate([np.arange(point.y.size)[point.rows.places[name]] for name in point.states] or [[]])
    if not reference.rates_determined[states.astype(int)].all():
        if is_singular(point):
            return Verdict("wrong", "a mode without a unique solution was accepted", str(modes))
        return Verdict("undecided", "the reference needs more derivatives")
    close = AGREES * max(1.0, reference.condition / 1e5)
    gap = _gap(point.y, reference.y, reference.determined)
    if gap > close:
        return Verdict("wrong", "bond variables", f"off by {gap:.3g} in {modes}: {_worst(point, reference.y)}")
    rates = compiled.program.rates(0.0, x, p, m)
    found, wanted = [], []
    for state in compiled.system.states:
        slot, place = compiled.program.layout[state.name], point.rows.places.get(state.name)
        if place is not None:
            found.append(rates[slot.start : slot.stop])
            wanted.append(reference.rates[place])
    gap = _gap(np.concatenate(found), np.concatenate(wanted)) if found else 0.0
    if gap > close:
        return Verdict("wrong", "rates", f"off by {gap:.3g} in {modes}")
    return Verdict("right")


def _misses(point: Point, y: np.ndarray) -> float:
    """Return the largest violation of the equations without rates, relative to 1 plus the size of the terms in each."""
    still = ~point.N.any(axis=1)
    off = np.abs(point.g + point.G @ (y - point.y))[still]
    sizes = (np.abs(point.G) @ np.maximum(np.abs(y), np.abs(point.y)))[still]
    return float((off / (1.0 + sizes)).max(initial=0.0))


def _gap(found: np.ndarray, wanted: np.ndarray, where: np.ndarray | slice = slice(None)) -> float:
    """Return the largest difference, relative to 1 plus the largest value."""
    return float(np.abs(found - wanted)[where].max(initial=0.0) / (1.0 + np.abs(wanted).max(initial=0.0)))


def _worst(point: Point, wanted: np.ndarray) -> str:
    gaps = {name: np.abs(point.y - wanted)[place].max() for name, place in point.rows.places.items()}
    name = max(gaps, key=lambda key: gaps[key])
    return f"{name} = {point.value(name)}, not {wanted[point.rows.places[name]]}"


# --- refused ---------------------------------------------------------------------------------------------------------


def refused(graph: Graph, codes: str, said: str, rng: np.random.Generator) -> Verdict:
    """Check a refusal.

    A refusal is right if the relations have no unique solution in some mode, if an open junction can be read in several ways that
    causality allows, or if states would have to jump with the value that a block holds.
    """
    try:
        model = graph.freeze()
    except ModelError:
        return Verdict("regular refused", codes, said)
    several, most = False, 4 * MOST_MODES if "E154" in codes else MOST_MODES
    every, choices = modes_of(model), _choices(model, "E154" in codes)
    for index in rng.permutation(len(every))[:most]:
        modes, regular = every[index], 0
        for separate in itertools.islice(openings(model, modes, choices), MOST_OPENINGS):
            point = at_random(model, modes, separate, rng)
            regular += not is_singular(point)
            if "E209" in codes and jumps_with_blocks(point):
                return Verdict("rightly refused", f"{codes}: states follow the value that a block holds")
            if regular and "E154" not in codes:
                break
        if not regular:
            return Verdict("rightly refused", f"{codes}: singular")
        several |= regular > 1
    if several and "E154" in codes:
        return Verdict("rightly refused", f"{codes}: an open junction is ambiguous")
    return Verdict("regular refused", codes, said)


def _choices(model: Model, all_of_them: bool) -> dict[str, tuple[str, ...]] | None:
    """Return, for each switched junction, the bonds that may keep their own common variable when it opens; None if no causality
    exists."""
    try:
        found = causality.openings(model)
    except ModelError:
        return None
    return found if all_of_them else {path: bonds[:1] for path, bonds in found.items()}
