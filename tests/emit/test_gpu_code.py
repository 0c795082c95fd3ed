"""In procedures for a GPU, known fields become constants, functions are called by name, and stores are tracked."""

from __future__ import annotations

from tests.inner.emit import (
    Ints,
    KernelCode,
    Pointers,
    Reals,
    Table,
    kinds_by_number,
    module_text,
    specialised,
    stored_fields,
    stored_objects,
    translate,
)


class Part(Table):
    values: Reals
    scale: float
    count: int
    report: KernelCode


class Whole(Table):
    first: Part
    second: Part
    source: Reals
    places: Ints
    best: float


def scaled(part: Part, values: Reals) -> None:
    for i in range(part.count):
        part.values[i] = values[i] * part.scale
    part.report(part.values)


def both(whole: Whole) -> None:
    scaled(whole.first, whole.source)
    scaled(whole.second, whole.source[whole.places[0] :])
    whole.best = whole.first.values[0]


MADE = translate([both], ["both"])
WORDS = {"Part.scale": 0x4004000000000000, "Part.count": 3, "Part.report": 2}


def test_fields_that_nobody_stores_become_numbers_and_calls_have_names():
    assert stored_fields(MADE) == {"Whole.best"}
    text = module_text([specialised(MADE[0], WORDS, ["other", "heard"])])
    assert text.count("fadd double 0x4004000000000000, -0.0") == 1 and text.count("add i64 3, 0") == 1
    assert "call void @heard(ptr %" in text and "inttoptr i64 2 to ptr" in text
    assert "load double, ptr %" in text and not kinds_by_number([specialised(MADE[0], WORDS, ["other", "heard"])])


def test_other_calls_go_through_a_switch_over_numbers():
    made = specialised(MADE[0], {}, ["other", "heard"])
    (kind,) = kinds_by_number([made])
    assert (kind.gives, kind.takes) == ("void", ("ptr",)) and "call void @numbered.void.ptr(ptr %" in module_text([made])
    assert kind.text([(1, "other"), (2, "heard")]).splitlines() == [
        "define void @numbered.void.ptr(ptr %function, ptr %a0) {",
        "%number = ptrtoint ptr %function to i64",
        "switch i64 %number, label %none [ i64 1, label %case1 i64 2, label %case2 ]",
        "case1:",
        "call void @other(ptr %a0)",
        "ret void",
        "case2:",
        "call void @heard(ptr %a0)",
        "ret void",
        "none:",
        "ret void",
        "}",
    ]


def test_arrays_written_by_procedures_are_found():
    """Objects 1 and 2 are the parts, 3 and 4 their values, 5 the source, 6 the positions and 7 the whole."""
    fields = {"Whole.first": {1}, "Whole.second": {2}, "Whole.source": {5}, "Whole.places": {6}, "Part.values": {3, 4}}
    memory = Pointers({name: frozenset(objects) for name, objects in fields.items()}, {})
    given = {"both": {"whole": frozenset({7})}}
    assert stored_objects(MADE, memory, given, lambda call, field: ["heard"], ["heard"]) == {3, 4}
    in_turn = Pointers({**memory.of_fields, "Part.values": frozenset({3})}, {})
    assert stored_objects(MADE, in_turn, given, lambda call, field: [], []) == {3}


def heard_too(part: Part, values: Reals) -> None:
    part.report(values)


def test_a_function_outside_may_store_to_its_last_array():
    made = translate([heard_too], ["heard_too"])
    given = {"heard_too": {"part": frozenset({1}), "values": frozenset({5})}}
    fields = set()

    def targets(call, field):
        fields.add(field)
        return ["outside"]

    assert stored_objects(made, Pointers({}, {}), given, targets) == {5} and fields == {"Part.report"}
