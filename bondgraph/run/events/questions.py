"""Requests of event handling that only Python can serve: to compile a kernel, to enlarge the log, or to solve collisions.

Python writes the result to memory, and event handling continues. If a callback raises an exception, `stopped` is set and the
event ends the run, so that Python can raise the exception. Exported C code, which cannot call Python, ends the run at such a
request.
"""

from __future__ import annotations

from bondgraph.run.events.state import EventTable


def make_ready(s: EventTable, i: int) -> None:
    if s.ready[i] != 1:
        s.requested_transition = i
        s.compile_kernels(s)


def has_room(s: EventTable, number: int) -> bool:
    if number >= s.log_room:
        s.enlarge_log(s)
    return number < s.log_room


def collide(s: EventTable, i: int, number: int) -> bool:
    """Fire transition i with all simultaneous collisions into x_after, m_after and row `number` of the log, which `begin_row`
    has begun; return False if they are not solved as one problem. Write the transitions to `struck` and, if a contact releases,
    its transition to `answer`."""
    s.consulted, s.requested_transition, s.requested_row = True, i, number
    return s.collide(s) == 1


def stop_unanswered(s: EventTable) -> int:
    """Stop a run that needs Python, in code that cannot call Python."""
    s.stopped = True
    return 0
