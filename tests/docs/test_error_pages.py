"""Every code that the packages raise has a row in the table of errors, and each example raises the code of its row."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from bondgraph import C, Compiled, Graph, R, ScrewbondError, compile_model
from docs import error_pages
from docs.error_pages import Row
from docs.pages import text_of
from screwbond.imports import ShadowError, check_packages
from tests.inner.models_studies import select_names
from tests.inner.run import simulate as run_program
from tests.syntax import files

ROWS = error_pages.rows()
EXAMPLES = [row for row in ROWS if row.example]


def test_the_table_has_exactly_the_codes_of_the_packages() -> None:
    sources = [path.read_text("utf-8") for package in ("bondgraph", "screws", "models", "screwbond") for path in files(package)]
    codes = [row.code for row in ROWS]
    assert len(codes) == len(set(codes)), "a code appears twice"
    assert set(codes) == {code for source in sources for code in re.findall(r'"([EG]\d{3})"', source)}


def test_rows_are_short() -> None:
    for row in ROWS:
        assert 1 <= len(row.title.split()) <= 8, row
        assert row.cure.endswith(".") and (not row.cause or row.cause.endswith(".")), row
        assert max(len(re.findall(r"[.](?= [A-Z]|$)", text)) for text in (row.cause, row.cure)) <= 2, row


def test_every_theme_is_a_section_of_the_page() -> None:
    sections = re.findall(r"^## (.+)$", text_of("errors.md"), flags=re.MULTILINE)
    assert {title.lower().replace(" ", "-") for title in sections} == {row.theme for row in ROWS}
    shown = error_pages.with_lists(text_of("errors.md"))
    assert sorted(re.findall(r"\[([EG]\d{3})\]\(/errors/\1\.rst\)", shown)) == sorted(row.code for row in ROWS)


def test_a_page_has_cause_cure_and_code() -> None:
    page = error_pages.page(next(row for row in ROWS if row.code == "E101"))
    assert page.startswith(":orphan:\n\nE101: Duplicate name\n====================\n\nTwo parts")
    assert "\n**Try:** Rename one of them.\n" in page
    assert '    graph.series(C("c", capacitance=1.0), R("c", 1.0))\n    graph.compile()\n' in page
    assert error_pages.linked("[E105](errors.md#a-graph), [E30x](errors.md)") == "[E105](/errors/E105.rst), [E30x](errors.md)"


def raised(make: Callable[[], object]) -> str:
    with pytest.raises((ScrewbondError, ShadowError)) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make()
    error: Any = caught.value
    return f"{getattr(error, 'code', '')} {error}"


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: row.code)
def test_an_example_raises_its_code(row: Row) -> None:
    code = compile(error_pages.program(row), f"{row.code}.py", "exec")
    assert row.code in raised(lambda: exec(code, {}))  # noqa: S102


def rc() -> Compiled:
    graph = Graph("rc")
    graph.series(C("c", capacitance=1.0), R("r", 1.0))
    return compile_model(graph, backend="numpy")


@pytest.mark.parametrize(
    ("code", "make"),
    [
        ("E590", lambda: select_names(["poster.png"], ["poter"])),
        ("E561", lambda: check_packages("textwrap")),
        ("E305", lambda: run_program(rc().program, [], rc().parameters(), [], 1.0)),
        ("E308", lambda: run_program(rc().program, [math.nan], rc().parameters(), [], 1.0)),
    ],
)
def test_an_inner_function_raises_its_code(code: str, make: Callable[[], object]) -> None:
    assert code in raised(make)
