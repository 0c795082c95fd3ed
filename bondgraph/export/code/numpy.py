"""NumPy source of a compiled model: one module that needs only NumPy, for single points and arrays of points."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bondgraph.compile.pipeline import Compilable
from bondgraph.export.code.content import BLOCKS, Content, Entry, Phrases, comment_safe, content_of, count, event_notes
from bondgraph.export.code.printer import Dialect, constant, pieces
from bondgraph.output.cells import files
from bondgraph.output.files import write_texts
from bondgraph.tape.routine import Listing


def _slice(first: str, count: int) -> str:
    array, _, index = first.rstrip("]").partition("[")
    return f"{array}[{index}:{int(index) + count}]"


NUMPY = Dialect(
    language="NumPy",
    form=lambda operation: operation.python,
    number=lambda value: constant(value, "np.nan", "np.inf"),
    value="{v} = {right}",
    condition="{v} = {right}",
    as_number="(1.0 * {c})",
    as_condition="({v} != 0.0)",
    store="{place} = {value}",
    slot="w[{}]".format,
    table=("{v} = np.array([{numbers}])", lambda v, first, count: f"{v} = {_slice(first, count)}"),
    max_unsplit=4000,
    part_size=2000,  # local arrays are freed at the end of a part
)

_RESULTS = {
    "rates": "dx/dt, (..., {states}).",
    "outputs": "All values (..., {outputs}): the values in OUTPUTS, and intermediate values.",
    "guards": "One number for each transition, (..., {guards}).",
    "powers": "Powers (..., {powers}); their integrals over a run give the energy balance.",
    "energies": "Energies of the storages (..., {energies}).",
}

_USAGE = Path(__file__).with_name("numpy_usage.txt").read_text(encoding="utf-8")
_HELPERS = Path(__file__).with_name("numpy_helpers.txt").read_text(encoding="utf-8")


@dataclass(frozen=True)
class NumPySource:
    """Python module that imports only NumPy."""

    name: str
    source: str = field(repr=False)

    def write(self, folder: str | Path) -> Path:
        """Write `name.py` to a folder, which is created if needed, and return its path. Writing is atomic (E413)."""
        (path,) = write_texts(folder, {f"{self.name}.py": self.source})
        return path

    def _repr_html_(self) -> str:
        return files(self.name, {f"{self.name}.py": self.source})


_PHRASES = Phrases(
    first=0,
    mode="m[slot] becomes target; TRANSITIONS[k] is (slot, source, target)",
    reset="reset(k, t, x, p, m)",
    push="If push(k, t, x, p, m) is not None,",
    parts="It contains the numbers that the impulse adds to the guards, and the states without the impulse.",
    times="p[offset] + i p[period], i = 0, 1, ..., with (offset, period) in CLOCKS[k] (one tick if the period is None)",
    tick="tick(k, t, x, p, m)",
    loop="loop(k, t, x, p, m)",
)


def numpy_source(model: Compilable, name: str | None = None) -> NumPySource:
    """Return NumPy source of a model: the compiled routines as a plain Python module, with the same operations in the same order.

    It has `prepare`, `rates`, `jacobian`, `outputs`, `guards`, `powers` and `energies`, `reset` and `push` of transitions,
    `tick` of clocks and `loop` of nonlinear algebraic loops, the start `x0`, `p0`, `m0`, and tables of the user's names. Every
    function takes one point, or an array of points, with the values of a point along the last axis.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    name : name of the module, an identifier; the model's name by default.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E270 if `name` is not an identifier or is
    reserved, E271 if an operation has no form in NumPy, E262 if no solution of an algebraic loop is found at the start.
    """
    content = content_of(model, name, "numpy_source")
    return NumPySource(content.name, _source(content))


def _source(content: Content) -> str:
    start, lengths = content.start, {word: count(entries) for word, entries in content.tables.items()}
    parts = [
        '"""' + "\n".join(_usage(content)) + '\n"""\n',
        "from typing import NamedTuple\n",
        f"import numpy as np\n\n{_HELPERS}\n",
    ]
    parts += [_table(word.upper(), entries) for word, entries in content.tables.items()]
    transitions = [f"({event.slot}, {event.source}, {event.target})" for event in content.system.events]
    parts.append(_tuple("TRANSITIONS", transitions))
    parts.append(_tuple("CLOCKS", [f"({tick.offset}, {tick.period})" for tick in content.ticks]))
    parts += [_array(f"{letter}0", numbers.tolist()) for letter, numbers in (("x", start.x), ("p", start.p), ("m", start.m))]
    parts.append(f"\n{_prepare(content)}")
    parts += [_function(word, content.routines[word], meaning.format(**lengths)) for word, meaning in _RESULTS.items()]
    parts.append(_jacobian(content))
    n, k = lengths["states"], lengths["guards"]
    same = "    if k not in _RESET:\n        return np.array(x, dtype=float)"
    parts.append(_numbered("reset", content.resets, f"x after transition k, (..., {n}).", same))
    if content.pushes:
        meaning = f"Changes of guards (..., {k}) by the impulse of transition k, and x without it (..., {n}); None without one."
        none = "    if k not in _PUSH:\n        return None"
        parts.append(_numbered("push", content.pushes, meaning, none, f"[..., :{k}]", f"[..., {k}:]"))
    if content.ticks:
        ticks = {k: tick.routine for k, tick in enumerate(content.ticks)}
        parts.append(_numbered("tick", ticks, f"x after a tick of clock k, (..., {n})."))
    if content.loops:
        meaning = "Residuals of loop k, then a Newton step for the states that follow its solution."
        parts.append(_numbered("loop", {k: steps for k, (_, steps) in enumerate(content.loops)}, meaning))
    return "\n".join(parts)


def _usage(content: Content) -> list[str]:
    usage = _USAGE.format(n=content.name, model=comment_safe(content.system.name)).splitlines()
    return [*usage, *event_notes(content, _PHRASES)]


def _table(name: str, entries: Sequence[Entry]) -> str:
    named = {e.identifier: (e.name, e.start, e.shape, e.unit, e.remark.lstrip(",;: ")) for e in entries if e.identifier}
    lines = [f"    {identifier!r}: Place{row!r}," for identifier, row in named.items()]
    return "\n".join([f"{name} = {{", *lines, "}"])


def _tuple(name: str, items: Sequence[str]) -> str:
    return "\n".join([f"{name} = (", *(f"    {item}," for item in items), ")"])


def _array(name: str, numbers: Sequence[float], kind: str = "float") -> str:
    lines = textwrap.wrap(", ".join(map(repr, numbers)), 120)
    return "\n".join([f"{name} = np.array([", *(f"    {line}" for line in lines), f"], dtype={kind})"])


def _parts(name: str, steps: Listing, blocks: Sequence[str] = BLOCKS) -> tuple[str, str]:
    bodies, slot_count = pieces(NUMPY, steps, lambda b, k: "t" if blocks[b] == "t" else f"{blocks[b]}[{k}]", "out[{}]".format)
    texts = [
        "\n".join([f"def _{name}_{k}(t, x, p, m, out, w):", *(f"    {line}" for line in body or ["pass"]), "\n"])
        for k, body in enumerate(bodies)
    ]
    calls = "".join(f"_{name}_{k}, " for k in range(len(bodies)))
    return "\n".join(texts), f"({calls.strip()}), {len(steps.outputs)}, {slot_count}"


def _function(name: str, steps: Listing, meaning: str) -> str:
    texts, run = _parts(name, steps)
    return f'{texts}\ndef {name}(t, x, p, m):\n    """{meaning}"""\n    return _run({run}, t, x, p, m)\n\n'


def _prepare(content: Content) -> str:
    length = count(content.p)
    texts, run = _parts("prepare", content.routines["prepare"], ("p",))
    lines = [
        "def prepare(p):",
        f'    """Your parameters (..., {length}) and the values derived from them, (..., {length + content.added_count})."""',
        f"    added = _run({run}, 0.0, (), p, ())",
        "    return np.concatenate([np.asarray(p, dtype=float), added], axis=-1)\n\n",
    ]
    return "\n".join([texts, *lines])


def _jacobian(content: Content) -> str:
    n, (columns, rows) = count(content.x), content.pattern
    texts, run = _parts("jacobian", content.routines["jacobian"])
    spread = [column for column in range(n) for _ in range(int(columns[column]), int(columns[column + 1]))]
    lines = [
        _array("_ROWS", rows.tolist(), "int"),
        _array("_COLUMNS", spread, "int"),
        "\n",
        "def jacobian(t, x, p, m):",
        f'    """d rates / d x, (..., {n}, {n})."""',
        f"    values = _run({run}, t, x, p, m)",
        f"    out = np.zeros((*values.shape[:-1], {n}, {n}))",
        "    out[..., _ROWS, _COLUMNS] = values",
        "    return out\n\n",
    ]
    return "\n".join([texts, *lines])


def _numbered(name: str, routines: Mapping[int, Listing], meaning: str, otherwise: str = "", *halves: str) -> str:
    parts = {k: _parts(f"{name}_{k}", steps) for k, steps in routines.items()}
    table = [f"_{name.upper()} = {{", *(f"    {k}: ({how})," for k, (_, how) in parts.items()), "}\n\n"]
    head = [f"def {name}(k, t, x, p, m):", f'    """{meaning}"""', *filter(None, [otherwise])]
    run = f"_run(*_{name.upper()}[k], t, x, p, m)"
    tail = [f"    both = {run}", f"    return {', '.join(f'both{half}' for half in halves)}"] if halves else [f"    return {run}"]
    return "\n".join([*(text for text, _ in parts.values()), *table, *head, *tail, "\n"])
