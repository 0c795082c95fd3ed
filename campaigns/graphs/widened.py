"""Random graphs from `drawn` with further elements and features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bondgraph import (
    GY,
    IC,
    J0,
    J1,
    TF,
    Automaton,
    Ce,
    Element,
    Graph,
    ModelError,
    R,
    Re,
    Transition,
    assign_causality,
    by_mode,
    multiport,
    signals,
)
from bondgraph.model.laws import Parameter
from campaigns.graphs.drawn import Curved, Draw, Rigid, Switched, consistent
from campaigns.graphs.rewritten import boxed, nested
from screws.scalars import cos

FEATURES = ("ic", "field", "reaction", "nested", "sampled", "instant", "ratio")
"""Further features of a graph; "instant" stands for several events at one instant, "ratio" for numbers that depend on a mode."""
INSTANT = 0.05
BASES = {"any": Draw, "rigid": Rigid, "switched": Switched, "curved": Curved}


@dataclass(frozen=True)
class Drawn:
    """Random graph, the family and features from which it was drawn, and whether all its relations are linear."""

    graph: Graph
    base: str
    features: tuple[str, ...]
    linear: bool


def widened(rng: np.random.Generator) -> Drawn:
    """Draw a small graph of one of the families of `drawn`, with one to three features, or with none in one case out of ten."""
    base = str(rng.choice(list(BASES)))
    count = 0 if rng.random() < 0.1 else int(rng.integers(1, 4))
    features = tuple(str(f) for f in rng.permutation(FEATURES)[:count])
    dimension = int(rng.choice([1, 1, 1, 1, 2, 3]))
    draw = _CLASSES[base](rng, dimension, features)
    graph = consistent(draw.graph)
    if "instant" in features:
        _event(graph, rng)
    if "nested" in features:
        graph = nested(graph, rng)
        graph = graph if rng.random() < 0.5 else boxed(graph, rng).graph
    linear = base in ("rigid", "switched") and not {"ic", "field", "reaction"} & draw.used
    return Drawn(graph, base, tuple(sorted({*features, *draw.used})), linear)


def _event(graph: Graph, rng: np.random.Generator) -> None:
    """Add an automaton that acts at `INSTANT` and halves an independent state, if the graph has one."""
    try:
        model = graph.freeze()
        dependent = assign_causality(model).derivative
    except ModelError:
        return
    free = [
        f"{path}.{'q' if e.kind == 'C' else 'p'}"
        for path, e in model.elements.items()
        if e.kind in "CI" and path not in dependent and "." not in path
    ]
    if free:
        state = free[rng.integers(len(free))]
        jump = Transition("before", "after", lambda t: t - INSTANT, "time", ((state, lambda x: 0.5 * x, (state,)),))
        graph.add_automaton(Automaton("third", ("before", "after"), "before", jump))


class _Wide(Draw):
    def __init__(self, rng: np.random.Generator, dimension: int, features: tuple[str, ...]):
        self.features, self.used, self.holds = features, set[str](), list[str]()
        self.pending: list[Callable[[], None]] = []
        super().__init__(rng, dimension)
        self._automata()
        if "field" in features:
            self._field()
        if "reaction" in features:
            self._chemistry()
        for late in self.pending:
            late()

    def _automata(self) -> None:
        """Add two automata that switch at `INSTANT`, by guards with different slopes; without the feature "instant" they never
        switch."""
        if not {"instant", "ratio"} & set(self.features):
            return
        for name, slope in (("first", 1.0), ("second", 3.0)):
            rises = Transition("low", "high", lambda t, slope=slope: slope * (t - INSTANT), "time")
            edges = (rises,) if "instant" in self.features else ()
            self.graph.add_automaton(Automaton(name, ("low", "high"), "low", edges))

    def by_random_mode(self, one: object, other: object) -> object:
        self.used.add("ratio")
        return by_mode("first" if self.rng.random() < 0.5 else "second", {"low": one, "high": other})

    @property
    def is_mode_dependent(self) -> bool:
        return bool({"instant", "ratio"} & set(self.features)) and self.rng.random() < 0.4

    def storage(self, kind: Callable[..., Element]) -> Element:
        if "ic" in self.features and kind.__name__ == "I" and self.rng.random() < 0.6:
            return self._configuration()
        return super().storage(kind)

    def _configuration(self) -> Element:
        rng, n, name = self.rng, self.n, self.name("ic")
        self.used.add("ic")
        self.states.append(f"{name}.q")
        more = {"form": "hamiltonian" if rng.random() < 0.4 else "lagrangian", "velocity": self.numbers()}
        m, a, k = (float(rng.uniform(0.5, 2.0)) for _ in range(3))
        if n == 1:
            return IC(
                name,
                inertia=lambda q, m, a: m + a * q * q,
                potential=lambda q, m, a: -m * cos(q),
                position=float(rng.normal()),
                parameters={"m": m, "a": a},
                **more,
            )
        return IC(
            name,
            kinetic=lambda q, v, m, a, k: (m * v @ v + a * (q @ v) * (q @ v) + k * v[0] * v[0]) / 2,
            potential=lambda q, m, a, k: k * cos(q[0]) + (q @ q) / 2,
            position=self.numbers(),
            dimension=n,
            parameters={"m": m, "a": a, "k": k},
            **more,
        )

    def source(self, kind: Callable[..., Element]) -> Element:
        rng, n = self.rng, self.n
        if "sampled" in self.features and self.states and rng.random() < 0.6:
            self.used.add("sampled")
            name, state = self.name(kind.__name__.lower()), self.states[rng.integers(len(self.states))]
            hold = f"hold of {name}"
            start = rng.normal() if n == 1 else rng.normal(size=n)
            period = (0.02, INSTANT)[rng.integers(2)]
            if rng.random() < 0.5:
                block = signals.hold(hold, state, period, initial=start, dimension=n if n > 1 else None)
            else:
                block = signals.sampled(
                    hold,
                    lambda y, g, u: 0.5 * y + g * u,
                    period=period,
                    initial=start,
                    dimension=n if n > 1 else None,
                    parameters={"g": 0.3},
                    signals=[state],
                )
            self.pending.append(lambda: self.graph.add(block) and None)
            follow = {"parameters": {"gain": 0.7}, "signals": [f"{hold}.y"]}
            return kind(name, lambda gain, x: gain * x, dimension=n, **follow)
        if self.is_mode_dependent:
            return kind(self.name(kind.__name__.lower()), self.by_random_mode(self.numbers(), self.numbers()))
        return super().source(kind)

    def resistor(self, sets_effort: bool) -> Element:
        if self.is_mode_dependent:
            by = self.by_random_mode(
                self.positive() if self.n == 1 else float(self.rng.uniform(0.5, 2.0)), float(self.rng.uniform(0.5, 2.0))
            )
            return R(self.name("r"), by) if self.rng.random() < 0.5 else R(self.name("r"), conductance=by)
        return super().resistor(sets_effort)

    def transformer(self) -> Element:
        if self.is_mode_dependent:
            return TF(self.name("tf"), self.by_random_mode(*self._ratios()))
        return super().transformer()

    def gyrator(self, matrix: bool) -> Element:
        if self.is_mode_dependent:
            return GY(self.name("gy"), self.by_random_mode(*self._ratios()))
        return super().gyrator(matrix)

    def _ratios(self) -> tuple[float, float]:
        rng = self.rng
        return float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.5, 2.0)) * float(rng.choice([-1.0, 1.0]))

    def _field(self) -> None:
        if self.n > 1:
            return
        rng = self.rng
        kind = "C" if rng.random() < 0.5 else "I"
        at = [j for j in self.junctions if j.kind[-1] == ("1" if kind == "C" else "0")]
        if not at:
            at = [(J1 if kind == "C" else J0)(self.name("j"))]
            self.join(at[0], self.resistor(sets_effort=kind == "C"))
            self.join_setter(at[0])
            self.junctions += at
        self.used.add("field")
        names = [f"p{k}" for k in range(1, 1 + min(len(at) + int(rng.random() < 0.3), 3))]
        field = multiport(
            kind,
            self.name("field"),
            lambda x, a: (x @ x) / 2 + a * cos(sum(x)),
            dict.fromkeys(names),
            initial=rng.normal(size=len(names)),
            parameters={"a": Parameter(0.3)},
        )
        for k, port in enumerate(names):
            self.join(at[k % len(at)], field.port(port))

    def _chemistry(self) -> None:
        """Add species at 0-junctions and reactions between their complexes, sometimes coupled to the rest of a scalar graph."""
        rng, g = self.rng, self.graph
        self.used.add("reaction")
        count = int(rng.integers(2, 5))
        pools = [J0(self.name("pool")) for _ in range(count)]
        for pool in pools:
            name = self.name("ce")
            g.connect(pool, Ce(name, float(rng.uniform(0.5, 2.0)), initial=float(rng.uniform(0.3, 2.0))))
        for _ in range(int(rng.integers(1, count + 1))):
            reaction = Re(self.name("re"), float(rng.uniform(0.3, 2.0)))
            sides = rng.permutation(count)
            cut = int(rng.integers(1, count)) if count < 4 else 2
            for port, side in (("1", sides[:cut]), ("2", sides[cut : cut + 2])):
                self._complex(reaction, port, [pools[k] for k in side])
        if self.n == 1 and rng.random() < 0.7:
            wire, lever = J1(self.name("j")), TF(self.name("tf"), float(rng.uniform(0.5, 2.0)))
            g.connect(pools[0], wire).connect(wire, R(self.name("r"), 1.0)).connect(wire, lever)
            g.connect(lever, self.junctions[rng.integers(len(self.junctions))])

    def _complex(self, reaction: Element, port: str, pools: list[Element]) -> None:
        """Add one side of a reaction, each species with the coefficient 1 or 2."""
        rng, g = self.rng, self.graph
        meet = J1(self.name("j"))
        bonds = [(pool, meet) if port == "1" else (meet, pool) for pool in pools]
        g.connect(meet, reaction.port("1")) if port == "1" else g.connect(reaction.port("2"), meet)
        for tail, head in bonds:
            if rng.random() < 0.3:
                twice = TF(self.name("tf"), 2.0 if port == "2" else 0.5)
                g.connect(tail, twice.port("1")).connect(twice.port("2"), head)
            else:
                g.connect(tail, head)


_CLASSES = {name: type(f"_Wide{base.__name__}", (_Wide, base), {}) for name, base in BASES.items()}
