"""Documents of every kind of model are complete, explain every symbol once, and suit pdflatex and KaTeX."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bondgraph import J0, J1, C, Compiled, Graph, I, ModelError, R, Se, compile_model
from bondgraph.export import document
from tests.acceptance.suite import SUITE
from tests.export.documented import MODELS, compiled, page, paper
from tests.export.reading.markdown import captioned, formulas, functions
from tests.inner.export import FORMS, as_latex, latex_parts, split
from tests.inner.export import document as paper_module
from tests.inner.model import Op
from tests.inner.tape import opcodes
from tests.laws.test_acceptance_models import shown_by

KATEX = set(
    re.findall(
        r"\w+",
        """mathsf mathrm mathbf boldsymbol mathit mathbb
        mathcal text det tfrac frac sqrt sin cos tan arcsin arccos arctan exp ln tanh min max
        operatorname cdot left right begin end le in times to dot ddot dddot bar hat check tilde
        lfloor rfloor wedge vee neg top infty
        nabla partial quad ldots xi Vert vert circ alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu pi rho
        sigma tau phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega""",
    )
)


def tabled(text: str, caption: str) -> list[list[str]]:
    return [row for table in captioned(text, f"{caption}.") for row in table[1:]]


def symbols(text: str) -> list[str]:
    found = [row[0] for title in ("Parameters", "States") for row in tabled(text, title)]
    found += [cell for row in tabled(text, "Further symbols") for cell in (row[0], row[4] if len(row) > 4 else "")]
    found += re.findall(r"\*\* (\$\\sigma[^$]*\$): `", text)  # state machines
    plain = [letter.strip("$") for letter in found if letter.startswith("$")]
    ranges = re.findall(r"\$([a-z](?:_\{\d+\})?)\$ = ([\d., ]+) \(", text)
    expanded = list(plain)
    for letter in plain:
        for index, numbers in ranges:
            for number in numbers.split(", "):
                other = re.sub(rf"(?<=[{{,\s]){re.escape(index)}(?=[.}},\\])", number.strip(), letter)
                expanded += [other] if other != letter else []
    return expanded


@pytest.mark.parametrize("name", MODELS)
def test_every_symbol_is_explained_once(name: str) -> None:
    text = page(name)
    known = symbols(text)
    assert len(set(known)) == len(known), sorted(letter for letter in known if known.count(letter) > 1)
    defined = set(re.findall(r"\*\*D(\d+) ", text))
    equations = text.split("## Equations\n", 1)[1].split("\n## Functions", 1)[0]
    anything = re.compile("|".join(map(bounded, sorted(known, key=len, reverse=True))))
    for formula in formulas(equations):
        rest = re.sub(r"\}_[xyz](?![a-z])", "}", formula)
        rest = re.sub(r"\\mathsf\{\w\}|\\boldsymbol\{\\\w+\}|\\mathrm\{tr\}", " ", rest)
        rest = re.sub(r"\\(text|mathbf)\{(?:[^{}]|\{[^{}]*\})*\}", " ", rest)
        rest = re.sub(r"\\\\|\\(?:begin|end)\{bmatrix\}|\\tfrac\{d\}\{dt\}|\\mathrm\{Ad\}|\\operatorname\{diag\}", " ", rest)
        for number in re.findall(r"\\mathrm\{[A-Za-z]+\}_\{(\d+)\}", rest):
            assert number in defined
        rest = re.sub(r"\\mathrm\{[A-Za-z]+\}_\{(\d+|[a-z],\d+)\}", " ", rest)
        rest = re.sub(r"[uc]_\{[a-z],\d+\}", " ", rest)  # letters of equal parts, each with a row of a table
        rest = rest if re.fullmatch(r"[a-z]|t_n = .*", rest) is None else ""  # the index letter of equal parts; ticks
        rest = anything.sub(" ", rest)
        rest = re.sub(r"\\(" + "|".join(KATEX) + r"|[,;: ])(?![a-zA-Z])", " ", rest)
        assert not re.search(r"[A-Za-z\\]", rest), (formula, rest)


def bounded(letter: str) -> str:
    before = r"(?<![A-Za-z\\])" if letter[0].isalpha() else ""
    after = "(?![A-Za-z])" if letter[-1].isalpha() else ""
    return before + re.escape(letter) + after


@pytest.mark.parametrize("name", MODELS)
def test_functions_use_their_own_letters_alone(name: str) -> None:
    for title, body in functions(page(name)):
        head, *rest = formulas(body)
        bare = r"\\(?:mathsf\{\w\}|boldsymbol\{\\\w+\})"
        local = rf"\\(?:hat|check|bar)\{{{bare}\}}|{bare}"
        own = set(re.findall(local, head)) | {r"\mathsf{s}"}
        found = {letter for formula in rest for letter in re.findall(local, formula)}
        assert found <= own, title
        plain = re.sub(local + r"|\\text\{[^}]*\}|\\operatorname\{\w+\}|\\mathbb\{R\}", "", " ".join(rest))
        assert not re.search(r"[A-Za-z]", re.sub(r"\\(" + "|".join(KATEX) + r")\b", "", plain)), title
        shared = re.findall(r"\\mathsf\{s\}_\{(\d+)\} =", body)
        assert [int(k) for k in shared] == list(range(1, len(shared) + 1))


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_and_state_has_a_number(name: str) -> None:
    system, text = compiled(name).system, page(name)
    for title, names in (("Parameters", system.parameters), ("States", [s.name for s in system.states])):
        rows = tabled(text, title)
        assert all(len(row) >= 4 and all(row[:4]) and row[-1] for row in rows), title
        assert len(rows) <= len(names)
        told = " ".join(row[1] for row in rows)
        first = next(iter(names), None)
        assert first is None or f"`{first}`" in told
    for path, mode in system.modes.items():
        start = f"it starts in `{mode.start}`"
        assert any(start in line and all(f"`{s}`" in line for s in mode.states) for line in text.splitlines()), path


@pytest.mark.parametrize("name", MODELS)
def test_only_commands_that_browsers_know(name: str) -> None:
    commands = {word for formula in formulas(page(name)) for word in re.findall(r"\\([a-zA-Z]+)", formula)}
    assert commands <= KATEX, commands - KATEX
    for formula in formulas(page(name)):
        assert formula.count("{") - formula.count(r"\{") == formula.count("}") - formula.count(r"\}")


needs_tex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")


def printed(models: Mapping[str, Compiled], folder: Path) -> dict[str, int]:
    """Typeset documents without errors or boxes more than 5 pt too wide, and return page counts by name."""
    sources = [document(model) for model in models.values()]
    head = sources[0].partition(r"\begin{document}")[0]
    bodies = [source.split(r"\begin{document}")[1].split(r"\end{document}")[0] for source in sources]
    whole = "\n".join(rf"{body}\typeout{{after \thepage}}\clearpage" for body in bodies)
    (folder / "models.tex").write_text(rf"{head}\begin{{document}}{whole}\end{{document}}", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-draftmode", "models.tex"]
    log = subprocess.run(command, cwd=folder, capture_output=True, timeout=600, check=False).stdout.decode("utf-8", "replace")
    assert not [line for line in log.splitlines() if line.startswith("!")]
    assert all(float(found) <= 5.0 for found in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log))
    ends = [0, *(int(page) for page in re.findall(r"^after (\d+)", log, re.MULTILINE))]
    return {name: last - first for name, (first, last) in zip(models, pairwise(ends), strict=True)}


MOST_PAGES = {"rolling eggs": 8, "two bodies": 7}


@pytest.mark.thorough
@needs_tex
def test_pdflatex_takes_every_document(tmp_path: Path) -> None:
    pages = printed({name: compiled(name) for name in MODELS}, tmp_path)
    assert all(1 <= count <= MOST_PAGES.get(name, 17) for name, count in pages.items()), pages


@pytest.mark.thorough
@needs_tex
def test_pdflatex_takes_every_acceptance_model(tmp_path: Path) -> None:
    models: dict[str, Compiled] = {}
    for name in SUITE:
        for shown in shown_by(name)[:1]:
            with contextlib.suppress(ModelError):  # entries that show a refusal
                models[name] = compile_model(shown.graph, backend="numpy")
    assert all(printed(models, tmp_path).values())


def test_a_document_states_all_necessary_facts() -> None:
    sampled = page("sampled")
    assert re.search(r"t_n = .* \+ n\\,", sampled) and ":=" in sampled.split("### Clocks")[1]
    bouncing = page("bouncing")
    assert re.search(r"\^\{\+\} = -\\epsilon.*\^\{-\}", bouncing) and "the run continues in `resting`" in bouncing
    eggs = page("rolling eggs")
    assert "it starts in `" in eggs and "change of coordinates" in eggs and "the run ends" in eggs
    held = page("held")
    assert "impulses stop the flows of elements that become active" in held


def test_documents_of_huge_models_are_abridged(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page("hand")
    monkeypatch.setattr(paper_module, "MAX_EQUATIONS", 100)
    monkeypatch.setattr(paper_module, "MAX_BOXES", 3)
    short = document(compiled("hand"), style="markdown")
    assert len(short) < len(whole) and "only parts that occur several times are written here, 2 of 5" in short
    assert "### i contact 0, contact 1, contact 2" in short and "### 4 controller" not in short
    assert "is too large for a page" in short and "![The bond graph" not in short and "too large" not in whole


def seen(letter: str) -> str:
    plain = re.sub(r"\\(?:mathrm|mathsf|mathbf|mathit|text|boldsymbol)\b|[{}\s]|\\[, ]", "", letter)
    for greek, latin in {"nu": "v", "omega": "w", "kappa": "k", "iota": "i", "chi": "x", "rho": "p", "alpha": "a"}.items():
        plain = re.sub(rf"\\{greek}(?![a-z])", latin, plain)
    return re.sub("[I1]", "l", plain)


@pytest.mark.parametrize("name", MODELS)
def test_no_two_symbols_look_alike(name: str) -> None:
    looks = Counter(map(seen, symbols(page(name))))
    assert max(looks.values()) == 1, [letter for letter in symbols(page(name)) if looks[seen(letter)] > 1]


@pytest.mark.parametrize("name", MODELS)
def test_figures_and_tables_are_numbered(name: str) -> None:
    for kind in ("Figure", "Table"):
        numbers = re.findall(rf"^{kind} (\d+)\. \S", page(name), re.MULTILINE)
        assert numbers == [str(k + 1) for k in range(len(numbers))]
    assert page(name).count("](data:image") == len(re.findall(r"^Figure", page(name), re.MULTILINE))


def rotor() -> Graph:
    graph, spin = Graph("rotor"), J1("spin", domain="rotation", dimension=3)
    graph.connect(spin, I("body", [1 / 7, 2.0, 3e-5], dimension=3))
    return graph.connect(spin, R("air", np.diag([1.0, 2.0, 123456789.0]), dimension=3))


def test_diagonal_matrices_and_six_digits() -> None:
    text = document(rotor(), "markdown")
    assert r"f = \operatorname{diag}(I)^{-1}\,p" in text
    assert r"$(\tfrac{1}{7}, 2, 3\cdot 10^{-5})$" in text
    assert r"$\operatorname{diag}(1, 2, 1.23457\cdot 10^{8})$" in text
    assert "123456789" in document(rotor(), "markdown", digits=17)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"style": "word"}, r"E279 style=.word. is not a style"),
        ({"digits": 0}, "E557 digits=0 is not a number of significant digits"),
        ({"digits": True}, "E557 digits=True"),
        ({"digits": 18}, "E557 digits=18"),
    ],
)
def test_other_styles_and_digits_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        document(MODELS["motor"](), **options)


def test_the_same_model_gives_the_same_text() -> None:
    again = compile_model(MODELS["spatial"](), backend="numpy")
    assert document(again, "markdown", digits=17) == page("spatial") and document(again, "latex", digits=17) == as_latex(
        paper("spatial")
    )


def test_each_instruction_can_be_written() -> None:
    assert set(FORMS) | set(range(opcodes.INPUT + 1)) == set(range(len(opcodes.OPERATIONS)))


@pytest.mark.parametrize(
    ("latex", "all_said"),
    [
        ("#1\\,#2", True),
        ("#1^{-1}", True),
        (r"\mathrm{Ad}_{#1}^T\,#2", True),
        ("J(#1)", False),
        (r"\psi(#1)", False),
        ("", False),
    ],
)
def test_long_formulas_become_definitions(latex: str, all_said: bool) -> None:
    assert (latex_parts(Op("f", lambda x: x, latex), 1) is not None) is all_said


@pytest.mark.parametrize(
    ("symbol", "core", "below", "above"),
    [
        ("q_1", "q", "1", ""),
        (r"T_{O_2}^{C_2,O_1}", "T", "O_2", "C_2,O_1"),
        (r"\bar T", r"\bar T", "", ""),
        ("x_1_2", "{x_1_2}", "", ""),
    ],
)
def test_symbols_in_pieces(symbol: str, core: str, below: str, above: str) -> None:
    found = split(symbol)
    assert (found.core, found.below, found.above) == (core, below, above)


@pytest.mark.parametrize(("sections", "smallest"), [(1, 6.9), (5, 6.9), (14, 4.6)])
def test_letters_of_the_graph_can_be_read(sections: int, smallest: float) -> None:
    graph, last = Graph("ladder"), J1("input", domain="electrical")
    graph.connect(Se("source", 1.0), last)
    for k in range(sections):
        node, branch = J0(f"node {k}", domain="electrical"), J1(f"branch {k}", domain="electrical")
        graph.connect(last, node).connect(node, C(f"capacitor {k}", capacitance=1e-6))
        graph.connect(node, branch).connect(branch, I(f"coil {k}", inductance=1e-3))
        last = branch
    text = document(graph.connect(last, R("load", resistance=50.0)))
    sizes = [float(size) for size in re.findall(r"\\fontsize{([\d.]+)}", text)]
    assert min(sizes) >= smallest
    names = re.findall(r"\\smash{(\d+ [^}]*)}", text)
    assert {"1 source", "2 input", f"{4 * sections + 3} load"} <= set(names)
