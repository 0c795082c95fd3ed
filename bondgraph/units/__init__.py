"""Units as engineers write them: a table of symbols, the reader, and conversions to the unit that a law expects."""

from bondgraph.units.conversions import Conversion, Mismatch, conversion, entry_units, in_si
from bondgraph.units.reading import Unit, Unreadable, quantity_cure, read, symbols_of, unknown_unit
from bondgraph.units.symbols import SYMBOLS

__all__ = [
    "SYMBOLS",
    "Conversion",
    "Mismatch",
    "Unit",
    "Unreadable",
    "conversion",
    "entry_units",
    "in_si",
    "quantity_cure",
    "read",
    "symbols_of",
    "unknown_unit",
]
