"""Check that the user's formulas are functions of their arguments: each is traced twice, and the two traces must agree (E174).

A model records a formula once: a random number, a clock, a counter or a file read in the formula would become a constant.
"""

from __future__ import annotations

import copy
import functools
import math
import random
import time
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bondgraph.assembly.system import System
from bondgraph.assembly.transitions import owner_of, transition_in_words
from bondgraph.errors import Problem, is_own_file
from bondgraph.model.element import Element
from bondgraph.model.model import Model
from bondgraph.model.ops import Op
from bondgraph.tape import opcodes as op
from bondgraph.tape.interpret import evaluate_nodes
from bondgraph.tape.routine import reachable
from bondgraph.tape.scalar import Tape

_EMPTY = types.CellType()
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
_SAMPLES, _RTOL = 16, 1e-9
"""Number of random arguments at which two traces are compared, and the relative difference that counts as rounding error."""
_TICK = 3_000
"""Minimum time between the two traces, ns, so that a clock that the formula reads has changed."""


def unrepeatable_formulas(system: System, model: Model) -> Iterator[Problem]:
    """Report formulas whose second trace differs from the first (E174)."""
    checked = set[tuple[Any, ...]]()
    for statement in system.statements:
        if not is_users(statement.op.function):
            continue
        shapes = tuple(system.values[arg].shape or () for arg in statement.args)
        if (id(statement.op), shapes) in checked:
            continue
        checked.add((id(statement.op), shapes))
        if not is_repeatable(statement.op, shapes):
            owner = owner_of(statement, model)
            kind = owner.kind if isinstance(owner, Element) else "automaton"
            formula = transition_in_words(statement, model) or f"formula of {statement.outs[0]}"
            title = f'{kind} "{statement.element}": the {formula} is not a function of its arguments'
            why = "called twice with equal arguments, it gives different results, or draws random numbers"
            cures = (
                'signals.noise("noise", 1.0, period=1e-3, seed=1), and "noise.y" among the signals',
                'the signal "time" instead of a clock; a state of a `Block` or `signals.sampled` instead of a counter',
            )
            yield Problem("E174", title, (why,), (owner.place if owner else None,), cures)


def is_repeatable(operation: Op, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Return False if a formula records different steps when called again; a formula that fails counts as repeatable, since other
    passes report it."""
    tape = Tape()
    inputs = tape.inputs("arguments", sum(math.prod(shape) for shape in shapes))
    arguments, start = [], 0
    for shape in shapes:
        scalars = inputs[start : start + math.prod(shape)]
        arguments.append(scalars.reshape(shape) if shape else scalars[0])
        start += math.prod(shape)
    generators = _generators_of(operation)
    before = [_state_of(each) for each in generators]
    try:
        first = _scalars(operation(*arguments))
        begin = time.time_ns()
        while time.time_ns() < begin + _TICK:
            pass
        second = _scalars(operation(*arguments))
    except Exception:  # `find_shapes` and the tracer report it
        return True
    if [_state_of(each) for each in generators] != before:
        return False  # two draws of few values may be equal
    return len(first) == len(second) and _equal(tape, list(zip(first, second, strict=True)))


def _generators_of(operation: Op) -> list[Any]:
    generators, pending, seen = list[Any](), list[Any]([operation.function]), set[int]()
    while pending:
        each = pending.pop()
        each = getattr(each, "func", each)
        each = getattr(each, "__self__", each)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each is random or each is np.random:
            pending.append(each.random)  # a method of the module's own generator
        elif isinstance(each, _GENERATORS):
            generators.append(each)
        elif isinstance(each, Op):
            pending.append(each.function)
        elif isinstance(each, types.FunctionType):
            names = each.__code__.co_names if _is_users_code(each.__code__.co_filename) else ()
            pending += [cell.cell_contents for cell in each.__closure__ or () if cell != _EMPTY]
            pending += [each.__globals__[name] for name in names if name in each.__globals__]
            pending += [np.random] if "random" in names and any(each.__globals__.get(name) is np for name in names) else []
            pending += each.__defaults__ or ()
    return generators


def _state_of(generator: Any) -> Any:
    return generator.getstate() if isinstance(generator, random.Random) else copy.deepcopy(generator).bytes(32)


def _scalars(results: Any) -> list[Any]:
    parts = results if isinstance(results, tuple) else (results,)
    return [scalar for part in parts for scalar in (np.asarray(part).flat if np.ndim(part) else (part,))]


def _equal(tape: Tape, pairs: list[tuple[Any, Any]]) -> bool:
    """Return True if all pairs of scalars agree in their constants, and in their values at random arguments; the steps may
    differ, since commutative operations record arguments in the order of their positions."""
    first, second = ([tape.scalar(pair[k]).index for pair in pairs] for k in (0, 1))
    if first == second:
        return True
    if _constants(tape, first) != _constants(tape, second):
        return False
    count = max((node[2] + 1 for node in tape.nodes if node[0] == op.INPUT), default=0)
    rng, values = np.random.default_rng(0), dict[int, Any]()
    arguments = rng.normal(size=(_SAMPLES, count)) * 10.0 ** rng.uniform(-3.0, 3.0, (_SAMPLES, count))
    evaluate_nodes(tape, [*first, *second], [arguments], values)
    return all(
        np.allclose(values[a], values[b], rtol=_RTOL, atol=0.0, equal_nan=True) for a, b in zip(first, second, strict=True)
    )


def _constants(tape: Tape, roots: Sequence[int]) -> set[str]:
    nodes = (tape.nodes[position] for position in reachable(tape, roots))
    return {repr(float(node[1])) for node in nodes if node[0] == op.CONSTANT}


@functools.lru_cache(maxsize=100_000)
def _is_users_code(file: str) -> bool:
    return not is_own_file(file) and "numpy" not in file.replace("\\", "/").split("/")


def is_users(function: Callable[..., Any]) -> bool:
    """Return True if a function, or a function in its closure, is neither from this project's packages nor from NumPy or
    `math`."""
    pending, seen = [function], set[int]()
    while pending:
        each = pending.pop()
        each = getattr(each, "func", each)
        if id(each) in seen:
            continue
        seen.add(id(each))
        code = getattr(each, "__code__", None)
        if code is None:
            if isinstance(each, Op):
                pending.append(each.function)
            elif callable(each) and not isinstance(each, type) and getattr(each, "__module__", "numpy") not in ("numpy", "math"):
                return True
            continue
        if _is_users_code(code.co_filename):
            return True
        inner = [cell.cell_contents for cell in each.__closure__ or () if cell != _EMPTY]
        pending += [value for value in inner if callable(value) and not isinstance(value, type)]
    return False
