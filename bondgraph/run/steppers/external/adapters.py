"""SUNDIALS' callbacks in machine code: a table of addresses and sizes -> rates, Jacobians, roots, sampling loop."""

from __future__ import annotations

from bondgraph.emit.cached_build import once
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.reference.natural_scales import UNDRIVEN
from bondgraph.run.codegen_helpers import clock_time
from bondgraph.run.events.root_finding import POINTS, Within, crest, locate, root, settle_levels
from bondgraph.run.steppers.shared_fields import guard_values, note_rounding, rows_until, with_shared

FIELDS = with_shared(
    "jacobian nonzeros indptr indices position N_VGetArrayPointer SUNDenseMatrix_Data SUNBandMatrix_Data SUNSparseMatrix_Data"
    " SUNSparseMatrix_IndexPointers SUNSparseMatrix_IndexValues CVode CVodeGetDky CVodeGetCurrentStep"
    " CVodeGetNumErrTestFails CVodeGetNumNonlinSolvConvFails memory vector between speed",
    "kernel_nonzeros nonzero_count rhs_count jacobian_calls pause asked tests convergences",
    "reached step",
)

_RHS = {"t": "double", "y": "ptr", "dy": "ptr", "c": "ptr"}
_JACOBIAN = {"t": "double", "y": "ptr", "f": "ptr", "J": "ptr", "c": "ptr", "a": "ptr", "b": "ptr", "d": "ptr"}
ONE_STEP, STOPPED, ROOT, PAUSE, DOUBT = 2, 1, 2, 100, 101
# Weight of what nothing drives: it has no error, and where that should change, a step fails and the weights are looked at anew.
# No other weight is larger, that their squares are numbers: far from its source, what spreads is as small as any number can be.
_UNDRIVEN = 1.0 / UNDRIVEN


def _data(write: Procedure, record: Record, vector: Temporary) -> Temporary:
    return write.call(record.get("N_VGetArrayPointer"), [vector], "ptr")


def _model(write: Procedure, record: Record, kernel: str, t: Temporary, x: Temporary, out: Temporary) -> None:
    """Call a kernel at the time t since the start of the run."""
    write.call(record.get(kernel), [clock_time(write, record, t), x, record.get("p"), record.get("m"), out])


def _right_hand_side() -> Procedure:
    """0; +1 (CVODE tries a smaller step) where a rate or power is not finite."""
    write = Procedure("cvode_rates", _RHS, "i32")
    record = Record(write["c"], FIELDS)
    x, dx = _data(write, record, write["y"]), _data(write, record, write["dy"])
    t = write["t"]
    n, quadratures = record.get("n"), record.get("quadratures")
    _model(write, record, "rates", t, x, dx)
    with write.when(quadratures > 0):
        _model(write, record, "powers", t, x, dx.at(n))
    record.count("rhs_count")
    total = write.local(0.0)
    with write.loop(n + quadratures) as i:
        total.set(total.get() + dx[i] * 0.0)
    finite = total.get().equals(0.0)
    write.give(write.select(finite, 0, 1, "i32"))
    return write


def _dense_jacobian() -> Procedure:
    write = Procedure("cvode_dense_jacobian", _JACOBIAN, "i32")
    record = Record(write["c"], FIELDS)
    x, full = _data(write, record, write["y"]), write.call(record.get("SUNDenseMatrix_Data"), [write["J"]], "ptr")
    t, nonzeros = write["t"], record.get("nonzeros")
    _model(write, record, "jacobian", t, x, nonzeros)
    record.count("jacobian_calls")
    rows = record.get("n") + record.get("quadratures")
    indptr, indices = record.get("indptr"), record.get("indices")
    with write.loop(record.get("n")) as column:
        top = column * rows
        with write.loop(indptr.load(column + 1, "i32"), indptr.load(column, "i32")) as k:
            full[top + indices.load(k, "i32")] = nonzeros[k]
    write.give(0)
    return write


def _band_jacobian() -> Procedure:
    """`position` says where each nonzero of the kernel lies in the matrix, which CVODE has filled with zeros."""
    write = Procedure("cvode_band_jacobian", _JACOBIAN, "i32")
    record = Record(write["c"], FIELDS)
    x, held = _data(write, record, write["y"]), write.call(record.get("SUNBandMatrix_Data"), [write["J"]], "ptr")
    nonzeros = record.get("nonzeros")
    _model(write, record, "jacobian", write["t"], x, nonzeros)
    record.count("jacobian_calls")
    with write.loop(record.get("kernel_nonzeros")) as k:
        held[record.get("position").load(k, "i32")] = nonzeros[k]
    write.give(0)
    return write


def _sparse_jacobian() -> Procedure:
    """The matrix's own pattern holds the diagonal too; `position` says where each nonzero of the kernel lies in it."""
    write = Procedure("cvode_sparse_jacobian", _JACOBIAN, "i32")
    record = Record(write["c"], FIELDS)
    x, matrix = _data(write, record, write["y"]), write["J"]
    held = write.call(record.get("SUNSparseMatrix_Data"), [matrix], "ptr")
    pointers = write.call(record.get("SUNSparseMatrix_IndexPointers"), [matrix], "ptr")
    values = write.call(record.get("SUNSparseMatrix_IndexValues"), [matrix], "ptr")
    t, nonzeros = write["t"], record.get("nonzeros")
    _model(write, record, "jacobian", t, x, nonzeros)
    record.count("jacobian_calls")
    with write.loop(record.get("n") + record.get("quadratures") + 1) as i:
        pointers.store(i, record.get("indptr").load(i, "i32"), "i32")
    with write.loop(record.get("nonzero_count")) as i:
        values.store(i, record.get("indices").load(i, "i32"), "i32")
        held[i] = 0.0
    with write.loop(record.get("kernel_nonzeros")) as i:
        held[record.get("position").load(i, "i32")] = nonzeros[i]
    write.give(0)
    return write


def _inside() -> Procedure:
    """The state at a fraction of the last step, by CVODE's own polynomial."""
    write = Procedure("inside", {"c": "ptr", "theta": "double", "out": "ptr"}, internal=True)
    record = Record(write["c"], FIELDS)
    between, order = record.get("between"), write.value(0, "i32")
    time = record.get("t") + write["theta"] * record.get("step")
    write.call(record.get("CVodeGetDky"), [record.get("memory"), time, order, between], "i32")
    x = _data(write, record, between)
    with write.loop(record.get("n") + record.get("quadratures")) as i:
        write["out"][i] = x[i]
    write.give()
    return write


def _watched() -> Procedure:
    """1 where a guard rises to zero in the step from t to `reached`, which is then the first time of that, with the state there
    in the vector."""
    write = Procedure("watched", {"c": "ptr"}, "i64", internal=True)
    record, c = Record(write["c"], FIELDS), write["c"]
    reached, x = record.get("reached"), _data(write, record, record.get("vector"))
    step = reached - record.get("t")
    record.set("step", step)
    last = record.get("g").at(record.get("guard_count") * (POINTS - 1))
    write.call("guard_values", [c, reached, x, last])
    found = write.call("locate", [c, step], "double")
    with write.when(found <= 1.0):
        record.set("reached", record.get("t") + found * step)
        write.call("inside", [c, found, x])
        write.give(1)
    settle_levels(write, record, last, record.get("levels"))
    record.set("t", reached)
    write.give(0)
    return write


def _weights() -> Procedure:
    """One over what the error of each component may be (see `run.weights`), at the state after a step.

    Rounding of a rate moves a state that is held fast by less than h times it: by h / (1 + h |J_ii|).
    """
    write = Procedure("cvode_weights", {"y": "ptr", "w": "ptr", "c": "ptr"}, "i32")
    record = Record(write["c"], FIELDS)
    x, w = _data(write, record, write["y"]), _data(write, record, write["w"])
    n, h, relative = record.get("n"), record.get("h"), record.get("rtol")
    size, floor, noise = (record.get(name) for name in ("size", "floor", "noise"))
    width, moved, used = n + record.get("quadratures"), write.local(0.0), write.local(0, "i64")
    with write.loop(width, n) as i:
        moved.set(write.intrinsic("maxnum", moved.get(), write.intrinsic("fabs", x[i])))
    with write.loop(width) as i:
        with write.when(i < n):
            size[i] = write.intrinsic("maxnum", size[i], write.intrinsic("fabs", x[i]))
        own = write.intrinsic("maxnum", write.select(i < n, size[i], moved.get()), floor[i])
        rounding = h * noise[i] / (1.0 + h * record.get("speed")[i])
        with write.when(note_rounding(write, record, i, rounding, relative * own)):
            used.set(1)
        total = relative * own + rounding
        w[i] = write.select(total > 0.0, write.intrinsic("minnum", 1.0 / total, _UNDRIVEN), _UNDRIVEN)
    record.count("noisy_steps", used.get())
    write.give(0)
    return write


def _advance() -> Procedure:
    """Integrate step by step to the stop time, a root (CVode's flag), `pause` steps or failed ones that ask for new weights.

    Rows of states and quadratures are written for all sample times on the way; `written` counts them.
    """
    write = Procedure("cvode_advance", {"c": "ptr"}, "i64")
    record = Record(write["c"], FIELDS)
    memory, vector, between = record.get("memory"), record.get("vector"), record.get("between")

    def place(name: str) -> Temporary:
        return record.pointer.at(FIELDS[name][0])

    width = record.get("n") + record.get("quadratures")
    with write.when((record.get("fresh").equals(1)) & (record.get("guard_count") > 0)):
        record.set("t", record.get("reached"))
        write.call("guard_values", [write["c"], record.get("t"), _data(write, record, vector), record.get("g")])
    record.set("fresh", 0)
    with write.repeat() as (_, done):
        task = write.value(ONE_STEP, "i32")
        step = write.call(record.get("CVode"), [memory, record.get("stop"), vector, place("reached"), task], "i32")
        flag = step.widened()
        with write.when(flag < 0):
            write.give(flag)
        record.count("steps")
        found = write.local(0, "i64")
        with write.when(record.get("guard_count") > 0):
            found.set(write.call("watched", [write["c"]], "i64"))
        write.call(record.get("CVodeGetCurrentStep"), [memory, place("h")], "i32")
        with rows_until(write, record, record.get("reached"), width) as (time, row, _):
            write.call(record.get("CVodeGetDky"), [memory, time, write.value(0, "i32"), between], "i32")
            x = _data(write, record, between)
            with write.loop(width) as j:
                row[j] = x[j]
        with write.when(found.get().equals(1)):
            write.give(ROOT)
        with write.when(record.get("reached") >= record.get("stop")):
            write.jump(done)
        write.call(record.get("CVodeGetNumErrTestFails"), [memory, place("tests")], "i32")
        write.call(record.get("CVodeGetNumNonlinSolvConvFails"), [memory, place("convergences")], "i32")
        failed = record.get("tests") + record.get("convergences")
        with write.when(failed - record.get("asked") >= record.get("patience")):
            record.set("asked", failed)
            write.give(DOUBT)
        with write.when(record.get("steps") >= record.get("pause")):
            write.give(PAUSE)
    write.give(0)
    return write


def procedures() -> list[Procedure]:
    """All adapters."""
    within = Within(FIELDS, exact="inside")
    watch = [guard_values(FIELDS), _inside(), *(part(within) for part in (crest, root, locate)), _watched()]
    return [_right_hand_side(), _dense_jacobian(), _band_jacobian(), _sparse_jacobian(), _weights(), *watch, _advance()]


@once
def machine_code() -> Library:
    """The adapters as machine code."""
    return compile_written(procedures)
