"""Layout of the complementarity problems of dry friction in the table of event handling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from bondgraph.assembly.system import BoxLayout
from bondgraph.run.program import RunTransition


@dataclass(frozen=True)
class BoxArrays:
    layouts: Sequence[BoxLayout]
    edges: Sequence[RunTransition]

    @cached_property
    def room(self) -> int:
        return max((layout.count for layout in self.layouts), default=0)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        width = sum(len(layout.entries) + 4 * layout.count for layout in self.layouts)
        return {"boxes": len(self.layouts), "box_room": self.room, "box_width": width}

    @cached_property
    def integers(self) -> Mapping[str, list[int]]:
        layouts = self.layouts
        of_friction = {slot for layout in layouts for slot in layout.slots}
        pairs = list(chain.from_iterable(layout.entries for layout in layouts))
        return {
            "box_counts": [layout.count for layout in layouts],
            "box_entries": [len(layout.entries) for layout in layouts],
            "box_rows": [i for i, _ in pairs],
            "box_columns": [j for _, j in pairs],
            "box_gated": [int(gated) for layout in layouts for gated in layout.gated],
            "box_slots": list(chain.from_iterable(layout.slots for layout in layouts)),
            "boxed": [int(edge.slot in of_friction and edge.error is None) for edge in self.edges],
        }

    @cached_property
    def reals(self) -> Mapping[str, list[float]]:
        names = {"box_sticks": "sticks", "box_lows": "lows", "box_highs": "highs"}
        return {
            field: [float(mode) for layout in self.layouts for mode in getattr(layout, name)] for field, name in names.items()
        }
