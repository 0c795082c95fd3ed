"""Reactions A + 2 B <=> C in a row: mass action as products, compared with hand-written C and with exponentials of potentials.

`python -m benchmarks.reactions [--quick] [--json FILE]`
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import run_command
from benchmarks.hand_written import Disagreement, compiler
from benchmarks.timing import interleaved, machine_loop, median, processor, ratio, table
from bondgraph import J0, J1, TF, Ce, Graph, Parameter, Re, compile_model

SOURCE = Path(__file__).with_name("reactions.c")
COUNTS = (5, 50, 300, 1000)
RT = 8.314 * 310.0
AGREEMENT = 1e-12


def network(count: int, gas: Any = RT) -> Graph:
    """Return reactions in a row: S_i + 2 S_(i+2) <=> S_(i+1)."""
    graph, nodes = Graph("reactions"), [J0(f"n{i}") for i in range(count + 1)]
    for i, node in enumerate(nodes):
        graph.connect(node, Ce(f"S{i}", 1.0 + 0.1 * i, RT=gas, initial=1.0))
    for i in range(count):
        reaction, reactants, two = Re(f"r{i}", 1.0 + i, RT=gas), J1(f"j{i}"), TF(f"two{i}", 2.0, structural=True)
        graph.connect(nodes[i], reactants).connect(nodes[(i + 2) % (count + 1)], two.port("2")).connect(two.port("1"), reactants)
        graph.connect(reactants, reaction.port("1")).connect(reaction.port("2"), nodes[i + 1])
    return graph


@contextmanager
def by_hand() -> Iterator[Callable[..., Any]]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "reactions.so"
        subprocess.run([compiler(), "-O2", "-std=gnu11", "-shared", "-fPIC", "-o", str(target), str(SOURCE)], check=True)
        function = ctypes.CDLL(str(target)).reactions_many
        function.argtypes = [ctypes.c_long, ctypes.c_long, *[ctypes.c_void_p] * 5]
        function.restype = None
        yield function


def compared(count: int, rounds: int, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the seconds per right-hand side by products, exponentials and C, and their ratios to the products."""
    samples, t, m = max(1, 4000 // count), np.zeros(1), np.zeros(0)
    x = np.random.default_rng(0).uniform(0.1, 2.0, (samples, count + 1))
    found: dict[str, np.ndarray] = {}
    calls: dict[str, Callable[[], Any]] = {}
    for name, gas in (("products", RT), ("exponentials", Parameter(RT, "J/mol"))):
        compiled = compile_model(network(count, gas))
        found[name] = np.empty_like(x)
        calls[name] = machine_loop(compiled.program.rates, t, x, compiled.parameters(), m, out=found[name])
    constant, rate = 1.0 + 0.1 * np.arange(count + 1), 1.0 + np.arange(float(count))
    found["C"], active = np.empty_like(x), np.empty(count + 1)
    addresses = [array.ctypes.data for array in (x, constant, rate, active, found["C"])]
    calls["C"] = lambda: function(samples, count, *addresses)
    for call in calls.values():
        call()
    for name, out in found.items():
        worst = float(np.abs(out - found["products"]).max() / np.abs(out).max())
        if not worst <= AGREEMENT:
            raise Disagreement(f"{count} reactions: products and {name} differ by {worst:.1e}")
    seconds = interleaved(calls, rounds)
    each = {name: median(seconds[name]) / samples for name in calls}
    return {"seconds": each, **{name: ratio(seconds[name], seconds["products"]) for name in ("exponentials", "C")}}


def main(arguments: Sequence[str] | None = None) -> dict[str, Any] | None:
    return run_command(__doc__, arguments, _run)


def _run(quick: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"processor": processor(), "reactions": {}}
    with by_hand() as function:
        for count in COUNTS[:1] if quick else COUNTS:
            found["reactions"][count] = compared(count, 3 if quick else 60, function)
    shown = "{median:.2f} ({quartile 1:.2f}-{quartile 3:.2f})"
    rows = [
        (
            f"{count:,}",
            *(f"{1e9 * part['seconds'][name]:.0f}" for name in ("products", "exponentials", "C")),
            *(shown.format(**part[name]) for name in ("exponentials", "C")),
        )
        for count, part in found["reactions"].items()
    ]
    head = ("reactions", "products ns", "exponentials ns", "gcc -O2 ns", "exponentials / products", "gcc / products")
    print(table(f"right-hand side of A + 2 B <=> C in a row ({found['processor']})", head, rows))
    return found


if __name__ == "__main__":
    main()
