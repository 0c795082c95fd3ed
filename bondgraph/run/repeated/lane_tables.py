"""Room for runs side by side: the tables of as many runs alone, and kernels in lanes, in; the table of their loop out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bondgraph.emit.kernel import LaneKernels, aligned_zeros
from bondgraph.run.integrators.explicit import dop853
from bondgraph.run.integrators.explicit.lanes import COMPONENTS, DRIVER, FIELDS, SUMS
from bondgraph.run.table import FieldTable


def lane_table(kernels: LaneKernels, own: Sequence[FieldTable], parameters: int, modes: int, samples: int) -> FieldTable:
    """What `side_by_side` takes besides the table of `loop`: `own` are the integrators' tables of the lanes."""
    table, lanes, first = FieldTable(FIELDS), kernels.lanes, own[0]
    width, library = int(first["width"]), dop853.machine_code()
    lengths = {name: count * width for name, count in COMPONENTS.items()} | dict.fromkeys(SUMS, 1)
    lengths |= {"p": parameters, "m": modes}
    for name, length in lengths.items():
        table.point(name, aligned_zeros(length * lanes))
    table.arrays["rows"] = np.empty((lanes, samples, width))
    blocks = [table.arrays["rows"][lane] for lane in range(lanes)]
    addresses = {"tables": [each.address for each in own], "row_blocks": [block.ctypes.data for block in blocks]}
    for name, places in addresses.items():
        table.point(name, np.array(places, dtype=np.uint64))
    for name in ("runs", "stiff", "taken"):
        table.point(name, np.zeros(lanes, dtype=np.int64))
    for name in ("rates", "powers", "rates_and_powers"):
        table.point(name, kernels.addresses.get(name, 0))
    for name in DRIVER:
        table.point(name, library.address(name))
    for name in ("n", "width", "quadratures", "watch", "origin", "rtol"):
        table[name] = first[name]
    return table
