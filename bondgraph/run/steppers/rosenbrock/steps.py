"""Step of Rodas5P: stages, error estimate and dense output.

The Jacobian comes from the tape; time derivatives of the rates are finite differences over a small fraction of the step.
"""

from __future__ import annotations

from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.linear.elimination import without_tiny
from bondgraph.run.linear.system import FIELDS as SYSTEM
from bondgraph.run.steppers.method import AT_HAND, DAMPED, NOT_AT_HAND, Method, error_weight, with_method_fields
from bondgraph.run.steppers.rosenbrock import coefficients as table
from bondgraph.run.steppers.step_control import next_length

# jacobian, nonzeros: its kernel, and the kernel's output; rate, drift: rates of a stage, and their time derivative; ahead,
# beyond: rates a little later; u, rest: of all stages, and the contribution of earlier stages to the right-hand side of one;
# speed: as in `weights`.
# system: the table of the linear systems (`linear.system`).
# f, flows: coefficients of the dense output of states, and for each power its values at the nodes of a step, times the step size,
# followed by their corrections and two rows of working memory. fast: whether the rounding of a state, driven for a step by its
# own rate, is as large as the tolerance.
FIELDS = with_method_fields("jacobian nonzeros rate drift ahead beyond u rest speed system f flows", "nonzero_count fast")


ALERT, MARGIN = 20, 4.0
"""For this many steps after one that would have damped a growing mode, no mode may grow faster than such a step follows: by this
factor slower than one that the sign shows."""


def record_of(write: Procedure) -> Record:
    """Return the table passed as argument c."""
    return Record(write["c"], FIELDS)


LAST = 1
"""Index, in k, of the rates at the end of a step."""
DENSE = len(table.H)
ROUNDING = 2.0**-48
"""Relative rounding of a rate that is the difference of two larger ones."""
_ADDED = len(table.A)
"""From this stage on, the argument is that of the stage before plus its u."""
_AHEAD = 2.0**-12
"""Fraction of a step for the finite difference of the rates in time."""


def fifth_root(write: Procedure, value: Temporary) -> Temporary:
    """Return value ** (1/5)."""
    return write.intrinsic("pow", value, 0.2)


def rounding(record: Record, i: Temporary, h: Temporary) -> Temporary:
    """Return the effect of the rounding error of a rate on state i in an implicit method: times h / (1 + h |J_ii|)."""
    return h * record.get("noise")[i] / (h * record.get("speed")[i] + 1.0)


def combination(stage: int) -> Procedure:
    """Compute the argument of a stage, and the contribution of the earlier stages to its right-hand side."""
    write = Procedure(f"stage{stage}", {"out": "ptr", "rest": "ptr noalias", "y": "ptr", "u": "ptr", "n": "i64"}, internal=True)
    out, rest, y, n = (write[name] for name in ("out", "rest", "y", "n"))
    before = [write["u"].at(n * j) for j in range(stage)]
    with write.loop(n) as i:
        values = [u[i] for u in before]
        if stage < _ADDED:
            out[i] = y[i] + _weighted(values, table.A[stage])
        else:
            out[i] = out[i] + values[-1]
        rest[i] = _weighted(values, tuple(table.GAMMA * weight for weight in table.C[stage]))
    write.give()
    return write


def _weighted(values: list[Temporary], weights: tuple[float, ...]) -> Temporary:
    total = values[0] * weights[0]
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total = total + value * weight
    return total


def drift() -> Procedure:
    """Compute the time derivative of the rates at (t, y) into `drift`, by the parabola through three times; zero if the first two
    have the same rates, or the same time on the clock of the formulas."""
    write = Procedure("time_drift", {"c": "ptr", "h": "double"}, internal=True)
    record, c, t, y = record_of(write), write["c"], record_of(write).get("t"), record_of(write).get("y")
    n, k, slopes, ahead, beyond = (record.get(name) for name in ("n", "k", "drift", "ahead", "beyond"))
    times = [t, t + write["h"] * _AHEAD, t + write["h"] * (2.0 * _AHEAD)]
    now, soon, later = (clock_time(write, record, time)[0] for time in times)
    one, two = soon - now, later - now
    with write.loop(n) as i:
        slopes[i] = 0.0
    with write.when(~((one > 0.0) & (two > one))):
        write.give()
    write.call("derivative", [c, times[1], y, ahead, write.value(0, "i64")])
    differs = write.local(0, "i64")
    with write.loop(n) as i, write.when(~ahead[i].equals(k[i])):
        differs.set(1)
    with write.when(differs.get().equals(0)):
        write.give()
    write.call("derivative", [c, times[2], y, beyond, write.value(0, "i64")])
    near, far = two / (one * (two - one)), one / (two * (two - one))
    with write.loop(n) as i:
        slopes[i] = near * (ahead[i] - k[i]) - far * (beyond[i] - k[i])
    write.give()
    return write


def factors() -> Procedure:
    """Factorise 1 - h GAMMA J, for states as large as `state`; return 1 where it is singular."""
    write = Procedure("factors", {"c": "ptr", "h": "double", "state": "ptr"}, "i64", internal=True)
    record = record_of(write)
    system = Record(record.get("system"), SYSTEM)
    write.call("fill_system", [system.pointer, record.get("nonzeros"), write["h"] * table.GAMMA])
    record.set("fast", 0)
    with write.loop(record.get("n")) as i:
        diagonal = write.intrinsic("fabs", system.get("matrix")[system.get("diagonal").load(i, "i64")])
        with write.when(diagonal * ROUNDING > record.get("rtol")):
            record.set("fast", 1)
        state = system.get("order").load(i, "i64")
        size = write.intrinsic("maxnum", record.get("size")[state], record.get("floor")[state])
        size = write.intrinsic("maxnum", size, write.intrinsic("fabs", write["state"][state]))
        system.get("worth")[i] = write.select(size > 0.0, 1.0 / size, 1.0)
    write.give(write.call("factor_system", [system.pointer], "i64"))
    return write


def unknowns() -> Procedure:
    """Solve for u of a stage from its rates k, the contribution `rest` of the earlier stages, and the time derivatives times
    `later`."""
    write = Procedure("unknowns", {"c": "ptr", "h": "double", "k": "ptr", "later": "double", "u": "ptr"}, internal=True)
    record, h = record_of(write), write["h"]
    system = Record(record.get("system"), SYSTEM)
    n, right, order = record.get("n"), system.get("right"), system.get("order")
    reach, later = h * table.GAMMA, h * h * write["later"]
    with write.loop(n) as i:
        state = order.load(i, "i64")
        total = reach * write["k"][state] + record.get("rest")[state] + later * record.get("drift")[state]
        right[i] = without_tiny(write, total)
    write.call("solve_system", [system.pointer])
    with write.loop(n) as i:
        write["u"][order.load(i, "i64")] = right[i]
    write.give()
    return write


def jacobian() -> Procedure:
    """Evaluate the Jacobian at (t, y). If an entry is infinite, such as the derivative of a root at zero, evaluate it at the end
    of an Euler step instead, and again for a shorter step."""
    write = Procedure("differentiate", {"c": "ptr", "h": "double"}, internal=True)
    record, h, t = record_of(write), write["h"], record_of(write).get("t")
    y, ahead, k, nonzeros = (record.get(name) for name in ("y", "y_stage", "k", "nonzeros"))
    record.set("moved", 0)
    with write.when(record.get("nonzero_count").equals(0)):
        write.give()
    p, m, total = record.get("p"), record.get("m"), write.local(0.0)
    write.call(record.get("jacobian"), [clock_time(write, record, t), y, p, m, nonzeros])
    record.count("jacobian_count")
    with write.loop(record.get("nonzero_count")) as i:
        total.set(total.get() + nonzeros[i] * 0.0)
    with write.when(~total.get().equals(0.0)):
        record.set("moved", 1)
        with write.loop(record.get("n")) as i:
            ahead[i] = y[i] + h * k[i]
        write.call(record.get("jacobian"), [clock_time(write, record, t + h), ahead, p, m, nonzeros])
    write.give()
    return write


def attempt() -> Procedure:
    """Compute all stages of a step of length h from (t, y) into u, y_new and k; return error over tolerance."""
    write = Procedure("attempt", {"c": "ptr", "h": "double", "t_new": "double"}, "double", internal=True)
    record, c, h = record_of(write), write["c"], write["h"]
    n, t, quadratures = record.get("n"), record.get("t"), record.get("quadratures")
    y, y_new, argument, k, u, rest, rate = (record.get(name) for name in ("y", "y_new", "y_stage", "k", "u", "rest", "rate"))
    with write.when(record.get("moved").equals(1)):
        write.call("differentiate", [c, h])
        record.set("factored", 0.0)
    write.call("time_drift", [c, h])
    with write.when(~record.get("factored").equals(h)):
        record.set("factored", h)
        with write.when(write.call("factors", [c, h, record.get("size")], "i64").equals(1)):
            record.set("factored", 0.0)
            write.give(float("inf"))
        with write.when(write.call("damps_growth", [c, k], "i64").equals(1)):
            record.set("alert", ALERT)
            write.give(float("inf"))
    with write.loop(n) as i:
        rest[i] = 0.0
    for stage in range(table.STAGES):
        if stage:
            write.call(f"stage{stage}", [argument, rest, y, u, n])
            write.call("derivative", [c, t + h * table.ALPHA[stage], argument, rate, write.value(0, "i64")])
        later = write.value(table.GAMMA * table.SLOPES[stage], "double")
        write.call("unknowns", [c, h, rate if stage else k, later, u.at(n * stage)])
    total, error = write.local(0.0), u.at(n * (table.STAGES - 1))
    with write.loop(n) as i:
        y_new[i] = without_tiny(write, argument[i] + error[i])
        magnitude = write.intrinsic("maxnum", write.intrinsic("fabs", y[i]), write.intrinsic("fabs", y_new[i]))
        scale = error_weight(write, record, i, magnitude) + rounding(record, i, h)
        part = error[i] / scale
        total.set(total.get() + part * part)
    error_norm = write.intrinsic("sqrt", total.get())
    with write.when(~((error_norm <= 1.0) | record.get("is_landing").equals(1))):
        write.give(error_norm)
    width = record.get("width")
    write.call("derivative", [c, write["t_new"], y_new, k.at(width * LAST), write.value(1, "i64")])
    with write.when((quadratures > 0) | (record.get("guard_count") > 0)):
        write.call("prepare_dense", [c, h])
    with write.when(quadratures.equals(0)):
        write.give(error_norm)
    powers = write.call("power_integrals", [c, h], "double")
    write.give(write.intrinsic("sqrt", total.get() + powers))
    return write


def damps_growth() -> Procedure:
    """Return 1 if the factorised matrix 1 - s J has a negative determinant: an odd number of modes grow faster than exp(t / s). A
    state with rates of zero (`k`) stays, however unstable."""
    write = Procedure("damps_growth", {"c": "ptr", "k": "ptr"}, "i64", internal=True)
    record, moves = record_of(write), write.local(0, "i64")
    with write.when(write.call("has_negative_determinant", [record.get("system")], "i64").equals(0)):
        write.give(0)
    with write.loop(record.get("n")) as i, write.when(~write["k"][i].equals(0.0)):
        moves.set(1)
    write.give(moves.get())
    return write


def foresee(method: Method) -> Procedure:
    """Look ahead from the end of a step that the error control accepts: evaluate the Jacobian there and factorise the matrix of
    the next step. Return `AT_HAND`, `NOT_AT_HAND` if the Jacobian is not finite, or `DAMPED` if the step must become shorter.

    An L-stable method damps a mode that grows by exp(lambda h) where lambda h is large, and its error estimate does not see it:
    the method would follow a branch that has lost its stability. The sign of det(1 - s J) is that of an odd number of such modes
    with lambda s > 1, here s = h GAMMA of the next step; then, where it has been negative, with a margin.
    """
    write = Procedure("foresee", {"c": "ptr", "h": "double", "error": "double"}, "i64", internal=True)
    record, c, h = record_of(write), write["c"], write["h"]
    nonzeros, y_new, last = record.get("nonzeros"), record.get("y_new"), record.get("k").at(record.get("width") * LAST)
    with write.when(record.get("nonzero_count").equals(0)):
        write.give(AT_HAND)
    now = clock_time(write, record, record.get("target"))
    write.call(record.get("jacobian"), [now, y_new, record.get("p"), record.get("m"), nonzeros])
    record.count("jacobian_count")
    record.set("factored", 0.0)
    total = write.local(0.0)
    with write.loop(record.get("nonzero_count")) as i:
        total.set(total.get() + nonzeros[i] * 0.0)
    with write.when(~total.get().equals(0.0)):
        write.give(NOT_AT_HAND)

    def damps(length: Temporary) -> Temporary:
        regular = write.call("factors", [c, length, y_new], "i64").equals(0)
        record.set("factored", write.select(regular, length, 0.0))
        return regular & write.call("damps_growth", [c, last], "i64").equals(1)

    following = write.intrinsic("minnum", next_length(method, write, write["error"]), record.get("h_max"))
    following = write.select(record.get("is_last").equals(1), h, following)
    margin = write.select(record.get("alert") > 0, MARGIN, 1.0)
    with write.when(damps(following * margin)):
        record.set("alert", ALERT)
        with write.when(damps(h * margin)):
            record.set("moved", 1)
            record.set("factored", 0.0)
            write.give(DAMPED)
        record.set("grow", 1.0)
    with write.when(record.get("alert") > 0):
        record.count("alert", -1)
    write.give(AT_HAND)
    return write


def prepare_dense() -> Procedure:
    """Compute the coefficients of the dense output of the states over the step just attempted."""
    write = Procedure("prepare_dense", {"c": "ptr", "h": "double"}, internal=True)
    record = record_of(write)
    n, u, f = record.get("n"), record.get("u"), record.get("f")
    before = [u.at(n * j) for j in range(table.STAGES)]
    with write.loop(n) as i:
        values = [u[i] for u in before]
        for row, weights in enumerate(table.H):
            f[n * row + i] = _weighted(values, weights)
    write.give()
    return write


def inside() -> Procedure:
    """Evaluate the states at the fraction theta of the step."""
    write = Procedure("states_inside", {"c": "ptr", "theta": "double", "out": "ptr noalias"}, internal=True)
    record, theta = record_of(write), write["theta"]
    n, y, y_new, f = (record.get(name) for name in ("n", "y", "y_new", "f"))
    rest = 1.0 - theta
    with write.loop(n) as i:
        bend = f[n * (DENSE - 1) + i]
        for row in range(DENSE - 2, -1, -1):
            bend = bend * theta + f[n * row + i]
        write["out"][i] = rest * y[i] + theta * (y_new[i] + rest * bend)
    write.give()
    return write


def slopes() -> Procedure:
    """Evaluate the derivative of the states by the fraction of the step, at the fraction theta."""
    write = Procedure("slopes_inside", {"c": "ptr", "theta": "double", "out": "ptr noalias"}, internal=True)
    record, theta = record_of(write), write["theta"]
    n, y, y_new, f = (record.get(name) for name in ("n", "y", "y_new", "f"))
    rest = 1.0 - theta
    with write.loop(n) as i:
        bend, slope = f[n * (DENSE - 1) + i], write.value(0.0, "double")
        for row in range(DENSE - 2, -1, -1):
            slope = slope * theta + bend
            bend = bend * theta + f[n * row + i]
        write["out"][i] = y_new[i] - y[i] + (rest - theta) * bend + rest * theta * slope
    write.give()
    return write


def dense() -> Procedure:
    """Evaluate states and integrated powers at the fraction theta of the step."""
    write = Procedure("dense", {"c": "ptr", "theta": "double", "out": "ptr noalias"}, internal=True)
    operands = [write[name] for name in ("c", "theta", "out")]
    write.call("states_inside", operands)
    with write.when(record_of(write).get("quadratures") > 0):
        write.call("powers_inside", operands)
    write.give()
    return write


def look() -> Procedure:
    """Evaluate the states for a first event detection: a cubic Hermite interpolant would use stiff rates, which say little about
    the interior."""
    write = Procedure("look_inside", {"c": "ptr", "theta": "double", "h": "double", "out": "ptr noalias"}, internal=True)
    write.call("states_inside", [write["c"], write["theta"], write["out"]])
    write.give()
    return write
