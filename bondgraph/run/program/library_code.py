"""LLVM IR for the ticks of an FMI 2.0 or 3.0 library, whose functions it calls by address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

FIELDS = (
    *("instance", "phase", "number", "start", "period", "fault", "status", "value", "time", "parameters", "begin", "kernel"),
    *("step", "initialised", "flags", "last"),
)
"""Fields of an instance's table, 8 bytes each; three more fields follow for each group of variables: its function, references
and values."""
_LARGEST_SINGLE = 3.4028234663852886e38
_WIDE = 2.0**51
"""Magnitude below which adding and subtracting 3 x 2^51 rounds to an integer, ties to even."""


@dataclass(frozen=True)
class ValueType:
    """Type of variables in a library: its name in LLVM, conversions to and from a float, and its smallest and largest values,
    or None if every float is valid."""

    word: str
    to_number: str = ""
    of_number: str = ""
    limits: tuple[float, float] | None = None


def _integer(bits: int, signed: bool) -> ValueType:
    sign = "s" if signed else "u"
    least, largest = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if signed else (0.0, 2.0**bits)
    limits = least, largest - 1.0 if bits < 64 else float(np.nextafter(largest, 0.0))
    return ValueType(f"i{bits}", f"{sign}itofp", f"fpto{sign}i", limits)


_BOOLEAN = (0.0, 1.0)
TYPES: Mapping[int, Mapping[str, ValueType]] = {
    2: {"Real": ValueType("double"), "Integer": _integer(32, True), "Boolean": ValueType("i32", "sitofp", "fptosi", _BOOLEAN)},
    3: {
        "Float64": ValueType("double"),
        "Float32": ValueType("float", "fpext", "fptrunc", (-_LARGEST_SINGLE, _LARGEST_SINGLE)),
        "Boolean": ValueType("i8", "uitofp", "fptoui", _BOOLEAN),
        **{f"{sign}Int{bits}": _integer(bits, not sign) for sign in ("", "U") for bits in (8, 16, 32, 64)},
    },
}


@dataclass(frozen=True)
class VariableGroup:
    """Library variables that one call sets or reads: their common type, and their indices among the variables of the block."""

    type_name: str
    places: tuple[int, ...]


class LibraryVariables(Protocol):
    @property
    def version(self) -> int: ...

    @property
    def inputs(self) -> Sequence[VariableGroup]: ...

    @property
    def outputs(self) -> Sequence[VariableGroup]: ...

    @property
    def names(self) -> Sequence[str]:
        """Names of the outputs, then of the inputs."""


@dataclass
class _Writer:
    faults: list[str]
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def word(self, what: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {what}")
        return f"%v{self.count}"

    def put(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def field(self, name: str | int, kind: str) -> str:
        return self.word(f"load {kind}, ptr {_at(name)}")

    def fail_if(self, condition: str, what: str, **fields: str) -> None:
        self.faults.append(what)
        self.count += 1
        self.put(f"br i1 {condition}, label %fault{self.count}, label %next{self.count}")
        self.lines.append(f"fault{self.count}:")
        for name, value in fields.items():
            self.put(f"store {value}, ptr {_at(name)}")
        self.put(f"ret i64 {len(self.faults)}")
        self.lines.append(f"next{self.count}:")

    def call(self, function: str, arguments: str, name: str) -> None:
        status = self.word(f"call i32 {function}({arguments})")
        failed, wide = self.word(f"icmp sgt i32 {status}, 1"), self.word(f"zext i32 {status} to i64")
        self.fail_if(failed, f"fails in {name} with status {{status}}", status=f"i64 {wide}")

    def function(self, name: str) -> str:
        return "\n".join([f"define internal i64 @{name}(ptr %out) {{", *self.lines, "  ret i64 0", "}"])


def _at(field_name: str | int) -> str:
    index = FIELDS.index(field_name) if isinstance(field_name, str) else field_name
    return f"getelementptr (i64, ptr @table, i64 {index})"


def _entry(pointer: str, kind: str, index: int) -> str:
    return f"getelementptr {kind}, ptr {pointer}, i64 {index}"


def tick_text(unit: LibraryVariables, places: Sequence[int], steps: int) -> tuple[str, list[str]]:
    """Return the LLVM IR of a tick, and the message of each fault; `places` are the indices in x of the outputs and of the
    sampled inputs, `steps` is the index of the number of steps."""
    faults = list[str]()
    outputs = len(places) - sum(len(group.places) for group in unit.inputs)
    setters, getters = _Writer(faults), _Writer(faults)
    word = len(FIELDS)
    for group in unit.inputs:
        _set(setters, unit, group, word, places)
        word += 3
    for group in unit.outputs:
        _get(getters, unit, group, word, places)
        word += 3
    starting, stepping = _initialisation(unit.version, faults), _step(unit.version, steps, faults)
    nan = "\n".join(f"  store double 0x7FF8000000000000, ptr %y{k}" for k in range(outputs))
    nan = "\n".join(f"  %y{k} = {_entry('%out', 'double', places[k])}" for k in range(outputs)) + "\n" + nan
    return "\n".join(
        [
            "declare void @table()",
            setters.function("put"),
            getters.function("take"),
            starting.function("end_initialisation"),
            stepping.function("step"),
            _TICK.format(**{name: _at(name) for name in FIELDS}, nan=nan),
        ]
    ), faults


_TICK = """define void @tick(ptr %t, ptr %x, ptr %p, ptr %m, ptr %out) {{
  %kernel = load ptr, ptr {kernel}
  call void %kernel(ptr %t, ptr %x, ptr %p, ptr %m, ptr %out)
  %phase = load i64, ptr {phase}
  switch i64 %phase, label %lost [ i64 0, label %fresh i64 1, label %running ]
fresh:
  %now = load double, ptr %t
  store double %now, ptr {time}
  store ptr %p, ptr {parameters}
  %begin = load ptr, ptr {begin}
  %begun = call i64 %begin()
  %made = icmp eq i64 %begun, 1
  br i1 %made, label %made.it, label %failed
made.it:
  store i64 1, ptr {phase}
  store double 1.0, ptr {number}
  %first = call i64 @put(ptr %out)
  %put.first = icmp eq i64 %first, 0
  br i1 %put.first, label %initial, label %fault
initial:
  %ended = call i64 @end_initialisation(ptr %out)
  %is.initial = icmp eq i64 %ended, 0
  br i1 %is.initial, label %outputs, label %fault
running:
  %stepped = call i64 @step(ptr %out)
  %is.there = icmp eq i64 %stepped, 0
  br i1 %is.there, label %inputs, label %fault
inputs:
  %put = call i64 @put(ptr %out)
  %is.put = icmp eq i64 %put, 0
  br i1 %is.put, label %outputs, label %fault
outputs:
  %taken = call i64 @take(ptr %out)
  %done = icmp eq i64 %taken, 0
  br i1 %done, label %end, label %fault
end:
  ret void
fault:
  %which = phi i64 [ %first, %made.it ], [ %ended, %initial ], [ %stepped, %running ], [ %put, %inputs ], [ %taken, %outputs ]
  store i64 %which, ptr {fault}
  br label %failed
failed:
  store i64 2, ptr {phase}
  br label %lost
lost:
{nan}
  ret void
}}
"""
"""LLVM IR of the tick: after the kernel of the block, the library advances to this time, takes its inputs and computes its
outputs. After a failure the outputs are NaN, and the library is not called again."""


def _set(write: _Writer, unit: LibraryVariables, group: VariableGroup, word: int, places: Sequence[int]) -> None:
    kind, values = TYPES[unit.version][group.type_name], write.field(word + 2, "ptr")
    for index, place in enumerate(group.places):
        value = number = write.word(f"load double, ptr {write.word(_entry('%out', 'double', places[place]))}")
        if kind.limits is not None:
            if kind.word != "float":
                number = _rounded(write, number)
            least, largest = (f"0x{np.float64(limit).view(np.uint64):016X}" for limit in kind.limits)
            above, below = write.word(f"fcmp oge double {number}, {least}"), write.word(f"fcmp ole double {number}, {largest}")
            outside = write.word(f"xor i1 {write.word(f'and i1 {above}, {below}')}, true")
            if kind.word == "float":
                outside = write.word(f"and i1 {outside}, {write.word(f'fcmp ord double {value}, {value}')}")
            name = unit.names[place].replace("{", "{{").replace("}", "}}")
            what = f'cannot take {{value:.9g}} for "{name}", of type {group.type_name}'
            write.fail_if(outside, what, value=f"double {value}")
        converted = write.word(f"{kind.of_number} double {number} to {kind.word}") if kind.of_number else number
        write.put(f"store {kind.word} {converted}, ptr {write.word(_entry(values, kind.word, index))}")
    _call(write, unit, "Set", group, word, values)


def _rounded(write: _Writer, number: str) -> str:
    half = f"0x{np.float64(3.0 * _WIDE).view(np.uint64):016X}"
    near = write.word(f"fsub double {write.word(f'fadd double {number}, {half}')}, {half}")
    low = write.word(f"fcmp ogt double {number}, 0x{np.float64(-_WIDE).view(np.uint64):016X}")
    high = write.word(f"fcmp olt double {number}, 0x{np.float64(_WIDE).view(np.uint64):016X}")
    return write.word(f"select i1 {write.word(f'and i1 {low}, {high}')}, double {near}, double {number}")


def _get(write: _Writer, unit: LibraryVariables, group: VariableGroup, word: int, places: Sequence[int]) -> None:
    kind, values = TYPES[unit.version][group.type_name], write.field(word + 2, "ptr")
    _call(write, unit, "Get", group, word, values)
    for index, place in enumerate(group.places):
        value = write.word(f"load {kind.word}, ptr {write.word(_entry(values, kind.word, index))}")
        number = write.word(f"{kind.to_number} {kind.word} {value} to double") if kind.to_number else value
        write.put(f"store double {number}, ptr {write.word(_entry('%out', 'double', places[place]))}")


def _call(write: _Writer, unit: LibraryVariables, verb: str, group: VariableGroup, word: int, values: str) -> None:
    function, references, instance = write.field(word, "ptr"), write.field(word + 1, "ptr"), write.field("instance", "ptr")
    count = len(group.places)
    counted = f", i64 {count}" if unit.version == 3 else ""
    arguments = f"ptr {instance}, ptr {references}, i64 {count}, ptr {values}{counted}"
    write.call(function, arguments, f"fmi{unit.version}{verb}{group.type_name}")


def _initialisation(version: int, faults: list[str]) -> _Writer:
    write = _Writer(faults)
    function, instance = write.field("initialised", "ptr"), write.field("instance", "ptr")
    write.call(function, f"ptr {instance}", f"fmi{version}ExitInitializationMode")
    return write


def _step(version: int, steps: int, faults: list[str]) -> _Writer:
    """Write code that takes a step from the previous tick to this tick; the library's ticks are at start + count x period."""
    write = _Writer(faults)
    number, period, instance = write.field("number", "double"), write.field("period", "double"), write.field("instance", "ptr")
    count = write.word(f"load double, ptr {write.word(_entry('%out', 'double', steps))}")
    following = write.word(f"fadd double {number}, 1.0")
    write.fail_if(
        write.word(f"fcmp une double {count}, {following}"), "cannot continue from a state other than that of its last step"
    )
    since = write.word(f"fmul double {write.word(f'fsub double {number}, 1.0')}, {period}")
    time = write.word(f"fadd double {write.field('start', 'double')}, {since}")
    arguments, flags = f"ptr {instance}, double {time}, double {period}", write.field("flags", "ptr")
    if version == 2:
        arguments += ", i32 1"
    else:
        others = [write.word(_entry(flags, "i8", k)) for k in range(3)]
        arguments += ", i1 zeroext true, " + ", ".join(f"ptr {each}" for each in (*others, _at("last")))
    write.call(write.field("step", "ptr"), arguments, f"fmi{version}DoStep")
    if version == 3:
        ends = write.word(f"load i8, ptr {write.word(_entry(flags, 'i8', 1))}")
        write.fail_if(write.word(f"icmp ne i8 {ends}, 0"), "requests the end of the run")
    write.put(f"store double {following}, ptr {_at('number')}")
    return write
