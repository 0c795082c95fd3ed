"""How values are written: LaTeX for every value of a system, from its symbol or from the user's name."""

from __future__ import annotations

from bondgraph.equations.system import System, Value

_LOCAL = {
    "effort": "e", "flow": "f", "power": "P", "energy": "E", "mode": "m", "stiffness": "K", "capacitance": "C",
    "inertia": "I", "resistance": "R", "conductance": "G", "damping": "D", "force": "F", "mass": "m",
}  # fmt: skip
"""Letters of the literature for the usual local names; other names of one letter stand for themselves."""


def value_latex(system: System, name: str) -> str:
    """LaTeX of one value: its own symbol with the path of its owner as a subscript where it is not unique."""
    value = system.values.get(name)
    if name == "time":
        return "t"
    if name.startswith("-"):
        return "-" + value_latex(system, name[1:])
    if value is not None and value.symbol:
        same = [other for other in system.values.values() if other.symbol == value.symbol]
        return value.symbol if len(same) == 1 else _with_owner(value.symbol, value)
    path, _, local = name.rpartition(".")
    if ":" in local:
        bond, _, variable = name.rpartition(":")
        return rf"{_LOCAL.get(variable, variable)}_{{{text(bond)}}}"
    dot = local.endswith("'")
    local = local.removesuffix("'")
    letter = _LOCAL.get(local) or (local if len(local) == 1 else text(local))
    written = rf"{letter}_{{{text(path)}}}" if path else letter
    return rf"\dot{{{letter}}}_{{{text(path)}}}" if dot and path else rf"\dot{{{letter}}}" if dot else written


def _with_owner(symbol: str, value: Value) -> str:
    owner = value.name.rpartition(".")[0]
    return rf"\left({symbol}\right)_{{{text(owner)}}}"


def text(words: str) -> str:
    """Plain words inside LaTeX mathematics."""
    return r"\text{" + r"}\to\text{".join(escaped(piece) for piece in words.split("->")) + "}"


_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    **{sign: "\\" + sign for sign in "_&#%${}"},
})  # fmt: skip


def escaped(words: str) -> str:
    """Plain words with every sign that LaTeX would read as a command written out."""
    return words.translate(_SPECIAL)
