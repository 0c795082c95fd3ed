"""Devices of a netlist as bonds between the junctions of their nodes, with the laws of ngspice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from screwbond.models.netlist.cards import Card
from screwbond.models.netlist.flattening import GROUND, Device, check_name
from screwbond.models.netlist.waveforms import Transient, waveform
from screwbond.models.parts.electrical import diode

from bondgraph import J0, Block, C, Element, Graph, I, R, Se, Sf, multiport
from bondgraph.errors import reading_line
from bondgraph.graph.builder import Node
from bondgraph.signals import hysteresis
from screws.errors import plural

BOLTZMANN = 1.380649e-23 / 1.602176634e-19
"""Boltzmann's constant divided by the elementary charge, V/K."""
CELSIUS = 273.15
DIODE = {"is": 1e-14, "n": 1.0, "rs": 0.0, "eg": 1.11, "xti": 3.0}
"""Supported parameters of a diode, and their defaults; TNOM, by default that of .options, is supported too."""
DIODE_ZEROS = ("cjo", "cj0", "tt", "ikf", "ikr", "isr")
"""Parameters of a diode that are refused unless they are zero."""
SWITCH = {"vt": 0.0, "vh": 0.0, "ron": 1.0, "roff": 1e12}
NEUTRAL = ("m", "vj", "fc", "kf", "af", "level", "nbv", "ibv")
"""Parameters of a diode that are ignored: those of noise, and of effects whose main parameter is refused."""
STRONGEST = 1e6
"""Current of a junction, A, above which its characteristic continues as its tangent."""


@dataclass(frozen=True)
class Settings:
    name: str
    options: Mapping[str, float]
    transient: Transient
    voltages: Mapping[str, float]
    ic: Mapping[str, Card]
    uic: bool | None
    """True if .tran has UIC, and None without .tran."""
    starts: Mapping[str, float] | None = None
    """Charges and fluxes at the start by name, or None to take them from IC= and .ic."""
    modes: Mapping[str, str] = field(default_factory=dict)
    is_held: bool = False


@dataclass
class Circuit:
    graph: Graph
    settings: Settings
    nodes: dict[str, Element] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    """Names of V, E and H, whose currents F and H can read."""
    inductors: dict[str, tuple[Device, float, float]] = field(default_factory=dict)
    couplings: dict[frozenset[str], tuple[Device, float]] = field(default_factory=dict)
    is_driven: bool = False

    def node(self, device: Device, name: str) -> Element | None:
        flat = device.node(name)
        if flat in GROUND:
            return None
        return self.nodes.setdefault(flat, J0(check_name(device, f"node {flat}"), domain="electrical"))

    def ends(self, device: Device, count: int = 2) -> tuple[Element | None, ...]:
        names = device.card.plain[1 : 1 + count]
        if len(names) < count:
            raise device.card.error(
                "E640", f'"{device.name}" has {plural(len(names), "node")} but needs {count}', "its nodes, then its value"
            )
        if device.node(names[0]) == device.node(names[1]):
            raise device.card.error(
                "E644",
                f'both ends of "{device.name}" connect to the node "{names[0]}"',
                "connect one end to another node, or remove the device",
            )
        return tuple(self.node(device, name) for name in names)


def _words(device: Device, nodes: int, keys: Sequence[str] = ()) -> list[str]:
    for key in device.card.pairs:
        if key not in keys:
            cure = f"omit it; supported keys: {', '.join(keys)}" if keys else "omit it"
            raise device.card.error("E643", f'"{device.name}": {key[:40]}= is not supported', cure)
    return list(device.card.plain[1 + nodes :])


def _number(device: Device, key: str, keys: Sequence[str] = ()) -> float:
    words = [*_words(device, 2, (key, *keys)), *(value for name, value in device.card.pairs.items() if name == key)]
    if len(words) != 1:
        raise device.card.error("E640", f'"{device.name}" has {plural(len(words), "value")}', "one number after its nodes")
    return device.value(words[0])


def _charge(circuit: Circuit, device: Device, capacitance: float) -> float:
    ic = device.value(device.card.pairs["ic"]) if "ic" in device.card.pairs else None
    if circuit.settings.starts is not None:
        return circuit.settings.starts.get(f"{device.name}.q", 0.0)
    one, two = (circuit.settings.voltages.get(device.node(each), 0.0) for each in device.card.plain[1:3])
    return capacitance * (one - two if ic is None else ic)


def _join(circuit: Circuit, device: Device, *parts: Node) -> None:
    first, second = circuit.ends(device)
    circuit.graph.between(first, second, *parts)


def _resistor(circuit: Circuit, device: Device) -> None:
    value = _number(device, "r")
    if not value:
        raise device.card.error(
            "E640", f'"{device.name}" is zero; ngspice replaces it with 1 mohm', "1m", "one node instead of two"
        )
    _join(circuit, device, R(device.name, value))


def _capacitor(circuit: Circuit, device: Device) -> None:
    first, second = circuit.ends(device)
    value = _number(device, "c", ("ic",))
    capacitor = C(device.name, capacitance=value, initial=_charge(circuit, device, value))
    circuit.graph.between(first, second, capacitor)


def _inductor(circuit: Circuit, device: Device) -> None:
    value, ic = _number(device, "l", ("ic",)), device.card.pairs.get("ic")
    circuit.ends(device)
    circuit.inductors[device.name] = (device, value, 0.0 if ic is None else device.value(ic))


def _source(circuit: Circuit, device: Device) -> None:
    """Add a voltage source, positive at the first node, or a current source that conducts from the first node to the second."""
    value, numbers = waveform(device, _words(device, 2), circuit.settings.transient)
    first, second = circuit.ends(device)
    circuit.is_driven |= (value(0.0, **numbers) if callable(value) else value) != 0.0
    signals = {"t": "time"} if callable(value) else {}
    words: dict[str, Any] = {"parameters": numbers, "signals": signals} if callable(value) else {}
    _between(circuit, device, first, second, value, words)


def _between(
    circuit: Circuit, device: Device, first: Element | None, second: Element | None, value: Any, words: Mapping[str, Any]
) -> None:
    if device.card.words[0][0] in "veh":
        circuit.sources.add(device.name)
        circuit.graph.between(second, first, Se(device.name, value, domain="electrical", **words))
    else:
        circuit.graph.between(first, second, Sf(device.name, value, domain="electrical", **words))


def _by_voltage(circuit: Circuit, device: Device) -> None:
    """Add E or G, whose value is its gain times the voltage between its third and fourth nodes."""
    words = _words(device, 4)
    first, second, plus, minus = circuit.ends(device, 4)
    if len(words) != 1:
        raise device.card.error("E643", f'"{device.name}": only constant gains are supported', "E1 out 0 plus minus 10")
    signals = {key: f"{node.name}.effort" for key, node in (("plus", plus), ("minus", minus)) if node is not None}
    parameters = {"gain": device.value(words[0])}
    _between(circuit, device, first, second, _GAINS[tuple(signals)], {"parameters": parameters, "signals": signals})


_GAINS: Mapping[tuple[str, ...], Callable[..., Any]] = {
    ("plus", "minus"): lambda gain, plus, minus: gain * (plus - minus),
    ("plus",): lambda gain, plus: gain * plus,
    ("minus",): lambda gain, minus: gain * -minus,
    (): lambda gain: 0.0 * gain,
}


def _by_current(circuit: Circuit, device: Device) -> None:
    """Add F or H, whose value is its gain times the current into the first node of a voltage source."""
    first, second = circuit.ends(device)
    words = _words(device, 2)
    if len(words) != 2:
        raise device.card.error("E643", f'"{device.name}": only constant gains are supported', "F1 out 0 vsense 2")
    source = device.prefix + words[0]
    if source not in circuit.sources:
        near = sorted(name for name in circuit.sources if name.rpartition(" ")[0] == device.prefix.rstrip())
        names = ", ".join(name.removeprefix(device.prefix) for name in near[:8]) or "vsense n1 n2 0"
        raise device.card.error("E641", f'"{device.name}" reads the current of "{source}", which is not a voltage source', names)
    words_of_source = {"parameters": {"gain": device.value(words[1])}, "signals": {"i": f"{source}.flow"}}
    _between(circuit, device, first, second, lambda gain, i: gain * -i, words_of_source)


def _diode(circuit: Circuit, device: Device) -> None:
    """Add a diode, i = Is (exp(v / N V_T) - 1) + gmin v in series with Rs; Is depends on the temperature as in SPICE."""
    first, second = circuit.ends(device)
    words = _words(device, 2, ("area",))
    if not 1 <= len(words) <= 2:
        raise device.card.error("E640", f'"{device.name}" has no model', "D1 anode cathode MODEL")
    card = device.model(words[0])
    options = circuit.settings.options
    read = _parameters(device, card, "d", {**DIODE, "tnom": options["tnom"]}, NEUTRAL, DIODE_ZEROS)
    if read["tnom"] <= -CELSIUS:
        raise card.error(
            "E640", f'TNOM of the model "{card.plain[1]}" must be above absolute zero', "TNOM=27, in degrees Celsius"
        )
    area = device.value(words[1]) if len(words) > 1 else device.value(device.card.pairs.get("area", "1"))
    kelvin, nominal = options["temp"] + CELSIUS, read["tnom"] + CELSIUS
    ratio, thermal = kelvin / nominal, BOLTZMANN * kelvin
    warming = math.exp((ratio - 1) * read["eg"] / (read["n"] * thermal)) * ratio ** (read["xti"] / read["n"])
    saturation = read["is"] * area * warming
    if not (saturation > 0 and read["n"] > 0 and area > 0 and read["rs"] >= 0):
        raise device.card.error(
            "E640",
            f'"{device.name}": IS, N and the area must be positive, and RS must not be negative',
            "IS=1e-14 N=1 RS=0 AREA=1",
        )
    values = {"Is": saturation, "Vt": read["n"] * thermal, "Rp": 1.0 / options["gmin"]}
    junction = diode(device.name, **values, top=max(math.log(STRONGEST / saturation), 1.0))
    series = [R(f"{device.name} rs", read["rs"] / area)] if read["rs"] else []
    circuit.graph.between(first, second, junction, *series)


def _switch(circuit: Circuit, device: Device) -> None:
    """Add a switch with the resistance RON while the voltage between its third and fourth nodes is above VT + VH, and ROFF while
    it is below VT - VH; between these voltages the resistance does not change."""
    first, second, plus, minus = circuit.ends(device, 4)
    words = [word for word in _words(device, 4) if word not in ("on", "off")]
    if len(words) != 1:
        raise device.card.error("E640", f'"{device.name}" has no model', "S1 a b plus minus MODEL")
    read = _parameters(device, device.model(words[0]), "sw", SWITCH, (), ())
    if not (read["ron"] > 0 and read["roff"] > 0 and read["vh"] >= 0):
        raise device.card.error(
            "E643", f'"{device.name}": RON and ROFF must be positive, and VH must not be negative', "RON=1 ROFF=1e12 VH=0"
        )
    control, relay = f"{device.name} control", f"{device.name} state"
    inputs = {key: f"{node.name}.effort" for key, node in (("plus", plus), ("minus", minus)) if node is not None}
    levels = {"gain": 1.0}
    circuit.graph.add(Block(control, [("v", _GAINS[tuple(inputs)], ["gain", *inputs])], inputs=inputs, parameters=levels))
    thresholds = (read["vt"] - read["vh"], read["vt"] + read["vh"])
    initial = circuit.settings.modes.get(relay, "high" if device.card.plain[-1] == "on" else "low")
    off, on = 1.0 / read["roff"], 1.0 / read["ron"]
    circuit.graph.add(hysteresis(relay, f"{control}.v", *thresholds, low=off, high=on, initial=initial))
    contact = R(device.name, flow=lambda e, g: g * e, signals={"g": f"{relay}.y"}, domain="electrical")
    circuit.graph.between(first, second, contact)


def _parameters(
    device: Device, card: Card, kind: str, read: Mapping[str, float], neutral: Sequence[str], zeros: Sequence[str]
) -> dict[str, float]:
    if card.plain[2] != kind:
        title = f'"{device.name}" needs a model of the type {kind.upper()}, but "{card.plain[1]}" is {card.plain[2].upper()}'
        raise device.card.error("E641", title, f".model {card.plain[1]} {kind}")
    values = {key: device.scope.value(card, text) for key, text in card.pairs.items() if key not in neutral}
    for key, value in values.items():
        if key not in read and not (key in zeros and value == 0):
            raise card.error("E643", f'the parameter {key.upper()} of the model "{card.plain[1]}" is not supported', "omit it")
    return {**read, **{key: value for key, value in values.items() if key in read}}


def _coupling(circuit: Circuit, device: Device) -> None:
    *names, last = _words(device, 0) or [""]
    factor = device.value(last)
    flat = [device.prefix + name for name in names]
    if unknown := [name for name in flat if name not in circuit.inductors]:
        raise device.card.error("E641", f'"{device.name}" couples the unknown inductor "{unknown[0][:60]}"', "K1 L1 L2 0.9")
    if len(set(flat)) < max(2, len(flat)) or not abs(factor) < 1:
        raise device.card.error(
            "E640", f'"{device.name}" needs two or more inductors, all different, and a factor between -1 and 1', "K1 L1 L2 0.9"
        )
    for k, first in enumerate(flat):
        for second in flat[:k]:
            circuit.couplings[frozenset((first, second))] = (device, factor)


def place_inductors(circuit: Circuit) -> None:
    """Add all inductors, with each group of coupled inductors as one field; raise E640 for couplings that store
    negative energy."""
    remaining = list(circuit.inductors)
    while remaining:
        group = [remaining.pop(0)]
        for name in group:
            near = [other for other in remaining if frozenset((name, other)) in circuit.couplings]
            group += near
            remaining = [other for other in remaining if other not in near]
        device, inductance, current = circuit.inductors[group[0]]
        with reading_line(device.card.file, device.card.line):
            if len(group) == 1:
                starts = circuit.settings.starts
                flux = inductance * current if starts is None else starts.get(f"{device.name}.p", 0.0)
                coil = I(device.name, inductance=inductance, initial=flux)
                _join(circuit, device, coil)
            else:
                _field(circuit, group)


def _field(circuit: Circuit, group: Sequence[str]) -> None:
    """Add coupled inductors as a field with the energy psi^T L^-1 psi / 2 of their fluxes psi, with the matrix of
    inductances L."""
    rows = [circuit.inductors[name] for name in group]
    roots = np.sqrt([max(inductance, 0.0) for _, inductance, _ in rows])
    factors = np.eye(len(group))
    for j, first in enumerate(group):
        for k, second in enumerate(group[:j]):
            factors[j, k] = factors[k, j] = circuit.couplings.get(frozenset((first, second)), (None, 0.0))[1]
    matrix = factors * np.outer(roots, roots)
    if not (roots > 0).all() or np.linalg.eigvalsh(factors).min() <= 0:
        pair = next(pair for pair in circuit.couplings if group[0] in pair)
        card = circuit.couplings[pair][0].card
        raise card.error("E640", f"the coupled inductors {', '.join(group)} could store negative energy", "smaller factors")
    inverse = tuple(map(tuple, np.linalg.inv(matrix).tolist()))

    def energy(psi: Any) -> Any:
        count = range(len(inverse))
        return sum(inverse[j][k] * psi[j] * psi[k] for j in count for k in count) / 2

    ports = dict.fromkeys((f"{k}" for k in range(1, len(group) + 1)), "electrical")
    name, start = "+".join(group), (matrix @ [current for *_, current in rows]).tolist()
    if circuit.settings.starts is not None:
        start = [circuit.settings.starts.get(f"{name}.storage.p[{k}]", 0.0) for k in range(len(group))]
    part = multiport("I", name, energy, ports, initial=start)
    for port, (device, _, _) in zip(ports, rows, strict=True):
        _join(circuit, device, part.port(port))


DEVICES: Mapping[str, Callable[[Circuit, Device], None]] = {
    "r": _resistor,
    "c": _capacitor,
    "l": _inductor,
    "v": _source,
    "i": _source,
    "e": _by_voltage,
    "g": _by_voltage,
    "d": _diode,
    "s": _switch,
    "f": _by_current,
    "h": _by_current,
    "k": _coupling,
}
"""Devices by letter; F, H and K come last, because they name other devices."""
