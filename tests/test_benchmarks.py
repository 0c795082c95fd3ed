"""The README of the benchmarks is written by them, each in its own place."""

from benchmarks.command import README, with_tables


def test_tables_replace_their_own_and_no_others():
    page = "# Benchmarks\n\ntext\n\n## Results\n\nAs written.\n\n"
    page = with_tables(page, "tree", "1 2\n")
    page = with_tables(page, "chain", "a  b\n### not a heading of ours\n".replace("### ", "# "))
    again = with_tables(page, "tree", "3 4")
    assert again.index("### chain") < again.index("### tree") and "3 4" in again and "1 2" not in again
    assert again.startswith("# Benchmarks\n\ntext\n\n## Results\n\nAs written.\n\n### chain\n\n```text\na  b\n")
    assert with_tables(again, "tree", "3 4") == again and again.count("## Results") == 1


def test_the_readme_has_a_place_for_results():
    assert README.read_text(encoding="utf-8").count("\n## Results\n") == 1
