"""States at rest, in machine code: the table of a run's error control, and where the run is, in; whether all energy that a state
has had is rounding of what is in play, out.

The same operations in the same order as in `weights`, so that both give the same bits.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record
from bondgraph.run.error_control.driving import structure_of
from bondgraph.run.error_control.fields import record_of
from bondgraph.run.error_control.weights import LADDER, SEEN_BESIDE, UNSEEN
from bondgraph.run.idioms import finite, larger, size_of
from bondgraph.run.sparsity.structures import FIELDS as STRUCTURE

_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call; `energies` (`weighing`) comes before them."""
    return [_per_square(), _rests(), _at_rest()]


def _per_square() -> Procedure:
    """`Weights._energy_per_square`."""
    write = Procedure("per_square", {**_AT, "place": "i64"}, "double", internal=True)
    record, x, m, place = record_of(write), write["x"], write["m"], write["place"]
    squares, modes, moved = record.get("squares"), record.get("square_modes"), record.get("moved")
    with write.loop(record.get("modes")) as i, write.when(~modes[i].equals(m[i])):
        modes[i] = m[i]
        record.set("modes_known", 0)
    with write.when(record.get("modes_known").equals(0)):
        record.set("modes_known", 1)
        with write.loop(record.get("n")) as i:
            squares[i] = -1.0
    with write.when(squares[place] >= 0.0):
        write.give(squares[place])
    squares[place] = 0.0
    here, above, below = record.get("held"), record.get("beyond"), record.get("sharp")
    write.call("energies", [*(write[name] for name in _AT), here])
    with write.loop(record.get("n")) as i:
        moved[i] = x[i]
    known = larger(write, record.get("size")[place], record.get("scale")[place])
    at_moved = [write["w"], write["t"], moved, m]
    with write.loop(LADDER) as power:
        along, most = known * record.get("ladder")[power], write.local(-1.0)
        moved[place] = x[place] + along
        write.call("energies", [*at_moved, above])
        moved[place] = x[place] - along
        write.call("energies", [*at_moved, below])
        with write.loop(record.get("storages")) as i:
            even = size_of(write, above[i] + below[i] - here[i] * 2.0)
            beside = larger(write, size_of(write, here[i]), record.get("energy"))
            with write.when(finite(even) & (even > beside * SEEN_BESIDE)):
                most.set(larger(write, most.get(), even))
        with write.when(most.get() >= 0.0):
            squares[place] = most.get() / along / along / 2.0
            write.give(squares[place])
    write.give(0.0)
    return write


def _rests() -> Procedure:
    """`Weights._rests` of a state whose energy per square is known."""
    write = Procedure("rests", {"w": "ptr", "place": "i64"}, "i64", internal=True)
    record, place = record_of(write), write["place"]
    size = record.get("size")[place]
    held = record.get("squares")[place] * (size * size)
    write.give(write.select(held < record.get("energy") * UNSEEN, 1, 0, "i64"))
    return write


def _at_rest() -> Procedure:
    """`Weights._at_rest`."""
    write = Procedure("at_rest", {**_AT, "place": "i64"}, "i64", internal=True)
    record, place = record_of(write), write["place"]
    own = write.call("per_square", [*(write[name] for name in _AT), place], "double")
    with write.when(own > 0.0):
        write.give(write.call("rests", [write["w"], place], "i64"))
    known = record.get("apart")
    with write.when(record.get("resting").equals(0)):
        record.set("resting", 1)
        with write.loop(record.get("n")) as i:
            known[i] = larger(write, record.get("size")[i], record.get("scale")[i])
        write.call("couplings", [write["w"], write["t"], known, write["m"]])
    structure = Record(structure_of(record), STRUCTURE)
    moving = write.local(0, "i64")
    with write.loop(structure.get("couplings")) as k, write.when(structure.get("rows").load(k, "i64").equals(place)):
        driver = structure.get("columns").load(k, "i64")
        energetic = write.call("per_square", [*(write[name] for name in _AT), driver], "double") > 0.0
        with write.when(energetic):
            moving.set(1)
            with write.when(write.call("rests", [write["w"], driver], "i64").equals(0)):
                write.give(0)
    write.give(moving.get())
    return write
