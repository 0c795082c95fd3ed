"""Circuits as graphs: the cards of a netlist become devices, and these bonds between a 0-junction for each node but ground."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from screwbond.models.netlist.cards import Card, Scope, cards_of
from screwbond.models.netlist.devices import CELSIUS, DEVICES, Circuit, place_inductors
from screwbond.models.netlist.flattening import Subcircuit, check_name, devices_of, sections_of
from screwbond.models.netlist.waveforms import Transient

from bondgraph import Graph, Sf
from bondgraph.errors import ModelError, Problem, raise_if_any, reading_line
from bondgraph.interchange.short.documents import text_of


def read_netlist(path: str | os.PathLike[str], name: str = "") -> Graph:
    """Return the circuit of a SPICE netlist as a graph, called `name`, by default as the file.

    R, L, C, K, V, I (SIN, PULSE, PWL), E, F, G, H, D, S, X; .model, .param, .subckt, .options (temp, tnom, gmin), .ic. A node is
    the junction "node NAME", its voltage `node NAME.effort`. The run begins at IC= and .ic, else at zero, as with UIC.

    Raises `ModelError` E630 for a file that cannot be read; E640 for a card that cannot be read; E641 for an unknown parameter,
    model, subcircuit or source; E642 for what contains itself, or too many devices; E643 for devices, cards and parameters that
    are not read; E644 for devices that join nothing; all at once where they are in several devices.

    Source: Nagel 1975 (SPICE2); ngspice manual, version 39.
    """
    text, file = text_of(path)
    return parse_netlist(text, file, name)


def parse_netlist(text: str, file: str = "circuit.cir", name: str = "") -> Graph:
    """Return the circuit of the text of a netlist, as `read_netlist`; messages call it `file`."""
    root = sections_of(cards_of(text, file))
    devices = devices_of(root)
    circuit = _settings(root, Card(file, 1, ("",)), name or Path(file).stem)
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
                    title = f'"{device.name}": devices {letter.upper()} are not read'
                    raise device.card.error("E643", title, f"devices {letters}")
                DEVICES[letter](circuit, device)
        except ModelError as error:
            problems += error.problems
        except ArithmeticError as error:
            title = f'"{device.name}": its numbers are out of range: {error}'
            problems.append(device.card.problem("E640", title, "numbers of real devices"))
    raise_if_any(file, problems)
    place_inductors(circuit)
    _close_nodes(circuit)
    if not circuit.nodes:
        cure = "devices behind the title, which is the first line"
        raise Card(file, 1, ()).error("E644", "the netlist has no devices", cure)
    return circuit.graph


def _close_nodes(circuit: Circuit) -> None:
    """Add a source of no current to nodes with one device: they are open."""
    count = Counter(end.owner.name for link in circuit.graph.links for end in (link.tail, link.head))
    for node in circuit.nodes.values():
        if count[node.name] == 1:
            circuit.graph.connect(node, Sf(f"{node.name} open", domain="electrical"))


def _settings(root: Subcircuit, first: Card, name: str) -> Circuit:
    """Return an empty circuit with options, defaults of waveforms, and voltages at the start."""
    scope = Scope({word: (text, None) for word, text in root.parameters.items()})
    options = {"temp": 27.0, "tnom": 27.0, "gmin": 1e-12}
    transient, voltages = Transient(), dict[str, float]()
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
            transient = Transient(numbers[0], numbers[1])
        else:
            voltages |= _start_voltages(card, scope)
    if not (options["gmin"] > 0 and min(options["temp"], options["tnom"]) > -CELSIUS):
        raise first.error("E640", "gmin is positive, and temp and tnom lie above absolute zero", ".options temp=27 gmin=1e-12")
    with reading_line(first.file, first.line):
        return Circuit(Graph(name), options, transient, voltages)


def _start_voltages(card: Card, scope: Scope) -> dict[str, float]:
    """Return the voltages of nodes on a card .ic V(node)=value, whose words are v, node and =value."""
    words, voltages = list(card.words[1:]), dict[str, float]()
    if len(words) % 3:
        raise card.error("E640", ".ic has voltages of nodes", ".ic V(out)=5")
    for letter, node, value in zip(words[::3], words[1::3], words[2::3], strict=True):
        if letter != "v" or not value.startswith("="):
            raise card.error("E640", ".ic has voltages of nodes", ".ic V(out)=5")
        voltages[node] = scope.value(card, value[1:])
    return voltages
