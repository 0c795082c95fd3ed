"""Document of a model: the section "the model" of a paper, with all of its equations, numbers, automata and definitions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from bondgraph.assembly.system import Statement, System
from bondgraph.compile.compiled import Compiled
from bondgraph.compile.pipeline import Compilable, compiled_form
from bondgraph.errors import refusal
from bondgraph.export.paper import tables
from bondgraph.export.paper.automata import automaton_blocks, clock_blocks
from bondgraph.export.paper.conventions import conventions, method, summary
from bondgraph.export.paper.equations import REMARK, Counterparts, Writer, is_needless
from bondgraph.export.paper.markup.as_latex import as_latex
from bondgraph.export.paper.markup.as_markdown import as_markdown
from bondgraph.export.paper.markup.as_typst import as_typst
from bondgraph.export.paper.markup.content import (
    Block,
    Equations,
    Figure,
    InlineCode,
    Math,
    Numbered,
    Paper,
    Paragraph,
    Piece,
    Section,
    Words,
    split_formulas,
    with_numbers,
)
from bondgraph.export.paper.notation.definitions import SIGNIFICANT, Definition, Functions, width
from bondgraph.export.paper.notation.letters import Letters, letters_of
from bondgraph.export.paper.notation.parts import Branch, Component, Parts, branches, inside, parts_of
from bondgraph.export.value_roles import balance_values, solver_values, transition_values
from bondgraph.model.laws import Junction, Ratio, SkewGyrator
from bondgraph.model.model import Model
from bondgraph.model.ops import sources_of
from bondgraph.output.tex import EXACT
from bondgraph.render.diagram import diagram
from screws.errors import plural

FOLD_ABOVE = 16
"""Number of elements above which the figure folds nested graphs."""
MAX_BOXES = 80


def figure(compiled: Compiled, parts: Parts) -> list[Block]:
    model = compiled.model
    folded = len(model.elements) > FOLD_ABOVE and bool(model.groups)
    if (len(parts.root.parts) if folded else len(model.elements)) > MAX_BOXES:
        words = (
            f"The bond graph, with {plural(len(model.elements), 'element')}, is too large for a page; ",
            InlineCode("diagram(model)"),
            " draws it.",
        )
        return [Paragraph(words)]
    names = {part.path: f"{part.number} {part.path.rpartition('.')[2]}" for part in parts.by_path.values()}
    drawing = diagram(compiled, folded="all" if folded else (), title="", names=names)
    folding = ", nested graphs folded" if folded else ""
    caption = (f"The bond graph{folding}; elements have the numbers of their sections.",)
    return [Figure(drawing.svg, caption, drawing.width, drawing.height)]


MAX_EQUATIONS = 1500
"""Maximum number of equations; in larger models, only parts that occur several times are written."""


def paper_of(compiled: Compiled, digits: int) -> Paper:
    system, model = compiled.system, compiled.model
    parts = parts_of(model)
    tree = branches(system, model, parts)
    letters = letters_of(system, parts, tree, (name for name in system.values if not _of_machine(system, name)))
    body = _Body(compiled, letters, Functions(digits), _hidden(compiled))
    writer = Writer(system, letters, body.definitions)
    length = sum(len(inside(system, branch.members[0])) for branch in tree)
    written = [branch for branch in tree if branch.index or length <= MAX_EQUATIONS]
    sections = [block for branch in written for block in body.branch(branch, writer)]
    if len(written) < len(tree):
        kept = f"only parts that occur several times are written here, {len(written)} of {len(tree)}; "
        words = (f"This model would take {length} equations: ", kept, InlineCode("latex(model)"), " lists all of them.")
        sections.insert(0, Paragraph(words))
    balance, ticks = body.balance(writer), clock_blocks(writer)
    noted: dict[str, int] = {}
    functions = [
        block
        for each in body.definitions.definitions.values()
        for block in _definition(each, each.number in body.definitions.with_all_arguments, noted)
    ]
    units = compiled.program.layout.units
    tabled = [*tables.parameters(compiled, letters, units, digits), *tables.states(compiled, letters, units, digits)]
    tabled += tables.values(compiled, letters, units)
    alike = [branch for top in tree for branch in top.all() if branch.index]
    blocks: list[Block] = [
        *summary(compiled, body.count, body.sought),
        *figure(compiled, parts),
        Section("Symbols"),
        *conventions(system, bool(functions), alike, [*tabled, *sections]),
        *tabled,
        Section("Equations"),
        *_joined(sections),
        *balance,
    ]
    blocks += [Section("Clocks and time events", 2), *ticks] if ticks else []
    blocks += method(compiled)
    blocks += [Section("Functions"), *functions] if functions else []
    blocks = list(with_numbers(blocks))
    digest = hashlib.sha256(repr((model.name, blocks)).encode()).hexdigest()[:12]
    return Paper(model.name, (*blocks, Paragraph(("Checksum of the content: ", InlineCode(digest), "."), small=True)))


def _of_machine(system: System, name: str) -> bool:
    return ":" in name and f"{name.partition(':')[0]}.mode" in system.modes


def _hidden(compiled: Compiled) -> frozenset[str]:
    system, elements = compiled.system, compiled.model.elements
    read = {arg for s in system.statements for arg in s.args} | {state.rate for state in system.states}
    ratios = {
        f"{path}.{local}"
        for path, element in elements.items()
        if isinstance(element.law, (Ratio, SkewGyrator))
        for local in ("N", "r", "J")
    }
    counted = {value for _, value in system.energies} | {power.value for power in system.powers}
    counted |= {arg for s in system.statements if counted & set(s.outs) for arg in s.args}
    return frozenset(transition_values(system) | solver_values(system) | balance_values(system) - counted | ratios - read)


@dataclass
class _Body:
    """Writer of a document's parts in order; it numbers the equations."""

    compiled: Compiled
    letters: Letters
    definitions: Functions
    hidden: frozenset[str]
    count: int = 0
    sought: list[tuple[str, str]] = field(default_factory=list)
    """Letters of unknowns, each with the number of the equation that determines it."""

    def numbered(self, latex: str, lead: Words = (), source: str = "") -> Numbered:
        if latex.startswith(REMARK):
            return Numbered(f"in {self.count}, and above", latex, source=source)
        self.count += 1
        return Numbered(str(self.count), latex, lead, source)

    def branch(self, branch: Branch, writer: Writer) -> list[Block]:
        if not branch.index:
            return self.part(branch, writer)
        renamed: dict[str, str] = {}
        rows: list[tuple[str, Sequence[str]]] = []
        for values in branch.outside:
            if len(set(values)) > 1:
                renamed[values[0]] = rf"u_{{{branch.index},{len(renamed) + 1}}}"
                rows.append((renamed[values[0]], [writer.letters[value] for value in values]))
        system = self.compiled.system
        lines = zip(*(inside(system, part) for part in branch.members), strict=True)
        alike = Counterparts(branch.index, {one.outs: tuple(several) for one, *several in lines})
        inner = Writer(system, writer.letters.within(branch, renamed), self.definitions, alike)
        numbers = [part.number for part in branch.members]
        names = [part.path.rpartition(".")[2] for part in branch.members]
        blocks = self.part(branch, inner)
        remark: Words = (
            f"{', '.join(names)} have the same structure; the following applies to each, with ",
            Math(branch.index),
            f" = {', '.join(numbers)}.",
        )
        start = 1 if isinstance(blocks[0], Section) else 0
        table = tables.connections(branch.index, numbers, [*rows, *alike.differs.items()])
        return [*blocks[:start], Paragraph(remark), *blocks[start:], *table]

    def part(self, branch: Branch, writer: Writer) -> list[Block]:
        first = branch.members[0]
        number = writer.letters.number(first.number)
        if first.parts:
            names = ", ".join(part.path.rpartition(".")[2] for part in branch.members)
            above = self._own(first, number, writer)
            below = (block for child in branch.below for block in self.branch(child, writer))
            return [Section(f"{number} {names}", 2), *above, *below]
        return self._own(first, number, writer)

    def _own(self, part: Component, number: str, writer: Writer) -> list[Block]:
        model, system = self.compiled.model, self.compiled.system
        blocks: list[Block] = []
        if part.path in model.elements:
            statements = [s for s in system.statements if s.element == part.path and self._visible(s)]
            lines = [sourced for s in statements for sourced in writer.sourced(s)]
            torn = {f"{unknown.value}:computed" for loop in system.loops for unknown in loop.unknowns}
            indices = (k for k, s in enumerate(statements) for line in writer.equations(s) if not line.startswith(REMARK))
            for k, index in enumerate(indices, start=self.count + 1):
                self.sought += [(writer.letters[out], str(k)) for out in statements[index].outs if out in torn]
            for unknown in system.implicit:
                if unknown.element == part.path:
                    source = sources_of(writer.producer[unknown.held or unknown.residual].op)
                    lines += [(line, source) for line in writer.implicit(unknown)]
                    count = sum(not line.startswith(REMARK) for line, _ in lines)
                    self.sought.append((writer.letters[unknown.value], str(self.count + count)))
            name, kind = model.elements[part.path].name, _kind(model, part.path)
            lead: Words = (Math(rf"\mathbf{{{number}}}"), " ", InlineCode(name), f" ({kind})")
            items = tuple(self.numbered(line, () if k else lead, source) for k, (line, source) in enumerate(lines))
            blocks.append(Equations(items) if items else Paragraph(lead))
        if f"{part.path}.mode" in system.modes:
            blocks += automaton_blocks(writer, model, part.path, number)
        return blocks

    def _visible(self, statement: Statement) -> bool:
        values = self.compiled.system.values
        empty = all(0 in (values[out].shape or ()) for out in statement.outs)
        return not set(statement.outs) <= self.hidden and not is_needless(statement) and not empty

    def balance(self, writer: Writer) -> list[Block]:
        system = self.compiled.system
        if not system.energies:
            return []
        stored = " + ".join(writer.letters[value] for _, value in system.energies)
        gained = [writer.letters[p.value] for p in system.powers if p.role in ("supplied", "injected")]
        lost = [writer.letters[p.value] for p in system.powers if p.role == "dissipated"]
        right = " + ".join(gained) + "".join(f" - {each}" for each in lost) or "0"
        equation = self.numbered(rf"\tfrac{{d}}{{dt}}({stored}) = {right.strip()}")
        when = "Between events, the" if system.events else "The"
        words = (f"{when} stored energy changes by the supplied and dissipated powers:",)
        return [Section("Energy", 2), Paragraph(words), Equations((equation,))]


def _definition(each: Definition, all_arguments: bool, noted: dict[str, int]) -> list[Block]:
    left = each.results[0] if len(each.results) == 1 else f"({', '.join(each.results)})"
    sized = zip(each.arguments, each.code.shapes, each.reads, strict=True)
    read = [letter for letter, shape, used in sized if 0 not in shape and (used or all_arguments)]
    words: list[Piece] = [Math(rf"{left} = {each.function}({', '.join(read)})")]
    for letter, shape in zip((*each.arguments, *each.results), (*each.code.shapes, *each.code.results), strict=True):
        size = r" \times ".join(map(str, shape))
        words += [", ", Math(rf"{letter} \in \mathbb{{R}}^{{{size}}}")] if shape and letter in (*read, *each.results) else []
    formula = each.formula
    words.append("; entries without an equation are 0" if formula.others_zero else "")
    words.append(f" ({each.source})." if each.source else ".")
    if each.note:
        lines = each.note.split("\n")
        new = [line for line in lines if noted.setdefault(line, each.number) == each.number]
        old = sorted({noted[line] for line in lines} - {each.number})
        new += [f"See {', '.join(f'D{number}' for number in old)}."] if old else []
        words.append(" In the notation of the source: ")
        words += split_formulas(" ".join(new))
    packed = enumerate(_packed((*formula.parts, *formula.results)), start=1)
    items = tuple(Numbered(f"D{each.number}.{k}", line) for k, line in packed)
    return [Paragraph(tuple(words), f"D{each.number} {each.title}.", small=True), Equations(items, small=True)]


_MAX_LINE = 60.0


def _packed(lines: Iterable[str]) -> list[str]:
    packed: list[str] = []
    free = 0.0
    for line in lines:
        size = width(line)
        if size < free:
            packed[-1] += rf",\quad {line}"
        else:
            packed.append(line)
            free = _MAX_LINE
        free -= size
    return packed


def _joined(blocks: Sequence[Block]) -> list[Block]:
    out: list[Block] = []
    for block in blocks:
        if isinstance(block, Equations) and out and isinstance(out[-1], Equations):
            out[-1] = replace(block, items=(*out[-1].items, *block.items))
        else:
            out.append(block)
    return out


def _kind(model: Model, path: str) -> str:
    law = model.elements[path].law
    if not isinstance(law, Junction):
        return model.elements[path].kind
    if law.automaton is None:
        return f"{law.type}-junction"
    return f"X{law.type}-junction, joins while {law.automaton} is {' or '.join(law.active)}"


Style = Literal["latex", "markdown", "typst"]

STYLES: Mapping[str, Callable[[Paper], str]] = {"latex": as_latex, "markdown": as_markdown, "typst": as_typst}


def document(model: Compilable, style: Style = "latex", *, digits: int = SIGNIFICANT) -> str:
    """Return a document of a model that contains everything needed to compute its motion.

    It has the bond graph as a figure, every symbol with its unit, parameters with values, states with initial values, the
    numbered equations of each part (equal parts once), automata with guards, resets and impacts, sampled blocks with their
    clocks, energies and power balance, and the equations of every function that occurs. A model with more than 1500 equations
    gets only those of parts that occur several times; an array with more than 400 numbers, only its size.

    Parameters
    ----------
    model : compiled, or a graph, which is compiled first.
    style : "latex" for pdflatex, "markdown" with formulas for KaTeX or MathJax, or "typst", which needs no packages.
    digits : significant digits of numbers, 1 to 17; with 17, they are exactly the values of the model.

    Raises `ModelError` E100 if `model` is not a model, E335 for delays, E693 for FMUs, E279 for an unknown style, E557 for
    invalid digits, E280 for a symbol or formula of your own with a LaTeX command that has no form in Typst.
    """
    if style not in STYLES:
        names = ", ".join(f'"{name}"' for name in get_args(Style))
        raise refusal("E279", f"style={style!r} is not a style of documents", f"one of {names}", about="document", places=())
    if type(digits) is not int or not 1 <= digits <= EXACT:
        title = f"digits={digits!r} is not a number of significant digits"
        raise refusal("E557", title, f"an integer from 1 to {EXACT}", about="document", places=())
    return STYLES[style](paper_of(compiled_form(model, "document"), digits))
