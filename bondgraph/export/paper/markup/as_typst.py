"""Typst of a document: source for the Typst compiler without packages, with embedded figures.

LaTeX formulas of documents are translated into Typst formulas, with the definitions of `typst_head.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from bondgraph.errors import ModelError, refusal
from bondgraph.export.paper.markup.content import Block, Equations, Figure, Paper, Paragraph, Section, TableBlock, Words, markup

_WORDS = re.findall(
    r"(\w+) (\S+)",
    """
    alpha α  beta β  gamma γ  delta δ  zeta ζ  eta η  theta θ  iota ι  kappa κ  lambda λ  mu μ  nu ν  xi ξ  pi π  rho ρ
    sigma σ  tau τ  upsilon υ  varphi φ  chi χ  psi ψ  omega ω  epsilon ϵ  varepsilon ε  vartheta ϑ  varpi ϖ  varrho ϱ
    varsigma ς  phi ϕ  Gamma Γ  Delta Δ  Theta Θ  Lambda Λ  Xi Ξ  Pi Π  Sigma Σ  Upsilon Υ  Phi Φ  Psi Ψ  Omega Ω
    cdot ⋅  times ×  circ ∘  pm ±  mp ∓  ast ∗  star ⋆  otimes ⊗  oplus ⊕  wedge ∧  vee ∨  neg ¬  le ≤  leq ≤  ge ≥
    geq ≥  ne ≠  neq ≠  approx ≈  equiv ≡  sim ∼  ll ≪  gg ≫  propto ∝  in ∈  notin ∉  subset ⊂  cup ∪  cap ∩  to →
    rightarrow →  leftarrow ←  mapsto ↦  Rightarrow ⇒  perp ⟂  parallel ∥  infty ∞  nabla ∇  partial ∂  top ⊤  bot ⊥
    forall ∀  exists ∃  emptyset ∅  ell ℓ  hbar ℏ  prime ′  dagger †  ldots …  dots …  cdots ⋯  vdots ⋮  ddots ⋱  sum ∑
    prod ∏  int ∫  oint ∮  Re ℜ  Im ℑ  vert |  lvert |  rvert |  mid |  Vert ‖  lVert ‖  rVert ‖  lfloor ⌊  rfloor ⌋
    lceil ⌈  rceil ⌉  langle ⟨  rangle ⟩  imath ı  jmath ȷ
    """,
)
_SIGNS: Mapping[str, str] = {
    **dict(_WORDS),
    **{"lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "{": "{", "}": "}", "|": "‖"},
    **{",": "thin", ":": "med", ">": "med", ";": "thick", "!": "#h(-1em / 6);", " ": "space", "quad": "quad", "qquad": "wide"},
    **{"_": r"\_", "&": r"\&", "#": r"\#", "$": r"\$", "%": "%"},
}
_NAMES = frozenset(
    re.findall(
        r"\w+",
        "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh exp ln log lg min max sup inf lim det dim ker deg gcd arg",
    )
)
_ACCENTS: Mapping[str, str] = {
    **{"dot": "dot", "ddot": "dot.double", "dddot": "dot.triple", "bar": "macron", "hat": "hat", "widehat": "hat"},
    **{"tilde": "tilde", "widetilde": "tilde", "vec": "arrow", "check": "caron", "breve": "breve", "acute": "acute"},
    **{"grave": "grave", "mathring": "circle", "overline": "overline", "underline": "underline"},
    **{"boldsymbol": "bold", "mathbb": "bb", "mathcal": "cal", "mathfrak": "frak", "sqrt": "sqrt"},
}
_FACES: Mapping[str, tuple[str, str]] = {
    "mathrm": ("", "upright({})"),
    "mathsf": ("sans({})", "sf({})"),
    "mathbf": ("bold({})", "bold(upright({}))"),
    "mathit": ("italic({})", "italic({})"),
    "mathtt": ("mono({})", "mono({})"),
}
"""Typst's form of each font command: for words, and for single letters and formulas."""
_MATRICES: Mapping[str, str] = {"bmatrix": '"["', "pmatrix": '"("', "vmatrix": '"|"', "Bmatrix": '"{"', "matrix": "#none"}
_AS_THEY_ARE = frozenset("+-=<>()[]|!?*.,;:%")
_ESCAPED = frozenset('/@"`')
_OPEN, _CLOSE = frozenset("([{⌊⌈⟨"), frozenset(")]}⌋⌉⟩")
_BARS = frozenset("|‖")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\d+(?:\.\d+)*|:=|\s+|.", re.DOTALL)
_WORD = re.compile(r"(?:[^\W_]|[.'-]|\\[ _&#%$])+")
_IN_TEXT: Mapping[str, str] = {r"\textbackslash": "\\", r"\textasciicircum": "^", r"\textasciitilde": "~", "~": "\u00a0"}
_LONG = 20
"""Number of characters, with quotes, above which words in a formula may be broken."""
_END = ""


@dataclass(frozen=True)
class _Piece:
    """Piece of a formula: its body, scripts, and whether adjacent spaces are visible."""

    body: str
    scripts: str = ""
    spaced: bool = False

    @property
    def text(self) -> str:
        return self.body + self.scripts


def typst_math(latex: str) -> str:
    """Return a LaTeX formula in Typst, without dollar signs.

    Raises `ModelError` E280 for an unknown command, which only a symbol or formula of the user can contain.

    >>> typst_math(r"\\dot{q}_{1} = \\frac{\\mathsf{a}}{2}\\,x^{\\top}")
    'dot(q)_1 = frac(sf(a), 2) br x^(⊤)'
    """
    return _joined(_Reader(latex).sequence((_END,), outermost=True))


def quoted(words: str) -> str:
    return '"' + words.replace("\\", r"\\").replace('"', r"\"") + '"'


class _Reader:
    def __init__(self, latex: str):
        self.latex, self.tokens, self.at = latex, _TOKEN.findall(latex), 0

    def refused(self, what: str) -> ModelError:
        cure = 'style="latex", or a different symbols= or latex= in the model'
        return refusal("E280", f"the formula {self.latex} cannot be written in Typst: {what}", cure, about="document", places=())

    def next(self) -> str:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else _END

    def take(self, expected: str = "") -> str:
        token = self.next()
        if token == _END or (expected and token != expected):
            raise self.refused(f"{expected} is missing" if expected else "it ends too early")
        self.at += 1
        return token

    def sequence(self, ends: tuple[str, ...], outermost: bool = False) -> list[_Piece]:
        result: list[_Piece] = []
        while (token := self.next()) not in ends:
            pieces = self.scripted()
            pieces = [part for piece in pieces for part in _parted(piece)] if outermost else pieces
            if outermost and token == r"\,":
                pieces = [_Piece("br")]
            elif outermost and (token == "," or (token == r"\text" and pieces[-1].body.endswith(' "'))):
                pieces.append(_Piece("br" if token == "," else "cut"))
            result += pieces
        return result

    def scripted(self) -> list[_Piece]:
        base = [] if self.next() in ("_", "^", "'") else self.atom()
        scripts = ""
        while (token := self.next()) in ("_", "^", "'"):
            self.take()
            scripts += token if token == "'" else f"{token}{self.script()}"
        if not scripts:
            return base
        if len(base) == 1 and not base[0].scripts:
            return [replace(base[0], scripts=scripts, spaced=base[0].body in _BARS)]
        return [_Piece(f"attach({_argument(base)})" if base else '""', scripts)]

    def script(self) -> str:
        text = _joined(self.group())
        return text if len(text) == 1 and text.isalnum() else f"({text})"

    def group(self) -> list[_Piece]:
        token = self.next()
        if token[:1].isdigit():  # without braces, one digit
            self.tokens[self.at : self.at + 1] = [token[0], *_TOKEN.findall(token[1:])]
        if token != "{":
            return self.atom()
        self.take()
        pieces = self.sequence(("}", _END))
        self.take("}")
        return pieces

    def raw(self) -> str:
        if self.next() != "{":
            return self.take()
        self.take()
        start, depth = self.at, 1
        while self.at < len(self.tokens):
            depth += {"{": 1, "}": -1}.get(self.tokens[self.at], 0)
            self.at += 1
            if not depth:
                return "".join(self.tokens[start : self.at - 1])
        raise self.refused("} is missing")

    def atom(self) -> list[_Piece]:
        if self.next() == "{":
            return self.group()
        token = self.take()
        if token.startswith("\\") and len(token) > 1:
            return self.command(token[1:])
        if token == ":=":
            return [_Piece("≔")]
        if token[0].isdigit():
            return [_Piece(token)] if token.count(".") < 2 else [_Piece(quoted(token), spaced=True)]
        if token.isalpha() or token in _AS_THEY_ARE:
            return [_Piece(token, spaced=token in _BARS)]
        if token in _ESCAPED:
            return [_Piece(f"\\{token}")]
        raise self.refused(f"{token} is misplaced")

    def command(self, name: str) -> list[_Piece]:
        if name in _SIGNS:
            return [_Piece(_SIGNS[name], spaced=_SIGNS[name] in _BARS)]
        if name in _NAMES:
            return [_Piece(name)]
        if name == "sqrt" and self.next() == "[":
            self.take()
            degree = self.sequence(("]", _END))
            self.take("]")
            return [_Piece(f"root({_argument(degree)}, {_argument(self.group())})")]
        if name in _ACCENTS:
            return [_Piece(f"{_ACCENTS[name]}({_argument(self.group())})")]
        if name in _FACES:
            return self.face(name)
        match name:
            case "frac" | "tfrac" | "dfrac":
                fraction = f"frac({_argument(self.group())}, {_argument(self.group())})"
                return [_Piece(f"display({fraction})" if name == "dfrac" else fraction)]
            case "text" | "textrm" | "mbox":
                return self.text(self.raw())
            case "operatorname":
                return [_Piece(f"op({quoted(self.raw())})")]
            case "left":
                return self.fenced()
            case "begin":
                return self.matrix()
        raise self.refused(f"\\{name} is unknown")

    def face(self, name: str) -> list[_Piece]:
        words, letters = _FACES[name]
        start = self.at
        raw = self.raw()
        if _WORD.fullmatch(raw) is None:
            self.at = start
            return [_Piece(letters.format(_argument(self.group())))]
        plain = re.sub(r"\\(.)", r"\1", raw)
        if len(plain) == 1 and words:
            return [_Piece(letters.format(plain))]
        return [_Piece(words.format(quoted(plain)) if words else quoted(plain), spaced=True)]

    def text(self, raw: str) -> list[_Piece]:
        result: list[_Piece] = []
        words = ""
        for token in re.findall(r"\$[^$]*\$|\\text[a-z]+(?:\{\})?|\\.|.", raw, re.DOTALL):
            if token.startswith("$") and len(token) > 1:
                result += [_Piece(quoted(words), spaced=True)] if words else []
                result += _Reader(token[1:-1]).sequence((_END,))
                words = ""
            elif token.startswith("\\text"):
                words += _IN_TEXT.get(token.removesuffix("{}")) or self._unknown(token)
            else:
                words += _IN_TEXT.get(token, token.removeprefix("\\"))
        return [*result, _Piece(quoted(words), spaced=True)] if words else result

    def _unknown(self, token: str) -> str:
        raise self.refused(f"{token} is unknown")

    def fenced(self) -> list[_Piece]:
        left = self.fence()
        inner = self.sequence((r"\right", _END))
        self.take(r"\right")
        return [_Piece(f"lr({_argument([*left, *inner, *self.fence()])})")]

    def fence(self) -> list[_Piece]:
        pieces = self.atom()
        return [] if pieces[0].body == "." else pieces

    def matrix(self) -> list[_Piece]:
        kind = self.raw()
        if kind not in _MATRICES:
            raise self.refused(f"\\begin{{{kind}}} is unknown")
        rows: list[list[str]] = [[]]
        while True:
            rows[-1].append(_argument(self.sequence(("&", r"\\", r"\end", _END))))
            token = self.take()
            if token == r"\end":
                break
            if token == r"\\":
                rows.append([])
        self.raw()
        rows = rows[:-1] if rows[-1] == [""] else rows
        inside = "; ".join(", ".join(row) for row in rows)
        return [_Piece(f"display(mat(delim: {_MATRICES[kind]}, {inside}))")]


def _parted(piece: _Piece) -> list[_Piece]:
    if not (piece.body.startswith('"') and len(piece.body) > _LONG and not piece.scripts):
        return [piece]
    parts = [_Piece(f'"{part}"', spaced=True) for part in re.findall(r"[^_ ]*[_ ]|[^_ ]+", piece.body[1:-1])]
    return [each for part in parts for each in (part, _Piece("cut"))][:-1]


def _argument(pieces: Iterable[_Piece]) -> str:
    return _joined([replace(each, body=f"\\{each.body}") if each.body in (",", ";", ":") else each for each in pieces])


def _joined(pieces: list[_Piece]) -> str:
    depth, lowest = 0, 0
    for each in pieces:
        depth += (each.body in _OPEN) - (each.body in _CLOSE)
        lowest = min(lowest, depth)
    if depth or lowest:
        pieces = [replace(each, body=f"\\{each.body}") if each.body in _OPEN | _CLOSE else each for each in pieces]
    out = pieces[0].text if pieces else ""
    for k, (before, after) in enumerate(pairwise(pieces)):
        signed = k == 0 and before.body in ("+", "-") and not after.spaced
        out += ("" if signed else _between(before, after)) + after.text
    return out


def _between(before: _Piece, after: _Piece) -> str:
    """Return a space between letters and names, but not next to words and bars, where it would be visible."""
    if before.spaced or after.spaced:
        last, first = before.text[-1], after.text[0]
        name = last.isalnum() and first.isalnum()
        return '""' if name or last + first in ("||", "[|", "|]", "‖|", "|‖") else ""
    calling = len(before.text) == 1 and before.body.isalpha() and after.body == "("
    tight = before.body in _OPEN and not before.scripts
    return "" if tight or calling or after.body in (*_CLOSE, ",", r"\,") else " "


_HEAD = Path(__file__).with_name("typst_head.txt").read_text(encoding="utf-8")
"""Page settings and definitions for formulas; Typst itself breaks formulas only after relations and operators."""


def as_typst(paper: Paper) -> str:
    """Return the source of a whole document. Raises `ModelError` E280 for a user's formula that Typst cannot express."""
    title = _plain(paper.title)
    head = [_HEAD, f"#set document(title: [{title}])", f"#align(center, text(size: 1.44em, weight: 700)[{title}])"]
    return "\n\n".join(["\n".join(head), *map(_block, paper.blocks)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Section(title, level):
            return f"{'=' * level} {_plain(title)}"
        case Paragraph(words, title, small):
            text = (f"*{_plain(title)}* " if title else "") + _words(words)
            return f"#small[{text}]" if small else text
        case Equations(items, small):
            lines = "\n".join(
                f"#equation[({f'{_plain(each.source)}, ' if each.source else ''}{each.number})]"
                f"[{f'{_words(each.lead)}#h(1em)' if each.lead else ''}{_formula(each.latex)}]"
                for each in items
            )
            return f"#small[\n{lines}\n]" if small else lines
        case TableBlock(heads, widths, rows, caption):
            columns = ", ".join(f"{100 * width / sum(widths):.1f}%" for width in widths)
            cells = ["  " + " ".join(f"[{_words(cell)}]," for cell in row) for row in rows]
            headings = " ".join(f"[{_plain(head)}]," for head in heads)
            return "\n".join([f"#rows([{_words(caption)}], ({columns}), ({headings}),", *cells, ")"])
        case Figure(svg, caption, width, height):
            size = f"width: {width * block.scale:.1f}pt, height: {height * block.scale:.1f}pt"
            image = f'image(bytes({quoted(svg)}), format: "svg", {size})'
            if block.is_turned:
                return f"#place(auto, float: true)[\n#rotate(-90deg, reflow: true, {image})\n{_words(caption)}\n]"
            return f"#align(center, block(breakable: false)[\n#{image}\n{_words(caption)}\n])"


def _formula(latex: str) -> str:
    return f"${typst_math(latex)}$"


def _words(words: Words) -> str:
    text = markup(words, _formula, lambda name: f"#raw({quoted(name)})", _plain)
    return re.sub(r"(#raw\(\"(?:[^\"\\]|\\.)*\"\))(?=[(\[.])", r"\1;", text)  # text directly after a name is not an argument


def _plain(words: str) -> str:
    words = re.sub(r"[\\#$*_`<>@~\[\]\"']", r"\\\g<0>", words)
    words = re.sub(r"(?<=[-/.])[-/*.]", r"\\\g<0>", words)  # special characters, comments, addresses
    return re.sub(r"(?m)^(\s*\d+(?=\.)|\s*(?=[-+=/]))([-+=/.])", r"\1\\\2", words)  # lines that would become items of a list
