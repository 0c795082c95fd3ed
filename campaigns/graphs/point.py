"""Independent equations of linear and nonlinear graphs: every relation of every element is linearised about one point.

N y' + g(y) = 0 with all efforts, flows and states as unknowns y. Nothing is sorted, no element sets a variable of another, and no
derivative is taken by formula: slopes are finite differences. `hidden` adds the time derivatives of the rows, which dependent
storages and constraints need, and solves them by singular value decomposition.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bondgraph.model.element import Element
from bondgraph.model.laws import (
    ByMode,
    Gyrator,
    IdealConstraint,
    IdealSwitch,
    InertialField,
    Junction,
    Reaction,
    Resistor,
    SignalBlock,
    SkewGyrator,
    Source,
    Storage,
    Transformer,
)
from bondgraph.model.model import Bond, Model
from campaigns.graphs.balances import Balances, slopes
from campaigns.graphs.rows import Rows, Situation, Terms


class Point:
    """Relations of a model in one situation, with the variables `<bond>:effort`, `<bond>:flow`, `<element>.<state>` and,
    for the acceleration of an IC, `<element>:rate`."""

    def __init__(self, model: Model, situation: Situation):
        self.model, self.at = model, situation
        self.states: list[str] = []
        self.blocks = [path for path, element in model.elements.items() if isinstance(element.law, SignalBlock)]
        places: dict[str, slice] = {}
        size = 0
        for name, length in (*self._bond_variables(), *self._own_variables()):
            places[name] = slice(size, size + length)
            size += length
        self.rows = Rows(places, size)
        self.y = np.zeros(size)
        for name, place in places.items():
            if name in situation.values:
                self.y[place] = np.ravel(situation.values[name])
        for path, element in model.elements.items():
            self._relations(path, element)
        self.G, self.N = self.rows.matrix(self.rows.entries), self.rows.matrix(self.rows.moving)
        self.g = np.array(self.rows.left)

    def _bond_variables(self) -> list[tuple[str, int]]:
        return [(f"{bond.name}:{kind}", bond.dimension) for bond in self.model.bonds for kind in ("effort", "flow")]

    def _own_variables(self) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for path, element in self.model.elements.items():
            own = state_names(path, element)
            self.states += own
            if isinstance(element.law, SignalBlock):
                found += [(name, int(np.size(self.at.values[name]))) for name in own]
                continue
            bonds = self.model.bonds_at(path)
            found += [(name, bonds[0].dimension) for name in own]
            if isinstance(element.law, InertialField):
                found.append((f"{path}:rate", bonds[0].dimension))
        return found

    # -- pieces of relations

    def value(self, name: str) -> np.ndarray:
        return self.y[self.rows.places[name]]

    def sign(self, bond: Bond, path: str) -> int:
        return 1 if bond.head.element == path else -1

    def others(self, element: Element) -> tuple[list[Any], list[str]]:
        numbers: list[Any] = []
        for parameter in element.parameters.values():
            given = parameter.value
            chosen = given.values[self.at.modes[given.automaton]] if isinstance(given, ByMode) else given
            numbers.append(np.asarray(chosen, dtype=float)[()])
        return numbers, [name for name in element.signals if name in self.rows.places]

    def signals(self, element: Element, read: Sequence[np.ndarray]) -> list[Any]:
        """Return the element's signals: states as given, modes as indices, and others, such as time, as zero."""
        states = iter(read)
        found: list[Any] = []
        for name in element.signals:
            if name in self.rows.places:
                shape = np.shape(self.at.values[name])
                found.append(np.reshape(next(states), shape)[()])
            elif name.endswith(".mode"):
                automaton = self.model.automata[name.removesuffix(".mode")]
                found.append(float(automaton.states.index(self.at.modes[automaton.name])))
            else:
                found.append(0.0)
        return found

    def formula_rows(self, element: Element, names: Sequence[str], formula: Callable[..., Any]) -> slice:
        """Add the rows formula(values of `names`, parameters, signals) = 0, with their slopes."""
        numbers, read = self.others(element)
        every = [*names, *read]
        sizes = np.cumsum([0, *(len(self.value(name)) for name in every)])

        def at(joined: np.ndarray) -> np.ndarray:
            parts = [joined[a:b] for a, b in itertools.pairwise(sizes)]
            own = [part[0] if len(part) == 1 else part for part in parts[: len(names)]]
            rest = [*numbers, *self.signals(element, parts[len(names) :])]
            return np.atleast_1d(np.asarray(formula(*own, *rest), dtype=float))

        here = np.concatenate([self.value(name) for name in every]) if every else np.zeros(0)
        slope = slopes(at, here) if every else np.zeros((0, 0))
        still = [(name, slope[:, a:b]) for name, a, b in zip(every, sizes[:-1], sizes[1:], strict=True)]
        return self.rows.add(at(here), still)

    def linear_rows(self, still: Terms, moving: Terms = ()) -> slice:
        """Add the rows sum(matrix @ value) + sum(factor @ rate) = 0 of the terms `still` and `moving`."""
        return self.rows.add(sum(np.atleast_2d(m) @ self.value(name) for name, m in still), still, moving)

    # -- relations

    def _relations(self, path: str, element: Element) -> None:
        law, bonds = element.law, self.model.bonds_at(path)
        if isinstance(law, SignalBlock):
            for name in state_names(path, element):  # held between ticks
                one = np.eye(len(self.value(name)))
                self.rows.add(np.zeros(len(one)), [], [(name, one)])
            return
        e, f = ([f"{bond.name}:{kind}" for bond in bonds] for kind in ("effort", "flow"))
        one, sign = np.eye(bonds[0].dimension), self.sign(bonds[0], path)
        match law:
            case Storage():
                state = f"{path}.{law.state}"
                out, given = (f[0], e[0]) if element.kind == "I" else (e[0], f[0])
                self.linear_rows([(given, -sign * one)], [(state, one)])
                gradient = _gradient(law, bonds[0].dimension)
                self.formula_rows(element, [out, state], lambda o, x, *rest: o - gradient(x, *rest))
            case InertialField():
                self._inertial(path, element, e[0], f[0], sign)
            case Source():
                own = e[0] if element.kind == "Se" else f[0]
                self.formula_rows(element, [own], lambda v, *rest: v - (law.value(*rest) if rest else 0.0))
            case Resistor() if law.effort is not None:
                self.formula_rows(element, [e[0], f[0]], lambda a, b, *rest: a - law.effort(sign * b, *rest))
            case Resistor() if law.flow is not None:
                self.formula_rows(element, [f[0], e[0]], lambda a, b, *rest: sign * a - law.flow(b, *rest))
            case Reaction():
                self._reaction(path, element)
            case SkewGyrator():
                self.formula_rows(element, [e[0], f[0]], lambda a, b, *rest: a - sign * law.matrix(*rest) @ b)
            case Junction():
                self._junction(path, law, bonds)
            case Transformer() | Gyrator():
                self._two_port(path, element)
            case IdealConstraint():
                self._constraint(path, element, e[0], f[0], sign)
            case IdealSwitch():
                closed = self.at.modes[law.automaton] in law.active
                self._vanishes(e[0] if closed else f[0], [], float(element.parameters["alpha1"].value))
            case _:
                raise TypeError(f"there is no relation for {element.kind}")

    def _inertial(self, path: str, element: Element, e: str, f: str, sign: int) -> None:
        """Add the rows q' = f and M a + h + dV/dq = e, and the rows that give the flow from the motion."""
        law = element.law
        assert isinstance(law, InertialField) and law.mechanics is not None
        q, motion, rate = f"{path}.q", f"{path}.{law.motion}", f"{path}:rate"
        one = np.eye(len(self.value(q)))
        balances = Balances(law.mechanics, len(one), sign)
        self.linear_rows([(f, -one)], [(q, one)])
        self.linear_rows([(rate, -one)], [(motion, one)])
        if law.motion == "v":
            self.formula_rows(element, [rate, q, f, e], balances.of_velocity)
            self.linear_rows([(f, one), (motion, -one)])
        else:
            self.formula_rows(element, [rate, q, f, e], balances.of_momentum)
            self.formula_rows(element, [motion, q, f], balances.momentum)

    def _reaction(self, path: str, element: Element) -> None:
        law, (one, two) = element.law, self._in_order(path)
        e = [f"{bond.name}:effort" for bond in (one, two)]
        for bond, sign in ((one, self.sign(one, path)), (two, -self.sign(two, path))):
            self.formula_rows(
                element, [f"{bond.name}:flow", *e], lambda f, a, b, *rest, sign=sign: sign * f - law.flow(a, b, *rest)
            )

    def _in_order(self, path: str) -> tuple[Bond, Bond]:
        bonds = self.model.bonds_at(path)
        first = any(end.element == path and end.port == "1" for end in bonds[0].ends)
        return (bonds[0], bonds[1]) if first else (bonds[1], bonds[0])

    def _junction(self, path: str, law: Junction, bonds: tuple[Bond, ...]) -> None:
        common, other = ("effort", "flow") if law.type == 0 else ("flow", "effort")
        one = np.eye(bonds[0].dimension)
        if law.automaton is not None and self.at.modes[law.automaton] not in law.active:
            for bond in bonds:
                kind = other if self.at.separate.get(path, bonds[0].name) == bond.name else common
                self.linear_rows([(f"{bond.name}:{kind}", one)])
            return
        for bond in bonds[1:]:
            self.linear_rows([(f"{bond.name}:{common}", one), (f"{bonds[0].name}:{common}", -one)])
        self.linear_rows([(f"{bond.name}:{other}", self.sign(bond, path) * one) for bond in bonds])

    def _two_port(self, path: str, element: Element) -> None:
        law, (one, two) = element.law, self._in_order(path)
        n1, n2 = one.dimension, two.dimension
        s1, s2 = self.sign(one, path), -self.sign(two, path)
        transformer = isinstance(law, Transformer)

        def ratio(rest: Sequence[Any]) -> np.ndarray:
            found = np.asarray(law.matrix(*rest), dtype=float)
            return found * np.eye(n1) if found.ndim == 0 else found.reshape((n2, n1) if transformer else (n1, n2))

        f1, e1, f2, e2 = (f"{bond.name}:{kind}" for bond in (one, two) for kind in ("flow", "effort"))
        up = np.atleast_1d
        if transformer:
            self.formula_rows(element, [f2, f1], lambda a, b, *rest: s2 * up(a) - s1 * ratio(rest) @ up(b))
            self.formula_rows(element, [e1, e2], lambda a, b, *rest: up(a) - ratio(rest).T @ up(b))
        else:
            self.formula_rows(element, [e1, f2], lambda a, b, *rest: up(a) - s2 * ratio(rest) @ up(b))
            self.formula_rows(element, [e2, f1], lambda a, b, *rest: up(a) - s1 * ratio(rest).T @ up(b))

    def _constraint(self, path: str, element: Element, e: str, f: str, sign: int) -> None:
        law, one = element.law, np.eye(len(self.value(e)))
        number = {name: float(parameter.value) for name, parameter in element.parameters.items()}
        position = []
        if law.stores_position:
            self.linear_rows([(f, -sign * one)], [(f"{path}.h", one)])
            position = [(f"{path}.h", sign * number["alpha0"] * one)]
        if law.automaton is None or self.at.modes[law.automaton] in law.active:
            self._vanishes(f, position, number["alpha1"])
        elif law.released is None:
            self.linear_rows([(e, one)])
        else:
            forward = 1.0 if self.at.modes[law.automaton] == "forward" else -1.0
            self.rows.add(
                self.value(e) - forward * number["limit"] - sign * number["viscous"] * self.value(f),
                [(e, one), (f, -sign * number["viscous"] * one)],
            )

    def _vanishes(self, name: str, position: Terms, alpha1: float) -> None:
        """Add the rows v' + a1 v + a0 h = 0; `hidden.rate_factors` removes v' if v is not a state."""
        one = np.eye(len(self.value(name)))
        self.rows.held.append((self.linear_rows([(name, alpha1 * one), *position], [(name, one)]), name))


def state_names(path: str, element: Element) -> list[str]:
    match element.law:
        case Storage() as law:
            return [f"{path}.{law.state}"]
        case InertialField() as law:
            return [f"{path}.q", f"{path}.{law.motion}"]
        case IdealConstraint() as law if law.stores_position and law.position is None:
            return [f"{path}.h"]
        case SignalBlock() as law:
            return [f"{path}.{name}" for name in law.kept]
    return []


def _gradient(law: Storage, n: int) -> Callable[..., Any]:
    """Return the output of a storage, by finite differences of the energy if the storage has no formula."""
    if not law.by_gradient:
        return law.output

    def gradient(x: Any, *rest: Any) -> Any:
        found = slopes(lambda at: np.atleast_1d(law.energy(at if n > 1 else at[0], *rest)), np.atleast_1d(x))[0]
        return found if n > 1 else found[0]

    return gradient
