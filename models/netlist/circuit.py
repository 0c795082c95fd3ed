"""Circuits as graphs: the cards of a netlist become devices, the devices become bonds, and the nodes except ground become
0-junctions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from screwbond.models.netlist.cards import Card, Scope, cards_of
from screwbond.models.netlist.devices import CELSIUS, DEVICES, Circuit, Settings, place_inductors
from screwbond.models.netlist.flattening import Device, Subcircuit, check_name, devices_of, sections_of
from screwbond.models.netlist.starts import operating_starts
from screwbond.models.netlist.waveforms import Transient

from bondgraph import Graph, R, Se, Sf
from bondgraph.errors import ModelError, Problem, raise_if_any, reading_line
from bondgraph.interchange.short.documents import text_of

HOLD = 1e-10
"""Resistance through which nodes of .ic are held, ohm, as in SPICE."""


def read_netlist(path: str | os.PathLike[str], name: str = "", *, uic: bool | None = None) -> Graph:
    """Return the circuit of a SPICE netlist as a graph with this `name`, by default that of the file without its extension.

    The netlist may have devices R, L, C, K, V, I (SIN, PULSE, PWL), E, F, G, H, D, S and X, and .model, .param, .subckt, .options
    (temp, tnom, gmin) and .ic. A node is the junction "node NAME", its voltage `node NAME.effort`. The run begins at the
    operating point at t = 0, with the nodes of .ic at their voltages; with `uic` (by default that of .tran), it begins at the
    values of IC=, else at the voltages of .ic, else at zero.

    Raises `ModelError` E630 for a file that cannot be read; E640 for a card that cannot be read; E641 for an unknown parameter,
    model, subcircuit or source; E642 for recursive subcircuits or too many devices; E643 for devices, cards and parameters that
    are not supported; E644 for a netlist without devices, or a device with both ends at one node; E653 without `uic`, unless
    there is one operating point; E654 for IC= if neither .tran nor `uic` decides whether to use it. Errors of several devices
    are raised together.

    Source: Nagel 1975 (SPICE2); ngspice manual, version 39.
    """
    text, file = text_of(path)
    return parse_netlist(text, file, name, uic=uic)


def parse_netlist(text: str, file: str = "circuit.cir", name: str = "", *, uic: bool | None = None) -> Graph:
    """Return the circuit of the netlist `text`, as `read_netlist` does; messages call the text `file`."""
    root = sections_of(cards_of(text, file))
    devices, first = devices_of(root), Card(file, 1, ("",))
    settings = _settings(root, first, name or Path(file).stem)
    if settings.uic if uic is None else uic:
        return _circuit(devices, settings, first).graph
    if uic is None and settings.uic is None:
        _refuse_starts(devices)
    at_zero = _circuit(devices, replace(settings, starts={}), first)
    if not (at_zero.is_driven or settings.voltages):
        return at_zero.graph
    held = _circuit(devices, replace(settings, starts={}, is_held=True), first) if settings.voltages else at_zero
    starts, modes = operating_starts(first, held.graph)
    return _circuit(devices, replace(settings, starts=starts, modes=modes), first).graph


def _refuse_starts(devices: Sequence[Device]) -> None:
    """Raise E654 for IC= in a netlist without .tran: SPICE uses IC= with UIC, and ignores it without UIC."""
    for device in devices:
        if "ic" in device.card.pairs and device.card.words[0][0] in "cl":
            title = f'"{device.name}" has IC=, but the netlist does not say whether to use it'
            raise device.card.error("E654", title, "uic=True or uic=False of read_netlist", ".tran 1u 1m UIC", "no IC=")


def _circuit(devices: Sequence[Device], settings: Settings, first: Card) -> Circuit:
    file = first.file
    with reading_line(file, first.line):
        circuit = Circuit(Graph(settings.name), settings)
    problems: list[Problem] = []
    names: set[str] = set()
    order = list(DEVICES)
    for device in sorted(devices, key=lambda each: order.index(each.card.words[0][0]) if each.card.words[0][0] in DEVICES else 0):
        letter = device.card.words[0][0]
        try:
            with reading_line(file, device.card.line):
                if check_name(device, device.name) in names:
                    raise device.card.error("E640", f'two devices are called "{device.name}"', "another name")
                names.add(device.name)
                if letter not in DEVICES:
                    letters = ", ".join(each.upper() for each in (*DEVICES, "x"))
                    title = f'"{device.name}": devices {letter.upper()} are not supported'
                    raise device.card.error("E643", title, f"devices {letters}")
                DEVICES[letter](circuit, device)
        except ModelError as error:
            problems += error.problems
        except ArithmeticError as error:
            title = f'"{device.name}": its values are out of range: {error}'
            problems.append(device.card.problem("E640", title, "plausible numbers"))
    raise_if_any(file, problems)
    place_inductors(circuit)
    _close_nodes(circuit)
    _hold_nodes(circuit)
    if not circuit.nodes:
        cure = "devices after the title, which is the first line"
        raise first.error("E644", "the netlist has no devices", cure)
    return circuit


def _close_nodes(circuit: Circuit) -> None:
    count = Counter(end.owner.name for link in circuit.graph.links for end in (link.tail, link.head))
    for node in circuit.nodes.values():
        if count[node.name] == 1:
            circuit.graph.connect(node, Sf(f"{node.name} open", domain="electrical"))


def _hold_nodes(circuit: Circuit) -> None:
    for name, voltage in circuit.settings.voltages.items():
        if name not in circuit.nodes:
            card = circuit.settings.ic[name]
            raise card.error("E641", f'.ic names the unknown node "{name[:60]}"', ", ".join(list(circuit.nodes)[:8]))
        if circuit.settings.is_held:
            source, wire = Se(f"hold {name}", voltage, domain="electrical"), R(f"wire to hold {name}", HOLD)
            circuit.graph.between(None, circuit.nodes[name], source, wire)


def _settings(root: Subcircuit, first: Card, name: str) -> Settings:
    scope = Scope({word: (text, None) for word, text in root.parameters.items()})
    options = {"temp": 27.0, "tnom": 27.0, "gmin": 1e-12}
    transient, voltages, cards, uic = Transient(), dict[str, float](), dict[str, Card](), None
    for card in root.settings:
        word, values = card.words[0], card.plain[1:]
        if word in (".options", ".option"):
            options |= {key: scope.value(card, text) for key, text in card.pairs.items() if key in options}
        elif word == ".temp":
            options["temp"] = scope.value(card, values[0] if values else "")
        elif word == ".tran":
            numbers = [scope.value(card, each) for each in values if each != "uic"]
            if len(numbers) < 2:
                raise card.error("E640", ".tran needs a step and an end", ".tran 1u 10m uic")
            transient, uic = Transient(numbers[0], numbers[1]), "uic" in values
        else:
            starts = _start_voltages(card, scope)
            voltages |= starts
            cards |= dict.fromkeys(starts, card)
    if not (options["gmin"] > 0 and min(options["temp"], options["tnom"]) > -CELSIUS):
        raise first.error("E640", "gmin must be positive, and temp and tnom above absolute zero", ".options temp=27 gmin=1e-12")
    return Settings(name, options, transient, voltages, cards, uic)


def _start_voltages(card: Card, scope: Scope) -> dict[str, float]:
    """Return the voltages of .ic V(node)=value by node; the words of the card are v, node and =value, and x1.a is node "x1 a"."""
    words, voltages = list(card.words[1:]), dict[str, float]()
    if len(words) % 3:
        raise card.error("E640", ".ic needs node voltages", ".ic V(out)=5")
    for letter, node, value in zip(words[::3], words[1::3], words[2::3], strict=True):
        if letter != "v" or not value.startswith("="):
            raise card.error("E640", ".ic needs node voltages", ".ic V(out)=5")
        voltages[node.replace(".", " ")] = scope.value(card, value[1:])
    return voltages
