"""Plots of quantities of a result over time with Matplotlib."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from bondgraph.errors import refusal
from bondgraph.output.plot_style import CYCLE, DASHES, INK, MAX_PANELS, TINTS, axis_label, legend_beside, panels, widen_flat_range
from bondgraph.run.events.records import Events
from bondgraph.run.program import Program
from screws.errors import plural


class Plottable(Protocol):
    @property
    def program(self) -> Program: ...

    @property
    def t(self) -> np.ndarray: ...

    @property
    def events(self) -> Events: ...

    def __getitem__(self, name: str) -> np.ndarray: ...

    def __contains__(self, name: object) -> bool: ...


def curves(result: Plottable, names: Sequence[str | Sequence[str]], axes: Any = None) -> np.ndarray:
    chosen = names_by_panel(result, names)
    with panels(len(chosen), axes, "quantity", result.program.name) as panel_axes:
        for several, each in zip(chosen, panel_axes, strict=True):
            _panel(result, several, each, with_modes=each is panel_axes[0])
        panel_axes[-1].set_xlabel("time (s)")
    return panel_axes


def names_by_panel(result: Plottable, names: Sequence[str | Sequence[str]]) -> list[tuple[str, ...]]:
    return [_names(result.program.name, several) for several in names or _states(result)]


def _names(model: str, several: Any) -> tuple[str, ...]:
    names = (several,) if isinstance(several, str) else tuple(several) if isinstance(several, Iterable) else (None,)
    if not all(isinstance(name, str) for name in names):
        cure = 'plot("spring.q", ("mass.flow", "damper.flow")), with a name or several names for each panel'
        raise refusal("E150", f"a panel cannot show {several!r}", cure, about=model)
    return names


def _states(result: Plottable) -> Sequence[str]:
    layout = result.program.layout
    names = {(slot.start, slot.stop): name for name, slot in reversed(list(layout.slots.items())) if slot.is_state}
    states = [names[key] for key in sorted(names) if names[key] in layout.names("x")]
    if not 0 < len(states) <= MAX_PANELS:
        title = f"name the quantities to plot: the model has {plural(len(states), 'state')}"
        cure = 'some quantities by name: result.plot("mass.flow", "spring.effort"); result.names() lists them all'
        raise refusal("E560", title, cure, about=result.program.name)
    return states


def _panel(result: Plottable, names: Sequence[str], axes: Any, with_modes: bool) -> None:
    units, count = [], 0
    for name in names:
        slot = result.program.layout[name]
        values = np.broadcast_to(result[name], (len(result.t), *slot.shape)) if slot.is_parameter else result[name]
        units.append(result.program.layout.unit(name))
        for indices in np.ndindex(*slot.shape):
            label = f"{name}[{', '.join(map(str, indices))}]" if slot.shape else name
            # Quantities that jump are plotted as steps, not as slopes between two samples.
            steps = "steps-post" if slot.is_mode else None
            dashes = DASHES[count // len(CYCLE) % len(DASHES)]  # curves that repeat a colour differ by their dashes
            axes.plot(result.t, values[(slice(None), *indices)], label=label, drawstyle=steps, linestyle=dashes)
            count += 1
    for name in names if len(names) == 1 else ():
        if name.removesuffix(".mode") in result.program.mode_states:
            states = result.program.mode_states[name.removesuffix(".mode")]
            axes.set_yticks(range(len(states)), states)
    title = names[0] if len(names) == 1 else ", ".join(names) if len(", ".join(names)) < 30 else ""
    axes.set_ylabel(axis_label(title, "; ".join(dict.fromkeys(filter(None, units)))))
    axes.set_xlim(result.t[0], result.t[-1])
    axes.margins(y=0.08)
    widen_flat_range(axes)
    shaded = _modes(result, axes) and with_modes
    times = result.events.times[~result.events.internal]
    axes.vlines(times, 0.94, 1.0, color=INK, linewidth=1.1, transform=axes.get_xaxis_transform())
    handles, labels = axes.get_legend_handles_labels()
    shown = [k for k in range(len(labels)) if (1 < count <= MAX_PANELS if k < count else shaded)]
    if shown:
        chosen = [handles[k] for k in shown], [labels[k] for k in shown]
        legend_beside(axes, *chosen)


def _modes(result: Plottable, axes: Any) -> bool:
    internal = {transition.name for transition in result.program.transitions if transition.internal}
    shaded = False
    for name, states in result.program.mode_states.items():
        if f"{name}.mode" not in result:
            continue
        modes = result[f"{name}.mode"].astype(int)
        if name in internal or not np.any(modes != modes[0]):
            continue
        changes = [0, *(np.flatnonzero(np.diff(modes)) + 1), len(modes)]
        labelled: set[int] = set()
        for begin, end in itertools.pairwise(changes):
            mode = int(modes[begin])
            if mode != modes[0]:
                until = result.t[min(end, len(modes) - 1)]
                label = None if mode in labelled else f"{name}: {states[mode]}"
                axes.axvspan(result.t[begin], until, color=_shade(result, name, mode), alpha=0.35, lw=0, zorder=0, label=label)
                labelled.add(mode)
        shaded = True
    return shaded


def _shade(result: Plottable, name: str, mode: int) -> str:
    return TINTS[(list(result.program.mode_states).index(name) + mode - 1) % len(TINTS)]
