"""`noise` in machine code: the table of a run's error control, time, state and modes -> rounding of its rates and powers.

The same operations in the same order as there, so that both give the same bits.
"""

from __future__ import annotations

import itertools

from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.run.error_control.fields import evaluate, record_of
from bondgraph.run.error_control.noise import ALIKE, FOURTH, IN_TIME, POINTS, SPANS, THIRD
from bondgraph.run.idioms import finite, larger, size_of

_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call."""
    return [_scatter(), _rounding()]


def _root_mean_square(write: Procedure, values: list[Temporary], size: float) -> Temporary:
    total = values[0] * values[0]
    for value in values[1:]:
        total = total + value * value
    return write.intrinsic("sqrt", total / float(len(values))) / size


def _differences(values: list[Temporary]) -> list[Temporary]:
    return [after - before for before, after in itertools.pairwise(values)]


def _scatter() -> Procedure:
    """`noise._scatter` into `third` and `fourth`."""
    write = Procedure("scatter", {**_AT, "span": "double"}, internal=True)
    record, span, t, x = record_of(write), write["span"], write["t"], write["x"]
    n, apart, points, moved = (record.get(name) for name in ("n", "apart", "points", "moved"))
    width = n + record.get("quadratures")
    with write.loop(n) as i:
        apart[i] = span * record.get("scales")[i] * record.get("directions")[i]
    later = span * larger(write, size_of(write, t), record.get("longest")) * IN_TIME
    with write.loop(POINTS) as k:
        number, row = write.real(k), points.at(k * width)
        with write.loop(n) as i:
            moved[i] = x[i] + number * apart[i]
        evaluate(write, "rates", t + later * number, moved, row)
        with write.when(record.get("quadratures") > 0):
            evaluate(write, "powers", t + later * number, moved, row.at(n))
    with write.loop(width) as i:
        values = [points[width * k + i] for k in range(POINTS)]
        third = _differences(_differences(_differences(values)))
        record.get("third")[i] = _root_mean_square(write, third, THIRD)
        record.get("fourth")[i] = _root_mean_square(write, _differences(third), FOURTH)
    write.give()
    return write


def _rounding() -> Procedure:
    """`noise.rounding` into `sigma`; the sizes of the states are the larger of `size` and `scale`."""
    write = Procedure("rounding", _AT, internal=True)
    record, at = record_of(write), [write[name] for name in _AT]
    n, scales, sigma = (record.get(name) for name in ("n", "scales", "sigma"))
    width = n + record.get("quadratures")
    third, fourth = record.get("third"), record.get("fourth")
    with write.loop(n) as i:
        known = larger(write, record.get("size")[i], record.get("scale")[i])
        scales[i] = larger(write, size_of(write, write["x"][i]), known)
    with write.loop(width) as i:
        sigma[i] = 0.0
    for span in SPANS:
        write.call("scatter", [*at, write.value(span, "double")])
        with write.loop(width) as i:
            noisy = fourth[i] > third[i] * ALIKE
            known = finite(third[i]) & finite(fourth[i])
            with write.when(known if span == SPANS[0] else known & noisy):
                sigma[i] = larger(write, sigma[i], write.intrinsic("minnum", third[i], fourth[i]))
    write.give()
    return write
