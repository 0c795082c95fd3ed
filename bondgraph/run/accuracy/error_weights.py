"""`weights` in machine code: the table of a run's error control, and where the run is -> new sizes, floors and noise.

`weights_begin` (w, t, x, q, m), `weights_renew` (w, t, x, m), `weights_question` and `weights_relax` (w, t, x, m, h, relative,
implicit) are what `weights.Weights` has under these names: the same operations in the same order, so that both give the same
bits. `weights_reset` (w) makes them as they are before a run. `asked_renew`, `asked_question` and `asked_relax` leave the same to
whoever answers in Python.

In the literature: the error weight of each state.
"""

from __future__ import annotations

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Record, Temporary, cold
from bondgraph.run.accuracy import balancing, error_weights, natural_scales, rounding_noise
from bondgraph.run.accuracy.fields import ASKED, SEEN, evaluate, record_of
from bondgraph.run.accuracy.natural_scales import structure_of
from bondgraph.run.accuracy.reference.error_weights import (
    BOOSTS,
    ETA,
    FRUITFUL,
    LADDER,
    PATIENCE,
    ROUNDED,
    SEEN_BESIDE,
    SHORT,
    UNSEEN,
)
from bondgraph.run.codegen_helpers import is_finite, larger, magnitude
from bondgraph.run.sparsity.reference import FIELDS as STRUCTURE

_REST_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}


def zero_energy_procedures() -> list[Procedure]:
    """All of them, those that are called before those that call; `energies` (`weighing`) comes before them."""
    return [_per_square(), _rests(), _at_rest()]


def _per_square() -> Procedure:
    """`Weights._energy_per_square`."""
    write = Procedure("per_square", {**_REST_AT, "place": "i64"}, "double", internal=True)
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
    write.call("energies", [*(write[name] for name in _REST_AT), here])
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
            even = magnitude(write, above[i] + below[i] - here[i] * 2.0)
            beside = larger(write, magnitude(write, here[i]), record.get("energy"))
            with write.when(is_finite(even) & (even > beside * SEEN_BESIDE)):
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
    write = Procedure("at_rest", {**_REST_AT, "place": "i64"}, "i64", internal=True)
    record, place = record_of(write), write["place"]
    own = write.call("per_square", [*(write[name] for name in _REST_AT), place], "double")
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
        energetic = write.call("per_square", [*(write[name] for name in _REST_AT), driver], "double") > 0.0
        with write.when(energetic):
            moving.set(1)
            with write.when(write.call("rests", [write["w"], driver], "i64").equals(0)):
                write.give(0)
    write.give(moving.get())
    return write


_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}
_STEP = {**_AT, "h": "double", "relative": "double", "implicit": "i64"}


def procedures() -> list[Procedure]:
    """All of them, with those of `balancing`, `driving` and `scatter`."""
    own = [_energies(), _measure_powers(), _known_modes(), _renew(), _see(), _begin(), *error_weights.zero_energy_procedures()]
    own += [_carried(), _listen(), _question(), _relax(), _reset()]
    own += [_asked("renew", _AT), _asked("question", _STEP), _asked("relax", _STEP)]
    return cold([*balancing.procedures(), *natural_scales.procedures(), *rounding_noise.procedures(), *own])


@build_once
def machine_code() -> Library:
    """The error control as machine code."""
    return compile_written(procedures)


def _at(write: Procedure) -> list[Temporary]:
    return [write[name] for name in _AT]


def _energies() -> Procedure:
    """Energies at (t, x) into `out`, if there are any."""
    write = Procedure("energies", {**_AT, "out": "ptr"}, internal=True)
    with write.when(record_of(write).get("storages") > 0):
        evaluate(write, "energies", write["t"], write["x"], write["out"])
    write.give()
    return write


def _measure_powers() -> Procedure:
    """`Weights._measure_powers`."""
    write = Procedure("measure_powers", {"w": "ptr"}, internal=True)
    record = record_of(write)
    floor = record.get("floor").at(record.get("n"))
    with write.loop(record.get("quadratures")) as i:
        floor[i] = larger(write, record.get("energy"), record.get("spread"))
    write.give()
    return write


def _known_modes() -> Procedure:
    """`Weights._remember`: 1 if a leg in these modes has begun before; they are remembered."""
    write = Procedure("remember", {"w": "ptr", "m": "ptr"}, "i64", internal=True)
    record, count = record_of(write), record_of(write).get("modes")
    seen, same = record.get("seen"), write.local(0, "i64")
    with write.loop(record.get("seen_count")) as k:
        same.set(1)
        with write.loop(count) as i, write.when(~seen[k * count + i].equals(write["m"][i])):
            same.set(0)
        with write.when(same.get().equals(1)):
            write.give(1)
    place, known = record.get("seen_next"), record.get("seen_count")
    with write.loop(count) as i:
        seen[place * count + i] = write["m"][i]
    record.set("seen_next", write.select((place + 1).equals(SEEN), 0, place + 1, "i64"))
    record.set("seen_count", write.select(known < SEEN, known + 1, known, "i64"))
    write.give(0)
    return write


def _renew() -> Procedure:
    """`Weights.renew`."""
    write = Procedure("weights_renew", _AT)
    record, at = record_of(write), _at(write)
    n, scale, floor, moved = (record.get(name) for name in ("n", "scale", "floor", "moved"))
    write.call("natural_scales", at)
    with write.loop(n) as i:
        scale[i] = larger(write, record.get("scales")[i], record.get("nominal")[i])
        floor[i] = write.select(record.get("has_absolute").equals(1), record.get("absolute")[i], scale[i] * ETA)
        moved[i] = write["x"][i] + scale[i]
    held, beyond, total = record.get("held"), record.get("beyond"), write.local(0.0)
    write.call("energies", [*at, held])
    write.call("energies", [write["w"], write["t"], moved, write["m"], beyond])
    with write.loop(record.get("storages")) as i:
        change = magnitude(write, beyond[i] - held[i])
        with write.when(is_finite(change)):
            total.set(total.get() + change)
    record.set("spread", total.get() * ETA)
    write.call("measure_powers", [write["w"]])
    write.give()
    return write


def _see() -> Procedure:
    """`Weights.see`."""
    write = Procedure("weights_see", {"w": "ptr", "x": "ptr"})
    size, x = record_of(write).get("size"), write["x"]
    with write.loop(record_of(write).get("n")) as i, write.when(is_finite(x[i])):
        size[i] = larger(write, size[i], magnitude(write, x[i]))
    write.give()
    return write


def _begin() -> Procedure:
    """`Weights.begin`."""
    write = Procedure("weights_begin", {"w": "ptr", "t": "double", "x": "ptr", "q": "ptr", "m": "ptr"})
    record, at, x = record_of(write), _at(write), write["x"]
    n, size, scale, moved = (record.get(name) for name in ("n", "size", "scale", "moved"))
    write.call("weights_see", [write["w"], x])
    known = write.local(write.call("remember", [write["w"], write["m"]], "i64"), "i64")
    with write.loop(n) as i, write.when(larger(write, size[i], scale[i]).equals(0.0)):
        known.set(0)
    with write.when(known.get().equals(0)):
        write.call("weights_renew", at)
    held, beyond = record.get("held"), record.get("beyond")
    with write.loop(n) as i:
        moved[i] = x[i] + record.get("rtol") * larger(write, size[i], record.get("floor")[i])
    write.call("energies", [*at, held])
    write.call("energies", [write["w"], write["t"], moved, write["m"], beyond])
    energy, blur, work = write.local(0.0), write.local(0.0), write.local(0.0)
    with write.loop(record.get("storages")) as i:
        energy.set(energy.get() + magnitude(write, held[i]))
        blur.set(blur.get() + magnitude(write, beyond[i] - held[i]))
    with write.loop(record.get("quadratures")) as i:
        work.set(larger(write, work.get(), magnitude(write, write["q"][i])))
    energy.set(energy.get() + work.get())
    with write.when(energy.get() > blur.get()):
        record.set("energy", larger(write, record.get("energy"), energy.get()))
    write.call("measure_powers", [write["w"]])
    write.give()
    return write


def _carried() -> Procedure:
    """`Weights._carried`: what the blur of states in `moved`, less x, makes of powers is added to their noise."""
    write = Procedure("carried", {**_AT, "noise": "ptr", "h": "double"}, internal=True)
    record, x, noise = record_of(write), write["x"], write["noise"]
    n, moved, sharp, blurred = (record.get(name) for name in ("n", "moved", "sharp", "beyond"))
    with write.loop(n) as i:
        moved[i] = x[i] + write["h"] * noise[i]
    evaluate(write, "powers", write["t"], x, sharp)
    evaluate(write, "powers", write["t"], moved, blurred)
    with write.loop(record.get("quadratures")) as i:
        found = magnitude(write, blurred[i] - sharp[i])
        with write.when(is_finite(found)):
            noise[n + i] = noise[n + i] + found
    write.give()
    return write


def _listen() -> Procedure:
    """`Weights._listen`."""
    write = Procedure("listen", _STEP, "i64", internal=True)
    record, at, h, relative = record_of(write), _at(write), write["h"], write["relative"]
    n, noise, driven, size, floor = (record.get(name) for name in ("n", "sigma", "driven", "size", "floor"))
    quadratures, speed = record.get("quadratures"), record.get("speed")
    width, powered = n + quadratures, quadratures > 0
    write.call("rounding", at)
    largest = write.local(0.0)
    with write.when(powered):
        evaluate(write, "powers", write["t"], write["x"], record.get("sharp"))
        with write.loop(quadratures) as i:
            largest.set(larger(write, largest.get(), magnitude(write, record.get("sharp")[i])))
    collected = record.get("collected") * record.get("boost")
    with write.loop(width) as i:
        noise[i] = collected * noise[i]
    write.call("couplings", at)
    structure, values = Record(structure_of(record), STRUCTURE), record.get("values")
    with write.loop(n) as i:
        driven[i] = 0.0
        with write.when(write["implicit"].equals(1)):
            speed[i] = record.get("diagonal")[i]
    with write.loop(structure.get("couplings")) as k:
        row = structure.get("rows").load(k, "i64")
        driven[row] = driven[row] + values[k] * noise[structure.get("columns").load(k, "i64")]
    record.set("resting", 0)
    with write.loop(n) as i:
        driven[i] = h * driven[i]
        tolerance = relative * larger(write, size[i], floor[i])
        far = h * driven[i] > tolerance * FRUITFUL
        with write.when(far), write.when(write.call("at_rest", [*at, i], "i64").equals(1)):
            noise[i] = noise[i] + driven[i]
    with write.when(powered):
        longest = larger(write, h, record.get("longest") * SHORT)
        write.call("carried", [*at, noise, longest])
    matters = write.local(0, "i64")
    with write.loop(width) as i:
        kept = (i < n) | (noise[i] < largest.get() * ROUNDED) | (h * noise[i] >= floor[i])
        noise[i] = write.select(kept, noise[i], 0.0)
        moves = h * noise[i] / (h * speed[i] + 1.0)
        tolerance = relative * larger(write, size[i], floor[i])
        with write.when((moves > tolerance * FRUITFUL) & (noise[i] > 0.0)):
            matters.set(1)
    with write.loop(width) as i:
        record.get("noise")[i] = write.select(matters.get().equals(1), noise[i], 0.0)
    write.give(matters.get())
    return write


def _question() -> Procedure:
    """`Weights.question`."""
    write = Procedure("weights_question", _STEP)
    record, step = record_of(write), [write[name] for name in _STEP]
    write.call("weights_renew", _at(write))
    noisy = write.local(0, "i64")
    with write.loop(record.get("n") + record.get("quadratures")) as i, write.when(~record.get("noise")[i].equals(0.0)):
        noisy.set(1)
    with write.when(noisy.get().equals(1)):
        record.set("boost", write.intrinsic("minnum", record.get("boost") * 2.0, BOOSTS))
        record.set("boosted", larger(write, record.get("boosted"), record.get("boost")))
    fruitful = write.call("listen", step, "i64")
    longer = record.get("patience") * 2
    longer = write.select(longer < PATIENCE[2], longer, PATIENCE[2], "i64")
    record.set("patience", write.select(fruitful.equals(1), PATIENCE[1], longer, "i64"))
    write.give()
    return write


def _relax() -> Procedure:
    """`Weights.relax`."""
    write = Procedure("weights_relax", _STEP)
    record = record_of(write)
    record.set("boost", larger(write, record.get("boost") * 0.5, write.value(1.0, "double")))
    write.call("listen", [write[name] for name in _STEP], "i64")
    write.give()
    return write


def _reset() -> Procedure:
    """What `Weights` are when they are made."""
    write = Procedure("weights_reset", {"w": "ptr"})
    record = record_of(write)
    n, width = record.get("n"), record.get("n") + record.get("quadratures")
    for name in ("size", "floor", "noise", "exceeded", "speed"):
        with write.loop(width) as i:
            record.get(name)[i] = 0.0
    with write.loop(n) as i:
        record.get("scale")[i] = 0.0
        record.get("squares")[i] = -1.0
    for name in ("energy", "spread"):
        record.set(name, 0.0)
    for name in ("boost", "boosted"):
        record.set(name, 1.0)
    for name in ("seen_count", "seen_next", "modes_known", "resting", "coupled", "ahead", "rated", "scaled"):
        record.set(name, 0)
    record.set("patience", PATIENCE[0])
    write.give()
    return write


def _asked(name: str, arguments: dict[str, str]) -> Procedure:
    """Put down what is asked, and call who answers."""
    write = Procedure(f"asked_{name}", arguments)
    asked = Record(record_of(write).get("asked"), ASKED)
    for given in arguments:
        if given in ASKED:
            asked.set(given, write[given])
    write.call(asked.get(name), [])
    write.give()
    return write
