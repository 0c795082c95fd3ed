"""Steps of several runs side by side: states and step lengths in; stages, errors and dense output of each, out.

Arrays hold a number of every lane where those of `steps` hold one, so that the processor's vectors do all lanes at once. The
operations on each are those of `steps`, in the same order: a lane has the bits of a run alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bondgraph.emit.procedure import Operand, Procedure, Record, Temporary
from bondgraph.run.integrators.explicit import coefficients
from bondgraph.run.integrators.explicit.steps import DENSE, EXTENDED, STAGES, permitted
from bondgraph.run.table import fields_of

# rates, powers, rates_and_powers: kernels in lanes; t, h, t_new: of the step that each lane attempts; later, now: time of a
# stage, and that of the formulas; fifth, third, moved, above, below: sums; taken: whether a step is good (whole numbers).
# y ... noise: as in `steps.FIELDS`; tables: those of `steps`, of each lane; row_blocks, runs, stiff: of each lane where the
# samples of its run go, its number or -1, and whether stability holds down its steps.
DRIVER = ("ready", "proposed", "judged", "lengthened", "held_down", "noisy_step", "weigh", "dense_samples", "flush")
"""Procedures of the explicit method's driver that are called by their address."""
_POINTERS = """rates powers rates_and_powers t h t_new later now error fifth third moved above below taken
    y y_new y_stage y_dense k f size floor noise p m tables row_blocks runs stiff"""
FIELDS = fields_of([*_POINTERS.split(), *DRIVER], ["n", "width", "quadratures", "watch"], ("origin", "rtol"))
COMPONENTS = {"y": 1, "y_new": 1, "y_stage": 1, "y_dense": 1, "k": EXTENDED, "f": DENSE, "size": 1, "floor": 1, "noise": 1}
"""Arrays of so many numbers for each state and integrated power, in each lane."""
SUMS = ("t", "h", "t_new", "later", "now", "error", "fifth", "third", "moved", "above", "below")
"""Arrays of a number for each lane."""


@contextmanager
def every(write: Procedure, count: Operand, lanes: int, start: Operand = 0) -> Iterator[tuple[Temporary, Temporary, Temporary]]:
    """Over the lanes of each of so many numbers: the number, the lane, and the place of both."""
    with write.loop(count, start) as i, write.loop(lanes) as lane:
        yield i, lane, i * lanes + lane


def procedures(lanes: int) -> list[Procedure]:
    """All of them: `attempt_all`, `prepare_dense_all`, `stiffness_all`, `accept_all`, and what they need."""
    combined = [_combination(f"stage{s}", coefficients.A[s], lanes) for s in range(1, EXTENDED) if s != STAGES]
    combined.append(_combination("solution", coefficients.B, lanes))
    combined += [_combination(f"dense{3 + row}", coefficients.D[row], lanes, on_top=False) for row in range(4)]
    parts = [_derivative(lanes), _errors(lanes), _attempt(lanes), _prepare_dense(lanes), _stiffness(lanes), _accept(lanes)]
    return [*combined, *parts]


def _combination(name: str, weights: Mapping[int, float], lanes: int, on_top: bool = True) -> Procedure:
    """out = y + h sum_j weights[j] k[j]; without y if not `on_top`."""
    arguments = {"out": "ptr noalias", "y": "ptr", "k": "ptr", "width": "i64", "h": "ptr"}
    write = Procedure(name, arguments, internal=True)
    stride = write["width"] * lanes
    starts = [(write["k"].at(stride * j), weight) for j, weight in weights.items()]
    with every(write, write["width"], lanes) as (_, lane, i):
        total = starts[0][0][i] * starts[0][1]
        for start, weight in starts[1:]:
            total = total + start[i] * weight
        total = total * write["h"][lane]
        write["out"][i] = write["y"][i] + total if on_top else total
    write.give()
    return write


def _derivative(lanes: int) -> Procedure:
    """Rates, and powers where the stage counts for them (`full`), at the times t (lanes,) and y into k."""
    write = Procedure("derivative", {"v": "ptr", "t": "ptr", "y": "ptr", "k": "ptr", "full": "i64"}, internal=True)
    record = Record(write["v"], FIELDS)
    now, y, k, p, m = record.get("now"), write["y"], write["k"], record.get("p"), record.get("m")
    with write.loop(lanes) as lane:
        now[lane] = record.get("origin") + write["t"][lane]
    fused = record.get("rates_and_powers")
    with write.when(fused.is_given() & write["full"].equals(1)):
        write.call(fused, [now, y, p, m, k])
        write.give()
    write.call(record.get("rates"), [now, y, p, m, k])
    with write.when((record.get("quadratures") > 0) & write["full"].equals(1)):
        write.call(record.get("powers"), [now, y, p, m, k.at(record.get("n") * lanes)])
    write.give()
    return write


def _stage_times(write: Procedure, record: Record, stage: int, lanes: int) -> Temporary:
    later = record.get("later")
    with write.loop(lanes) as lane:
        later[lane] = record.get("t")[lane] + record.get("h")[lane] * coefficients.C[stage]
    return later


def _attempt(lanes: int) -> Procedure:
    """All stages of a step of each lane into k, y_stage and y_new, and error over tolerance into `error`."""
    write = Procedure("attempt_all", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    width, h = record.get("width"), record.get("h")
    y, y_new, y_stage, k = (record.get(name) for name in ("y", "y_new", "y_stage", "k"))
    for s in range(1, STAGES):
        write.call(f"stage{s}", [y_stage, y, k, width, h])
        full = write.value(int(s in coefficients.B), "i64")
        later = _stage_times(write, record, s, lanes)
        write.call("derivative", [write["v"], later, y_stage, k.at(width * (s * lanes)), full])
    write.call("solution", [y_new, y, k, width, h])
    last = k.at(width * (STAGES * lanes))
    write.call("derivative", [write["v"], record.get("t_new"), y_new, last, write.value(1, "i64")])
    write.call("errors", [write["v"], *(record.get(name) for name in ("fifth", "third", "moved", "error"))])
    write.give()
    return write


def _errors(lanes: int) -> Procedure:
    """Error over tolerance of each lane."""
    sums = dict.fromkeys(("fifth", "third", "moved", "error"), "ptr noalias")
    write = Procedure("errors", {"v": "ptr", **sums}, internal=True)
    record = Record(write["v"], FIELDS)
    n, width, h, y, y_new, k = (record.get(name) for name in ("n", "width", "h", "y", "y_new", "k"))
    fifth, third, moved = write["fifth"], write["third"], write["moved"]
    with write.loop(lanes) as lane:
        fifth[lane] = third[lane] = moved[lane] = 0.0
    with every(write, width, lanes, n) as (_, lane, i):
        moved[lane] = write.intrinsic("maxnum", moved[lane], write.intrinsic("fabs", y_new[i]))
    with every(write, width, lanes) as (component, lane, i):
        own = write.intrinsic("maxnum", write.intrinsic("fabs", y[i]), write.intrinsic("fabs", y_new[i]))
        size_of_step = write.intrinsic("fabs", h[lane])
        allowed = permitted(write, record, i, write.select(component < n, own, moved[lane]))
        scale = allowed + size_of_step * record.get("noise")[i]
        for total, weights in ((fifth, coefficients.E5), (third, coefficients.E3)):
            error = write.value(0.0, "double")
            for j, weight in weights.items():
                error = error + k[width * (j * lanes) + i] * weight
            error = write.select(error.equals(0.0), 0.0, error / scale)
            total[lane] = total[lane] + error * error
    with write.loop(lanes) as lane:
        top, side = fifth[lane], third[lane]
        scaled = write.intrinsic("fabs", h[lane]) * top / write.intrinsic("sqrt", top + side * 0.01)
        write["error"][lane] = write.select((top + side).equals(0.0), 0.0, scaled)
    write.give()
    return write


def _prepare_dense(lanes: int) -> Procedure:
    """Coefficients of the polynomials of degree 7 over the steps just attempted."""
    write = Procedure("prepare_dense_all", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    width, h = record.get("width"), record.get("h")
    y, y_new, y_stage, k, f = (record.get(name) for name in ("y", "y_new", "y_dense", "k", "f"))
    stride = width * lanes
    for s in range(STAGES + 1, EXTENDED):
        write.call(f"stage{s}", [y_stage, y, k, width, h])
        later = _stage_times(write, record, s, lanes)
        write.call("derivative", [write["v"], later, y_stage, k.at(stride * s), write.value(1, "i64")])
    with every(write, width, lanes) as (_, lane, i):
        step = y_new[i] - y[i]
        first, last = h[lane] * k[i], h[lane] * k[stride * STAGES + i]
        f[i] = step
        f[stride + i] = first - step
        f[stride * 2 + i] = step * 2.0 - (first + last)
    for row in range(3, DENSE):
        write.call(f"dense{row}", [f.at(stride * row), y, k, width, h])
    write.give()
    return write


def _stiffness(lanes: int) -> Procedure:
    """The sums of squares of `driver.stiffness` into `above` and `below`."""
    write = Procedure("stiffness_all", {"v": "ptr", "above": "ptr noalias", "below": "ptr noalias"}, internal=True)
    record, above, below = Record(write["v"], FIELDS), write["above"], write["below"]
    k, stride = record.get("k"), record.get("width") * lanes
    with write.loop(lanes) as lane:
        above[lane] = below[lane] = 0.0
    with every(write, record.get("n"), lanes) as (_, lane, i):
        scale = permitted(write, record, i, write.intrinsic("fabs", record.get("y")[i]))
        rise = (k[stride * STAGES + i] - k[stride * (STAGES - 1) + i]) / scale
        run = (record.get("y_new")[i] - record.get("y_stage")[i]) / scale
        above[lane] = write.select(scale > 0.0, above[lane] + rise * rise, above[lane])
        below[lane] = write.select(scale > 0.0, below[lane] + run * run, below[lane])
    write.give()
    return write


def _accept(lanes: int) -> Procedure:
    """Let the states of lanes whose steps are `taken` be those at the ends of these."""
    write = Procedure("accept_all", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    y, y_new, k, size, width = (record.get(name) for name in ("y", "y_new", "k", "size", "width"))
    with every(write, record.get("n"), lanes) as (_, lane, i):
        larger = write.intrinsic("maxnum", size[i], write.intrinsic("fabs", y_new[i]))
        size[i] = write.select(record.get("taken").load(lane, "i64").equals(1), larger, size[i])
    with every(write, width, lanes) as (_, lane, i):
        taken = record.get("taken").load(lane, "i64").equals(1)
        y[i] = write.select(taken, y_new[i], y[i])
        k[i] = write.select(taken, k[width * (STAGES * lanes) + i], k[i])
    write.give()
    return write
