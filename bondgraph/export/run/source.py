"""Source code of a run in C: header, image and interface."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bondgraph.export.code.c import array_text, c_number, enumeration
from bondgraph.export.code.content import Content, comment_safe, count
from bondgraph.export.run.functions import FunctionNames, function_names, kernels_text, runtime_text
from bondgraph.run.batch.image import Image
from bondgraph.run.events.log import SCALARS, RowLayout
from bondgraph.run.events.state import EventOutcome
from bondgraph.run.program import Program
from bondgraph.run.status import Status
from bondgraph.run.steppers.method import Method

RETURNED = {
    "DONE": (Status.STOP, "the run has reached its end"),
    "STOPPED": (Status.EVENT_ENDS, "an event ended the run; `outcome` gives the reason"),
    "TOO_MANY_STEPS": (Status.PAUSE, "the run takes more than max_steps steps"),
    "STIFF": (Status.STIFF, 'the model is stiff: export it with method="rodas5p"'),
    "STEP_TOO_SMALL": (Status.STEP_TOO_SMALL, "the error remains too large even for the smallest steps"),
    "NOT_FINITE": (Status.NOT_FINITE, "a rate is not finite"),
    "NOT_STARTED": (Status.NOT_STARTED, "the run cannot begin: a value is not finite, or an event at the start ends it"),
}
"""Status and meaning of each constant that a run in C returns."""
OUTCOMES = {
    EventOutcome.CYCLING: "transitions repeat endlessly",
    EventOutcome.STUCK: "guards remain above zero after their bounces",
    EventOutcome.TERMINAL: "a transition ends the run",
    EventOutcome.TOO_MANY: "the run has more than max_events events",
    EventOutcome.ACCUMULATION: "events accumulate, but there is no state of rest",
    EventOutcome.UNSOLVED: "Newton's method finds no solution for an algebraic loop",
    EventOutcome.NOT_FINITE: "a state is not finite",
    EventOutcome.STOPPED: "simultaneous collisions need Python",
}


@dataclass(frozen=True)
class RunContent:
    """Content of a run in C.

    Parameters
    ----------
    times, dates : sample times since the start and on the user's clock (samples,), s.
    fixed : indices of parameters that determine the times of clocks or time events, and therefore cannot be set.
    sizes : minimum size of each state (n,) in the error control of the run during export.
    """

    content: Content
    image: Image
    method: Method
    program: Program
    times: np.ndarray
    dates: np.ndarray
    fixed: tuple[int, ...]
    sizes: np.ndarray
    build: str

    @property
    def has_events(self) -> bool:
        return "events" in self.image.tables


def header_text(run: RunContent) -> str:
    n, upper, row = run.content.name, run.content.name.upper(), RowLayout.of(run.program)
    states, powers = run.program.states, row.powers
    returned = _constants(upper, {word: (int(status), text) for word, (status, text) in RETURNED.items()})
    outcomes = _constants(f"{upper}_OUTCOME", {outcome.name: (int(outcome), text) for outcome, text in OUTCOMES.items()})
    starts = {"X_BEFORE": row.x_before, "X_AFTER": row.x_after, "M_BEFORE": row.m_before, "M_AFTER": row.m_after}
    columns = {"TIME": SCALARS.index("time"), "TRANSITION": SCALARS.index("transition")}
    columns |= {name: where.start for name, where in starts.items()} | {"WIDTH": row.width}
    event_columns = "\n".join(f"    {upper}_EVENT_{name} = {value}," for name, value in columns.items())
    tables = "\n".join(
        enumeration(run.content, table, f"{upper}_{table.upper()}")
        for table in ("states", "parameters", "modes", "outputs", "powers")
    )
    held = ", ".join(str(k) for k in run.fixed)
    calls = {
        f"static {n}_memory memory;": "all memory of a run; it must not move between calls",
        f"{n}_begin(&memory);": "load the parameters and the start as exported",
        f"{n}_set(&memory, {upper}_P_..., 2.5);": "change a parameter, as often as you like",
        f"{n}_run(&memory, NULL, 0);": "run from the start to the end; repeat with other parameters",
        f"memory.rows[k][{upper}_X_...]": f"states at the time {n}_times[k]",
    }
    length = max(map(len, calls))
    usage = "\n".join(f" *     {call:{length}}  {meaning}" for call, meaning in calls.items())
    notes = ["", f" {n}_set refuses the parameters {held}, which set the times of clocks or time events."] if held else []
    if run.content.guards:
        notes += ["", " Transitions:"]
        notes += [f"     {k}: {comment_safe(entry.name)}" for k, entry in enumerate(run.content.guards)]
    return f"""\
/*
 * {n}: a run of the model "{comment_safe(run.content.system.name)}" with its solver, {run.method.name}, written by screwbond.
 *
 * Build: {run.build}
 *
{usage}
 *
 * The functions keep no data: threads may run at the same time, each with its own memory. Start values stay as exported,
 * even if they were computed from a parameter that is changed here. The values of parameters and the validity of a
 * run (energy balance, rank of constraints) are not checked: simulate() does that.
{"".join(f" *{line}{chr(10)}" for line in notes)} */
#ifndef {upper}_H
#define {upper}_H

#ifdef __cplusplus
extern "C" {{
#endif

{tables}
/* further lengths: number of samples; length of a row: states, then integrated powers, J */
enum {{
    {upper}_SAMPLES = {len(run.times)},
    {upper}_WIDTH = {states + powers}
}};

/* columns of the rows of events */
enum {{
{event_columns.rstrip(",")}
}};

/* what {n}_run returns */
enum {{
{returned}
}};

/* why an event ended the run */
enum {{
{outcomes}
}};

/* Memory of a run. */
typedef struct {n}_memory {{
    double rows[{upper}_SAMPLES][{_at_least_one(states + powers)}]; /* states and integrated powers at the samples */
    double modes[{upper}_SAMPLES][{_at_least_one(run.program.modes)}]; /* modes at the samples */
    double end; /* time since the start at which the run ended, s */
    int samples; /* rows that are filled */
    int steps; /* steps of the solver */
    int events; /* events, including events beyond `capacity` */
    int outcome; /* why an event ended the run, or 0 */
    int transition; /* the transition that ended it, or -1 */
    double block[{len(run.image.words)}]; /* private: tables and arrays of the solver */
}} {n}_memory;

/* times of the samples, s */
extern const double {n}_times[{upper}_SAMPLES];

/* Load the parameters and the start into a memory. */
void {n}_begin({n}_memory *memory);

/* Set a parameter by its index; return 1, or 0 if it cannot be set. */
int {n}_set({n}_memory *memory, int parameter, double value);

/* Run from the start to the end; the first `capacity` events go to rows of {upper}_EVENT_WIDTH numbers (NULL, 0 for none). */
int {n}_run({n}_memory *memory, double *events, int capacity);

/* Compute the outputs at a sample into {upper}_OUTPUTS numbers. */
void {n}_outputs({n}_memory *memory, int sample, double *out);

#ifdef __cplusplus
}}
#endif

#endif /* {upper}_H */
"""


def _constants(prefix: str, values: Mapping[str, tuple[int, str]]) -> str:
    last = list(values)[-1]
    return "\n".join(
        f"    {prefix}_{word} = {value}{',' * (word != last)} /* {text} */" for word, (value, text) in values.items()
    )


def _at_least_one(count: int) -> int:
    return max(count, 1)


def source_file(run: RunContent) -> str:
    n = run.content.name
    names = function_names(f"{n}_", (name for _, name in run.image.calls), run.has_events)
    runtime, needed = runtime_text(run.method, names)
    called = {name for _, name in run.image.calls} | {name for name in ("prepare", "outputs") if run.content.code[name].outputs}
    printed = [name for name in run.content.code if name in called]
    kernels = kernels_text(run.content.code, printed, needed, f"{n}_")
    head = f'/* {n}: the run of the model "{comment_safe(run.content.system.name)}"; see {n}.h. */\n#include "{n}.h"\n'
    return "\n".join(
        [head, runtime, kernels, image_text(run.image, names.of_calls, n), _interface_text(run, names, set(printed))]
    )


def _listed(items: Iterable[str]) -> str:
    return "\n".join(textwrap.wrap(", ".join(items), 120, break_long_words=False, break_on_hyphens=False))


def _pairs(name: str, pairs: Sequence[tuple[int, int]]) -> str:
    return f"static const uint32_t {name}[][2] = {{\n{_listed(f'{{{a},{b}}}' for a, b in pairs)}\n}};\n"


def image_text(image: Image, of_calls: Mapping[str, str], n: str) -> str:
    """Return an image as constants, and the function that loads it, with names that begin with `n`; `of_calls` maps the functions
    that it calls to their names in C."""
    segments = image.segments()
    functions = list(dict.fromkeys(name for _, name in image.calls))
    data = [f"{int(word):#x}" for _, part in segments for word in part]
    return f"""\
static const uint64_t {n}_data[] = {{
{_listed(data)}
}};
{_pairs(f"{n}_segments", [(first, len(part)) for first, part in segments])}
{_pairs(f"{n}_places", image.places)}
static void (*const {n}_functions[])(void) = {{
{_listed(f"(void (*)(void)){of_calls[name]}" for name in functions)}
}};
{_pairs(f"{n}_calls", [(word, functions.index(name)) for word, name in image.calls])}
static void {n}_load(char *block)
{{
    const uint64_t *data = {n}_data;
    memset(block, 0, 8 * (size_t){len(image.words)});
    for (size_t k = 0; k < sizeof {n}_segments / sizeof *{n}_segments; k++) {{
        memcpy(block + 8 * (size_t){n}_segments[k][0], data, 8 * (size_t){n}_segments[k][1]);
        data += {n}_segments[k][1];
    }}
    for (size_t k = 0; k < sizeof {n}_places / sizeof *{n}_places; k++)
        {n}_store_ptr(block + 8 * (size_t){n}_places[k][0], block + 8 * (size_t){n}_places[k][1]);
    for (size_t k = 0; k < sizeof {n}_calls / sizeof *{n}_calls; k++) {{
        const uint64_t address = (uint64_t)(uintptr_t){n}_functions[{n}_calls[k][1]];
        memcpy(block + 8 * (size_t){n}_calls[k][0], &address, 8);
    }}
}}
"""


def _interface_text(run: RunContent, names: FunctionNames, kernels: set[str]) -> str:
    n, upper, image, modes = run.content.name, run.content.name.upper(), run.image, run.program.modes
    same = np.array_equal(run.times, run.dates)
    since = f"{n}_times" if same else f"{n}_since"
    times = array_text("double", f"{n}_times", f"{upper}_SAMPLES", [c_number(float(t)) for t in run.dates])
    if not same:
        times += "static " + array_text("double", since, f"{upper}_SAMPLES", [c_number(float(t)) for t in run.times])
    parameters = count(run.content.p)
    p, x, m = (f"block + 8 * {image.arrays[name]}" for name in ("p", "x", "m"))

    def place(table: str, field: str) -> str:
        return f"block + 8 * {image.word(table, field)}"

    held = " || ".join(f"parameter == {k}" for k in run.fixed)
    refused = f"parameter < 0 || parameter >= {upper}_PARAMETERS" + (f" || {held}" if held else "")
    prepare = f"    {n}_k_prepare({p}, {p} + 8 * {parameters});\n" if "prepare" in kernels else ""
    before = f"    {n}_store_ptr({place('events', 'all_held')}, (char *)memory->modes);\n" if run.has_events else ""
    taken, filled, stopped = "", "0", ""
    if run.has_events:
        logged, left = place("events", "logged"), place("events", "events_left")
        taken = f"""
            const int64_t logged = {n}_load_i64({logged});
            const char *log = {n}_load_ptr({place("events", "log")});
            for (int64_t k = 0; k < logged; k++, memory->events++)
                if (memory->events < capacity)
                    memcpy(events + (size_t)memory->events * {upper}_EVENT_WIDTH, log + 8 * {upper}_EVENT_WIDTH * k,
                           8 * {upper}_EVENT_WIDTH);
            {n}_store_i64({left}, {n}_load_i64({left}) - logged);
            {n}_store_i64({logged}, 0);"""
        filled = f"{n}_load_i64({place('events', 'held_rows')}) + 1"
        stopped = f"""
    if (status == {upper}_STOPPED) {{
        const int64_t suspect = {n}_load_i64({place("events", "suspect")});
        memory->outcome = (int){n}_load_i64({place("events", "outcome")});
        if (suspect >= 0)
            memory->transition = (int){n}_load_double({n}_load_ptr({place("events", "log")})
                + 8 * ({upper}_EVENT_WIDTH * suspect + {upper}_EVENT_TRANSITION));
    }}"""
    unused = "" if run.has_events else "    (void)events;\n    (void)capacity;\n"
    outputs = (
        f"""\
    char *block = (char *)memory->block;
    double time = {n}_times[sample];
    {n}_k_outputs((char *)&time, (char *)memory->rows[sample], {p}, (char *)memory->modes[sample], (char *)out);"""
        if "outputs" in kernels
        else "    (void)memory;\n    (void)sample;\n    (void)out;"
    )
    last = "".join(
        f"\n                memory->modes[k][{i}] = {n}_load_double({n}_load_ptr({place('integrator', 'm')}) + 8 * {i});"
        for i in range(modes)
    )
    fill = (
        f"""
    if (memory->samples > 0)
        for (int64_t k = {filled}; k < memory->samples; k++) {{{last}
        }}"""
        if modes
        else ""
    )
    return f"""\
{times}
void {n}_begin({n}_memory *memory)
{{
    {n}_load((char *)memory->block);
    memory->samples = memory->steps = memory->events = memory->outcome = 0;
    memory->transition = -1;
    memory->end = 0.0;
}}

int {n}_set({n}_memory *memory, int parameter, double value)
{{
    char *block = (char *)memory->block;
    if ({refused})
        return 0;
    {n}_store_double({p} + 8 * parameter, value);
    return 1;
}}

int {n}_run({n}_memory *memory, double *events, int capacity)
{{
    char *block = (char *)memory->block, *table = block + 8 * {image.tables["integrator"][0]};
    int64_t status = {upper}_NOT_STARTED;
{unused}    memory->samples = memory->steps = memory->events = memory->outcome = 0;
    memory->transition = -1;
{prepare}{before}    if ({names.begin}(table, {x}, {m}, (char *){since}, (char *)memory->rows, {upper}_SAMPLES)) {{
        do {{
            status = {names.advance}(table);{taken}
        }} while (status == {int(Status.LOG_FULL)});
        memory->samples = (int){n}_load_i64({place("integrator", "written")}) + 1;
    }}
    memory->steps = (int){n}_load_i64({place("integrator", "steps")});
    memory->end = {n}_load_double({place("integrator", "t")});{stopped}{fill}
    return (int)status;
}}

void {n}_outputs({n}_memory *memory, int sample, double *out)
{{
{outputs}
}}
"""
