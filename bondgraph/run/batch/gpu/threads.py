"""Loop over runs in a thread of a GPU, as functions of the kernel language: a thread takes one run after another, goes to sleep
when its budget of steps is spent, and continues at the next launch.

While it is awake, its tables and arrays lie in its own memory (on a GPU: local memory, which the hardware interleaves by thread);
between launches they lie in a slot of the GPU's memory. Larger arrays always lie in the slot's scratch.
"""

from __future__ import annotations

from bondgraph.emit.kernel_language.language import Ints, Reals, Table, external, inline
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure
from bondgraph.run.batch.event_losses import process_events
from bondgraph.run.batch.fields import BatchTable
from bondgraph.run.batch.loop import begin_batch_run, finish_batch_run, never_ends
from bondgraph.run.status import Status

OWN_BASE, SCRATCH_BASE = 1 << 60, 1 << 61
"""Placeholders in a template for the addresses of a thread's own memory and scratch memory, until the thread first wakes."""


class SharedWords(Table):
    """Words that all threads read: the template of a thread's own memory (own_count,), the indices (pointer_count,) of its
    words that may be addresses of own or scratch memory, and the size of scratch memory in words."""

    template: Ints
    pointers: Ints
    own_count: int
    own_bytes: int
    pointer_count: int
    scratch_count: int


class Launch(Table):
    """Call of a kernel, which the host fills in except `next_run`, the first run not yet taken, and `done_runs`, the number of
    runs that have ended.

    A thread goes to sleep after a `budget` of attempted steps. Each of the `slots` threads has a column of states (own_count + 1,
    slots) and a row of scratch (slots, scratch_count); other fields are as in `BatchTable`.
    """

    states: Ints
    scratch: Ints
    shared: SharedWords
    p: Reals
    x: Reals
    m: Reals
    status: Ints
    ends: Reals
    modes_end: Reals
    times_end: Reals
    step_counts: Ints
    rejected_counts: Ints
    rate_counts: Ints
    event_counts: Ints
    kept: Reals
    series: Reals
    slots: int
    runs: int
    budget: int
    next_run: int
    done_runs: int
    p_stride: int
    x_stride: int
    m_stride: int


@external
def taken_run(call: Launch) -> int:
    call.next_run += 1
    return call.next_run - 1


@external
def count_done(call: Launch) -> int:
    call.done_runs += 1
    return call.done_runs - 1


@external
def address_of(numbers: Ints) -> int:
    """Return the address of an array; compiled code replaces this function."""
    raise NotImplementedError


@external
def saw_far_angle(call: Launch) -> int:
    """Reset the flag for angles whose sine only a C library computes; return 1 if it was set."""
    return 0


def run_thread(memory: Ints, call: Launch, slot: int, r: BatchTable) -> None:
    wake(memory, call, slot)
    connect(r, call)
    continue_runs(r, call)
    sleep(memory, call, slot)


def wake(memory: Ints, call: Launch, slot: int) -> None:
    """Load the memory of a thread from its slot, or at first from the template, and shift the addresses in it to its location."""
    words, states, slots, base = call.shared, call.states[slot:], call.slots, address_of(memory)
    before = states[words.own_count * slots]
    if before == 0:
        for i in range(words.own_count):
            memory[i] = words.template[i]
        scratch = address_of(call.scratch[slot * words.scratch_count :])
        move(memory, words, SCRATCH_BASE, words.scratch_count * 8, scratch - SCRATCH_BASE)
        before = OWN_BASE
    else:
        for i in range(words.own_count):
            memory[i] = states[i * slots]
    move(memory, words, before, words.own_bytes, base - before)


@inline
def move(memory: Ints, words: SharedWords, first: int, length: int, by: int) -> None:
    for k in range(words.pointer_count):
        address = memory[words.pointers[k]]
        if address >= first and address < first + length:
            memory[words.pointers[k]] = address + by


def sleep(memory: Ints, call: Launch, slot: int) -> None:
    words, states, slots = call.shared, call.states[slot:], call.slots
    for i in range(words.own_count):
        states[i * slots] = memory[i]
    states[words.own_count * slots] = address_of(memory)


def connect(r: BatchTable, call: Launch) -> None:
    r.p, r.x, r.m = call.p, call.x, call.m
    r.p_stride, r.x_stride, r.m_stride, r.runs = call.p_stride, call.x_stride, call.m_stride, call.runs
    r.status, r.ends, r.modes_end, r.times_end = call.status, call.ends, call.modes_end, call.times_end
    r.step_counts, r.rejected_counts = call.step_counts, call.rejected_counts
    r.rate_counts, r.event_counts = call.rate_counts, call.event_counts
    r.kept, r.series = call.kept, call.series


def continue_runs(r: BatchTable, call: Launch) -> None:
    c, left = r.table, call.budget
    while left > 0:
        status = int(Status.NOT_STARTED)
        if r.under_way == 0:
            r.present = taken_run(call)
            if r.present >= r.runs:
                return
            r.under_way = begin_batch_run(r, r.present)
        if r.under_way == 1:
            attempts = c.steps + c.rejected
            c.budget = left
            status = r.advance(c)
            left -= c.steps + c.rejected - attempts + 1
            if status == Status.LOG_FULL:
                process_events(r)
                continue
            if status == Status.PAUSE:
                if not never_ends(r):
                    c.tried = 0
                    continue
                status = Status.TOO_MANY_STEPS
        finish(r, call, status)


def finish(r: BatchTable, call: Launch, status: int) -> None:
    finish_batch_run(r, r.present, status, 1)
    if saw_far_angle(call) == 1:
        r.status[r.present] = Status.UNTRUSTED
    r.under_way = 0
    count_done(call)


def procedures() -> list[Procedure]:
    return translate([run_thread], ["run_thread"])
