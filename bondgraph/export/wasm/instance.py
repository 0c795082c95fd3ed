"""A run as WebAssembly: solver, model and image, with the data that a script needs to run them and read the samples."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from bondgraph.compile.kernels import native_texts
from bondgraph.emit.llvm import routines_text
from bondgraph.export.code.content import count
from bondgraph.export.run.source import OUTCOMES, RETURNED, RunContent
from bondgraph.export.wasm.module import (
    INTERPRETER,
    SOLVER_PROCEDURES,
    constants,
    model_module,
    multiply_add_modules,
    solver_module,
    workspaces,
)
from bondgraph.run.events.log import SCALARS, RowLayout
from bondgraph.run.program.names import Slot
from bondgraph.run.status import Status
from bondgraph.tape.routine import select_outputs

STACK = 1 << 20
"""Size of the stack without large workspaces, bytes; the image of the run follows it."""
DIGITS = "".join(chr(code) for code in range(33, 127) if chr(code) not in '"\\<')
BASE = len(DIGITS)
"""Base of packed bytes; the digits are printable characters that need no escapes in a script or in JSON."""
_SHOWN = "shown"
_SOURCES = {"x": "states", "m": "modes", "out": "outputs", "p": "parameters"}


@dataclass(frozen=True, eq=False)
class Instance:
    """Run as WebAssembly.

    Parameters
    ----------
    solver, model : WebAssembly modules.
    image : words of the run (words,), with addresses and indices of functions.
    facts : other data for the script: numbers, words of the image, columns.
    """

    solver: bytes
    model: bytes
    image: np.ndarray
    facts: Mapping[str, Any]

    def text(self, more: Mapping[str, Any]) -> str:
        instruction, sums = multiply_add_modules()
        binaries = {
            "instruction": instruction,
            "sums": sums,
            "solver": self.solver,
            "model": self.model,
            "image": _sparse(self.image),
        }
        return page_json({**self.facts, **more, **{name: packed_text(content) for name, content in binaries.items()}})


def _sparse(words: np.ndarray) -> bytes:
    """Return the distances between nonzero words, then these words. Each list is stored as the first bytes of all entries,
    then their second bytes, and so on, which compresses better."""
    places = np.flatnonzero(words)
    steps = np.diff(places, prepend=0).astype("<u4")
    return b"".join(each.view(np.uint8).reshape(len(places), -1).T.tobytes() for each in (steps, words[places].astype("<u8")))


def page_json(content: Any) -> str:
    """Return JSON that is safe in a page: no name can end a script or begin a comment."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def packed_text(content: bytes) -> str:
    """Return bytes as text that needs no escapes: compressed by zlib, with two digits in base `BASE` for 13 bits, and a single
    digit for up to six bits at the end."""
    bits = np.unpackbits(np.frombuffer(zlib.compress(content, 9), dtype=np.uint8))
    rest = len(bits) % 13
    bits = np.concatenate([bits, np.zeros(-len(bits) % 13, dtype=np.uint8)])
    values = bits.reshape(-1, 13) @ (1 << np.arange(12, -1, -1))
    digits = np.stack(np.divmod(values, BASE), axis=1).reshape(-1)
    if 0 < rest <= 6:
        digits = np.append(digits[:-2], values[-1] >> 7)
    return "".join(DIGITS[digit] for digit in digits.tolist())


def script() -> str:
    """Return the JavaScript that runs an instance (`simulator`) and sets its parameters (`addSliders`)."""
    return page_part("run.js") + page_part("sliders.js")


def page_part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def instance_of(run: RunContent, shown: Sequence[Slot]) -> Instance:
    """Return WebAssembly that performs a run and outputs these slots of states, modes and outputs, one column for each number."""
    places = [k for slot in shown if slot.is_output for k in range(slot.start, slot.stop)]
    names = list(dict.fromkeys(name for _, name in run.image.calls))
    code = run.content.code
    kernels = [name for name in code if name in names or (name == "prepare" and code[name].outputs)]
    kernels += [name for name in names if name.startswith(INTERPRETER)]
    texts = native_texts(code)
    if places:
        texts.append(routines_text([select_outputs(code["outputs"].reference, _SHOWN, places)], fused=False))
        kernels.append(_SHOWN)
    stack = STACK + -(-workspaces(texts) // 64) * 64
    row = RowLayout.of(run.program)
    facts = {
        "stack": stack,
        "calls": names,
        "columns": _columns(shown),
        "shown": len(places),
        "prepares": "prepare" in kernels,
        "parameters": count(run.content.p),
        "width": run.program.states + row.powers,
        "modes": run.program.modes,
        "events": run.has_events,
        "at": _words(run),
        "times": _times(run.times),
        "dates": _times(run.dates),
        "begin": SOLVER_PROCEDURES[0],
        "advance": SOLVER_PROCEDURES[2 if run.has_events else 1],
        "done": int(Status.STOP),
        "pause": int(Status.PAUSE),
        "log_full": int(Status.LOG_FULL),
        "not_started": RETURNED["NOT_STARTED"][1],
        "endings": {int(status): text for status, text in RETURNED.values()},
        "event": {"width": row.width, **{name: SCALARS.index(name) for name in ("time", "transition")}, **_starts(row)},
        "transitions": [edge.name for edge in run.program.transitions],
        "outcomes": {int(outcome): text for outcome, text in OUTCOMES.items()},
    }
    words, facts["tables"] = _with_tables(_linked(run, names, stack), constants(texts), stack)
    return Instance(solver_module(run.method), model_module(texts, kernels), words, {**facts, "words": len(words)})


def _starts(row: RowLayout) -> dict[str, int]:
    sides = {"x_before": row.x_before, "x_after": row.x_after, "m_before": row.m_before, "m_after": row.m_after}
    return {name: side.start for name, side in sides.items()}


def _columns(shown: Sequence[Slot]) -> list[tuple[str, int]]:
    columns, outputs = list[tuple[str, int]](), 0
    for slot in shown:
        first = outputs if slot.is_output else slot.start
        columns += [(_SOURCES[slot.block], first + k) for k in range(slot.size)]
        outputs += slot.size if slot.is_output else 0
    return columns


def _words(run: RunContent) -> dict[str, int]:
    image, words = run.image, {"table": run.image.tables["integrator"][0], **run.image.arrays}
    fields = {"integrator": ("steps", "t", "written", "budget", "tried"), "events": ()}
    fields["events"] = ("all_held", "held_rows", "logged", "log", "events_left", "outcome", "suspect") if run.has_events else ()
    words |= {field: image.word(table, field) for table, names in fields.items() for field in names}
    return words | {"held": image.word("integrator", "m")}


def _times(times: np.ndarray) -> dict[str, Any]:
    count = len(times)
    for step in (float(times[1] - times[0]), float(times[-1]) / (count - 1)) if count > 1 else ():
        if np.array_equal(times[:-1], step * np.arange(count - 1)):
            return {"count": count, "step": step, "end": float(times[-1])}
    return {"count": count, "packed": packed_text(times.tobytes())}


def _linked(run: RunContent, names: Sequence[str], stack: int) -> np.ndarray:
    """Return the words of the image with addresses after the stack, and with the functions' indices in the table, from 1."""
    words = run.image.words.copy()
    for word, target in run.image.places:
        words[word] = stack + 8 * target
    for word, name in run.image.calls:
        words[word] = names.index(name) + 1
    return words


def _with_tables(words: np.ndarray, tables: Mapping[str, bytes], stack: int) -> tuple[np.ndarray, dict[str, int]]:
    addresses, parts = dict[str, int](), [words]
    for name, content in tables.items():
        addresses[name] = stack + 8 * sum(map(len, parts))
        parts.append(np.frombuffer(content + bytes(-len(content) % 8), dtype=np.uint64))
    return np.concatenate(parts), addresses
