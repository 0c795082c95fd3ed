"""SUNDIALS' callbacks in machine code: a table of addresses and sizes -> rates, Jacobians, roots, sampling loop.

Every function finds all it needs behind one pointer (`FIELDS`), so that the code is the same for all models and
threads and is compiled once per machine. Quadratures (the integrated powers) follow the n states in the vector.
"""

from __future__ import annotations

import functools

from bondgraph.emit.llvm import Library, compile_ir
from bondgraph.run.procedure import Procedure, Record, Value, module

_POINTERS = (
    "rates guards powers jacobian p m levels nonzeros indptr indices position rows times"
    " N_VGetArrayPointer SUNDenseMatrix_Data SUNSparseMatrix_Data"
    " SUNSparseMatrix_IndexPointers SUNSparseMatrix_IndexValues CVode memory vector window"
)
_WHOLES = "n quadratures guard_count kernel_nonzeros nonzero_count samples written rhs_count guard_calls jacobian_calls"
_REALS = "reached stop origin"
FIELDS: dict[str, tuple[int, str]] = {}
for _kind, _names in (("ptr", _POINTERS), ("i64", _WHOLES), ("double", _REALS)):
    for _name in _names.split():
        FIELDS[_name] = (len(FIELDS), _kind)

_RHS = {"t": "double", "y": "ptr", "dy": "ptr", "c": "ptr"}
_JACOBIAN = {"t": "double", "y": "ptr", "f": "ptr", "J": "ptr", "c": "ptr", "a": "ptr", "b": "ptr", "d": "ptr"}
NORMAL, STOPPED, ROOT = 1, 1, 2


def _data(write: Procedure, record: Record, vector: Value) -> Value:
    return write.call(record.get("N_VGetArrayPointer"), [vector], "ptr")


def _model(write: Procedure, record: Record, kernel: str, t: Value, x: Value, out: Value) -> None:
    """Call a kernel at the time t since the start of the run, kept within the window between breaks (see `bound.Bound`)."""
    window = record.get("window")
    inside = write.intrinsic("minnum", record.get("origin") + t, window[1])
    t = write.local(write.intrinsic("maxnum", inside, window[0])).place
    write.call(record.get(kernel), [t, x, record.get("p"), record.get("m"), out])


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
    write.give(write.select(finite, Value(write, "0", "i32"), Value(write, "1", "i32"), "i32"))
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
    write.give(Value(write, "0", "i32"))
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
    write.give(Value(write, "0", "i32"))
    return write


def _roots() -> Procedure:
    """Guards minus their levels; a level (see `events`) ends as soon as its guard has been below both zero and it."""
    write = Procedure("cvode_guards", {"t": "double", "y": "ptr", "g": "ptr", "c": "ptr"}, "i32")
    record = Record(write["c"], FIELDS)
    x, g, levels = _data(write, record, write["y"]), write["g"], record.get("levels")
    _model(write, record, "guards", write["t"], x, g)
    record.count("guard_calls")
    with write.loop(record.get("guard_count")) as i:
        with write.when((g[i] < 0.0) & (g[i] < levels[i])):
            levels[i] = 0.0
        g[i] = g[i] - levels[i]
    write.give(Value(write, "0", "i32"))
    return write


def _advance() -> Procedure:
    """Integrate to every sample time in turn, then to the stop time; returns CVode's flag of the last call.

    Rows of states and quadratures are written while no root and no failure intervenes; `written` counts them.
    """
    write = Procedure("cvode_advance", {"c": "ptr"}, "i64")
    record = Record(write["c"], FIELDS)
    memory, vector = record.get("memory"), record.get("vector")
    x, reached = _data(write, record, vector), record.pointer.at(FIELDS["reached"][0])
    width = record.get("n") + record.get("quadratures")

    def integrate(until: Value) -> Value:
        task = Value(write, str(NORMAL), "i32")
        flag = write.call(record.get("CVode"), [memory, until, vector, reached, task], "i32")
        return write.write(f"sext i32 {flag.text} to i64", "i64")

    with write.loop(record.get("samples")) as i:
        flag = integrate(record.get("times")[i])
        with write.when(flag.equals(ROOT) | (flag < 0)):
            write.give(flag)
        row = record.get("rows").at(i * width)
        with write.loop(width) as j:
            row[j] = x[j]
        record.set("written", i + 1)
    with write.when(record.get("reached") < record.get("stop")):
        write.give(integrate(record.get("stop")))
    write.give(0)
    return write


def text() -> str:
    """The module of all adapters."""
    return module([_right_hand_side(), _dense_jacobian(), _sparse_jacobian(), _roots(), _advance()])


@functools.cache
def adapters() -> Library:
    """The adapters as machine code."""
    return compile_ir(text())
