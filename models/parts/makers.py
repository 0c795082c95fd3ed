"""Functions that make parts, by name: further kinds of elements for handwritten files."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from screwbond.models.parts import chemical, electrical, electronics, hydraulic, machines, magnetic, motion, thermal

from bondgraph import Element, Graph

_DOMAINS = (chemical, electrical, electronics, hydraulic, machines, magnetic, motion, thermal)
MAKERS: Mapping[str, Callable[..., Element | Graph]] = MappingProxyType(
    {name: part.make for domain in _DOMAINS for name, part in domain.SHELF.parts.items()}
)
