"""`scales` and couplings in machine code: the table of a run's error control, time, state and modes -> natural scales.

The same operations in the same order as there, so that both give the same bits.
"""

from __future__ import annotations

from bondgraph.emit.interpreter.code import BLOCK
from bondgraph.emit.interpreter.steps import STRIP
from bondgraph.emit.procedure import Procedure, Record, Temporary
from bondgraph.run.accuracy.fields import CARRIED, PATTERN, PATTERNS, evaluate, record_of
from bondgraph.run.accuracy.reference.natural_scales import AHEAD, DECADE, PART
from bondgraph.run.codegen_helpers import clock_time, larger, magnitude
from bondgraph.run.sparsity.reference import MAX_COUPLING, MIN_COUPLING

_AT = {"w": "ptr", "t": "double", "x": "ptr", "m": "ptr"}


def procedures() -> list[Procedure]:
    """All of them, those that are called before those that call."""
    return [_interpreted(), _met(), _couplings(), _driven(), _drawn(), _spread(), _look_ahead(), _natural_scales()]


def _interpreted() -> Procedure:
    """`emit.interpreter.steps.derivatives` at (t, x): the nonzeros of the Jacobian."""
    write = Procedure("interpreted", _AT, internal=True)
    record, blocks = record_of(write), record_of(write).get("blocks")
    given = (clock_time(write, record, write["t"]), write["x"], record.get("p"), write["m"])
    for number, address in enumerate(given):
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
        left = groups - begin
        width, several = write.select(left < STRIP, left, STRIP, "i64"), write.local(0, "i64")
        for count_of_blocks in range(1, STRIP // BLOCK + 1):
            with write.when(width > (count_of_blocks - 1) * BLOCK):
                several.set(count_of_blocks)
        stride = several.get() * BLOCK
        with write.loop(record.get("n")) as i:
            own, group = rows.at(seeded.load(i, "i64") * stride), of_seeds.load(i, "i64") - begin
            with write.loop(stride) as k:
                own[k] = 0.0
            with write.when((group >= 0) & (group < width)):
                own[group] = 1.0
        with write.loop(stride) as k:
            rows[k] = 0.0  # of what does not vary; also of variables on which nothing depends
        work = record.get("work")
        write.call(record.get("interpret"), [record.get("steps"), numbers, rows, work, steps, count - steps, several.get()])
        with write.loop(record.get("entry_count")) as k:
            group = of_entries.load(k, "i64") - begin
            with write.when((group >= 0) & (group < width)):
                record.get("nonzeros")[k] = rows[entries.load(k, "i64") * stride + group]
        first.set(begin + width)
    write.give()
    return write


def _met() -> Procedure:
    """The pattern of the entries that are not zero: one that is at hand, or else one that is asked for and takes the place of the
    oldest."""
    write = Procedure("met", {"w": "ptr"}, internal=True)
    record, patterns = record_of(write), record_of(write).get("patterns")
    count, found = record.get("entry_count"), record.get("found")
    with write.loop(record.get("known")) as k:
        kept = patterns.load(k, "ptr")
        entries = Record(kept, PATTERN).get("found")
        at = write.local(0, "i64")
        with write.repeat() as (_, done):
            i = at.get()
            with write.when(i >= count):
                record.set("pattern", kept)
                write.give()
            with write.when(~entries.load(i, "i64").equals(found.load(i, "i64"))):
                write.jump(done)
            at.set(i + 1)
    place = record.get("oldest")
    record.set("oldest", write.select((place + 1).equals(PATTERNS), 0, place + 1, "i64"))
    known = record.get("known")
    record.set("known", write.select(known < PATTERNS, known + 1, known, "i64"))
    new = write.call(record.get("meet"), [], "ptr")
    patterns.store(place, new, "ptr")
    record.set("pattern", new)
    write.give()
    return write


def _couplings() -> Procedure:
    """`bound.Bound.couplings`: the pattern, the diagonal and the values beside it; nothing is done where they are at hand."""
    write = Procedure("couplings", _AT)
    record = record_of(write)
    _unless_at_hand(write, record)
    count, found, nonzeros, diagonal = (record.get(name) for name in ("entry_count", "found", "nonzeros", "diagonal"))
    with write.when(count > 0):
        with write.when(record.get("interpreted").equals(1) & record.get("ahead").equals(0)):
            write.call("interpreted", [write[name] for name in _AT])
        record.set("ahead", 0)
        with write.when(record.get("interpreted").equals(0)):
            evaluate(write, "couple", write["t"], write["x"], nonzeros)
    with write.loop(count) as i:
        value = magnitude(write, nonzeros[i])
        nonzeros[i] = value
        found.store(i, write.select((value > MIN_COUPLING) & (value < MAX_COUPLING), 1, 0, "i64"), "i64")
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


def _unless_at_hand(write: Procedure, record: Record) -> None:
    """The end where the couplings were last asked for at the same point."""
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
    """The structure of the present couplings (`couplings.FIELDS`)."""
    return Record(record.get("pattern"), PATTERN).get("structure")


def _driven() -> Procedure:
    """`scales._driven` into `driven`; the speeds are `fastest`."""
    write = Procedure("drive", _AT, internal=True)
    record = record_of(write)
    n, found, speed, later = (record.get(name) for name in ("n", "driven", "fastest", "beyond"))
    with write.when(record.get("rated").equals(0)):
        evaluate(write, "rates", write["t"], write["x"], found)
    record.set("rated", 0)
    wait, longest = write.local(float("inf")), write.local(0.0)
    with write.loop(n) as i:
        found[i] = magnitude(write, found[i])
        ahead = PART / speed[i]
        wait.set(write.intrinsic("minnum", wait.get(), ahead))
        longest.set(larger(write, longest.get(), ahead))
    with write.repeat() as (_, done):
        with write.when(~(wait.get() <= longest.get()) | record.get("autonomous").equals(1)):
            write.jump(done)
        evaluate(write, "rates", write["t"] + wait.get(), write["x"], later)
        with write.loop(n) as i:
            ahead, rate = PART / speed[i], magnitude(write, later[i])
            with write.when((ahead >= wait.get()) & (ahead < wait.get() * DECADE) & (rate < float("inf"))):
                found[i] = larger(write, found[i], rate)
        wait.set(wait.get() * DECADE)
    with write.loop(n) as i:
        found[i] = write.select(found[i] < float("inf"), found[i], 0.0)
    write.give()
    return write


def _drawn() -> Procedure:
    """The scales of `scales._spread` before they are carried along the couplings, into `later`; the speeds into `fastest`."""
    write = Procedure("drawn", {**_AT, "size": "ptr"})
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


def _spread() -> Procedure:
    """`scales._spread` into `later`, from the sizes given."""
    write = Procedure("spread", {**_AT, "size": "ptr"}, internal=True)
    record, at = record_of(write), [write[name] for name in _AT]
    fastest, later = record.get("fastest"), record.get("later")
    write.call("couplings", at)
    with write.when(record.get("scaled").equals(CARRIED)):
        record.set("scaled", 0)
        write.give()
    with write.loop(record.get("n")) as i:
        fastest[i] = record.get("diagonal")[i]
    structure, values = structure_of(record), record.get("values")
    write.call("fastest", [structure, values, fastest, record.get("balance")])
    write.call("drawn", [*at, write["size"]])
    write.call("carry", [structure, values, fastest, later, record.get("reached")])
    write.give()
    return write


def _look_ahead() -> Procedure:
    """A round of `scales.natural_scales`: what has no scale yet gets one from what is so far ahead; 0 where nothing lacks one, or
    all later rounds find the same again."""
    write = Procedure("look_ahead", {**_AT, "ahead": "double"}, "i64", internal=True)
    record = record_of(write)
    n, scales, later, moved = (record.get(name) for name in ("n", "scales", "later", "moved"))
    missing = write.local(0, "i64")
    with write.loop(n) as i:
        moved[i] = write["x"][i] + scales[i] * PART
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
    """`scales.natural_scales` into `scales`, from `size`."""
    write = Procedure("natural_scales", _AT, internal=True)
    record, at = record_of(write), [write[name] for name in _AT]
    write.call("spread", [*at, record.get("size")])
    with write.loop(record.get("n")) as i:
        record.get("scales")[i] = record.get("later")[i]
    for ahead in (0.0, *AHEAD):
        more = write.call("look_ahead", [*at, write.value(ahead, "double")], "i64")
        with write.when(more.equals(0)):
            write.give()
    write.give()
    return write
