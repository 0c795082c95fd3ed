"""Interpreter of derivatives (forward mode) in machine code, one for all routines.

It executes a table of steps, each with the address of its code, which computes the value of an instruction and the row of its
derivatives by all columns, one block of columns at a time.
"""

from __future__ import annotations

from bondgraph.emit.cached_build import build_once
from bondgraph.emit.elementary import trigonometry
from bondgraph.emit.lanes import widened
from bondgraph.emit.llvm import Library, compile_written
from bondgraph.emit.procedure import Procedure, Temporary
from bondgraph.emit.tables import LOOKUP_FUNCTIONS
from bondgraph.emit.text import DECLARATIONS, define, function_text
from bondgraph.tape import opcodes as op
from bondgraph.tape.differentiate import slopes
from bondgraph.tape.routine import Routine, listing
from bondgraph.tape.scalar import Tape, TapeScalar

BLOCK = 8
"""Columns of a block, of which rows have a multiple: as many as the widest SIMD vectors hold."""

ARGUMENTS = {
    code: op.OPERATIONS[code].arguments
    for code in range(op.ADD, len(op.OPERATIONS))
    if code != op.DIVIDE and code not in op.LOOKUPS
}
"""Instructions of a tape with the count of their arguments: at most three. Lookups in tables have steps of their own."""
FIELDS = 10
"""Fields of a step: address of its code, indices of its three arguments, row of its derivatives, rows of its arguments'; row 0
is zero; then the first block of columns on which it depends, and the one after the last. The arguments of a lookup are the index
of its number, that of the first entry of its table, and the length of the table; it has no derivatives."""
RESULT = 3
"""Offset of the value and the three slopes in the workspace of a rule, behind the arguments."""
WORK = 2 * RESULT + 1
"""Length of that workspace."""


@build_once
def machine_code() -> Library:
    """Return the compiled interpreter, with the instructions by name."""
    return compile_written(procedures, _texts)


def _texts() -> list[str]:
    texts = [rule(code) for code in ARGUMENTS]
    texts += [_sum(terms) for terms in range(1, RESULT + 1)]
    return [DECLARATIONS, LOOKUP_FUNCTIONS, *texts, *trigonometry.called(texts)]


def rule(code: int, lanes: int = 1) -> str:
    """Return the function of an instruction as text: three arguments -> its value and its slopes by them, in SIMD lanes."""
    tape = Tape()
    inputs = tape.inputs("given", 3)
    arguments = [scalar.index for scalar in inputs[: ARGUMENTS[code]]]
    zero, one = tape.constant(0.0), tape.constant(1.0)
    for k in range(op.OPERATIONS[code].truths):
        arguments[k] = tape.function("less", zero, arguments[k])
    position = tape.apply(code, *arguments)
    derivatives = dict(zip(arguments, [zero] * len(arguments), strict=True))
    if code not in op.FLAT:
        for argument, slope in slopes(tape, position):
            derivatives[argument] = tape.add(derivatives[argument], slope)
    value = tape.where(position, one, zero) if code in op.CONDITIONS else position
    outputs = [value, *derivatives.values()]
    outputs += [zero] * (1 + RESULT - len(outputs))
    routine = Routine(f"rule_{op.NAMES[code]}", tape, (("given", 3),), tuple(TapeScalar(tape, k) for k in outputs))
    straight = listing(routine)
    steps = len(straight.steps)
    return function_text(routine.name, straight, 1, steps, steps, lanes=lanes).replace(" noinline", " alwaysinline")


def procedures() -> list[Procedure]:
    """Return the interpreter, and a procedure for each instruction, which calls its rule."""
    return [*(_step(code) for code in ARGUMENTS), *(_lookup(code) for code in sorted(op.LOOKUPS)), _interpret()]


_STEP = dict.fromkeys(("step", "values", "rows", "work"), "ptr") | dict.fromkeys(("place", "blocks"), "i64")


def _interpret() -> Procedure:
    """Execute all steps: values, and rows of derivatives."""
    arguments = dict.fromkeys(("steps", "values", "rows", "work"), "ptr") | dict.fromkeys(("count", "first", "blocks"), "i64")
    write = Procedure("interpret", arguments)
    with write.loop(write["count"]) as k:
        step = write["steps"].at(k * FIELDS, "i64")
        operands = [step, write["values"], write["rows"], write["work"], write["first"] + k, write["blocks"]]
        write.call(step.load(0, "ptr"), operands)
    write.give()
    return write


def _step(code: int) -> Procedure:
    """Execute a step of this instruction: its value, and its row of derivatives where it varies."""
    write, count = Procedure(f"step_{op.NAMES[code]}", _STEP), ARGUMENTS[code]
    step, values, rows, work = (write[name] for name in ("step", "values", "rows", "work"))
    for argument in range(count):
        work[argument] = values[step.load(1 + argument, "i64")]
    write.call(f"rule_{op.NAMES[code]}", [work, work.at(RESULT)])
    values[write["place"]] = work[RESULT]
    row, stride = step.load(4, "i64"), write["blocks"] * BLOCK
    with write.when(row > 0):
        first, last = step.load(8, "i64"), step.load(9, "i64")
        last = write.select(last < write["blocks"], last, write["blocks"], "i64")
        argument_rows = [step.load(5 + argument, "i64") for argument in range(count)]
        terms = [
            (work[RESULT + 1 + argument], rows.at(argument_row * stride)) for argument, argument_row in enumerate(argument_rows)
        ]
        # Constant arguments contribute nothing.
        for needed in range(count, 1, -1):
            with write.when(argument_rows[needed - 1] > 0):
                _call_sum(write, rows.at(row * stride), terms[:needed], first, last)
                write.give()
        _call_sum(write, rows.at(row * stride), terms[:1], first, last)
    write.give()
    return write


def _lookup(code: int) -> Procedure:
    """Execute a lookup in a table."""
    write = Procedure(f"step_{op.NAMES[code]}", _STEP)
    step, values = write["step"], write["values"]
    argument, table, length = (step.load(k, "i64") for k in (1, 2, 3))
    values[write["place"]] = write.call(op.NAMES[code], [values[argument], values.at(table), length], "double")
    write.give()
    return write


def _call_sum(
    write: Procedure, target: Temporary, terms: list[tuple[Temporary, Temporary]], first: Temporary, last: Temporary
) -> None:
    write.call(f"sum_{len(terms)}", [target, first, last, *(each for term in terms for each in term)])


def _sum(terms: int) -> str:
    """Return LLVM text for the derivatives of a step by the columns of some blocks: the sum, over its arguments, of slope times
    row of derivatives. LLVM would build a loop over so few columns for many."""
    parameters = ["ptr noalias %target", "i64 %first", "i64 %last"]
    parameters += [text for k in range(terms) for text in (f"double %slope{k}", f"ptr %source{k}")]
    wide, head, lines = f"<{BLOCK} x double>", list[str](), list[str]()
    for k in range(terms):
        head += [
            f"%one{k} = insertelement {wide} poison, double %slope{k}, i32 0",
            f"%all{k} = shufflevector {wide} %one{k}, {wide} poison, <{BLOCK} x i32> zeroinitializer",
            widened(f"%flat{k} = fcmp oeq double %all{k}, 0.0", BLOCK),
        ]
        total = [f"%total{k} = fadd double %total{k - 1}, %term{k}"] if k else []
        written = [
            f"%at{k} = getelementptr double, ptr %source{k}, i64 %column",
            f"%given{k} = load double, ptr %at{k}",
            f"%still{k} = fcmp oeq double %given{k}, 0.0",
            f"%nothing{k} = or i1 %flat{k}, %still{k}",
            f"%product{k} = fmul double %all{k}, %given{k}",
            f"%{'term' if k else 'total'}{k} = select i1 %nothing{k}, double 0.0, double %product{k}",
            *total,
        ]
        lines += [line if line.startswith("%at") else widened(line, BLOCK) for line in written]
    # Zero is added even so, for the sign of a zero.
    lines += [widened(f"%sum = fadd double %total{terms - 1}, 0.0", BLOCK)] if terms < RESULT else []
    result = "%sum" if terms < RESULT else f"%total{terms - 1}"
    lines += ["%place = getelementptr double, ptr %target, i64 %column", widened(f"store double {result}, ptr %place", BLOCK)]
    body = [
        *(*head, f"%from = mul i64 %first, {BLOCK}", f"%to = mul i64 %last, {BLOCK}", "%some = icmp slt i64 %from, %to"),
        *("br i1 %some, label %block, label %done", "block:", "%column = phi i64 [ %from, %entry ], [ %next, %block ]"),
        *(*lines, f"%next = add i64 %column, {BLOCK}", "%more = icmp slt i64 %next, %to"),
        *("br i1 %more, label %block, label %done", "done:"),
    ]
    return define(f"void @sum_{terms}", parameters, ["br label %entry", "entry:", *body], " noinline")
