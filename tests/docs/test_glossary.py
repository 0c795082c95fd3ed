"""Every module that the glossary of docs/notation.md names exists and contains the term."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOUGHT = [
    *(
        "event detection",
        "zero crossing",
        "guard",
        "event iteration",
        "Zeno",
        "LCP",
        "Lemke",
        "SIMD",
        "lane",
        "ensemble",
        "batch",
    ),
    *("step size", "Gauss-Seidel", "checkpoint", "confidence interval", "prediction interval", "index reduction", "tearing"),
    *("saltation matrix", "error weight", "natural scale", "rounding noise", "Jacobian sparsity", "ear decomposition"),
    *("Delassus matrix", "mode search", "sample time", "dense output", "tableau", "Rosenbrock method", "forward sensitivities"),
    *("identifiability", "causality", "Gauss frame"),
]


def glossary() -> list[list[str]]:
    _, _, text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").partition("## Glossary")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    return rows[1:]


def file_of(module: str) -> Path:
    path = ROOT / module.replace("screwbond.models", "models").replace(".", "/")
    return module_file if (module_file := path.with_suffix(".py")).exists() else path / "__init__.py"


def plain(text: str) -> str:
    return re.sub(r"[\s\-()]+", " ", text).lower()


@pytest.mark.parametrize("row", glossary(), ids=lambda row: row[0])
def test_a_term_is_found_in_the_module_that_does_it(row: list[str]) -> None:
    term, meaning, module, synonyms = row
    assert meaning and synonyms
    file = file_of(module.strip("`"))
    assert file.exists(), f"{file} is gone: name the module that does it now"
    assert plain(term) in plain(file.read_text(encoding="utf-8"))


def test_the_glossary_has_the_common_terms() -> None:
    terms = [plain(row[0]) for row in glossary()]
    assert len(terms) == len(set(terms)) >= 60
    assert not {plain(term) for term in SOUGHT} - set(terms)
