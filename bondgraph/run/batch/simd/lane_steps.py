"""Steps of several runs side by side: stages, errors and dense output of each lane from its state and step length.

Arrays hold one number per lane where those of `steppers.explicit` hold one, so that vector instructions process all lanes at
once. The operations on each are those of `steppers.explicit`, in the same order: a lane has the bits of a single run.
"""

from __future__ import annotations

from collections.abc import Mapping

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.reference.natural_scales import MIN_ERROR
from bondgraph.run.simd_values import lane_loop
from bondgraph.run.steppers import dop853
from bondgraph.run.steppers.dop853 import TABLEAU
from bondgraph.run.steppers.method import error_weight
from bondgraph.run.table import fields_of

STAGES, EXTENDED, DENSE = TABLEAU.last, len(TABLEAU.a), TABLEAU.rows

# rates, powers, rates_and_powers: SIMD kernels; t, h, t_new: of the step that each lane attempts; later, now: time of a stage,
# since the start and on the clock of the formulas; error, above, below: of each lane, and the sums behind it. y ... noise: as in
# `steps.FIELDS`; hs, chosen: for each number the length of its lane's step, and 1 if that step is accepted, else 0; own, fifth,
# third: terms of the sums. seats, taken, stiff: for each lane the run in it or -1, whether its step is accepted, whether
# stability limits it (integers). following, paused: the run to begin next, and whether one has made so many steps that the caller
# must check for interrupts. tables: those of `steppers.explicit`, of each run under way; row_blocks, runs, found: address of its
# samples, its number or -1, and its status. couplings, scales: the tables of `lane_jacobians`, or 0, and
# those of `natural_scales`; due_t ... due_modes: of as many due runs as there are lanes: times, since the start and on the clock
# of the formulas, numbers side by side, run indices, and the addresses of y and m of each.
DRIVER = ("ready", "proposed", "judged", "lengthened", "held_down", "noisy_step", "weigh", "dense_samples", "flush")
"""Procedures of the method, and of the loop around its steps, called by address."""
_POINTERS = """rates powers rates_and_powers t h t_new later now error above below taken
    y y_new y_stage y_dense k f size floor noise hs chosen own fifth third p m seats stiff tables row_blocks runs
    found couplings scales due_t due_now due_y due_k due_p due_m due due_states due_modes"""
_WHOLES = "n width quadratures watch parameters following paused"
FIELDS = fields_of([*_POINTERS.split(), *DRIVER], _WHOLES.split(), ("origin", "rtol"))
COMPONENTS = {
    **dict.fromkeys(("y", "y_new", "y_stage", "y_dense", "size", "floor", "noise", "hs", "chosen", "own", "fifth", "third"), 1),
    **{"k": EXTENDED, "f": DENSE, "due_y": 1, "due_k": 1},
}
"""Arrays with this many numbers for each state and integrated power, in each lane."""
SUMS = ("t", "h", "t_new", "later", "now", "error", "above", "below", "due_t", "due_now")
"""Arrays with one number per lane."""


def procedures(lanes: int) -> list[Procedure]:
    """Return `attempt_all`, `prepare_dense_all`, `stiffness_all`, `accept_all`, and the procedures they call."""
    combined = [_combination(f"stage{s}", dop853.A[s]) for s in range(1, EXTENDED) if s != STAGES]
    combined.append(_combination("solution", dop853.B))
    combined += [_combination(f"dense{3 + row}", dop853.D[row], on_top=False) for row in range(4)]
    folds = [_folded("added", lanes, largest=False), _folded("largest", lanes, largest=True)]
    parts = [*folds, _derivative(lanes), _squares(), _errors(lanes), _attempt(lanes), _bends(), _prepare_dense(lanes)]
    accepted = [_accept_values("accept_sizes", sizes=True), _accept_values("accept_values", sizes=False), _accept(lanes)]
    return [*combined, *parts, _rises(), _stiffness(lanes), *accepted]


# Work on all numbers of all lanes is one loop without inner loops, which compilers vectorize.


def _combination(name: str, weights: Mapping[int, float], on_top: bool = True) -> Procedure:
    """Compute out = y + h sum_j weights[j] k[j] for all `all` numbers of k[j] with the lane's h; omit y if not `on_top`."""
    arguments = {"out": "ptr noalias", "y": "ptr", "k": "ptr", "count": "i64", "all": "i64", "h": "ptr"}
    write = Procedure(name, arguments, internal=True)
    starts = [(write["k"].at(write["all"] * j), weight) for j, weight in weights.items()]
    with write.loop(write["count"]) as i:
        total = starts[0][0][i] * starts[0][1]
        for start, weight in starts[1:]:
            total = total + start[i] * weight
        total = total * write["h"][i]
        write["out"][i] = write["y"][i] + total if on_top else total
    write.give()
    return write


def _folded(name: str, lanes: int, largest: bool) -> Procedure:
    """Return the sum of `count` numbers per lane, or the largest of them and zero. The result per lane is again a vector."""
    write = Procedure(name, {"out": "ptr noalias", "given": "ptr", "count": "i64"}, internal=True)
    totals = [write.local(0.0) for _ in range(lanes)]
    with write.loop(write["count"]) as i:
        row = write["given"].at(i * lanes)
        for lane, total in enumerate(totals):
            size = (
                write.intrinsic("maxnum", total.get(), write.intrinsic("fabs", row[lane])) if largest else total.get() + row[lane]
            )
            total.set(size)
    for lane, total in enumerate(totals):
        write["out"][lane] = total.get()
    write.give()
    return write


def _derivative(lanes: int) -> Procedure:
    """Evaluate rates, and powers if the stage counts for them (`full`), at the times t (lanes,) and y into k."""
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
        later[lane] = record.get("t")[lane] + record.get("h")[lane] * dop853.C[stage]
    return later


def _attempt(lanes: int) -> Procedure:
    """Compute all stages of a step of each lane into k, y_stage and y_new, and error over tolerance into `error`."""
    write = Procedure("attempt_all", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    count, hs = record.get("width") * lanes, record.get("hs")
    y, y_new, y_stage, k = (record.get(name) for name in ("y", "y_new", "y_stage", "k"))
    with lane_loop(write, record.get("width"), lanes) as (_, lane, i):
        hs[i] = record.get("h")[lane]
    for s in range(1, STAGES):
        # Rates do not depend on integrated powers.
        write.call(f"stage{s}", [y_stage, y, k, record.get("n") * lanes, count, hs])
        full = write.value(int(s in dop853.B), "i64")
        later = _stage_times(write, record, s, lanes)
        write.call("derivative", [write["v"], later, y_stage, k.at(count * s), full])
    write.call("solution", [y_new, y, k, count, count, hs])
    write.call("derivative", [write["v"], record.get("t_new"), y_new, k.at(count * STAGES), write.value(1, "i64")])
    write.call("errors", [write["v"]])
    write.give()
    return write


def _squares() -> Procedure:
    """Compute the squares of both errors of each number, relative to its tolerance."""
    arguments = {"v": "ptr", "fifth": "ptr noalias", "third": "ptr noalias", "count": "i64"}
    write = Procedure("squares", arguments, internal=True)
    record, count = Record(write["v"], FIELDS), write["count"]
    k, hs, magnitude, noise = (record.get(name) for name in ("k", "hs", "own", "noise"))
    with write.loop(count) as i:
        scale = error_weight(write, record, i, magnitude[i]) + write.intrinsic("fabs", hs[i]) * noise[i]
        for square, weights in ((write["fifth"], dop853.E5), (write["third"], dop853.E3)):
            error = write.value(0.0, "double")
            for j, weight in weights.items():
                error = error + k[count * j + i] * weight
            error = error / scale
            square[i] = error * error
    write.give()
    return write


def _errors(lanes: int) -> Procedure:
    """Compute error over tolerance of each lane."""
    write = Procedure("errors", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    n, width, y, y_new, magnitude = (record.get(name) for name in ("n", "width", "y", "y_new", "own"))
    fifth, third = record.get("fifth"), record.get("third")
    with write.loop(n * lanes) as i:
        magnitude[i] = write.intrinsic("maxnum", write.intrinsic("fabs", y[i]), write.intrinsic("fabs", y_new[i]))
    above, below = record.get("above"), record.get("below")
    write.call("largest", [above, y_new.at(n * lanes), width - n])
    with lane_loop(write, width, lanes, start=n) as (_, lane, i):
        magnitude[i] = above[lane]
    write.call("squares", [write["v"], fifth, third, width * lanes])
    write.call("added", [above, fifth, width])
    write.call("added", [below, third, width])
    with write.loop(lanes) as lane:
        top = above[lane]
        denominator = top + below[lane] * 0.01
        scaled = write.intrinsic("fabs", record.get("h")[lane]) * top / write.intrinsic("sqrt", denominator)
        record.get("error")[lane] = write.select(denominator.equals(0.0), 0.0, scaled)
    write.give()
    return write


def _bends() -> Procedure:
    """Compute the first three rows of the dense output."""
    arguments = {"f": "ptr noalias", "y": "ptr", "y_new": "ptr", "k": "ptr", "count": "i64", "h": "ptr"}
    write = Procedure("bends", arguments, internal=True)
    f, k, count, h = write["f"], write["k"], write["count"], write["h"]
    with write.loop(count) as i:
        step = write["y_new"][i] - write["y"][i]
        first, last = h[i] * k[i], h[i] * k[count * STAGES + i]
        f[i] = step
        f[count + i] = first - step
        f[count * 2 + i] = step * 2.0 - (first + last)
    write.give()
    return write


def _prepare_dense(lanes: int) -> Procedure:
    """Compute the coefficients of the polynomials of degree 7 over the steps just attempted."""
    write = Procedure("prepare_dense_all", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    count, hs = record.get("width") * lanes, record.get("hs")
    y, y_new, y_stage, k, f = (record.get(name) for name in ("y", "y_new", "y_dense", "k", "f"))
    for s in range(STAGES + 1, EXTENDED):
        write.call(f"stage{s}", [y_stage, y, k, record.get("n") * lanes, count, hs])
        later = _stage_times(write, record, s, lanes)
        write.call("derivative", [write["v"], later, y_stage, k.at(count * s), write.value(1, "i64")])
    write.call("bends", [f, y, y_new, k, count, hs])
    for row in range(3, DENSE):
        write.call(f"dense{row}", [f.at(count * row), y, k, count, count, hs])
    write.give()
    return write


def _rises() -> Procedure:
    """Compute for each state the squares that `stiffness` (`steppers.explicit`) sums; `all` has the length of the state with the
    powers."""
    arguments = {"v": "ptr", "rises": "ptr noalias", "runs": "ptr noalias", "count": "i64", "all": "i64"}
    write = Procedure("rises", arguments, internal=True)
    record, k, every_one = Record(write["v"], FIELDS), Record(write["v"], FIELDS).get("k"), write["all"]
    y, y_new, y_stage = (record.get(name) for name in ("y", "y_new", "y_stage"))
    with write.loop(write["count"]) as i:
        scale = error_weight(write, record, i, write.intrinsic("fabs", y[i]))
        rise = (k[every_one * STAGES + i] - k[every_one * (STAGES - 1) + i]) / scale
        run = (y_new[i] - y_stage[i]) / scale
        write["rises"][i] = write.select(scale > MIN_ERROR, rise * rise, 0.0)
        write["runs"][i] = write.select(scale > MIN_ERROR, run * run, 0.0)
    write.give()
    return write


def _stiffness(lanes: int) -> Procedure:
    """Compute the sums of squares of `stiffness` (`steppers.explicit`) into `above` and `below`."""
    write = Procedure("stiffness_all", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    n, rises, runs = record.get("n"), record.get("fifth"), record.get("third")
    write.call("rises", [write["v"], rises, runs, n * lanes, record.get("width") * lanes])
    write.call("added", [record.get("above"), rises, n])
    write.call("added", [record.get("below"), runs, n])
    write.give()
    return write


def _accept(lanes: int) -> Procedure:
    """Advance the lanes whose steps are `taken` to the ends of these steps."""
    write = Procedure("accept_all", {"v": "ptr"}, internal=True)
    record = Record(write["v"], FIELDS)
    y, y_new, k, size, chosen = (record.get(name) for name in ("y", "y_new", "k", "size", "chosen"))
    width = record.get("width")
    with lane_loop(write, width, lanes) as (_, lane, i):
        chosen[i] = write.real(record.get("taken").load(lane, "i64"))
    write.call("accept_sizes", [size, y_new, chosen, record.get("n") * lanes])
    write.call("accept_values", [y, y_new, chosen, width * lanes])
    write.call("accept_values", [k, k.at(width * (STAGES * lanes)), chosen, width * lanes])
    write.give()
    return write


def _accept_values(name: str, sizes: bool) -> Procedure:
    """Replace the values that are `chosen`, or take the larger sizes."""
    arguments = {"out": "ptr noalias", "others": "ptr", "chosen": "ptr", "count": "i64"}
    write = Procedure(name, arguments, internal=True)
    out, others = write["out"], write["others"]
    with write.loop(write["count"]) as i:
        other = write.intrinsic("maxnum", out[i], write.intrinsic("fabs", others[i])) if sizes else others[i]
        out[i] = write.select(write["chosen"][i].equals(1.0), other, out[i])
    write.give()
    return write
