"""Compare the voltages of all test circuits, at the start and end of a run, with those of ngspice 39 and the installed ngspice.

`python -m campaigns.netlists` exits with 1 if a voltage has a relative difference of more than 1e-5.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from screwbond.models.netlist import parse_netlist

from bondgraph import compile_model
from tests.models.netlist.circuits import CIRCUITS, RESTING

NEAR = 1e-5
"""Largest relative difference of a voltage, as in the tests."""
_OPTIONS = ".options reltol=1e-7 abstol=1e-15 vntol=1e-10 method=gear itl1=500"


def of_ngspice(text: str, end: float, nodes: Sequence[str], uic: bool) -> dict[str, tuple[float, float]]:
    """Return the voltages of nodes at the start and the end of a run by ngspice; {} if the run does not reach the end."""
    step = end / 40_000
    names = " ".join(f"v({node})" for node in nodes)
    run = f".tran {step} {end} 0 {step}{' uic' if uic else ''}"
    control = f".control\nset numdgt=14\nset wr_singlescale\nrun\nwrdata out.txt {names}\n.endc\n.end\n"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "circuit.cir").write_text("\n".join([text, _OPTIONS, run, control]))
        subprocess.run(["ngspice", "-b", "circuit.cir"], cwd=folder, capture_output=True, check=False, timeout=600)
        out = Path(folder) / "out.txt"
        rows = [[float(number) for number in row.split()] for row in out.read_text().splitlines()] if out.is_file() else []
    if not rows or abs(rows[-1][0] - end) > step:
        return {}
    return {node: (rows[0][k], rows[-1][k]) for k, node in enumerate(nodes, start=1)}


def of_graph(text: str, end: float, nodes: Sequence[str], uic: bool) -> dict[str, tuple[float, float]]:
    result = compile_model(parse_netlist(text, uic=uic)).simulate(end, samples=[0.0, end], rtol=1e-9)
    return {node: (result[f"node {node}.effort"][0], result[f"node {node}.effort"][-1]) for node in nodes}


def main() -> int:
    circuits = [(name, text, end, {node: (None, v) for node, v in ends.items()}) for name, (text, end, ends) in CIRCUITS.items()]
    circuits += [(name, text, end, dict(voltages)) for name, (text, end, voltages) in RESTING.items()]
    failed = 0
    for name, text, end, stored in circuits:
        uic = name in CIRCUITS
        here = of_graph(text, end, list(stored), uic)
        there = of_ngspice(text, end, list(stored), uic) if shutil.which("ngspice") else {}
        if uic:  # the first point of ngspice comes after a step
            there = {node: (None, voltage) for node, (_, voltage) in there.items()}
        for node, voltages in here.items():
            pairs = [pair for other in (stored, there) if node in other for pair in zip(voltages, other[node], strict=True)]
            errors = [abs(one - other) / (abs(other) + 1e-9) for one, other in pairs if other is not None]
            failed += max(errors) > NEAR
            compared = f"differs by up to {max(errors):.1e} from {len(errors)} ngspice values"
            print(f"{name}, {node}: {voltages[0]:.9g} V, {voltages[1]:.9g} V, {compared}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
