"""The first page links to public addresses, and packed files contain every file that git tracks."""

from __future__ import annotations

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from docs.distribution import public_address, published, with_address

ROOT = Path(__file__).parents[2]
ADDRESS = "https://example.org/owner/screwbond"


def test_links_of_the_first_page_lead_to_the_public_address() -> None:
    page = published((ROOT / "README.md").read_text(encoding="utf-8"), ADDRESS, "v0.1.0")
    targets = re.findall(r"\]\(([^)]+)\)", page)
    assert targets and all(target.startswith("https://") for target in targets)
    assert f"]({ADDRESS}/raw/v0.1.0/docs/pictures/rolling_eggs.png)" in page
    assert f"]({ADDRESS}/blob/v0.1.0/docs/surfaces.md)" in page
    assert published("[a](https://b.c) ![d](https://e.f/g.png) [h](#i)", ADDRESS, "v1") == (
        "[a](https://b.c) ![d](https://e.f/g.png) [h](#i)"
    )


def test_an_address_becomes_the_links_of_the_project() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(with_address("[metadata]\nname = screwbond\n", ADDRESS))
    assert public_address(parser) == ADDRESS and parser["metadata"]["name"] == "screwbond"
    again = with_address("[metadata]\nproject_urls =\n    Source = https://a.b/c\n", ADDRESS)
    parser.read_string(again)
    assert public_address(parser) == "https://a.b/c"


def test_sources_hold_pages_examples_and_tests() -> None:
    """MANIFEST.in names every file that git tracks, or its top folder, except for files that are always packed."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    if not listed:
        pytest.skip("THE DISTRIBUTION IS NOT TESTED: this is not a checkout")
    rules = [line.split() for line in (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()]
    folders = {rule[1] for rule in rules if rule[0] in ("graft", "recursive-include")}
    files = {name for rule in rules if rule[0] == "include" for name in rule[1:]} | {"setup.cfg", "setup.py", "pyproject.toml"}
    left = {name for name in listed if name.partition("/")[0] not in folders and name not in files}
    assert left <= {".gitignore", "MANIFEST.in"}
    for folder in ("docs", "examples", "tests"):
        assert folder in folders
