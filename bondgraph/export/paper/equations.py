"""Numbered equations of a document: the statements of a system in mathematical symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bondgraph.assembly.system import Statement, System, Unknown
from bondgraph.export.latex_lines import fill_arguments
from bondgraph.export.paper.notation.definitions import Definition, Functions, LatexParts, latex_parts
from bondgraph.export.paper.notation.letters import Letters
from bondgraph.model.ops import (
    APPLY,
    APPLY_TRANSPOSED,
    NEGATE,
    SLIPPING,
    SOUGHT,
    STABILISED,
    TIME_DERIVATIVE,
    Choice,
    Constant,
    Gate,
    sources_of,
)
from bondgraph.output.tex import array_latex, escape_latex

ALONG_ARROW = " along the arrow"
"""Suffix of the name of a power that serves only to compute another power."""
REMARK = r"\text{with }"
"""Beginning of a line that only explains symbols in the equations before it."""


@dataclass(frozen=True)
class Counterparts:
    """Equal parts whose equations are written once: the index letter, and the omitted statements of the other parts."""

    index: str
    others: Mapping[tuple[str, ...], tuple[Statement, ...]]
    """Corresponding statements of the other parts, by the outputs of a statement of the first part."""
    differs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Value in each part of the functions and constants that differ, by name."""


class Writer:
    """Writer of statements in mathematical symbols; it collects the definitions that the statements need."""

    def __init__(self, system: System, letters: Letters, definitions: Functions, alike: Counterparts | None = None):
        self.system, self.letters, self.definitions, self.alike = system, letters, definitions, alike
        self.producer: Mapping[str, Statement] = {out: s for s in system.statements for out in s.outs}

    def _siblings(self, statement: Statement) -> tuple[Statement, ...]:
        return self.alike.others.get(statement.outs, ()) if self.alike else ()

    def equations(self, statement: Statement) -> list[str]:
        if statement.op is SOUGHT:
            one, other = (self.letters[arg] for arg in statement.args[1:])
            return [f"{one} = {other}"]
        left = [self.letters[out] for out in statement.outs]
        parts = latex_parts(statement.op, len(left))
        if parts is None or len(left) == 1:
            several = ", ".join(left)
            return [f"{several if len(left) == 1 else f'({several})'} = {self.right(statement)}"]
        letters = [self.letters[arg] for arg in statement.args]
        vectors = self._vectors(statement)
        right = (fill_arguments(_with_diagonals(line, vectors), letters) for line in parts.lines)
        lines = [f"{one} = {other}" for one, other in zip(left, right, strict=True)]
        remarks = self._remarks(parts, letters).removeprefix(r"\text{ with }")
        return [*lines, REMARK + remarks] if remarks else lines

    @staticmethod
    def _remarks(parts: LatexParts, letters: Sequence[str]) -> str:
        remarks = (fill_arguments(remark, letters) for remark in parts.remarks)
        return "".join(rf"\text{{{', ' if k else ' with '}}}{remark}" for k, remark in enumerate(remarks))

    def right(self, statement: Statement) -> str:
        operation = statement.op
        if operation is NEGATE and statement.args[0].endswith(ALONG_ARROW):
            return f"-{self.right(self.producer[statement.args[0]])}"
        empty = [0 in shape for shape in self._shapes(statement)]
        letters = ["" if nothing else self.letters[arg] for arg, nothing in zip(statement.args, empty, strict=True)]
        if isinstance(operation, Gate):
            return rf"{letters[1]} \text{{ if }} {self.mode(statement.args[0], operation.active)} \text{{, else }} 0"
        if isinstance(operation, Choice):
            held = self.mode(statement.args[0], operation.active)
            return rf"{letters[1]} \text{{ if }} {held} \text{{, else }} {letters[2]}"
        if operation is TIME_DERIVATIVE:
            return self.slope(statement.args[0])
        if isinstance(operation, Constant):
            texts = [array_latex(each.op(), self.definitions.digits) for each in (statement, *self._siblings(statement))]
            return self._one_of("c", texts) if len(set(texts)) > 1 else texts[0]
        parts = latex_parts(operation, len(statement.outs))
        if parts is not None and len(statement.outs) == 1:
            rows = operation in (APPLY, APPLY_TRANSPOSED)  # their vectors are rows
            line = parts.lines[0] if rows else _with_diagonals(parts.lines[0], self._vectors(statement))
            return fill_arguments(line, letters) + self._remarks(parts, letters)
        short = [self.definitions.plain(each.op, self._shapes(each), letters) for each in (statement, *self._siblings(statement))]
        if short[0] and len(set(short)) == 1:
            return short[0]
        each = [self._definition(one) for one in (statement, *self._siblings(statement))]
        functions = [definition.function for definition in each]
        function = functions[0] if len(set(functions)) == 1 else self._one_of(functions[0].partition("_")[0], functions)
        reads = [any(used) for used in zip(*(definition.reads for definition in each), strict=True)]
        if {definition.reads for definition in each} != {tuple(reads)}:
            reads = [True] * len(letters)
            self.definitions.with_all_arguments.update(definition.number for definition in each)
        return f"{function}({', '.join(letter for letter, read in zip(letters, reads, strict=True) if letter and read)})"

    def _shapes(self, statement: Statement) -> list[tuple[int, ...]]:
        return [self.system.values[_bare(arg)].shape or () for arg in statement.args]

    def _vectors(self, statement: Statement) -> list[bool]:
        """Return for each argument True if it is a vector; a pose multiplies as a matrix, although its state is a vector."""
        values = (self.system.values[_bare(arg)] for arg in statement.args)
        return [len(value.shape or ()) == 1 and value.unit != POSE_UNIT for value in values]

    def _definition(self, statement: Statement) -> Definition:
        arguments = [self.letters.letters[_bare(arg)].core for arg in statement.args]
        results = [self.letters.letters[out].core if out in self.letters.letters else "y" for out in statement.outs]
        return self.definitions.of(statement.op, self._shapes(statement), arguments, results)

    def _one_of(self, letter: str, each: Sequence[str]) -> str:
        assert self.alike is not None
        for name, texts in self.alike.differs.items():
            if texts == tuple(each):
                return name
        name = f"{letter}_{{{self.alike.index},{len(self.alike.differs) + 1}}}"
        self.alike.differs[name] = tuple(each)
        return name

    def sourced(self, statement: Statement) -> list[tuple[str, str]]:
        lines, sources = self.equations(statement), statement.op.source.split("\n")
        in_full = isinstance(statement.op, Constant) or latex_parts(statement.op, len(statement.outs)) is not None
        if not in_full:
            return [(line, "") for line in lines]
        return list(zip(lines, sources if len(sources) == len(lines) else [sources_of(statement.op)] * len(lines), strict=True))

    def mode(self, mode: str, active: Sequence[int]) -> str:
        names, states = self.letters[mode], self.system.modes[mode].states
        return r" \text{ or } ".join(rf"{names} = \text{{{escape_latex(states[k])}}}" for k in active)

    def slope(self, name: str) -> str:
        return rf"\tfrac{{d}}{{dt}}({self.letters[name]})"

    def implicit(self, unknown: Unknown) -> list[str]:
        if not unknown.held:
            return [f"{self.right(self.producer[unknown.residual])} = 0"]
        if unknown.reason == "switch" and unknown.algebraic:
            held, off = (f"{self.letters[name]} = 0" for name in (unknown.vanishing, unknown.value))
        else:
            held, off = self._constraint(unknown)
        before = []
        if unknown.reason == "constraint" and f"{unknown.element}.h" in self.producer:
            before = [rf"\tfrac{{d}}{{dt}}({self.letters[f'{unknown.element}.h']}) = {self.letters[unknown.vanishing]}"]
        if unknown.residual == unknown.held:
            return [*before, held]
        choice = self.producer[unknown.residual]
        assert isinstance(choice.op, Choice)
        when = self.mode(choice.args[0], choice.op.active)
        if unknown.algebraic and unknown.reason == "constraint":
            held += rf"\text{{, without the term }}{self.slope(unknown.vanishing)}\text{{ if an unknown acts on it directly,}}"
        return [*before, rf"{held} \text{{ if }} {when} \text{{, else }} {off}"]

    def _constraint(self, unknown: Unknown) -> tuple[str, str]:
        held = self.producer[unknown.held]
        flow = self.letters[unknown.vanishing]
        if held.op is STABILISED:
            position = self.letters[f"{unknown.element}.h"]
            a1, a0, a2 = (self.letters[name] for name in held.args[3:])
            left_side = rf"\tfrac{{d}}{{dt}}({flow}) + {a1}\,{flow} + {a0}\,{position} + {a2}\,({position})^3"
        else:
            left_side = rf"\tfrac{{d}}{{dt}}({flow}) + {self.letters[held.args[2]]}\,{flow}"
        off = self.producer.get(self.producer[unknown.residual].args[2]) if unknown.residual != unknown.held else None
        if off is not None and off.op is SLIPPING:
            return f"{left_side} = 0", f"{self.letters[off.args[0]]} = {self.letters[off.args[1]]}"
        return f"{left_side} = 0", f"{self.letters[unknown.value]} = 0"


POSE_UNIT = "1, m"
"""Unit of a pose: quaternion and position."""

_FACTOR = re.compile(r"#(\d+)(\^\{-1\})?(?=(?:\\,| )*#(\d+))")


def _with_diagonals(line: str, vectors: Sequence[bool]) -> str:
    def factor(match: re.Match[str]) -> str:
        both = vectors[int(match[1]) - 1] and vectors[int(match[3]) - 1]
        return rf"\operatorname{{diag}}(#{match[1]}){match[2] or ''}" if both else match[0]

    return _FACTOR.sub(factor, line)


def _bare(name: str) -> str:
    return name.removesuffix(":computed").lstrip("-")


def is_needless(statement: Statement) -> bool:
    return statement.outs[0].endswith(ALONG_ARROW) or (statement.op is NEGATE and statement.outs[0] == f"-{statement.args[0]}")
