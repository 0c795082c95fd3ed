"""Steps of free bodies, one after another, without Python in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure
from bondgraph.stepping.free_bodies.machine.broad_phase import find_pairs, place_shapes
from bondgraph.stepping.free_bodies.machine.gauss_seidel import solve
from bondgraph.stepping.free_bodies.machine.motion import account_for_contacts, begin, keep_momenta, move
from bondgraph.stepping.free_bodies.machine.narrow_phase import find_contacts
from bondgraph.stepping.free_bodies.machine.resistance import make_resistance
from bondgraph.stepping.free_bodies.machine.rows import begin_impulses, make_rows, remember
from bondgraph.stepping.free_bodies.machine.sleep import let_sleep, wake_by_contacts, wake_by_forces
from bondgraph.stepping.free_bodies.machine.tables import DONE, PileTable

X, M, P = range(3)
"""Blocks that hold the values of prescribed bodies; any other block number selects the outputs."""


def advance(c: PileTable, steps: int) -> int:
    """Take steps of c.h until c.taken is `steps`, and write a row of c.course and c.record for each; return a status."""
    while c.taken < steps:
        evaluate(c)
        status = find_awake(c)
        if status != DONE:
            return status
        finish(c)
        if c.others > 0:
            c.now[0] = c.t + c.h
            c.rates(c.now, c.x, c.p, c.m, c.rate)
        end(c)
    return DONE


def find_awake(c: PileTable) -> int:
    begin(c)
    if c.sleep > 0.0 and wake_by_forces(c):
        begin(c)
    status = find(c)
    while status == DONE and c.sleep > 0.0 and wake_by_contacts(c):
        begin(c)
        status = find(c)
    return status


def evaluate(c: PileTable) -> None:
    c.now[0] = c.t
    c.rates(c.now, c.x, c.p, c.m, c.rate)
    if c.moving == 1:
        c.outputs(c.now, c.x, c.p, c.m, c.out)
        for i in range(13 * (c.bodies - c.free)):
            at, block = c.source_index[i], c.source_block[i]
            if block == X:
                c.placement[i] = c.x[at]
            elif block == M:
                c.placement[i] = c.m[at]
            elif block == P:
                c.placement[i] = c.p[at]
            else:
                c.placement[i] = c.out[at]


def find(c: PileTable) -> int:
    place_shapes(c)
    status = find_pairs(c)
    if status != DONE:
        return status
    return find_contacts(c)


def finish(c: PileTable) -> None:
    make_rows(c)
    if c.resisting == 1:
        make_resistance(c)
    begin_impulses(c)
    solve(c)
    remember(c)
    account_for_contacts(c)
    keep_momenta(c)


def end(c: PileTable) -> None:
    """Move the bodies, and advance the other states by their rates at the end of the step."""
    for i in range(c.others):
        c.x[c.other[i]] = c.x[c.other[i]] + c.h * c.rate[c.other[i]]
    move(c)
    if c.sleep > 0.0:
        let_sleep(c)
    for i in range(c.states):
        c.course[c.taken * c.states + i] = c.x[i]
    c.taken = c.taken + 1
    c.t = c.t + c.h


@build_once
def machine_code() -> Library:
    return compile_written(procedures)


def procedures() -> list[Procedure]:
    entries: list[Callable[..., Any]] = [advance, begin, find, finish, end, make_rows, solve]
    return translate(entries, [entry.__name__ for entry in entries])
