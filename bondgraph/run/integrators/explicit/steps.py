"""One step of Dormand and Prince's method of order 8(5,3): stages, error, dense output, length of the first step.

Coefficients: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 1993, II.5 and II.6, as
in `coefficients`. The error is measured in the Euclidean norm of the weighted components, not in their mean, so that
quiet components do not hide a lively one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.idioms import clock_time
from bondgraph.run.integrators.explicit import coefficients as table
from bondgraph.run.integrators.native import with_shared

STAGES, EXTENDED, DENSE = 12, 16, 7

# y, y_new, y_stage: state at the start and end of a step and argument of the last stage; k: rates of all stages;
# f: coefficients of the dense output.
# weights ...: the table of the error control, and its procedures (`error_control.weighing`).
# doubts: rejections since the last question; noisy: whether there is noise, and in how many steps it was used; cornered: asked
# already at the smallest step; grow ... landing: what the loop must find as it was when it is entered again; trial, target,
# is_last: length and end of the step that is attempted, and whether the horizon is there.
# periods ... breaks: of each row of `ticks.Ticks`; horizon: the next tick, or the end.
FIELDS = with_shared(
    "rates_and_powers y y_new y_stage k f periods tick_offsets following tick_index tick_kernels breaks"
    " instants weights weights_reset weights_begin weights_renew weights_question weights_relax",
    "width budget watch stiff mild rate_count rejected clock_count doubts renewal noisy is_landing landings tried once cornered"
    " mode_count is_last",
    "span horizon h_max grow landing trial target",
)

_COMBINE = {"out": "ptr noalias", "y": "ptr", "k": "ptr", "width": "i64", "h": "double"}


def record_of(write: Procedure) -> Record:
    """The table behind the argument c."""
    return Record(write["c"], FIELDS)


def _combination(name: str, weights: Mapping[int, float], on_top: bool = True) -> Procedure:
    """out = y + h sum_j weights[j] k[j]; without y if not `on_top`."""
    write = Procedure(name, _COMBINE, internal=True)
    starts = [(write["k"].at(write["width"] * j), weight) for j, weight in weights.items()]
    with write.loop(write["width"]) as i:
        total = starts[0][0][i] * starts[0][1]
        for start, weight in starts[1:]:
            total = total + start[i] * weight
        total = total * write["h"]
        write["out"][i] = write["y"][i] + total if on_top else total
    write.give()
    return write


def combinations() -> list[Procedure]:
    """stage1 ... stage15, but for the one that is the solution; solution, dense3 ... dense6."""
    made = [_combination(f"stage{s}", table.A[s]) for s in range(1, EXTENDED) if s != STAGES]
    made.append(_combination("solution", table.B))
    made += [_combination(f"dense{3 + row}", table.D[row], on_top=False) for row in range(4)]
    return made


def derivative() -> Procedure:
    """Rates, and powers where the stage counts for them (`full`), at (t, y) into k."""
    write = Procedure("derivative", {"c": "ptr", "t": "double", "y": "ptr", "k": "ptr", "full": "i64"}, internal=True)
    record = record_of(write)
    t, y, k = clock_time(write, record, write["t"]), write["y"], write["k"]
    p, m = record.get("p"), record.get("m")
    record.count("rate_count")
    quadratures, fused = record.get("quadratures"), record.get("rates_and_powers")
    with write.when(fused.is_given() & write["full"].equals(1)):
        write.call(fused, [t, y, p, m, k])
        write.give()
    write.call(record.get("rates"), [t, y, p, m, k])
    with write.when((quadratures > 0) & write["full"].equals(1)):
        write.call(record.get("powers"), [t, y, p, m, k.at(record.get("n"))])
    write.give()
    return write


def attempt() -> Procedure:
    """All stages of a step of length h from (t, y) into k, y_stage and y_new; returns error over tolerance."""
    write = Procedure("attempt", {"c": "ptr", "h": "double", "t_new": "double"}, "double", internal=True)
    record = record_of(write)
    width, h, t = record.get("width"), write["h"], record.get("t")
    y, y_new, y_stage, k = (record.get(name) for name in ("y", "y_new", "y_stage", "k"))
    for s in range(1, STAGES):
        write.call(f"stage{s}", [y_stage, y, k, width, h])
        # The powers' integrals need no stage whose weight is zero.
        full = write.value(int(s in table.B), "i64")
        write.call("derivative", [write["c"], t + h * table.C[s], y_stage, k.at(width * s), full])
    write.call("solution", [y_new, y, k, width, h])
    write.call("derivative", [write["c"], write["t_new"], y_new, k.at(width * STAGES), write.value(1, "i64")])
    fifth, third, moved = write.local(0.0), write.local(0.0), write.local(0.0)
    n, size_of_step = record.get("n"), write.intrinsic("fabs", h)
    with write.loop(width, n) as i:
        moved.set(write.intrinsic("maxnum", moved.get(), write.intrinsic("fabs", y_new[i])))
    with write.loop(width) as i:
        own = write.intrinsic("maxnum", write.intrinsic("fabs", y[i]), write.intrinsic("fabs", y_new[i]))
        # Integrated powers count against the largest of them: one that is rounding only has no size of its own.
        scale = permitted(write, record, i, write.select(i < n, own, moved.get())) + size_of_step * record.get("noise")[i]
        for total, weights in ((fifth, table.E5), (third, table.E3)):
            error = write.value(0.0, "double")
            for j, weight in weights.items():
                error = error + k[width * j + i] * weight
            # What nothing drives has neither an error nor a size.
            error = write.select(error.equals(0.0), 0.0, error / scale)
            total.set(total.get() + error * error)
    top, side = fifth.get(), third.get()
    scaled = write.intrinsic("fabs", h) * top / write.intrinsic("sqrt", top + side * 0.01)
    write.give(write.select((top + side).equals(0.0), 0.0, scaled))
    return write


def prepare_dense() -> Procedure:
    """Coefficients of the polynomial of degree 7 over the step just attempted."""
    write = Procedure("prepare_dense", {"c": "ptr", "h": "double"}, internal=True)
    record = record_of(write)
    width, h, t = record.get("width"), write["h"], record.get("t")
    y, y_new, y_stage, k, f = (record.get(name) for name in ("y", "y_new", "y_dense", "k", "f"))
    for s in range(STAGES + 1, EXTENDED):
        write.call(f"stage{s}", [y_stage, y, k, width, h])
        place = k.at(width * s)
        write.call("derivative", [write["c"], t + h * table.C[s], y_stage, place, write.value(1, "i64")])
    with write.loop(width) as i:
        step = y_new[i] - y[i]
        first, last = h * k[i], h * k[width * STAGES + i]
        f[i] = step
        f[width + i] = first - step
        f[width * 2 + i] = step * 2.0 - (first + last)
    for row in range(3, DENSE):
        write.call(f"dense{row}", [f.at(width * row), y, k, width, h])
    write.give()
    return write


def dense() -> Procedure:
    """State at the fraction theta of the step, by the polynomial of degree 7."""
    arguments = {"c": "ptr", "theta": "double", "out": "ptr noalias"}
    write = Procedure("dense", arguments, internal=True)
    record = record_of(write)
    width, y, f, theta = record.get("width"), record.get("y"), record.get("f"), write["theta"]
    rest = 1.0 - theta
    with write.loop(width) as i:
        total = f[width * (DENSE - 1) + i] * theta
        for row in range(DENSE - 2, -1, -1):
            total = (total + f[width * row + i]) * (rest if (DENSE - 1 - row) % 2 else theta)
        write["out"][i] = y[i] + total
    write.give()
    return write


def hermite() -> Procedure:
    """State at the fraction theta of the step by the cubic through its ends: costs no evaluation."""
    write = Procedure("hermite", {"c": "ptr", "theta": "double", "h": "double", "out": "ptr noalias"}, internal=True)
    record = record_of(write)
    width, y, y_new, k = (record.get(name) for name in ("width", "y", "y_new", "k"))
    theta, h = write["theta"], write["h"]
    rest = 1.0 - theta
    with write.loop(width) as i:
        step = y_new[i] - y[i]
        bend = rest * (h * k[i] - step) - theta * (h * k[width * STAGES + i] - step)
        write["out"][i] = y[i] + theta * step + theta * rest * bend
    write.give()
    return write


def eighth_root(write: Procedure, value: Temporary) -> Temporary:
    """value ** (1/8)."""
    return write.intrinsic("sqrt", write.intrinsic("sqrt", write.intrinsic("sqrt", value)))


def permitted(write: Procedure, record: Record, i: Temporary, own: Temporary) -> Temporary:
    """What the error of component i may be where it is of size `own`, without noise."""
    size = write.intrinsic("maxnum", record.get("size")[i], record.get("floor")[i])
    return record.get("rtol") * write.intrinsic("maxnum", size, own)


def first_step() -> Procedure:
    """Length of the first step from two evaluations, k[0] being there already (after Hairer, Norsett, Wanner, II.4).

    Rates of size d1 (in weights per second) that change in the time tau give an error of about d1 tau (h / tau)^8.
    """
    write = Procedure("first_step", {"c": "ptr"}, "double", internal=True)
    record = record_of(write)
    n, k, y, trial = record.get("n"), record.get("k"), record.get("y"), record.get("y_stage")
    later = k.at(record.get("width"))
    longest = write.intrinsic("minnum", record.get("h_max"), record.get("stop") - record.get("t"))

    def norm(term: Sequence[Temporary], over: Temporary | None = None) -> Temporary:
        total = write.local(0.0)
        with write.loop(n) as i:
            scale = permitted(write, record, i, write.intrinsic("fabs", y[i]))
            part = term[0][i] if over is None else term[0][i] - over[i]
            part = write.select(part.equals(0.0), 0.0, part / scale)
            total.set(total.get() + part * part)
        return write.intrinsic("sqrt", total.get())

    size, speed = norm([y]), norm([k])
    flat = (size < 1e-5) | (speed * longest < 1e-5)
    h = write.select(flat, longest * 1e-6, size * 0.01 / speed)
    h = write.intrinsic("minnum", h, longest)
    with write.loop(record.get("width")) as i:
        trial[i] = y[i] + h * k[i]
    write.call("derivative", [write["c"], record.get("t") + h, trial, later, write.value(0, "i64")])
    bend = norm([later], k) / h
    fast = write.intrinsic("maxnum", speed, bend * h)
    tau = fast / bend
    by_bend = tau * eighth_root(write, 0.01 / (fast * tau))
    wild = ~((bend * 0.0).equals(0.0))
    h = write.select(wild, h * 1e-3, write.intrinsic("minnum", h * 100.0, by_bend))
    write.give(write.intrinsic("minnum", h, longest))
    return write
