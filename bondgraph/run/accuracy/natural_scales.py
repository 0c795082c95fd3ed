"""Natural scales and couplings in machine code (`reference.natural_scales`): from the table of a run's error control, a time, a
state and modes.

The operations and their order are those of the Python reference, so that both give the same bits.
"""

from __future__ import annotations

from bondgraph.emit.interpreter.code import BLOCK
from bondgraph.emit.interpreter.steps import STRIP
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.fields import PATTERN, PATTERNS, PROPAGATED, evaluate, record_of
from bondgraph.run.accuracy.reference.natural_scales import DECADE, DISPLACEMENT, LOOK_AHEAD
from bondgraph.run.codegen_helpers import clock_time, larger, magnitude
from bondgraph.run.sparsity.reference import MAX_COUPLING, MIN_COUPLING

_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}


def procedures() -> list[Procedure]:
    """Return all procedures, callees before callers."""
    return [
        _interpreted_jacobian(),
        _current_pattern(),
        _coupling_values(),
        _source_rates(),
        _local_scales(),
        _propagated_scales(),
        _look_ahead(),
        _natural_scales(),
    ]


def _interpreted_jacobian() -> Procedure:
    """Evaluate the nonzeros of the Jacobian at (t, x) by `emit.interpreter.steps.derivatives`."""
    write = Procedure("interpreted", _AT, internal=True)
    record, blocks = record_of(write), record_of(write).get("blocks")
    arguments = (clock_time(write, record, write["t"]), write["x"], record.get("p"), write["m"])
    for number, address in enumerate(arguments):
        blocks.store(number, address, "ptr")
    numbers, rows, seeded = (record.get(name) for name in ("numbers", "rows", "seeded"))
    with write.loop(record.get("number_count")) as i:
        numbers[i] = record.get("constants")[i]
    with write.loop(record.get("input_count")) as i:
        block = blocks.load(record.get("place_blocks").load(i, "i64"), "ptr")
        numbers[record.get("places").load(i, "i64")] = block[record.get("place_indices").load(i, "i64")]
    count, steps, groups = record.get("number_count"), record.get("step_count"), record.get("group_count")
    of_seeds, entries, of_entries = (record.get(name) for name in ("seed_groups", "entries", "entry_groups"))
    first = write.local(0, "i64")
    with write.repeat() as (_, done):
        begin = first.get()
        with write.when(begin >= groups):
            write.jump(done)
        remaining = groups - begin
        width, several = write.select(remaining < STRIP, remaining, STRIP, "i64"), write.local(0, "i64")
        for count_of_blocks in range(1, STRIP // BLOCK + 1):
            with write.when(width > (count_of_blocks - 1) * BLOCK):
                several.set(count_of_blocks)
        stride = several.get() * BLOCK
        with write.loop(record.get("n")) as i:
            row, group = rows.at(seeded.load(i, "i64") * stride), of_seeds.load(i, "i64") - begin
            with write.loop(stride) as k:
                row[k] = 0.0
            with write.when((group >= 0) & (group < width)):
                row[group] = 1.0
        with write.loop(stride) as k:
            rows[k] = 0.0  # clears entries of parts that do not vary, and of variables on which nothing depends
        work = record.get("work")
        write.call(record.get("interpret"), [record.get("steps"), numbers, rows, work, steps, count - steps, several.get()])
        with write.loop(record.get("entry_count")) as k:
            group = of_entries.load(k, "i64") - begin
            with write.when((group >= 0) & (group < width)):
                record.get("nonzeros")[k] = rows[entries.load(k, "i64") * stride + group]
        first.set(begin + width)
    write.give()
    return write


def _current_pattern() -> Procedure:
    """Find the sparsity pattern of the nonzeros: a kept one, or one that Python looks up, which replaces the oldest."""
    write = Procedure("met", {"w": "ptr"}, internal=True)
    record, patterns = record_of(write), record_of(write).get("patterns")
    count, nonzero = record.get("entry_count"), record.get("found")
    with write.loop(record.get("known")) as k:
        kept = patterns.load(k, "ptr")
        entries = Record(kept, PATTERN).get("found")
        at = write.local(0, "i64")
        with write.repeat() as (_, done):
            i = at.get()
            with write.when(i >= count):
                record.set("pattern", kept)
                write.give()
            with write.when(~entries.load(i, "i64").equals(nonzero.load(i, "i64"))):
                write.jump(done)
            at.set(i + 1)
    slot = record.get("oldest")
    record.set("oldest", write.select((slot + 1).equals(PATTERNS), 0, slot + 1, "i64"))
    stored = record.get("known")
    record.set("known", write.select(stored < PATTERNS, stored + 1, stored, "i64"))
    new = write.call(record.get("meet"), [], "ptr")
    patterns.store(slot, new, "ptr")
    record.set("pattern", new)
    write.give()
    return write


def _coupling_values() -> Procedure:
    """Machine code of `bound.Bound.couplings`: the pattern, the diagonal and the off-diagonal values; return at once if they are
    current."""
    write = Procedure("couplings", _AT)
    record = record_of(write)
    _return_if_current(write, record)
    count, nonzero, nonzeros, diagonal = (record.get(name) for name in ("entry_count", "found", "nonzeros", "diagonal"))
    with write.when(count > 0):
        with write.when(record.get("interpreted").equals(1) & record.get("ahead").equals(0)):
            write.call("interpreted", [write[name] for name in _AT])
        record.set("ahead", 0)
        with write.when(record.get("interpreted").equals(0)):
            evaluate(write, "couple", write["t"], write["x"], nonzeros)
    with write.loop(count) as i:
        value = magnitude(write, nonzeros[i])
        nonzeros[i] = value
        nonzero.store(i, write.select((value > MIN_COUPLING) & (value < MAX_COUPLING), 1, 0, "i64"), "i64")
    write.call("met", [write["w"]])
    with write.loop(record.get("n")) as i:
        diagonal[i] = 0.0
    pattern = Record(record.get("pattern"), PATTERN)
    with write.loop(pattern.get("own_count")) as k:
        diagonal[pattern.get("own_rows").load(k, "i64")] = nonzeros[pattern.get("own").load(k, "i64")]
    with write.loop(pattern.get("beside_count")) as k:
        record.get("values")[k] = nonzeros[pattern.get("beside").load(k, "i64")]
    write.give()
    return write


def _return_if_current(write: Procedure, record: Record) -> None:
    """Return from the procedure where the couplings were last evaluated at the same point."""
    kept, states, modes = record.get("coupled_at"), record.get("n"), record.get("modes")
    numbers = ((write.local(clock_time(write, record, write["t"])[0]).address, 0, 1), (write["x"], 1, states))
    blocks = (*numbers, (write["m"], states + 1, modes))
    same = write.local(record.get("coupled"), "i64")
    for block, first, count in blocks:
        with write.loop(count) as i, write.when(~block[i].equals(kept[i + first])):
            same.set(0)
    with write.when(same.get().equals(1)):
        write.give()
    record.set("coupled", 1)
    for block, first, count in blocks:
        with write.loop(count) as i:
            kept[i + first] = block[i]


def structure_of(record: Record) -> Temporary:
    """Return the structure of the present couplings (`sparsity.reference.FIELDS`)."""
    return Record(record.get("pattern"), PATTERN).get("structure")


def _source_rates() -> Procedure:
    """Machine code of `natural_scales._source_rates` into `driven`; `fastest` holds the speeds."""
    write = Procedure("drive", _AT, internal=True)
    record = record_of(write)
    n, largest, speed, later = (record.get(name) for name in ("n", "driven", "fastest", "beyond"))
    with write.when(record.get("rated").equals(0)):
        evaluate(write, "rates", write["t"], write["x"], largest)
    record.set("rated", 0)
    wait, longest = write.local(float("inf")), write.local(0.0)
    with write.loop(n) as i:
        largest[i] = magnitude(write, largest[i])
        ahead = DISPLACEMENT / speed[i]
        wait.set(write.intrinsic("minnum", wait.get(), ahead))
        longest.set(larger(write, longest.get(), ahead))
    with write.repeat() as (_, done):
        with write.when(~(wait.get() <= longest.get()) | record.get("autonomous").equals(1)):
            write.jump(done)
        evaluate(write, "rates", write["t"] + wait.get(), write["x"], later)
        with write.loop(n) as i:
            ahead, rate = DISPLACEMENT / speed[i], magnitude(write, later[i])
            with write.when((ahead >= wait.get()) & (ahead < wait.get() * DECADE) & (rate < float("inf"))):
                largest[i] = larger(write, largest[i], rate)
        wait.set(wait.get() * DECADE)
    with write.loop(n) as i:
        largest[i] = write.select(largest[i] < float("inf"), largest[i], 0.0)
    write.give()
    return write


def _local_scales() -> Procedure:
    """Compute the scales of `natural_scales._propagated_scales` before propagation along the couplings, into `later`; the speeds
    into `fastest`."""
    write = Procedure("local_scales", {**_AT, "size": "ptr"})
    record, at = record_of(write), [write[name] for name in _AT]
    n, fastest, driven, later = (record.get(name) for name in ("n", "fastest", "driven", "later"))
    least = 1.0 / record.get("longest")
    with write.loop(n) as i:
        speed = write.select(fastest[i] < float("inf"), fastest[i], 0.0)
        fastest[i] = larger(write, speed, least)
    write.call("drive", at)
    with write.loop(n) as i:
        later[i] = larger(write, write["size"][i], driven[i] / fastest[i])
    write.give()
    return write


def _propagated_scales() -> Procedure:
    """Machine code of `natural_scales._propagated_scales` into `later`, from the sizes passed in."""
    write = Procedure("spread", {**_AT, "size": "ptr"}, internal=True)
    record, at = record_of(write), [write[name] for name in _AT]
    fastest, later = record.get("fastest"), record.get("later")
    write.call("couplings", at)
    with write.when(record.get("scaled").equals(PROPAGATED)):
        record.set("scaled", 0)
        write.give()
    with write.loop(record.get("n")) as i:
        fastest[i] = record.get("diagonal")[i]
    structure, values = structure_of(record), record.get("values")
    write.call("fastest", [structure, values, fastest, record.get("balance")])
    write.call("local_scales", [*at, write["size"]])
    write.call("propagate", [structure, values, fastest, later, record.get("reached")])
    write.give()
    return write


def _look_ahead() -> Procedure:
    """Look ahead once for states without a scale, as in `natural_scales.natural_scales`; return 0 if every state has one, or if
    all later rounds give equal scales."""
    write = Procedure("look_ahead", {**_AT, "ahead": "double"}, "i64", internal=True)
    record = record_of(write)
    n, scales, later, moved = (record.get(name) for name in ("n", "scales", "later", "moved"))
    missing = write.local(0, "i64")
    with write.loop(n) as i:
        moved[i] = write["x"][i] + scales[i] * DISPLACEMENT
        with write.when(~(scales[i] > 0.0)):
            missing.set(1)
    with write.when(missing.get().equals(0)):
        write.give(0)
    then = write["t"] + write["ahead"] * record.get("longest")
    write.call("spread", [write["w"], then, moved, write["m"], scales])
    more = write.local(write.select(record.get("autonomous").equals(1), 0, 1, "i64"), "i64")
    with write.loop(n) as i, write.when(~(scales[i] > 0.0)):
        with write.when(~later[i].equals(scales[i])):
            more.set(1)
        scales[i] = later[i]
    write.give(more.get())
    return write


def _natural_scales() -> Procedure:
    """Machine code of `natural_scales.natural_scales` into `scales`, from `size`."""
    write = Procedure("natural_scales", _AT, internal=True)
    record, at = record_of(write), [write[name] for name in _AT]
    write.call("spread", [*at, record.get("size")])
    with write.loop(record.get("n")) as i:
        record.get("scales")[i] = record.get("later")[i]
    for ahead in (0.0, *LOOK_AHEAD):
        more = write.call("look_ahead", [*at, write.value(ahead, "double")], "i64")
        with write.when(more.equals(0)):
            write.give()
    write.give()
    return write
