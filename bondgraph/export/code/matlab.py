"""MATLAB source of a compiled model: a package folder of functions, which Octave runs, too."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bondgraph.compile.pipeline import Compilable
from bondgraph.errors import FixedEntries
from bondgraph.export.code.content import BLOCKS, Content, Phrases, comment_safe, content_of, count, event_notes
from bondgraph.export.code.printer import Dialect, constant, pieces
from bondgraph.output.cells import files
from bondgraph.output.files import write_texts
from bondgraph.tape.routine import Listing
from screws.errors import plural


def _range(first: str, count: int) -> str:
    array, _, index = first.rstrip(")").partition("(")
    return f"{array}({index}:{int(index) + count - 1})"


MATLAB = Dialect(
    language="MATLAB",
    form=lambda operation: operation.matlab,
    number=lambda value: constant(value, "NaN", "Inf"),
    value="{v} = {right};",
    condition="{v} = {right};",
    as_number="double({c})",
    as_condition="({v} ~= 0)",
    store="{place} = {value};",
    slot=lambda k: f"w({k + 1})",
    table=("{v} = [{numbers}];", lambda v, first, count: f"{v} = {_range(first, count)};"),
    max_unsplit=2000,
    part_size=1000,
    continued=" ...",  # within brackets, a line break starts a new row
)

_USAGE = Path(__file__).with_name("matlab_usage.txt").read_text(encoding="utf-8")
_RESULTS = {
    "rates": "dx/dt, {states} numbers.",
    "outputs": "All values, {outputs} numbers: the values in names().outputs, and intermediate values.",
    "guards": "One number for each of {guards} transitions.",
    "powers": "Powers of {powers} elements; their integrals over a run give the energy balance.",
    "energies": "Energies of {energies} storages.",
}
_ALWAYS_WRITTEN = ("Contents", "start", "names", "prepare", *_RESULTS, "jacobian", "resets")
_OPTIONAL = ("transitions", "push", "tick", "clocks", "loop")
_FILES = frozenset(f"{name}.m" for name in (*_ALWAYS_WRITTEN, *_OPTIONAL))


@dataclass(frozen=True)
class MatlabSource:
    """Package of functions: the source of each file by its name."""

    name: str
    files: Mapping[str, str] = field(repr=False)

    def write(self, folder: str | Path) -> Path:
        """Write the package `+name` into a folder, which is created if needed, and return its path. Either all files are
        written, or none is (E413)."""
        package = Path(folder) / f"+{self.name}"
        write_texts(package, self.files, _FILES)
        return package

    def _repr_html_(self) -> str:
        return files(self.name, self.files)


def matlab_source(model: Compilable, name: str | None = None) -> MatlabSource:
    """Return MATLAB source of a model: the compiled routines, with the same operations in the same order; Octave runs it, too.

    The package has `start` and `names`, `prepare`, `rates`, `jacobian` (sparse), `outputs`, `guards`, `powers` and `energies`,
    `resets` and `push` of `transitions`, `tick` of `clocks` and `loop` of nonlinear algebraic loops. Vectors are columns, and
    transitions, clocks and loops are counted from 1: `ode45(@(t, x) servo.rates(t, x, p, m), ...)`.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : name of the package, an identifier; the model's name by default.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E270 if `name` is not an identifier or is
    reserved, E271 if an operation has no form in MATLAB, E262 if no solution of an algebraic loop is found at the start.
    """
    content = content_of(model, name, "matlab_source")
    return MatlabSource(content.name, FixedEntries({f"{name}.m": text for name, text in _functions(content).items()}))


def _functions(content: Content) -> dict[str, str]:
    lengths = {word: count(entries) for word, entries in content.tables.items()}
    files = {"Contents": _contents(content), "start": _start(content), "names": _names(content), "prepare": _prepare(content)}
    for word, meaning in _RESULTS.items():
        files[word] = _routine(word, content.routines[word], meaning.format(**lengths))
    files["jacobian"] = _jacobian(content)
    same = "x after transition k; x itself if the transition does not change it."
    files["resets"] = _numbered("resets", content.resets, same, "out = x(:);")
    if content.system.events:
        edges = [(e.slot + 1, e.source, e.target) for e in content.system.events]
        files["transitions"] = _matrix("transitions", "Rows (index in m, mode before, mode after).", edges)
    if content.pushes:
        changes = f"Changes of {plural(lengths['guards'], 'guard')} by the impulse of transition k"
        meaning = f"{changes}, then x without it; [] without an impulse."
        files["push"] = _numbered("push", content.pushes, meaning, "out = [];")
    if content.ticks:
        ticks = {k: tick.routine for k, tick in enumerate(content.ticks)}
        files["tick"] = _numbered("tick", ticks, "x after a tick of clock k.", "error('there is no clock %d', k);")
        clock_rows = [(tick.offset + 1, "NaN" if tick.period is None else tick.period + 1) for tick in content.ticks]
        files["clocks"] = _matrix("clocks", "Rows (index of the offset in p, index of the period in p or NaN).", clock_rows)
    if content.loops:
        meaning = "Residuals of algebraic loop k, then a Newton step for the states that follow its solution."
        loops = {k: steps for k, (_, steps) in enumerate(content.loops)}
        files["loop"] = _numbered("loop", loops, meaning, "error('there is no loop %d', k);")
    return files


def _contents(content: Content) -> str:
    n = content.name
    phrases = Phrases(
        first=1,
        mode="m(slot) becomes target; row k of transitions() is [slot, source, target]",
        reset="resets(k, t, x, p, m)",
        push="If push(k, t, x, p, m) is not empty,",
        parts="It contains the numbers that the impulse adds to the guards, then the states without the impulse.",
        times="p(offset) + i p(period), i = 0, 1, ... with [offset, period] in row k of clocks() (one tick if the period is NaN)",
        tick="tick(k, t, x, p, m)",
        loop="loop(k, t, x, p, m)",
    )
    usage = _USAGE.format(n=n, model=comment_safe(content.system.name)).splitlines()
    return "".join(f"% {line}".rstrip() + "\n" for line in (*usage, *event_notes(content, phrases)))


def _start(content: Content) -> str:
    start = content.start
    vectors = [_vector(f"{letter}0", numbers.tolist()) for letter, numbers in (("x", start.x), ("p", start.p), ("m", start.m))]
    return _text("[x0, p0, m0] = start()", "States, parameters and modes at the start.", vectors)


def _vector(name: str, numbers: Sequence[float]) -> str:
    if not numbers:
        return f"{name} = zeros(0, 1);"
    lines = textwrap.wrap("; ".join(map(MATLAB.number, numbers)), 110)
    return f"{name} = [ ...\n    " + " ...\n    ".join(lines) + "];"


def _names(content: Content) -> str:
    meaning = "Meaning of the entries of each array: name, places, shape (row by row), unit and remark by identifier."
    lines = []
    for word, entries in content.tables.items():
        lines.append(f"out.{word} = struct();")
        for e in entries:
            if e.identifier:
                name, unit, remark = map(_quoted, (e.name, e.unit, e.remark.lstrip(",;: ")))
                range_text = f"{e.start + 1}:{e.start + e.size}, [{' '.join(map(str, e.shape))}]"
                lines.append(f"out.{word}.{e.identifier} = one({name}, {range_text}, {unit}, {remark});")
    fields = "'name', name, 'places', places, 'shape', shape, 'unit', unit, 'remark', remark"
    helper = f"function out = one(name, places, shape, unit, remark)\n    out = struct({fields});\nend\n"
    return _text("out = names()", meaning, lines) + "\n" + helper


def _quoted(words: str) -> str:
    return "'" + " ".join(words.replace("'", "''").split()) + "'"


def _matrix(name: str, meaning: str, rows: Sequence[tuple[object, ...]]) -> str:
    lines = ["out = [", *(f"    {' '.join(map(str, row))}" for row in rows), "];"]
    return _text(f"out = {name}()", meaning, lines)


def _text(signature: str, meaning: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines).split("\n")
    return "\n".join([f"function {signature}", f"    % {meaning}", *(f"    {line}".rstrip() for line in body), "end", ""])


def _parts(name: str, steps: Listing, blocks: Sequence[str] = BLOCKS) -> tuple[list[str], list[str]]:
    bodies, slot_count = pieces(
        MATLAB, steps, lambda b, k: "t" if blocks[b] == "t" else f"{blocks[b]}({k + 1})", lambda k: f"out({k + 1})"
    )
    arguments = ", ".join(blocks)
    if len(bodies) == 1:
        return [], bodies[0]
    texts, calls = [], [f"w = zeros({max(slot_count, 1)}, 1);"]
    for k, body in enumerate(bodies):
        signature = f"[out, w] = {name}_steps_{k + 1}({arguments}, out, w)"
        texts.append(_text(signature, f"Part {k + 1} of {len(bodies)}.", body))
        calls.append(f"{signature};")
    return texts, calls


def _routine(name: str, steps: Listing, meaning: str, blocks: Sequence[str] = BLOCKS, after: Sequence[str] = ()) -> str:
    texts, calls = _parts(name, steps, blocks)
    head = _text(f"out = {name}({', '.join(blocks)})", meaning, [f"out = zeros({len(steps.outputs)}, 1);", *calls, *after])
    return "\n".join([head, *texts])


def _prepare(content: Content) -> str:
    p_count = count(content.p)
    size = plural(p_count + content.added_count, "number")
    meaning = f"Your {plural(p_count, 'parameter')} and the values derived from them, {size}."
    after = [f"out = [reshape(p(1:{p_count}), {p_count}, 1); out];"]
    return _routine("prepare", content.routines["prepare"], meaning, ("p",), after)


def _jacobian(content: Content) -> str:
    n, (columns, rows) = count(content.x), content.pattern
    spread = [column + 1 for column in range(n) for _ in range(int(columns[column]), int(columns[column + 1]))]
    after = [
        _vector("rows", [row + 1 for row in rows.tolist()]),
        _vector("columns", spread),
        f"out = sparse(rows, columns, out, {n}, {n});",
    ]
    return _routine("jacobian", content.routines["jacobian"], f"d rates / d x, a sparse matrix of {n} rows.", BLOCKS, after)


def _numbered(name: str, routines: Mapping[int, Listing], meaning: str, otherwise: str) -> str:
    texts, lines = [], ["switch k"]
    for k, steps in routines.items():
        functions, calls = _parts(f"{name}_{k + 1}", steps)
        texts += functions
        lines += [f"    case {k + 1}", *(f"        {line}" for line in [f"out = zeros({len(steps.outputs)}, 1);", *calls])]
    lines += ["    otherwise", f"        {otherwise}", "end"]
    return "\n".join([_text(f"out = {name}(k, {', '.join(BLOCKS)})", meaning, lines), *texts])
