"""In pages, new rows of campaigns replace old ones, and the rest of the page is unchanged."""

from __future__ import annotations

from campaigns.page_tables import write_rows

HEAD = "| model | verdict |", "|---|---|"
PAGE = "# Page\n\n<!-- make -->\n| model | verdict |\n|---|---|\n| a | old |\n| gone | old |\n\n2 rows\n<!-- end -->\nMore.\n"


def test_fresh_rows_take_the_place_of_old_ones(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    write_rows(page, "make", HEAD, ["| c | new |"], ["a", "b", "c"], lambda rows: f"{len(rows)} rows: {rows[-1]}")
    made = "| model | verdict |\n|---|---|\n| a | old |\n| c | new |\n\n2 rows: | c | new |\n"
    assert page.read_text(encoding="utf-8") == f"# Page\n\n<!-- make -->\n{made}<!-- end -->\nMore.\n"
    write_rows(page, "make", HEAD, ["| a | new |"], ["a", "b", "c"], lambda rows: "")
    assert "| a | new |\n| c | new |" in page.read_text(encoding="utf-8")
