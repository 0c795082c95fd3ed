"""The instructions of a tape: a number, a name and the count of arguments for each."""

from __future__ import annotations

NAMES = (
    "constant", "input", "add", "subtract", "multiply", "divide", "negative", "reciprocal", "power",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "tanh",
    "absolute", "sign", "floor", "minimum", "maximum", "less", "less_equal", "equal", "both", "either", "opposite", "where",
)  # fmt: skip
"""Name of instruction `code`: `NAMES[code]`; elementary functions are named as in `screws.scalars`."""

CODES = {name: code for code, name in enumerate(NAMES)}

(
    CONSTANT, INPUT, ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATIVE, RECIPROCAL, POWER,
    SIN, COS, TAN, ASIN, ACOS, ATAN, ATAN2, SQRT, EXP, LOG, TANH,
    ABSOLUTE, SIGN, FLOOR, MINIMUM, MAXIMUM, LESS, LESS_EQUAL, EQUAL, BOTH, EITHER, OPPOSITE, WHERE,
) = range(len(NAMES))  # fmt: skip

CONDITIONS = frozenset((LESS, LESS_EQUAL, EQUAL, BOTH, EITHER, OPPOSITE))
"""Instructions whose result is true or false; in arithmetic it counts as 1 or 0."""

SELECTS = frozenset((ABSOLUTE, MINIMUM, MAXIMUM, WHERE))
"""Instructions that pass on one of several values: their derivatives select too."""

FLAT = frozenset((CONSTANT, INPUT, SIGN, FLOOR)) | CONDITIONS
"""Instructions whose derivatives are zero."""

COMMUTATIVE = frozenset((ADD, MULTIPLY, MINIMUM, MAXIMUM, EQUAL, BOTH, EITHER))
ODD = frozenset((SIN, TAN, ASIN, ATAN, TANH, SIGN))
EVEN = frozenset((COS, ABSOLUTE))
