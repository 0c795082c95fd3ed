"""Notebook cell of a result: end of the run, states, names to plot, events and energy account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from bondgraph.output.cells import MAX_ROWS, cell, code, collapsible, items, line, table
from bondgraph.run.results.curves import Plottable
from bondgraph.run.results.energy_account import Ledger
from screws.errors import plural

_MAX_NAMES = 12


class FinishedRun(Plottable, Protocol):
    @property
    def failure(self) -> Any: ...

    @property
    def warnings(self) -> Sequence[Any]: ...

    @property
    def ledger(self) -> Ledger: ...


def result_cell(result: FinishedRun) -> str:
    if not len(result.t):
        return cell(line(result.program.name, "no samples"))
    end = "ok" if result.failure is None and not result.warnings else "in doubt" if result.failure is None else "ended early"
    span = f"{result.t[0]:g} to {result.t[-1]:g} s, {plural(len(result.t), 'sample')}, {end}"
    notes = [code(str(note)) for note in (*([result.failure] if result.failure else []), *result.warnings)]
    blocks = [line(result.program.name, span), *notes, _states(result), _quantities(result), _events(result)]
    if len(result.ledger.elements):
        blocks.append(collapsible(f"energy account, residual {result.ledger.relative_residual:.1e}", result.ledger.tables()))
    return cell(*blocks)


def _states(result: FinishedRun) -> str:
    layout, rows = result.program.layout, []
    names = [name for name in layout.names("x") if name in result]
    for name in names[: MAX_ROWS + 1]:
        course, unit = result[name], layout.unit(name)
        rows.append((name, unit, course[0], course[-1], *((course.min(), course.max()) if course.ndim == 1 else ("", ""))))
    more = [line(f"and {len(names) - len(rows)} more")] if len(names) > len(rows) else []
    return collapsible(
        f"states ({len(names)})", table(("", "unit", "start", "end", "least", "most"), rows, None), *more, is_open=len(names) < 7
    )


def _quantities(result: FinishedRun) -> str:
    layout, parts = result.program.layout, dict[str, list[str]]()
    for name in layout.names():
        if not layout[name].is_parameter and name in result:
            size = f" ({' × '.join(map(str, layout[name].shape))})" if layout[name].shape else ""
            unit = f", {layout.unit(name)}" if layout.unit(name) else ""
            part, _, rest = name.partition("." if "." in name else ":")
            parts.setdefault(part, []).append(f"{rest or part}{size}{unit}")
    count = sum(map(len, parts.values()))
    lists = (collapsible(f"{part} ({len(names)})", items(names, _MAX_NAMES)) for part, names in parts.items())
    return collapsible(f"quantities ({count}): result[name], result.plot(name)", *lists)


def _events(result: FinishedRun) -> str:
    shown = result.events.select(~result.events.internal)
    if not len(shown):
        return ""
    rows = [(f"{time:.6g} s", kind, lost) for time, kind, lost in zip(shown.times, shown.kinds, shown.lost, strict=True)]
    return collapsible(f"events ({len(shown)})", table(("time", "event", "energy lost (J)"), rows), is_open=len(shown) <= 6)
