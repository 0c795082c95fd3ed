"""Subcircuits of a netlist: definitions and models by scope; every instance is expanded into separately named devices."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from screwbond.models.netlist.cards import Card, Scope

from screws.errors import plural
from screws.names import similar_names

MOST_DEVICES = 10_000
DEEPEST = 20
GROUND = ("0", "gnd")
IGNORED = frozenset(
    [
        ".ac",
        ".dc",
        ".op",
        ".tf",
        ".noise",
        ".print",
        ".plot",
        ".save",
        ".probe",
        ".meas",
        ".measure",
        ".four",
        ".nodeset",
        ".title",
        ".width",
        ".disto",
        ".pz",
        ".sens",
    ]
)


@dataclass
class Subcircuit:
    """Cards of a subcircuit with its ports, or of the netlist itself, and what they define."""

    name: str = ""
    ports: tuple[str, ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)
    devices: list[Card] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    models: dict[str, Card] = field(default_factory=dict)
    subcircuits: dict[str, Subcircuit] = field(default_factory=dict)
    settings: list[Card] = field(default_factory=list)


@dataclass(frozen=True)
class Device:
    card: Card
    prefix: str
    scope: Scope
    nodes: Mapping[str, str]
    sections: tuple[Subcircuit, ...]
    """The netlist and the subcircuits that enclose the device's definition: the scopes of its models and subcircuits."""
    calls: tuple[Subcircuit, ...] = ()
    """Subcircuits whose instances contain the device."""

    @property
    def name(self) -> str:
        return self.prefix + self.card.words[0]

    def node(self, name: str) -> str:
        return "0" if name in GROUND else self.nodes.get(name, self.prefix + name)

    def value(self, text: str) -> float:
        return self.scope.value(self.card, text)

    def model(self, name: str) -> Card:
        for section in reversed(self.sections):
            if name in section.models:
                return section.models[name]
        names = [each for section in self.sections for each in section.models]
        cures = similar_names(name, names) or names[:8] or [f".model {name} d"]
        raise self.card.error("E641", f'"{self.name}" has the unknown model "{name[:60]}"', ", ".join(cures))


def sections_of(cards: Iterator[Card]) -> Subcircuit:
    """Sort cards into the netlist and its subcircuits.

    Raises `ModelError` E643 for cards that are not supported, E640 for an incomplete .subckt or .model, an unpaired .subckt or
    .ends, and a name that is defined twice.
    """
    root = Subcircuit()
    inside: list[tuple[Subcircuit, Card | None]] = [(root, None)]
    for card in cards:
        word, section = card.words[0], inside[-1][0]
        if word == ".subckt":
            names = [each for each in card.plain[1:] if each != "params:"]
            if not names or len(inside) > DEEPEST:
                raise card.error("E640", ".subckt needs a name, and must not be nested too deeply", ".subckt NAME NODE ...")
            new = Subcircuit(names[0], tuple(names[1:]), card.pairs)
            _check_new(card, "subcircuit", names[0], section.subcircuits)
            section.subcircuits[names[0]] = new
            inside.append((new, card))
        elif word == ".ends":
            if len(inside) == 1:
                raise card.error("E640", ".ends has no .subckt", "delete it")
            inside.pop()
        elif word == ".model":
            if len(card.plain) < 3:
                raise card.error("E640", ".model needs a name and a type", ".model NAME D (IS=1e-14)")
            _check_new(card, "model", card.plain[1], section.models)
            section.models[card.plain[1]] = card
        elif word in (".param", ".params"):
            section.parameters.update(card.pairs)
        elif word in (".options", ".option", ".temp", ".ic", ".tran"):
            if section is not root:
                cure = "after .ends; .ic names a node of an instance x1 as V(x1.node)"
                raise card.error("E643", f"the card {word} is not supported in a subcircuit", cure)
            section.settings.append(card)
        elif word.startswith(".") and word not in IGNORED:
            cure = "its content in this file" if word in (".include", ".lib", ".inc") else "a netlist without it"
            raise card.error("E643", f"the card {word[:40]} is not supported", cure)
        elif not word.startswith("."):
            section.devices.append(card)
    if (card_of_open := inside[-1][1]) is not None:
        raise card_of_open.error("E640", f'the subcircuit "{inside[-1][0].name}" has no .ends', ".ends after its last card")
    return root


def _check_new(card: Card, what: str, name: str, defined: Container[str]) -> None:
    """Raise E640 for a model or subcircuit that is already defined: programs differ in which definition they use."""
    if name in defined:
        raise card.error("E640", f'the {what} "{name[:60]}" is defined twice', "another name, or one definition")


def devices_of(root: Subcircuit) -> list[Device]:
    """Return all devices; names of devices in subcircuits begin with the names of their instances.

    Raises `ModelError` E640 for a wrong number of nodes, E641 for an unknown subcircuit or parameter, E642 for a subcircuit that
    contains itself, too many levels or too many devices.
    """
    scope = Scope({name: (text, None) for name, text in root.parameters.items()})
    devices: list[Device] = []
    pending = [Device(card, "", scope, {}, (root,)) for card in reversed(root.devices)]
    instances = 0
    while pending:
        device = pending.pop()
        if not device.card.words[0].startswith("x"):
            devices.append(device)
        else:
            instances += 1
            pending += reversed(_inside(device))
        if len(devices) + instances > MOST_DEVICES:
            title = f"the circuit has more than {MOST_DEVICES} devices"
            raise device.card.error("E642", title, "fewer nested subcircuits")
    return devices


def _inside(device: Device) -> list[Device]:
    section, nodes, sections = _instance(device)
    texts: dict[str, tuple[str, Scope | None]] = {}
    texts |= {name: (text, None) for name, text in (section.defaults | section.parameters).items()}
    texts |= {name: (text, device.scope) for name, text in device.card.pairs.items()}
    scope, calls = Scope(texts, device.scope), (*device.calls, section)
    return [Device(card, f"{device.name} ", scope, nodes, sections, calls) for card in section.devices]


def _instance(device: Device) -> tuple[Subcircuit, dict[str, str], tuple[Subcircuit, ...]]:
    words = [word for word in device.card.plain[1:] if word != "params:"]
    name = words[-1] if words else ""
    depth = next((k for k in range(len(device.sections), 0, -1) if name in device.sections[k - 1].subcircuits), 0)
    if not depth:
        names = [each for section in device.sections for each in section.subcircuits]
        cures = similar_names(name, names) or names[:8] or [f".subckt {name} ..."]
        raise device.card.error("E641", f'"{device.name}" has the unknown subcircuit "{name[:60]}"', ", ".join(cures))
    section = device.sections[depth - 1].subcircuits[name]
    if any(each is section for each in device.calls):
        raise device.card.error("E642", f'the subcircuit "{name}" contains itself', f'a subcircuit without "{device.name}"')
    if len(device.calls) >= DEEPEST:
        title = f'"{device.name}" is more than {DEEPEST} subcircuits deep'
        raise device.card.error("E642", title, "fewer nested subcircuits")
    if len(words) - 1 != len(section.ports):
        ports = plural(len(section.ports), "port")
        title = f'"{device.name}" has {plural(len(words) - 1, "node")}, and the subcircuit "{name}" has {ports}'
        raise device.card.error("E640", title, f"nodes for {', '.join(section.ports)}")
    if unknown := [key for key in device.card.pairs if key not in section.defaults]:
        title = f'"{device.name}" sets {unknown[0][:60]}=, which the subcircuit "{name}" does not declare'
        cure = ", ".join(section.defaults) or f".subckt {name} {' '.join(section.ports)} {unknown[0]}=1"
        raise device.card.error("E641", title, cure)
    ends = {port: device.node(node) for port, node in zip(section.ports, words, strict=False)}
    return section, ends, (*device.sections[:depth], section)


def check_name(device: Device, name: str) -> str:
    if re.search(r"[.:\"\\]", name) or not name.isprintable():
        raise device.card.error("E640", f'"{name[:60]}" is not a valid name', "letters, digits, _ + - or spaces")
    return name
