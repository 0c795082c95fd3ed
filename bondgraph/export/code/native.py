"""C source whose results are bit-identical to machine code: with this package's elementary functions, and fused operations as
`fma`."""

from __future__ import annotations

import re
from dataclasses import replace

from bondgraph.emit.elementary.code import ELEMENTARY, PERIODIC
from bondgraph.emit.elementary.functions import FAR, OF_TWO
from bondgraph.emit.kernel_language.translate import translate
from bondgraph.emit.printers.c_procedures import source_text
from bondgraph.emit.procedure import renamed
from bondgraph.export.code.c import C
from bondgraph.export.code.printer import Dialect

_CALL = re.compile(rf"\b({'|'.join(ELEMENTARY)})\(")


def native_dialect(prefix: str) -> Dialect:
    return replace(C, form=lambda operation: _CALL.sub(rf"{prefix}\1(", operation.c))


def own_functions(text: str, prefix: str) -> str:
    names = [name for name in ELEMENTARY if re.search(rf"\b{prefix}{name}\(", text)]
    if not names:
        return ""
    inner = f"{prefix}own_"
    printed = source_text(renamed(translate([ELEMENTARY[name] for name in names]), inner), prefix=inner)
    return "\n".join([printed, *(_entry(name, prefix) for name in names)])


def _entry(name: str, prefix: str) -> str:
    function = ELEMENTARY[name]
    letters = "xy"[: 1 + (function in OF_TWO)]
    head = f"static double {prefix}{name}({', '.join(f'double {letter}' for letter in letters)})"
    value = f"{prefix}own_{function.__name__}({', '.join(letters)})"
    if name in PERIODIC:
        value = f"fabs(x) > {FAR!r} ? {name}(x) : {value}"
    return f"{head}\n{{\n    return {value};\n}}\n"
