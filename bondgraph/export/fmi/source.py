"""C source of a functional mock-up unit: the run of a model as data, its kernels, and the functions of the standard."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from bondgraph.emit import cache
from bondgraph.export.code.c import c_number
from bondgraph.export.code.content import comment_safe, count
from bondgraph.export.fmi.description import CO_SIMULATION, MODEL_EXCHANGE
from bondgraph.export.fmi.partials import Partials
from bondgraph.export.fmi.variables import ModelVariable, VariableKind
from bondgraph.export.run.functions import function_names, kernels_text, library_text
from bondgraph.export.run.source import OUTCOMES, RunContent, image_text
from bondgraph.run.batch.image import Image
from bondgraph.run.clock_schedule import SAME_TIME
from bondgraph.run.events.state import EventOutcome
from bondgraph.run.settings import RTOL_RANGE
from bondgraph.run.status import Status
from bondgraph.run.steppers import dop853, dopri5
from bondgraph.run.steppers.explicit import method_of
from bondgraph.run.steppers.method import Method
from bondgraph.run.steppers.radau.radau5 import RADAU5
from bondgraph.run.steppers.rosenbrock.rodas5p import RODAS5P

LIBRARY, MODEL = "library.c", "model.c"
_PARTS = ("exports.h", "instance.c", "values.c", "stepping.c", "states.c", "exchange.c", "functions.c")
_PREFIX, _OWN = "sb_", "fmu_"
_FIELDS = {
    "integrator": "t stop h tried budget most fresh is_landing times rows samples written trial y m levels window clock_count",
    "events": "rows held all_held written seen held_rows logged events_left most_events outcome",
}
_HEAD = """\
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int64_t sb_s_begin_run(char *, char *, char *, char *, char *, int64_t);
extern int64_t sb_s_advance_run(char *);
extern int64_t sb_s_pass_event(char *);
extern int64_t sb_s_resume(char *, char *, int64_t);
extern int64_t sb_s_has_tick(char *);
extern int64_t sb_s_settle_at(char *, double);
extern void sb_s_see_step(char *, double, char *);
extern int64_t sb_s_solve_loops(char *, double, char *, char *);
extern void sb_s_look_within(char *, char *, double, char *);
extern double sb_s_due(char *);

static void fmu_store_ptr(char *place, char *value)
{
    const uint64_t address = (uintptr_t)value;
    memcpy(place, &address, 8);
}
"""


@dataclass(frozen=True)
class DefaultExperiment:
    """Start and length of the exported run, s, and its relative tolerance."""

    start: float
    span: float
    tolerance: float


@dataclass(frozen=True)
class Scaling:
    """Words of an image that depend on the experiment.

    Parameters
    ----------
    starts : words equal to the start time.
    spans, tolerances : words proportional to the length of the run, and to the tolerance.
    moves : True if the start time can be changed.
    scales : True if the length can be changed.
    """

    starts: tuple[int, ...]
    spans: tuple[int, ...]
    tolerances: tuple[int, ...]
    moves: bool
    scales: bool


def scaling_of(base: Image, start: float, later: tuple[float, Image] | None, twice: Image | None, loose: Image | None) -> Scaling:
    """Return the words that depend on the experiment, found by comparison with images of a run that starts `later`, of one
    `twice` as long, and of one with four times the tolerance (`loose`); an image is None if its run is impossible."""
    spans, tolerances = _proportional(base, twice, 2.0), _proportional(base, loose, 4.0)
    starts = None if later is None else _changed(base, later[1])
    if starts is not None and later is not None:
        before, after = (image.words.view(np.float64)[starts] for image in (base, later[1]))
        if not (np.all(before == start) and np.all(after == later[0])):
            starts = None

    def listed(words: np.ndarray | None) -> tuple[int, ...]:
        return () if words is None else tuple(map(int, words))

    return Scaling(listed(starts), listed(spans), listed(tolerances), starts is not None, spans is not None)


def _changed(base: Image, other: Image) -> np.ndarray | None:
    same = base.places == other.places and base.calls == other.calls and len(base.words) == len(other.words)
    return np.flatnonzero(base.words != other.words) if same else None


def _proportional(base: Image, other: Image | None, factor: float) -> np.ndarray | None:
    words = None if other is None else _changed(base, other)
    if words is None or other is None:
        return None
    before, after = (image.words.view(np.float64)[words] for image in (base, other))
    return words if bool(np.all(after == factor * before)) else None


@functools.cache
def solver_source(method: Method) -> str:
    published = (method_of(dop853.TABLEAU), method_of(dopri5.TABLEAU), RODAS5P, RADAU5)
    sources = cache.sources() if method in published else ""
    name = cache.key("source of units", method.name, sources) if sources else ""
    stored = cache.load(name) if name else None
    if stored is not None:
        return stored.decode()
    head = f"/* Solver, error control and interpreter of screwbond, for the method {method.name}. */"
    text = f"{head}\n{library_text(method, _PREFIX)}"
    if name:
        cache.store(name, text.encode())
    return text


def model_source(
    run: RunContent,
    experiment: DefaultExperiment,
    scaling: Scaling,
    variables: Sequence[ModelVariable],
    kinds: Sequence[str],
    version: int,
    partials: Partials | None,
) -> tuple[str, str]:
    """Return the source code of a model as an FMU, and the token that the FMU expects, a hash of this code."""
    content, image, program = run.content, run.image, run.program
    names = function_names(_PREFIX, (name for _, name in image.calls), run.has_events)
    of_calls = {name: each.replace(f"{_PREFIX}k_", f"{_OWN}k_") for name, each in names.of_calls.items()}
    called = {name for name in ("prepare", "outputs", "rates", "guards") if name in content.code and content.code[name].outputs}
    printed = [name for name in content.code if name in called or name in of_calls]
    code = dict(content.code)
    if partials is not None and partials.rows:
        code["partials"] = partials.routine
        printed.append("partials")
    kernels = kernels_text(code, printed, (), _OWN)
    outer = sorted({name for name in of_calls.values() if name.startswith(_PREFIX)})
    externs = "".join(f"extern void {name}();\n" for name in outer if f"{name}(" not in _HEAD)
    guards = 0 if program.guards is None else program.guards.n_out
    reals = {"SPAN": experiment.span, "RTOL": experiment.tolerance, "START": experiment.start}
    reals |= {"LEAST_RTOL": RTOL_RANGE[0], "SAME_TIME": SAME_TIME}
    wholes = {
        "NX": program.states,
        "NP": count(content.p),
        "NP_ALL": program.parameters,
        "NM": program.modes,
        "NY": count(content.y),
        "NG": guards,
        "NJ": 0 if partials is None else len(partials.rows),
        "WIDTH": int(image.words[image.word("integrator", "width")]),
        "WORDS": len(image.words),
        "HAS_EVENTS": run.has_events,
        "HAS_PREPARE": "prepare" in printed,
        "HAS_OUTPUTS": "outputs" in printed,
        "HAS_LOOPS": run.has_events and bool(content.system.guesses),
        "HAS_CLOCKS": bool(image.words[image.word("integrator", "clock_count")]),
        "HAS_COSIMULATION": CO_SIMULATION in kinds,
        "HAS_EXCHANGE": MODEL_EXCHANGE in kinds,
        "BY_ELEMENT": version == 2,
        "STARTS_MOVE": scaling.moves,
        "SPANS_SCALE": scaling.scales,
        "OUTCOME_TERMINAL": EventOutcome.TERMINAL,
        "AT_C": image.tables["integrator"][0],
        **{f"AT_{name.upper()}": word for name, word in image.arrays.items()},
        **{f"STATUS_{status.name}": int(status) for status in Status},
    }
    for table, letter in (("integrator", "C"), ("events", "S")):
        if table in image.tables:
            wholes |= {f"AT_{letter}_{name.upper()}": image.word(table, name) for name in _FIELDS[table].split()}
    defined = [f"#define {name} {int(value)}" for name, value in wholes.items()]
    defined += [f"#define {name} {c_number(float(value))}" for name, value in reals.items()]
    cases = " ".join(f'case {int(outcome)}: return "{text}";' for outcome, text in OUTCOMES.items())
    defined.append(f"#define OUTCOMES {cases}")
    lists = {"starts": (0, *scaling.starts), "spans": (0, *scaling.spans), "tolerances": (0, *scaling.tolerances)}
    lists |= {"pointers": image.pointers}
    lists |= {"guesses": (0, *(k for name in sorted(content.system.guesses) for k in content.system.places[name]))}
    lists |= {"inputs": (0, *(() if partials is None else partials.inputs))}
    if partials is not None and partials.rows:
        lists |= {"columns_at": partials.columns, "entry_rows": partials.rows}
    arrays = [f"static const uint32_t {name}[] = {{{', '.join(map(str, values))}}};" for name, values in lists.items()]
    states = [float(len(each.states)) for each in variables if each.states] or [0.0]
    arrays.append(f"static const double mode_counts[] = {{{', '.join(map(c_number, states))}}};")
    nominal = [c_number(float(f"{size:.2g}") or 1.0) for size in run.sizes] or ["1.0"]
    arrays.append(f"static const double nominal[] = {{{', '.join(nominal)}}};")
    arrays += [_sizes(variables), _constants(variables)]
    parts = [*_PARTS, f"fmi{version}.c"]
    glue = [files("bondgraph.export.fmi").joinpath("c", part).read_text(encoding="utf-8") for part in parts]
    title = f'/* {content.name}: the model "{comment_safe(content.system.name)}", written by screwbond. */'
    text = "\n".join([title, *defined, _HEAD, externs, kernels, image_text(image, of_calls, "fmu"), *arrays, *glue])
    digest = hashlib.sha256(text.encode()).hexdigest()
    token = f"{{{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}}}"
    return f'#define TOKEN "{token}"\n#define KEY UINT64_C(0x{digest[32:48]})\n{text}', token


def _sizes(variables: Iterable[ModelVariable]) -> str:
    cases = [f"    case {each.reference()}: return {each.size};\n" for each in variables if each.size != 1]
    return (
        "static size_t size_of_reference(uint32_t reference)\n{\n    switch (reference) {\n"
        f"{''.join(cases)}    default: return 1;\n    }}\n}}\n"
    )


def _constants(variables: Iterable[ModelVariable]) -> str:
    constants = [each for each in variables if each.kind is VariableKind.PARAMETER and each.variability == "constant"]
    cases = [
        f"    case {each.first + k}: return {_c_text(f'{each.name} is a {each.description}')};\n"
        for each in constants
        for k in range(each.size)
    ]
    return (
        "static const char *why_constant(size_t parameter)\n{\n    switch (parameter) {\n"
        f"{''.join(cases)}    default: return NULL;\n    }}\n}}\n"
    )


def _c_text(text: str) -> str:
    plain = {*map(ord, " .,_"), *filter(lambda byte: chr(byte).isalnum(), range(128))}
    return f'"{"".join(chr(byte) if byte in plain else f"{chr(92)}{byte:03o}" for byte in text.encode())}"'
