"""Error weights in machine code: sizes, floors and noise in the table of a run's error control (`reference.error_weights`).

`weights_begin` (w, t, x, q, m), `weights_refresh` (w, t, x, m), `weights_test_noise` and `weights_decay` (w, t, x, m, h,
relative, implicit) are the methods of `Weights` with these names: the same operations in the same order, so that both give the
same bits. `weights_reset` (w) restores the state before a run. `callback_refresh`, `callback_test_noise` and `callback_decay`
call Python instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Record, Temporary, cold
from bondgraph.run.accuracy import balancing, natural_scales, rounding_noise
from bondgraph.run.accuracy.fields import CALLBACKS, MODE_SETS, evaluate, record_of
from bondgraph.run.accuracy.natural_scales import structure_of
from bondgraph.run.accuracy.reference.error_weights import (
    MAX_DRIVEN,
    MAX_NOISE_GAIN,
    PERSISTENT,
    POWER_ROUNDING,
    RETRY_LIMITS,
    SCALE_PART,
    SIGNIFICANT,
    TRIAL_FACTORS,
    USUAL_STEP,
    VISIBLE_ENERGY,
    ZERO_ENERGY,
)
from bondgraph.run.codegen_helpers import is_finite, larger, magnitude
from bondgraph.run.sparsity.reference import Structure

_REST_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}


def zero_energy_procedures() -> list[Procedure]:
    """Return the procedures of states without energy, callees before callers; `energies` comes before them."""
    return [_per_square(), _has_zero_energy(), _at_rest()]


def _per_square() -> Procedure:
    """Machine code of `Weights._energy_per_square`."""
    write = Procedure("per_square", {**_REST_AT, "state": "i64"}, "double", internal=True)
    record, x, m, state = record_of(write), write["x"], write["m"], write["state"]
    squares, modes, moved = record.get("squares"), record.get("square_modes"), record.get("moved")
    with write.loop(record.get("modes")) as i, write.when(~modes[i].equals(m[i])):
        modes[i] = m[i]
        record.set("modes_known", 0)
    with write.when(record.get("modes_known").equals(0)):
        record.set("modes_known", 1)
        with write.loop(record.get("n")) as i:
            squares[i] = -1.0
    with write.when(squares[state] >= 0.0):
        write.give(squares[state])
    squares[state] = 0.0
    at_x, above, below = record.get("held"), record.get("beyond"), record.get("sharp")
    write.call("energies", [*(write[name] for name in _REST_AT), at_x])
    with write.loop(record.get("n")) as i:
        moved[i] = x[i]
    magnitude_so_far = larger(write, record.get("size")[state], record.get("scale")[state])
    at_moved = [write["w"], write["t"], moved, m]
    with write.loop(TRIAL_FACTORS) as power:
        along, most = magnitude_so_far * record.get("ladder")[power], write.local(-1.0)
        moved[state] = x[state] + along
        write.call("energies", [*at_moved, above])
        moved[state] = x[state] - along
        write.call("energies", [*at_moved, below])
        with write.loop(record.get("storages")) as i:
            even = magnitude(write, above[i] + below[i] - at_x[i] * 2.0)
            reference = larger(write, magnitude(write, at_x[i]), record.get("energy"))
            with write.when(is_finite(even) & (even > reference * VISIBLE_ENERGY)):
                most.set(larger(write, most.get(), even))
        with write.when(most.get() >= 0.0):
            squares[state] = most.get() / along / along / 2.0
            write.give(squares[state])
    write.give(0.0)
    return write


def _has_zero_energy() -> Procedure:
    """Machine code of `Weights._has_zero_energy`, for a state whose energy per square is known."""
    write = Procedure("has_zero_energy", {"w": "ptr", "state": "i64"}, "i64", internal=True)
    record, state = record_of(write), write["state"]
    size = record.get("size")[state]
    energy = record.get("squares")[state] * (size * size)
    write.give(write.select(energy < record.get("energy") * ZERO_ENERGY, 1, 0, "i64"))
    return write


def _at_rest() -> Procedure:
    """Machine code of `Weights._at_rest`."""
    write = Procedure("at_rest", {**_REST_AT, "state": "i64"}, "i64", internal=True)
    record, state = record_of(write), write["state"]
    per_square = write.call("per_square", [*(write[name] for name in _REST_AT), state], "double")
    with write.when(per_square > 0.0):
        write.give(write.call("has_zero_energy", [write["w"], state], "i64"))
    magnitudes = record.get("apart")
    with write.when(record.get("resting").equals(0)):
        record.set("resting", 1)
        with write.loop(record.get("n")) as i:
            magnitudes[i] = larger(write, record.get("size")[i], record.get("scale")[i])
        write.call("couplings", [write["w"], write["t"], magnitudes, write["m"]])
    structure = Record(structure_of(record), Structure.layout())
    moving = write.local(0, "i64")
    with write.loop(structure.get("couplings")) as k, write.when(structure.get("rows").load(k, "i64").equals(state)):
        driver = structure.get("columns").load(k, "i64")
        energetic = write.call("per_square", [*(write[name] for name in _REST_AT), driver], "double") > 0.0
        with write.when(energetic):
            moving.set(1)
            with write.when(write.call("has_zero_energy", [write["w"], driver], "i64").equals(0)):
                write.give(0)
    write.give(moving.get())
    return write


_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}
_STEP = {**_AT, "h": "double", "relative": "double", "implicit": "i64"}


def procedures() -> list[Procedure]:
    """Return all procedures, with those of `balancing`, `natural_scales` and `rounding_noise`."""
    parts = [_energies(), _measure_powers(), _remember_modes(), _refresh(), _see(), _begin(), *zero_energy_procedures()]
    parts += [_propagate_noise(), _driven_noise(), _measure_noise(), _test_noise(), _decay(), _reset()]
    parts += [_by_callback("refresh", _AT), _by_callback("test_noise", _STEP), _by_callback("decay", _STEP)]
    return cold([*balancing.procedures(), *natural_scales.procedures(), *rounding_noise.procedures(), *parts])


@build_once
def machine_code() -> Library:
    """Return the error control as machine code."""
    return compile_written(procedures)


def _at(write: Procedure) -> list[Temporary]:
    return [write[name] for name in _AT]


def _energies() -> Procedure:
    """Evaluate the energies at (t, x) into `out`, if there are any."""
    write = Procedure("energies", {**_AT, "out": "ptr"}, internal=True)
    with write.when(record_of(write).get("storages") > 0):
        evaluate(write, "energies", write["t"], write["x"], write["out"])
    write.give()
    return write


def _measure_powers() -> Procedure:
    """Machine code of `Weights._measure_powers`."""
    write = Procedure("measure_powers", {"w": "ptr"}, internal=True)
    record = record_of(write)
    floor = record.get("floor").at(record.get("n"))
    with write.loop(record.get("quadratures")) as i:
        floor[i] = larger(write, record.get("energy"), record.get("spread"))
    write.give()
    return write


def _remember_modes() -> Procedure:
    """Machine code of `Weights._remember`: return 1 if the run has already begun a segment in these modes; remember them."""
    write = Procedure("remember", {"w": "ptr", "m": "ptr"}, "i64", internal=True)
    record, count = record_of(write), record_of(write).get("modes")
    seen, same = record.get("seen"), write.local(0, "i64")
    with write.loop(record.get("seen_count")) as k:
        same.set(1)
        with write.loop(count) as i, write.when(~seen[k * count + i].equals(write["m"][i])):
            same.set(0)
        with write.when(same.get().equals(1)):
            write.give(1)
    slot, stored = record.get("seen_next"), record.get("seen_count")
    with write.loop(count) as i:
        seen[slot * count + i] = write["m"][i]
    record.set("seen_next", write.select((slot + 1).equals(MODE_SETS), 0, slot + 1, "i64"))
    record.set("seen_count", write.select(stored < MODE_SETS, stored + 1, stored, "i64"))
    write.give(0)
    return write


def _refresh() -> Procedure:
    """Machine code of `Weights.refresh`."""
    write = Procedure("weights_refresh", _AT)
    record, at = record_of(write), _at(write)
    n, scale, floor, moved = (record.get(name) for name in ("n", "scale", "floor", "moved"))
    write.call("natural_scales", at)
    with write.loop(n) as i:
        scale[i] = larger(write, record.get("scales")[i], record.get("nominal")[i])
        floor[i] = write.select(record.get("has_absolute").equals(1), record.get("absolute")[i], scale[i] * SCALE_PART)
        moved[i] = write["x"][i] + scale[i]
    held, beyond, total = record.get("held"), record.get("beyond"), write.local(0.0)
    write.call("energies", [*at, held])
    write.call("energies", [write["w"], write["t"], moved, write["m"], beyond])
    with write.loop(record.get("storages")) as i:
        change = magnitude(write, beyond[i] - held[i])
        with write.when(is_finite(change)):
            total.set(total.get() + change)
    record.set("spread", total.get() * SCALE_PART)
    write.call("measure_powers", [write["w"]])
    write.give()
    return write


def _see() -> Procedure:
    """Machine code of `Weights.see`."""
    write = Procedure("weights_see", {"w": "ptr", "x": "ptr"})
    size, x = record_of(write).get("size"), write["x"]
    with write.loop(record_of(write).get("n")) as i, write.when(is_finite(x[i])):
        size[i] = larger(write, size[i], magnitude(write, x[i]))
    write.give()
    return write


def _begin() -> Procedure:
    """Machine code of `Weights.begin`."""
    write = Procedure("weights_begin", {"w": "ptr", "t": "double", "x": "ptr", "q": "ptr", "m": "ptr"})
    record, at, x = record_of(write), _at(write), write["x"]
    n, size, scale, moved = (record.get(name) for name in ("n", "size", "scale", "moved"))
    write.call("weights_see", [write["w"], x])
    current = write.local(write.call("remember", [write["w"], write["m"]], "i64"), "i64")
    with write.loop(n) as i, write.when(larger(write, size[i], scale[i]).equals(0.0)):
        current.set(0)
    with write.when(current.get().equals(0)):
        write.call("weights_refresh", at)
    energies, beyond = record.get("held"), record.get("beyond")
    with write.loop(n) as i:
        moved[i] = x[i] + record.get("rtol") * larger(write, size[i], record.get("floor")[i])
    write.call("energies", [*at, energies])
    write.call("energies", [write["w"], write["t"], moved, write["m"], beyond])
    energy, blur, work = write.local(0.0), write.local(0.0), write.local(0.0)
    with write.loop(record.get("storages")) as i:
        energy.set(energy.get() + magnitude(write, energies[i]))
        blur.set(blur.get() + magnitude(write, beyond[i] - energies[i]))
    with write.loop(record.get("quadratures")) as i:
        work.set(larger(write, work.get(), magnitude(write, write["q"][i])))
    energy.set(energy.get() + work.get())
    with write.when(energy.get() > blur.get()):
        record.set("energy", larger(write, record.get("energy"), energy.get()))
    write.call("measure_powers", [write["w"]])
    write.give()
    return write


def _propagate_noise() -> Procedure:
    """Machine code of `Weights._propagated_noise`: add the change of the powers between x and `moved`, the states plus their
    noise, to the noise of the powers."""
    write = Procedure("carried", {**_AT, "noise": "ptr", "h": "double"}, internal=True)
    record, x, noise = record_of(write), write["x"], write["noise"]
    n, moved, sharp, blurred = (record.get(name) for name in ("n", "moved", "sharp", "beyond"))
    with write.loop(n) as i:
        moved[i] = x[i] + write["h"] * noise[i]
    evaluate(write, "powers", write["t"], x, sharp)
    evaluate(write, "powers", write["t"], moved, blurred)
    with write.loop(record.get("quadratures")) as i:
        noise_of_power = magnitude(write, blurred[i] - sharp[i])
        with write.when(is_finite(noise_of_power)):
            noise[n + i] = noise[n + i] + noise_of_power
    write.give()
    return write


def _driven_noise() -> Procedure:
    """Machine code of `Weights._driven_noise`: add that noise to the noise of the states."""
    write = Procedure("driven_noise", {**_AT, "h": "double", "relative": "double"}, internal=True)
    record, at, h, n = record_of(write), _at(write), write["h"], record_of(write).get("n")
    noise, values, driven = record.get("sigma"), record.get("values"), record.get("driven")
    significant, rest = record.get("third"), record.get("fourth")
    longest, count = larger(write, h, record.get("longest")), write.local(0, "i64")
    write.call("couplings", at)
    with write.loop(n) as i:
        driven[i] = 0.0
    with _couplings(write) as (k, row, column):
        driven[row] = driven[row] + values[k] * noise[column]
    with write.loop(n) as i:
        tolerance = write["relative"] * larger(write, record.get("size")[i], record.get("floor")[i])
        is_significant = longest * (longest * driven[i]) > SIGNIFICANT * tolerance
        significant[i] = write.select(is_significant, 1.0, 0.0)
        rest[i] = significant[i]
        driven[i] = 0.0
        count.set(count.get() + write.select(is_significant, 1, 0, "i64"))
    with write.when(count.get().equals(0)):
        write.give()
    with _couplings(write) as (_, row, column), write.when(significant[row].equals(1.0)):
        rest[column] = 1.0
    record.set("resting", 0)
    with write.loop(n) as i, write.when(rest[i].equals(1.0) & ~(record.get("size")[i] <= write["t"] * noise[i])):
        is_at_rest = write.call("at_rest", [*at, i], "i64").equals(1)
        rest[i] = write.select(is_at_rest, 1.0, 0.0)
    write.call("couplings", at)  # those of `at_rest` are elsewhere
    with _couplings(write) as (k, row, column):
        counts = significant[row].equals(1.0) & (rest[row].equals(1.0) | rest[column].equals(1.0))
        driven[row] = driven[row] + write.select(counts, values[k] * noise[column], 0.0)
    with write.loop(n) as i:
        most = MAX_DRIVEN * larger(write, record.get("size")[i], record.get("floor")[i]) / longest
        in_longest = longest * driven[i]
        noise[i] = noise[i] + write.select(rest[i].equals(1.0), in_longest, write.intrinsic("minnum", in_longest, most))
    write.give()
    return write


@contextmanager
def _couplings(write: Procedure) -> Iterator[tuple[Temporary, Temporary, Temporary]]:
    """Loop over the couplings: yield the index of each, the state that it drives, and its driver."""
    structure = Record(structure_of(record_of(write)), Structure.layout())
    with write.loop(structure.get("couplings")) as k:
        yield k, structure.get("rows").load(k, "i64"), structure.get("columns").load(k, "i64")


def _measure_noise() -> Procedure:
    """Machine code of `Weights._measure_noise`."""
    write = Procedure("measure_noise", _STEP, "i64", internal=True)
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
    with write.loop(n) as i:
        driven[i] = 0.0
        with write.when(write["implicit"].equals(1)):
            speed[i] = record.get("diagonal")[i]
    with _couplings(write) as (k, row, column):
        driven[row] = driven[row] + record.get("values")[k] * noise[column]
    record.set("resting", 0)
    with write.loop(n) as i:
        driven[i] = h * driven[i]
        tolerance = relative * larger(write, size[i], floor[i])
        far = h * driven[i] > tolerance * SIGNIFICANT
        with write.when(far), write.when(write.call("at_rest", [*at, i], "i64").equals(1)):
            noise[i] = noise[i] + driven[i]
    with write.when(powered):
        longest = larger(write, h, record.get("longest") * USUAL_STEP)
        write.call("carried", [*at, noise, longest])
    matters = write.local(0, "i64")
    with write.loop(width) as i:
        kept = (i < n) | (noise[i] < largest.get() * POWER_ROUNDING) | (h * noise[i] >= floor[i])
        noise[i] = write.select(kept, noise[i], 0.0)
        moves = h * noise[i] / (h * speed[i] + 1.0)
        tolerance = relative * larger(write, size[i], floor[i])
        with write.when((moves > tolerance * SIGNIFICANT) & (noise[i] > 0.0)):
            matters.set(1)
    with write.when(matters.get().equals(1) & (record.get("boosted") >= PERSISTENT)):
        write.call("driven_noise", [*at, h, relative])
    with write.loop(width) as i:
        record.get("noise")[i] = write.select(matters.get().equals(1), noise[i], 0.0)
    write.give(matters.get())
    return write


def _test_noise() -> Procedure:
    """Machine code of `Weights.test_noise`."""
    write = Procedure("weights_test_noise", _STEP)
    record, step = record_of(write), [write[name] for name in _STEP]
    write.call("weights_refresh", _at(write))
    noisy = write.local(0, "i64")
    with write.loop(record.get("n") + record.get("quadratures")) as i, write.when(~record.get("noise")[i].equals(0.0)):
        noisy.set(1)
    with write.when(noisy.get().equals(1)):
        record.set("boost", write.intrinsic("minnum", record.get("boost") * 2.0, MAX_NOISE_GAIN))
        record.set("boosted", larger(write, record.get("boosted"), record.get("boost")))
    significant = write.call("measure_noise", step, "i64")
    longer = record.get("patience") * 2
    longer = write.select(longer < RETRY_LIMITS[2], longer, RETRY_LIMITS[2], "i64")
    record.set("patience", write.select(significant.equals(1), RETRY_LIMITS[1], longer, "i64"))
    write.give()
    return write


def _decay() -> Procedure:
    """Machine code of `Weights.decay`."""
    write = Procedure("weights_decay", _STEP)
    record = record_of(write)
    record.set("boost", larger(write, record.get("boost") * 0.5, write.value(1.0, "double")))
    write.call("measure_noise", [write[name] for name in _STEP], "i64")
    write.give()
    return write


def _reset() -> Procedure:
    """Reset `Weights` to their initial state."""
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
    record.set("patience", RETRY_LIMITS[0])
    write.give()
    return write


def _by_callback(name: str, arguments: dict[str, str]) -> Procedure:
    """Store the arguments and call Python."""
    write = Procedure(f"callback_{name}", arguments)
    callbacks = Record(record_of(write).get("callbacks"), CALLBACKS)
    for argument in arguments:
        if argument in CALLBACKS:
            callbacks.set(argument, write[argument])
    write.call(callbacks.get(name), [])
    write.give()
    return write
