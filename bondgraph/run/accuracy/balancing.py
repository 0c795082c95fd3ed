"""Balanced scales and fastest rates in machine code (`reference.balancing`), for one run or SIMD lanes of several.

The operations and their order are those of the Python reference, so that both give the same bits. Several runs must share one
structure of couplings (sparsity pattern); all arrays then hold the numbers of the `lanes` side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bondgraph.emit.procedure import Local, Procedure, Record, Temporary
from bondgraph.run.accuracy.reference.balancing import MAX_IMBALANCE, MAX_SWEEPS, MIN_GROWTH
from bondgraph.run.simd_values import SimdArray, SimdNumber, SimdVariable, broadcast
from bondgraph.run.sparsity.reference import FIELDS, MAX_COUPLING


def procedures(lanes: int = 1) -> list[Procedure]:
    """Return all procedures, callees before callers."""
    return [part(lanes) for part in (_along_ears, _sums, _balance, _fastest, _propagate)]


def _structure(write: Procedure) -> Record:
    """Return the record of the structure passed as argument s."""
    return Record(write["s"], FIELDS)


def _arrays(write: Procedure, lanes: int, *names: str) -> list[SimdArray]:
    return [SimdArray(write[name], lanes) for name in names]


@contextmanager
def _inner(write: Procedure) -> Iterator[tuple[Temporary, Temporary, Temporary]]:
    """Loop over the couplings within components: (coupling, driven state, driving state)."""
    record = _structure(write)
    with write.loop(record.get("inners")) as j:
        k = record.get("inner").load(j, "i64")
        yield k, record.get("rows").load(k, "i64"), record.get("columns").load(k, "i64")


def _along_ears(lanes: int) -> Procedure:
    """Machine code of `reference.balancing._along_ears`."""
    write = Procedure("along_ears", {"s": "ptr", "values": "ptr", "scales": "ptr"}, internal=True)
    record, (values, scales) = _structure(write), _arrays(write, lanes, "values", "scales")
    couplings, states = record.get("ear_couplings"), record.get("ear_states")
    with write.loop(record.get("ears")) as ear:
        begin, end = (record.get("ear_at").load(ear + shift, "i64") for shift in (0, 1))
        start = scales[record.get("ear_from").load(ear, "i64")]
        total = SimdVariable(write, start / scales[states.load(end - 1, "i64")])
        with write.loop(end, begin) as step:
            total.set(total.get() * values[couplings.load(step, "i64")])
        rate = SimdVariable(write, total.get().intrinsic("sqrt"))
        with write.when(end - begin > 2):
            part = write.value(1.0, "double") / write.real(end - begin)
            rate.set(total.get().intrinsic("pow", SimdNumber([part] * lanes)))
        at, valid = SimdVariable(write, start), (rate.get() > 0.0) & (rate.get() < MAX_COUPLING)
        with write.when(valid.any()), write.loop(end - 1, begin) as step:
            state = states.load(step, "i64")
            at.set(at.get() * (values[couplings.load(step, "i64")] / rate.get()))
            scales[state] = valid.select(at.get(), scales[state])
    write.give()
    return write


_SUMS = {**dict.fromkeys(("s", "values", "scales"), "ptr"), **dict.fromkeys(("into", "out_of", "uneven"), "ptr noalias")}


def _sums(lanes: int) -> Procedure:
    """Compute the sums of B_ij s_j / s_i over rows and columns; return 1 if they are about equal in every run, else 0, and mark
    the `uneven` runs.
    """
    write = Procedure("sums", _SUMS, "i64", internal=True)
    values, scales, into, out_of, uneven = _arrays(write, lanes, *list(_SUMS)[1:])
    states, only = _structure(write).get("states"), write.value(0, "i64")
    with write.loop(states) as i:
        into[i] = 0.0
        out_of[i] = 0.0
    # Couplings are stored by columns, so the column sums need not wait for memory.
    total, before = SimdVariable(write, broadcast(write, 0.0, lanes)), write.local(-1, "i64")
    with _inner(write) as (k, row, column):
        flow = values[k] * scales[column] / scales[row]
        into[row] = into[row] + flow
        goes_on = column.equals(before.get())
        total.set(total.get().each(lambda lane_total, goes_on=goes_on: write.select(goes_on, lane_total, 0.0)) + flow)
        out_of[column] = total.get()
        before.set(column)
    uneven[only] = 0.0
    with write.loop(states) as i:
        a, b = into[i], out_of[i]
        balanced = (a < b * MAX_IMBALANCE) & (b < a * MAX_IMBALANCE)
        uneven[only] = ((a > 0.0) & (b > 0.0) & ~balanced).select(1.0, uneven[only])
        with write.when(~uneven[only].equals(0.0).any()):
            write.give(0)
    write.give(write.select(uneven[only].equals(1.0).any(), 0, 1, "i64"))
    return write


def _balance(lanes: int) -> Procedure:
    """Machine code of `reference.balancing._balanced`; runs whose sums are about equal keep their scales."""
    write = Procedure("balance", _SUMS, internal=True)
    scales, into, out_of, uneven = _arrays(write, lanes, *list(_SUMS)[2:])
    states, only = _structure(write).get("states"), write.value(0, "i64")
    with write.loop(states) as i:
        scales[i] = 1.0
    write.call("along_ears", [write["s"], write["values"], write["scales"]])
    with write.loop(MAX_SWEEPS):
        with write.when(write.call("sums", [write[name] for name in _SUMS], "i64").equals(1)):
            write.give()
        with write.loop(states) as i:
            a, b = into[i], out_of[i]
            live = (a > 0.0) & (b > 0.0) & uneven[only].equals(1.0)
            with write.when(live.any()):
                # All scales change at once, so each takes half the step of a sequential update.
                scales[i] = live.select(scales[i] * (a / b).intrinsic("sqrt").intrinsic("sqrt"), scales[i])
    write.give()
    return write


def _fastest(lanes: int) -> Procedure:
    """Machine code of `reference.balancing.fastest`. `rates` is the diagonal; `work` has room for three numbers per state, and
    one more."""
    write = Procedure("fastest", dict.fromkeys(("s", "values", "rates", "work"), "ptr"))
    record, (values, rates, work) = _structure(write), _arrays(write, lanes, "values", "rates", "work")
    states = record.get("states")
    scales, into, out_of, uneven = (work.at(states * k) for k in range(4))
    write.call("balance", [write["s"], write["values"], *(array.pointer for array in (scales, into, out_of, uneven))])
    with _inner(write) as (k, row, column):
        _raise(rates, row, values[k] * scales[column] / scales[row])
    with write.loop(states) as j:
        i = record.get("order").load(j, "i64")
        with write.when(rates[i].equals(0.0).any()):
            begin, end = (record.get("drivers_at").load(i + shift, "i64") for shift in (0, 1))
            rate = SimdVariable(write, broadcast(write, 0.0, lanes))
            with write.loop(end, begin) as position:
                driver = rates[record.get("drivers").load(position, "i64")]
                rate.set(rate.get().intrinsic("maxnum", driver))
            rates[i] = rates[i].equals(0.0).select(rate.get(), rates[i])
    write.give()
    return write


def _raise(into: SimdArray, index: Temporary, value: SimdNumber) -> None:
    """Replace an entry by the larger of it and a value; ignore NaN."""
    into[index] = into[index].intrinsic("maxnum", value)


def _gain(write: Procedure, lanes: int, k: Temporary, row: Temporary, column: Temporary) -> SimdNumber:
    """Return the part of the driving state's scale that the driven state takes over."""
    part, (speed, values) = _structure(write).get("part"), _arrays(write, lanes, "speed", "values")
    same_component = part.load(row, "i64").equals(part.load(column, "i64"))
    across = speed[row].intrinsic("maxnum", speed[column])
    return values[k] / speed[row].each(lambda rate, other: write.select(same_component, rate, other), across)


def _propagate(lanes: int) -> Procedure:
    """Machine code of `reference.balancing.propagated`, in place; `work` has room for one number per state and per coupling."""
    write = Procedure("carry", dict.fromkeys(("s", "values", "speed", "scales", "work"), "ptr"))
    record, (scales, reached) = _structure(write), _arrays(write, lanes, "scales", "work")
    states, couplings = record.get("states"), record.get("couplings")
    rows, columns = record.get("rows"), record.get("columns")
    gain = reached.at(states)
    with write.loop(couplings) as k:
        gain[k] = _gain(write, lanes, k, rows.load(k, "i64"), columns.load(k, "i64"))
    moved: Local = write.local(0, "i64")
    with write.loop(states):
        with write.loop(states) as i:
            reached[i] = scales[i]
        with write.loop(couplings) as k:
            _raise(reached, rows.load(k, "i64"), gain[k] * scales[columns.load(k, "i64")])
        moved.set(0)
        with write.loop(states) as i:
            larger = reached[i] > scales[i] * MIN_GROWTH
            with write.when(larger.any()):
                scales[i] = larger.select(reached[i], scales[i])
                moved.set(1)
        with write.when(moved.get().equals(0)):
            write.give()
    write.give()
    return write
