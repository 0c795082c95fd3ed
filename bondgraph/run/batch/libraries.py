"""Procedures that runs by a method may call, in libraries with a letter each: they have names in common."""

from __future__ import annotations

import functools

from bondgraph.emit.interpreter.code import procedures as interpreter
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.procedure import Procedure
from bondgraph.run.accuracy import error_weights, pattern_rooms
from bondgraph.run.events.questions import stop_unanswered
from bondgraph.run.steppers.driver import procedures as solver
from bondgraph.run.steppers.method import Method

_BEGINNINGS = {
    "w_": ("weights_",),
    "i_": ("step_", "interpret"),
    "r_": (pattern_rooms.pattern_in_room.__name__,),
    "q_": (stop_unanswered.__name__,),
}
"""Letter of a library, and the beginnings of the names by which an image calls its procedures."""


@functools.cache
def solver_libraries(method: Method) -> dict[str, list[Procedure]]:
    """Return the procedures of a solver by the letters before their names."""
    return {
        "s_": solver(method),
        "w_": error_weights.procedures(),
        "r_": pattern_rooms.procedures(),
        "q_": translate([stop_unanswered], [stop_unanswered.__name__]),
    }


@functools.cache
def run_libraries(method: Method) -> dict[str, list[Procedure]]:
    """Return all procedures that runs by a method may call, with those of the interpreter of derivatives."""
    return {**solver_libraries(method), "i_": interpreter(1)}


def with_letter(name: str, other: str = "k_") -> str:
    """Return the name of a function that an image calls, with the letter of its library, or with `other`: of a kernel."""
    return next((letter for letter, beginnings in _BEGINNINGS.items() if name.startswith(beginnings)), other) + name
