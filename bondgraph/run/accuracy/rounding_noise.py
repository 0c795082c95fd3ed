"""Rounding noise of rates and powers in machine code (`reference.rounding_noise`), at points one by one or in SIMD lanes.

The operations and their order are those of the Python reference, so that both give the same bits.
"""

from __future__ import annotations

import itertools

from bondgraph.emit.procedure import Operand, Procedure, Record, Temporary
from bondgraph.run.accuracy.fields import evaluate, record_of
from bondgraph.run.accuracy.reference.rounding_noise import FOURTH, NOISE_RATIO, POINTS, SPANS, THIRD, TIME_PART
from bondgraph.run.codegen_helpers import clock_time, is_finite, larger, magnitude

_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}


def procedures() -> list[Procedure]:
    """Return all procedures, callees before callers."""
    return [_points_in_turn(), _evaluate_lanes(), _points_in_lanes(), _noise_estimates(), _rounding()]


def _root_mean_square(write: Procedure, values: list[Temporary], size: float) -> Temporary:
    total = values[0] * values[0]
    for value in values[1:]:
        total = total + value * value
    return write.intrinsic("sqrt", total / float(len(values))) / size


def _differences(values: list[Temporary]) -> list[Temporary]:
    return [after - before for before, after in itertools.pairwise(values)]


def _later(write: Procedure, record: Record, span: float) -> Temporary:
    """Return the distance in time of the points of a span."""
    return span * larger(write, magnitude(write, write["t"]), record.get("longest")) * TIME_PART


def _points_in_turn() -> Procedure:
    """Evaluate rates and powers at all points of all spans into `points`, one after the other."""
    write = Procedure("points_in_turn", _AT, internal=True)
    record, t, x = record_of(write), write["t"], write["x"]
    n, apart, moved, width = (record.get("n"), record.get("apart"), record.get("moved"), _width(record))
    for number, span in enumerate(SPANS):
        with write.loop(n) as i:
            apart[i] = span * record.get("scales")[i] * record.get("directions")[i]
        later = _later(write, record, span)
        with write.loop(POINTS) as k:
            far, row = write.real(k), record.get("points").at((k + number * POINTS) * width)
            with write.loop(n) as i:
                moved[i] = x[i] + far * apart[i]
            evaluate(write, "rates", t + later * far, moved, row)
            with write.when(record.get("quadratures") > 0):
                evaluate(write, "powers", t + later * far, moved, row.at(n))
    write.give()
    return write


def _points_in_lanes() -> Procedure:
    """Evaluate the points as `points_in_turn`, but several at once with SIMD kernels."""
    write = Procedure("points_in_lanes", _AT, internal=True)
    record, t, x = record_of(write), write["t"], write["x"]
    n, apart, lanes = record.get("n"), record.get("apart"), record.get("lanes")
    wide_t, wide_x = record.get("wide_t"), record.get("wide_x")
    for name, values, count in (("p", record.get("p"), "parameters"), ("m", write["m"], "modes")):
        with write.loop(record.get(count)) as i, write.loop(lanes) as lane:
            record.get(f"wide_{name}")[i * lanes + lane] = values[i]
    filled, done = write.local(0, "i64"), write.local(0, "i64")
    for span in SPANS:
        with write.loop(n) as i:
            apart[i] = span * record.get("scales")[i] * record.get("directions")[i]
        later = _later(write, record, span)
        with write.loop(POINTS) as k:
            far, lane = write.real(k), filled.get()
            wide_t[lane] = clock_time(write, record, t + later * far)[0]
            with write.loop(n) as i:
                wide_x[i * lanes + lane] = x[i] + far * apart[i]
            filled.set(lane + 1)
            with write.when(filled.get().equals(lanes)):
                write.call("evaluate_lanes", [write["w"], done.get(), lanes])
                done.set(done.get() + lanes)
                filled.set(0)
    with write.when(filled.get() > 0):
        write.call("evaluate_lanes", [write["w"], done.get(), filled.get()])
    write.give()
    return write


def _evaluate_lanes() -> Procedure:
    """Evaluate rates and powers in the lanes, into `count` rows of `points` from the row `done` on."""
    write = Procedure("evaluate_lanes", {"w": "ptr", "done": "i64", "count": "i64"}, internal=True)
    record, lanes, width = record_of(write), record_of(write).get("lanes"), _width(record_of(write))
    arguments = [record.get(f"wide_{name}") for name in ("t", "x", "p", "m", "out")]
    n, quadratures = record.get("n"), record.get("quadratures")

    def take(kernel: str, first: Operand, length: Temporary) -> None:
        write.call(record.get(kernel), arguments)
        with write.loop(write["count"]) as lane, write.loop(length) as i:
            record.get("points")[(write["done"] + lane) * width + (i + first)] = arguments[-1][i * lanes + lane]

    take("wide_rates", 0, n)
    with write.when(quadratures > 0):
        take("wide_powers", n, quadratures)
    write.give()
    return write


def _width(record: Record) -> Temporary:
    return record.get("n") + record.get("quadratures")


def _noise_estimates() -> Procedure:
    """Machine code of `rounding_noise._noise_estimates` into `third` and `fourth`, from the points of one span."""
    write = Procedure("noise_estimates", {"w": "ptr", "points": "ptr"}, internal=True)
    record, points, width = record_of(write), write["points"], _width(record_of(write))
    with write.loop(width) as i:
        values = [points[width * k + i] for k in range(POINTS)]
        third = _differences(_differences(_differences(values)))
        record.get("third")[i] = _root_mean_square(write, third, THIRD)
        record.get("fourth")[i] = _root_mean_square(write, _differences(third), FOURTH)
    write.give()
    return write


def _rounding() -> Procedure:
    """Machine code of `rounding_noise.rounding` into `sigma`; use the larger of `size` and `scale` as sizes of the states."""
    write = Procedure("rounding", _AT, internal=True)
    record, at = record_of(write), [write[name] for name in _AT]
    n, scales, sigma = (record.get(name) for name in ("n", "scales", "sigma"))
    width = n + record.get("quadratures")
    third, fourth = record.get("third"), record.get("fourth")
    with write.loop(n) as i:
        valid = larger(write, record.get("size")[i], record.get("scale")[i])
        scales[i] = larger(write, magnitude(write, write["x"][i]), valid)
    with write.loop(width) as i:
        sigma[i] = 0.0
    with write.when(record.get("lanes").equals(0)):
        write.call("points_in_turn", at)
    with write.when(record.get("lanes") > 0):
        write.call("points_in_lanes", at)
    for number, span in enumerate(SPANS):
        write.call("noise_estimates", [write["w"], record.get("points").at(width * (number * POINTS))])
        with write.loop(width) as i:
            noisy = fourth[i] > third[i] * NOISE_RATIO
            valid = is_finite(third[i]) & is_finite(fourth[i])
            with write.when(valid if span == SPANS[0] else valid & noisy):
                sigma[i] = larger(write, sigma[i], write.intrinsic("minnum", third[i], fourth[i]))
    write.give()
    return write
