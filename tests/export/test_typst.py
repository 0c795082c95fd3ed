"""Typst documents contain every formula with all its letters, and compile without a warning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from bondgraph import J1, C, Graph, ModelError, R, compile_model
from bondgraph.export import document
from tests.acceptance.suite import SUITE
from tests.at_releases import one_in
from tests.export.documented import MODELS, paper
from tests.export.test_document import KATEX
from tests.inner.export import Equations, Figure, InlineCode, Math, Paper, Paragraph, Section, TableBlock, as_typst, typst_math
from tests.laws.test_acceptance_models import shown_by

try:
    import typst
except ImportError:
    typst = None  # type: ignore[assignment]

needs_typst = pytest.mark.skipif(typst is None, reason="Typst is not installed")


def printed(source: str) -> list[str]:
    _, warnings = typst.Compiler(source.encode()).compile_with_warnings(format="pdf")
    return [str(each) for each in warnings]


def formulas(content: Paper) -> Iterator[str]:
    for block in content.blocks:
        match block:
            case Paragraph(words):
                runs: list[Any] = [words]
            case Equations(items):
                runs = [(*each.lead, Math(each.latex)) for each in items]
            case TableBlock(_, _, rows, caption):
                runs = [caption, *(cell for row in rows for cell in row)]
            case Figure(_, caption):
                runs = [caption]
            case Section():
                runs = []
        yield from (piece.latex for run in runs for piece in run if isinstance(piece, Math))


def letters_of_latex(latex: str) -> str:
    latex = re.sub(r"\\(?:begin|end)\{bmatrix\}", "", latex)
    return re.sub(r"[^A-Za-z0-9+=<>()\[\].|-]", "", re.sub(r"\\[a-zA-Z]+|\\.", "", latex.replace(":=", "")))


def letters_of_typst(source: str) -> str:
    out, closing = "", list[str]()
    source = source.replace('delim: "[", ', "")
    for token in re.findall(r'"(?:[^"\\]|\\.)*"|[_^]\(|[a-zA-Z.]{2,}\(|[a-zA-Z]{2,}|\\.|.', source):
        if token.startswith('"'):
            out += re.sub(r"[^A-Za-z0-9().]", "", token)
        elif len(token) > 1 and token.endswith("("):
            closing.append("")
        elif token in ("(", "["):
            closing.append("seen")
            out += token
        elif token in (")", "]"):
            out += token if not closing or closing.pop() else ""
        elif len(token) == 1:
            out += re.sub(r"[^A-Za-z0-9+=<>.|-]", "", token)
    return out


@pytest.mark.parametrize("name", MODELS)
def test_no_letter_of_a_formula_is_lost(name: str) -> None:
    source = as_typst(paper(name))
    for latex in set(formulas(paper(name))):
        written = typst_math(latex)
        assert f"${written}$" in source
        assert letters_of_typst(written) == letters_of_latex(latex), (latex, written)


@pytest.mark.thorough
@needs_typst
@pytest.mark.parametrize("name", MODELS)
def test_the_compiler_takes_it(name: str) -> None:
    assert not printed(as_typst(paper(name)))


@pytest.mark.thorough
@needs_typst
@pytest.mark.parametrize("name", one_in(3, SUITE))
def test_the_compiler_takes_every_acceptance_model(name: str) -> None:
    for shown in shown_by(name)[:1]:
        try:
            model = compile_model(shown.graph, backend="numpy")
        except ModelError:
            return  # entries that show a refusal
        assert not printed(document(model, "typst"))


@pytest.mark.parametrize(
    ("latex", "written"),
    [
        ("ab", "a b"),
        ("xy-wz", "x y - w z"),
        (r"\dot{q}_{1}", "dot(q)_1"),
        (r"\dddot x", "dot.triple(x)"),
        (r"\tfrac12 x", "frac(1, 2) x"),
        ("x_12", "x_1 2"),
        (r"e_{n\to k}", "e_(n → k)"),
        (r"T_{O_2}^{C_2,O_1}", "T_(O_2)^(C_2, O_1)"),
        (r"\frac{f(x, y)}{2}", r"frac(f(x\, y), 2)"),
        (r"f(x, y)\,z", "f(x, br y) br z"),
        (r"{a\,b}", "a thin b"),
        (r"{ab}^2", "attach(a b)^2"),
        ("^{-1}", '""^(-1)'),
        (r"[0, 1)", "[0, br 1)"),
        (r"]0, 1[", r"\] 0, br 1 \["),
        (r"\mathrm{link\ 2}", '"link 2"'),
        (r"\mathrm{Ad}_{H}^{\top}\,x", '"Ad"_H^(⊤) br x'),
        (r"a\,\mathit{kp}\,b", 'a br""italic("kp")br b'),
        (r"\mathbf{15.10}", 'bold("15.10")'),
        (r"\hat{\boldsymbol{\omega}}", "hat(bold(ω))"),
        (r"\mathsf{R} \in \mathbb{R}^{3 \times 3}", "sf(R) ∈ bb(R)^(3 × 3)"),
        (r'\text{a \_ $\theta$ \textbackslash{} "}', r'"a _ "θ" \\ \""'),
        (r"x \text{ if } y", 'x" if "cut y'),
        (r"|x|\,\left|y\right|", "|x|br lr(|y|)"),
        (r"\left(\frac{a}{b}\right)^2", "lr((frac(a, b)))^2"),
        (r"\lfloor x\rfloor / 2", r"⌊x⌋ \/ 2"),
        (r"\begin{bmatrix} -1 & f(a, b) \\ 0 & c; \end{bmatrix}", r'display(mat(delim: "[", -1, f(a\, b); 0, c \;))'),
        (r"\sqrt[3]{x} := \operatorname{atan2}(y, x)", 'root(3, x) ≔ op("atan2") (y, br x)'),
        (r"\phi \varphi \epsilon \Delta", "ϕ φ ϵ Δ"),
        (r"x'_1 \neg y \wedge \infty", "x'_1 ¬ y ∧ ∞"),
    ],
)
def test_small_formulas(latex: str, written: str) -> None:
    assert typst_math(latex) == written
    if typst is not None:
        assert not printed(as_typst(Paper("x", (Paragraph((Math(latex),)),))))


@pytest.mark.parametrize("latex", [r"\mathscr{X}", r"x_{1", r"a & b", r"\begin{cases} 1 \end{cases}", r"\left( x", r"\frac{1}"])
def test_unsupported_markup_is_refused(latex: str) -> None:
    with pytest.raises(ModelError, match=r"E280 the formula .* cannot be written in Typst"):
        typst_math(latex)


def test_a_symbol_that_only_latex_has_is_refused() -> None:
    graph, v = Graph("own symbols"), J1("v")
    graph.connect(v, C("spring", capacitance=1.0, initial=1.0, symbols={"q": r"\mathscr{Q}"})).connect(v, R("drag", 1.0))
    with pytest.raises(ModelError, match=r"E280 the formula .*mathscr is unknown"):
        document(graph, "typst")
    assert r"\mathscr{Q}" in document(graph, "latex")


def test_every_command_of_documents_is_known() -> None:
    arguments = {
        "frac": "{a}{b}",
        "tfrac": "{a}{b}",
        "left": r"(a\right)",
        "right": "",
        "begin": r"{bmatrix}a\end{bmatrix}",
        "end": "",
    }
    for command in sorted(KATEX):
        after = arguments.get(command, "{a}")
        assert not after or typst_math(f"\\{command}{after}")


WORDS = """- no list, + none, = no head; 1. no number; #x $y$ *b* _i_ `r` <l> @m ~ [c] "q" 'p' \\ // /* -- ... https://x.y (1)"""


@needs_typst
def test_words_are_escaped_in_markup() -> None:
    pieces = [(WORDS,), (WORDS[10:],), (InlineCode(WORDS), "(1)"), (InlineCode(WORDS), "."), ("1. x",), ("- x",)]
    table = TableBlock((WORDS, "="), (0.5, 0.5), tuple((piece, piece) for piece in pieces), (WORDS,))
    blocks = (Section(WORDS), *(Paragraph(piece, WORDS) for piece in pieces), *(Paragraph(piece) for piece in pieces), table)
    source = as_typst(Paper(WORDS, blocks))
    assert not printed(source)
    for kind in ("list", "enum", "link", "ref", "strong.where(body: [b])", "emph"):
        assert typst.query(source.encode(), kind) == "[]", kind
