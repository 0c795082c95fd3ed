"""JSON schema of the files that `read_graph` reads, made from the table of kinds; editors use it to complete and check files."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bondgraph.interchange.short.graphs import NO_PARTS
from bondgraph.interchange.short.makers import BLOCK_KEYS, FORMULAS, KINDS, TRANSITION_KEYS, Maker

PUBLISHED = Path(__file__).resolve().parents[3] / "docs" / "static" / "graph.schema.json"
_ANY: dict[str, Any] = {}
_TEXT = {"type": "string"}
_PATHS = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}, {"type": "object", "additionalProperties": _TEXT}]}
_NAMES = {"type": ["object", "null"], "additionalProperties": _TEXT}
_FORMULA = {"type": ["string", "number"], "description": "a formula"}


def short_schema(parts: Mapping[str, Maker] = NO_PARTS) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a file for `read_graph`; `parts` are additional kinds of elements."""
    kinds = {**parts, **KINDS}
    described = {kind: _arguments(kind, maker) for kind, maker in kinds.items()}
    block = _object(dict.fromkeys(BLOCK_KEYS, _ANY), ("equations",))
    one_kind = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": False}
    one_of = {**one_kind, "properties": {**described, "Block": block, "Graph": {"$ref": "#/$defs/graph"}}}
    element = {"anyOf": [{"enum": list(kinds)}, one_of]}
    edge = _object(dict.fromkeys(TRANSITION_KEYS, _ANY), TRANSITION_KEYS[:3])
    states = {"type": "array", "items": _TEXT, "minItems": 1}
    edges = {"anyOf": [edge, {"type": "array", "items": edge}]}
    automaton = _object({"states": states, "initial": _TEXT, "transitions": edges}, ("states", "transitions"))
    chain = {"type": "string", "pattern": "^[^>]+(-+>[^>]+)+$"}
    keys = {
        "elements": {"type": "object", "additionalProperties": {"$ref": "#/$defs/element"}},
        "automata": {"type": ["object", "null"], "additionalProperties": automaton},
        "bonds": {"type": ["array", "null"], "items": chain},
    }
    nested = _object({**keys, "ports": _NAMES, "exports": _NAMES}, ("elements",))
    file = _object({"graph": {"type": "string", "description": "name of the graph"}, **keys}, ("graph", "elements"))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"element": element, "graph": nested}}
    return {**head, **file}


def _object(properties: Mapping[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(properties), "required": [*required], "additionalProperties": False}


def _arguments(kind: str, maker: Maker) -> dict[str, Any]:
    formulas = FORMULAS.get(kind, {})
    parameters = list(inspect.signature(maker).parameters.items())[1:]
    words = [word for word, takes in parameters if takes.kind is not takes.VAR_POSITIONAL]
    properties = {word: _PATHS if word == "signals" else _FORMULA if formulas.get(word) else _ANY for word in words}
    alone = {"type": ["number", "string", "array"]}
    text = (inspect.getdoc(maker) or "").partition("\n\n")[0]
    return {"description": " ".join(text.split()), "anyOf": [_object(properties, ()), alone]}


if __name__ == "__main__":
    PUBLISHED.write_text(json.dumps(short_schema(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
