"""In formulas, accents are above their letters, indices and exponents beside them, and names of functions set apart."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MATH = '<math xmlns="http://www.w3.org/1998/Math/MathML">{}</math>'
DOTTED = '<munderover><mi>q</mi><mn>1</mn><mo stretchy="false">˙</mo></munderover>'
LETTER = '<mover accent="true"><mi>q</mi><mo stretchy="false">˙</mo></mover>'
BESIDE = f"<msub>{LETTER}<mn>1</mn></msub>"
BAR = '<mo form="{}" lspace="0" rspace="0">|</mo>'
SINE, THIN = "<mi>sin</mi>", '<mspace width="0.1667em" />'
SUM = "<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>"


@pytest.fixture(scope="module")
def with_accents():
    spec = importlib.util.spec_from_file_location("accents", DOCS / "accents.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.with_accents


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (DOTTED, BESIDE),
        (f"<msup>{DOTTED}<mi>T</mi></msup><mo>=</mo>", f"<msubsup>{LETTER}<mn>1</mn><mi>T</mi></msubsup><mo>=</mo>"),
        (f"<mfrac><mrow>{DOTTED}<mi>t</mi></mrow>{DOTTED}</mfrac>", f"<mfrac><mrow>{BESIDE}<mi>t</mi></mrow>{BESIDE}</mfrac>"),
        (SUM, SUM),
        ("<mo>&rarr;</mo><mo>&lt;</mo><mtext>&nbsp;</mtext>", "<mo>→</mo><mo>&lt;</mo><mtext>\xa0</mtext>"),
        ("<msup><mi>x</mi><mn>2</mn></msup>", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (
            f"<mi>r</mi>{SINE}<mo>&ApplyFunction;</mo><mi>u</mi>{SINE}<mo>(</mo>",
            f"<mi>r</mi>{THIN}{SINE}{THIN}<mi>u</mi>{THIN}{SINE}<mo>(</mo>",
        ),
        (f"<mo>|</mo>{LETTER}<mo>|</mo>", f"{BAR.format('prefix')}{LETTER}{BAR.format('postfix')}"),
        (f"<mo>=</mo><msup>{SINE}<mn>2</mn></msup><mi>u</mi>", f"<mo>=</mo><msup>{SINE}<mn>2</mn></msup>{THIN}<mi>u</mi>"),
    ],
)
def test_accents_indices_and_names_of_functions_have_their_places(with_accents, made, shown):
    assert with_accents(MATH.format(made)) == MATH.format(shown)


def test_every_formula_of_the_pages(with_accents):
    maths = pytest.importorskip("docutils.utils.math.latex2mathml")
    texts = [page.read_text(encoding="utf-8") for page in DOCS.glob("**/*.md")]
    formulas = [formula for text in texts for formula in re.findall(r"\$+([^$`]+)\$+", text)]
    indexed = [formula for formula in formulas if re.search(r"\\(d?dot|hat|bar|tilde) ?\{?\w\}?_", formula)]
    assert len(indexed) > 5
    for formula in indexed:
        shown = re.sub(r"\s*\n\s*", "", with_accents(maths.tex2mathml(formula)))
        assert not re.search(r"<munderover><m[ir]", shown), formula
