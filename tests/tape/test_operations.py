"""The table of operations is complete."""

from __future__ import annotations

import numpy as np
import pytest

from screws.jets import variables
from screws.scalars import FUNCTIONS, apply
from tests.inner.tape import Routine, Tape, interpreter, listing, select_outputs, slopes
from tests.inner.tape import opcodes as op


def forgotten() -> list[str]:
    computed = [(code, one) for code, one in enumerate(op.OPERATIONS) if code >= op.ADD]
    found = [f"{one.name}: {back}" for _, one in computed for back in ("llvm", "c") if not getattr(one, back)]
    found += [f"{name}: no record" for name in FUNCTIONS if name not in op.CODES]
    for code, one in computed:
        tape = Tape()
        given = [scalar.index for scalar in tape.inputs("x", 3)[: one.arguments]]
        for k in range(one.truths):
            given[k] = tape.function("less", tape.constant(0.0), given[k])
        if not one.flat and code not in (op.DIVIDE, *op.LOOKUPS):  # a tape writes a / b as a (1 / b)
            try:
                slopes(tape, tape.intern((code, *given)))
            except TypeError:
                found.append(f"{one.name}: derivative")
    return found


def test_every_operation_is_complete() -> None:
    assert forgotten() == []


@pytest.mark.parametrize("field", ["llvm", "c", "derivative", "no record"])
def test_missing_operations_are_named(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if field == "no record":
        monkeypatch.setitem(FUNCTIONS, "sinh", FUNCTIONS["sin"])
        assert forgotten() == ["sinh: no record"]
        return
    record = {"llvm": "call double @llvm.sinh.f64(double {x})", "c": "sinh({x})", "slope": lambda t, a, y: a}
    record |= {"slope": None} if field == "derivative" else {field: ""}
    monkeypatch.setattr(op, "OPERATIONS", [*op.OPERATIONS, op.Operation("sinh", 1, FUNCTIONS["sin"][0], **record)])
    monkeypatch.setattr(op, "NAMES", (*op.NAMES, "sinh"))
    assert forgotten() == [f"sinh: {field}"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jets_know_every_function(name: str) -> None:
    u, v = variables(0.25, 0.5)
    apply(name, *(u, v)[: op.OPERATIONS[op.CODES[name]].arguments])


def test_selected_outputs_keep_constants_that_merging_makes() -> None:
    """-(3 x) becomes (-3) x, which has a new constant."""
    tape = Tape()
    x = tape.inputs("x", 2)
    product = 3.0 * (x[0] + x[1])
    whole = Routine("f", tape, (("x", 2),), (x[0], tape.scalar(-product)))
    selected = select_outputs(whole, "g", [1])
    out = np.empty(1)
    interpreter(listing(selected))([np.array([1.0, 2.0])], out)
    assert out[0] == -9.0
